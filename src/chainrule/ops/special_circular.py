"""The distribution function of von Mises' law on the circle, and its inverse."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from chainrule.core.op import Op, sample
from chainrule.errors import DerivativeError
from chainrule.ops.define import elementwise
from chainrule.ops.samples import draw, pairs_within, point_pairs
from chainrule.ops.special import in_double, scipy_special
from chainrule.ops.special_bessel import i0e, i1e

NEGLIGIBLE = 45.0  # e^−45 of the peak is below rounding: where the integral is cut off
NODES = 64  # of Gauss–Legendre quadrature, exact to rounding for each kappa

_i0e, _i1e, _cosm1 = scipy_special("i0e"), scipy_special("i1e"), scipy_special("cosm1")


def _of_scipy(name: str) -> Any:
    @in_double
    def call(kappa: Any, x: Any) -> Any:
        import scipy.stats

        return getattr(scipy.stats.vonmises, name)(x, kappa)

    return call


def density(kappa: Any, x: Any) -> Any:
    """exp(κ (cos x − 1)) / (2π e^{−κ} I₀(κ)), by the half angle."""
    return np.exp(-2 * kappa * np.sin(0.5 * x) ** 2) / (2 * pi * i0e(kappa))


def _concentration(kappa: Any) -> tuple[Any, Any]:
    """A = I₁/I₀ and its derivative 1 − A² − A/κ, which is ½ at κ = 0."""
    ratio = _i1e(kappa) / _i0e(kappa)
    small = kappa < 1e-6
    return ratio, 1 - ratio**2 - np.where(small, 0.5, ratio / np.where(small, 1.0, kappa))


@in_double
def _by_kappa(kappa: Any, x: Any, order: int) -> Any:
    """∂ⁿF/∂κⁿ = ∫ f(t)·m(t) dt from −π to x, an odd function of x; n is 1 or 2."""
    if order > 2:
        raise DerivativeError("vonmises_cdf: derivatives by kappa are written to order 2")
    turned = x - 2 * pi * np.round(x / (2 * pi))
    reach = np.arccos(np.maximum(1 - NEGLIGIBLE / np.maximum(kappa, 1e-300), -1.0))
    width = np.maximum(reach - np.abs(turned), 0.0)  # the side −|x| of the circle
    mean, slope = _concentration(kappa)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    total = 0.0
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        c = _cosm1(0.5 * (node - 1) * width - np.abs(turned))
        first = c + 1 - mean
        moment = first if order == 1 else first**2 - slope
        total = total + 0.5 * weight * width * np.exp(kappa * c) * moment
    return -np.sign(turned) * total / (2 * pi * _i0e(kappa))


def _by_kappa_and_x(kappa: Any, x: Any, order: int) -> Any:
    """The derivative of the density by κ."""
    if order > 1:
        raise DerivativeError("vonmises_cdf: derivatives by kappa are written to order 2")
    return density(kappa, x) * (np.cos(x) - i1e(kappa) / i0e(kappa))


vonmises_by_kappa: Op = elementwise(
    "vonmises_by_kappa",
    _by_kappa,
    (lambda kappa, x, order: vonmises_by_kappa(kappa, x, order=order + 1), _by_kappa_and_x),
    inputs=("kappa", "x"),
    samples=lambda: [sample(draw((2, 3), 0.3, 4), draw((3,), -3, 3, 1), order=1)],
    doc="The derivative of vonmises_cdf by kappa, of order 1 or 2.",
)
vonmises_cdf = elementwise(
    "vonmises_cdf",
    _of_scipy("cdf"),
    (lambda kappa, x: vonmises_by_kappa(kappa, x, order=1), lambda kappa, x: density(kappa, x)),
    inputs=("kappa", "x"),
    samples=pairs_within((0.3, 4.0), (-3.0, 3.0)),
    edges=point_pairs((1e-9, 1.0), (1e4, 0.001), (2.0, 0.0)),
    doc="The distribution function of von Mises' law of concentration kappa, 0 at −π.",
)
vonmises_quantile = elementwise(
    "vonmises_quantile",
    _of_scipy("ppf"),
    (
        lambda kappa, out: -vonmises_by_kappa(kappa, out, order=1) / density(kappa, out),
        lambda kappa, out: 1 / density(kappa, out),
    ),
    inputs=("kappa", "q"),
    samples=pairs_within((0.5, 4.0), (0.2, 0.8)),
    doc="The quantile function of von Mises' law of concentration kappa.",
)
