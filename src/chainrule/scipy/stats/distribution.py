"""SciPy's univariate distributions on Variables: a law's formulas, its masks and its frozen form.

A distribution here is SciPy's own object of a subclass: what holds no Variable is computed by
SciPy's method, the methods of the law by ours, and any other method refuses Variables.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import scipy.stats

from chainrule.ops.joining import as_array
from chainrule.scipy.dispatch import Function, guarded, meets_variable, named, run_ours

Formula = Callable[..., Any]


@dataclass(frozen=True)
class Law:
    """A continuous law with location 0 and scale 1, as functions of y and its shape parameters.

    `low` and `high` bound the support, `inside` is a point of it; outside of it nothing is
    evaluated.  `excluded` tells that the density is that of outside at `low` itself.
    """

    logpdf: Formula
    cdf: Formula
    sf: Formula
    ppf: Formula
    isf: Formula
    pdf: Formula | None = None
    logcdf: Formula | None = None
    logsf: Formula | None = None
    entropy: Any = None  # a Formula, too: where it is None, `NEEDS` has SciPy's own called
    mean: Any = None
    var: Any = None
    low: float = -np.inf
    high: float = np.inf
    inside: float = 0.0
    excluded: bool = False
    valid: Formula = np.greater  # of a shape parameter and 0


@dataclass(frozen=True)
class Parameters:
    """Shapes, location and scale of a call; `bad` are the lanes where one of them is not valid."""

    shapes: tuple[Any, ...]
    loc: Any
    scale: Any
    bad: Any  # None where no lane is

    def standardised(self, x: Any) -> Any:
        y = as_array(x)
        y = y if is_plainly(self.loc, 0) else y - self.loc
        return y if is_plainly(self.scale, 1) else y / self.scale

    def placed(self, y: Any) -> Any:
        y = y if is_plainly(self.scale, 1) else y * self.scale
        return y if is_plainly(self.loc, 0) else y + self.loc

    def log_scaled(self, out: Any) -> Any:
        return out if is_plainly(self.scale, 1) else out - np.log(self.scale)


def is_plainly(value: Any, number: int) -> bool:
    return type(value) in (int, float) and value == number


def either(*masks: Any) -> Any:
    """Where one of the masks is true; None stands for nowhere."""
    found = None
    for mask in masks:
        if mask is not None:
            found = mask if found is None else np.logical_or(found, mask)
    return found


def instead(mask: Any, value: Any, out: Any) -> Any:
    return out if mask is None else np.where(mask, value, out)


def parameters(dist: Any, law: Law, args: Sequence[Any], kwds: dict[str, Any]) -> Parameters:
    shapes, loc, scale = dist._parse_args(*args, **kwds)
    masks, safe = [], []
    checked: list[tuple[Any, Any]] = [*((law.valid, s) for s in shapes), (np.greater, scale)]
    for check, value in checked:
        if is_plainly(value, 1):
            safe.append(value)
            continue
        value = as_array(value)
        wrong = np.logical_not(check(value, 0))
        if not meets_variable(wrong) and not np.any(wrong):
            wrong = None
        masks.append(wrong)
        safe.append(instead(wrong, 1.0, value))
    loc = loc if is_plainly(loc, 0) else as_array(loc)
    return Parameters(tuple(safe[:-1]), loc, safe[-1], either(*masks))


# ---- the methods --------------------------------------------------------------------------------


def log_density(dist: Any, law: Law, x: Any, *args: Any, **kwds: Any) -> Any:
    p = parameters(dist, law, args, kwds)
    return _density(law, p, x, lambda y: p.log_scaled(law.logpdf(y, *p.shapes)), -np.inf)


def density(dist: Any, law: Law, x: Any, *args: Any, **kwds: Any) -> Any:
    p = parameters(dist, law, args, kwds)

    def inside(y: Any) -> Any:
        if law.pdf is None:
            return np.exp(p.log_scaled(law.logpdf(y, *p.shapes)))
        out = law.pdf(y, *p.shapes)
        return out if is_plainly(p.scale, 1) else out / p.scale

    return _density(law, p, x, inside, 0.0)


def _density(law: Law, p: Parameters, x: Any, inside: Formula, otherwise: float) -> Any:
    y = p.standardised(x)
    under = np.less_equal if law.excluded else np.less
    outside = either(
        None if law.low == -np.inf else under(y, law.low),
        None if law.high == np.inf else np.greater(y, law.high),
    )
    out = instead(outside, otherwise, inside(instead(outside, law.inside, y)))
    return instead(p.bad, np.nan, out + 0.0 * y if np.shape(out) != np.shape(y) else out)


def _probability(name: str, below: float, above: float) -> Formula:
    """cdf, sf or the logarithm of one: `below` and `above` the support it is a constant."""
    plain_name = name.removeprefix("log")

    def method(dist: Any, law: Law, x: Any, *args: Any, **kwds: Any) -> Any:
        p = parameters(dist, law, args, kwds)
        y = p.standardised(x)
        under, over = np.less_equal(y, law.low), np.greater_equal(y, law.high)
        inner = np.where(np.logical_or(under, over), law.inside, y)
        formula = getattr(law, name)
        out = log_of(law, plain_name, inner, p.shapes) if formula is None else None
        out = formula(inner, *p.shapes) if out is None else out
        return instead(p.bad, np.nan, np.where(under, below, np.where(over, above, out)))

    return method


def log_of(law: Any, name: str, y: Any, shapes: tuple[Any, ...]) -> Any:
    """The logarithm of cdf or sf; of one near 1 by what is left of 1, which is the other."""
    other = {"cdf": "sf", "sf": "cdf"}[name]
    out, rest = getattr(law, name)(y, *shapes), getattr(law, other)(y, *shapes)
    small = np.less(out, 0.5)
    return np.where(small, np.log(np.where(small, out, 0.5)), np.log1p(-np.where(small, 0.5, rest)))


def _quantile(name: str, reverse: bool) -> Formula:
    def method(dist: Any, law: Law, q: Any, *args: Any, **kwds: Any) -> Any:
        p, q = parameters(dist, law, args, kwds), as_array(q)
        inside = np.logical_and(np.greater(q, 0), np.less(q, 1))
        out = getattr(law, name)(np.where(inside, q, 0.5), *p.shapes)
        first, last = (law.high, law.low) if reverse else (law.low, law.high)
        ends = np.where(np.equal(q, 0), first, np.where(np.equal(q, 1), last, np.nan))
        return instead(p.bad, np.nan, p.placed(np.where(inside, out, ends)))

    return method


def entropy(dist: Any, law: Law, *args: Any, **kwds: Any) -> Any:
    p = parameters(dist, law, args, kwds)
    out = law.entropy(*p.shapes)
    return instead(p.bad, np.nan, out if is_plainly(p.scale, 1) else out + np.log(p.scale))


def mean(dist: Any, law: Law, *args: Any, **kwds: Any) -> Any:
    p = parameters(dist, law, args, kwds)
    return instead(p.bad, np.nan, p.placed(law.mean(*p.shapes)))


def var(dist: Any, law: Law, *args: Any, **kwds: Any) -> Any:
    p = parameters(dist, law, args, kwds)
    return instead(p.bad, np.nan, law.var(*p.shapes) * p.scale**2)


def std(dist: Any, law: Law, *args: Any, **kwds: Any) -> Any:
    return np.sqrt(var(dist, law, *args, **kwds))


def median(dist: Any, law: Law, *args: Any, **kwds: Any) -> Any:
    return CONTINUOUS["ppf"](dist, law, 0.5, *args, **kwds)


def interval(dist: Any, law: Law, confidence: Any, *args: Any, **kwds: Any) -> Any:
    ppf = CONTINUOUS["ppf"]
    tail = 0.5 * (1.0 - confidence)
    return ppf(dist, law, tail, *args, **kwds), ppf(dist, law, 1.0 - tail, *args, **kwds)


CONTINUOUS: dict[str, Formula] = {
    "logpdf": log_density,
    "pdf": density,
    "cdf": _probability("cdf", 0.0, 1.0),
    "sf": _probability("sf", 1.0, 0.0),
    "logcdf": _probability("logcdf", -np.inf, 0.0),
    "logsf": _probability("logsf", 0.0, -np.inf),
    "ppf": _quantile("ppf", reverse=False),
    "isf": _quantile("isf", reverse=True),
    "entropy": entropy,
    "mean": mean,
    "var": var,
    "std": std,
    "median": median,
    "interval": interval,
}
NEEDS = {"entropy": "entropy", "mean": "mean", "var": "var", "std": "var"}  # fields of a law


def guarded_distribution(name: str, theirs: Any) -> Any:
    """A univariate distribution of SciPy's of which no law is known: it refuses Variables."""
    univariate = isinstance(theirs, (scipy.stats.rv_continuous, scipy.stats.rv_discrete))
    return distribution(name, None, {}) if univariate else None


# ---- the object ---------------------------------------------------------------------------------


def distribution(name: str, law: Any, methods: dict[str, Formula]) -> Any:
    """SciPy's distribution of that name, whose methods ask the law where they meet Variables."""
    theirs = getattr(scipy.stats, name)
    base = type(theirs)
    known = [m for m in methods if m not in NEEDS or getattr(law, NEEDS[m]) is not None]
    body: dict[str, Any] = {
        m: _method(getattr(base, m), law, methods[m], f"scipy.stats.{name}.{m}") for m in known
    }
    for m in dir(base):
        function = getattr(base, m)
        if not m.startswith("_") and m not in body and callable(function):
            body[m] = guarded(function, f"scipy.stats.{name}.{m}", known)
    freeze = lambda self, *args, **kwds: frozen(type(self)._frozen, self, args, kwds)  # noqa: E731
    body["freeze"] = freeze if known else guarded(freeze, f"scipy.stats.{name}", ())
    body["__call__"] = body["freeze"]
    body["__reduce__"] = lambda self: (named, ("scipy.stats", name))
    body["_frozen"] = FROZEN[isinstance(theirs, scipy.stats.rv_continuous)]
    made = copy.copy(theirs)
    made.__class__ = type(base.__name__, (base,), body)
    return made


def _method(theirs: Function, law: Any, ours: Formula, name: str) -> Function:
    @wraps(theirs)
    def call(self: Any, *args: Any, **kwds: Any) -> Any:
        if not meets_variable(args, kwds):
            return theirs(self, *args, **kwds)
        return run_ours(ours, name, (self, law, *args), kwds)

    return call


def frozen(cls: Any, dist: Any, args: Any, kwds: Any) -> Any:
    """`norm(loc, scale)`: SciPy's frozen distribution, whose methods ask those of `dist`."""
    if not meets_variable(args, kwds):
        return cls(dist, *args, **kwds)
    made = cls.__new__(cls)
    made.args, made.kwds, made.dist = args, kwds, dist
    return made


FROZEN = {True: type(scipy.stats.norm()), False: type(scipy.stats.poisson(1.0))}
