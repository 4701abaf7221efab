"""A product of which some parts are computed, and the others are zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chainrule.lower.code.lines import Code
from chainrule.lower.code.matrices import Matrices
from chainrule.lower.code.tiles import copied, write_product
from chainrule.lower.values.cuts import Box


def write_boxes(
    code: Code, m: Matrices, boxes: Sequence[Box], pointers: Sequence[str], begins: str
) -> None:
    """Every part in turn, with what is copied of B in the same memory."""
    parts = [_part(m, box) for box in boxes]
    count = max(copied(part) for part, _ in parts)
    copy = code.buffer(count, code.type(m.kind, 1)) if count else ""
    for part, firsts in parts:
        at = [
            code.put(f"getelementptr {code.type(m.kind, 1)}, ptr {pointer}, i64 {first}")
            for pointer, first in zip(pointers, firsts, strict=True)
        ]
        if part.summed:
            write_product(code, part, at, begins, copy)
        else:
            _cleared(code, part, at[2], begins)


def _part(m: Matrices, box: Box) -> tuple[Matrices, tuple[int, int, int]]:
    """A part as a product of its own, and where its three matrices begin."""
    spans = [limits or (0, n) for limits, n in zip(box, m.extents, strict=True)]
    (row, _), (column, _), (first, _) = spans
    rows, columns, summed = (after - before for before, after in spans)
    at = row * m.a[0] + first * m.a[1], first * m.b[0] + column * m.b[1], row * m.c + column
    return replace(m, rows=rows, columns=columns, summed=summed), at


def _cleared(code: Code, part: Matrices, at: str, begins: str) -> None:
    """A part that is zero, where it is not to be added to."""
    count = code.put(f"select i1 {begins}, i64 {part.columns * part.itemsize}, i64 0")

    def row(i: str, names: list[str]) -> list[str]:
        offset = code.put(f"mul i64 {i}, {part.c * part.itemsize}")
        code.clear(code.put(f"getelementptr i8, ptr {at}, i64 {offset}"), count)
        return []

    code.loop("0", str(part.rows), [], row)
