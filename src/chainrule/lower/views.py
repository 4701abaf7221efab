"""Seeing an array elsewhere or in another shape, and putting arrays together of pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.spec import Shape
from chainrule.lower.arrays import (
    Array,
    NotLoweredError,
    axes_of,
    dims_of,
    region,
    selected_shape,
    through_views,
)
from chainrule.lower.maps import Maps
from chainrule.lower.values import KNOWN, LONG, Access, Dim, Value, pointwise


class Views(Maps):
    """The part of a builder that moves numbers and computes none."""

    def given(self, value: Any) -> Array | None:
        """A constant of the graph."""
        array = np.asarray(value)
        if array.dtype.kind == "i" and array.dtype != LONG:
            array = array.astype(LONG)
        if array.dtype not in KNOWN:
            return None
        flat = array.reshape(-1)
        if array.size and (array.size == 1 or bool((flat == flat[0]).all())):
            # A Python number takes the type of what it meets.
            weak = isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))
            return self.broadcast_to(self.constant(flat[0], array.dtype, weak), array.shape)
        return self.held(array)

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
        return Array(
            self.made_once("reshape", dims, base.dtype, ((base, pointwise(len(base.dims))),), None),
            found,
        )

    def getitem(self, array: Array, template: tuple[Any, ...]) -> Array:
        """A basic index: integers, slices, newaxis and an ellipsis."""
        shape = selected_shape(template, array.shape)
        return self.view(array, shape, region(template, array.shape))

    # -- pieces --------------------------------------------------------------------------------

    def join(
        self, shape: Shape, dtype: Any, base: Array | None, pieces: Sequence[tuple[Array, Access]]
    ) -> Array:
        """An array of `base` (None: zeros) in which each piece stands where its access says.

        The access is by the axes of the piece, one Dim per axis of `shape` that is not of size one.
        """
        args: list[tuple[Value, Access]] = []
        if base is not None:
            args.append((base.value, pointwise(len(base.value.dims))))
        args += [(piece.value, pointwise(len(piece.value.dims))) for piece, _ in pieces]
        regions = tuple(access for _, access in pieces)
        value = Value(
            "join", dims_of(shape), np.dtype(dtype), tuple(args), (base is not None, regions)
        )
        return Array(value, tuple(shape))

    def embed(self, array: Array, template: tuple[Any, ...], shape: Shape) -> Array:
        """Zeros but for what a basic index selects."""
        return self.join(shape, array.dtype, None, [(array, region(template, shape))])

    def setitem(self, array: Array, value: Array, template: tuple[Any, ...]) -> Array:
        """The array with another value where a basic index selects."""
        place = selected_shape(template, array.shape)
        value = self.astype(value, array.dtype)
        while value.ndim > len(place):
            value = self.reshape(value, value.shape[1:])
        piece = self.broadcast_to(value, place)
        return self.join(array.shape, array.dtype, array, [(piece, region(template, array.shape))])

    def pad(self, array: Array, widths: Any) -> Array:
        sides = list(zip(array.shape, widths, strict=True))
        shape = tuple(n + before + after for n, (before, after) in sides)
        template = tuple(slice(before, before + n) for n, (before, _) in sides)
        return self.embed(array, template, shape)

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
