"""Piecewise linear interpolation: np.interp, differentiable in the points, the knots and the values.

At a knot two lines meet and the slope is the smallest, in absolute value, of all between theirs:
zero where they go up on one side and down on the other, and at both ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Sample, sample
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.define import ZERO, composite, elementwise, rules
from chainrule.ops.indexing import take_index
from chainrule.ops.joining import as_array, concatenate
from chainrule.ops.ordering import argsort
from chainrule.ops.samples import draw
from chainrule.ops.structure import imag, real


def _segments(x: Any, xp: Any, fp: Any) -> tuple[Any, Any, Any]:
    """Per point a knot it is measured from, the segment it lies in, and whether it has a slope."""
    last = xp.size - 1
    knot = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, last)
    before, after = np.clip(knot - 1, 0, last - 1), np.clip(knot, 0, last - 1)
    at_knot = xp[knot] == x
    outside = ~((x >= xp[0]) & (x <= xp[last]))
    ends = outside | (at_knot & ((knot == 0) | (knot == last)))
    with np.errstate(all="ignore"):
        slopes = np.diff(fp) / np.diff(xp)
    left, right = slopes[before], slopes[after]
    flatter = at_knot & (np.abs(left) < np.abs(right))
    bends = at_knot & (left * right <= 0) & np.isfinite(left) & np.isfinite(right)
    return knot, np.where(flatter, before, after), ~(ends | bends)


segments = rules(
    "segments",
    _segments,
    inputs=("x", "xp", "fp"),
    derivative=ZERO,
    samples=lambda: [
        sample(np.array([-1.0, 0.5, 1.0, 3.0]), np.array([0.0, 1.0, 2.0]), draw((3,), -2, 2))
    ],
    doc="Where the points of an interpolation lie among its knots.",
)
line = elementwise(
    "line",
    lambda x, x0, y0, slope, sloped: np.where(sloped & (x != x0), y0 + slope * (x - x0), y0)[()],
    (
        lambda slope, sloped: _if_sloped(sloped, slope),
        lambda slope, sloped: _if_sloped(sloped, -slope),
        1,
        lambda x, x0, sloped: _if_sloped(sloped, x - x0),
        None,
    ),
    inputs=("x", "x0", "y0", "slope", "sloped"),
    samples=lambda: [
        sample(*(draw((3,), -2, 2, k) for k in range(4)), np.array([True, False, True])),
        sample(*(draw((), -2, 2, k) for k in range(4)), np.True_),
    ],
    kinks=lambda x, x0, y0, slope, sloped: np.equal(x, x0),
    doc="y0 + slope·(x - x0) where it is sloped, else y0.",
)


def _if_sloped(sloped: Any, factor: Any) -> Any:
    return np.where(sloped, factor, np.zeros((), factor.dtype))


def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None
) -> Any:
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(f"interp needs as many values as knots, not {fp.shape} and {xp.shape}")
    if fp.dtype.kind == "c":
        sides = [(None, None) if s is None else (np.real(s), np.imag(s)) for s in (left, right)]
        parts = [f(fp) for f in (real, imag)]
        found = [_interp(x, xp, p, sides[0][k], sides[1][k], period) for k, p in enumerate(parts)]
        return found[0] + 1j * found[1]
    if period is not None:
        x, xp, fp = _unrolled(x, xp, fp, period)
        left = right = None
    inside = _inside(x, xp, fp)
    below, above = fp[0] if left is None else left, fp[-1] if right is None else right
    inside = np.where(np.less(x, xp[0]), below, np.where(np.greater(x, xp[-1]), above, inside))
    return np.where(np.isnan(x), x, inside)
