"""Covariances and correlations of variables that were observed together."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Sample, sample
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw
from chainrule.ops.statistics import mean


def _rows(x: Any, rowvar: bool, dtype: Any) -> Any:
    """The variables as rows, in float64 at least or in the dtype asked for."""
    x = as_array(x)
    if len(x.shape) > 2:
        raise ShapeError(f"covariance takes a matrix, one variable per row, not shape {x.shape}")
    x = x.astype(np.result_type(x.dtype, np.float64) if dtype is None else dtype)
    if len(x.shape) < 2:
        return np.reshape(x, (1, -1))
    return x if rowvar else np.transpose(x)


def _weights_of(name: str, weights: Any, count: int) -> Any:
    """Weights of observations: one each, and none negative; `fweights` count repetitions."""
    weights = as_array(weights)
    if weights.shape != (count,):
        raise ShapeError(f"{name} of shape {weights.shape} do not fit {count} observations")
    if np.any(plain(weights) < 0):
        raise ArgumentError(f"{name} must not be negative")
    if name == "fweights" and np.any(plain(weights) % 1 != 0):
        raise DTypeError("fweights are integers, how often each observation was made")
    return weights


def _cov(
    x: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    rows = _rows(x, rowvar, dtype)
    if y is not None:
        rows = np.concatenate([rows, _rows(y, rowvar, dtype)], axis=0)
    ddof = ddof if ddof is not None else 0 if bias else 1
    named = {"fweights": fweights, "aweights": aweights}
    count = rows.shape[1]
    given = [_weights_of(name, w, count) for name, w in named.items() if w is not None]
    weights = given[0] * given[1] if len(given) == 2 else given[0] if given else None
    if weights is None:
        centred = rows - mean(rows, axis=1, keepdims=True)
        weighted, freedoms = centred, max(rows.shape[1] - ddof, 0)
    else:
        total = np.sum(weights)
        centred = rows - np.sum(rows * weights, axis=1, keepdims=True) / total
        weighted = centred * weights
        lost = ddof if aweights is None else ddof * np.sum(weights * as_array(aweights)) / total
        freedoms = total - lost if ddof else total
    other = (
        np.conjugate(np.transpose(weighted)) if rows.dtype.kind == "c" else np.transpose(weighted)
    )
    return _squeezed(np.matmul(centred, other) / freedoms)


def _squeezed(x: Any) -> Any:
    return np.reshape(x, tuple(n for n in x.shape if n != 1))


def _cov_samples() -> list[Sample]:
    x, y = draw((3, 5), -2, 2), draw((3, 5), -2, 2, 1)
    return [
        sample(x), sample(x, rowvar=False), sample(x[0]), sample(x[0], y[0]), sample(x, y, ddof=0),
        sample(x, bias=True), sample(x[:2].astype(np.float32)), sample(x[:2] + 1j * y[:2]),
        sample(x[:2], dtype=np.dtype(np.complex128)),
    ]  # fmt: skip


def _weighted_cov_samples() -> list[Sample]:
    x, a, f = draw((2, 4), -2, 2), draw((4,), 0.3, 1, 1), np.array([1, 2, 1, 3])
    return [
        *_cov_samples(),
        sample(x, None, True, False, None, None, a),
        sample(x, None, True, False, None, f),
        sample(x, None, True, False, 0, f, a),
        sample(x, None, True, False, 1, f, a),
    ]


cov = composite(
    "cov",
    _cov,
    samples=_weighted_cov_samples,
    numpy=(np.cov,),
    bad=lambda: [
        sample(np.ones((2, 3, 4))),
        sample(np.ones((2, 3)), np.ones((2, 4))),
        sample(np.ones((2, 3)), fweights=np.array([1, 2, -1])),
        sample(np.ones((2, 3)), fweights=np.array([1, 2, 1.5])),
        sample(np.ones((2, 3)), aweights=np.ones(2)),
    ],
)


def _corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    c = _cov(x, y, rowvar, dtype=dtype)
    if c.shape == ():
        return c / c
    each = np.arange(c.shape[0])
    scale = np.sqrt(np.real(c[each, each]))
    c = c / scale[:, None] / scale[None, :]
    if c.dtype.kind == "c":
        return c
    return np.minimum(np.maximum(c, -1.0), 1.0)  # rounding may lead outside


corrcoef = composite(
    "corrcoef",
    _corrcoef,
    samples=lambda: [s for s in _cov_samples() if not {"ddof", "bias"} & set(s.attrs)],
    numpy=(np.corrcoef,),
)
