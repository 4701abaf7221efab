"""From a graph to loops to LLVM: what every compiled function is made of."""
