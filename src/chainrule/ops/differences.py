"""Differences between neighbours along an axis, and the slopes and areas made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Sample, sample
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.cumulative import along
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array
from chainrule.ops.reductions import Axis, strict_axes
from chainrule.ops.samples import draw
from chainrule.ops.structure import cast_into

# -- diff --------------------------------------------------------------------------------------


def _as_border(value: Any, shape: tuple[int, ...], axis: int) -> Any:
    """What is put before or behind an array; a scalar stands for one layer of itself."""
    value = as_array(value)
    if value.shape == ():
        return np.broadcast_to(value, tuple(1 if i == axis else n for i, n in enumerate(shape)))
    return value


def _diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x = as_array(x)
    if n < 0:
        raise ArgumentError(f"diff cannot be taken {n} times")
    (axis,) = strict_axes(len(x.shape), axis)
    parts = [
        *([] if prepend is None else [_as_border(prepend, x.shape, axis)]),
        x,
        *([] if append is None else [_as_border(append, x.shape, axis)]),
    ]
    if len(parts) > 1 and n:
        x = np.concatenate(parts, axis=axis)
    later = along(axis, slice(1, None), len(x.shape))
    earlier = along(axis, slice(None, -1), len(x.shape))
    change = np.not_equal if x.dtype == bool else np.subtract
    for _ in range(n):
        x = change(x[later], x[earlier])
    return x


def _diff_samples() -> list[Sample]:
    x = draw((2, 3, 4), -2, 2)
    return [
        sample(x), sample(x, n=2), sample(x, axis=0), sample(x, 1, -2, draw((2, 1, 4), -2, 2, 1)),
        sample(x, 2, 1, np.float64(0.3), draw((2, 2, 4), -2, 2, 2)), sample(x, n=0), sample(x, n=4),
        sample(x[0, 0], prepend=0), sample(x[0].astype(np.float32)), sample(x[0] + 1j * x[1]),
    ]  # fmt: skip


def _no_differences() -> list[Sample]:
    return [sample(np.ones((2, 3)), axis=2), sample(np.ones(3), n=-1), sample(np.float64(1.0))]


diff = composite("diff", _diff, samples=_diff_samples, numpy=(np.diff,), bad=_no_differences)


def _ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = np.reshape(as_array(x), (-1,))
    steps = x[1:] - x[:-1]
    ends = [None if end is None else np.reshape(as_array(end), (-1,)) for end in (to_begin, to_end)]
    for end in ends:
        if end is not None and not np.can_cast(end.dtype, x.dtype, "same_kind"):
            raise DTypeError(f"{end.dtype.name} does not go with differences of {x.dtype.name}")
    parts = [cast_into(p, x.dtype) for p in (ends[0], steps, ends[1]) if p is not None]
    return np.concatenate(parts) if len(parts) > 1 else steps


ediff1d = composite(
    "ediff1d",
    _ediff1d,
    samples=lambda: [
        sample(draw((2, 3), -2, 2)),
        sample(draw((4,), -2, 2), np.float64(0.5), draw((2,), -2, 2)),
        sample(draw((4,), -2, 2).astype(np.float32), to_begin=-99.0),
        sample(draw((1,), -2, 2)),
    ],
    numpy=(np.ediff1d,),
)


# -- gradient ----------------------------------------------------------------------------------


def _gradient(*xs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """The function's values, then its spacings as NumPy takes them: none, one, or one per axis."""
    f, *spacings = (_inexact(x) for x in xs)
    axes = strict_axes(len(f.shape), axis)
    if len(spacings) <= 1:
        if len(axes) > 1 and spacings and spacings[0].shape:
            raise ArgumentError("coordinates of one axis do not tell those of the others")
        spacings = (spacings or [1.0]) * len(axes)
    if len(spacings) != len(axes):
        raise ArgumentError(f"{len(spacings)} spacings were given for {len(axes)} axes")
    if edge_order not in (1, 2):
        raise ArgumentError(f"edge_order is 1 or 2, not {edge_order}")
    slopes = [_slope(f, h, a, edge_order) for h, a in zip(spacings, axes, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slope(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    """The derivative along one axis, to second order inside and to `edge_order` at the ends."""
    ndim, count = len(f.shape), f.shape[axis]
    if count < edge_order + 1:
        raise ShapeError(f"gradient needs {edge_order + 1} points along axis {axis}, got {count}")
    steps = _steps(h, count, axis, ndim)

    def part(start: int, stop: int | None) -> Any:
        return f[along(axis, slice(start, stop), ndim)]

    def step(k: int) -> Any:
        return steps[along(axis, slice(k, k + 1 or None), ndim)] if steps.shape else steps

    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / step(0)
        last = (part(-1, None) - part(-2, -1)) / step(-1)
    else:
        first = _three(part(0, 1), part(1, 2), part(2, 3), *_at_end(step(0), step(1)))
        last = _three(
            part(-1, None), part(-2, -1), part(-3, -2), *(-w for w in _at_end(step(-1), step(-2)))
        )
    if steps.shape:
        d, e = (steps[along(axis, cut, ndim)] for cut in (slice(None, -1), slice(1, None)))
        weights = -e / (d * (d + e)), (e - d) / (d * e), d / (e * (d + e))
        inner = _three(part(0, -2), part(1, -1), part(2, None), *weights)
    else:
        inner = (part(2, None) - part(0, -2)) / (2.0 * steps)
    return cast_into(np.concatenate([first, inner, last], axis=axis), f.dtype)


def _inexact(x: Any) -> Any:
    """Integers as floats: differences of unsigned ones would wrap around."""
    x = as_array(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _steps(h: Any, count: int, axis: int, ndim: int) -> Any:
    """A spacing: one number, or from coordinates a step between each two of them."""
    h = _inexact(h)
    if h.shape == ():
        return h
    if h.shape != (count,):
        raise ShapeError(f"coordinates of shape {h.shape} do not fit {count} points")
    return np.reshape(h[1:] - h[:-1], tuple(count - 1 if i == axis else 1 for i in range(ndim)))


def _at_end(d: Any, e: Any) -> tuple[Any, Any, Any]:
    """Weights of the slope at the first of three points that are d and e apart."""
    return -(2.0 * d + e) / (d * (d + e)), (d + e) / (d * e), -d / (e * (d + e))


def _three(a: Any, b: Any, c: Any, u: Any, v: Any, w: Any) -> Any:
    return u * a + v * b + w * c


def _gradient_samples() -> list[Sample]:
    f, h = draw((4, 5), -2, 2), np.cumsum(draw((5,), 0.5, 1.5))
    return [
        sample(f), sample(f, axis=1), sample(f, np.float64(0.5), axis=0),
        sample(f, np.float64(0.5), np.float64(2.0)), sample(f, edge_order=2),
        sample(f, h, axis=1), sample(f, np.float64(0.3), h, edge_order=2),
        sample(f[0], 0.5), sample(f[0].astype(np.float32)), sample(f[0, :2]),
        sample(f, axis=(1, 0)), sample(np.arange(5), h), sample(f[0], np.uint8(3), edge_order=2),
        sample(f[0], np.array([9, 7, 4, 3, 1], "u8")),
    ]  # fmt: skip


gradient = composite(
    "gradient",
    _gradient,
    inputs=("xs",),
    variadic=True,
    samples=_gradient_samples,
    bad=lambda: [
        sample(np.ones(1)),
        sample(np.ones(2), edge_order=2),
        sample(np.ones(3), edge_order=3),
        sample(np.ones(3), np.ones(2)),
        sample(np.ones((3, 3)), np.ones(3)),
    ],
    numpy=(np.gradient,),
    reference=lambda xs, **attrs: np.gradient(*xs, **attrs),
    doc="Slopes along axes by differences of neighbours; the values first, then the spacings.",
)


# -- trapezoid ---------------------------------------------------------------------------------


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The axis is counted in y, in x and in their product, each with its own number of axes."""
    y = as_array(y)
    ndim = len(y.shape)
    (at,) = strict_axes(ndim, axis)
    later, earlier = along(at, slice(1, None), ndim), along(at, slice(None, -1), ndim)
    if x is not None:
        x = as_array(x)
        dx = diff(x, axis=axis if len(x.shape) > 1 else 0)
        if len(x.shape) == 1:
            dx = np.reshape(dx, tuple(-1 if i == at else 1 for i in range(ndim)))
    return np.sum(dx * (y[later] + y[earlier]) / 2.0, axis=axis)


trapezoid = composite(
    "trapezoid",
    _trapezoid,
    inputs=("y",),
    samples=lambda: [
        sample(draw((3, 4), -2, 2)),
        sample(draw((3, 4), -2, 2), np.cumsum(draw((3,), 0.2, 1)), axis=0),
        sample(draw((3, 4), -2, 2), np.cumsum(draw((3, 4), 0.2, 1), axis=1)),
        sample(draw((4,), -2, 2), np.cumsum(draw((3, 4), 0.2, 1), axis=1)),
        sample(draw((4,), -2, 2), None, np.float64(0.3)),
        sample(draw((4,), -2, 2).astype(np.float32), dx=0.3),
        sample(draw((1,), -2, 2)),
    ],
    bad=lambda: [sample(np.ones((2, 3)), axis=2), sample(np.ones(3), np.ones(4))],
    numpy=(np.trapezoid,),
)
