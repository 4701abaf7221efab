"""The incomplete gamma functions and the density that is their slope."""

from __future__ import annotations

from functools import cache
from math import comb, pi
from typing import Any

import numpy as np

from chainrule.core.op import Op, sample
from chainrule.ops.define import elementwise
from chainrule.ops.samples import draw, pairs_within, point_pairs
from chainrule.ops.special import in_double, polynomial, scipy_special
from chainrule.ops.special_gamma import digamma, polygamma

FROM_STIRLING = 20.0  # from here Stirling's series is exact to the last bit
STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188]
NEGLIGIBLE = 45.0  # e^−45 of the peak is below rounding: where an integral is cut off

_gammainc, _gammaincc = scipy_special("gammainc"), scipy_special("gammaincc")
_rgamma, _xlogy = scipy_special("rgamma"), scipy_special("xlogy")
_psi, _polygamma = scipy_special("psi"), scipy_special("polygamma")


def stirling(a: Any) -> Any:
    """log Γ(a) − ((a − ½) log a − a + ½ log 2π), for a ≥ 20."""
    return polynomial(STIRLING, 1 / (a * a)) / a


def distance(x: Any, centre: Any) -> Any:
    """y − log(1 + y), 1 + y = x/centre: what a density's exponent loses away from its centre."""
    y = (x - centre) / centre
    return y - np.where(np.abs(y) < 0.5, np.log1p(y), np.log(x / centre))


@in_double
def _gamma_density(a: Any, x: Any) -> Any:
    """x^{a−1} e^{−x} / Γ(a); for large a in Loader's form, whose exponent does not cancel."""
    scale = _rgamma(np.minimum(a, FROM_STIRLING))
    power = np.exp(_xlogy(np.minimum(a, FROM_STIRLING) - 1, x) - x)
    directly = np.where(scale == 0, 0.0, scale * power)
    n = np.maximum(a, FROM_STIRLING)
    centred = np.sqrt(n / (2 * pi)) * np.exp(-n * distance(x, n) - stirling(n))
    return np.where(a < FROM_STIRLING, directly, np.where(x == 0, 0.0, centred / x))


gamma_density: Op = elementwise(
    "gamma_density",
    _gamma_density,
    (
        lambda a, x, out: out * (np.log(x) - digamma(a)),
        lambda a, x, out: gamma_density(a - 1, x) - out,
    ),
    inputs=("a", "x"),
    samples=pairs_within((1.2, 4.0), (0.3, 5.0)),
    edges=point_pairs((1e6, 1e6), (25.0, 1e-300)),
    doc="x^(a−1) e^−x / Γ(a), the density of the gamma distribution.",
)


@cache
def _legendre() -> list[tuple[float, float]]:
    """Nodes and weights of Gauss–Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    return list(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


def _bell(cumulants: list[Any]) -> Any:
    """The complete Bell polynomial: (e^f)⁽ⁿ⁾/e^f, from the first n derivatives of f."""
    found: list[Any] = [1.0]
    for n in range(len(cumulants)):
        found.append(sum(comb(n, i) * found[n - i] * cumulants[i] for i in range(n + 1)))
    return found[-1]


def _log_slopes(first: Any, a: Any, order: int, polygamma: Any = polygamma) -> list[Any]:
    """The a-derivatives of log(t^{a−1}/Γ(a)): `first` is log t − ψ(a), then −ψ'(a), −ψ''(a), …"""
    return [first, *(-polygamma(n, a) for n in range(1, order))]


def _cut_off(a: Any, x: Any, lower: Any) -> Any:
    """How far, in log t, the integrand of a gamma integral is to be followed from x."""
    squared = (NEGLIGIBLE + np.sqrt(NEGLIGIBLE**2 + 8 * NEGLIGIBLE * x)) / (2 * x)
    below = np.minimum(squared, (NEGLIGIBLE + x) / a)
    tail = np.where(x > a, NEGLIGIBLE / (x - a), np.inf)
    above = np.minimum(np.sqrt(2 * NEGLIGIBLE / x), np.maximum(2.0, np.log(4 * NEGLIGIBLE / x)))
    return np.where(lower, -below, np.minimum(tail, above))


@in_double
def _gammainc_derivative(a: Any, x: Any, order: int) -> Any:
    """∂ⁿP/∂aⁿ: the mean over t of the n-th a-derivative of the density, times P, or −Q for x > a.

    With t = x e^s the density is ∝ exp(a s − x (e^s − 1)) ds.  Below x an exponent a < 1 is raised
    by P(a, x) = P(a+1, x) + x^a e^{−x} / Γ(a+1).  On each side every term has one sign at order 1.
    """
    raised = np.where(a < 1, a + 1, a)
    lower = x <= raised
    shape = np.where(lower, raised, a)
    start, span = np.log(x) - _psi(shape), _cut_off(shape, x, lower)
    slopes = _log_slopes(start, shape, order, _polygamma)
    mass, moment = 0.0, 0.0
    for node, weight in _legendre():
        s = span * node
        density = weight * np.exp(shape * s - x * np.expm1(s))
        mass, moment = mass + density, moment + density * _bell([start + s, *slopes[1:]])
    total = np.where(lower, _gammainc(shape, x), -_gammaincc(shape, x)) * moment / mass
    step = _log_slopes(np.log(x) - _psi(raised), raised, order, _polygamma)
    total = total + np.where(lower & (a < 1), _gamma_density(raised, x) * _bell(step), 0.0)
    return np.where((x == 0) | np.isinf(x), 0.0, total)


def _gammainc_derivative_slope(a: Any, x: Any, order: int) -> Any:
    """∂ⁿ/∂aⁿ of the density x^{a−1} e^{−x} / Γ(a)."""
    return gamma_density(a, x) * _bell(_log_slopes(np.log(x) - digamma(a), a, order))


gammainc_derivative: Op = elementwise(
    "gammainc_derivative",
    _gammainc_derivative,
    (
        lambda a, x, order: gammainc_derivative(a, x, order=order + 1),
        _gammainc_derivative_slope,
    ),
    inputs=("a", "x"),
    samples=lambda: [sample(draw((2, 3), 0.5, 4), draw((3,), 0.3, 5, 1), order=n) for n in (1, 2)],
    doc="The derivative of gammainc by its parameter a, of the given order (1 or more).",
)
gammainc = elementwise(
    "gammainc",
    _gammainc,
    (
        lambda a, x: gammainc_derivative(a, x, order=1),
        lambda a, x: gamma_density(a, x),
    ),
    inputs=("a", "x"),
    samples=pairs_within((0.5, 4.0), (0.3, 5.0)),
    edges=point_pairs((1.0, 0.0), (2.0, 0.0), (1e6, 1e6), (0.5, 1e-300), (3.0, 1e3)),
    bad=lambda: [sample(np.ones(3), np.ones(2))],
    doc="The regularised lower incomplete gamma function P(a, x).",
)
gammaincc = elementwise(
    "gammaincc",
    _gammaincc,
    (lambda a, x: -gammainc_derivative(a, x, order=1), lambda a, x: -gamma_density(a, x)),
    inputs=("a", "x"),
    samples=pairs_within((0.5, 4.0), (0.3, 5.0)),
    edges=point_pairs((1.0, 0.0), (2.0, 0.0), (1e6, 1e6), (0.5, 1e-300), (3.0, 1e3)),
    bad=lambda: [sample(np.ones(3), np.ones(2))],
    doc="The regularised upper incomplete gamma function Q(a, x) = 1 − P(a, x).",
)
