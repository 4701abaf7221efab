"""Reductions that leave NaN out: lanes that hold NaN carry structural zeros.

nanmax and nanmin live with the extrema, nanmedian and nanquantile with the quantiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Op, Sample, sample
from chainrule.ops.cumulative import cumprod, cumsum
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array
from chainrule.ops.reductions import Axis, bad_axes, mask_for, prod, sum
from chainrule.ops.samples import draw
from chainrule.ops.statistics import freedom, how_many, root_of, squared_size


def _counted(x: Any, where: Any) -> Any:
    """Which elements are counted: those that are not NaN, within the mask if there is one."""
    numbers = np.logical_not(np.isnan(x))
    return numbers if where is True else np.logical_and(numbers, mask_for(x, where))


def _over_numbers(reduction: Op) -> Any:
    """The reduction over what is not NaN."""

    def reduced(
        x: Any,
        axis: Axis = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        x = as_array(x)
        return reduction(x, axis, dtype, keepdims, initial, where=_counted(x, where))

    return reduced


def _running_over_numbers(running: Op, neutral: float) -> Any:
    """The running sum or product that steps over NaN."""

    def accumulated(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
        x = as_array(x)
        return running(np.where(np.isnan(x), neutral, x), axis=axis, dtype=dtype)

    return accumulated


def _nanmean(
    x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, where: Any = True
) -> Any:
    x = as_array(x)
    counted = _counted(x, where)
    total = sum(x, axis=axis, dtype=dtype, keepdims=keepdims, where=counted)
    return total / how_many(total, axis, keepdims, counted)


def _nanvar(
    x: Any,
    axis: Axis = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    x = as_array(x)
    counted = _counted(x, where)
    centre = _nanmean(x, axis, dtype, True, where) if mean is None else mean
    away = np.where(counted, x - centre, 0.0)
    total = sum(squared_size(away), axis=axis, dtype=dtype, keepdims=keepdims)
    left = how_many(total, axis, keepdims, counted) - freedom(ddof, correction)
    return total / np.where(np.greater(left, 0), left, np.nan).astype(total.dtype)


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
        sample(x, axis=2, where=np.array([True, True, True, False])),
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


nansum = composite(
    "nansum", _over_numbers(sum), samples=_reduced, numpy=(np.nansum,), bad=bad_axes, picked=True
)
nanprod = composite(
    "nanprod", _over_numbers(prod), samples=_reduced, numpy=(np.nanprod,), bad=bad_axes
)
nancumsum = composite(
    "nancumsum",
    _running_over_numbers(cumsum, 0.0),
    samples=_running,
    numpy=(np.nancumsum,),
    bad=_no_such_axis,
)
nancumprod = composite(
    "nancumprod",
    _running_over_numbers(cumprod, 1.0),
    samples=_running,
    numpy=(np.nancumprod,),
    bad=_no_such_axis,
)
nanmean = composite(
    "nanmean", _nanmean, samples=_reduced, numpy=(np.nanmean,), bad=bad_axes, picked=True
)
nanvar = composite("nanvar", _nanvar, samples=_with_ddof, numpy=(np.nanvar,), bad=bad_axes)
nanstd = composite(
    "nanstd",
    root_of(_nanvar, _counted),
    samples=_with_ddof,
    edges=_level,
    numpy=(np.nanstd,),
    bad=bad_axes,
)
