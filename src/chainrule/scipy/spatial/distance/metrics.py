"""Distances of two vectors, and of many: each works along the last axis, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from chainrule.core.op import OPS, refuse_gradients
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.joining import as_array

Metric = Callable[..., Any]


def root(squares: Any) -> Any:
    """√, with a structural zero where the distance is 0: a kink, by the law of the least norm."""
    zero = np.equal(squares, 0)
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, squares)))


def _length(d: Any) -> Any:
    return np.linalg.norm(d, axis=-1)


def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _length(u - v) if w is None else root(sqeuclidean(u, v, w))


def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    d = u - v
    return np.sum(d * d if w is None else w * d * d, axis=-1)


def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    d = np.abs(u - v)
    return np.sum(d if w is None else w * d, axis=-1)


def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    d = np.abs(u - v)  # a weight only tells whether an entry counts
    return np.max(d if w is None else np.where(np.greater(w, 0), d, 0.0), axis=-1)


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    refuse_gradients(p=p)
    if p <= 0:
        raise ArgumentError("minkowski: p must be greater than 0")
    d = u - v
    if w is not None:
        d = d * (np.sqrt(w) if p == 2 else w if p == np.inf else w ** (1 / p))
    return np.linalg.norm(d, ord=p, axis=-1)


def seuclidean(u: Any, v: Any, V: Any) -> Any:
    return _length((u - v) / np.sqrt(V))


def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    d = u - v
    return root(np.sum((d @ VI) * d, axis=-1))


def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """1 − the correlation, 1 − the cosine where not centred; weights are divided by their sum."""
    weight = 1.0 / u.shape[-1] if w is None else w / np.sum(w)
    if centered:
        u = u - np.sum(u * weight, axis=-1, keepdims=True)
        v = v - np.sum(v * weight, axis=-1, keepdims=True)
    product, first, second = (np.sum(a * b * weight, axis=-1) for a, b in ((u, v), (u, u), (v, v)))
    return 1.0 - product / np.sqrt(first * second)


def cosine(u: Any, v: Any, w: Any = None) -> Any:
    return correlation(u, v, w, centered=False)


def canberra(u: Any, v: Any, w: Any = None) -> Any:
    d, size = np.abs(u - v), np.abs(u) + np.abs(v)
    none = np.equal(size, 0)
    share = np.where(none, 0.0, d / np.where(none, 1.0, size))
    return np.sum(share if w is None else w * share, axis=-1)


def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    weight = 1.0 if w is None else w
    return np.sum(weight * np.abs(u - v), axis=-1) / np.sum(weight * np.abs(u + v), axis=-1)


def hamming(u: Any, v: Any, w: Any = None) -> Any:
    """The share of entries that differ, whose derivative is 0."""
    differ = np.not_equal(u, v).astype(float)
    return np.mean(differ, axis=-1) if w is None else np.sum(differ * w, axis=-1) / np.sum(w)


def jensenshannon(
    p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False
) -> Any:
    refuse_gradients(base=base)
    p, q = as_array(p), as_array(q)
    p = p / np.sum(p, axis=axis, keepdims=True)
    q = q / np.sum(q, axis=axis, keepdims=True)
    m = (p + q) / 2.0
    terms = OPS["rel_entr"](p, m) + OPS["rel_entr"](q, m)
    out = np.sum(terms, axis=axis, keepdims=keepdims)
    return root((out if base is None else out / np.log(base)) / 2.0)


METRICS: dict[str, Metric] = {
    "braycurtis": braycurtis,
    "canberra": canberra,
    "chebyshev": chebyshev,
    "cityblock": cityblock,
    "correlation": correlation,
    "cosine": cosine,
    "euclidean": euclidean,
    "hamming": hamming,
    "mahalanobis": mahalanobis,
    "minkowski": minkowski,
    "seuclidean": seuclidean,
    "sqeuclidean": sqeuclidean,
}


def _of_vectors(metric: Metric) -> Metric:
    """The metric of two vectors, which is what SciPy's function of that name takes."""

    @wraps(metric)
    def call(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        u, v = as_array(u), as_array(v)
        if u.ndim != 1 or v.ndim != 1:
            raise ShapeError(f"{metric.__name__} takes two vectors, not {u.shape} and {v.shape}")
        args = tuple(as_array(a) if isinstance(a, (list, tuple)) else a for a in args)
        return metric(u, v, *args, **kwargs)

    return call


OURS: dict[str, Metric] = {
    **{name: _of_vectors(metric) for name, metric in METRICS.items()},
    "jensenshannon": jensenshannon,
}
