"""Means, variances, weighted averages and weighted counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.batching import SPREAD, Axes
from chainrule.core.masked import plain
from chainrule.core.op import Linear, Sample, first_recorded, refuse_gradients, sample
from chainrule.core.picked import shape_of
from chainrule.core.slot import Slot
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.define import ZERO, composite, elementwise, rules
from chainrule.ops.indexing import scatter
from chainrule.ops.joining import as_array
from chainrule.ops.picking import ALL_EQUAL, MEAN, count_of
from chainrule.ops.reductions import (
    Axis,
    axes_of,
    bad_axes,
    lane_size,
    mask_for,
    maskable,
    reduction_samples,
    reduction_spec,
    spread,
    sum,
)
from chainrule.ops.samples import draw
from chainrule.ops.structure import cast_into

# -- mean --------------------------------------------------------------------------------------


def _mean(
    x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, where: Any = True
) -> Any:
    return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims, where=where)


def _spread_mean(g: Any, x_spec: Any, axis: Axis, keepdims: bool) -> Any:
    """Every element gets 1/n of its mean's adjoint."""
    return spread(g / count_of(x_spec, axis, g.dtype), x_spec, axis, keepdims)


def how_many(x: Any, axis: Axis, keepdims: bool, mask: Any) -> Any:
    """How many elements of the mask are reduced into one, in a dtype that promotes no quotient."""
    dtype = x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    return np.sum(mask, axis=axis, keepdims=keepdims).astype(np.empty(0, dtype).real.dtype)


def _as_if_all_counted(x: Any, mask: Any, attrs: dict[str, Any]) -> Any:
    """x so that its mean over all elements is that over those the mask counts."""
    return x * (count_of(x, attrs["axis"], x.dtype) / how_many(x, attrs["axis"], True, mask))


def _mean_samples() -> list[Sample]:
    x = draw((2, 3), -2, 2)
    return [
        *reduction_samples(complex_too=True)(),
        sample(x, axis=1, where=np.array([True, False, True])),
        sample(x, where=x > -1, keepdims=True),
        sample(x, axis=1, dtype=np.dtype(np.complex128), where=np.array([[True], [True]])),
    ]


def _mean_lowered(b: Any, x: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    if where is not True or (dtype is not None and dtype != x.dtype) or x.dtype.kind != "f":
        return None
    count = lane_size(x.shape, axis)
    total = b.reduce("sum", x, axis, bool(keepdims))
    return b.map("divide", total, b.constant(count, x.dtype)) if count else None


mean = maskable(
    "mean",
    _mean,
    Linear((_spread_mean,)),
    _mean_samples,
    numpy=(np.mean,),
    bad=bad_axes,
    scaled=_as_if_all_counted,
    picked=MEAN,
    lower=_mean_lowered,
)


# -- var and std -------------------------------------------------------------------------------


def squared_size(x: Any) -> Any:
    """|x|², which is real also where x is complex."""
    return np.real(x * np.conjugate(x)) if x.dtype.kind == "c" else np.square(x)


def freedom(ddof: float, correction: float | None) -> float:
    """The two names NumPy has for what is subtracted from the number of elements."""
    refuse_gradients(ddof=ddof, correction=correction)
    if correction is None:
        return ddof
    if ddof != 0:
        raise ArgumentError("ddof and correction are two names for one number: give one of them")
    return correction


def _var(
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
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise DTypeError(f"dtype={np.dtype(dtype).name} has no fractions, of which a mean is made")
    centre = _centre(x, axis, dtype, where) if mean is None else mean
    total = sum(squared_size(x - centre), axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    lost = freedom(ddof, correction)
    if where is True:
        left = count_of(x, axis, total.dtype) - lost
        return total / (np.maximum(left, 0) if hasattr(left, "dtype") else max(left, 0))
    return total / np.maximum(how_many(total, axis, keepdims, mask_for(x, where)) - lost, 0)


def _centre(x: Any, axis: Axis, dtype: Any, where: Any) -> Any:
    return mean(x, axis=axis, dtype=dtype, keepdims=True, where=where)


def _spread_samples() -> list[Sample]:
    x = draw((2, 3, 4), -2, 2)
    return [
        *reduction_samples(complex_too=True)()[:5],
        sample(x, axis=1, ddof=1), sample(x, ddof=0.5), sample(x, axis=(0, 2), correction=1),
        sample(draw((5,), -2, 2).astype(np.float32)),
        sample(draw((2, 3), -2, 2) + 1j * draw((2, 3), -2, 2, 1), axis=1),
        sample(x, axis=2, ddof=1, where=np.array([True, False, True, True])),
        sample(x, where=x > -1.5, mean=np.full((1, 1, 1), 0.1)),
        sample(x[0].astype(np.float32), axis=0, where=x[0] > -1.5),
    ]  # fmt: skip


def _level() -> list[Sample]:
    """Lanes without variance: zero exactly, or only up to rounding (0.1 · 3 / 3 ≠ 0.1)."""
    return [
        sample(np.zeros(3)),
        sample(np.full((2, 3), 0.1), axis=1),
        sample(np.array([[1.0, 1.0], [1.0, 2.0]]), axis=1),
        sample(np.float64(2.0)),
    ]


var = composite(
    "var", _var, samples=_spread_samples, edges=_level, numpy=(np.var,), bad=bad_axes,
    doc="The mean of |x − mean|² (divided by n − ddof).", picked=True,
)  # fmt: skip


def _all_equal(x: Any, axis: Axis = None, keepdims: Any = False, skip_nan: bool = False) -> Any:
    if not np.size(x):
        return np.any(x, axis=axis, keepdims=keepdims)
    high, low = (np.fmax, np.fmin) if skip_nan else (np.maximum, np.minimum)
    return high.reduce(x, axis=axis, keepdims=keepdims) == low.reduce(
        x, axis=axis, keepdims=keepdims
    )


def _all_equal_lowered(b: Any, x: Any, axis: Axis, keepdims: bool, skip_nan: bool) -> Any:
    if 0 in x.shape or x.dtype.kind == "b":
        return None
    ends = []
    for function, beyond in (("max", -np.inf), ("min", np.inf)):
        known = x
        if skip_nan and x.dtype.kind == "f":
            known = b.map("where", b.map("isnan", x), b.constant(beyond, x.dtype), x)
        ends.append(b.reduce(function, known, axis, keepdims))
    return b.map("equal", *ends)


all_equal = rules(
    "all_equal",
    _all_equal,
    derivative=ZERO,
    samples=lambda: [
        *(sample(np.array([[1.0, 1.0], [1.0, 2.0]]), axis=a) for a in (None, 0, -1, (0, 1))),
        sample(np.array([1.0, np.nan, 1.0]), keepdims=True, skip_nan=True),
        sample(np.zeros((2, 0)), axis=1),
    ],
    bad=bad_axes,
    spec=reduction_spec(_all_equal),
    doc="Whether all elements along axes are the same: where a standard deviation has its kink.",
    lower=_all_equal_lowered,
    picked=ALL_EQUAL,
    batch=Axes("axis"),
)


def _slope_of_root(y: Any, out: Any) -> Any:
    """1/(2√x), and 0 at the kink (½/∞ = 0)."""
    return 0.5 / np.where(np.logical_or(y, np.equal(out, 0)), np.inf, out)


deviation = elementwise(
    "deviation",
    lambda x, y: np.sqrt(x),
    (_slope_of_root, None),
    inputs=("x", "y"),
    samples=lambda: [
        sample(draw((2, 3), 0.3, 2), np.zeros((2, 3), bool)),
        sample(draw((3,), 0.3, 2).astype(np.float32), np.zeros(3, bool)),
    ],
    edges=lambda: [
        sample(np.array([0.0, 1.0]), np.array([True, False])),
        sample(np.array([1e-34, 0.0]), np.array([True, False])),
    ],
    kinks=lambda x, y: np.logical_or(y, np.equal(x, 0)),
    doc="√x of a variance; where y tells that there is none, a kink, the slope is 0.",
    lower=lambda b, x, y: b.map("sqrt", *b.floats(x)) if x.shape == y.shape else None,
    batch=SPREAD,
)


def root_of(variance: Callable[..., Any], counted: Callable[[Any, Any], Any]) -> Any:
    """The standard deviation of a variance that is made of the elements which `counted` tells."""

    def deviated(
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
        square = variance(x, axis, dtype, ddof, keepdims, where, mean, correction)
        mask = counted(x, where)
        if mask is True:
            return deviation(square, all_equal(x, axis=axis, keepdims=keepdims))
        numbers = np.where(mask, x, np.nan)
        equal = all_equal(numbers, axis=axis, keepdims=keepdims, skip_nan=True)
        return deviation(square, np.logical_and(equal, np.logical_not(np.isnan(square))))

    return deviated


def _in_mask(x: Any, where: Any) -> Any:
    return where if where is True else mask_for(x, where)


std = composite(
    "std", root_of(_var, _in_mask), edges=_level,
    samples=lambda: [s for s in _spread_samples() if s.attrs.get("axis") != ()],
    numpy=(np.std,), bad=bad_axes, picked=True,
    doc="The standard deviation; its derivative is 0 where all elements are equal.",
)  # fmt: skip


# -- weighted averages -------------------------------------------------------------------------


def _weights_on(weights: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """Weights given for the reduced axes only, so that they broadcast to `shape`."""
    if weights.shape == shape:
        return weights
    if axis is None:
        raise ShapeError(
            f"average of {shape} with weights of {weights.shape} needs to be told the axis"
        )
    axes = axes_of(len(shape), axis)
    if weights.shape != tuple(shape[a] for a in axes):
        raise ShapeError(f"weights of shape {weights.shape} do not fit axis {axis} of {shape}")
    ordered = np.transpose(weights, tuple(sorted(range(len(axes)), key=axes.__getitem__)))
    return np.reshape(ordered, tuple(n if i in axes else 1 for i, n in enumerate(shape)))


def _average(
    x: Any, axis: Axis = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    x = as_array(x)
    if weights is None:
        out = mean(x, axis=axis, keepdims=keepdims)
        if not returned:
            return out
        total = count_of(x, axis, out.dtype)
        if hasattr(total, "dtype"):
            return out, np.broadcast_to(total, out.shape)
        return out, np.full(out.shape, total, out.dtype)[()]
    weights = _weights_on(as_array(weights), x.shape, axis)
    total = np.sum(np.broadcast_to(weights, shape_of(x)), axis=axis, keepdims=keepdims)
    if np.any(plain(total) == 0):
        raise ArgumentError("the weights of an average sum to zero: it is not defined")
    out = np.sum(x * weights, axis=axis, keepdims=keepdims) / total
    return (out, cast_into(total, out.dtype)) if returned else out


def _average_samples() -> list[Sample]:
    x, w = draw((2, 3), -2, 2), draw((2, 3), 0.2, 1, 1)
    return [
        sample(x), sample(x, 1), sample(x, None, w), sample(x, -1, w[0], keepdims=True),
        sample(x, 0, w, True), sample(draw((2, 3, 4), -2, 2), (2, 0), draw((4, 2), 0.2, 1)),
        sample(x, (0, 1), w, returned=True), sample(x, 0, returned=True),
        sample(x[0].astype(np.float32), 0, w[0].astype(np.float32)),
    ]  # fmt: skip


average = composite(
    "average",
    _average,
    samples=_average_samples,
    numpy=(np.average,),
    picked=True,
    bad=lambda: [
        sample(np.ones((2, 3)), None, np.ones(3)),
        sample(np.ones((2, 3)), 0, np.ones(3)),
        sample(np.ones(2), None, np.array([1.0, -1.0])),
    ],
)


# -- weighted counts ---------------------------------------------------------------------------


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    x = plain(as_array(x))
    if weights is None and first_recorded((x,)) is None:
        return np.bincount(x, minlength=minlength)
    given = np.ones(x.shape, np.intp) if weights is None else as_array(weights).astype(np.float64)
    if x.ndim != 1 or given.shape != x.shape:
        raise ShapeError(
            f"bincount of {x.shape} with weights of {given.shape}: both must be one long list"
        )
    if x.dtype.kind not in "iub" or np.any(x < 0):
        raise ArgumentError("bincount counts integers that are not negative")
    length = max(int(np.max(x, initial=-1)) + 1, minlength)
    return scatter(given, x, template=(Slot(0),), shape=(length,))


bincount = composite(
    "bincount",
    _bincount,
    inputs=("x", "weights"),
    samples=lambda: [
        sample(np.array([0, 2, 2, 1]), draw((4,), -2, 2)),
        sample(np.array([0, 2]), draw((2,), -2, 2).astype(np.float32), minlength=5),
    ],
    bad=lambda: [sample(np.array([0, 1]), np.ones(3)), sample(np.array([-1, 1]), np.ones(2))],
    numpy=(np.bincount,),
    doc="The sum of the weights at each of the integers x.",
)
