"""Arrays in order: sort, partition, argsort, argpartition, lexsort.

Where values tie, which of them stands first is arbitrary and the derivative of each is an average
over all the ways to order them: the group shares equally.  So sorting is recorded as two ops: the
integers that say which lanes tie and where each group stands, and `mean_of_ties`, which is linear.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.batching import Axes, BatchCall, behind
from chainrule.core.masked import perhaps
from chainrule.core.op import Sample, first_recorded, sample
from chainrule.core.slot import Slot
from chainrule.core.spec import Spec, is_inexact
from chainrule.errors import UnsupportedError
from chainrule.ops.define import ZERO, composite, linear, rules, same_shape, shaped_spec
from chainrule.ops.indexing import gather, scatter
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw
from chainrule.ops.shape import ravel
from chainrule.ops.structure import astype

Pair = tuple[Any, Any]


def _mean_of_ties(x: Any, labels: Any, groups: Any) -> Any:
    """The first lane of a group plus the mean distance to it: equal values come out exactly."""
    flat, label = np.reshape(x, -1), np.reshape(labels, -1)
    means = np.zeros(flat.size, flat.dtype)
    means[label[::-1]] = flat[::-1]
    counts = np.bincount(label)
    if is_inexact(flat.dtype) and counts.max(initial=0) > 1:
        first, away, total = means[label], np.zeros_like(flat), np.zeros_like(means)
        np.subtract(flat, first, out=away, where=flat != first)  # inf - inf is not asked for
        np.add.at(total, label, away)
        means[: counts.size] += total[: counts.size] / np.maximum(counts, 1).astype(flat.real.dtype)
    return means[groups]


def _shared(g: Any, labels: Any, groups: Any) -> Any:
    """Each lane of a group gets an equal part of all that its group's places got."""
    total = scatter(g, groups, template=(Slot(0),), shape=(labels.size,))
    given = gather(total, labels, template=(Slot(0),))
    counts = occurrences(labels, labels.size)
    if not perhaps(counts > 1):
        return given
    return given / gather(counts, labels, template=(Slot(0),)).astype(given.real.dtype)


def occurrences(labels: Any, size: int) -> Any:
    """How often each of the numbers below `size` is among the labels."""
    labels = np.reshape(labels, -1)
    if first_recorded((labels,)) is None:
        return np.bincount(labels, minlength=size)
    return scatter(np.ones(labels.shape, np.intp), labels, template=(Slot(0),), shape=(size,))


def _starts(call: BatchCall, size: int, rank: int) -> Any:
    """The number of the first element of each lane among those of all lanes."""
    return (np.arange(call.count) * size).reshape((call.count, *(1,) * rank))


def _ties_lanes(call: BatchCall) -> Any:
    """Labels and groups of all lanes in one numbering."""
    x, labels, groups = map(call.spread, range(3))
    size = prod(labels.shape[1:])
    shifted = [v + _starts(call, size, v.ndim - 1) for v in (labels, groups)]
    return call.call(x, *shifted)


mean_of_ties = linear(
    "mean_of_ties",
    _mean_of_ties,
    (_shared, None, None),
    inputs=("x", "labels", "groups"),
    samples=lambda: [
        sample(draw((3,), -2, 2), np.array([2, 0, 1]), np.array([0, 1, 2])),
        sample(draw((4,), -2, 2), np.array([0, 1, 0, 0]), np.array([1, 0])),
        sample(draw((2, 2), -2, 2), np.array([[0, 0], [2, 3]]), np.array([[0, 0], [3, 2]])),
        sample(draw((3,), -2, 2).astype(np.float32), np.array([0, 2, 2]), np.array([2, 0, 2])),
        sample(draw((3,), -2, 2) + 1j, np.array([0, 2, 2]), np.array([2, 0, 2])),
        sample(draw((0,), -2, 2), np.zeros(0, int), np.zeros(0, int)),
    ],
    kinks=lambda x, labels, groups: np.bincount(labels.reshape(-1), minlength=1)[groups] > 1,
    spec=lambda x, labels, groups: Spec(groups.shape, x.dtype),
    doc="For each of `groups` the mean of the lanes of x that carry it as their label.",
    batch=_ties_lanes,
)


# -- who ties with whom -----------------------------------------------------------------------


def _ranked(x: Any, axis: int = -1, kind: Any = None, stable: Any = None) -> Pair:
    """Labels of the lanes of x, and the same in order; a label is its group's first place."""
    order = np.argsort(x, axis=axis, kind=kind, stable=stable)
    ordered = np.moveaxis(np.take_along_axis(x, order, axis), axis, -1)
    count = ordered.shape[-1]
    first = np.zeros(ordered.shape, np.intp)
    first[..., 1:] = np.where(ordered[..., 1:] != ordered[..., :-1], np.arange(1, count), 0)
    rows = np.arange(prod(ordered.shape[:-1])).reshape(*ordered.shape[:-1], 1)
    labels = np.maximum.accumulate(first, axis=-1) + rows * count
    groups = np.moveaxis(labels, -1, axis)
    labels = np.zeros_like(groups)
    np.put_along_axis(labels, order, groups, axis)
    return labels, groups


def _partitioned(x: Any, kth: Any, axis: int, kind: str) -> Pair:
    """As `_ranked` in the order NumPy's partition leaves: its places are found by sorting both."""
    labels, ordered = _ranked(x, axis)
    divided = np.partition(x, kth, axis, kind)  # type: ignore[call-overload]
    groups = np.zeros_like(ordered)
    np.put_along_axis(groups, np.argsort(divided, axis=axis), ordered, axis)
    return labels, groups


def _labels_lanes(call: BatchCall) -> Any:
    """Each lane has labels of its own numbering."""
    x, rank = call.raw(0), call.rank(0)
    starts = _starts(call, prod(x.shape[1:]), rank)
    labels, groups = call.call(x, axis=behind(call.attrs["axis"], rank))
    return labels - starts, groups - starts


sort_labels = rules(
    "sort_labels",
    _ranked,
    derivative=ZERO,
    samples=lambda: [sample(draw((2, 3), -2, 2), axis=0), sample(np.array([1.0, 0.0, 1.0]))],
    bad=lambda: [sample(draw((2,), -2, 2), axis=1), sample(np.ones(2), kind="bubble")],
    spec=shaped_spec(_ranked, same_shape),
    doc="Which lanes tie, and in which order the groups stand when x is sorted.",
    batch=_labels_lanes,
)
partition_labels = rules(
    "partition_labels",
    lambda x, kth, axis=-1, kind="introselect": _partitioned(x, kth, axis, kind),
    derivative=ZERO,
    samples=lambda: [sample(draw((5,), -2, 2), kth=2), sample(draw((2, 4), -2, 2), kth=1, axis=0)],
    bad=lambda: [sample(draw((2,), -2, 2), kth=2)],
    spec=lambda x, **_: (Spec(x.shape, np.dtype(np.intp)),) * 2,
    doc="Which lanes tie, and in which order the groups stand when x is partitioned.",
    batch=_labels_lanes,
)


def _with_axis(a: Any, axis: int | None, order: Any) -> tuple[Any, int]:
    if order is not None:
        raise UnsupportedError(f"order={order!r} names fields, and a Variable has none")
    a = as_array(a)
    return (ravel(a), -1) if axis is None else (a, axis)


def _sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    a, axis = _with_axis(a, axis, order)
    return mean_of_ties(a, *sort_labels(a, axis=axis, kind=kind, stable=stable))


def _partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    a, axis = _with_axis(a, axis, order)
    return mean_of_ties(a, *partition_labels(a, kth, axis, kind))


def _sorts() -> list[Sample]:
    x = draw((3, 4), -2, 2)
    return [
        sample(x),
        sample(x, axis=0),
        sample(x, axis=None),
        sample(draw((2, 3, 4), -2, 2), axis=-2, kind="stable"),
        sample(x[0], stable=True),
        sample(draw((), -2, 2), axis=None),
        sample(draw((0,), -2, 2)),
        sample(draw((2, 0), -2, 2)),
        sample(x[0].astype(np.float32)),
        sample(x[0] + 1j * x[1]),
        sample(np.array([3, 1, 2, 1])),
    ]


def _tied() -> list[Sample]:
    return [
        sample(np.array([2.0, 1.0, 2.0, 1.0, 1.0])),
        sample(np.array([[0.0, -0.0], [np.inf, np.inf]])),
        sample(np.array([np.nan, 1.0, np.nan, 1.0])),
    ]


sort = composite(
    "sort",
    _sort,
    inputs=("a",),
    samples=_sorts,
    edges=_tied,
    bad=lambda: [sample(draw((3,), -2, 2), axis=1), sample(draw((), -2, 2))],
    numpy=(np.sort,),
    doc="a in ascending order along an axis, NaN last; values that tie share their derivative.",
)
partition = composite(
    "partition",
    _partition,
    inputs=("a",),
    samples=lambda: [
        sample(draw((7,), -2, 2), 3),
        sample(draw((7,), -2, 2), (1, -2)),
        sample(draw((3, 4), -2, 2), 1, axis=0),
        sample(draw((3, 4), -2, 2), 5, axis=None),
    ],
    edges=lambda: [sample(np.array([2.0, 1.0, 2.0, 0.0]), 2)],
    bad=lambda: [sample(draw((3,), -2, 2), 3)],
    numpy=(np.partition,),
    doc="a with its k-th smallest in place, smaller ones before it; ties share their derivative.",
)


def _sort_complex(a: Any) -> Any:
    ordered = _sort(a)
    if is_inexact(ordered.dtype) and ordered.dtype.kind == "c":
        return ordered
    narrow = ordered.dtype.char in "bhBH"
    return astype(ordered, np.dtype(np.complex64 if narrow else np.complex128))


sort_complex = composite(
    "sort_complex",
    _sort_complex,
    inputs=("a",),
    samples=lambda: [
        sample(draw((3,), -2, 2)),
        sample(draw((3,), -2, 2) + 1j * draw((3,), -2, 2, 1)),
        sample(np.array([3, 1], np.int8)),
    ],
    numpy=(np.sort_complex,),
)


# -- orders themselves ------------------------------------------------------------------------


def _argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    return np.argsort(a, axis, kind, order, stable=stable)


argsort = rules(
    "argsort",
    _argsort,
    inputs=("a",),
    derivative=ZERO,
    samples=_sorts,
    bad=lambda: [sample(draw((3,), -2, 2), axis=1)],
    numpy=(np.argsort,),
    spec=shaped_spec(
        _argsort, lambda a, axis=-1, **_: (a.size,) if axis is None or not a.shape else a.shape
    ),
    doc="The positions of the sorted values; its derivative is zero.",
    batch=Axes("axis", flat=True),
)
argpartition = rules(
    "argpartition",
    lambda a, kth, axis=-1, kind="introselect": np.argpartition(a, kth, axis, kind),
    inputs=("a",),
    derivative=ZERO,
    samples=lambda: [
        sample(draw((7,), -2, 2), kth=3),
        sample(draw((3, 4), -2, 2), kth=(0, 1), axis=0),
        sample(draw((3, 4), -2, 2), kth=5, axis=None),
    ],
    bad=lambda: [sample(draw((3,), -2, 2), kth=3)],
    spec=lambda a, kth, axis=-1, **_: Spec(
        (a.size,) if axis is None else a.shape, np.dtype(np.intp)
    ),
    numpy=(np.argpartition,),
    batch=Axes("axis", flat=True),
)


def _lexsort_lanes(call: BatchCall) -> Any:
    """The keys stand along the first axis; a key that is a number is one element to sort."""
    keys = np.moveaxis(call.raw(0), 1, 0)
    rank = keys.ndim - 2
    if rank:
        return call.call(keys, axis=call.attrs["axis"] % rank + 1)
    return call.call(keys[..., None], axis=1).reshape((call.count, *call.shape))


lexsort = rules(
    "lexsort",
    lambda keys, axis=-1: np.lexsort(keys, axis),
    inputs=("keys",),
    derivative=ZERO,
    samples=lambda: [
        sample(np.array([[1.0, 0.0, 1.0], [2.0, 2.0, 1.0]])),
        sample(draw((2, 3, 4), -2, 2), axis=0),
    ],
    spec=shaped_spec(np.lexsort, lambda keys, axis=-1: keys.shape[1:]),
    numpy=(np.lexsort,),
    doc="The positions that sort by the last key, then the one before it, and so on.",
    batch=_lexsort_lanes,
)
