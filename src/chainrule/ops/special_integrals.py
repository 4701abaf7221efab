"""Exponential, sine and cosine integrals, exprel, and Lambert's W function."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Op, Samples, sample
from chainrule.ops.define import composite, elementwise
from chainrule.ops.samples import draw, joined, of_orders, points, positives, reals, within
from chainrule.ops.special import in_double, refused, scipy_special
from chainrule.ops.special_bessel import spherical_in, spherical_jn, whole_order

FAR_EXP = 800.0  # from here on exp(x)/x is infinite too
_exprel = scipy_special("exprel")
_sici, _shichi = scipy_special("sici"), scipy_special("shichi")
_scipy_lambertw = scipy_special("lambertw")

exp1 = elementwise(
    "exp1",
    scipy_special("exp1"),
    (lambda x: -np.exp(-x) / x,),
    samples=within(0.2, 3.0, complex_too=True),
    edges=points(1e-100, 700.0),
)
expi = elementwise(
    "expi",
    scipy_special("expi"),
    (lambda x: np.exp(x) / x,),
    samples=joined(within(0.2, 3.0, complex_too=True), within(-3.0, -0.2)),
    edges=points(1e-100, -700.0, 700.0),
)


def _expn_slope(n: Any, x: Any) -> Any:
    """−E_{n−1}(x), where E_0 = e^{−x}/x and E_{−1} = e^{−x}(1 + 1/x)/x are not SciPy's to give."""
    n = plain(n)
    closed = np.exp(-x) / x
    if np.ndim(n) == 0:
        return -expn(n - 1, x) if n > 1 else -closed if n == 1 else -closed * (1 + 1 / x)
    closed = np.where(n == 1, closed, closed * (1 + 1 / x))
    return -np.where(n > 1, expn(np.maximum(n - 1, 1), x), closed)


expn = elementwise(
    "expn",
    scipy_special("expn"),
    (refused("expn", "n", "it is a whole number"), _expn_slope),
    inputs=("n", "x"),
    samples=whole_order(0.3, 4.0),
    edges=lambda: [sample(3, np.float64(0.0)), sample(1, np.float64(700.0))],
    doc="The generalised exponential integral E_n(x), for a whole number n.",
)


def _pair(name: str, first: str, second: str, slopes: tuple[Any, Any], samples: Samples) -> Any:
    """The two results of a SciPy function as ops of their own, and the function made of both."""
    both = scipy_special(name)
    one = elementwise(f"{name}_{first}", lambda x: both(x)[0], slopes[:1], samples=samples)
    other = elementwise(f"{name}_{second}", lambda x: both(x)[1], slopes[1:], samples=samples)
    whole = composite(
        name,
        lambda x: (one(x), other(x)),
        samples=samples,
        edges=points(1e-100, 30.0),
        outputs=2,
        reference=both,
    )
    return one, other, whole


sici_si, sici_ci, sici = _pair(
    "sici", "si", "ci", (lambda x: spherical_jn(0, x), lambda x: np.cos(x) / x), positives
)
shichi_shi, shichi_chi, shichi = _pair(
    "shichi", "shi", "chi", (lambda x: spherical_in(0, x), lambda x: np.cosh(x) / x), positives
)

# ---- (e^x − 1)/x --------------------------------------------------------------------------------


@in_double
def _exprel_derivative(x: Any, order: int) -> Any:
    """f_n = ∫₀¹ sⁿ e^{xs} ds: by x f_n = e^x − n f_{n−1}, for small x by series of positive terms.

    The series is Σ x^k / (k! (n+1+k)); for x < 0 it is e^x Σ |x|^k / ((n+1)…(n+1+k)).
    """
    upward = _exprel(x)
    for n in range(1, order + 1):
        step = (np.exp(x) - n * upward) / x
        upward = np.where(x > FAR_EXP, np.inf, step)  # where ∞ would be taken from ∞
    small = np.clip(np.abs(x), 0.0, 3.0 + order)
    rising, falling, power, product = 0.0, 0.0, 1.0, 1 / (order + 1)
    for k in range(40 + 3 * order):
        rising, falling = rising + power / (order + 1 + k), falling + product
        power, product = power * small / (k + 1), product * small / (order + 2 + k)
    series = np.where(x < 0, np.exp(-small) * falling, rising)
    return np.where(np.abs(x) < 3.0 + order, series, upward)


exprel_derivative: Op = elementwise(
    "exprel_derivative",
    _exprel_derivative,
    (lambda x, order: exprel_derivative(x, order=order + 1),),
    samples=of_orders((-6, 6), (-6, 6), (-2, 2)),
    edges=lambda: [sample(np.float64(v), order=1) for v in (0.0, -1e8, 700.0)],
    doc="The derivative of exprel of the given order (1 or more).",
)
exprel = elementwise(
    "exprel",
    _exprel,
    (lambda x: exprel_derivative(x, order=1),),
    samples=reals,
    edges=points(0.0, 1e-10, -1e8, 700.0),
    doc="(e^x − 1)/x, which is 1 at 0.",
)

# ---- Lambert's W --------------------------------------------------------------------------------


@in_double
def _lambertw(x: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """W with W e^W = x, on branch k; of a real x the real solution, NaN where there is none."""
    w = _scipy_lambertw(x, k, tol)
    return w if np.iscomplexobj(x) else np.where(w.imag == 0, w.real, np.nan)


lambertw = elementwise(
    "lambertw",
    _lambertw,
    (lambda out: np.exp(-out) / (1 + out),),
    inputs=("x",),
    samples=lambda: [
        sample(draw((), -0.3, 5)),
        sample(draw((2, 3), -0.3, 5)),
        sample(draw((3,), -0.3, -0.05), k=-1),
        sample(draw((3,), -0.3, 5) + 1j * draw((3,), 0.2, 0.9, 1)),
        sample(draw((3,), -0.3, 5).astype(np.float32)),
    ],
    edges=points(0.0, 1e300, -0.36),
    doc="Lambert's W function on branch k = 0 or −1; real for a real x, where SciPy's is complex.",
)
