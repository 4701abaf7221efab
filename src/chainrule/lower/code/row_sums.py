"""Rows that each add up to a number: several at a time, whose lanes are added up together.

One by one, short rows spend more time on adding up the lanes of a vector than on what is in them.
"""

from __future__ import annotations

from functools import partial

from chainrule.lower.code.emit import Emitter
from chainrule.lower.code.vectors import folded_lanes
from chainrule.lower.plan.loops import Fold, Place
from chainrule.lower.values.value import KNOWN


class RowSums(Emitter):
    """The code of a nest whose folds are all along its last loop."""

    def _nest(self, k: int) -> dict[Fold, str]:
        if k != self.depth - 2:
            return super()._nest(k)
        self._scalars(k)
        rows, abreast = self.nest.extents[-2], self.nest.abreast

        def body(i: str, names: list[str]) -> list[str]:
            self._abreast(self.code.put(f"mul i64 {i}, {abreast}"), abreast)
            return []

        if rows >= abreast:
            self.code.loop("0", str(rows // abreast), [], body)
        if rows % abreast:
            self._abreast(str(rows // abreast * abreast), rows % abreast)
        return {}

    def _abreast(self, first: str, count: int) -> None:
        """So many rows, from there on."""
        nest, lanes = self.nest, self.nest.lanes
        self._enter_rows(first, count)
        whole, left = divmod(nest.extents[-1], lanes)
        kept = [fold for fold in nest.folds for _ in range(count)]

        def along(i: str, sums: list[str]) -> list[str]:
            at = self.code.put(f"mul i64 {i}, {lanes}")
            return self._added(kept, sums, self._terms(at, None))

        starts = [(self._acc_type(fold), self._acc_start(fold)) for fold in kept]
        sums = self.code.loop("0", str(whole), starts, along)
        if left:
            at, mask = str(whole * lanes), self._tail_mask(left)
            sums = self._added(kept, sums, self._terms(at, mask))
        self.rows.clear()
        for j, fold in enumerate(nest.folds):
            self._put(fold, sums[j * count : (j + 1) * count], first)

    def _terms(self, at: str, mask: str | None) -> list[str]:
        """One vector of each row: per fold and row, what it adds."""
        outer = self.known
        found: list[dict[Fold, str]] = []
        for index, known in self.rows:
            self.index.append(index)
            self.known = known
            (here,) = self._computed([at], mask)
            found.append(self._folded(at, mask, here))
            self.index.pop()
        self.known = outer
        return [terms[fold] for fold in self.nest.folds for terms in found]

    def _added(self, kept: list[Fold], sums: list[str], terms: list[str]) -> list[str]:
        given = zip(kept, sums, terms, strict=True)
        return [self._combine(fold, a, b, self.nest.lanes) for fold, a, b in given]

    def _put(self, fold: Fold, sums: list[str], first: str) -> None:
        """Add up the lanes of each row, and store the results side by side."""
        lanes, of = self.nest.lanes, self.code.type(KNOWN[fold.value.dtype], self.nest.lanes)
        combine = partial(self._combine, fold, lanes=lanes)
        total = folded_lanes(self.code, of, lanes, sums, combine)
        place = Place(fold.place.value, fold.place.offset, fold.place.strides[:-1])
        mask = self._tail_mask(len(sums)) if len(sums) < lanes else None
        self._store(place, total, first, lanes, mask)
