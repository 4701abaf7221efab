"""The programs that a compiled function refuses, with a line and a cure, and why; the list only shrinks."""

REFUSED: dict[str, str] = {}
