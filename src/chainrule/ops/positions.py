"""Where things are: nonzero, searchsorted, digitize, index arithmetic; the answers are integers.

They are recorded, so that a traced graph asks again at another point, but carry no derivative.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.batching import STACKED, BatchCall
from chainrule.core.op import Sample, sample
from chainrule.core.spec import Spec
from chainrule.errors import ShapeError
from chainrule.ops.define import ZERO, composite, rules, same_shape, shaped_spec
from chainrule.ops.indexing import take_index
from chainrule.ops.joining import as_array, stack
from chainrule.ops.reductions import count_nonzero
from chainrule.ops.samples import draw
from chainrule.ops.shape import ravel, reshape, transpose


def _masks() -> list[Sample]:
    """Booleans, because the shape of the answer depends on the values."""
    row = np.array([True, False, True])
    return [sample(row), sample(np.stack([row, ~row])), sample(row[:0]), sample(~(row | True))]


def _nonzero_lanes(call: BatchCall) -> Any:
    """All lanes have equally many: the caller has compared how many they are."""
    if not call.rank(0):
        return None  # which NumPy refuses
    _, *found = np.nonzero(call.raw(0))
    return tuple(p.reshape((call.count, p.shape[0] // call.count)) for p in found)


nonzero = rules(
    "nonzero",
    lambda a: tuple(np.nonzero(a)),
    inputs=("a",),
    derivative=ZERO,
    samples=_masks,
    bad=lambda: [sample(np.float64(1.0))],
    spec=lambda a: None,
    sizes=lambda a: [count_nonzero(a)],
    by_value=lambda a: True,
    numpy=(np.nonzero,),
    doc="The positions of the lanes that are not zero: one integer array per axis.",
    batch=_nonzero_lanes,
)
flatnonzero = composite(
    "flatnonzero",
    lambda a: nonzero(ravel(as_array(a)))[0],
    inputs=("a",),
    samples=_masks,
    numpy=(np.flatnonzero,),
)


def _argwhere(a: Any) -> Any:
    a = as_array(a)
    if a.ndim == 0:
        return transpose(stack(nonzero(reshape(a, 1))))[:, :0]
    return transpose(stack(nonzero(a)))


argwhere = composite(
    "argwhere",
    _argwhere,
    inputs=("a",),
    samples=lambda: [*_masks(), sample(np.float64(2.0)), sample(np.True_), sample(np.False_)],
    numpy=(np.argwhere,),
)


# -- places among sorted values ---------------------------------------------------------------


def insertion_in_rows(rows: Any, v: Any, side: str) -> Any:
    """np.searchsorted of each row of v in that of `rows`, by halving all intervals at once."""
    size = rows.shape[1]
    low = np.zeros(v.shape, np.intp)
    high = np.full(v.shape, size, np.intp)
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        pivot = np.take_along_axis(rows, np.minimum(middle, size - 1), axis=1)
        behind = _before(pivot, v) if side == "left" else np.logical_not(_before(v, pivot))
        behind = np.logical_and(behind, np.less(low, high))
        low, high = np.where(behind, middle + 1, low), np.where(behind, high, middle)
    return low


def _before(x: Any, y: Any) -> Any:
    """Whether x stands before y in NumPy's order, in which NaN is last."""
    if np.result_type(x.dtype, y.dtype).kind not in "fc":
        return np.less(x, y)
    return np.logical_or(np.less(x, y), np.logical_and(np.isnan(y), np.logical_not(np.isnan(x))))


def as_rows(call: BatchCall, i: int) -> Any:
    """An operand with its elements in one row per lane."""
    x = call.spread(i)
    return x.reshape((call.count, prod(x.shape[1:])))


def _inserted_lanes(call: BatchCall) -> Any:
    if not call.on(0):
        return call.call(call.raw(0), call.raw(1))
    found = insertion_in_rows(call.raw(0), as_rows(call, 1), call.attrs["side"])
    return found.reshape((call.count, *call.shape))


def _digitize_lanes(call: BatchCall) -> Any:
    """Bins may fall in some lanes and rise in others; where they do neither, the op refuses."""
    if not call.on(1):
        return call.call(call.raw(0), call.raw(1))
    bins = call.raw(1)
    steps, side = np.diff(bins, axis=1), "left" if call.attrs["right"] else "right"
    rises = np.all(steps >= 0, axis=1, keepdims=True)
    if not np.all(np.logical_or(rises, np.all(steps <= 0, axis=1, keepdims=True))):
        return None
    ordered = np.where(rises, bins, bins[:, ::-1])
    found = insertion_in_rows(ordered, as_rows(call, 0), side)
    return np.where(rises, found, bins.shape[1] - found).reshape((call.count, *call.shape))


insertion_points = rules(
    "insertion_points",
    lambda a, v, side="left": np.searchsorted(a, v, side),
    inputs=("a", "v"),
    derivative=ZERO,
    samples=lambda: [
        sample(np.array([0.0, 1.0, 1.0, 2.0]), draw((2, 3), -1, 3)),
        sample(np.array([0.0, 1.0, 1.0, 2.0]), np.float64(1.0), side="right"),
    ],
    bad=lambda: [sample(draw((2, 2), 0, 1), draw((3,), 0, 1))],
    kinks=lambda a, v, side: np.isin(v, a),
    spec=shaped_spec(np.searchsorted, lambda a, v, side="left": v.shape),
    doc="Where each v would be inserted to keep a sorted.",
    batch=_inserted_lanes,
)


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    a = as_array(a)
    if sorter is not None:
        a = take_index(a, as_array(sorter))
    return insertion_points(a, as_array(v), side=side)


searchsorted = composite(
    "searchsorted",
    _searchsorted,
    inputs=("a", "v"),
    samples=lambda: [
        sample(np.array([0.0, 1.0, 1.0, 2.0]), draw((2, 3), -1, 3)),
        sample(np.array([0.0, 1.0, 1.0, 2.0]), 1.0, side="right"),
        sample(np.array([2.0, 0.0, 1.0]), draw((3,), -1, 3), sorter=np.array([1, 2, 0])),
    ],
    numpy=(np.searchsorted,),
)
digitize = rules(
    "digitize",
    lambda x, bins, right=False: np.digitize(x, bins, right),
    inputs=("x", "bins"),
    derivative=ZERO,
    samples=lambda: [
        sample(draw((2, 3), -1, 3), np.array([0.0, 1.0, 2.0])),
        sample(np.array([0.0, 1.0, 2.5]), np.array([2.0, 1.0, 0.0]), right=True),
    ],
    bad=lambda: [sample(draw((3,), -1, 3), np.array([0.0, 2.0, 1.0]))],
    kinks=lambda x, bins, right: np.isin(x, bins),
    spec=shaped_spec(np.digitize, same_shape),
    numpy=(np.digitize,),
    batch=_digitize_lanes,
)


# -- index arithmetic -------------------------------------------------------------------------


unravel_index = rules(
    "unravel_index",
    lambda indices, shape, order="C": tuple(np.unravel_index(indices, shape, order)),
    inputs=("indices",),
    derivative=ZERO,
    samples=lambda: [
        sample(np.int64(5), shape=(2, 3)),
        sample(np.array([[5, 0], [1, 2]]), shape=(2, 3), order="F"),
        sample(np.array([3]), shape=4),
    ],
    spec=lambda indices, shape, **_: (Spec(indices.shape, np.dtype(np.intp)),) * np.size(shape),
    bad=lambda: [sample(np.ones(1), shape=(2,))],
    numpy=(np.unravel_index,),
    batch=STACKED,
)


def _ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    return np.ravel_multi_index(tuple(multi_index), dims, mode, order)  # type: ignore[call-overload]


ravel_multi_index = rules(
    "ravel_multi_index",
    _ravel_multi_index,
    inputs=("multi_index",),
    derivative=ZERO,
    samples=lambda: [
        sample(np.array([[1, 0], [2, 1]]), dims=(2, 3)),
        sample(np.array([1, 5]), dims=(2, 3), mode="clip", order="F"),
    ],
    spec=lambda multi_index, **_: Spec(multi_index.shape[1:], np.dtype(np.intp)),
    numpy=(np.ravel_multi_index,),
    batch=lambda call: call.call(np.moveaxis(call.raw(0), 1, 0)),
)


def _open_mesh(*args: Any) -> tuple[Any, ...]:
    """The k-th sequence along the k-th axis; a mask stands for its positions."""
    found = []
    for k, arg in enumerate(args):
        sequence = as_array(arg)
        if sequence.ndim != 1:
            raise ShapeError(f"ix_ takes sequences along one axis, not shape {sequence.shape}")
        if sequence.dtype == bool:
            sequence = nonzero(sequence)[0]
        elif not sequence.size and not hasattr(arg, "dtype"):
            sequence = sequence.astype(np.intp)  # as NumPy: an empty list holds no floats
        shape = [1] * len(args)
        shape[k] = sequence.size
        found.append(reshape(sequence, tuple(shape)))
    return tuple(found)


ix_ = composite(
    "ix_",
    _open_mesh,
    inputs=("args",),
    variadic=True,
    samples=lambda: [
        sample(np.array([0, 2]), np.array([1, 1, 3])),
        sample(np.array([True, False, True]), np.array([2])),
        sample(np.array([0, 2])),
    ],
    numpy=(np.ix_,),
    reference=lambda args: np.ix_(*args),
)
