"""The functions of `scipy.special` that are no ufuncs, written in ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import OPS, refuse_gradients
from chainrule.errors import ArgumentError
from chainrule.ops.joining import as_array


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log |Σ b·eᵃ|, with its sign where asked for; elements with b = 0 count for nothing."""
    a = as_array(a)
    if b is None and not return_sign:
        return OPS["logsumexp"](a, axis=axis, keepdims=keepdims)
    b = np.ones(()) if b is None else as_array(b)
    counted = np.where(np.equal(b, 0), -np.inf, a)
    peak = np.max(counted, axis=axis, keepdims=True, initial=-np.inf)
    peak = OPS["stop_gradient"](np.where(np.isfinite(peak), peak, 0.0))
    total = np.sum(b * np.exp(counted - peak), axis=axis, keepdims=True)
    out = np.log(np.abs(total) if return_sign else total) + peak
    signed = np.sign(total)
    if not keepdims:
        out, signed = np.squeeze(out, axis=axis), np.squeeze(signed, axis=axis)
    return (out, signed) if return_sign else out


def softmax(x: Any, axis: Any = None) -> Any:
    return OPS["softmax"](as_array(x), axis=axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    return OPS["log_softmax"](as_array(x), axis=axis)


def multigammaln(a: Any, d: Any) -> Any:
    refuse_gradients(d=d)
    return OPS["multigammaln"](as_array(a), int(d))


def polygamma(n: Any, x: Any) -> Any:
    return OPS["polygamma"](n, x)


def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    return OPS["zeta"](x, 1.0 if q is None else q)


def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    """Of a real z real, where SciPy's result is complex with a zero imaginary part."""
    return OPS["lambertw"](z, k=k, tol=tol)


def sinc(x: Any) -> Any:
    return np.sinc(x)


def softplus(x: Any) -> Any:
    return OPS["softplus"](x)


# ---- factorials ---------------------------------------------------------------------------------


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    if exact:
        raise ArgumentError("comb(exact=True) counts in whole numbers; leave exact out")
    return OPS["binom"](N + k - 1, k) if repetition else OPS["binom"](N, k)


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """N!/(N−k)!"""
    if exact:
        raise ArgumentError("perm(exact=True) counts in whole numbers; leave exact out")
    return OPS["poch"](N - k + 1, k)


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Γ(n+1), 0 for negative n as SciPy has it."""
    if exact:
        raise ArgumentError("factorial(exact=True) counts in whole numbers; leave exact out")
    n = as_array(n)
    if extend == "complex":
        return OPS["gamma"](n + 1)
    below = np.less(n, 0)
    return np.where(below, 0.0, OPS["gamma"](np.where(below, 0.0, n) + 1))


# ---- derivatives of Bessel functions ------------------------------------------------------------


def _spherical(name: str, below: int, above: int) -> Any:
    """A function f_n with (2n+1) f_n' = below·n f_{n−1} + above·(n+1) f_{n+1}."""

    def function(n: Any, z: Any, derivative: bool = False) -> Any:
        op = OPS[name]
        if not derivative:
            return op(n, z)
        order = np.asarray(n)
        lower = below * order * op(np.maximum(order - 1, 0), z)
        return (lower + above * (order + 1) * op(order + 1, z)) / (2 * order + 1)

    return function


def _bessel_derivative(name: str, sign: int, factor: float) -> Any:
    """The n-th derivative by binomial sums of the orders v − n, v − n + 2, … v + n."""

    def function(v: Any, z: Any, n: int = 1) -> Any:
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ArgumentError(f"{name}p: n must be a whole number from 0 on, not {n!r}")
        coefficient, total = factor**n, 0.0
        for i in range(n + 1):
            total = total + coefficient * OPS[name](v - n + 2 * i, z)
            coefficient = coefficient * sign * (n - i) / (i + 1)
        return total

    return function


OURS: dict[str, Any] = {
    "comb": comb,
    "factorial": factorial,
    "ivp": _bessel_derivative("iv", 1, 0.5),
    "jvp": _bessel_derivative("jv", -1, 0.5),
    "kvp": _bessel_derivative("kv", 1, -0.5),
    "lambertw": lambertw,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "multigammaln": multigammaln,
    "perm": perm,
    "polygamma": polygamma,
    "sinc": sinc,
    "softmax": softmax,
    "softplus": softplus,
    "spherical_in": _spherical("spherical_in", 1, 1),
    "spherical_jn": _spherical("spherical_jn", 1, -1),
    "spherical_kn": _spherical("spherical_kn", -1, -1),
    "spherical_yn": _spherical("spherical_yn", 1, -1),
    "yvp": _bessel_derivative("yv", -1, 0.5),
    "zeta": zeta,
}
