"""Indexing by arrays as values: where each element stands becomes an array of whole numbers.

Every index is brought into range before it is used, so that machine code never reads what is not
there; whether one was out of range is a guard, and a call in which it was is made again by the
interpreter, which names the index and the line.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.slot import Slot
from chainrule.core.spec import Shape
from chainrule.lower.values.array import Array, NotLoweredError, spelled_out
from chainrule.lower.values.value import LONG, Value, pointwise, strides_of

if TYPE_CHECKING:
    from chainrule.lower.build import Builder


def gathered(
    b: Builder, x: Array, arrays: tuple[Array, ...], template: tuple[Any, ...]
) -> Array | None:
    """x[index] for an index with arrays of integers."""
    where = positions(b, x.shape, arrays, template)
    if where is None or x.value.size == 1 or 0 in x.shape:
        return None
    base = b.stored(x)
    args = ((base.value, ()), (where.value, pointwise(len(where.value.dims))))
    return Array(Value("map", where.value.dims, x.dtype, args, "take"), where.shape)


def scattered(
    b: Builder, g: Array, arrays: tuple[Array, ...], template: tuple[Any, ...], shape: Shape
) -> Array | None:
    """Zeros of `shape` to which g is added at the index."""
    return _written(b, None, g, arrays, template, shape, "add")


def assigned(
    b: Builder, x: Array, value: Array, arrays: tuple[Array, ...], template: tuple[Any, ...]
) -> Array | None:
    """x in which x[index] = value; the last of several writes wins."""
    return _written(b, x, b.astype(value, x.dtype), arrays, template, x.shape, "copy")


def _written(
    b: Builder,
    base: Array | None,
    value: Array,
    arrays: tuple[Array, ...],
    template: tuple[Any, ...],
    shape: Shape,
    how: str,
) -> Array | None:
    where = positions(b, shape, arrays, template)
    size = math.prod(shape)
    if where is None or size <= 1 or value.dtype.kind == "b":
        return None
    while value.ndim > where.ndim:
        value = b.reshape(value, value.shape[1:])
    value = b.stored(b.broadcast_to(value, where.shape))
    where = b.stored(where)
    args = [(value.value, ()), (where.value, ())]
    if base is not None:
        args.append((b.stored(base).value, ()))
    dims = tuple(n for n in shape if n != 1)
    return Array(Value("scatter", dims, value.dtype, tuple(args), how), shape)


def positions(
    b: Builder, shape: Shape, arrays: tuple[Array, ...], template: tuple[Any, ...]
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
            indexed.append((_in_range(b, arrays[part.k], n), stride))
        else:
            offset += (int(part) % n) * stride
    rank = len(before) + len(common) + len(after)
    total = b.broadcast_to(b.constant(offset, LONG), (1,) * rank)
    for index, stride in indexed:
        spread = b.reshape(index, (*index.shape, *[1] * len(after)))
        total = b.map("add", total, b.map("multiply", spread, b.constant(stride, LONG)))
    for in_front, place, along in slices:
        axis = place if in_front else len(before) + len(common) + place
        lined = [1] * rank
        lined[axis] = len(along)
        total = b.map("add", total, b.reshape(b.held(along), lined))
    return b.broadcast_to(total, (*before, *common, *after))


def _in_range(b: Builder, index: Array, n: int) -> Array:
    """An index counted from the front; where it is out of range, that is noted."""
    zero, count = b.constant(0, LONG), b.constant(n, LONG)
    value = index.value
    if value.kind == "constant" and isinstance(value.params, np.ndarray):
        params = value.params
        if params.size and (params.min() < -n or params.max() >= n):
            raise NotLoweredError("an index is out of range")
        return b.reshape(b.held(params % max(n, 1)), index.shape)
    wrapped = b.map("where", b.map("less", index, zero), b.map("add", index, count), index)
    low, high = b.map("less", wrapped, zero), b.map("greater_equal", wrapped, count)
    b.forbid(b.reduce("any", b.map("logical_or", low, high), None, False))
    last = b.constant(max(n - 1, 0), LONG)
    return b.map("minimum", b.map("maximum", wrapped, zero), last)
