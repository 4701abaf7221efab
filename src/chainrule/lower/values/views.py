"""Seeing an array elsewhere or in another shape, and putting arrays together of pieces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chainrule.core.spec import Shape
from chainrule.lower.values.array import (
    Array,
    NotLoweredError,
    apart,
    axes_of,
    diagonal_of,
    dims_of,
    region,
    selected_shape,
    through_views,
)
from chainrule.lower.values.layout import in_memory_order, regrouped, renumbered, whole_order
from chainrule.lower.values.maps import Maps
from chainrule.lower.values.value import KNOWN, LONG, Access, Dim, Value, pointwise
from chainrule.optimise.rewrite import one_number


class Views(Maps):
    """The part of a builder that moves numbers and computes none."""

    def given(self, value: Any) -> Array | None:
        """A constant of the graph."""
        array = np.asarray(value)
        dtype = LONG if array.dtype.kind == "i" else array.dtype
        if dtype not in KNOWN:
            return None
        number = one_number(array)
        if number is not None:
            # A Python number takes the type of what it meets.
            weak = isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))
            return self.broadcast_to(self.constant(number, dtype, weak), array.shape)
        return self.held(array.astype(dtype, copy=False))

    def held(self, array: np.ndarray) -> Array:
        """An array kept with the code; a single number is written into it."""
        if array.size == 1 and array.dtype in KNOWN:
            return Array(self.constant(array.reshape(())[()], array.dtype).value, array.shape)
        kept = np.ascontiguousarray(array)
        return Array(Value("constant", dims_of(array.shape), array.dtype, params=kept), array.shape)

    def stored(self, array: Array) -> Array:
        """The array as one that lies in memory in its own order, and is no single number."""
        base = array.value
        if base.kind == "constant" and base.size == 1:
            filled = np.full(array.shape, base.params, base.dtype)
            return self.held(filled)
        return array

    def view(self, array: Array, shape: Shape, access: Access) -> Array:
        """The array read elsewhere; `access` is by the axes of `shape` that are not of size one."""
        dims = dims_of(shape)
        base, access = through_views(array.value, access)
        if base.dims == dims and access == pointwise(len(dims)):
            return Array(base, shape)
        if base.kind == "constant" and base.size == 1 and not dims:
            return Array(base, shape)
        return Array(self.made_once("map", dims, base.dtype, ((base, access),), "copy"), shape)

    def broadcast_to(self, array: Array, shape: Shape) -> Array:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if array.shape == shape:
            return array
        _, axis_at = axes_of(shape)
        skipped = len(shape) - array.ndim
        access = tuple(Dim(axis_at[skipped + i]) for i, n in enumerate(array.shape) if n != 1)
        return self.view(array, tuple(shape), access)

    def transpose(self, array: Array, axes: Any) -> Array:
        turned = reversed(range(array.ndim)) if axes is None else np.ravel(axes).tolist()
        axes = tuple(int(a) % array.ndim for a in turned)
        shape = tuple(array.shape[a] for a in axes)
        _, axis_at = axes_of(shape)
        access = tuple(Dim(axis_at[axes.index(i)]) for i, n in enumerate(array.shape) if n != 1)
        return self.view(array, shape, access)

    def reshape(self, array: Array, shape: Any) -> Array:
        wanted = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
        size = math.prod(array.shape)
        if -1 in wanted:
            rest = math.prod(n for n in wanted if n != -1)
            wanted[wanted.index(-1)] = size // rest if rest else 0
        found = tuple(int(n) for n in wanted)
        dims = dims_of(found)
        if dims == array.value.dims:
            return Array(array.value, found)
        base = array.value
        if base.kind == "constant" and base.size == 1:
            return self.broadcast_to(Array(base, ()), found)
        if base.kind == "map" and base.params == "copy" and not base.args[0][1]:
            return self.broadcast_to(Array(base.args[0][0], ()), found)  # one number everywhere
        whole, order = in_memory_order(base)
        split = regrouped(order, base.dims, dims)
        if split is not None:
            inner, seen = split
            return Array(self.reordered(self._reshaped(whole, inner), seen), found)
        return Array(self._reshaped(base, dims), found)

    def _reshaped(self, base: Value, dims: tuple[int, ...]) -> Value:
        args = ((base, pointwise(len(base.dims))),)
        return self.made_once("reshape", dims, base.dtype, args, None)

    def getitem(self, array: Array, template: tuple[Any, ...]) -> Array:
        """A basic index: integers, slices, newaxis and an ellipsis."""
        shape = selected_shape(template, array.shape)
        return self.view(array, shape, region(template, array.shape))

    def sliding(self, array: Array, shape: Shape, steps: Sequence[Mapping[int, int]]) -> Array:
        """The array as one of `shape`; its index along an axis is Σ step·index, by `steps`."""
        _, axis_at = axes_of(shape)
        access = []
        for n, along in zip(array.shape, steps, strict=True):
            terms = [(axis_at[a], step) for a, step in along.items() if a in axis_at]
            access += [Dim.of(0, terms)][: n != 1]
        return self.view(array, shape, tuple(access))

    def scan(self, function: str, operands: Sequence[Array], axis: int | None) -> Array:
        """A running "add", "multiply", "maximum" or "minimum", or factor·before + term."""
        if axis is None or not operands[0].ndim:
            operands, axis = [self.reshape(a, (-1,)) for a in operands], 0
        shape = np.broadcast_shapes(*(a.shape for a in operands))
        full = [self.broadcast_to(a, shape) for a in operands]
        dims, axis_at = axes_of(shape)
        along = axis_at.get(axis % len(shape))
        if along is None:
            return full[-1]
        args = tuple((self.stored(a).value, pointwise(len(dims))) for a in full)
        value = self.made_once("scan", dims, full[-1].dtype, args, (function, along))
        return Array(value, shape)

    def diagonal(self, array: Array, offset: int, axis1: int, axis2: int) -> Array:
        return self.view(array, *diagonal_of(array.shape, offset, axis1, axis2))

    # -- pieces --------------------------------------------------------------------------------

    def map(self, function: str, *operands: Array, dtype: Any = None) -> Array:
        if function == "add":
            beside = self._side_by_side(*operands)
            if beside is not None:
                return beside
        return super().map(function, *operands, dtype=dtype)

    def _side_by_side(self, x: Array, y: Array) -> Array | None:
        """x + y where the one is zero wherever the other is not: the pieces of both.

        So are the adjoints of parts of an array: nothing is added, but a -0.0 stays one.
        """
        if x.shape != y.shape:
            return None
        here = pointwise(len(x.value.dims))
        (one, way), (other, same_way) = (through_views(a.value, here) for a in (x, y))
        if one.kind != "join" or other.kind != "join" or way != same_way:
            return None
        (below, regions, added), (beneath, others, add) = one.params, other.params
        if below or beneath or added or add or one.dtype != other.dtype:
            return None
        if not all(apart(a, b) for a in regions for b in others):
            return None
        params = (False, regions + others, False)
        value = self.made_once("join", one.dims, one.dtype, one.args + other.args, params)
        return self.view(Array(value, tuple(one.dims)), x.shape, way)

    def join(
        self,
        shape: Shape,
        dtype: Any,
        base: Array | None,
        pieces: Sequence[tuple[Array, Access]],
        added: bool = False,
    ) -> Array:
        """An array of `base` (None: zeros) in which each piece stands where its access says.

        The access is by the axes of the piece, one Dim per axis of `shape` that is not of size one.
        Where pieces overlap, the later one wins, or they are `added`.
        """
        dims = dims_of(shape)
        pieces = [(piece, where) for piece, where in pieces if piece.value.size]
        order = whole_order([(piece.value, where) for piece, where in pieces], len(dims))
        args, regions = [], []
        if base is not None:
            value, access = through_views(base.value, pointwise(len(dims)))
            args.append((value, renumbered(access, order)))
        for piece, where in pieces:
            rank = len(piece.value.dims)
            turned = tuple(where[i] for i in order)
            along = tuple(dict.fromkeys(d.axis for d in turned if d.axis is not None))
            args.append(through_views(piece.value, tuple(Dim(along.index(i)) for i in range(rank))))
            regions.append((
                tuple(piece.value.dims[i] for i in along), renumbered(turned, along),
            ))  # fmt: skip
        params = (base is not None, tuple(regions), added)
        laid = tuple(dims[i] for i in order)
        value = self.made_once("join", laid, np.dtype(dtype), tuple(args), params)
        return Array(self.reordered(value, order), tuple(shape))

    def packed(self, array: Array) -> Array:
        """The array in memory in the order in which it is seen: itself, or a copy."""
        value = array.value
        base, access = through_views(value, pointwise(len(value.dims)))
        if base is value:
            return array
        params = (False, ((value.dims, pointwise(len(value.dims))),), False)
        copy = self.made_once("join", value.dims, value.dtype, ((base, access),), params)
        return Array(copy, array.shape)

    def embed(self, array: Array, template: tuple[Any, ...], shape: Shape) -> Array:
        """Zeros but for what a basic index selects."""
        return self.join(shape, array.dtype, None, [(array, region(template, shape))])

    def embed_along(self, array: Array, axes: tuple[int, ...], shape: Shape) -> Array:
        """Zeros but where the index along each axis is that of the array along `axes` of it."""
        _, axis_at = axes_of(array.shape)
        access = tuple(Dim(axis_at[a]) for a, n in zip(axes, shape, strict=True) if n != 1)
        return self.join(shape, array.dtype, None, [(array, access)])

    def embed_diagonal(
        self, array: Array, shape: Shape, offset: int, axis1: int, axis2: int
    ) -> Array:
        _, access = diagonal_of(shape, offset, axis1, axis2)
        return self.join(shape, array.dtype, None, [(array, access)])

    def setitem(self, array: Array, value: Array, template: tuple[Any, ...]) -> Array:
        """The array with another value where a basic index selects."""
        place = selected_shape(template, array.shape)
        value = self.astype(value, array.dtype)
        while value.ndim > len(place):
            value = self.reshape(value, value.shape[1:])
        piece = self.broadcast_to(value, place)
        return self.join(array.shape, array.dtype, array, [(piece, region(template, array.shape))])

    def pad(self, array: Array, widths: Any, fill: Any = 0) -> Array:
        sides = list(zip(array.shape, widths, strict=True))
        if not any(before or after for _, (before, after) in sides):
            return array
        shape = tuple(n + before + after for n, (before, after) in sides)
        template = tuple(slice(before, before + n) for n, (before, _) in sides)
        around = self.broadcast_to(self.constant(fill, array.dtype), shape) if fill != 0 else None
        return self.join(shape, array.dtype, around, [(array, region(template, shape))])

    def overlap(
        self,
        shape: Shape,
        dtype: Any,
        pieces: Sequence[tuple[Array, tuple[Any, ...]]],
        overlapping: bool = True,
    ) -> Array:
        """Zeros to which each piece is added where its basic index selects."""
        placed = [(piece, region(template, shape)) for piece, template in pieces]
        return self.join(shape, dtype, None, placed, added=overlapping)

    def concatenate(self, arrays: Sequence[Array], axis: int | None) -> Array:
        if axis is None:
            arrays, axis = [self.reshape(a, (-1,)) for a in arrays], 0
        axis %= arrays[0].ndim
        whole = list(arrays[0].shape)
        whole[axis] = sum(a.shape[axis] for a in arrays)
        pieces, at = [], 0
        for array in arrays:
            n = array.shape[axis]
            template = (slice(None),) * axis + (slice(at, at + n),)
            if n:
                pieces.append((array, region(template, tuple(whole))))
            at += n
        dtypes = {a.dtype for a in arrays}
        if len(dtypes) > 1:
            raise NotLoweredError("arrays of several types are joined")
        return self.join(tuple(whole), arrays[0].dtype, None, pieces)

    def stack(self, arrays: Sequence[Array], axis: int) -> Array:
        axis %= arrays[0].ndim + 1
        return self.concatenate(
            [self.reshape(a, (*a.shape[:axis], 1, *a.shape[axis:])) for a in arrays], axis
        )
