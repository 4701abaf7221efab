"""The error function, its scaled and inverse forms, and the normal distribution."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Op, sample
from chainrule.ops.cures import DOMAIN_EDGE, PROBABILITY_EDGE
from chainrule.ops.define import elementwise
from chainrule.ops.samples import holomorphic, joined, of_orders, points, reals, within
from chainrule.ops.special import in_double, polynomial, scipy_special

TWO_OVER_ROOT_PI = 1.1283791670955126
HALF_ROOT_PI = 0.886226925452758
ROOT_TWO_PI = 2.5066282746310002
ROOT_TWO_OVER_PI = 0.7978845608028654
ROOT_HALF = 0.7071067811865476
LARGE_ERFCX = 2.0  # from here upward recurrence cancels; the continued fraction has converged
LARGE_DAWSN = 7.0  # from here the asymptotic series is exact to the last bit

_erfcx, _dawsn = scipy_special("erfcx"), scipy_special("dawsn")

erf = elementwise(
    "erf",
    scipy_special("erf"),
    (lambda x: TWO_OVER_ROOT_PI * np.exp(-(x * x)),),
    samples=holomorphic,
    edges=points(0.0, -6.0, 30.0, 1e200),
)
erfc = elementwise(
    "erfc",
    scipy_special("erfc"),
    (lambda x: -TWO_OVER_ROOT_PI * np.exp(-(x * x)),),
    samples=holomorphic,
    edges=points(0.0, -6.0, 26.0, 1e200),
)
erfi = elementwise(
    "erfi",
    scipy_special("erfi"),
    (lambda x: TWO_OVER_ROOT_PI * np.exp(x * x),),
    samples=holomorphic,
    edges=points(0.0, 26.0),
)


def _by_ratios(x: Any, order: int) -> Any:
    """The n-th derivative of erfcx for x ≥ 2, as erfcx times ratios of consecutive derivatives.

    D_n = −2n r_n D_{n−1} with r_n = ½ / (x + (n+1) r_{n+1}): nothing is subtracted.
    """
    product, ratio = _erfcx(x), 0.0
    for n in range(order + 60, 0, -1):
        ratio = 0.5 / (x + (n + 1) * ratio)
        if n <= order:
            product = product * (-2 * n * ratio)
    return product


@in_double
def _erfcx_derivative(x: Any, order: int) -> Any:
    """dⁿ erfcx/dxⁿ: upwards by D_n = 2x D_{n−1} + 2(n−1) D_{n−2}, by ratios where that cancels."""
    earlier = _erfcx(x)
    upward = 2 * x * earlier - TWO_OVER_ROOT_PI
    for n in range(2, order + 1):
        earlier, upward = upward, 2 * x * upward + 2 * (n - 1) * earlier
    if np.iscomplexobj(x) or not np.any(x > LARGE_ERFCX):
        return upward
    return np.where(x > LARGE_ERFCX, _by_ratios(np.maximum(x, LARGE_ERFCX), order), upward)


erfcx_derivative: Op = elementwise(
    "erfcx_derivative",
    _erfcx_derivative,
    (lambda x, order: erfcx_derivative(x, order=order + 1),),
    samples=of_orders((-1, 4), (-1, 4), (-1, 4)),
    edges=lambda: [sample(np.float64(v), order=1) for v in (0.0, 2.0, 1e8)],
    doc="The derivative of erfcx of the given order (1 or more), without cancellation.",
)
erfcx = elementwise(
    "erfcx",
    _erfcx,
    (lambda x: erfcx_derivative(x, order=1),),
    samples=joined(holomorphic, within(1.0, 60.0)),
    edges=points(0.0, 2.0, -26.0, 1e9, 1e100),
)


def _dawsn_series(x: Any, order: int) -> Any:
    """The n-th derivative of F(x) ~ Σ (2k−1)‼ / (2^{k+1} x^{2k+1}), term by term, for |x| ≥ 7."""
    coefficients, odd = [], 0.5
    for k in range(26):
        coefficients.append(odd * factorial(2 * k + order) / factorial(2 * k))
        odd *= (2 * k + 1) / 2
    return (-1) ** order * polynomial(coefficients, 1 / (x * x)) / x ** (order + 1)


@in_double
def _dawsn_derivative(x: Any, order: int) -> Any:
    """dⁿF/dxⁿ: upwards from F' = 1 − 2xF, by the asymptotic series where that cancels."""
    earlier = _dawsn(x)
    upward = 1 - 2 * x * earlier
    for n in range(1, order):
        earlier, upward = upward, -2 * x * upward - 2 * n * earlier
    if np.iscomplexobj(x):
        return upward
    large = np.abs(x) > LARGE_DAWSN
    return np.where(large, _dawsn_series(np.where(large, x, LARGE_DAWSN), order), upward)


dawsn_derivative: Op = elementwise(
    "dawsn_derivative",
    _dawsn_derivative,
    (lambda x, order: dawsn_derivative(x, order=order + 1),),
    samples=of_orders((-2, 3), (-9, 9), (-1, 4)),
    edges=lambda: [sample(np.float64(v), order=1) for v in (0.0, 7.0, 1e8)],
    doc="The derivative of Dawson's function of the given order (1 or more), without cancellation.",
)
dawsn = elementwise(
    "dawsn",
    _dawsn,
    (lambda x: dawsn_derivative(x, order=1),),
    samples=joined(holomorphic, within(-12.0, 12.0)),
    edges=points(0.0, 7.0, -1e6, 1e100),
)
erfinv = elementwise(
    "erfinv",
    scipy_special("erfinv"),
    (lambda out: HALF_ROOT_PI * np.exp(out * out),),
    samples=within(-0.9, 0.9),
    edges=points(0.0, 1 - 2**-53, -1 + 2**-53),
    cure=(DOMAIN_EDGE,),
)
erfcinv = elementwise(
    "erfcinv",
    scipy_special("erfcinv"),
    (lambda out: -HALF_ROOT_PI * np.exp(out * out),),
    samples=within(0.1, 1.9),
    edges=points(1e-300, 1.0, 2 - 2**-52),
)

# ---- the normal distribution --------------------------------------------------------------------


def _ndtr_lowered(b: Any, x: Any) -> Any:
    """½ erfc(−x/√2)."""
    (x,) = b.floats(x)
    half, scale = b.constant(0.5, x.dtype), b.constant(-ROOT_HALF, x.dtype)
    return b.map("multiply", half, b.maths("erfc", b.map("multiply", scale, x)))


ndtr = elementwise(
    "ndtr",
    scipy_special("ndtr"),
    (lambda x: np.exp(-0.5 * (x * x)) / ROOT_TWO_PI,),
    samples=holomorphic,
    edges=points(0.0, -40.0, 40.0),
    doc="The distribution function Φ of the standard normal distribution.",
    lower=_ndtr_lowered,
)


@in_double
def _inverse_mills(x: Any) -> Any:
    """φ(x)/Φ(x) = √(2/π) / erfcx(−x/√2)."""
    return ROOT_TWO_OVER_PI / _erfcx(-ROOT_HALF * x)


def _inverse_mills_slope(x: Any, out: Any) -> Any:
    """−out·(x + out).

    Below zero the sum, which cancels, is −erfcx'(z) / (√2 erfcx(z)) with z = −x/√2.
    """
    below = np.real(plain(x)) < 0
    z = -ROOT_HALF * np.where(below, x, 0.0)
    return -out * np.where(below, -ROOT_HALF * erfcx_derivative(z, order=1) / erfcx(z), x + out)


inverse_mills = elementwise(
    "inverse_mills",
    _inverse_mills,
    (_inverse_mills_slope,),
    samples=joined(reals, within(-50.0, -30.0)),
    edges=points(0.0, -1e9, 40.0),
    doc="The inverse Mills ratio φ(x)/Φ(x) of the normal distribution: the slope of log_ndtr.",
)
log_ndtr = elementwise(
    "log_ndtr",
    scipy_special("log_ndtr"),
    (lambda x: inverse_mills(x),),
    samples=joined(reals, within(-50.0, -30.0)),
    edges=points(0.0, -40.0, -1e9, 40.0),
    doc="log Φ(x), accurate far into both tails.",
)
ndtri = elementwise(
    "ndtri",
    scipy_special("ndtri"),
    (lambda out: ROOT_TWO_PI * np.exp(0.5 * (out * out)),),
    samples=within(0.05, 0.95),
    edges=points(1e-300, 0.5, 1 - 2**-53),
    doc="The quantile function of the standard normal distribution.",
    cure=(PROBABILITY_EDGE,),
)
ndtri_exp = elementwise(
    "ndtri_exp",
    scipy_special("ndtri_exp"),
    (lambda out: 1 / inverse_mills(out),),
    samples=within(-4.0, -0.1),
    edges=points(-1e6, -1e-15),
    doc="ndtri(e^x): the normal quantile of the logarithm of a probability.",
)
