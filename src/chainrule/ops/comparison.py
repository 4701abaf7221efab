"""Comparisons, closeness, logic and bits: their derivative is zero wherever it exists."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrule.core.op import Op, Sample, sample
from chainrule.core.python_numbers import OnPython
from chainrule.ops.define import ZERO, composite, elementwise
from chainrule.ops.joining import as_array
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


greater = _compare(np.greater, kinks=_tied, python=OnPython(operator.gt))
greater_equal = _compare(np.greater_equal, kinks=_tied, python=OnPython(operator.ge))
less = _compare(np.less, kinks=_tied, python=OnPython(operator.lt))
less_equal = _compare(np.less_equal, kinks=_tied, python=OnPython(operator.le))
equal = _compare(np.equal, commutes=True, python=OnPython(operator.eq))
not_equal = _compare(np.not_equal, commutes=True, python=OnPython(operator.ne))

logical_and = _logical(np.logical_and, samples=_booleans)
logical_or = _logical(np.logical_or, samples=_booleans)
logical_xor = _logical(np.logical_xor, samples=_booleans)
logical_not = elementwise("logical_not", np.logical_not, ZERO, inputs=ONE, samples=reals)

bitwise_and = _logical(
    np.bitwise_and, samples=_integers, lower="logical_and", python=OnPython(operator.and_)
)
bitwise_or = _logical(
    np.bitwise_or, samples=_integers, lower="logical_or", python=OnPython(operator.or_)
)
bitwise_xor = _logical(
    np.bitwise_xor, samples=_integers, lower="logical_xor", python=OnPython(operator.xor)
)
invert = elementwise(
    "invert",
    np.invert,
    ZERO,
    inputs=ONE,
    samples=lambda: [sample(np.array([True, False])), sample(np.array([1, 5]))],
    lower="logical_not",
    python=OnPython(operator.invert),
)

isnan = elementwise("isnan", np.isnan, ZERO, inputs=ONE, samples=_with_specials)
isfinite = elementwise("isfinite", np.isfinite, ZERO, inputs=ONE, samples=_with_specials)
isinf = elementwise("isinf", np.isinf, ZERO, inputs=ONE, samples=_with_specials)
signbit = elementwise("signbit", np.signbit, ZERO, inputs=ONE, samples=_with_specials)


def _with_complex() -> list[Sample]:
    z = np.array([1 + 2j, 3 + 0j, complex(0, np.nan), complex(np.inf, 0), 0j])
    return [*_with_specials(), sample(z), sample(np.complex64(1j)), sample(np.array([1, 0]))]


def _imaginary(function: Any, of_reals: bool, doc: str) -> Op:
    """A number that machine code has is real, so the answer is known beforehand."""
    return elementwise(
        function.__name__,
        function,
        ZERO,
        inputs=ONE,
        samples=_with_complex,
        numpy=(function,),
        lower=lambda b, x: b.broadcast_to(b.constant(of_reals, np.dtype(bool)), x.shape),
        doc=doc,
    )


iscomplex = _imaginary(np.iscomplex, False, "Where the imaginary part is not zero.")
isreal = _imaginary(np.isreal, True, "Where the imaginary part is zero.")


# -- closeness --------------------------------------------------------------------------------


def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool = False) -> Any:
    return np.isclose(a, b, rtol, atol, equal_nan)


PYTHON = {"add": operator.add, "multiply": operator.mul}


def _close_lowered(build: Any, x: Any, y: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    """As NumPy computes it, each step in the type that NumPy takes for it."""

    def of_two(function: str, p: Any, q: Any) -> Any:
        if p.weak and q.weak and function in PYTHON:  # stays a Python number
            return build.constant(PYTHON[function](p.number, q.number), weak=True)
        return build.map(function, *build.floats(p, q))

    def of_one(function: str, p: Any) -> Any:
        return build.map(function, *build.floats(p))

    if y.dtype.kind in "ib" and not y.weak:
        (y,) = build.floats(y)  # as NumPy does: there is no absolute value of -2**63
    size = build.constant(abs(y.number), weak=True) if y.weak else of_one("absolute", y)
    distance = build.map("absolute", of_two("subtract", x, y))
    near = of_two("less_equal", distance, of_two("add", atol, of_two("multiply", rtol, size)))
    near = build.map("logical_and", near, of_one("isfinite", y))
    near = build.map("logical_or", near, of_two("equal", x, y))
    if not equal_nan:
        return near
    both = build.map("logical_and", of_one("isnan", x), of_one("isnan", y))
    return build.map("logical_or", near, both)


def _near_pairs() -> list[tuple[Any, Any]]:
    x = np.array([1.0, 1e10, np.nan, np.inf, -np.inf, 0.0, 1e-9])
    y = np.array([1.000001, 1.00001e10, np.nan, np.inf, np.inf, 1e-9, 3e-8])
    return [
        (x, y),
        (x, x[:, None]),
        (x.astype(np.float32), y.astype(np.float32)),
        (x, y.astype(np.float32)),
        (np.array([1, 2]), np.array([1, 3])),
        (np.array([True, False]), np.array([True, True])),
        (np.array([1, 2]), np.array([1.0, 2.00001])),
        (x[:2] + 1e-9j, x[:2] + 0j),
        (np.float64(2.0), 2),
        (x[:0], y[:1]),
    ]


def _four() -> list[Sample]:
    pairs_of = _near_pairs()
    x, y = pairs_of[0]
    return [
        *(sample(p, q, 1e-5, 1e-8) for p, q in pairs_of),
        sample(x, y, 1e-5, 1e-8, equal_nan=True),
        sample(x, y, np.full(7, 1e-3), np.float64(0.0)),
    ]


close_within = elementwise(
    "close_within",
    _close,
    ZERO,
    inputs=("a", "b", "rtol", "atol"),
    samples=_four,
    bad=lambda: [sample(draw((2,), 0, 1), draw((3,), 0, 1), 1e-5, 1e-8)],
    lower=_close_lowered,
    doc="Where a and b are within atol + rtol · |b| of each other; `isclose` with its tolerances.",
)


def _isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    operands = [p if isinstance(p, (int, float, complex)) else as_array(p) for p in (a, b)]
    tolerances = [p if isinstance(p, (int, float)) else as_array(p) for p in (rtol, atol)]
    return close_within(*operands, *tolerances, equal_nan=bool(equal_nan))


def close_samples() -> list[Sample]:
    """Samples of what compares two arrays within tolerances, as NumPy's functions are called."""
    x, y = _near_pairs()[0]
    return [
        *(sample(p, q) for p, q in _near_pairs()),
        sample(x, y, rtol=0.0, atol=1.0, equal_nan=True),
        sample(x, y, rtol=np.full(7, 1e-3)),
    ]


isclose = composite(
    "isclose",
    _isclose,
    inputs=("a", "b"),
    samples=close_samples,
    bad=lambda: [sample(draw((2,), 0, 1), draw((3,), 0, 1))],
    numpy=(np.isclose,),
    doc="Where a and b are within atol + rtol · |b| of each other.",
)

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
