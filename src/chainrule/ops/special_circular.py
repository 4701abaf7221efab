"""The distribution function of von Mises' law on the circle, and its inverse."""

from __future__ import annotations

from math import comb, pi
from typing import Any

import numpy as np

from chainrule.core.op import Op, Samples, sample
from chainrule.ops.define import elementwise
from chainrule.ops.samples import draw, pairs_within, point_pairs
from chainrule.ops.special import in_double, scipy_special
from chainrule.ops.special_bessel import i0e

NEGLIGIBLE = 45.0  # e^−45 of the peak is below rounding: where the integral is cut off
NODES = 64  # of Gauss–Legendre quadrature, exact to rounding for each kappa

_i0e, _cosm1 = scipy_special("i0e"), scipy_special("cosm1")


def _of_scipy(name: str) -> Any:
    @in_double
    def call(kappa: Any, x: Any) -> Any:
        import scipy.stats

        return getattr(scipy.stats.vonmises, name)(x, kappa)

    return call


def density(kappa: Any, x: Any) -> Any:
    """exp(κ (cos x − 1)) / (2π e^{−κ} I₀(κ)), by the half angle."""
    return np.exp(-2 * kappa * np.sin(0.5 * x) ** 2) / (2 * pi * i0e(kappa))


def _seen(kappa: Any, x: Any) -> tuple[Any, Any]:
    """The nodes between −π and −|x| as cos t − 1, and the integral's weights times the density."""
    turned = np.abs(x - 2 * pi * np.round(x / (2 * pi)))
    reach = np.arccos(np.maximum(1 - NEGLIGIBLE / np.maximum(kappa, 1e-300), -1.0))
    width = np.maximum(reach - turned, 0.0)[..., None]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    c = _cosm1(0.5 * (nodes - 1) * width - turned[..., None])
    kappa = kappa[..., None]
    return c, 0.5 * weights * width * np.exp(kappa * c) / (2 * pi * _i0e(kappa))


def _cumulants(kappa: Any, order: int) -> tuple[Any, list[Any]]:
    """1 − I₁/I₀, the mean of 1 − cos t; and the cumulants of cos t, those from 2 to `order`."""
    c, weights = _seen(kappa, np.zeros_like(kappa))
    mean = -2 * np.sum(weights * c, axis=-1)
    moments = [1.0, 0.0]
    moments += [2 * np.sum(weights * (c + mean[..., None]) ** k, -1) for k in range(2, order + 1)]
    cumulants: list[Any] = [0.0, 0.0]
    for n in range(2, order + 1):
        rest = sum(comb(n - 1, j - 1) * cumulants[j] * moments[n - j] for j in range(2, n))
        cumulants.append(moments[n] - rest)
    return mean, cumulants


def _factor(c: Any, kappa: Any, order: int) -> Any:
    """What κⁿ-derivatives multiply the density by: a complete Bell polynomial.

    The logarithm of the density has the slope cos t − A(κ), and A = I₁/I₀ the cumulants as its
    derivatives; `c` is cos t − 1, with axes of its own after those of kappa.
    """
    mean, cumulants = _cumulants(kappa, order)
    across = (..., *(None,) * (np.ndim(c) - np.ndim(kappa)))
    slopes = [c + mean[across], *(-k[across] for k in cumulants[2:])]
    found: list[Any] = [1.0]
    for n in range(order):
        found.append(sum(comb(n, j) * slopes[j] * found[n - j] for j in range(n + 1)))
    return found[order]


@in_double
def _density(kappa: Any, x: Any, order: int) -> Any:
    """∂ⁿf/∂κⁿ of the density f."""
    kappa, x = np.broadcast_arrays(kappa, x)
    c = _cosm1(x)
    return np.exp(kappa * c) / (2 * pi * _i0e(kappa)) * _factor(c, kappa, order)


@in_double
def _by_kappa(kappa: Any, x: Any, order: int) -> Any:
    """∂ⁿF/∂κⁿ: the integral of ∂ⁿf/∂κⁿ from −π to x, an odd function of x."""
    kappa, x = np.broadcast_arrays(kappa, x)
    c, weights = _seen(kappa, x)
    turned = x - 2 * pi * np.round(x / (2 * pi))
    return -np.sign(turned) * np.sum(weights * _factor(c, kappa, order), axis=-1)


def _density_by_x(kappa: Any, x: Any, order: int) -> Any:
    """The n-th derivative of −κ sin(x)·f by κ."""
    below = order * vonmises_density(kappa, x, order=order - 1) if order else 0.0
    return -np.sin(x) * (kappa * vonmises_density(kappa, x, order=order) + below)


def _orders(*orders: int) -> Samples:
    return lambda: [
        sample(draw((2, 3), 0.3, 4), draw((3,), -3, 3, 1), order=order) for order in orders
    ]


vonmises_density: Op = elementwise(
    "vonmises_density",
    _density,
    (lambda kappa, x, order: vonmises_density(kappa, x, order=order + 1), _density_by_x),
    inputs=("kappa", "x"),
    samples=_orders(0, 1, 2),
    edges=lambda: [sample(np.float64(1e-9), np.float64(1.0), order=1)],
    doc="The derivative by kappa, of the given order, of the density of von Mises' law.",
)
vonmises_by_kappa: Op = elementwise(
    "vonmises_by_kappa",
    _by_kappa,
    (
        lambda kappa, x, order: vonmises_by_kappa(kappa, x, order=order + 1),
        lambda kappa, x, order: vonmises_density(kappa, x, order=order),
    ),
    inputs=("kappa", "x"),
    samples=_orders(1, 2),
    edges=lambda: [sample(np.float64(1e-9), np.float64(1.0), order=1)],
    doc="The derivative of vonmises_cdf by kappa, of the given order (1 or more).",
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
