"""Reading chosen elements: take, take_along_axis, choose, compress, extract, trim_zeros.

All of them are an index with arrays, recorded as `gather`; positions may be integer Variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from chainrule.core.masked import plain
from chainrule.core.op import Sample, sample
from chainrule.core.spec import broadcast_shapes
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.define import composite
from chainrule.ops.indexing import take_index
from chainrule.ops.joining import as_array, stack
from chainrule.ops.positions import flatnonzero
from chainrule.ops.samples import draw
from chainrule.ops.shape import broadcast_to, ravel


def positions(indices: Any, size: int, mode: str) -> Any:
    """Positions along an axis of `size`, as an array even of one: reading by it makes a copy."""
    indices = as_array(indices)
    if isinstance(indices, np.generic):
        indices = np.asarray(indices)
    if indices.dtype == bool:
        indices = indices.astype(np.intp)  # NumPy takes False for 0 here
    if mode == "raise":
        return indices
    if mode == "wrap":
        return np.remainder(indices, max(size, 1))
    if mode == "clip":
        return np.clip(indices, 0, max(size - 1, 0))
    raise ArgumentError(f"mode is 'raise', 'wrap' or 'clip', not {mode!r}")


def _take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    a = as_array(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = normalize_axis_index(axis, a.ndim)
    return take_index(a, (slice(None),) * axis + (positions(indices, a.shape[axis], mode),))


take = composite(
    "take",
    _take,
    inputs=("a", "indices"),
    samples=lambda: [
        sample(draw((2, 3), -2, 2), np.array([5, 0, 0, -1])),
        sample(draw((2, 3), -2, 2), 4),
        sample(draw((2, 3), -2, 2), [[0, 2], [1, 1]], axis=1),
        sample(draw((2, 3), -2, 2), np.array([1, 1]), axis=-2),
        sample(draw((2, 3), -2, 2), 1, axis=0),
        sample(draw((4,), -2, 2), np.array([-5, 9]), mode="wrap"),
        sample(draw((4,), -2, 2), np.array([-5, 9, 2]), axis=0, mode="clip"),
        sample(draw((4,), -2, 2), np.array([True, False])),
        sample(draw((), -2, 2), 0),
        sample(draw((4,), -2, 2), np.zeros((0, 2), int)),
        sample(draw((4,), -2, 2).astype(np.float32), np.array([1, 1])),
        sample(draw((4,), -2, 2) + 1j, np.array([1, 1])),
    ],
    bad=lambda: [
        sample(draw((3,), -2, 2), np.array([3])),
        sample(draw((3,), -2, 2), np.array([0.5])),
    ],
    numpy=(np.take,),
)


def along_axis(shape: tuple[int, ...], indices: Any, axis: int) -> tuple[Any, ...]:
    """The index that reads, at every place of the other axes, the given positions along `axis`."""
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"indices along an axis are integers, not {indices.dtype.name}")
    if indices.ndim != len(shape):
        raise ShapeError(
            f"indices along an axis have as many axes as the array, not {indices.ndim} for {shape}"
        )
    index: list[Any] = list(np.ix_(*(np.arange(n) for n in shape)))
    index[normalize_axis_index(axis, len(shape))] = indices
    return tuple(index)


def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    arr, indices = as_array(arr), as_array(indices)
    if axis is None:
        arr, axis = ravel(arr), 0
    return take_index(arr, along_axis(arr.shape, indices, axis))


take_along_axis = composite(
    "take_along_axis",
    _take_along_axis,
    inputs=("arr", "indices"),
    samples=lambda: [
        sample(draw((2, 3), -2, 2), np.array([[2, 0, 0, 1], [1, 1, -1, 0]])),
        sample(draw((2, 3), -2, 2), np.array([[1, 0, 0]]), axis=0),
        sample(draw((2, 3), -2, 2), np.array([[1]]), axis=1),
        sample(draw((2, 3), -2, 2), np.array([5, 5, 0]), axis=None),
        sample(draw((3,), -2, 2), np.zeros(0, int)),
    ],
    bad=lambda: [sample(draw((3,), -2, 2), np.array([3]))],
    numpy=(np.take_along_axis,),
)


def _choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """The choices stacked, and read at position a of the first axis."""
    a, parts = as_array(a), [as_array(c) for c in choices]
    if not parts:
        raise ArgumentError("choose needs at least one choice")
    if a.dtype.kind not in "iub":
        raise DTypeError(f"choose takes integers to choose by, not {a.dtype.name}")
    if mode == "raise" and np.any((plain(a) < 0) | (plain(a) >= len(parts))):
        raise ArgumentError(f"choose: there are {len(parts)} choices, numbered from 0")
    shape = broadcast_shapes([a.shape, *(c.shape for c in parts)])
    table = stack([broadcast_to(c, shape) for c in parts])
    chosen = broadcast_to(positions(a, len(parts), mode), shape)
    return take_index(table, (chosen, *np.ix_(*(np.arange(n) for n in shape))))


def _choices() -> list[Sample]:
    rows = draw((3, 4), -2, 2)
    return [
        sample(np.array([2, 0, 1, 1]), rows),
        sample(np.array([[0], [2]]), rows),
        sample(np.array([7, -1, 1, 1]), rows, mode="wrap"),
        sample(np.array([7, -1, 1, 1]), rows, mode="clip"),
        sample(np.array([True, False]), rows[:2, :2]),
        sample(np.int64(1), rows[:, 0]),
    ]


choose = composite(
    "choose",
    _choose,
    inputs=("a", "choices"),
    samples=_choices,
    numpy=(np.choose,),
    doc="Lane by lane the a-th of the choices, which broadcast together.",
)


def _compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    condition = as_array(condition)
    if condition.ndim != 1:
        raise ShapeError(f"compress takes a condition along one axis, not {condition.shape}")
    return _take(a, flatnonzero(condition), axis)


compress = composite(
    "compress",
    _compress,
    inputs=("condition", "a"),
    samples=lambda: [
        sample(np.array([True, False, True]), draw((2, 3), -2, 2), axis=1),
        sample(np.array([False, True]), draw((3, 2), -2, 2), axis=0),
        sample(np.array([0, 1, 1, 0, 2]), draw((2, 3), -2, 2)),
        sample([True, False], draw((2,), -2, 2)),
        sample(np.array([False, False]), draw((2,), -2, 2)),
    ],
    bad=lambda: [sample(np.array([True, False, True]), draw((2,), -2, 2))],
    numpy=(np.compress,),
)
extract = composite(
    "extract",
    lambda condition, arr: _take(arr, flatnonzero(condition)),
    inputs=("condition", "arr"),
    samples=lambda: [
        sample(np.array([True, False, True]), draw((3,), -2, 2)),
        sample(np.array([[0, 1, 1], [2, 0, 0]]), draw((2, 3), -2, 2)),
    ],
    bad=lambda: [sample(np.array([True, False, True]), draw((2,), -2, 2))],
    numpy=(np.extract,),
)


def _trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """The smallest box that holds all that is not zero; only the ends that `trim` names move."""
    x, trim = as_array(filt), trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ArgumentError(f"trim_zeros: trim is made of 'f' and 'b', not {trim!r}")
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    box = [slice(None)] * x.ndim
    for a in axes:
        held = np.nonzero(plain(x))[a]
        if not held.size:
            box[a] = slice(0, 0)
            continue
        start = int(held.min()) if "f" in trim else None
        box[a] = slice(start, int(held.max()) + 1 if "b" in trim else None)
    return take_index(x, tuple(box))


def _padded() -> list[Sample]:
    row = np.array([0.0, 0.0, 1.5, 0.0, 2.5, 0.0])
    matrix = np.zeros((3, 4))
    matrix[1, 1:3] = 1.5, 2.5
    return [
        *(sample(row, trim=trim) for trim in ("fb", "f", "b")),
        sample(matrix),
        sample(matrix, axis=-1),
        sample(np.zeros(3), trim="f"),
    ]


trim_zeros = composite(
    "trim_zeros",
    _trim_zeros,
    inputs=("filt",),
    samples=lambda: [sample(draw((3,), 1, 2)), sample(draw((2, 3), 1, 2))],
    edges=_padded,
    numpy=(np.trim_zeros,),
)
