"""The gamma and beta functions, their logarithms, the polygamma and Hurwitz zeta functions."""

from __future__ import annotations

from math import factorial, pi
from typing import Any

import numpy as np

from chainrule.core.cure import Cure
from chainrule.core.masked import plain
from chainrule.core.op import Op, Partials, Sample, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError
from chainrule.ops.define import composite, elementwise, rules
from chainrule.ops.samples import draw, joined, pairs_within, point_pairs, points, within
from chainrule.ops.special import in_double, refused, scipy_special

# B₂ₖ/(2k)! of the Euler–Maclaurin sum; with ten terms summed first, the rest is below rounding.
EULER_MACLAURIN = [
    b / factorial(2 * k)
    for k, b in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6), start=1)
]
SUMMED_FIRST = 10

_psi, _hurwitz = scipy_special("psi"), scipy_special("zeta")
_scipy_polygamma = scipy_special("polygamma")

positive_or_not = joined(within(0.2, 4.0), within(-2.9, -2.1))


@in_double
def _polygamma(n: Any, x: Any) -> Any:
    """SciPy's, which would widen float32."""
    if np.iscomplexobj(x):
        raise DTypeError("polygamma takes real x only (digamma of a complex x has no derivative)")
    return _scipy_polygamma(n, x)


GAMMA_CURES = (
    Cure(
        "a pole of gamma",
        "gamma has poles at 0, -1, -2, …",
        "keep the argument positive: cr.softplus(raw) + 1e-6",
        lambda c: c.x <= 0,
    ),
)
polygamma: Op = elementwise(
    "polygamma",
    _polygamma,
    (
        refused("polygamma", "n", "it counts derivatives, so it is a whole number"),
        lambda n, x: polygamma(n + 1, x),
    ),
    inputs=("n", "x"),
    samples=lambda: [
        *(sample(n, draw((3,), 0.4, 4.0)) for n in range(4)),
        sample(np.array([0, 1, 2]), draw((2, 3), 0.4, 4.0)),
        sample(1, draw((2,), -2.7, -2.3)),
        sample(2, draw((3,), 0.4, 4.0).astype(np.float32)),
    ],
    edges=lambda: [sample(1, np.float64(v)) for v in (1e-90, 1e8, -20.5)],
    doc="The n-th derivative of digamma, for a whole number n.",
    cure=GAMMA_CURES,
)
digamma = elementwise(
    "digamma",
    _psi,
    (lambda x: polygamma(1, x),),
    samples=positive_or_not,
    edges=points(1e-100, -20.5, 1e8, 1.4616321449683622),
    doc="The logarithmic derivative of the gamma function; SciPy calls it psi as well.",
    cure=GAMMA_CURES,
)
psi = composite(
    "psi",
    lambda x: digamma(x),
    samples=positive_or_not,
    doc="SciPy's name of digamma.",
)
gamma = elementwise(
    "gamma",
    scipy_special("gamma"),
    (lambda x, out: out * digamma(x),),
    samples=positive_or_not,
    edges=points(1e-100, 170.0, -20.5, 1.0),
    cure=GAMMA_CURES,
)
gammaln = elementwise(
    "gammaln",
    scipy_special("gammaln"),
    (lambda x: digamma(x),),
    samples=positive_or_not,
    edges=points(1e-100, 1.0, 2.0, -20.5, 1e300),
    doc="log |Γ(x)| of a real x.",
    cure=GAMMA_CURES,
    lower="lgamma",
)


def _loggamma_lowered(b: Any, x: Any) -> Any:
    (x,) = b.floats(x)
    below = b.map("less", x, b.constant(0, x.dtype))
    return b.map("where", below, b.constant(np.nan, x.dtype), b.maths("lgamma", x))


loggamma = elementwise(
    "loggamma",
    scipy_special("loggamma"),
    (lambda x: digamma(x),),
    samples=within(0.2, 4.0),
    edges=points(1e-100, 1.0, 2.0, 1e300),
    doc="The principal branch of log Γ; NaN for negative real x.",
    cure=GAMMA_CURES,
    lower=_loggamma_lowered,
)


def _rgamma_slope(x: Any, out: Any) -> Any:
    """−ψ(x)/Γ(x).

    Left of ½, by reflection, Γ(1−x)·(cos πx − ψ(1−x)·sin πx / π), smooth at the poles of Γ.
    """
    left = np.real(plain(x)) < 0.5
    r = np.where(left, x, 0.0)
    angle = pi * (r - 2 * np.round(np.real(plain(r)) / 2))  # the same sine, to full precision
    reflected = gamma(1 - r) * (np.cos(angle) - digamma(1 - r) * np.sin(angle) / pi)
    return np.where(left, reflected, -out * digamma(np.where(left, 1.0, x)))


rgamma = elementwise(
    "rgamma",
    scipy_special("rgamma"),
    (_rgamma_slope,),
    samples=joined(within(-2.5, 4.0), within(-1.0, 1.0)),
    edges=points(0.0, -1.0, -7.0, 0.5, 200.0),
    doc="1/Γ(x), which is smooth everywhere.",
)
zeta: Op = elementwise(
    "zeta",
    _hurwitz,
    (
        refused("zeta", "x", "only the derivative with respect to q is written"),
        lambda x, q: -x * zeta(x + 1, q),
    ),
    inputs=("x", "q"),
    samples=lambda: [
        sample(2.0, draw((3,), 0.4, 4.0)),
        sample(3.5, draw((2, 2), 0.4, 4.0)),
        sample(np.array([2, 3, 4]), draw((2, 3), 0.4, 4.0)),
        sample(2.0, draw((3,), 0.4, 4.0).astype(np.float32)),
    ],
    edges=lambda: [sample(2.0, np.float64(v)) for v in (1e-90, 1e8)],
    doc="The Hurwitz zeta function Σ (q + k)^−x.",
)


def _fall(a: Any, b: Any, power: int) -> Any:
    """a^−p − (a+b)^−p without cancellation."""
    return -np.expm1(-power * np.log1p(b / a)) * a ** (-float(power))


@in_double
def _zeta_difference(a: Any, b: Any, s: int) -> Any:
    """ζ(s, a) − ζ(s, a+b), for s = 1 its limit ψ(a+b) − ψ(a): Euler–Maclaurin, term by term."""
    usual = (a > 0) & (a + b > 0)
    p, q = np.where(usual, a, 1.0), np.where(usual, b, 1.0)
    total = sum(_fall(p + j, q, s) for j in range(SUMMED_FIRST))
    p = p + SUMMED_FIRST
    integral = np.log1p(q / p) if s == 1 else _fall(p, q, s - 1) / (s - 1)
    total = total + integral + _fall(p, q, s) / 2
    rising = s
    for k, coefficient in enumerate(EULER_MACLAURIN, start=1):
        total = total + coefficient * rising * _fall(p, q, s + 2 * k - 1)
        rising *= (s + 2 * k - 1) * (s + 2 * k)
    if np.all(usual):
        return total
    plainly = _psi(a + b) - _psi(a) if s == 1 else _hurwitz(s, a) - _hurwitz(s, a + b)
    return np.where(usual, total, plainly)


def _difference_samples() -> list[Sample]:
    return [sample(draw((2, 3), 0.3, 3), draw((3,), 0.3, 3, 1), s=s) for s in (1, 2)]


zeta_difference: Op = elementwise(
    "zeta_difference",
    _zeta_difference,
    (
        lambda a, b, s: -s * zeta_difference(a, b, s=s + 1),
        lambda a, b, s: s * zeta(s + 1.0, a + b),
    ),
    inputs=("a", "b"),
    samples=_difference_samples,
    doc="ζ(s, a) − ζ(s, a+b), for s = 1 its limit ψ(a+b) − ψ(a), accurate also where b ≪ a.",
)
betaln = elementwise(
    "betaln",
    scipy_special("betaln"),
    (lambda a, b: -zeta_difference(a, b, s=1), lambda a, b: -zeta_difference(b, a, s=1)),
    inputs=("a", "b"),
    samples=pairs_within((0.3, 3.0), (0.3, 3.0)),
    edges=point_pairs((1e-100, 2.0), (1e8, 1.0), (1e-8, 1e8), (1.0, 1.0)),
    bad=lambda: [sample(np.ones(3), np.ones(2))],
)
beta = elementwise(
    "beta",
    scipy_special("beta"),
    (
        lambda a, b, out: -out * zeta_difference(a, b, s=1),
        lambda a, b, out: -out * zeta_difference(b, a, s=1),
    ),
    inputs=("a", "b"),
    samples=joined(pairs_within((0.3, 3.0), (0.3, 3.0)), pairs_within((-0.7, -0.3), (1.1, 3.0))),
    edges=point_pairs((1e-100, 2.0), (1e8, 1.0), (1.0, 1.0)),
    bad=lambda: [sample(np.ones(3), np.ones(2))],
)


def _multigammaln(a: Any, d: int) -> Any:
    """log Γ_d(a) = d(d−1)/4·log π + Σ_{j<d} log Γ(a − j/2), for a > (d−1)/2."""
    if not isinstance(d, (int, np.integer)) or d < 1:
        raise ArgumentError(f"multigammaln: d must be a positive whole number, not {d!r}")
    if np.any(np.asarray(a) <= 0.5 * (d - 1)):
        raise ArgumentError(f"multigammaln: a must be greater than (d − 1)/2 = {0.5 * (d - 1)}")
    terms = sum(gammaln(a - 0.5 * j) for j in range(d))
    return terms + d * (d - 1) * 0.25 * float(np.log(pi))


multigammaln = rules(
    "multigammaln",
    _multigammaln,
    derivative=Partials((lambda a, d: sum(digamma(a - 0.5 * j) for j in range(d)),)),
    inputs=("a",),
    samples=lambda: [
        sample(draw((), 1.2, 4.0), d=3),
        sample(draw((2, 3), 1.2, 4.0), d=2),
        sample(draw((3,), 0.2, 4.0), d=1),
    ],
    bad=lambda: [sample(np.float64(1.0), d=4), sample(np.float64(1.0), d=0)],
    spec=lambda a, d: Spec(a.shape, np.result_type(a.dtype, 1.0)),
    reference=scipy_special("multigammaln"),
    doc="The logarithm of the multivariate gamma function of dimension d.",
)
