"""Products with few columns: rows of A times columns of B, in whole vectors along the summed axis.

Elsewhere a vector holds neighbours of one row of the result, and a row of ten leaves six of sixteen
lanes empty.  Here lanes are neighbours of the summed axis, and are added up at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from chainrule.lower.code.lines import Code
from chainrule.lower.code.matrices import SUM_REGISTERS, Matrices
from chainrule.lower.code.vectors import Vectors, folded_lanes, transposed

HEIGHT = 4  # rows of a block
DEPTH = 1024  # of the summed axis that is walked through at a time


def write_dots(code: Code, m: Matrices, pointers: Sequence[str], begins: str, copy: str) -> None:
    """The product of the matrices at (a, b, c); unless it begins, it is added to what is there."""
    dots = _Dots(code, m, pointers, copy)
    whole, left = divmod(m.summed, DEPTH)

    def depth(d: str, names: list[str]) -> list[str]:
        first = code.put(f"icmp eq i64 {d}, 0")
        dots.walk(code.put(f"mul i64 {d}, {DEPTH}"), DEPTH, code.put(f"and i1 {begins}, {first}"))
        return []

    if whole:
        code.loop("0", str(whole), [], depth)
    if left:
        dots.walk(str(whole * DEPTH), left, "false" if whole else begins)


def columns_copied(m: Matrices) -> int:
    """How many elements of B are copied at a time: none where its columns are dense."""
    return 0 if m.b[0] == 1 else m.columns * _padded(min(m.summed, DEPTH), m.lanes)


def _padded(length: int, lanes: int) -> int:
    return -(-length // lanes) * lanes


class _Dots(Vectors):
    """Writes blocks of one product."""

    def __init__(self, code: Code, m: Matrices, pointers: Sequence[str], copy: str):
        super().__init__(code, m.kind, m.lanes)
        self.m = m
        self.a, self.b, self.c = pointers
        count = columns_copied(m)
        self.copy = copy or code.buffer(count, self.element) if count else ""

    def walk(self, first: str, length: int, begins: str) -> None:
        """All rows and columns, along a part of the summed axis."""
        code, m = self.code, self.m
        a, b = self.at(self.a, first, m.a[1]), self.at(self.b, first, m.b[0])
        apart = m.b[1]
        if self.copy:
            apart = _padded(length, self.lanes)
            self._turn(b, length, apart)
            b = self.copy
        far = m.rows * m.summed * self.size > m.target.prefetched_rows_bytes
        groups = -(-m.columns // (SUM_REGISTERS // HEIGHT))
        width = -(-m.columns // groups)

        def rows(row: str, height: int) -> None:
            for column in range(0, m.columns, width):
                columns = min(width, m.columns - column)
                lines = [self.on(self.at(a, row, m.a[0]), r * m.a[0]) for r in range(height)]
                others = [self.on(b, (column + j) * apart) for j in range(columns)]
                to_come = [self.on(line, HEIGHT * m.a[0]) for line in lines if far and not column]
                sums = self._sums(lines, others, length, to_come)
                for r in range(height):
                    at = self.on(self.at(self.c, row, m.c), r * m.c + column * m.apart)
                    self._put(sums[r * columns : (r + 1) * columns], at, begins)

        def block(i: str, names: list[str]) -> list[str]:
            rows(code.put(f"mul i64 {i}, {HEIGHT}"), HEIGHT)
            return []

        if m.rows >= HEIGHT:
            code.loop("0", str(m.rows // HEIGHT), [], block)
        if m.rows % HEIGHT:
            rows(str(m.rows // HEIGHT * HEIGHT), m.rows % HEIGHT)

    def _turn(self, start: str, length: int, apart: int) -> None:
        """Copy columns of B, whose rows are dense, one after the other."""
        code, m, lanes = self.code, self.m, self.lanes

        def square(k: str, count: int) -> None:
            here = self.at(start, k, m.b[0])
            mask, nothing = self.mask(m.columns), code.constant(0, m.kind, lanes)
            lines = [
                self.load(self.on(here, j * m.b[0]), mask) if j < count else nothing
                for j in range(lanes)
            ]
            for j, line in enumerate(transposed(code, lines, self.of, lanes)[: m.columns]):
                self.store(line, self.on(self.at(self.copy, k, 1), j * apart), None)

        def along(i: str, names: list[str]) -> list[str]:
            square(code.put(f"mul i64 {i}, {lanes}"), lanes)
            return []

        if length >= lanes:
            code.loop("0", str(length // lanes), [], along)
        if length % lanes:
            square(str(length // lanes * lanes), length % lanes)

    def _sums(
        self, lines: list[str], others: list[str], length: int, to_come: list[str]
    ) -> list[str]:
        """Every row times every column, lane by lane; the rows to come are asked for in time."""
        code, lanes = self.code, self.lanes

        def multiplied(k: str, mask: str | None, sums: list[str]) -> list[str]:
            for line in to_come:
                self.fetch(self.at(line, k, 1))
            of_a = [self.load(self.at(line, k, 1), mask) for line in lines]
            of_b = [self.load(self.at(line, k, 1), mask) for line in others]
            pairs = ((x, y) for x in of_a for y in of_b)
            return [
                code.intrinsic("fma", self.kind, lanes, x, y, before)
                for (x, y), before in zip(pairs, sums, strict=True)
            ]

        def along(i: str, sums: list[str]) -> list[str]:
            return multiplied(code.put(f"mul i64 {i}, {lanes}"), None, sums)

        sums = [code.constant(0, self.kind, lanes)] * (len(lines) * len(others))
        if length >= lanes:
            sums = code.loop("0", str(length // lanes), [(self.of, zero) for zero in sums], along)
        if length % lanes:
            sums = multiplied(str(length // lanes * lanes), self.mask(length % lanes), sums)
        return sums

    def _put(self, sums: list[str], at: str, begins: str) -> None:
        """Add up the lanes of each, and store or add the results side by side."""
        code, lanes, apart = self.code, self.lanes, self.m.apart
        mask = self.mask(len(sums))
        total = folded_lanes(
            code, self.of, lanes, sums, lambda a, b: code.put(f"fadd {self.of} {a}, {b}")
        )
        if begins != "true":
            before = self.load(at, mask, apart)
            added = code.put(f"fadd {self.of} {before}, {total}")
            total = code.put(f"select i1 {begins}, {self.of} {total}, {self.of} {added}")
        self.store(total, at, mask, apart)
