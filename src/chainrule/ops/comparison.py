"""Comparisons, logic and bits: their derivative is zero wherever it exists."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Op, Sample, sample
from chainrule.ops.define import ZERO, elementwise
from chainrule.ops.samples import draw, pairs, reals

ONE, TWO = ("x",), ("x", "y")


def _booleans() -> list[Sample]:
    return [
        sample(np.array([True, True, False, False]), np.array([True, False, True, False])),
        sample(np.array([[True], [False]]), np.array([True, False])),
    ]


def _integers() -> list[Sample]:
    return [sample(np.array([5, 3, 12]), np.array([1, 2, 3])), *_booleans()]


def _with_specials() -> list[Sample]:
    return [
        sample(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.5])),
        sample(draw((2, 3), -2, 2)),
    ]


def _compare(ufunc: np.ufunc, **fields: Any) -> Op:
    return elementwise(ufunc.__name__, ufunc, ZERO, inputs=TWO, samples=pairs, **fields)


def _logical(ufunc: np.ufunc, **fields: Any) -> Op:
    return elementwise(ufunc.__name__, ufunc, ZERO, inputs=TWO, commutes=True, **fields)


def _tied(x: Any, y: Any) -> Any:
    return np.equal(x, y)


greater = _compare(np.greater, kinks=_tied)
greater_equal = _compare(np.greater_equal, kinks=_tied)
less = _compare(np.less, kinks=_tied)
less_equal = _compare(np.less_equal, kinks=_tied)
equal = _compare(np.equal, commutes=True)
not_equal = _compare(np.not_equal, commutes=True)

logical_and = _logical(np.logical_and, samples=_booleans)
logical_or = _logical(np.logical_or, samples=_booleans)
logical_xor = _logical(np.logical_xor, samples=_booleans)
logical_not = elementwise("logical_not", np.logical_not, ZERO, inputs=ONE, samples=reals)

bitwise_and = _logical(np.bitwise_and, samples=_integers, lower="logical_and")
bitwise_or = _logical(np.bitwise_or, samples=_integers, lower="logical_or")
bitwise_xor = _logical(np.bitwise_xor, samples=_integers, lower="logical_xor")
invert = elementwise(
    "invert",
    np.invert,
    ZERO,
    inputs=ONE,
    samples=lambda: [sample(np.array([True, False])), sample(np.array([1, 5]))],
    lower="logical_not",
)

isnan = elementwise("isnan", np.isnan, ZERO, inputs=ONE, samples=_with_specials)
isfinite = elementwise("isfinite", np.isfinite, ZERO, inputs=ONE, samples=_with_specials)
isinf = elementwise("isinf", np.isinf, ZERO, inputs=ONE, samples=_with_specials)
signbit = elementwise("signbit", np.signbit, ZERO, inputs=ONE, samples=_with_specials)

BY_OPERATOR = {
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
    "eq": equal,
    "ne": not_equal,
    "and": bitwise_and,
    "or": bitwise_or,
    "xor": bitwise_xor,
}
