"""User code becomes a graph: Variable, operators, the NumPy protocols, the one context variable."""
