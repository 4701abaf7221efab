"""What is wrong with what was typed, and at which column."""

from __future__ import annotations

from collections.abc import Sequence

from chainrule.errors import ChainruleError

WIDTH = 72  # columns of a long formula that are shown around the mistake


class InputError(ValueError):
    """Bad input: one line, and where a formula is to blame that, with a caret below it."""

    def __init__(
        self,
        message: str,
        text: str = "",
        start: int | None = None,
        end: int = 0,
        also: Sequence[tuple[int, int]] = (),
    ):
        super().__init__(message)
        self.text, self.start, self.end, self.also = text, start, end, also


def lines_of(error: BaseException) -> list[str]:
    """One line, or three of which the last points at columns of the second; then what to write.

    What chainrule says of the user's own code, with its lines and the cure, is kept whole.
    """
    said = (str(error) or type(error).__name__).splitlines() or [""]
    lines = [f"chainrule: {printable(said[0])}"]
    if not isinstance(error, InputError):
        return lines + [printable(s) for s in said[1:] if isinstance(error, ChainruleError)]
    if error.start is not None:
        lines += pointed(error.text, error.start, error.end, error.also)
    return lines + [printable(line) for line in said[1:]]


def pointed(text: str, start: int, end: int, also: Sequence[tuple[int, int]] = ()) -> list[str]:
    """The part of the text around these columns, and carets below them."""
    start = min(start, len(text))
    first = max(0, start - WIDTH // 2) if len(text) > WIDTH else 0
    part = text[first : first + WIDTH]
    before, after = "…" * (first > 0), "…" * (first + WIDTH < len(text))
    below = [" "] * (len(before) + len(part) + 1)
    for left, right in ((start, max(end, start + 1)), *also):
        for k in range(max(left, first), min(right, first + len(part) + 1)):
            below[len(before) + k - first] = "^"
    return [f"  {before}{printable(part)}{after}", f"  {''.join(below).rstrip()}"]


def printable(text: str) -> str:
    """The text without what would control a terminal or cannot be written to it."""
    return "".join(c if c.isprintable() else "�" for c in text)
