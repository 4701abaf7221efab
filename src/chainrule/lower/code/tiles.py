"""Products of small matrices, written out: rows and columns of the result stay in registers.

BLAS first copies its operands so that large ones are met in the order of the cache.  Where one side
is short that takes longer than the product.  Here a block of the result, some rows by some vectors,
is summed up in registers while the summed axis is walked through once; the second operand is read
in vectors, the first in single numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from chainrule.lower.code.access import spread
from chainrule.lower.code.dots import columns_copied, write_dots
from chainrule.lower.code.lines import Code
from chainrule.lower.code.matrices import SUM_REGISTERS, Matrices
from chainrule.lower.code.vectors import Vectors, transposed

MAX_BLOCK_VECTORS = 3  # of one block, at most
DEPTH = 512  # of the summed axis that is walked through at a time
MIN_COPIED_ROWS = 96  # rows, from which on columns of B are copied first


def write_product(
    code: Code, m: Matrices, pointers: Sequence[str], begins: str, copy: str = ""
) -> None:
    """The product of the matrices at (a, b, c); unless it begins, it is added to what is there.

    `copy` is memory of `copied` elements, if there is some already.
    """
    if m.turned:
        a, b, c = pointers
        m, pointers = m.transposed, (b, a, c)
    if m.dotted:
        write_dots(code, m, pointers, begins, copy)
        return
    width = _width(m)
    block = _Blocks(code, m, pointers, begins, width, copy)

    def depth(k: str, names: list[str]) -> list[str]:
        block.depth(code.put(f"mul i64 {k}, {DEPTH}"))
        _panels(code, m, block, width)
        return []

    if m.summed > 2 * DEPTH:
        code.loop("0", str(-(-m.summed // DEPTH)), [], depth)
    else:
        _panels(code, m, block, width)


def _width(m: Matrices) -> int:
    """Columns of a block: not so many that a few rows take two blocks."""
    most = 2 if SUM_REGISTERS // 3 < m.rows <= SUM_REGISTERS // 2 else MAX_BLOCK_VECTORS
    return min(most, -(-m.columns // m.lanes)) * m.lanes


def copied(m: Matrices) -> int:
    """How many elements of B are copied at a time."""
    m = m.transposed if m.turned else m
    if m.dotted:
        return columns_copied(m)
    if m.rows < MIN_COPIED_ROWS and m.b[1] == 1:
        return 0
    return -(-min(m.summed, 2 * DEPTH) // m.lanes) * m.lanes * _width(m)


def _panels(code: Code, m: Matrices, block: _Blocks, width: int) -> None:
    """All columns of the result, a panel at a time."""
    height = _height(m.rows, SUM_REGISTERS * m.lanes // width)
    whole, left = divmod(m.columns, width)

    def panel(column: str, columns: int) -> None:
        block.panel(column, columns)

        def rows(i: str, names: list[str]) -> list[str]:
            block.write(code.put(f"mul i64 {i}, {height}"), column, height, columns)
            return []

        if m.rows // height:
            code.loop("0", str(m.rows // height), [], rows)
        if m.rows % height:
            block.write(str(m.rows // height * height), column, m.rows % height, columns)

    def panels(j: str, names: list[str]) -> list[str]:
        panel(code.put(f"mul i64 {j}, {width}"), width)
        return []

    if whole:
        code.loop("0", str(whole), [], panels)
    if left:
        panel(str(whole * width), left)


def _height(rows: int, most: int) -> int:
    """Rows of a block: as many as fit, but so that the last block is nearly as high."""
    blocks = -(-rows // most)
    return -(-rows // blocks)


class _Blocks(Vectors):
    """Writes blocks of one product."""

    def __init__(
        self,
        code: Code,
        m: Matrices,
        pointers: Sequence[str],
        begins: str,
        width: int,
        copy: str,
    ):
        super().__init__(code, m.kind, m.lanes)
        self.m, self.begins, self.given = m, begins, begins
        self.a, self.b, self.c = pointers
        self.first, self.summed = "0", str(m.summed)
        self.copy, self.width = "", width
        if copied(m):
            self.copy = copy or code.buffer(copied(m), self.element)
        self.far_b = not self.copy and m.summed * m.columns * self.size > m.target.prefetched_bytes
        once = m.columns <= width and m.a[1] == 1
        self.far_a = once and m.summed * m.rows * self.size > m.target.prefetched_bytes

    def depth(self, first: str) -> None:
        """Walk through a part of the summed axis, from there on."""
        code = self.code
        self.first = first
        left = code.put(f"sub i64 {self.m.summed}, {first}")
        self.summed = code.intrinsic("smin", "i64", 1, left, str(DEPTH))
        again = code.put(f"icmp ne i64 {first}, 0")
        there = code.put(f"xor i1 {self.given}, true") if self.given != "true" else "false"
        self.begins = code.put(f"xor i1 {code.put(f'or i1 {again}, {there}')}, true")

    def panel(self, column: str, columns: int) -> None:
        """Go to some columns of B: where many rows need them, to a copy without gaps."""
        m = self.m
        start = self.at(self.at(self.b, self.first, m.b[0]), column, m.b[1])
        self.line, self.apart = start, m.b[0]
        if not self.copy:
            return
        if m.b[1] == 1:
            self._copied(start, columns)
        else:
            self._turned(start, columns)
        self.line, self.apart = self.copy, self.width

    def _copied(self, start: str, columns: int) -> None:
        """Rows of a panel of B side by side."""
        code, m = self.code, self.m

        def along(k: str, names: list[str]) -> list[str]:
            here, there = self.at(start, k, m.b[0]), self.at(self.copy, k, self.width)
            for v in range(-(-columns // m.lanes)):
                number = self.load(self.on(here, v * m.lanes), self.mask(columns - v * m.lanes))
                self.store(number, self.on(there, v * m.lanes), None)
            return []

        code.loop("0", self.summed, [], along)

    def _turned(self, start: str, columns: int) -> None:
        """The same of a B whose columns are dense: squares of as many rows as lanes are turned."""
        code, m = self.code, self.m
        lanes = m.lanes
        numbers = ", ".join(f"i64 {i}" for i in range(lanes))
        end = spread(code, "i64", lanes, self.summed)

        def along(i: str, names: list[str]) -> list[str]:
            k = code.put(f"mul i64 {i}, {lanes}")
            index = code.put(f"add <{lanes} x i64> {spread(code, 'i64', lanes, k)}, <{numbers}>")
            mask = code.put(f"icmp slt <{lanes} x i64> {index}, {end}")
            here, there = self.at(start, k, m.b[0]), self.at(self.copy, k, self.width)
            for v in range(-(-columns // lanes)):
                lines = [
                    self.load(self.on(here, (v * lanes + j) * m.b[1]), mask)
                    if v * lanes + j < columns
                    else code.constant(0, m.kind, lanes)
                    for j in range(lanes)
                ]
                for j, line in enumerate(transposed(code, lines, self.of, lanes)):
                    self.store(line, self.on(there, j * self.width + v * lanes), None)
            return []

        count = code.put(f"sdiv i64 {code.put(f'add i64 {self.summed}, {lanes - 1}')}, {lanes}")
        code.loop("0", count, [], along)

    def write(self, row: str, column: str, rows: int, columns: int) -> None:
        """One block of so many rows and columns, from there on."""
        code, m = self.code, self.m
        vectors = -(-columns // m.lanes)
        masks = [self.mask(columns - v * m.lanes) for v in range(vectors)]
        first_a = self.at(self.at(self.a, row, m.a[0]), self.first, m.a[1])
        corner = self.at(self.at(self.c, row, m.c), column, m.apart)
        places = [
            [self.on(corner, r * m.c + v * m.lanes * m.apart) for v in range(vectors)]
            for r in range(rows)
        ]
        zero = code.constant(0, m.kind, m.lanes)
        starts = [[zero] * vectors for _ in range(rows)]
        if self.begins != "true":
            starts = [
                [self._before(at, mask) for at, mask in zip(line, masks, strict=True)]
                for line in places
            ]

        def along(k: str, sums: list[str]) -> list[str]:
            line = self.at(self.line, k, self.apart)
            whole = [None] * vectors if self.copy else masks
            of_b = [
                self.load(self.at(line, str(v * m.lanes), 1), mask) for v, mask in enumerate(whole)
            ]
            if self.far_b:
                self._fetch_next_panel(line, vectors)
            if self.far_a:
                self._fetch_next_rows(first_a, k, rows)
            column_a = self.at(first_a, k, m.a[1])
            found = []
            for r in range(rows):
                number = self.spread(self.at(column_a, str(r * m.a[0]), 1))
                for v in range(vectors):
                    before = sums[r * vectors + v]
                    found.append(code.intrinsic("fma", m.kind, m.lanes, number, of_b[v], before))
            return found

        carried = [(self.of, start) for line in starts for start in line]
        totals = code.loop("0", self.summed, carried, along)
        for r, line in enumerate(places):
            for v, at in enumerate(line):
                self.store(totals[r * vectors + v], at, masks[v], m.apart)

    def _fetch_next_panel(self, line: str, vectors: int) -> None:
        """Ask for the same row of the columns to come: rows lie too far apart to be foreseen."""
        for v in range(vectors):
            self.fetch(self.on(line, self.width + v * self.m.lanes))

    def _fetch_next_rows(self, first: str, k: str, rows: int) -> None:
        """Ask for the rows of A to come, a little of them at every step along the summed axis."""
        code, m = self.code, self.m
        done = code.put(f"mul i64 {k}, {rows}")
        row = code.put(f"add i64 {code.put(f'udiv i64 {done}, {m.summed}')}, {rows}")
        column = code.put(f"urem i64 {done}, {m.summed}")
        self.fetch(self.at(self.at(first, row, m.a[0]), column, 1))

    def _before(self, at: str, mask: str | None) -> str:
        """What is there already, or zero where the sum begins."""
        there = self.load(at, mask, self.m.apart)
        zero = self.code.constant(0, self.m.kind, self.m.lanes)
        return self.code.put(f"select i1 {self.begins}, {self.of} {zero}, {self.of} {there}")
