"""Distances of all pairs of rows: cdist, pdist, and the two ways of writing their results."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.errors import ShapeError, UnsupportedError
from chainrule.ops.joining import as_array
from chainrule.scipy.spatial.distance.metrics import METRICS, jensenshannon

ALIASES = {
    **dict.fromkeys(("cblock", "cb", "c", "city block", "manhattan", "taxicab"), "cityblock"),
    **dict.fromkeys(("cheby", "cheb", "ch", "chebychev"), "chebyshev"),
    **dict.fromkeys(("cos",), "cosine"),
    **dict.fromkeys(("co",), "correlation"),
    **dict.fromkeys(("euclid", "eu", "e"), "euclidean"),
    **dict.fromkeys(("mahal", "mi"), "mahalanobis"),
    **dict.fromkeys(("minkowski", "mink", "m", "pnorm"), "minkowski"),
    **dict.fromkeys(("se", "s"), "seuclidean"),
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
    **dict.fromkeys(("hamm", "ha", "h"), "hamming"),
    **dict.fromkeys(("js",), "jensenshannon"),
}


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **kwargs: Any) -> Any:
    XA, XB = _rows(XA), _rows(XB)
    if XA.shape[1] != XB.shape[1]:
        raise ShapeError(f"rows of {XA.shape[1]} and of {XB.shape[1]} entries have no distance")
    if callable(metric):
        rows = [np.stack([metric(u, v, **kwargs) for v in XB]) for u in XA]
        return np.stack(rows)
    name, settings = _metric(metric, kwargs, (XA, XB))
    return _along(name, XA[:, None, :], XB[None, :, :], settings)


def pdist(X: Any, metric: Any = "euclidean", **kwargs: Any) -> Any:
    X = _rows(X)
    first, second = np.triu_indices(X.shape[0], 1)
    if callable(metric):
        return np.stack([metric(X[i], X[j], **kwargs) for i, j in zip(first, second, strict=True)])
    name, settings = _metric(metric, kwargs, (X,))
    return _along(name, X[first], X[second], settings)


def _rows(X: Any) -> Any:
    X = as_array(X)
    if X.ndim != 2:
        raise ShapeError(f"the points are the rows of a matrix, not of an array {X.shape}")
    return X


def _along(name: str, u: Any, v: Any, settings: dict[str, Any]) -> Any:
    if name == "jensenshannon":
        shape = np.broadcast_shapes(u.shape, v.shape)
        return jensenshannon(u + np.zeros(shape), v + np.zeros(shape), axis=-1, **settings)
    return METRICS[name](u, v, **settings)


def _metric(metric: str, kwargs: dict[str, Any], data: tuple[Any, ...]) -> tuple[str, Any]:
    """The metric's own name, and its settings, taken from the data where SciPy does so."""
    name = ALIASES.get(metric.lower(), metric.lower())
    if name not in METRICS and name != "jensenshannon":
        known = ", ".join(sorted([*METRICS, "jensenshannon"]))
        raise UnsupportedError(f"the metric {metric!r} is not differentiated; these are: {known}")
    settings = {k: v for k, v in kwargs.items() if v is not None}
    if name == "seuclidean" and "V" not in settings:
        settings["V"] = np.var(np.concatenate(data), axis=0, ddof=1)
    if name == "mahalanobis" and "VI" not in settings:
        settings["VI"] = np.linalg.inv(np.cov(np.concatenate(data).T)).T
    return name, settings


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """The matrix of distances of a vector of them, or the other way round."""
    X = as_array(X)
    if force.lower() in ("tomatrix", "tovector") and (X.ndim == 1) == (force.lower() != "tomatrix"):
        raise ShapeError(f"squareform: force={force!r} does not suit an array of shape {X.shape}")
    if X.ndim == 1:
        return _matrix(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ShapeError(f"squareform takes a vector or a square matrix, not {X.shape}")
    if checks and not (np.allclose(X, X.T) and np.all(np.equal(np.diagonal(X), 0))):
        raise ShapeError("squareform: the matrix must be symmetric with zeros on its diagonal")
    return X[np.triu_indices(X.shape[0], 1)]


def _matrix(X: Any) -> Any:
    size = int(np.ceil(np.sqrt(X.shape[0] * 2)))
    if size * (size - 1) != X.shape[0] * 2:
        raise ShapeError(f"{X.shape[0]} is not the number of pairs of any number of points")
    size = max(size, 1)
    places = np.full((size, size), X.shape[0])
    upper = np.triu_indices(size, 1)
    places[upper] = np.arange(X.shape[0])
    places.T[upper] = np.arange(X.shape[0])
    return np.concatenate([X, np.zeros(1)])[places]


PAIRS: dict[str, Any] = {"cdist": cdist, "pdist": pdist, "squareform": squareform}
