"""Order statistics: median, quantile, percentile, and the same of what is not NaN.

All are made of one op, `order_statistic`, and an interpolation between two of its results.  Equal
elements share the derivative equally, as the rule for kinks has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.depends import COPIES
from chainrule.core.masked import gated, plain, unmasked
from chainrule.core.op import Op, Rules, Sample, first_recorded, sample
from chainrule.core.slot import Slot
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError, OutOfRangeError
from chainrule.ops.define import composite, rules
from chainrule.ops.indexing import scatter
from chainrule.ops.joining import as_array
from chainrule.ops.ordering import occurrences
from chainrule.ops.reductions import (
    Axis,
    bad_axes,
    distinct,
    lane_size,
    lanes,
    reduced_shape,
    strict_axes,
)
from chainrule.ops.statistics import mean
from chainrule.ops.writing import put_along_axis

FEW_RANKS = 8  # up to so many ranks, partitioning is faster than sorting


# -- the k-th smallest -------------------------------------------------------------------------


def _order_statistic(x: Any, k: Any, skip_nan: bool = False) -> Any:
    k = np.broadcast_to(k, (*x.shape[:-1], k.shape[-1]))
    ranks = np.unique(k)
    if ranks.size and not -x.shape[-1] <= ranks[0] <= ranks[-1] < x.shape[-1]:
        raise OutOfRangeError(f"there is no rank {ranks[-1]} among {x.shape[-1]} elements")
    few = 0 < ranks.size <= FEW_RANKS and x.size
    ordered = np.partition(x, ranks, axis=-1) if few else np.sort(x, axis=-1)
    out = np.take_along_axis(ordered, k, axis=-1)
    return out if skip_nan else np.where(_holds_nan(x), np.nan, out)


def _holds_nan(x: Any) -> Any:
    return np.isnan(x).any(axis=-1, keepdims=True)


def _tie_groups(x: Any, k: Any, skip_nan: bool) -> tuple[Any, Any, Any]:
    """The tie group of each element and of each result, and a member's share in the result."""
    x, k = plain(x), plain(k)
    count, width = x.shape[-1], k.shape[-1]
    k = np.broadcast_to(k, (*x.shape[:-1], width)) % count
    if not skip_nan:
        k = np.where(_holds_nan(x), count - 1, k)
    order = np.argsort(x, axis=-1, kind="stable")
    ordered = np.take_along_axis(x, order, axis=-1)
    left, right = ordered[..., :-1], ordered[..., 1:]
    begins = (left != right) & ~(np.isnan(left) & np.isnan(right))
    begins = np.concatenate([np.ones((*x.shape[:-1], 1), bool), begins], axis=-1)
    start = np.maximum.accumulate(np.where(begins, np.arange(count), 0), axis=-1)
    first = np.arange(0, x.size, count).reshape(*x.shape[:-1], 1)
    groups = np.zeros(x.shape, np.intp)
    if first_recorded((x,)) is None:
        np.put_along_axis(groups, order, start + first, axis=-1)
    else:
        groups = put_along_axis(groups, order, start + first, -1)
    chosen = np.take_along_axis(start, k, axis=-1) + first
    share = (1 / occurrences(groups, x.size)[chosen]).astype(x.dtype)
    if skip_nan:
        share = np.where(np.isnan(np.take_along_axis(ordered, k, axis=-1)), 0, share)
    return groups, chosen, share


def _summed_by(index: Any, values: Any, size: int) -> Any:
    """The values added up in the slots that `index` names."""
    values, index = np.reshape(values, -1), np.reshape(index, -1)
    return scatter(values, index, template=(Slot(0),), shape=(size,))


def _pull_statistic(g: Any, x: Any, k: Any, skip_nan: bool) -> Any:
    """Each result hands its adjoint, in equal parts, to the elements equal to it."""
    groups, chosen, share = _tie_groups(x, k, skip_nan)
    given = _summed_by(chosen, unmasked(gated(g, share)), groups.size)
    if first_recorded((share,)) is None:
        alive = np.zeros(groups.size, bool)
        alive[chosen[share != 0]] = True
    else:
        alive = _summed_by(chosen, (share != 0).astype(np.intp), groups.size) != 0
    return gated(given[groups], alive[groups])


def _push_statistic(t: Any, x: Any, k: Any, skip_nan: bool) -> Any:
    """Each result moves with the mean of the elements equal to it."""
    groups, chosen, share = _tie_groups(x, k, skip_nan)
    return unmasked(gated(_summed_by(groups, t, groups.size)[chosen], share))


def _statistic_samples() -> list[Sample]:
    x = distinct((2, 3, 4))
    holed = distinct((3, 5))
    holed[1, 2] = holed[2, 1:] = np.nan
    return [
        sample(x, np.array([0, 2])), sample(x[0, 0], np.array([3, 1, 1])),
        sample(x, np.arange(6).reshape(2, 3, 1) % 4), sample(distinct((12,)), np.arange(12)),
        sample(holed, np.array([[1], [3], [0]]), skip_nan=True),
        sample(x[0].astype(np.float32), np.array([1])), sample(np.zeros((0, 3)), np.array([1])),
    ]  # fmt: skip


order_statistic = rules(
    "order_statistic",
    _order_statistic,
    derivative=Rules((_pull_statistic, None), (_push_statistic, None)),
    depends=COPIES,
    inputs=("x", "k"),
    spec=lambda x, k, **attrs: Spec((*x.shape[:-1], k.shape[-1]), x.dtype),
    samples=_statistic_samples,
    edges=lambda: [
        sample(np.array([2.0, 1.0, 2.0, 3.0, 2.0]), np.array([1, 2])),
        sample(np.zeros((2, 3)), np.array([0, 1, 2])),
        sample(np.array([np.inf, 1.0, np.nan, -np.inf]), np.array([0, 2, 1]), skip_nan=True),
    ],
    bad=lambda: [sample(np.ones(3), np.array([3])), sample(np.ones(0), np.array([0]))],
    kinks=lambda x, k, skip_nan: _tie_groups(x, k, skip_nan)[2] < 1,
    doc="The k-th smallest along the last axis, counted from 0; with `skip_nan`, NaN is largest.",
    batch=lambda call: call.call(call.spread(0), call.aligned(1, call.rank(0))),
)


# -- median ------------------------------------------------------------------------------------


def _median(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    x = as_array(x)
    n = lane_size(x.shape, strict_axes(x.ndim, axis))
    if n == 0:
        return mean(x, axis=axis, keepdims=keepdims)
    middle = np.array([(n - 1) // 2, n // 2][: 2 - n % 2])
    out = mean(order_statistic(lanes(x, axis), middle), axis=-1)
    return np.reshape(out, reduced_shape(x.shape, axis, keepdims))


def _nanmedian(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    x = as_array(x)
    strict_axes(x.ndim, axis)
    if not x.size:
        return mean(x, axis=axis, keepdims=keepdims)
    flat = lanes(x, axis)
    n = _how_many(flat)
    middle = np.concatenate([(n - 1) // 2, n // 2], axis=-1)
    out = mean(order_statistic(flat, middle, skip_nan=True), axis=-1)
    return np.reshape(out, reduced_shape(x.shape, axis, keepdims))


def _how_many(flat: Any) -> Any:
    """How many elements along the last axis are not NaN."""
    return np.sum(np.logical_not(np.isnan(flat)), axis=-1, keepdims=True)


def _median_samples() -> list[Sample]:
    x = distinct((2, 3, 4))
    return [
        sample(x), sample(x, axis=1), sample(x, axis=-1, keepdims=True), sample(x, axis=(2, 0)),
        sample(distinct((3,)).astype(np.float32)), sample(distinct(())),
    ]  # fmt: skip


def _with_nan() -> list[Sample]:
    x = distinct((3, 5))
    x[0, 1] = x[2, 1:4] = np.nan
    return [*_median_samples(), sample(x), sample(x, axis=1), sample(x, axis=0, keepdims=True)]


def _ties() -> list[Sample]:
    return [
        sample(np.array([1.0, 2.0, 2.0, 3.0])),
        sample(np.array([[5.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]), axis=1),
        sample(np.array([np.inf, 1.0, -np.inf])),
    ]


median = composite(
    "median", _median, samples=_median_samples, edges=_ties, numpy=(np.median,), bad=bad_axes
)
nanmedian = composite(
    "nanmedian", _nanmedian, samples=_with_nan, edges=_ties, numpy=(np.nanmedian,), bad=bad_axes
)


# -- quantiles ---------------------------------------------------------------------------------


def _hyndman_fan(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _closest(n: Any, q: Any) -> Any:
    """The nearest rank; halfway between two, the one that is even when counted from 1."""
    at = n * q - 1.5
    low = np.floor(at)
    exactly_odd = np.logical_and(np.equal(at, low), np.equal(low % 2, 1))
    return np.maximum(np.where(exactly_odd, low, low + 1), 0)


RANKS: dict[str, Callable[[Any, Any], Any]] = {  # rank, counted from 0, of level q among n
    "linear": lambda n, q: (n - 1) * q,
    "interpolated_inverted_cdf": _hyndman_fan(0, 1),
    "hazen": _hyndman_fan(0.5, 0.5),
    "weibull": _hyndman_fan(0, 0),
    "median_unbiased": _hyndman_fan(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _hyndman_fan(3 / 8.0, 3 / 8.0),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
}
WHOLE_RANKS: dict[str, Callable[[Any, Any], Any]] = {  # those that never interpolate
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.round((n - 1) * q),
    "inverted_cdf": lambda n, q: np.maximum(np.ceil(n * q - 1), 0),
    "closest_observation": _closest,
}


def _between(flat: Any, n: Any, q: Any, method: str, dtype: Any, skip_nan: bool) -> Any:
    """The quantiles at the levels q along the last axis, of which n elements count."""
    if method in WHOLE_RANKS:
        rank = WHOLE_RANKS[method](n, q).astype(np.intp)
        return order_statistic(flat, rank, skip_nan=skip_nan)
    rank = RANKS[method](n, q)
    below = np.floor(rank)
    part = rank - below
    low = np.minimum(np.maximum(below, 0), n - 1)
    high = np.minimum(np.maximum(below + 1, 0), n - 1)
    if method == "averaged_inverted_cdf":
        part = np.where(np.equal(part, 0), 0.5, 1.0)
    elif not hasattr(q, "__chainrule_record__"):
        high = np.where(np.equal(part, 0), low, high)  # the upper neighbour is not selected at all
    width = low.shape[-1]
    ranks = np.concatenate([low, high], axis=-1).astype(np.intp)
    picked = order_statistic(flat, ranks, skip_nan=skip_nan)
    low, high = picked[..., :width], picked[..., width:]
    upper = np.greater_equal(part, 0.5)  # as NumPy: from the nearer end, which rounds better
    towards = np.where(upper, part - 1, part).astype(dtype)
    return np.where(upper, high, low) + (high - low) * towards


def _check(x: Any, q: Any, method: str) -> None:
    if x.dtype.kind == "c":
        raise DTypeError("complex numbers have no order, so no quantiles")
    if method not in RANKS and method not in WHOLE_RANKS:
        known = ", ".join((*RANKS, *WHOLE_RANKS))
        raise ArgumentError(f"{method!r} is not a method of quantile; it takes {known}")
    if not np.all((q >= 0) & (q <= 1)):
        raise ArgumentError(f"a quantile's level lies in [0, 1] (a percentile's in [0, 100]): {q}")


def _quantiles(
    x: Any, q: Any, axis: Axis, method: str, keepdims: bool, percent: bool, skip_nan: bool
) -> Any:
    """Quantiles as NumPy returns them: the axes of q in front of those that are left of x."""
    x = as_array(x)
    weak = type(q) in (int, float)  # a number of Python's does not promote a float32 array
    if percent:
        q = np.true_divide(q, 100)
    q = as_array(q)
    _check(x, plain(q), method)
    if skip_nan and not x.size:
        return mean(x, axis=axis, keepdims=keepdims)
    flat = lanes(x, strict_axes(x.ndim, axis))
    whole = q.dtype.kind in "iub"
    dtype = x.dtype if weak or whole else q.dtype
    levels = np.reshape(q.astype(np.float64) if whole else q, (-1,))
    n = _how_many(flat).astype(levels.dtype) if skip_nan else flat.shape[-1]
    out = _between(flat, n, levels, method, dtype, skip_nan)
    last = len(out.shape) - 1
    out = np.transpose(out, (last, *range(last)))
    return np.reshape(out, (*q.shape, *reduced_shape(x.shape, axis, keepdims)))


def _quantile_samples(scale: float, holes: bool) -> Callable[[], list[Sample]]:
    def samples() -> list[Sample]:
        x = distinct((2, 3, 5))
        if holes:
            x[0, 1, 2:4] = x[1, 0, 0] = np.nan
        levels = np.array([0.13, 0.52, 0.77])
        return [
            sample(x, 0.3 * scale), sample(x, 0.25 * scale, axis=1), sample(x, levels * scale),
            sample(x, levels.reshape(3, 1) * scale, axis=-1, keepdims=True),
            sample(x, np.float64(0.4) * scale, axis=(2, 0)), sample(x, 0 * scale, axis=0),
            sample(x, 1 * scale, axis=2), sample(x[0, 0].astype(np.float32), 0.3 * scale),
            *(sample(x, 0.37 * scale, axis=-1, method=m) for m in (*RANKS, *WHOLE_RANKS)),
        ]  # fmt: skip

    return samples


def _quantile_ties(scale: float) -> Callable[[], list[Sample]]:
    x = [[1.0, 2.0, 2.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0]]
    return lambda: [sample(np.array(x), 0.3 * scale, axis=1), sample(np.array(x), 0.5 * scale)]


def _quantile_op(name: str, scale: float, skip_nan: bool) -> Op:
    def forward(
        x: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False
    ) -> Any:
        return _quantiles(x, q, axis, method, keepdims, scale == 100, skip_nan)

    return composite(
        name,
        forward,
        inputs=("x", "q"),
        samples=_quantile_samples(scale, holes=skip_nan),
        edges=_quantile_ties(scale),
        bad=lambda: [
            sample(np.ones(3), 1.5 * scale),
            sample(np.ones(3), -scale),
            sample(np.ones(3), 0.5 * scale, axis=1),
            sample(np.ones(3), 0.5 * scale, method="guess"),
            sample(np.ones(3) * 1j, 0.5 * scale),
        ],
        numpy=(getattr(np, name),),
    )


quantile = _quantile_op("quantile", 1, False)
percentile = _quantile_op("percentile", 100, False)
nanquantile = _quantile_op("nanquantile", 1, True)
nanpercentile = _quantile_op("nanpercentile", 100, True)
