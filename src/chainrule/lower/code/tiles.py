"""Products of small matrices, written out: rows and columns of the result stay in registers.

BLAS first copies its operands so that large ones are met in the order of the cache.  Where one side
is short that takes longer than the product.  Here a block of the result, some rows by some vectors,
is summed up in registers while the summed axis is walked through once; the second operand is read
in vectors, the first in single numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chainrule.lower.code.host import wide_registers
from chainrule.lower.code.lines import Code
from chainrule.lower.plan.loops import REGISTER

SUMS = 24  # registers of sums; with those of operands, all of 32
VECTORS = 3  # of one block, at most
DEPTH = 512  # of the summed axis that is walked through at a time
COPIED = 96  # rows, from which on columns of B are copied first
NEAR = 2**18  # bytes of an operand, from which on what comes next is asked for in time
PREFETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
TURNED = 8  # rows, from which on it is worth to copy a B whose columns are dense, not its rows


@dataclass(frozen=True)
class Matrices:
    """C = A·B: extents, and how many elements apart neighbours lie."""

    kind: str  # "f64" or "f32"
    rows: int
    columns: int
    summed: int
    a: tuple[int, int]  # from row to row, and along the summed axis
    b: tuple[int, int]  # along the summed axis, and from column to column
    c: int  # from row to row
    apart: int = 1  # of C, from column to column

    @property
    def extents(self) -> tuple[int, int, int]:
        return self.rows, self.columns, self.summed

    @property
    def lanes(self) -> int:
        return REGISTER // (8 if self.kind == "f64" else 4)

    @property
    def fit(self) -> bool:
        """Whether they can be multiplied here, and as fast as by BLAS."""
        return wide_registers() > SUMS and (self.b[1] == 1 or self.rows >= TURNED)

    @property
    def transposed(self) -> Matrices:
        """Cᵀ = Bᵀ·Aᵀ."""
        return Matrices(
            self.kind, self.columns, self.rows, self.summed, self.b[::-1], self.a[::-1],
            self.apart, self.c,
        )  # fmt: skip

    @property
    def turns_less(self) -> bool:
        """Whether in Cᵀ = Bᵀ·Aᵀ fewer elements are out of order than in C = A·B."""
        if self.b[1] == 1 or self.apart != 1 or self.columns < TURNED:
            return False
        scattered = self.rows * (self.summed + 2 * self.columns)
        return scattered < self.columns * self.summed


def write_product(
    code: Code, m: Matrices, pointers: Sequence[str], begins: str, copy: str = ""
) -> None:
    """The product of the matrices at (a, b, c); unless it begins, it is added to what is there.

    `copy` is memory of `copied` elements, if there is some already.
    """
    if m.turns_less:
        a, b, c = pointers
        m, pointers = m.transposed, (b, a, c)
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
    return min(VECTORS, -(-m.columns // m.lanes)) * m.lanes


def copied(m: Matrices) -> int:
    """How many elements of B are copied at a time."""
    m = m.transposed if m.turns_less else m
    if m.rows < COPIED and m.b[1] == 1:
        return 0
    return -(-min(m.summed, 2 * DEPTH) // m.lanes) * m.lanes * _width(m)


def _panels(code: Code, m: Matrices, block: _Blocks, width: int) -> None:
    """All columns of the result, a panel at a time."""
    height = _height(m.rows, SUMS * m.lanes // width)
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


class _Blocks:
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
        self.code, self.m, self.begins, self.given = code, m, begins, begins
        self.a, self.b, self.c = pointers
        self.size = 8 if m.kind == "f64" else 4
        self.of = code.type(m.kind, m.lanes)
        self.element = code.type(m.kind, 1)
        self.first, self.summed = "0", str(m.summed)
        self.copy, self.width = "", width
        if copied(m):
            self.copy = copy or code.buffer(copied(m), self.element)
        self.far_b = not self.copy and m.summed * m.columns * self.size > NEAR
        once = m.columns <= width and m.a[1] == 1
        self.far_a = once and m.summed * m.rows * self.size > NEAR

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
        start = self._at(self._at(self.b, self.first, m.b[0]), column, m.b[1])
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
            here, there = self._at(start, k, m.b[0]), self._at(self.copy, k, self.width)
            for v in range(-(-columns // m.lanes)):
                number = self._load(self._on(here, v * m.lanes), self._mask(columns - v * m.lanes))
                self._store(number, self._on(there, v * m.lanes), None)
            return []

        code.loop("0", self.summed, [], along)

    def _turned(self, start: str, columns: int) -> None:
        """The same of a B whose columns are dense: squares of as many rows as lanes are turned."""
        code, m = self.code, self.m
        lanes = m.lanes
        numbers = ", ".join(f"i64 {i}" for i in range(lanes))
        end = self._vector(self.summed, "i64")

        def along(i: str, names: list[str]) -> list[str]:
            k = code.put(f"mul i64 {i}, {lanes}")
            index = code.put(f"add <{lanes} x i64> {self._vector(k, 'i64')}, <{numbers}>")
            mask = code.put(f"icmp slt <{lanes} x i64> {index}, {end}")
            here, there = self._at(start, k, m.b[0]), self._at(self.copy, k, self.width)
            for v in range(-(-columns // lanes)):
                lines = [
                    self._load(self._on(here, (v * lanes + j) * m.b[1]), mask)
                    if v * lanes + j < columns
                    else code.constant(0, m.kind, lanes)
                    for j in range(lanes)
                ]
                for j, line in enumerate(_transposed(code, lines, self.of, lanes)):
                    self._store(line, self._on(there, j * self.width + v * lanes), None)
            return []

        count = code.put(f"sdiv i64 {code.put(f'add i64 {self.summed}, {lanes - 1}')}, {lanes}")
        code.loop("0", count, [], along)

    def _on(self, base: str, elements: int) -> str:
        return self._at(base, str(elements), 1)

    def _at(self, base: str, index: str, apart: int) -> str:
        offset = index if apart == 1 else self.code.put(f"mul i64 {index}, {apart}")
        return self.code.put(f"getelementptr {self.element}, ptr {base}, i64 {offset}")

    def _mask(self, left: int) -> str | None:
        lanes = self.m.lanes
        if left >= lanes:
            return None
        bits = ", ".join(f"i1 {'true' if i < left else 'false'}" for i in range(lanes))
        return f"<{bits}>"

    def _load(self, address: str, mask: str | None, apart: int = 1) -> str:
        code, lanes = self.code, self.m.lanes
        if apart != 1:
            name = f"llvm.masked.gather.v{lanes}{self.m.kind}.v{lanes}p0"
            takes = f"<{lanes} x ptr>, <{lanes} x i1>, {self.of}"
            code.declares.add(f"declare {self.of} @{name}({takes})")
            return code.put(
                f"call {self.of} @{name}({self._lanes_at(address, mask, apart)}, "
                f"{self.of} zeroinitializer)"
            )
        if mask is None:
            return code.put(f"load {self.of}, ptr {address}, align {self.size}")
        name = f"llvm.masked.load.v{lanes}{self.m.kind}.p0"
        code.declares.add(f"declare {self.of} @{name}(ptr, <{lanes} x i1>, {self.of})")
        return code.put(
            f"call {self.of} @{name}(ptr align {self.size} {address}, <{lanes} x i1> {mask}, "
            f"{self.of} zeroinitializer)"
        )

    def _lanes_at(self, address: str, mask: str | None, apart: int) -> str:
        """Where the lanes of a vector stand that is not dense, and which of them there are."""
        lanes = self.m.lanes
        offsets = ", ".join(f"i64 {apart * i}" for i in range(lanes))
        of = f"<{lanes} x i64>"
        at = self.code.put(f"getelementptr {self.element}, ptr {address}, {of} <{offsets}>")
        given = mask or self.code.constant(True, "i1", lanes)
        return f"<{lanes} x ptr> align {self.size} {at}, <{lanes} x i1> {given}"

    def _store(self, number: str, address: str, mask: str | None, apart: int = 1) -> None:
        code, lanes = self.code, self.m.lanes
        if apart != 1:
            name = f"llvm.masked.scatter.v{lanes}{self.m.kind}.v{lanes}p0"
            code.declares.add(f"declare void @{name}({self.of}, <{lanes} x ptr>, <{lanes} x i1>)")
            at = self._lanes_at(address, mask, apart)
            code.line(f"call void @{name}({self.of} {number}, {at})")
            return
        if mask is None:
            code.line(f"store {self.of} {number}, ptr {address}, align {self.size}")
            return
        name = f"llvm.masked.store.v{lanes}{self.m.kind}.p0"
        code.declares.add(f"declare void @{name}({self.of}, ptr, <{lanes} x i1>)")
        code.line(
            f"call void @{name}({self.of} {number}, ptr align {self.size} {address}, "
            f"<{lanes} x i1> {mask})"
        )

    def write(self, row: str, column: str, rows: int, columns: int) -> None:
        """One block of so many rows and columns, from there on."""
        code, m = self.code, self.m
        vectors = -(-columns // m.lanes)
        masks = [self._mask(columns - v * m.lanes) for v in range(vectors)]
        first_a = self._at(self._at(self.a, row, m.a[0]), self.first, m.a[1])
        corner = self._at(self._at(self.c, row, m.c), column, m.apart)
        places = [
            [self._on(corner, r * m.c + v * m.lanes * m.apart) for v in range(vectors)]
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
            line = self._at(self.line, k, self.apart)
            whole = [None] * vectors if self.copy else masks
            of_b = [
                self._load(self._at(line, str(v * m.lanes), 1), mask)
                for v, mask in enumerate(whole)
            ]
            if self.far_b:
                self._fetch_next_panel(line, vectors)
            if self.far_a:
                self._fetch_next_rows(first_a, k, rows)
            column_a = self._at(first_a, k, m.a[1])
            found = []
            for r in range(rows):
                number = self._spread(self._at(column_a, str(r * m.a[0]), 1))
                for v in range(vectors):
                    before = sums[r * vectors + v]
                    found.append(code.intrinsic("fma", m.kind, m.lanes, number, of_b[v], before))
            return found

        carried = [(self.of, start) for line in starts for start in line]
        totals = code.loop("0", self.summed, carried, along)
        for r, line in enumerate(places):
            for v, at in enumerate(line):
                self._store(totals[r * vectors + v], at, masks[v], m.apart)

    def _fetch_next_panel(self, line: str, vectors: int) -> None:
        """Ask for the same row of the columns to come: rows lie too far apart to be foreseen."""
        for v in range(vectors):
            self._fetch(self._on(line, self.width + v * self.m.lanes))

    def _fetch_next_rows(self, first: str, k: str, rows: int) -> None:
        """Ask for the rows of A to come, a little of them at every step along the summed axis."""
        code, m = self.code, self.m
        done = code.put(f"mul i64 {k}, {rows}")
        row = code.put(f"add i64 {code.put(f'udiv i64 {done}, {m.summed}')}, {rows}")
        column = code.put(f"urem i64 {done}, {m.summed}")
        self._fetch(self._at(self._at(first, row, m.a[0]), column, 1))

    def _fetch(self, address: str) -> None:
        self.code.declares.add(PREFETCH)
        self.code.line(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 2, i32 1)")

    def _before(self, at: str, mask: str | None) -> str:
        """What is there already, or zero where the sum begins."""
        there = self._load(at, mask, self.m.apart)
        zero = self.code.constant(0, self.m.kind, self.m.lanes)
        return self.code.put(f"select i1 {self.begins}, {self.of} {zero}, {self.of} {there}")

    def _spread(self, address: str) -> str:
        number = self.code.put(f"load {self.element}, ptr {address}, align {self.size}")
        return self._vector(number, self.element)

    def _vector(self, number: str, element: str) -> str:
        code, lanes = self.code, self.m.lanes
        of = f"<{lanes} x {element}>"
        one = code.put(f"insertelement {of} poison, {element} {number}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return code.put(f"shufflevector {of} {one}, {of} poison, {zeros}")


def _transposed(code: Code, lines: list[str], of: str, lanes: int) -> list[str]:
    """The columns of a square of vectors: neighbours are interleaved as often as it takes."""
    half = lanes // 2
    for _ in range(lanes.bit_length() - 1):
        found = []
        for a, b in zip(lines[:half], lines[half:], strict=True):
            for first in (0, half):
                picks = [p for i in range(first, first + half) for p in (i, i + lanes)]
                mask = ", ".join(f"i32 {p}" for p in picks)
                found.append(
                    code.put(f"shufflevector {of} {a}, {of} {b}, <{lanes} x i32> <{mask}>")
                )
        lines = found
    return lines
