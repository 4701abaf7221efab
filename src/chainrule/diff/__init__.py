"""Differentiation: the reverse and the forward walk, and every derivative built on them."""
