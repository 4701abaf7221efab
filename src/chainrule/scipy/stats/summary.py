"""Statistics of data: means, moments, standard scores and entropies of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import OPS, refuse_gradients
from chainrule.errors import ArgumentError
from chainrule.ops.joining import as_array


def _values(a: Any, axis: Any) -> tuple[Any, Any]:
    """The data and the axis; axis None takes all of it as one sample."""
    a = as_array(a)
    return (np.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def _kept(out: Any, keepdims: bool, axis: Any) -> Any:
    return out if keepdims else np.squeeze(out, axis=axis)


def _average(a: Any, weights: Any, axis: Any) -> Any:
    """The weighted mean, the axis kept."""
    if weights is None:
        return np.mean(a, axis=axis, keepdims=True)
    weights = as_array(weights) * np.ones(a.shape)
    total = np.sum(weights, axis=axis, keepdims=True)
    return np.sum(a * weights, axis=axis, keepdims=True) / total


def zscore(a: Any, axis: Any = 0, ddof: int = 0) -> Any:
    a = as_array(a)
    return (a - np.mean(a, axis=axis, keepdims=True)) / np.std(
        a, axis=axis, ddof=ddof, keepdims=True
    )


def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: int = 0) -> Any:
    scores, compare = as_array(scores), as_array(compare)
    middle = np.mean(compare, axis=axis, keepdims=True)
    return (scores - middle) / np.std(compare, axis=axis, ddof=ddof, keepdims=True)


def gmean(a: Any, axis: Any = 0, *, weights: Any = None, keepdims: bool = False) -> Any:
    a, axis = _values(a, axis)
    return _kept(np.exp(_average(np.log(a), weights, axis)), keepdims, axis)


def hmean(a: Any, axis: Any = 0, *, weights: Any = None, keepdims: bool = False) -> Any:
    a, axis = _values(a, axis)
    return _kept(1 / _average(1 / a, weights, axis), keepdims, axis)


def pmean(a: Any, p: Any, *, axis: Any = 0, weights: Any = None, keepdims: bool = False) -> Any:
    refuse_gradients(p=p)
    if p == 0:
        return gmean(a, axis, weights=weights, keepdims=keepdims)
    a, axis = _values(a, axis)
    return _kept(_average(a ** float(p), weights, axis) ** (1 / p), keepdims, axis)


def gstd(a: Any, axis: Any = 0, ddof: int = 1, *, keepdims: bool = False) -> Any:
    a, axis = _values(a, axis)
    return np.exp(np.std(np.log(a), axis=axis, ddof=ddof, keepdims=keepdims))


def sem(a: Any, axis: Any = 0, ddof: int = 1, *, keepdims: bool = False) -> Any:
    a, axis = _values(a, axis)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.sqrt(a.shape[axis])


def variation(a: Any, axis: Any = 0, ddof: int = 0, *, keepdims: bool = False) -> Any:
    a, axis = _values(a, axis)
    middle = np.mean(a, axis=axis, keepdims=keepdims)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / middle


def _central(a: Any, order: int, axis: Any, center: Any = None) -> Any:
    """The mean of (a − centre)^order, the axis kept."""
    center = np.mean(a, axis=axis, keepdims=True) if center is None else center
    return np.mean((a - center) ** order, axis=axis, keepdims=True)


def moment(
    a: Any, order: Any = 1, axis: Any = 0, *, center: Any = None, keepdims: bool = False
) -> Any:
    if not isinstance(order, (int, np.integer)):
        raise ArgumentError(f"moment of a Variable: order must be one whole number, not {order!r}")
    a, axis = _values(a, axis)
    return _kept(_central(a, int(order), axis, center), keepdims, axis)


def skew(a: Any, axis: Any = 0, bias: bool = True, *, keepdims: bool = False) -> Any:
    a, axis = _values(a, axis)
    n = a.shape[axis]
    out = _central(a, 3, axis) / _central(a, 2, axis) ** 1.5
    if not bias and n > 2:
        out = np.sqrt((n - 1.0) * n) / (n - 2.0) * out
    return _kept(out, keepdims, axis)


def kurtosis(
    a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True, *, keepdims: bool = False
) -> Any:
    a, axis = _values(a, axis)
    n = a.shape[axis]
    out = _central(a, 4, axis) / _central(a, 2, axis) ** 2
    if not bias and n > 3:
        out = ((n**2 - 1.0) * out - 3 * (n - 1) ** 2) / ((n - 2) * (n - 3)) + 3.0
    return _kept(out - 3 if fisher else out, keepdims, axis)


def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, keepdims: bool = False
) -> Any:
    """Σ entr(p), or Σ rel_entr(p, q), of p and q each divided by its sum."""
    refuse_gradients(base=base)
    if base is not None and base <= 0:
        raise ArgumentError("entropy: base must be positive or None")
    pk, at = _values(pk, axis)
    pk = pk / np.sum(pk, axis=at, keepdims=True)
    if qk is None:
        terms = OPS["entr"](pk)
    else:
        qk, _ = _values(qk, axis)
        terms = OPS["rel_entr"](pk, qk / np.sum(qk, axis=at, keepdims=True))
    out = np.sum(terms, axis=at, keepdims=keepdims)
    return out if base is None else out / np.log(base)


OURS: dict[str, Any] = {
    "entropy": entropy,
    "gmean": gmean,
    "gstd": gstd,
    "hmean": hmean,
    "kurtosis": kurtosis,
    "moment": moment,
    "pmean": pmean,
    "sem": sem,
    "skew": skew,
    "variation": variation,
    "zmap": zmap,
    "zscore": zscore,
}
