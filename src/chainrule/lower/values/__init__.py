"""What is computed: arrays as values of the compiler, and what ops make of them."""
