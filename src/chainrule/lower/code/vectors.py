"""Vectors of one kind of number: how they are loaded, stored and turned."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chainrule.lower.code.access import load, store
from chainrule.lower.code.lines import Code


class Vectors:
    """Writes loads and stores of whole registers, and of parts of them."""

    def __init__(self, code: Code, kind: str, lanes: int):
        self.code, self.kind, self.lanes = code, kind, lanes
        self.size = 8 if kind == "f64" else 4
        self.of = code.type(kind, self.lanes)
        self.element = code.type(kind, 1)

    def on(self, base: str, elements: int) -> str:
        return self.at(base, str(elements), 1)

    def at(self, base: str, index: str, apart: int) -> str:
        offset = index if apart == 1 else self.code.put(f"mul i64 {index}, {apart}")
        return self.code.put(f"getelementptr {self.element}, ptr {base}, i64 {offset}")

    def mask(self, left: int) -> str | None:
        lanes = self.lanes
        if left >= lanes:
            return None
        bits = ", ".join(f"i1 {'true' if i < left else 'false'}" for i in range(lanes))
        return f"<{bits}>"

    def load(self, address: str, mask: str | None, apart: int = 1) -> str:
        return load(self.code, self.element, self.lanes, address, self.size, mask, apart)

    def store(self, number: str, address: str, mask: str | None, apart: int = 1) -> None:
        store(self.code, self.element, self.lanes, number, address, self.size, mask, apart)

    def fetch(self, address: str) -> None:
        """Ask for memory in time; what is no memory is not asked for."""
        self.code.declares.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.code.line(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 2, i32 1)")

    def spread(self, address: str) -> str:
        return load(self.code, self.element, self.lanes, address, self.size, stride=0)


def transposed(code: Code, lines: list[str], of: str, lanes: int) -> list[str]:
    """The columns of a square of vectors: neighbours are interleaved as often as it takes."""
    half = lanes // 2
    for _ in range(lanes.bit_length() - 1):
        columns = []
        for a, b in zip(lines[:half], lines[half:], strict=True):
            for first in (0, half):
                picks = [p for i in range(first, first + half) for p in (i, i + lanes)]
                mask = ", ".join(f"i32 {p}" for p in picks)
                columns.append(
                    code.put(f"shufflevector {of} {a}, {of} {b}, <{lanes} x i32> <{mask}>")
                )
        lines = columns
    return lines


def folded_lanes(
    code: Code, of: str, lanes: int, vectors: Sequence[str], combine: Callable[[str, str], str]
) -> str:
    """A vector whose first lanes are, one each, what all lanes of these vectors come to."""
    partial, bit = list(vectors), 1
    while bit < lanes:
        pairs = zip(partial[::2], [*partial[1::2], ""], strict=False)
        partial = [combine(*_halves(code, of, lanes, a, b, bit)) for a, b in pairs]
        bit *= 2
    return partial[0]


def _halves(code: Code, of: str, lanes: int, a: str, b: str, bit: int) -> list[str]:
    """Lanes whose numbers differ in a bit, to be combined: where it is 0 of a, where it is 1 of b.

    Of a alone, both are the same.
    """
    first = [i if not i & bit else lanes + i - bit for i in range(lanes)]
    second = [i + bit if not i & bit else lanes + i for i in range(lanes)]
    if not b:
        first, second, b = [i & ~bit for i in range(lanes)], [i | bit for i in range(lanes)], a
    return [
        code.put(
            f"shufflevector {of} {a}, {of} {b}, "
            f"<{lanes} x i32> <{', '.join(f'i32 {p}' for p in picks)}>"
        )
        for picks in (first, second)
    ]
