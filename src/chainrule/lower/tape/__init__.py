"""Large scalar graphs: arrays of instructions, and the loop that runs them."""
