"""The discrete laws: probabilities of whole numbers, with derivatives in their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.op import OPS, refuse_gradients
from chainrule.ops.joining import as_array
from chainrule.scipy.dispatch import meets_variable
from chainrule.scipy.stats.continuous import (
    betaln,
    gammainc,
    gammaincc,
    gammaln,
    xlog1py,
    xlogy,
)
from chainrule.scipy.stats.distribution import Formula, either, instead, log_of


@dataclass(frozen=True)
class Counts:
    """A law on the whole numbers from `low` on; `high` of the shapes is the largest, if any.

    `valid` are one check per shape, `whole` those shapes that are counts themselves.
    """

    logpmf: Formula
    pmf: Formula
    cdf: Formula
    sf: Formula
    mean: Formula
    var: Formula
    valid: tuple[Formula, ...]
    low: int = 0
    high: Formula | None = None
    whole: tuple[int, ...] = ()


def probability(p: Any) -> Any:
    return np.logical_and(np.greater_equal(p, 0), np.less_equal(p, 1))


def prepared(dist: Any, law: Counts, args: Any, kwds: Any) -> tuple[Any, Any, Any]:
    """The shapes, with stand-ins where they are not valid, the location, and where that is."""
    shapes, loc, _ = dist._parse_args(*args, **kwds)
    refuse_gradients(loc=loc, **{dist.shapes.split(", ")[i]: shapes[i] for i in law.whole})
    masks, safe = [], []
    for check, value in zip(law.valid, shapes, strict=True):
        value = as_array(value)
        wrong = np.logical_not(check(value))
        if not meets_variable(wrong) and not np.any(wrong):
            wrong = None
        masks.append(wrong)
        safe.append(instead(wrong, 0.5 if check is not positive else 1.0, value))
    return tuple(safe), loc, either(*masks)


def positive(value: Any) -> Any:
    return np.greater(value, 0)


def not_negative(value: Any) -> Any:
    return np.greater_equal(value, 0)


def _mass(name: str, outside: float) -> Formula:
    def method(dist: Any, law: Counts, k: Any, *args: Any, **kwds: Any) -> Any:
        refuse_gradients(k=k)
        shapes, loc, bad = prepared(dist, law, args, kwds)
        k = np.asarray(k, float) - loc
        high = np.inf if law.high is None else law.high(*shapes)
        off = np.less(k, law.low) | np.greater(k, high) | np.not_equal(k, np.floor(k))
        out = getattr(law, name)(np.where(off, law.low, k), *shapes)
        return instead(bad, np.nan, np.where(np.isnan(k), np.nan, np.where(off, outside, out)))

    return method


def _probability(name: str, below: float, above: float) -> Formula:
    def method(dist: Any, law: Counts, k: Any, *args: Any, **kwds: Any) -> Any:
        refuse_gradients(k=k)
        shapes, loc, bad = prepared(dist, law, args, kwds)
        k = np.floor(np.asarray(k, float) - loc)
        high = np.inf if law.high is None else law.high(*shapes)
        under, over = np.less(k, law.low), np.greater_equal(k, high)
        inner = np.where(under | over, law.low, k)
        last = name.removeprefix("log")
        formula = getattr(law, name, None)
        out = log_of(law, last, inner, shapes) if formula is None else formula(inner, *shapes)
        out = np.where(under, below, np.where(over, above, out))
        return instead(bad, np.nan, np.where(np.isnan(k), np.nan, out))

    return method


def mean(dist: Any, law: Counts, *args: Any, **kwds: Any) -> Any:
    shapes, loc, bad = prepared(dist, law, args, kwds)
    return instead(bad, np.nan, law.mean(*shapes) + loc)


def var(dist: Any, law: Counts, *args: Any, **kwds: Any) -> Any:
    shapes, _, bad = prepared(dist, law, args, kwds)
    return instead(bad, np.nan, law.var(*shapes))


def std(dist: Any, law: Counts, *args: Any, **kwds: Any) -> Any:
    return np.sqrt(var(dist, law, *args, **kwds))


DISCRETE: dict[str, Formula] = {
    "logpmf": _mass("logpmf", -np.inf),
    "pmf": _mass("pmf", 0.0),
    "cdf": _probability("cdf", 0.0, 1.0),
    "sf": _probability("sf", 1.0, 0.0),
    "logcdf": _probability("logcdf", -np.inf, 0.0),
    "logsf": _probability("logsf", 0.0, -np.inf),
    "mean": mean,
    "var": var,
    "std": std,
}

# ---- the laws -----------------------------------------------------------------------------------

poisson = Counts(
    logpmf=lambda k, mu: xlogy(k, mu) - gammaln(k + 1) - mu,
    pmf=lambda k, mu: OPS["gamma_density"](k + 1, mu),
    cdf=lambda k, mu: gammaincc(k + 1, mu),
    sf=lambda k, mu: gammainc(k + 1, mu),
    mean=lambda mu: mu,
    var=lambda mu: mu,
    valid=(not_negative,),
)


def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    return -np.log(n + 1) - betaln(n - k + 1, k + 1) + xlogy(k, p) + xlog1py(n - k, -p)


def _binom_inside(k: Any, n: Any) -> Any:
    """n − k, which is 1 where k = n is replaced by a count below."""
    return np.maximum(n - k, 1.0)


binom = Counts(
    logpmf=_binom_logpmf,
    pmf=lambda k, n, p: OPS["beta_density"](k + 1, n - k + 1, p) / (n + 1),
    cdf=lambda k, n, p: OPS["betaincc"](k + 1, _binom_inside(k, n), p),
    sf=lambda k, n, p: OPS["betainc"](k + 1, _binom_inside(k, n), p),
    mean=lambda n, p: n * p,
    var=lambda n, p: n * p * (1 - p),
    valid=(not_negative, probability),
    high=lambda n, p: n,
    whole=(0,),
)
nbinom = Counts(
    logpmf=lambda k, n, p: -np.log(n + k) - betaln(n, k + 1) + n * np.log(p) + xlog1py(k, -p),
    pmf=lambda k, n, p: OPS["beta_density"](n, k + 1, p) * p / (n + k),
    cdf=lambda k, n, p: OPS["betainc"](n, k + 1, p),
    sf=lambda k, n, p: OPS["betaincc"](n, k + 1, p),
    mean=lambda n, p: n * (1 - p) / p,
    var=lambda n, p: n * (1 - p) / p**2,
    valid=(positive, lambda p: np.logical_and(np.greater(p, 0), np.less_equal(p, 1))),
)
bernoulli = Counts(
    logpmf=lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
    pmf=lambda k, p: np.where(np.equal(k, 0), 1 - p, p),
    cdf=lambda k, p: 1 - p + 0 * k,
    sf=lambda k, p: p + 0 * k,
    mean=lambda p: p,
    var=lambda p: p * (1 - p),
    valid=(probability,),
    high=lambda p: 1,
)
geom = Counts(
    logpmf=lambda k, p: xlog1py(k - 1, -p) + np.log(p),
    pmf=lambda k, p: np.power(1 - p, k - 1) * p,
    cdf=lambda k, p: -np.expm1(k * np.log1p(-p)),
    sf=lambda k, p: np.exp(k * np.log1p(-p)),
    mean=lambda p: 1 / p,
    var=lambda p: (1 - p) / p**2,
    valid=(lambda p: np.logical_and(np.greater(p, 0), np.less_equal(p, 1)),),
    low=1,
)
LAWS = {
    "bernoulli": bernoulli,
    "binom": binom,
    "geom": geom,
    "nbinom": nbinom,
    "poisson": poisson,
}
