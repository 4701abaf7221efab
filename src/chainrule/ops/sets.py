"""Arrays as sets: unique, union, intersection and difference; isin.

The value of an element that stands repeatedly is shared equally by all of its copies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chainrule.core.batching import BatchCall
from chainrule.core.op import Sample, sample
from chainrule.core.spec import Spec
from chainrule.ops.define import ZERO, composite, rules
from chainrule.ops.indexing import take_index
from chainrule.ops.joining import as_array, concatenate
from chainrule.ops.ordering import mean_of_ties, sort
from chainrule.ops.positions import as_rows, insertion_in_rows
from chainrule.ops.samples import draw
from chainrule.ops.shape import moveaxis, ravel, reshape


def _unique_labels(x: Any, axis: int | None = None, equal_nan: bool = True) -> tuple[Any, ...]:
    """Labels of the lanes, the groups in order, and NumPy's index, inverse and counts."""
    _, index, inverse, counts = np.unique(x, True, True, True, axis=axis, equal_nan=equal_nan)
    shape = x.shape[1:] if axis is not None else ()
    width = int(np.prod(shape))
    inside = np.arange(width).reshape(shape)
    labels = inverse.reshape(-1, *(1,) * len(shape)) * width + inside
    groups = np.arange(index.size).reshape(-1, *(1,) * len(shape)) * width + inside
    return labels, groups, index, inverse, counts


unique_labels = rules(
    "unique_labels",
    _unique_labels,
    derivative=ZERO,
    samples=lambda: [
        sample(np.array([True, False, True])),
        sample(np.array([[True, False], [True, False], [True, True]]), axis=0),
    ],
    spec=lambda x, **_: None,
    by_value=lambda x, **_: True,
    doc="Which lanes (or rows) of x are equal, and the groups in the order of their values.",
)


def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Always sorted: without `sorted` NumPy promises no order at all."""
    x = as_array(ar)
    values, *found = _groups(x if axis is None else moveaxis(x, axis, 0), axis is None, equal_nan)
    if axis is not None:
        values = moveaxis(values, 0, axis)
    wanted = (return_index, return_inverse, return_counts)
    chosen = [f for f, want in zip(found, wanted, strict=True) if want]
    return (values, *chosen) if chosen else values


def _groups(x: Any, flat: bool, equal_nan: bool) -> tuple[Any, ...]:
    labels, groups, *found = unique_labels(x, axis=None if flat else 0, equal_nan=equal_nan)
    return mean_of_ties(ravel(x) if flat else x, labels, groups), *found


def _uniques() -> list[Sample]:
    x, rows = draw((2, 3), -2, 2), draw((3, 2), -2, 2)
    return [
        sample(x),
        sample(x, return_index=True, return_inverse=True, return_counts=True),
        sample(rows, axis=0),
        sample(rows, axis=-1, return_counts=True),
        sample(draw((), -2, 2)),
        sample(draw((0,), -2, 2)),
        sample(x[0].astype(np.float32)),
        sample(x[0] + 1j),
        sample(np.array([3, 1, 3])),
    ]


def _repeated() -> list[Sample]:
    return [
        sample(np.array([2.0, 1.0, 2.0, 2.0])),
        sample(np.array([0.1, 0.1, 0.1, np.inf, np.inf])),
        sample(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 0.0]]), axis=0),
    ]


unique = composite(
    "unique",
    _unique,
    inputs=("ar",),
    samples=_uniques,
    edges=_repeated,
    bad=lambda: [sample(draw((3,), -2, 2), axis=1)],
    numpy=(np.unique,),
    doc="The distinct values in order; copies of a value share its derivative equally.",
)


class UniqueAll(NamedTuple):
    """The results of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The results of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The results of `unique_inverse`."""

    values: Any
    inverse_indices: Any


def _distinct(x: Any) -> UniqueAll:
    return UniqueAll(*_groups(ravel(as_array(x)), True, False))


def _counted(x: Any) -> UniqueCounts:
    found = _distinct(x)
    return UniqueCounts(found.values, found.counts)


def _inverted(x: Any) -> UniqueInverse:
    found = _distinct(x)
    return UniqueInverse(found.values, reshape(found.inverse_indices, np.shape(x)))


def _of_array_api(function: Any, expand: Any) -> Any:
    """The array API's ways to ask for distinct values, in which every NaN is distinct."""
    return composite(
        function.__name__,
        expand,
        samples=lambda: [sample(draw((2, 3), -2, 2)), sample(np.array([3, 1, 3]))],
        edges=lambda: [sample(np.array([2.0, 1.0, 2.0]))],
        numpy=(function,),
    )


def _all_of_it(x: Any) -> UniqueAll:
    found = _distinct(x)
    return found._replace(inverse_indices=reshape(found.inverse_indices, np.shape(x)))


unique_all = _of_array_api(np.unique_all, _all_of_it)
unique_counts = _of_array_api(np.unique_counts, _counted)
unique_inverse = _of_array_api(np.unique_inverse, _inverted)
unique_values = _of_array_api(np.unique_values, lambda x: _distinct(x).values)


# -- two sets ---------------------------------------------------------------------------------


def _isin_lanes(call: BatchCall) -> Any:
    """Sorted test elements are searched; one that is found stands where it would be inserted."""
    if not call.on(1):
        return call.call(call.raw(0), call.raw(1))
    x, tests = as_rows(call, 0), np.sort(as_rows(call, 1), axis=1)
    size = tests.shape[1]
    if size:
        place = insertion_in_rows(tests, x, "left")
        found = np.equal(np.take_along_axis(tests, np.minimum(place, size - 1), axis=1), x)
    else:
        found = np.zeros(x.shape, bool)
    found = np.logical_not(found) if call.attrs["invert"] else found
    return found.reshape((call.count, *call.shape))


isin = rules(
    "isin",
    lambda element, test_elements, assume_unique=False, invert=False, *, kind=None: np.isin(
        element, test_elements, assume_unique, invert, kind=kind
    ),
    inputs=("element", "test_elements"),
    derivative=ZERO,
    samples=lambda: [
        sample(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0, 3.0])),
        sample(np.array([1.0, 2.0]), np.array([2.0, 3.0]), invert=True),
        sample(np.array([1, 2]), np.array([2, 3]), kind="table"),
    ],
    spec=lambda element, test_elements, **_: Spec(np.shape(element), np.dtype(bool)),
    numpy=(np.isin,),
    batch=_isin_lanes,
)


def _union(ar1: Any, ar2: Any) -> Any:
    return _unique(concatenate([ravel(as_array(ar1)), ravel(as_array(ar2))], axis=0))


def _both(ar1: Any, ar2: Any, assume_unique: bool) -> Any:
    """The elements of both, each once per array that has it, in order."""
    pair = [ravel(as_array(a)) if assume_unique else _unique(a) for a in (ar1, ar2)]
    return sort(concatenate(pair, axis=0))


def _intersection(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    together = _both(ar1, ar2, assume_unique)
    return together[:-1][together[1:] == together[:-1]]


def _symmetric_difference(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    together = _both(ar1, ar2, assume_unique)
    if not together.size:
        return together
    new = together[1:] != together[:-1]
    end = np.array([True])
    return together[concatenate([end, new], axis=0) & concatenate([new, end], axis=0)]


def _difference(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first = ravel(as_array(ar1)) if assume_unique else _unique(ar1)
    return take_index(first, isin(first, as_array(ar2), assume_unique=True, invert=True))


def _of_two_sets(function: Any, expand: Any) -> Any:
    return composite(
        function.__name__,
        expand,
        inputs=("ar1", "ar2"),
        samples=lambda: [sample(draw((5,), -2, 2), draw((2, 2), -2, 2, 1))],
        edges=lambda: [sample(np.array([2.0, 1.0, 2.0, 3.0]), np.array([2.0, 3.0, 3.0]))],
        numpy=(function,),
    )


union1d = _of_two_sets(np.union1d, _union)
intersect1d = _of_two_sets(np.intersect1d, _intersection)
setxor1d = _of_two_sets(np.setxor1d, _symmetric_difference)
setdiff1d = _of_two_sets(np.setdiff1d, _difference)
