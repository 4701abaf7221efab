"""Reductions that leave NaN out: lanes that hold NaN carry structural zeros.

nanmax and nanmin live with the extrema, nanmedian and nanquantile with the quantiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Sample, sample
from chainrule.ops.cumulative import cumprod, cumsum
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array
from chainrule.ops.reductions import Axis, bad_axes, prod, sum
from chainrule.ops.samples import draw
from chainrule.ops.statistics import all_equal, deviation, freedom, squared_size


def _filled(x: Any, value: float) -> Any:
    """The array with `value` in the place of NaN."""
    x = as_array(x)
    return np.where(np.isnan(x), value, x)


def _nansum(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return sum(_filled(x, 0.0), axis=axis, dtype=dtype, keepdims=keepdims)


def _nanprod(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return prod(_filled(x, 1.0), axis=axis, dtype=dtype, keepdims=keepdims)


def _nancumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return cumsum(_filled(x, 0.0), axis=axis, dtype=dtype)


def _nancumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return cumprod(_filled(x, 1.0), axis=axis, dtype=dtype)


def _how_many(x: Any, axis: Axis, keepdims: bool) -> Any:
    return sum(np.logical_not(np.isnan(x)), axis=axis, keepdims=keepdims)


def _precision(x: Any) -> Any:
    """The real dtype in which elements of x are counted, so that a quotient is not promoted."""
    return np.empty(0, x.dtype).real.dtype


def _nanmean(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    x = as_array(x)
    total = _nansum(x, axis, dtype, keepdims)
    return total / _how_many(x, axis, keepdims).astype(_precision(total))


def _nanvar(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    x = as_array(x)
    centre = _nanmean(x, axis, dtype, True) if mean is None else mean
    away = np.where(np.isnan(x), 0.0, x - centre)
    total = sum(squared_size(away), axis=axis, dtype=dtype, keepdims=keepdims)
    left = _how_many(x, axis, keepdims) - freedom(ddof, correction)
    return total / np.where(np.greater(left, 0), left, np.nan).astype(total.dtype)


def _nanstd(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    x = as_array(x)
    square = _nanvar(x, axis, dtype, ddof, keepdims, mean, correction)
    return deviation(square, all_equal(x, axis=axis, keepdims=keepdims, skip_nan=True))


def _holed() -> Any:
    x = draw((2, 3, 4), -2, 2)
    x[0, 1, 2] = x[1, :, 3] = x[1, 1, 0] = np.nan
    return x


def _reduced() -> list[Sample]:
    x = _holed()
    return [
        sample(x), sample(x, axis=0), sample(x, axis=-1, keepdims=True), sample(x, axis=(0, 2)),
        sample(x[0, 1].astype(np.float32)), sample(draw((2, 3), -2, 2), axis=1),
        sample(draw((2, 3), -2, 2) + 1j * draw((2, 3), -2, 2, 1), axis=1),
    ]  # fmt: skip


def _with_ddof() -> list[Sample]:
    return [*_reduced(), sample(_holed(), axis=2, ddof=1), sample(_holed(), axis=2, correction=1)]


def _running() -> list[Sample]:
    x = _holed()
    return [sample(x), sample(x, axis=1), sample(x[0, 1].astype(np.float32), axis=-1)]


def _level() -> list[Sample]:
    return [
        sample(np.array([0.1, np.nan, 0.1, 0.1])),
        sample(np.array([[1.0, 2.0], [np.nan, 3.0]]), axis=1),
    ]


def _no_such_axis() -> list[Sample]:
    return [sample(_holed(), axis=3)]


nansum = composite("nansum", _nansum, samples=_reduced, numpy=(np.nansum,), bad=bad_axes)
nanprod = composite("nanprod", _nanprod, samples=_reduced, numpy=(np.nanprod,), bad=bad_axes)
nancumsum = composite(
    "nancumsum", _nancumsum, samples=_running, numpy=(np.nancumsum,), bad=_no_such_axis
)
nancumprod = composite(
    "nancumprod", _nancumprod, samples=_running, numpy=(np.nancumprod,), bad=_no_such_axis
)
nanmean = composite("nanmean", _nanmean, samples=_reduced, numpy=(np.nanmean,), bad=bad_axes)
nanvar = composite("nanvar", _nanvar, samples=_with_ddof, numpy=(np.nanvar,), bad=bad_axes)
nanstd = composite(
    "nanstd", _nanstd, samples=_with_ddof, edges=_level, numpy=(np.nanstd,), bad=bad_axes
)
