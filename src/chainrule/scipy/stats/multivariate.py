"""The multivariate laws: normal, Dirichlet and Wishart, each by a Cholesky factor or in logs."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np
import scipy.stats

from chainrule.core.op import OPS
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.joining import as_array
from chainrule.scipy.dispatch import Function, guarded, meets_variable, named, paired, run_ours
from chainrule.scipy.stats.continuous import digamma, gammaln, xlogy


def _log_det(lower: Any) -> Any:
    """log det A of its Cholesky factor."""
    return 2 * np.sum(np.log(np.diagonal(lower, axis1=-2, axis2=-1)), axis=-1)


def _squeezed(out: Any) -> Any:
    """As SciPy returns: without axes of length 1."""
    return np.squeeze(out)


# ---- normal -------------------------------------------------------------------------------------


def _normal_parameters(mean: Any, cov: Any, allow_singular: bool) -> tuple[Any, Any]:
    """The mean as a vector and the lower factor of the covariance matrix."""
    if allow_singular:
        raise ArgumentError(
            "multivariate_normal of Variables takes no allow_singular: a singular covariance has "
            "no derivative; add a small multiple of the identity to it"
        )
    cov = as_array(cov)
    mean = None if mean is None else np.reshape(as_array(mean), (-1,))
    size = cov.shape[0] if cov.ndim == 2 else 1
    mean = np.zeros(size) if mean is None else mean
    if cov.ndim == 0:
        cov = cov * np.eye(mean.shape[0])
    elif cov.ndim == 1:
        cov = np.diag(cov)
    if cov.shape != (mean.shape[0],) * 2:
        raise ShapeError(f"a covariance of shape {cov.shape} for a mean of {mean.shape[0]} entries")
    return mean, np.linalg.cholesky(cov)


def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    mean, lower = _normal_parameters(mean, cov, allow_singular)
    size = mean.shape[0]
    x = as_array(x)
    if x.ndim < 2:
        x = np.reshape(x, (-1, 1) if size == 1 else (1, -1))
    if x.shape[-1] != size:
        raise ShapeError(f"points of shape {x.shape} for a law in {size} dimensions")
    rows = np.reshape(x - mean, (-1, size))
    whitened = OPS["solve_triangular"](lower, np.transpose(rows), lower=True)
    squares = np.reshape(np.sum(whitened * whitened, axis=0), x.shape[:-1])
    return _squeezed(-0.5 * (size * log(2 * pi) + _log_det(lower) + squares))


def normal_pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    return np.exp(normal_logpdf(x, mean, cov, allow_singular))


def normal_entropy(mean: Any = None, cov: Any = 1) -> Any:
    mean, lower = _normal_parameters(mean, cov, False)
    return 0.5 * (mean.shape[0] * (log(2 * pi) + 1) + _log_det(lower))


# ---- Dirichlet ----------------------------------------------------------------------------------


def _shares(x: Any, alpha: Any) -> tuple[Any, Any]:
    """The point as K shares along its first axis, of which the last may have been left out."""
    x, alpha = as_array(x), as_array(alpha)
    if x.shape[0] == alpha.shape[0] - 1:
        x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
    if x.shape[0] != alpha.shape[0]:
        raise ShapeError(f"a point of {x.shape[0]} shares for {alpha.shape[0]} parameters")
    if np.any(np.abs(np.sum(x, axis=0) - 1.0) > 1e-9) or np.any(np.less(x, 0)):
        raise ArgumentError("dirichlet: the shares must not be negative and must sum to 1")
    if np.any(np.less_equal(alpha, 0)):
        raise ArgumentError("dirichlet: all parameters must be greater than 0")
    return x, alpha


def _log_beta(alpha: Any) -> Any:
    return np.sum(gammaln(alpha)) - gammaln(np.sum(alpha))


def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    x, alpha = _shares(x, alpha)
    weights = np.reshape(alpha - 1, (-1,) + (1,) * (x.ndim - 1))
    return _squeezed(np.sum(xlogy(weights, x), axis=0) - _log_beta(alpha))


def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    return np.exp(dirichlet_logpdf(x, alpha))


def dirichlet_mean(alpha: Any) -> Any:
    alpha = as_array(alpha)
    return alpha / np.sum(alpha)


def dirichlet_var(alpha: Any) -> Any:
    alpha = as_array(alpha)
    total = np.sum(alpha)
    return alpha * (total - alpha) / (total * total * (total + 1))


def dirichlet_entropy(alpha: Any) -> Any:
    alpha = as_array(alpha)
    total, size = np.sum(alpha), alpha.shape[0]
    rest = np.sum((alpha - 1) * digamma(alpha))
    return _log_beta(alpha) + (total - size) * digamma(total) - rest


# ---- Wishart ------------------------------------------------------------------------------------


def wishart_logpdf(x: Any, df: Any, scale: Any) -> Any:
    """x is a matrix, or matrices along its last axis."""
    x, scale = as_array(x), as_array(scale)
    scale = np.reshape(scale, (1, 1)) if scale.ndim == 0 else scale
    scale = np.diag(scale) if scale.ndim == 1 else scale
    size = scale.shape[0]
    x = np.reshape(x, (1, 1, -1)) if size == 1 and x.ndim < 2 else x
    if x.shape[:2] != (size, size):
        raise ShapeError(f"wishart: x of shape {x.shape} for a scale of shape {scale.shape}")
    matrices = np.moveaxis(x, -1, 0) if x.ndim == 3 else x
    lower, scale_lower = np.linalg.cholesky(matrices), np.linalg.cholesky(scale)
    traces = np.trace(np.linalg.solve(scale, matrices), axis1=-2, axis2=-1)
    constant = 0.5 * df * (size * log(2) + _log_det(scale_lower))
    constant = constant + OPS["multigammaln"](as_array(0.5 * df), size)
    return _squeezed(0.5 * (df - size - 1) * _log_det(lower) - 0.5 * traces - constant)


def wishart_pdf(x: Any, df: Any, scale: Any) -> Any:
    return np.exp(wishart_logpdf(x, df, scale))


# ---- the objects --------------------------------------------------------------------------------

METHODS: dict[str, dict[str, Function]] = {
    "multivariate_normal": {
        "logpdf": normal_logpdf,
        "pdf": normal_pdf,
        "entropy": normal_entropy,
    },
    "dirichlet": {
        "logpdf": dirichlet_logpdf,
        "pdf": dirichlet_pdf,
        "mean": dirichlet_mean,
        "var": dirichlet_var,
        "entropy": dirichlet_entropy,
    },
    "wishart": {"logpdf": wishart_logpdf, "pdf": wishart_pdf},
}
EXAMPLES = {"multivariate_normal": (), "dirichlet": ([1.0, 1.0],), "wishart": (1, 1)}


def multivariate(name: str) -> Any:
    """SciPy's distribution of that name, whose methods are ours where they meet Variables."""
    theirs, ours = getattr(scipy.stats, name), METHODS[name]
    base: Any = type(theirs)
    body: dict[str, Any] = {}
    for m in dir(base):
        function = getattr(base, m)
        if not m.startswith("_") and callable(function):
            body[m] = staticmethod(_bound(theirs, m, ours, f"scipy.stats.{name}.{m}"))
    frozen = _frozen(type(theirs(*EXAMPLES[name])), name, ours)
    body["__call__"] = lambda self, *args, **kwds: frozen(*args, **kwds)
    body["__reduce__"] = lambda self: (named, ("scipy.stats", name))
    made = base.__new__(base)
    made.__dict__.update(theirs.__dict__)
    made.__class__ = type(base.__name__, (base,), body)
    return made


def _bound(theirs: Any, m: str, ours: dict[str, Function], name: str) -> Function:
    method = getattr(theirs, m)
    return paired(method, ours[m], name) if m in ours else guarded(method, name, ours)


def _frozen(base: Any, name: str, ours: dict[str, Function]) -> Any:
    """The frozen form: SciPy's, and made of Variables only what the methods of ours take."""

    def start(self: Any, *args: Any, **kwds: Any) -> None:
        self._given = args, {k: v for k, v in kwds.items() if k != "seed"}
        if not meets_variable(args, kwds):
            base.__init__(self, *args, **kwds)

    def method(m: str) -> Function:
        full = f"scipy.stats.{name}.{m}"

        def call(self: Any, *args: Any, **kwds: Any) -> Any:
            given, named = self._given[0], {**self._given[1], **kwds}
            if not meets_variable(args, given, named):  # SciPy has its own copy of what was given
                return getattr(base, m)(self, *args, **kwds)
            if m not in ours:
                return guarded(getattr(base, m), full, ours)(*args, *given, **named)
            return run_ours(ours[m], full, (*args, *given), named)

        return call

    public = [m for m in dir(base) if not m.startswith("_") and callable(getattr(base, m))]
    return type(base.__name__, (base,), {"__init__": start, **{m: method(m) for m in public}})


DISTRIBUTIONS = {name: multivariate(name) for name in METHODS}
