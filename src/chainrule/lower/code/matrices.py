"""A product of two matrices: its extents, where its elements lie, and which way it is computed."""

from __future__ import annotations

from dataclasses import dataclass

from chainrule.lower.code.host import wide_registers
from chainrule.lower.code.vectors import lanes_of
from chainrule.lower.values.contract import LONG

SUMS = 24  # registers of sums; with those of operands, all of 32
TURNED = 8  # rows, from which on it is worth to copy a B whose columns are dense, not its rows
COLLIDING = 4096  # bytes apart, lines of memory share one small part of a near cache


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
        return lanes_of(self.kind)

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
    def turned(self) -> bool:
        """Whether Cᵀ = Bᵀ·Aᵀ is computed instead."""
        return self.apart == 1 and (self._fills_more or self._turns_less)

    @property
    def _turns_less(self) -> bool:
        """Whether fewer elements are out of order in Cᵀ = Bᵀ·Aᵀ than in C = A·B."""
        collide = self.c * (8 if self.kind == "f64" else 4) % COLLIDING == 0
        scattered = self.rows * (self.summed + (16 if collide else 2) * self.columns)
        turns = self.b[1] != 1 and self.columns >= TURNED
        return turns and scattered < self.columns * self.summed

    @property
    def _fills_more(self) -> bool:
        """Whether a row of C leaves much of a vector empty, and a column does not."""
        return self.narrow and self.a[0] == 1 and self.rows >= 2 * self.lanes

    @property
    def narrow(self) -> bool:
        """Whether a row of C leaves a quarter of a vector empty or more, in a long sum."""
        return 4 * self.columns <= 3 * self.lanes and self.summed >= LONG

    @property
    def dotted(self) -> bool:
        """Whether rows of A and columns of B are multiplied by whole vectors along the sum."""
        return self.narrow and self.a[1] == 1 and self.columns > 1 and 1 in self.b
