"""Piecewise linear interpolation: np.interp, differentiable in points, knots and values.

At a knot two lines meet and the slope is the smallest, in absolute value, of all between theirs:
zero where they go up on one side and down on the other, and at both ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall
from chainrule.core.depends import LANES
from chainrule.core.masked import plain, within
from chainrule.core.op import Rules, Sample, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.define import ZERO, composite, elementwise_spec, rules
from chainrule.ops.indexing import take_index
from chainrule.ops.joining import as_array, concatenate
from chainrule.ops.ordering import argsort
from chainrule.ops.positions import as_rows, insertion_in_rows
from chainrule.ops.samples import draw
from chainrule.ops.shape import broadcast_to
from chainrule.ops.structure import astype, imag, real


def _segments(x: Any, xp: Any, fp: Any) -> tuple[Any, Any, Any]:
    """Per point the knot it is measured from, the segment it lies on, and whether that slopes.

    The k-th segment joins the knots k and k + 1.
    """
    place = np.searchsorted(xp, x, side="right")
    return _segments_at(place, x, xp, fp, lambda values, at: values[at])


def _segments_at(place: Any, x: Any, xp: Any, fp: Any, take: Any) -> tuple[Any, Any, Any]:
    """`take(values, at)` reads knots; points would be inserted among them at `place`."""
    last = xp.shape[-1] - 1
    knot = np.clip(place - 1, 0, last)
    before, after = np.maximum(knot - 1, 0), np.minimum(knot, last - 1)
    with np.errstate(all="ignore"):
        slopes = np.diff(fp) / np.diff(xp)
    left, right = take(slopes, before), take(slopes, after)
    at_knot = take(xp, knot) == x
    flat = (x < take(xp, 0)) | (x > take(xp, last)) | (at_knot & ((knot == 0) | (knot == last)))
    flat = flat | (at_knot & np.isfinite(left) & (np.sign(left) * np.sign(right) <= 0))
    steep = np.isinf(take(fp, knot)) & np.isfinite(take(fp, after + 1))
    from_right = ~(at_knot | flat) & steep
    segment = np.where(at_knot & (np.abs(left) < np.abs(right)), before, after)
    return knot + from_right, segment, ~flat


def _segments_lanes(call: BatchCall) -> Any:
    if not (call.on(1) or call.on(2)):
        return call.call(*map(call.raw, range(3)))
    x, xp, fp = as_rows(call, 0), call.spread(1), call.spread(2)
    rows = np.arange(call.count)[:, None]
    place = insertion_in_rows(xp, x, "right")
    found = _segments_at(place, x, xp, fp, lambda values, at: values[rows, at])
    return tuple(part.reshape((call.count, *call.lane_shape(0))) for part in found)


interp_segments = rules(
    "interp_segments",
    _segments,
    inputs=("x", "xp", "fp"),
    derivative=ZERO,
    samples=lambda: [
        sample(np.array([-1.0, 0.5, 1.0, 3.0]), np.array([0.0, 1.0, 2.0]), draw((3,), -2, 2))
    ],
    spec=lambda x, xp, fp: tuple(Spec(x.shape, np.dtype(t)) for t in (np.intp, np.intp, bool)),
    doc="Where the points of an interpolation lie among its knots.",
    batch=_segments_lanes,
)


def _line(x: Any, x0: Any, y0: Any, slope: Any, sloped: Any) -> Any:
    """At x = x0 the slope is not used, however steep."""
    used = sloped & (x != x0)
    return y0 + np.where(used, slope, 0.0) * np.where(used, x - x0, 0.0)


def _if_sloped(factor: Any, sloped: Any) -> Any:
    return within(factor, plain(sloped))


REVERSE = (
    lambda g, slope, sloped: _if_sloped(g * slope, sloped),
    lambda g, slope, sloped: _if_sloped(-g * slope, sloped),
    lambda g: g,
    lambda g, x, x0, sloped: _if_sloped(g * (x - x0), sloped),
    None,
)
FORWARD = (
    lambda t, slope, sloped: _if_sloped(t * slope, sloped),
    lambda t, slope, sloped: _if_sloped(-t * slope, sloped),
    lambda t: t,
    lambda t, x, x0, sloped: _if_sloped(t * (x - x0), sloped),
    None,
)
interp_line = rules(
    "interp_line",
    _line,
    derivative=Rules(REVERSE, FORWARD),
    depends=LANES,
    inputs=("x", "x0", "y0", "slope", "sloped"),
    samples=lambda: [
        sample(*(draw((3,), -2, 2, k) for k in range(4)), np.array([True, False, True])),
        sample(*(draw((), -2, 2, k) for k in range(4)), np.True_),
    ],
    kinks=lambda x, x0, y0, slope, sloped: np.equal(x, x0),
    spec=elementwise_spec(_line),
    doc="y0 + slope·(x - x0) where it is sloped, else y0, to which x is a structural zero.",
)


def _interpolated(x: Any, xp: Any, fp: Any) -> Any:
    if xp.size == 1:
        return broadcast_to(fp[0], x.shape)
    knot, segment, sloped = interp_segments(x, xp, fp)
    rise = take_index(fp, segment + 1) - take_index(fp, segment)
    run = take_index(xp, segment + 1) - take_index(xp, segment)
    slope = rise / np.where(np.equal(run, 0), 1.0, run)  # knots coincide where nothing slopes
    return interp_line(x, take_index(xp, knot), take_index(fp, knot), slope, sloped)


def _unrolled(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """One period of the knots in order, and the neighbours on both sides."""
    if period == 0:
        raise ArgumentError("interp: the period must not be 0")
    period = abs(period)
    x, xp = np.remainder(x, period), np.remainder(xp, period)
    order = argsort(xp)
    xp, fp = take_index(xp, order), take_index(fp, order)
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period], axis=0)
    return x, xp, concatenate([fp[-1:], fp, fp[:1]], axis=0)


def _as_double(value: Any) -> Any:
    """NumPy interpolates in double precision."""
    value = as_array(value)
    if value.dtype.kind not in "fiub":
        raise DTypeError(f"interp takes real points and knots, not {value.dtype.name}")
    return value if value.dtype == np.float64 else astype(value, np.dtype(np.float64))


def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    fp = as_array(fp)
    if fp.dtype.kind == "c":
        return _interp(x, xp, real(fp), *_parts(np.real, left, right), period) + 1j * _interp(
            x, xp, imag(fp), *_parts(np.imag, left, right), period
        )
    x, xp, fp = _as_double(x), _as_double(xp), _as_double(fp)
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(f"interp needs as many values as knots, not {fp.shape} and {xp.shape}")
    if period is not None:
        return _interpolated(*_unrolled(x, xp, fp, period))
    found = _interpolated(x, xp, fp)
    if left is not None:
        found = np.where(np.less(x, xp[0]), left, found)
    return found if right is None else np.where(np.greater(x, xp[-1]), right, found)


def _parts(part: Any, left: Any, right: Any) -> tuple[Any, Any]:
    return tuple(None if side is None else part(side) for side in (left, right))  # type: ignore[return-value]


def _curves() -> list[Sample]:
    xp, fp = np.array([0.0, 0.7, 1.5, 2.0]), draw((4,), -2, 2)
    x = np.array([[0.1, 0.9, 1.6], [-0.5, 1.4, 2.5]])
    return [
        sample(x, xp, fp),
        sample(x, xp, fp, left=-1.0, right=2.0),
        sample(x + 3.03, xp, fp, period=2.5),
        sample(x + 3.03, xp[::-1] * 3, fp, period=-2.5),
        sample(draw((), 0.1, 0.5), xp, fp),
        sample(0.3, [0.0, 1.0], fp[:2]),
        sample(x, xp[:1], fp[:1]),
        sample(x, xp[:1], fp[:1], left=0.5),
        sample(x.astype(np.float32), xp.astype(np.float32), fp.astype(np.float32)),
        sample(x, xp, fp + 1j * draw((4,), -2, 2, 1), right=1j),
    ]


def _at_knots() -> list[Sample]:
    xp, x = np.arange(5.0), np.arange(5.0)
    steps = np.array([0.0, 1.0, 1.0, 2.0])
    return [
        sample(x, xp, np.array([0.0, 1.0, 3.0, 2.0, 2.0])),
        sample(x[:3], steps, np.array([0.0, 1.0, 5.0, 2.0])),
        sample(x, xp, xp, left=-1.0, right=9.0),
    ]


interp = composite(
    "interp",
    _interp,
    inputs=("x", "xp", "fp"),
    samples=_curves,
    edges=_at_knots,
    bad=lambda: [sample(draw((2,), 0, 1), np.arange(3.0), np.arange(2.0))],
    numpy=(np.interp,),
    doc="The piecewise linear curve through the knots (xp, fp), at the points x.",
)
