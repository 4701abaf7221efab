"""What programs of the corpus read as attributes of a module."""

SCALE = 2.0
TABLE = [1.0, 2.0]


def apply(x):
    return x * SCALE
