"""Indexing by arrays as values: where each element stands becomes an array of whole numbers.

Every index is brought into range before it is used, so that machine code never reads what is not
there; whether one was out of range is a guard, and a call in which it was is made again by the
interpreter, which names the index and the line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.slot import Slot
from chainrule.core.spec import Shape
from chainrule.lower.values.array import Array, NotLoweredError, spelled_out
from chainrule.lower.values.factor import Factors
from chainrule.lower.values.value import LONG, Value, pointwise, strides_of


class Indexing(Factors):
    """The part of a builder that reads and writes elements where arrays of positions say."""

    def __init__(self, exported: Callable[[str], bool] | None = None) -> None:
        super().__init__(exported)
        self.forbidden: list[Array] = []  # truths that must be false for the results to be right

    def forbid(self, truth: Array) -> None:
        """The results hold only where this is false."""
        if truth not in self.forbidden:
            self.forbidden.append(truth)

    def gather(
        self, x: Array, arrays: tuple[Array, ...], template: tuple[Any, ...]
    ) -> Array | None:
        """x[index] for an index with arrays of integers."""
        where = self._positions(x.shape, arrays, template)
        if where is None or x.value.size == 1 or 0 in x.shape:
            return None
        base = self.stored(x)
        args = ((base.value, ()), (where.value, pointwise(len(where.value.dims))))
        return Array(Value("map", where.value.dims, x.dtype, args, "take"), where.shape)

    def scatter(
        self, g: Array, arrays: tuple[Array, ...], template: tuple[Any, ...], shape: Shape
    ) -> Array | None:
        """Zeros of `shape` to which g is added at the index."""
        return self._written(None, g, arrays, template, shape, "add")

    def setitem_at(
        self, x: Array, value: Array, arrays: tuple[Array, ...], template: tuple[Any, ...]
    ) -> Array | None:
        """x in which x[index] = value; the last of several writes wins."""
        return self._written(x, self.astype(value, x.dtype), arrays, template, x.shape, "copy")

    def _written(
        self,
        base: Array | None,
        value: Array,
        arrays: tuple[Array, ...],
        template: tuple[Any, ...],
        shape: Shape,
        how: str,
    ) -> Array | None:
        where = self._positions(shape, arrays, template)
        size = math.prod(shape)
        if where is None or size <= 1 or value.dtype.kind == "b":
            return None
        while value.ndim > where.ndim:
            value = self.reshape(value, value.shape[1:])
        value = self.stored(self.broadcast_to(value, where.shape))
        where = self.stored(where)
        args = [(value.value, ()), (where.value, ())]
        if base is not None:
            args.append((self.stored(base).value, ()))
        dims = tuple(n for n in shape if n != 1)
        return Array(Value("scatter", dims, value.dtype, tuple(args), how), shape)

    def _positions(
        self, shape: Shape, arrays: tuple[Array, ...], template: tuple[Any, ...]
    ) -> Array | None:
        """Where in the memory of an array of `shape` each element that an index selects stands."""
        if not arrays or any(a.dtype != LONG for a in arrays):
            return None
        parts = spelled_out(template, len(shape))
        at = [i for i, p in enumerate(parts) if isinstance(p, (int, Slot))]
        together = at[-1] - at[0] + 1 == len(at)
        common = np.broadcast_shapes(*(a.shape for a in arrays))
        strides, sizes = iter(strides_of(shape)), iter(shape)
        before: list[int] = []
        after: list[int] = []
        offset = 0
        slices: list[tuple[int, int, np.ndarray]] = []  # side, place on that side, positions
        indexed: list[tuple[Array, int]] = []
        for i, part in enumerate(parts):
            side = before if together and i < at[0] else after
            if part is None:
                side.append(1)
                continue
            n, stride = next(sizes), next(strides)
            if isinstance(part, slice):
                along = np.arange(n)[part] * stride
                slices.append((side is before, len(side), along))
                side.append(len(along))
            elif isinstance(part, Slot):
                indexed.append((self._in_range(arrays[part.k], n), stride))
            else:
                offset += (int(part) % n) * stride
        rank = len(before) + len(common) + len(after)
        total = self.broadcast_to(self.constant(offset, LONG), (1,) * rank)
        for index, stride in indexed:
            spread = self.reshape(index, (*index.shape, *[1] * len(after)))
            on = self.map("multiply", spread, self.constant(stride, LONG))
            total = self.map("add", total, on)
        for in_front, place, along in slices:
            axis = place if in_front else len(before) + len(common) + place
            lined = [1] * rank
            lined[axis] = len(along)
            total = self.map("add", total, self.reshape(self.held(along), lined))
        return self.broadcast_to(total, (*before, *common, *after))

    def _in_range(self, index: Array, n: int) -> Array:
        """An index counted from the front; where it is out of range, that is noted."""
        zero, count = self.constant(0, LONG), self.constant(n, LONG)
        value = index.value
        if value.kind == "constant" and isinstance(value.params, np.ndarray):
            params = value.params
            if params.size and (params.min() < -n or params.max() >= n):
                raise NotLoweredError("an index is out of range")
            return self.reshape(self.held(params % max(n, 1)), index.shape)
        negative, from_end = self.map("less", index, zero), self.map("add", index, count)
        wrapped = self.map("where", negative, from_end, index)
        low, high = self.map("less", wrapped, zero), self.map("greater_equal", wrapped, count)
        self.forbid(self.reduce("any", self.map("logical_or", low, high), None, False))
        last = self.constant(max(n - 1, 0), LONG)
        return self.map("minimum", self.map("maximum", wrapped, zero), last)
