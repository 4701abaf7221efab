"""The programs that a compiled function refuses, with a line and a cure, and why; the list only shrinks."""

REFUSED: dict[str, str] = {
    "set_argument": "a set cannot be part of the signature: it cannot be hashed",
    "slice_argument": "a slice cannot be part of the signature before Python 3.12",
}
