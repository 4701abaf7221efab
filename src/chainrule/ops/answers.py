"""Questions whose answer is one truth: whether arrays are equal, or close, as a whole.

NumPy answers these with a Python bool.  Here the answer is a truth that is recorded, so that a
compiled function computes it by one reduction; whoever hands it to Python (`ANSWERS`) reads it.
Where the shapes alone decide, it is a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Op, Sample, sample
from chainrule.core.spec import broadcast_shapes
from chainrule.errors import DTypeError, ShapeError
from chainrule.ops.comparison import close_samples, equal, isclose, isnan, logical_and, logical_or
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array, holds_variable
from chainrule.ops.reductions import all_of
from chainrule.ops.samples import draw


def _allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    return all_of(isclose(a, b, rtol, atol, equal_nan))


def _compared(a: Any) -> Any:
    """An operand as an array; texts and None as NaN, which like them equals no number."""
    try:
        return as_array(a)
    except DTypeError:
        text = a is None or (not holds_variable(a) and np.asarray(a).dtype.kind in "US")
        if not text:
            raise
        return np.full(np.shape(a), np.nan)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    try:
        arrays = [_compared(a) for a in (a1, a2)]
    except ShapeError:
        return np.False_  # rows of different lengths are no array
    if arrays[0].shape != arrays[1].shape:
        return np.False_
    if equal_nan:
        arrays = [as_array(a) for a in (a1, a2)]  # which of texts are NaN is no question
    same = equal(*arrays)
    if equal_nan and any(a.dtype.kind in "fc" for a in arrays):
        same = logical_or(same, logical_and(*map(isnan, arrays)))
    return all_of(same)


def _array_equiv(a1: Any, a2: Any) -> Any:
    try:
        arrays = [_compared(a) for a in (a1, a2)]
        broadcast_shapes([a.shape for a in arrays])
    except ShapeError:
        return np.False_
    return all_of(equal(*arrays))


def _equals() -> list[Sample]:
    x = np.array([1.0, 2.0, np.nan])
    return [
        sample(x[:2], x[:2]),
        sample(x, x),
        sample(x, x[:2]),
        sample(x[:2], x[:1]),
        sample(x[:2], np.array([1, 2])),
        sample(x[:2], x[:2].astype(np.float32)),
        sample(x[:2] + 0j, x[:2]),
        sample(np.array([True]), np.array([1])),
        sample(x[:0], x[:0]),
        sample(draw((2, 3), -2, 2), draw((2, 3), -2, 2)),
        sample(np.float64(2.0), 2),
    ]


def _equals_of_nan() -> list[Sample]:
    x = np.array([1.0, 2.0, np.nan])
    nan = sample(x, x.astype(np.float32), equal_nan=True)
    return [*_equals(), nan, sample(x + 0j, x[::-1] + 0j, equal_nan=True)]


allclose = composite(
    "allclose",
    _allclose,
    inputs=("a", "b"),
    samples=close_samples,
    bad=lambda: [sample(draw((2,), 0, 1), draw((3,), 0, 1))],
    reference=np.allclose,
    doc="Whether a and b are within atol + rtol · |b| of each other everywhere, as one truth.",
)
array_equal = composite(
    "array_equal",
    _array_equal,
    inputs=("a1", "a2"),
    samples=_equals_of_nan,
    reference=np.array_equal,
    doc="Whether a1 and a2 have one shape and the same elements, as one truth.",
)
array_equiv = composite(
    "array_equiv",
    _array_equiv,
    inputs=("a1", "a2"),
    samples=_equals,
    reference=np.array_equiv,
    doc="Whether a1 and a2 broadcast together and have the same elements, as one truth.",
)

# NumPy's function, and what gives its answer as a truth that is recorded.
ANSWERS: dict[Any, Op] = {
    np.allclose: allclose,
    np.array_equal: array_equal,
    np.array_equiv: array_equiv,
}
