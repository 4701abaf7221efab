"""A product of two matrices: its extents, where its elements lie, and which way it is computed."""

from __future__ import annotations

from dataclasses import dataclass

from chainrule.lower.target import Target
from chainrule.lower.values.contract import LONG_SUM

SUM_REGISTERS = 24  # registers of sums; with those of operands, all of 32
TURNED_ROWS = 8  # from which on it is worth to copy a B whose columns are dense, not its rows


@dataclass(frozen=True)
class Matrices:
    """C = A·B: extents, and how many elements apart neighbours lie."""

    target: Target
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
        return self.target.lanes(self.itemsize)

    @property
    def itemsize(self) -> int:
        return 8 if self.kind == "f64" else 4

    @property
    def fit(self) -> bool:
        """Whether they can be multiplied here, and as fast as by BLAS."""
        dense = self.b[1] == 1 or self.rows >= TURNED_ROWS
        return dense and self.target.registers > SUM_REGISTERS

    @property
    def transposed(self) -> Matrices:
        """Cᵀ = Bᵀ·Aᵀ."""
        return Matrices(
            self.target, self.kind, self.columns, self.rows, self.summed,
            self.b[::-1], self.a[::-1], self.apart, self.c,
        )  # fmt: skip

    @property
    def turned(self) -> bool:
        """Whether Cᵀ = Bᵀ·Aᵀ is computed instead."""
        return self.apart == 1 and (self._fills_more or self._turns_less)

    @property
    def _turns_less(self) -> bool:
        """Whether fewer elements are out of order in Cᵀ = Bᵀ·Aᵀ than in C = A·B."""
        collide = self.c * self.itemsize % self.target.colliding_bytes == 0
        scattered = self.rows * (self.summed + (16 if collide else 2) * self.columns)
        turns = self.b[1] != 1 and self.columns >= TURNED_ROWS
        return turns and scattered < self.columns * self.summed

    @property
    def _fills_more(self) -> bool:
        """Whether a row of C leaves much of a vector empty, and a column does not."""
        return self.narrow and self.a[0] == 1 and self.rows >= 2 * self.lanes

    @property
    def narrow(self) -> bool:
        """Whether a row of C leaves a quarter of a vector empty or more, in a long sum."""
        return 4 * self.columns <= 3 * self.lanes and self.summed >= LONG_SUM

    @property
    def dotted(self) -> bool:
        """Whether rows of A and columns of B are multiplied by whole vectors along the sum."""
        return self.narrow and self.a[1] == 1 and self.columns > 1 and 1 in self.b
