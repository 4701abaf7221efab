"""Student's distribution, and the inverses of the incomplete gamma and beta functions.

An inverse x of y = F(a, x) has the slopes 1/F_x and −F_a/F_x.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Op, sample
from chainrule.ops.cures import PROBABILITY_EDGE
from chainrule.ops.define import composite, elementwise
from chainrule.ops.joining import of_arrays
from chainrule.ops.samples import draw, joined, pairs_within, point_pairs
from chainrule.ops.special import scipy_special
from chainrule.ops.special_beta import beta_density, betainc, betainc_derivative, betaincc
from chainrule.ops.special_error import erf as _erf
from chainrule.ops.special_gamma import betaln
from chainrule.ops.special_incomplete import (
    gamma_density,
    gammainc,
    gammainc_derivative,
    gammaincc,
)


def _gamma_inverse(name: str, sign: int, doc: str) -> Op:
    """`sign` is 1 for the inverse of P(a, x), −1 for that of Q(a, x)."""
    return elementwise(
        name,
        scipy_special(name),
        (
            lambda a, out: -gammainc_derivative(a, out, order=1) / gamma_density(a, out),
            lambda a, out: sign / gamma_density(a, out),
        ),
        inputs=("a", "y"),
        samples=pairs_within((0.5, 4.0), (0.1, 0.9)),
        edges=point_pairs((2.0, 1e-10), (1e6, 0.5), (3.0, 1 - 1e-10)),
        cure=(PROBABILITY_EDGE,),
        doc=doc,
    )


gammaincinv = _gamma_inverse("gammaincinv", 1, "The x with gammainc(a, x) = y.")
gammainccinv = _gamma_inverse("gammainccinv", -1, "The x with gammaincc(a, x) = y.")


def _beta_inverse(name: str, sign: int, doc: str) -> Op:
    def by(a: Any, b: Any, out: Any, left: int) -> Any:
        change = betainc_derivative(a, b, out, left=left, right=1 - left)
        return -change / beta_density(a, b, out)

    return elementwise(
        name,
        scipy_special(name),
        (
            lambda a, b, out: by(a, b, out, 1),
            lambda a, b, out: by(a, b, out, 0),
            lambda a, b, out: sign / beta_density(a, b, out),
        ),
        inputs=("a", "b", "y"),
        samples=lambda: [
            sample(draw((2, 3), 0.6, 4), draw((3,), 0.6, 4, 1), draw((2, 3), 0.1, 0.9, 2)),
            sample(2.0, 3.5, draw((), 0.1, 0.9)),
        ],
        cure=(PROBABILITY_EDGE,),
        doc=doc,
    )


betaincinv = _beta_inverse("betaincinv", 1, "The x with betainc(a, b, x) = y.")
betainccinv = _beta_inverse("betainccinv", -1, "The x with betaincc(a, b, x) = y.")

# ---- Student's t --------------------------------------------------------------------------------


def t_log_density(df: Any, x: Any) -> Any:
    """The logarithm of the density of Student's distribution."""
    scale = betaln(0.5, 0.5 * df) + 0.5 * np.log(df)
    return -scale - 0.5 * (df + 1) * np.log1p(x * x / df)


def _stdtr_by_df(df: Any, x: Any) -> Any:
    """The value is ½ + ½ sign(x) I_u(½, df/2) with u = x²/(df + x²); near 1 by 1 − u."""
    side, square = np.sign(plain(x)), x * x
    near = plain(square) < plain(df)
    u = np.where(near, square, 0.0) / (df + np.where(near, square, 0.0))
    far = np.where(near, df, square)  # 1 − u = df/(df + t²), ½ where it is not asked for
    rest = df / (df + far)
    shape = 0.5 * df
    change = np.where(
        near,
        betainc_derivative(0.5, shape, u, left=0, right=1),
        -betainc_derivative(shape, 0.5, rest, left=1, right=0),
    )
    return 0.25 * side * change - x / (2 * df) * np.exp(t_log_density(df, x))


stdtr = elementwise(
    "stdtr",
    scipy_special("stdtr"),
    (_stdtr_by_df, lambda df, x: np.exp(t_log_density(df, x))),
    inputs=("df", "x"),
    samples=joined(pairs_within((0.6, 8.0), (-4.0, 4.0)), pairs_within((0.6, 8.0), (-0.2, 0.2))),
    edges=point_pairs((3.0, 0.0), (3.0, -1e8), (1e6, 2.0)),
    doc="The distribution function of Student's t with df degrees of freedom.",
)


stdtrit = elementwise(
    "stdtrit",
    scipy_special("stdtrit"),
    (
        lambda df, out: -_stdtr_by_df(df, out) / np.exp(t_log_density(df, out)),
        lambda df, out: np.exp(-t_log_density(df, out)),
    ),
    inputs=("df", "p"),
    samples=pairs_within((3.0, 8.0), (0.2, 0.8)),
    edges=point_pairs((3.0, 0.5), (3.0, 1e-12)),
    cure=(PROBABILITY_EDGE,),
    doc="The quantile function of Student's t with df degrees of freedom.",
)

# ---- other names of these -----------------------------------------------------------------------

positive_pairs = pairs_within((0.6, 4.0), (0.3, 5.0))
shape_and_probability = pairs_within((0.6, 4.0), (0.1, 0.9))

chdtr = composite(
    "chdtr",
    of_arrays(lambda v, x: gammainc(0.5 * v, 0.5 * x)),
    inputs=("v", "x"),
    samples=positive_pairs,
    reference=scipy_special("chdtr"),
    doc="The distribution function of χ² with v degrees of freedom.",
)
chdtrc = composite(
    "chdtrc",
    of_arrays(lambda v, x: gammaincc(0.5 * v, 0.5 * x)),
    inputs=("v", "x"),
    samples=positive_pairs,
    reference=scipy_special("chdtrc"),
    doc="The survival function of χ² with v degrees of freedom.",
)
chdtri = composite(
    "chdtri",
    of_arrays(lambda v, p: 2 * gammainccinv(0.5 * v, p)),
    inputs=("v", "p"),
    samples=shape_and_probability,
    reference=scipy_special("chdtri"),
    doc="The x with chdtrc(v, x) = p.",
)


def _three(third: tuple[float, float]) -> Any:
    return lambda: [
        sample(draw((2, 3), 0.6, 4), draw((3,), 0.6, 4, 1), draw((2, 3), *third, 2)),
        sample(draw((), 0.6, 4), draw((), 0.6, 4, 1), draw((), *third, 2)),
    ]


def _ratio(dfn: Any, dfd: Any, x: Any) -> tuple[Any, Any, Any]:
    return 0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x)


fdtr = composite(
    "fdtr",
    of_arrays(lambda dfn, dfd, x: betainc(*_ratio(dfn, dfd, x))),
    inputs=("dfn", "dfd", "x"),
    samples=_three((0.3, 3.0)),
    reference=scipy_special("fdtr"),
    doc="The distribution function of F with dfn and dfd degrees of freedom.",
)
fdtrc = composite(
    "fdtrc",
    of_arrays(lambda dfn, dfd, x: betaincc(*_ratio(dfn, dfd, x))),
    inputs=("dfn", "dfd", "x"),
    samples=_three((0.3, 3.0)),
    reference=scipy_special("fdtrc"),
    doc="The survival function of F with dfn and dfd degrees of freedom.",
)
gdtr = composite(
    "gdtr",
    of_arrays(lambda a, b, x: gammainc(b, a * x)),
    inputs=("a", "b", "x"),
    samples=_three((0.3, 3.0)),
    reference=scipy_special("gdtr"),
    doc="The distribution function of the gamma distribution of rate a and shape b.",
)
gdtrc = composite(
    "gdtrc",
    of_arrays(lambda a, b, x: gammaincc(b, a * x)),
    inputs=("a", "b", "x"),
    samples=_three((0.3, 3.0)),
    reference=scipy_special("gdtrc"),
    doc="The survival function of the gamma distribution of rate a and shape b.",
)
owens_t = elementwise(
    "owens_t",
    scipy_special("owens_t"),
    (
        lambda h, a: -np.exp(-0.5 * h * h) * _erf(a * h / np.sqrt(2.0)) / (2 * np.sqrt(2 * pi)),
        lambda h, a: np.exp(-0.5 * h * h * (1 + a * a)) / (2 * pi * (1 + a * a)),
    ),
    inputs=("h", "a"),
    samples=pairs_within((-2.0, 2.0), (-2.0, 2.0)),
    edges=point_pairs((0.0, 0.0), (40.0, 1.0)),
    doc="Owen's T(h, a), of which the skew normal distribution function is made.",
)
