"""The largest and the smallest over axes, how far they are apart, and where they are.

A tie is a kink; by the rule for kinks the tied elements share the derivative equally, and one tied
with the constant `initial` gets 0.  Elements that are not extreme carry structural zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.batching import Axes
from chainrule.core.depends import COPIES
from chainrule.core.masked import gated, perhaps, plain, unmasked
from chainrule.core.op import Op, Rules, Sample, sample
from chainrule.core.picked import highest, lowest, reducing, shape_of
from chainrule.ops.define import ZERO, composite, rules
from chainrule.ops.reductions import (
    Axis,
    bad_axes,
    distinct,
    expanded,
    folded_by,
    maskable,
    reduced_shape,
    reduction_spec,
)


def shares(
    x: Any, out: Any, axis: Axis, keepdims: bool, initial: Any = None, skip_nan: bool = False
) -> Any:
    """Per element its part in the extremum: booleans, or equal fractions where there are ties."""
    x, out = plain(x), plain(out)
    best = expanded(out, shape_of(x), axis, keepdims)
    hit = x == best
    if not skip_nan and perhaps(np.isnan(best)):
        hit = hit | (np.isnan(x) & np.isnan(best))
    if initial is not None:
        hit = hit & (best != initial)
    count = np.add.reduce(hit, axis=axis, keepdims=True)
    if not perhaps(count > 1):
        return hit
    # Not hit / count: that would be a division per element.
    return np.where(hit, 1 / np.maximum(count, 1), 0.0).astype(x.real.dtype)


def _extremum(forward: Callable[..., Any], skip_nan: bool, **fields: Any) -> Op:
    """The op of one of max, min, nanmax, nanmin."""

    def pull(g: Any, x: Any, out: Any, axis: Axis, keepdims: bool, initial: Any) -> Any:
        """g times the share of each element"""
        weights = shares(x, out, axis, keepdims, initial, skip_nan)
        return gated(expanded(g, shape_of(x), axis, keepdims), weights)

    def push(t: Any, x: Any, out: Any, axis: Axis, keepdims: bool, initial: Any) -> Any:
        """Σ t · share"""
        weights = shares(x, out, axis, keepdims, initial, skip_nan)
        return np.sum(unmasked(gated(t, weights)), axis=axis, keepdims=keepdims)

    def kinks(x: Any, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Any:
        """Where the extremum is attained more than once, the constant `initial` counted too."""
        out = forward(x, axis=axis, keepdims=True, initial=initial)
        again = np.add.reduce(x == out, axis=axis, keepdims=True) > 1
        return again | (out == initial) if initial is not None else again

    return maskable(
        forward.__name__.removeprefix("_"),
        forward,
        Rules((pull,), (push,)),
        fields.pop("samples", _samples),
        depends=COPIES,
        kinks=kinks,
        bad=_bad,
        neutral=lambda attrs: attrs["initial"],
        **fields,
    )


def _samples() -> list[Sample]:
    x = distinct((2, 3, 4))
    return [
        sample(x), sample(x, axis=0), sample(x, axis=-1, keepdims=True), sample(x, axis=(0, 2)),
        sample(x, axis=()), sample(distinct(())), sample(distinct((3,)).astype(np.float32)),
        sample(x, axis=1, initial=1.0), sample(np.zeros((0, 2)), axis=0, initial=1.0),
        sample(x, axis=2, initial=0.8, where=x > 0.1), sample(np.zeros((2, 0)), axis=0),
    ]  # fmt: skip


def _with_nan() -> list[Sample]:
    x = distinct((2, 3, 4))
    x[0, 1, 2] = x[1, :, 3] = np.nan
    return [
        sample(distinct((2, 3)), axis=0),
        *(sample(np.where(np.isnan(x), np.nan, x), axis=a) for a in (None, 0, (-1, 0))),
        sample(x[0, 1].astype(np.float32), keepdims=True),
    ]


def _ties() -> list[Sample]:
    return [
        sample(np.array([1.0, 1.0])),
        sample(np.array([[2.0, 0.0, 2.0], [0.0, 0.0, 0.0]]), axis=1),
        sample(np.array([0.0, -0.0])),
        sample(np.array([1.0, 2.0]), initial=2.0),
        sample(np.array([np.inf, np.inf, -np.inf])),
    ]


def _bad() -> list[Sample]:
    masked = sample(np.ones((2, 3)), where=np.array([True, False, True]))  # without `initial`
    return [*bad_axes(), sample(np.zeros((0, 2)), axis=0), masked]


def _max(
    x: Any, axis: Axis = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    return np.maximum.reduce(x, axis=axis, keepdims=keepdims, initial=initial, where=where)


def _min(
    x: Any, axis: Axis = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    return np.minimum.reduce(x, axis=axis, keepdims=keepdims, initial=initial, where=where)


def _nanmax(
    x: Any, axis: Axis = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    given = {} if initial is None else {"initial": initial}
    return np.nanmax(x, axis=axis, keepdims=keepdims, where=where, **given)


def _nanmin(
    x: Any, axis: Axis = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    given = {} if initial is None else {"initial": initial}
    return np.nanmin(x, axis=axis, keepdims=keepdims, where=where, **given)


largest = _extremum(
    _max, False, numpy=(np.max, np.amax), edges=_ties, lower=folded_by("max"),
    picked=reducing(lowest, some=True),
)  # fmt: skip
smallest = _extremum(
    _min, False, numpy=(np.min, np.amin), edges=_ties, lower=folded_by("min"),
    picked=reducing(highest, some=True),
)  # fmt: skip


def _known_lowered(function: str, neutral: float) -> Any:
    """The extremum of what is not NaN; NaN where all is."""
    fold = folded_by(function)

    def lower(b: Any, x: Any, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Any:
        if x.dtype.kind != "f":
            return None
        unknown = b.map("isnan", x)
        known = b.map("where", unknown, b.constant(neutral, x.dtype), x)
        none = b.reduce("all", unknown, axis, keepdims)
        found = fold(b, known, axis, keepdims, initial=initial, where=where)
        nan = b.constant(np.nan if initial is None else initial, x.dtype)
        return found and b.map("where", none, nan, found)

    return lower


nanmax = _extremum(
    _nanmax, True, numpy=(np.nanmax,), edges=_ties, samples=_with_nan,
    lower=_known_lowered("max", -np.inf),
)  # fmt: skip
nanmin = _extremum(
    _nanmin, True, numpy=(np.nanmin,), edges=_ties, samples=_with_nan,
    lower=_known_lowered("min", np.inf),
)  # fmt: skip


def _ptp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return largest(x, axis=axis, keepdims=keepdims) - smallest(x, axis=axis, keepdims=keepdims)


def _ptp_samples() -> list[Sample]:
    x = distinct((2, 3, 4))
    return [sample(x), sample(x, axis=-1, keepdims=True), sample(x, axis=(0, 1))]


def _level() -> list[Sample]:
    return [sample(np.ones(3)), sample(np.array([[2.0, 0.0, 2.0], [1.0, 1.0, 1.0]]), axis=1)]


ptp = composite(
    "ptp", _ptp, samples=_ptp_samples, numpy=(np.ptp,), edges=_level, bad=bad_axes, picked=True
)


# -- where the extremum is ---------------------------------------------------------------------


def _first_place(function: str) -> Any:
    """The lowering of argmax and argmin: the first place of the extremum; a NaN is one."""

    def lower(b: Any, x: Any, axis: int | None, keepdims: bool) -> Any:
        if 0 in x.shape:
            return None
        shape = reduced_shape(x.shape, axis, keepdims)
        if axis is None:
            x, axis = b.reshape(x, (-1,)), 0
        x = b.astype(x, np.int64) if x.dtype.kind == "b" else x
        axis, n = axis % x.ndim, x.shape[axis]
        hit = b.map("equal", x, b.reduce(function, x, axis, True))
        if x.dtype.kind == "f":
            hit = b.map("logical_or", hit, b.map("isnan", x))
        lined = [n if i == axis else 1 for i in range(x.ndim)]
        places = b.reshape(b.held(np.arange(n)), lined)
        first = b.map("where", hit, places, b.constant(n, np.dtype(np.int64)))
        return b.reshape(b.reduce("min", first, axis, True), shape)

    return lower


def _where_it_is(
    function: Callable[..., Any], samples: Callable[[], list[Sample]], lower: Any = None
) -> Op:
    """An op that gives the index of an extremum: an integer, whose derivative is zero."""

    def forward(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return function(x, axis=axis, keepdims=keepdims)

    def bad() -> list[Sample]:
        return [sample(np.zeros((2, 3)), axis=2), sample(np.zeros((0, 2)), axis=0)]

    name = function.__name__
    return rules(
        name, forward, derivative=ZERO, samples=samples, numpy=(function,), bad=bad,
        spec=reduction_spec(forward), lower=lower, batch=Axes("axis", flat=True),
    )  # fmt: skip


def _positions() -> list[Sample]:
    x = distinct((2, 3))
    return [sample(x), sample(x, axis=0), sample(x, axis=-1, keepdims=True), sample(np.ones(3))]


def _positions_with_nan() -> list[Sample]:
    return [*_positions(), sample(np.array([[np.nan, 2.0, 1.0], [0.0, np.nan, 5.0]]), axis=1)]


argmax = _where_it_is(np.argmax, _positions, _first_place("max"))
argmin = _where_it_is(np.argmin, _positions, _first_place("min"))
nanargmax = _where_it_is(np.nanargmax, _positions_with_nan)
nanargmin = _where_it_is(np.nanargmin, _positions_with_nan)
