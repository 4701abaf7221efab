"""Derivatives of elementwise ops by central differences, with as many digits as it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mp, mpf

DIGITS = (150, 300, 600, 1200, 2400)  # tried in turn, until two agree
LARGEST = mpf(2) ** 1024 * (1 - mpf(2) ** -54)
SMALLEST = mpf(2) ** -1075

HALF = mpf(1) / 2


def _cbrt(x: mpf) -> mpf:
    return mp.sign(x) * mp.cbrt(abs(x))


def _expit(x: mpf) -> mpf:
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def _sinc(x: mpf) -> mpf:
    return mp.sinpi(x) / (mp.pi * x) if x else mpf(1)


def _softplus(x: mpf) -> mpf:
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def _logaddexp(x: mpf, y: mpf) -> mpf:
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def _xlogy(x: mpf, y: mpf) -> mpf:
    return x * mp.log(y) if x else mpf(0)


def _rel_entr(x: mpf, y: mpf) -> mpf:
    return x * mp.log(x / y) if x else mpf(0)


def _exprel(x: mpf) -> mpf:
    return mp.expm1(x) / x if x else mpf(1)


def _elu(x: mpf) -> mpf:
    return x if x > 0 else mp.expm1(x)


def _ndtr(x: mpf) -> mpf:
    return mp.erfc(-x * mp.sqrt(HALF)) / 2


ONE: dict[str, Callable[[mpf], Any]] = {
    "absolute": abs,
    "arccos": mp.acos,
    "arccosh": mp.acosh,
    "arcsin": mp.asin,
    "arcsinh": mp.asinh,
    "arctan": mp.atan,
    "arctanh": mp.atanh,
    "cbrt": _cbrt,
    "cos": mp.cos,
    "cosh": mp.cosh,
    "entr": lambda x: -x * mp.log(x) if x else mpf(0),
    "exp": mp.exp,
    "exp2": lambda x: mp.exp(x * mp.ln2),
    "expit": _expit,
    "expm1": mp.expm1,
    "exprel": _exprel,
    "log": mp.log,
    "log10": mp.log10,
    "log1p": mp.log1p,
    "log2": lambda x: mp.log(x) / mp.ln2,
    "log_expit": lambda x: -_softplus(-x),
    "logit": lambda x: mp.log(x) - mp.log1p(-x),
    "reciprocal": lambda x: 1 / x,
    "sech_squared": lambda x: 1 / mp.cosh(x) ** 2,
    "silu": lambda x: x * _expit(x),
    "elu": _elu,
    "gelu": lambda x: x * _ndtr(x),
    "sin": mp.sin,
    "sinc": _sinc,
    "sinh": mp.sinh,
    "softplus": _softplus,
    "sqrt": mp.sqrt,
    "square": lambda x: x * x,
    "tan": mp.tan,
    "tanh": mp.tanh,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfi": mp.erfi,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "dawsn": lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
    "ndtr": _ndtr,
    "log_ndtr": lambda x: mp.log(_ndtr(x)),
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
}
TWO: dict[str, Callable[[mpf, mpf], Any]] = {
    "arctan2": mp.atan2,
    "divide": lambda x, y: x / y,
    "hypot": mp.hypot,
    "kl_div": lambda x, y: _rel_entr(x, y) - x + y,
    "logaddexp": _logaddexp,
    "logaddexp2": lambda x, y: _logaddexp(x * mp.ln2, y * mp.ln2) / mp.ln2,
    "multiply": lambda x, y: x * y,
    "power": lambda x, y: mp.power(x, y),
    "pseudo_clip": lambda d, r: d * r / mp.hypot(d, r) if d or r else mpf(0),
    "rel_entr": _rel_entr,
    "xlog1py": lambda x, y: x * mp.log1p(y) if x else mpf(0),
    "xlogy": _xlogy,
}


def _once(
    f: Callable[..., Any], point: tuple[float, ...], axes: tuple[int, ...], digits: int
) -> tuple[mpf, mpf]:
    """The derivative along each of the axes in turn by central differences, and their noise."""
    with mp.workdps(digits):
        x = [mpf(p) for p in point]
        steps = [min(abs(a) if a else 1, 1) * mpf(10) ** (-digits // 8) for a in x]
        largest = max(1, *map(abs, x))

        def at(place: list[mpf], left: tuple[int, ...]) -> mpf:
            nonlocal largest
            if not left:
                value = mp.mpmathify(f(*place))
                largest = max(largest, abs(value))
                return value
            i, h = left[0], steps[left[0]]
            up, down = list(place), list(place)
            up[i], down[i] = place[i] + h, place[i] - h
            return (at(up, left[1:]) - at(down, left[1:])) / (2 * h)

        found = at(x, axes)
        return found, largest * mpf(10) ** (5 - digits) / mp.fprod(steps[i] for i in axes)


NONE = (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.ComplexResult, mp.NoConvergence)


def derivative(name: str, point: tuple[float, ...], axes: tuple[int, ...]) -> mpf | None:
    """The derivative of an op to 17 digits at least, or None where it has no real one."""
    f = (ONE if len(point) == 1 else TWO)[name]
    before = None
    for digits in DIGITS:
        try:
            found, noise = _once(f, point, axes, digits)
        except NONE:
            return None
        if isinstance(found, mpmath.mpc) or not mp.isfinite(found):
            return None
        if noise > abs(found) * mpf(10) ** -18 + SMALLEST / 8:
            continue
        if before is not None and abs(found - before) <= mpf(10) ** -18 * abs(found) + SMALLEST / 8:
            return found
        before = found
    return None
