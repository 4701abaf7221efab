"""Reductions inside a loop nest: what they start from, how sums are kept, where they go."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.lower.code.lanes import Frame, Lanes
from chainrule.lower.code.scalars import SCALARS
from chainrule.lower.plan.loops import Fold, Nest
from chainrule.lower.values.value import KNOWN

COMBINE = {
    "sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "any": "logical_or",
    "all": "logical_and",
}  # fmt: skip


def neutral(function: str, kind: str) -> Any:
    """What a fold starts from."""
    if function in ("max", "min"):
        if kind == "i64":
            return np.iinfo(np.int64).min if function == "max" else np.iinfo(np.int64).max
        return -np.inf if function == "max" else np.inf
    return {"sum": 0, "prod": 1, "any": False, "all": True}[function]


class Folds(Lanes):
    """The part of a kernel's code that loops, and adds up what the loops give."""

    def __init__(self, nest: Nest, frame: Frame):
        super().__init__(frame)
        self.nest = nest
        self.depth = len(nest.extents)

    def _suffix(self, fold: Fold) -> int:
        """The loop from which on all loops are folded."""
        start = self.depth
        while start > 0 and start - 1 in fold.axes:
            start -= 1
        return start

    def _through_memory(self, fold: Fold) -> bool:
        """Whether a result is added to more than once, so that it must start from memory."""
        start = self._suffix(fold)
        if self._in_registers(fold):
            return False
        again = fold.value in self.frame.totals
        return again or start == self.depth or any(a < start for a in fold.axes)

    def _in_registers(self, fold: Fold) -> bool:
        """Whether all the rows that a result sums up are computed together."""
        whole = self.depth > 1 and self.nest.jam == self.nest.extents[-2] > 1
        return whole and fold.axes == {self.depth - 2} and fold.value not in self.frame.totals

    def _acc_type(self, fold: Fold) -> str:
        return self.code.type(KNOWN[fold.value.dtype], self.nest.lanes)

    def _acc_start(self, fold: Fold) -> str:
        kind = KNOWN[fold.value.dtype]
        return self.code.constant(neutral(fold.value.params[0], kind), kind, self.nest.lanes)

    def _combine(self, fold: Fold, a: str, b: str, lanes: int) -> str:
        kind = KNOWN[fold.value.dtype]
        return SCALARS[COMBINE[fold.value.params[0]]](self.code, kind, lanes, a, b)

    def _finish(self, fold: Fold, total: str) -> None:
        """Add up the lanes, and put the result where it belongs."""
        code, kind, lanes = self.code, KNOWN[fold.value.dtype], self.nest.lanes
        while lanes > 1:
            half = lanes // 2
            of = code.type(kind, lanes)
            low = ", ".join(f"i32 {i}" for i in range(half))
            high = ", ".join(f"i32 {i}" for i in range(half, lanes))
            if half == 1:
                a = code.put(f"extractelement {of} {total}, i64 0")
                b = code.put(f"extractelement {of} {total}, i64 1")
            else:
                a = code.put(f"shufflevector {of} {total}, {of} poison, <{half} x i32> <{low}>")
                b = code.put(f"shufflevector {of} {total}, {of} poison, <{half} x i32> <{high}>")
            total = self._combine(fold, a, b, half)
            lanes = half
        if self._through_memory(fold):
            before = self._load(fold.place, "0", 1, None)
            total = self._combine(fold, before, total, 1)
        self._store(fold.place, total, "0", 1, None)

    def _fill(self, fold: Fold) -> None:
        """Set a result, or its rows of this tile, to what the fold starts from."""
        kind = KNOWN[fold.value.dtype]
        start = self.code.constant(neutral(fold.value.params[0], kind), kind, 1)
        if any(n == 0 and k not in fold.axes for k, n in enumerate(self.nest.extents)):
            return
        outer = self.index

        def inside(k: int, chosen: list[str]) -> None:
            if k == self.depth:
                self.index = chosen[:-1]
                self._store(fold.place, start, chosen[-1], 1, None)
            elif k in fold.axes:
                inside(k + 1, [*chosen, "0"])
            else:

                def body(i: str, names: list[str]) -> list[str]:
                    inside(k + 1, [*chosen, i])
                    return []

                self.code.loop("0", str(self.nest.extents[k]), [], body)

        inside(0, [])
        self.index = outer
