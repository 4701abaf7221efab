"""Compiled functions: machine code, how it is called, and what is kept of it."""
