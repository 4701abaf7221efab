"""Each function to many digits, and how far from it a result is, in units of the last digit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tests.lower.maths.machine import DTYPES

# Enough for the worst cancellation below, in acosh near 1.
PRECISION = 200
MANTISSA = {"f64": 52, "f32": 23}
LEAST = {"f64": -1022, "f32": -126}
# Beyond this an exponential is infinite or zero in both formats; mpmath would compute it.
FAR = 2000


def _power(x: mpf, y: mpf) -> Any:
    if x == 0 or y == 0:
        return mp.mpf(1) if y == 0 else (mpf("inf") if y < 0 else mpf(0))
    if x < 0 and y != mp.floor(y):
        return mp.nan
    far = y * mp.log(abs(x), 2)
    negative = x < 0 and mp.fmod(y, 2) != 0
    if abs(far) > FAR:
        return (-1 if negative else 1) * (mpf("inf") if far > 0 else mpf(0))
    return mp.power(x, y)


def _bounded(function: Callable[[mpf], mpf], low: mpf, high: mpf) -> Callable[[mpf], mpf]:
    """The function, but its limits far out."""
    return lambda x: mpf(high) if x > FAR else mpf(low) if x < -FAR else function(x)


EXACT: dict[str, Callable[..., Any]] = {
    "exp": _bounded(mp.exp, 0, mp.inf),
    "exp2": _bounded(lambda x: mp.power(2, x), 0, mp.inf),
    "expm1": _bounded(mp.expm1, -1, mp.inf),
    "log": lambda x: mp.log(x) if x > 0 else (mp.ninf if x == 0 else mp.nan),
    "log2": lambda x: mp.log(x) / mp.ln2 if x > 0 else (mp.ninf if x == 0 else mp.nan),
    "log10": lambda x: mp.log10(x) if x > 0 else (mp.ninf if x == 0 else mp.nan),
    "log1p": lambda x: mp.log1p(x) if x > -1 else (mp.ninf if x == -1 else mp.nan),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "sinh": _bounded(mp.sinh, mp.ninf, mp.inf),
    "cosh": _bounded(mp.cosh, mp.inf, mp.inf),
    "tanh": _bounded(mp.tanh, -1, 1),
    "sigmoid": _bounded(lambda x: 1 / (1 + mp.exp(-x)), 0, 1),
    "softplus": lambda x: x if x > FAR else _bounded(lambda x: mp.log1p(mp.exp(x)), 0, 0)(x),
    "pow": _power,
    "erf": _bounded(mp.erf, -1, 1),
    "erfc": _bounded(mp.erfc, 2, 0),
    "arcsin": lambda x: mp.asin(x) if abs(x) <= 1 else mp.nan,
    "arccos": lambda x: mp.acos(x) if abs(x) <= 1 else mp.nan,
    "arctan": mp.atan,
    "arctan2": lambda y, x: mp.atan2(y, x),
    "arcsinh": mp.asinh,
    "arccosh": lambda x: mp.acosh(x) if x >= 1 else mp.nan,
    "arctanh": lambda x: (
        mp.atanh(x) if abs(x) < 1 else (mp.inf * mp.sign(x) if abs(x) == 1 else mp.nan)
    ),
    "lgamma": lambda x: mp.inf if x <= 0 and x == mp.floor(x) else mp.loggamma(x).real,
    "digamma": lambda x: mp.nan if x <= 0 and x == mp.floor(x) else mp.digamma(x),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
}


def exact(name: str, *arguments: float) -> mpf:
    """The value for finite arguments, as nearly as makes no difference."""
    with mp.workprec(PRECISION):
        return EXACT[name](*map(mpf, arguments))


def error_in_ulp(dtype: str, result: float, value: mpf) -> float:
    """|result − value| in units of the last digit of the value, subnormal numbers included."""
    with mp.workprec(PRECISION):
        if mp.isnan(value) or np.isnan(result):
            return 0.0 if mp.isnan(value) and np.isnan(result) else np.inf
        largest = mpf(float(np.finfo(DTYPES[dtype]).max))
        infinite = abs(value) >= largest * (1 + mpf(2) ** -(MANTISSA[dtype] + 2))
        if np.isinf(result):
            return 0.0 if infinite and (value > 0) == (result > 0) else np.inf
        if mp.isinf(value):
            return np.inf
        exponent = LEAST[dtype] if value == 0 else max(mp.frexp(value)[1] - 1, LEAST[dtype])
        return float(abs(mpf(float(result)) - value) / mpf(2) ** (exponent - MANTISSA[dtype]))


def errors_in_ulp(
    name: str, dtype: str, arguments: list[np.ndarray], results: np.ndarray
) -> np.ndarray:
    rows = zip(*(a.tolist() for a in arguments), results.tolist(), strict=True)
    return np.array([error_in_ulp(dtype, row[-1], exact(name, *row[:-1])) for row in rows])
