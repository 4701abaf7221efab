"""What the user's code reads outside of its arguments, seen instruction by instruction."""
