"""Binomials and Pochhammer's symbol, Fresnel's and other integrals whose slopes are elementary."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from chainrule.ops.define import composite, elementwise
from chainrule.ops.samples import pairs_within, point_pairs, points, reals, within
from chainrule.ops.special import scipy_special
from chainrule.ops.special_gamma import digamma, zeta_difference

_powm1 = scipy_special("powm1")


def _binom_by_n(n: Any, k: Any, out: Any) -> Any:
    """out·(ψ(n+1) − ψ(n−k+1)), which is a difference over k."""
    return out * zeta_difference(n - k + 1, k, s=1)


def _binom_by_k(n: Any, k: Any, out: Any) -> Any:
    """out·(ψ(n−k+1) − ψ(k+1))."""
    return out * zeta_difference(k + 1, n - 2 * k, s=1)


binom = elementwise(
    "binom",
    scipy_special("binom"),
    (_binom_by_n, _binom_by_k),
    inputs=("n", "k"),
    samples=pairs_within((3.2, 6.0), (0.2, 3.0)),
    edges=point_pairs((5.0, 0.0), (5.0, 2.0), (5.0, 5.0), (1e6, 3.0)),
    doc="The binomial coefficient of real n and k.",
)
poch = elementwise(
    "poch",
    scipy_special("poch"),
    (
        lambda z, m, out: out * zeta_difference(z, m, s=1),
        lambda z, m, out: out * digamma(z + m),
    ),
    inputs=("z", "m"),
    samples=pairs_within((0.4, 4.0), (0.2, 3.0)),
    edges=point_pairs((2.0, 0.0), (1e6, 2.0)),
    doc="Pochhammer's symbol Γ(z + m)/Γ(z).",
)

# ---- integrals ----------------------------------------------------------------------------------

_fresnel = scipy_special("fresnel")
fresnel_s = elementwise(
    "fresnel_s",
    lambda z: _fresnel(z)[0],
    (lambda z: np.sin(0.5 * pi * z * z),),
    inputs=("z",),
    samples=reals,
    edges=points(0.0, 1e3),
    doc="Fresnel's sine integral, the first result of fresnel.",
)
fresnel_c = elementwise(
    "fresnel_c",
    lambda z: _fresnel(z)[1],
    (lambda z: np.cos(0.5 * pi * z * z),),
    inputs=("z",),
    samples=reals,
    edges=points(0.0, 1e3),
    doc="Fresnel's cosine integral, the second result of fresnel.",
)
fresnel = composite(
    "fresnel",
    lambda z: (fresnel_s(z), fresnel_c(z)),
    inputs=("z",),
    samples=reals,
    outputs=2,
    reference=_fresnel,
    doc="Fresnel's integrals of sin(πt²/2) and cos(πt²/2).",
)

# ---- elementary, without cancellation -----------------------------------------------------------

cosm1 = elementwise(
    "cosm1",
    scipy_special("cosm1"),
    (lambda x: -np.sin(x),),
    samples=reals,
    edges=points(0.0, 1e-9),
    doc="cos x − 1, accurate near 0.",
)
exp10 = elementwise(
    "exp10",
    scipy_special("exp10"),
    (lambda out: log(10) * out,),
    inputs=("x",),
    samples=within(-2.0, 2.0),
    edges=points(0.0, 300.0),
    doc="10ˣ.",
)
powm1 = elementwise(
    "powm1",
    _powm1,
    (lambda x, y: y * np.power(x, y - 1), lambda x, y: np.log(x) * np.power(x, y)),
    samples=pairs_within((0.3, 3.0), (-2.0, 2.0)),
    edges=point_pairs((1.0, 1.0), (2.0, 0.0)),
    doc="xʸ − 1, accurate near 0.",
)
wrightomega = elementwise(
    "wrightomega",
    scipy_special("wrightomega"),
    (lambda out: out / (1 + out),),
    inputs=("x",),
    samples=reals,
    edges=points(-700.0, 0.0, 1e300),
    doc="Wright's ω function, with ω + log ω = x.",
)


def _degrees(name: str, slope: Any, doc: str) -> None:
    elementwise(
        name,
        scipy_special(name),
        (slope,),
        inputs=("x",),
        samples=within(10.0, 80.0),
        doc=doc,
    )


DEGREE = pi / 180
_degrees("sindg", lambda x: DEGREE * np.cos(DEGREE * x), "The sine of an angle in degrees.")
_degrees("cosdg", lambda x: -DEGREE * np.sin(DEGREE * x), "The cosine of an angle in degrees.")
_degrees("tandg", lambda out: DEGREE * (1 + out * out), "The tangent of an angle in degrees.")
_degrees("cotdg", lambda out: -DEGREE * (1 + out * out), "The cotangent of an angle in degrees.")
