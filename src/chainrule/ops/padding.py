"""Padding: a frame of zeros or of another number around an array, or of its own lanes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall
from chainrule.core.depends import FILLS
from chainrule.core.masked import settled
from chainrule.core.op import Sample, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from chainrule.ops.define import composite, linear
from chainrule.ops.joining import as_array
from chainrule.ops.rearranging import numbered, picked
from chainrule.ops.samples import draw
from chainrule.ops.structure import cast_into
from chainrule.ops.structure import copy as copy_of

Pairs = tuple[tuple[int, int], ...]


def _pad_zeros(x: Any, pad_width: Pairs) -> Any:
    return np.pad(x, pad_width)


def _framed_spec(x: Any, pad_width: Pairs) -> Spec:
    if any(operator.index(n) < 0 for pair in pad_width for n in pair):
        raise ArgumentError(f"pad: pad_width={pad_width!r} holds a negative number")
    sides = zip(x.shape, pad_width, strict=True)
    return Spec(tuple(n + before + after for n, (before, after) in sides), x.dtype)


def _unpad(g: Any, x_spec: Any, pad_width: Pairs) -> Any:
    """What lies inside the frame."""
    sizes = zip(pad_width, x_spec.shape, strict=True)
    return g[tuple(slice(before, before + n) for (before, _), n in sizes)]


def _pad_lanes(call: BatchCall) -> Any:
    return call.call(call.raw(0), pad_width=((0, 0), *call.attrs["pad_width"]))


pad_zeros = linear(
    "pad_zeros",
    _pad_zeros,
    _unpad,
    samples=lambda: [
        sample(draw((3,), -2, 2), pad_width=((1, 2),)),
        sample(draw((2, 3), -2, 2), pad_width=((1, 0), (0, 2))),
        sample(draw((0, 2), -2, 2), pad_width=((1, 1), (0, 0))),
        sample(draw((3,), -2, 2).astype(np.float32), pad_width=((1, 1),)),
    ],
    bad=lambda: [sample(draw((3,), -2, 2), pad_width=((-1, 2),))],
    depends=FILLS,
    spec=_framed_spec,
    doc="x in a frame of zeros, `pad_width` (before, after) lanes wide along each axis.",
    lower=lambda b, x, pad_width: b.pad(x, pad_width),
    batch=_pad_lanes,
)


def _widths(pad_width: Any, ndim: int) -> Pairs:
    """`pad_width` as one pair per axis; NumPy also takes a number, a pair, or axis: pair."""
    if isinstance(pad_width, dict):
        pairs = np.zeros((ndim, 2), np.intp)
        for axis, width in pad_width.items():
            pairs[axis] = width
        pad_width = pairs
    given = np.asarray(settled(pad_width))
    if given.dtype.kind != "i":
        raise DTypeError(f"pad: pad_width holds integers, not {given.dtype.name}")
    return tuple((int(b), int(a)) for b, a in np.broadcast_to(given, (ndim, 2)))


def _pad_constant(x: Any, widths: Pairs, values: Any) -> Any:
    """The frame's lanes by the side they lie on, so that a side's value may be a Variable."""
    values = as_array(values)
    framed = pad_zeros(x, widths)
    if isinstance(values, (np.ndarray, np.generic)) and not np.any(values):
        return framed
    sides = 2 * x.ndim
    inside = np.full(x.shape, sides)
    frame = np.arange(sides).reshape(x.ndim, 2)
    side = np.pad(inside, widths, constant_values=frame)
    values = cast_into(np.reshape(np.broadcast_to(values, (x.ndim, 2)), sides), x.dtype)
    return np.where(side == sides, framed, values[np.minimum(side, sides - 1)])


PICKED: dict[str, Any] = {mode: mode for mode in ("edge", "reflect", "symmetric", "wrap")}
STATISTICS: dict[str, Any] = {
    "mean": np.mean,
    "maximum": np.max,
    "minimum": np.min,
    "median": np.median,
}


def _pad_by_axis(x: Any, widths: Pairs, mode: str, end_values: Any) -> Any:
    """Axis by axis, on what the axes before have added already."""
    ends = np.broadcast_to(as_array(end_values), (x.ndim, 2))
    for axis, (before, after) in enumerate(widths):
        n = x.shape[axis]
        if not n:
            raise ShapeError(f"pad: mode={mode!r} of an axis of no elements")
        sides = []
        for side, (width, edge) in enumerate(((before, 0), (after, n - 1))):
            if mode == "linear_ramp":
                last = x[(*(slice(None),) * axis, slice(edge, edge + 1))]
                part = np.arange(width) / max(width, 1)
                part = np.reshape(
                    part if side == 0 else part[::-1], (-1,) + (1,) * (x.ndim - axis - 1)
                )
                sides.append(ends[axis, side] + (last - ends[axis, side]) * part)
            else:
                middle = STATISTICS[mode](x, axis=axis, keepdims=True)
                sides.append(np.repeat(middle, width, axis=axis))
        x = np.concatenate([sides[0], x, sides[1]], axis=axis)
    return x


def _pad(
    x: Any,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = 0,
    reflect_type: str = "even",
    end_values: Any = 0,
) -> Any:
    x = as_array(x)
    widths = _widths(pad_width, x.ndim)
    if not widths:
        return copy_of(x)
    if mode == "constant":
        return _pad_constant(x, widths, constant_values)
    if mode == "empty":
        return pad_zeros(x, widths)
    if mode == "linear_ramp" or mode in STATISTICS:
        return _pad_by_axis(x, widths, mode, end_values)
    if mode not in PICKED or reflect_type != "even":
        raise UnsupportedError(
            f"np.pad of a Variable with mode={mode!r} and reflect_type={reflect_type!r}: it takes "
            "NumPy's modes by name, and even reflections"
        )
    return picked(x, np.pad(numbered(x), widths, mode=PICKED[mode]))


def _pads() -> list[Sample]:
    row, matrix = draw((4,), -2, 2), draw((2, 3), -2, 2)
    return [
        sample(row, 2),
        sample(matrix, ((1, 0), (2, 1))),
        sample(matrix, ((1, 2),)),
        sample(matrix, (1, 2)),
        sample(row, 2, constant_values=1.5),
        sample(matrix, 1, constant_values=((1.0, 2.0), (3.0, 4.0))),
        sample(matrix, ((1,), (2,)), constant_values=(5, 6)),
        sample(matrix.astype(np.float32), 1, constant_values=0.1),
        sample(draw((), -2, 2), 1),
        sample(draw((0,), -2, 2), 1, constant_values=2.0),
        *(sample(row, (1, 2), mode=mode) for mode in (*PICKED, *STATISTICS)),
        *(sample(matrix, ((1, 2), (0, 3)), mode=mode) for mode in ("mean", "maximum")),
        sample(matrix, ((1, 2), (0, 3)), mode="linear_ramp", end_values=((1.0, 2.0), (3.0, 4.0))),
        *(sample(matrix, ((3, 4), (5, 2)), mode=mode) for mode in PICKED),
    ]


pad = composite(
    "pad",
    _pad,
    samples=_pads,
    inputs=("x", "pad_width"),
    numpy=(np.pad,),
    doc="np.pad; the constant frame may be made of Variables.",
)
