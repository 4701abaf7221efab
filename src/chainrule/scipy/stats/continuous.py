"""The continuous laws: densities, distribution functions and quantiles in terms of ops."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from chainrule.core.op import OPS
from chainrule.ops.special_inverse import t_log_density
from chainrule.scipy.stats.distribution import Law

LOG_ROOT_TWO_PI = 0.9189385332046727
EULER = 0.5772156649015329


def _op(name: str) -> Any:
    """An op, found when it is first called."""
    return lambda *args: OPS[name](*args)


ndtr, ndtri, log_ndtr = _op("ndtr"), _op("ndtri"), _op("log_ndtr")
gammaln, digamma, gamma = _op("gammaln"), _op("digamma"), _op("gamma")
gammainc, gammaincc = _op("gammainc"), _op("gammaincc")
gammaincinv, gammainccinv = _op("gammaincinv"), _op("gammainccinv")
xlogy, xlog1py, betaln = _op("xlogy"), _op("xlog1py"), _op("betaln")
expit, logit, log_expit = _op("expit"), _op("logit"), _op("log_expit")
stdtr, stdtrit = _op("stdtr"), _op("stdtrit")


def finite_if(condition: Any, value: Any, otherwise: Any = np.inf) -> Any:
    """A moment where it exists."""
    return np.where(condition, value, otherwise)


def shape_first(op: Any, *, sign: int = 1) -> Any:
    """f(y, a) of an op that takes a first."""
    return lambda y, *shapes: op(*shapes, y if sign > 0 else -y)


norm = Law(
    logpdf=lambda y: -0.5 * y * y - LOG_ROOT_TWO_PI,
    cdf=ndtr,
    sf=lambda y: ndtr(-y),
    logcdf=log_ndtr,
    logsf=lambda y: log_ndtr(-y),
    ppf=ndtri,
    isf=lambda q: -ndtri(q),
    entropy=lambda: 0.5 + LOG_ROOT_TWO_PI,
    mean=lambda: 0.0,
    var=lambda: 1.0,
)


def _t_logpdf(y: Any, df: Any) -> Any:
    """That of the normal law for an infinite df."""
    infinite = np.isinf(df)
    finite = np.where(infinite, 1.0, df)
    return np.where(infinite, norm.logpdf(y), t_log_density(finite, y))


def _t_entropy(df: Any) -> Any:
    half, more = 0.5 * df, 0.5 * (df + 1)
    return more * (digamma(more) - digamma(half)) + 0.5 * np.log(df) + betaln(half, 0.5)


t = Law(
    logpdf=_t_logpdf,
    cdf=shape_first(stdtr),
    sf=shape_first(stdtr, sign=-1),
    ppf=shape_first(stdtrit),
    isf=lambda q, df: -stdtrit(df, q),
    entropy=_t_entropy,
    mean=lambda df: finite_if(df > 1, 0.0),
    var=lambda df: finite_if(
        df > 2, df / np.where(df > 2, df - 2, 1.0), np.where(df > 1, np.inf, np.nan)
    ),
)
gamma_law = Law(
    logpdf=lambda y, a: xlogy(a - 1.0, y) - y - gammaln(a),
    pdf=lambda y, a: OPS["gamma_density"](a, y),
    cdf=shape_first(gammainc),
    sf=shape_first(gammaincc),
    ppf=shape_first(gammaincinv),
    isf=shape_first(gammainccinv),
    entropy=lambda a: a + gammaln(a) + (1 - a) * digamma(a),
    mean=lambda a: a,
    var=lambda a: a,
    low=0.0,
    inside=1.0,
)
invgamma = Law(
    logpdf=lambda y, a: -(a + 1) * np.log(y) - gammaln(a) - 1 / y,
    cdf=lambda y, a: gammaincc(a, 1 / y),
    sf=lambda y, a: gammainc(a, 1 / y),
    ppf=lambda q, a: 1 / gammainccinv(a, q),
    isf=lambda q, a: 1 / gammaincinv(a, q),
    entropy=lambda a: a - (a + 1.0) * digamma(a) + gammaln(a),
    mean=lambda a: finite_if(a > 1, 1 / np.where(a > 1, a - 1, 1.0)),
    var=lambda a: finite_if(a > 2, 1 / ((a - 1) ** 2 * np.where(a > 2, a - 2, 1.0))),
    low=0.0,
    inside=1.0,
    excluded=True,
)
beta = Law(
    logpdf=lambda y, a, b: xlog1py(b - 1.0, -y) + xlogy(a - 1.0, y) - betaln(a, b),
    pdf=lambda y, a, b: OPS["beta_density"](a, b, y),
    cdf=shape_first(_op("betainc")),
    sf=shape_first(_op("betaincc")),
    ppf=shape_first(_op("betaincinv")),
    isf=shape_first(_op("betainccinv")),
    entropy=lambda a, b: (
        betaln(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + (a + b - 2) * digamma(a + b)
    ),
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
    low=0.0,
    high=1.0,
    inside=0.5,
)
expon = Law(
    logpdf=lambda y: -y,
    cdf=lambda y: -np.expm1(-y),
    sf=lambda y: np.exp(-y),
    logsf=lambda y: -y,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
    entropy=lambda: 1.0,
    mean=lambda: 1.0,
    var=lambda: 1.0,
    low=0.0,
    inside=1.0,
)


def _laplace_tails(y: Any) -> tuple[Any, Any, Any]:
    """Whether y is above the middle, half the exponential on each side, smooth in the middle."""
    above = np.greater(y, 0)
    return above, np.exp(-np.where(above, y, 0.0)), np.where(above, 0.0, y)


def _laplace_cdf(y: Any) -> Any:
    above, upper, below = _laplace_tails(y)
    return np.where(above, 1 - 0.5 * upper, 0.5 * np.exp(below))


def _laplace_logcdf(y: Any) -> Any:
    above, upper, below = _laplace_tails(y)
    return np.where(above, np.log1p(-0.5 * upper), below - np.log(2.0))


laplace = Law(
    logpdf=lambda y: -np.abs(y) - np.log(2.0),
    cdf=_laplace_cdf,
    sf=lambda y: _laplace_cdf(-y),
    logcdf=_laplace_logcdf,
    logsf=lambda y: _laplace_logcdf(-y),
    ppf=lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q)),
    isf=lambda q: np.where(q > 0.5, np.log(2 * (1 - q)), -np.log(2 * q)),
    entropy=lambda: 1.0 + np.log(2.0),
    mean=lambda: 0.0,
    var=lambda: 2.0,
)
logistic = Law(
    logpdf=lambda y: log_expit(y) + log_expit(-y),
    cdf=expit,
    sf=lambda y: expit(-y),
    logcdf=log_expit,
    logsf=lambda y: log_expit(-y),
    ppf=logit,
    isf=lambda q: -logit(q),
    entropy=lambda: 2.0,
    mean=lambda: 0.0,
    var=lambda: pi**2 / 3,
)
lognorm = Law(
    logpdf=lambda y, s: norm.logpdf(np.log(y) / s) - np.log(s) - np.log(y),
    cdf=lambda y, s: ndtr(np.log(y) / s),
    sf=lambda y, s: ndtr(-np.log(y) / s),
    logcdf=lambda y, s: log_ndtr(np.log(y) / s),
    logsf=lambda y, s: log_ndtr(-np.log(y) / s),
    ppf=lambda q, s: np.exp(s * ndtri(q)),
    isf=lambda q, s: np.exp(-s * ndtri(q)),
    entropy=lambda s: 0.5 + LOG_ROOT_TWO_PI + np.log(s),
    mean=lambda s: np.exp(0.5 * s * s),
    var=lambda s: np.expm1(s * s) * np.exp(s * s),
    low=0.0,
    inside=1.0,
    excluded=True,
)
cauchy = Law(
    logpdf=lambda y: -np.log(pi) - np.log1p(y * y),
    cdf=lambda y: np.arctan2(1.0, -y) / pi,
    sf=lambda y: np.arctan2(1.0, y) / pi,
    ppf=lambda q: -1 / np.tan(pi * q),
    isf=lambda q: 1 / np.tan(pi * q),
    entropy=lambda: np.log(4 * pi),
)
chi2 = Law(
    logpdf=lambda y, df: (
        xlogy(0.5 * df - 1, y) - 0.5 * y - gammaln(0.5 * df) - 0.5 * np.log(2.0) * df
    ),
    pdf=lambda y, df: 0.5 * OPS["gamma_density"](0.5 * df, 0.5 * y),
    cdf=lambda y, df: gammainc(0.5 * df, 0.5 * y),
    sf=lambda y, df: gammaincc(0.5 * df, 0.5 * y),
    ppf=lambda q, df: 2 * gammaincinv(0.5 * df, q),
    isf=lambda q, df: 2 * gammainccinv(0.5 * df, q),
    entropy=lambda df: gamma_law.entropy(0.5 * df) + np.log(2.0),
    mean=lambda df: df,
    var=lambda df: 2 * df,
    low=0.0,
    inside=1.0,
)
uniform = Law(
    logpdf=lambda y: 0.0 * y,
    pdf=lambda y: 1.0 + 0.0 * y,
    cdf=lambda y: y,
    sf=lambda y: 1 - y,
    ppf=lambda q: q,
    isf=lambda q: 1 - q,
    entropy=lambda: 0.0,
    mean=lambda: 0.5,
    var=lambda: 1 / 12,
    low=0.0,
    high=1.0,
    inside=0.5,
)


def _weibull_var(c: Any) -> Any:
    return gamma(1 + 2 / c) - gamma(1 + 1 / c) ** 2


weibull_min = Law(
    logpdf=lambda y, c: np.log(c) + xlogy(c - 1, y) - y**c,
    cdf=lambda y, c: -np.expm1(-(y**c)),
    sf=lambda y, c: np.exp(-(y**c)),
    logsf=lambda y, c: -(y**c),
    ppf=lambda q, c: (-np.log1p(-q)) ** (1 / c),
    isf=lambda q, c: (-np.log(q)) ** (1 / c),
    entropy=lambda c: -EULER / c - np.log(c) + EULER + 1,
    mean=lambda c: gamma(1 + 1 / c),
    var=_weibull_var,
    low=0.0,
    inside=1.0,
)
pareto = Law(
    logpdf=lambda y, b: np.log(b) - (b + 1) * np.log(y),
    cdf=lambda y, b: -np.expm1(-b * np.log(y)),
    sf=lambda y, b: y ** (-b),
    logsf=lambda y, b: -b * np.log(y),
    ppf=lambda q, b: np.exp(-np.log1p(-q) / b),
    isf=lambda q, b: q ** (-1 / b),
    entropy=lambda b: 1 + 1 / b - np.log(b),
    mean=lambda b: finite_if(b > 1, b / np.where(b > 1, b - 1, 1.0)),
    var=lambda b: finite_if(b > 2, b / (np.where(b > 2, b - 2, 1.0) * (b - 1) ** 2)),
    low=1.0,
    inside=2.0,
)


def _vonmises_logpdf(y: Any, kappa: Any) -> Any:
    return kappa * OPS["cosm1"](y) - np.log(2 * pi) - np.log(OPS["i0e"](kappa))


def _vonmises_entropy(kappa: Any) -> Any:
    i0e = OPS["i0e"](kappa)
    return -kappa * OPS["i1e"](kappa) / i0e + np.log(2 * pi * i0e) + kappa


vonmises = Law(
    logpdf=_vonmises_logpdf,
    cdf=lambda y, kappa: OPS["vonmises_cdf"](kappa, y),
    sf=lambda y, kappa: 1 - OPS["vonmises_cdf"](kappa, y),
    ppf=shape_first(_op("vonmises_quantile")),
    isf=lambda q, kappa: -OPS["vonmises_quantile"](kappa, q),
    entropy=_vonmises_entropy,
    mean=lambda kappa: 0.0,
    valid=np.greater_equal,
)
LAWS = {
    "beta": beta,
    "cauchy": cauchy,
    "chi2": chi2,
    "expon": expon,
    "gamma": gamma_law,
    "invgamma": invgamma,
    "laplace": laplace,
    "logistic": logistic,
    "lognorm": lognorm,
    "norm": norm,
    "pareto": pareto,
    "t": t,
    "uniform": uniform,
    "vonmises": vonmises,
    "weibull_min": weibull_min,
}
