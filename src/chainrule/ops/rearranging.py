"""Moving and repeating the lanes of an array: flip, rot90, roll, tile, repeat, resize, pad.

Whatever only picks lanes is found by doing it to their numbers: NumPy pads, repeats or resizes
0, 1, 2, …, and what comes out says which lane of x stands where.  So every odd argument means
what it means in NumPy, and the derivative is that of indexing.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from chainrule.core.batching import Axes, BatchCall, lifted
from chainrule.core.depends import FILLS
from chainrule.core.masked import settled
from chainrule.core.op import Sample, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from chainrule.ops.define import composite, linear, same_shape, shaped_spec
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw
from chainrule.ops.shape import ravel, reshape, transpose
from chainrule.ops.structure import cast_into
from chainrule.ops.structure import copy as copy_of

Pairs = tuple[tuple[int, int], ...]


def numbered(x: Any) -> Any:
    """The lanes of x by their number, in x's shape."""
    return np.arange(x.size).reshape(x.shape)


def picked(x: Any, plan: Any) -> Any:
    """The array whose lanes are the lanes of x that `plan` numbers."""
    return reshape(x, -1)[plan]


# -- turning ----------------------------------------------------------------------------------


def _flip(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    x = as_array(x)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    return x[tuple(slice(None, None, -1 if a in axes else None) for a in range(x.ndim))]


def _flip_samples() -> list[Sample]:
    x = draw((2, 3, 4), -2, 2)
    return [sample(x), sample(x, axis=1), sample(x, axis=(0, -1)), sample(draw((), -2, 2))]


flip = composite("flip", _flip, samples=_flip_samples, numpy=(np.flip,))


def _flip_rows(x: Any) -> Any:
    x = as_array(x)
    if x.ndim < 1:
        raise ArgumentError("flipud takes an array of at least one axis")
    return _flip(x, 0)


def _flip_columns(x: Any) -> Any:
    x = as_array(x)
    if x.ndim < 2:
        raise ArgumentError("fliplr takes an array of at least two axes")
    return _flip(x, 1)


def _matrices() -> list[Sample]:
    return [sample(draw((2, 3), -2, 2)), sample(draw((2, 3, 2), -2, 2))]


flipud = composite("flipud", _flip_rows, samples=_matrices, numpy=(np.flipud,))
fliplr = composite("fliplr", _flip_columns, samples=_matrices, numpy=(np.fliplr,))


def _rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """NumPy's own recipe: a quarter turn is a transpose and a flip."""
    x = as_array(x)
    first, second = normalize_axis_tuple(tuple(axes), x.ndim, "axes")
    if k % 4 == 0:
        return x[...]
    if k % 4 == 2:
        return _flip(x, (first, second))
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    if k % 4 == 1:
        return transpose(_flip(x, second), axes=tuple(order))
    return _flip(transpose(x, axes=tuple(order)), second)


rot90 = composite(
    "rot90",
    _rot90,
    samples=lambda: [
        *(sample(draw((2, 3), -2, 2), k=k) for k in (-1, 0, 1, 2, 3)),
        sample(draw((2, 3, 4), -2, 2), k=1, axes=(1, 2)),
        sample(draw((2, 3, 4), -2, 2), k=3, axes=(-1, 0)),
    ],
    numpy=(np.rot90,),
)


def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    return np.roll(x, shift, axis)


def _roll_back(g: Any, shift: Any, axis: Any) -> Any:
    back = -shift if isinstance(shift, (int, np.integer)) else tuple(-int(s) for s in shift)
    return np.roll(g, back, axis)


def _roll_lowered(b: Any, x: Any, shift: Any, axis: Any) -> Any:
    if axis is None:
        flat = _roll_lowered(b, b.reshape(x, (-1,)), int(np.sum(shift)), 0)
        return b.reshape(flat, x.shape)
    steps: dict[int, int] = {}
    for by, a in np.broadcast(shift, axis):
        steps[a % x.ndim] = steps.get(a % x.ndim, 0) + int(by)
    for a, by in steps.items():
        cut = -by % max(x.shape[a], 1)
        if cut:
            at = (slice(None),) * a
            parts = (slice(cut, None), slice(cut))
            x = b.concatenate([b.getitem(x, (*at, part)) for part in parts], a)
    return x


roll = linear(
    "roll",
    _roll,
    _roll_back,
    samples=lambda: [
        sample(draw((4,), -2, 2), shift=1),
        sample(draw((2, 3), -2, 2), shift=-2),
        sample(draw((2, 3), -2, 2), shift=4, axis=1),
        sample(draw((2, 3), -2, 2), shift=(1, -1), axis=(0, 1)),
        sample(draw((2, 3), -2, 2), shift=2, axis=(0, -1)),
        sample(draw((2, 3), -2, 2), shift=(1, 2), axis=1),
        sample(draw((), -2, 2), shift=1),
        sample(draw((3,), -2, 2).astype(np.float32), shift=1),
    ],
    bad=lambda: [
        sample(draw((2, 3), -2, 2), shift=1, axis=2),
        sample(draw((2, 3), -2, 2), shift=(1, 2, 3), axis=(0, 1)),
    ],
    spec=shaped_spec(_roll, same_shape),
    numpy=(np.roll,),
    lower=_roll_lowered,
    batch=Axes("axis", flat=True),
)


# -- repeating --------------------------------------------------------------------------------


def _tile(x: Any, reps: Any) -> Any:
    return np.tile(x, _numbers(reps))


def _numbers(reps: Any) -> tuple[int, ...]:
    """As Python integers: NumPy would ask us again for those of a Variable."""
    return tuple(operator.index(r) for r in np.ravel(reps))


def _copies(x: Any, reps: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How often each axis is repeated, and its size; missing axes are put in front."""
    copies = _numbers(reps)
    if any(r < 0 for r in copies):
        raise ArgumentError(f"tile: reps={reps!r} holds a negative number")
    ndim = max(len(copies), len(x.shape))
    return (1,) * (ndim - len(copies)) + copies, (1,) * (ndim - len(x.shape)) + x.shape


def _tile_spec(x: Any, reps: Any) -> Spec:
    copies, sizes = _copies(x, reps)
    return Spec(tuple(map(operator.mul, copies, sizes)), x.dtype)


def _tile_back(g: Any, x_spec: Any, reps: Any) -> Any:
    """The sum over all copies: g cut into (copies, size) along each axis."""
    copies, sizes = _copies(x_spec, reps)
    ndim = len(sizes)
    cut = np.reshape(g, tuple(n for pair in zip(copies, sizes, strict=True) for n in pair))
    return np.reshape(np.sum(cut, axis=tuple(range(0, 2 * ndim, 2))), x_spec.shape)


def _tile_lowered(b: Any, x: Any, reps: Any) -> Any:
    copies, sizes = _copies(x, reps)
    apart = b.reshape(x, [n for size in sizes for n in (1, size)])
    pairs = tuple(zip(copies, sizes, strict=True))
    spread = b.broadcast_to(apart, tuple(n for pair in pairs for n in pair))
    return b.reshape(spread, [times * n for times, n in pairs])


def _tile_lanes(call: BatchCall) -> Any:
    reps = _numbers(call.attrs["reps"])
    rank = max(len(reps), call.rank(0))
    return call.call(lifted(call.raw(0), rank), reps=((1,) * (rank - len(reps) + 1) + reps))


tile = linear(
    "tile",
    _tile,
    _tile_back,
    samples=lambda: [
        sample(draw((3,), -2, 2), reps=2),
        sample(draw((2, 3), -2, 2), reps=(2, 1)),
        sample(draw((2, 3), -2, 2), reps=2),
        sample(draw((3,), -2, 2), reps=(2, 2, 1)),
        sample(draw((2, 3), -2, 2), reps=(0, 2)),
        sample(draw((), -2, 2), reps=(2, 3)),
        sample(draw((2, 0), -2, 2), reps=2),
        sample(draw((2,), -2, 2), reps=()),
        sample(draw((3,), -2, 2).astype(np.float32), reps=2),
    ],
    bad=lambda: [sample(draw((3,), -2, 2), reps=-1)],
    spec=_tile_spec,
    numpy=(np.tile,),
    lower=_tile_lowered,
    batch=_tile_lanes,
)


def _repeat_back(g: Any, x_spec: Any, times: int, axis: int) -> Any:
    """The sum over the copies of each lane, which stand side by side."""
    before, after = x_spec.shape[: axis + 1], x_spec.shape[axis + 1 :]
    return np.sum(np.reshape(g, (*before, times, *after)), axis=axis + 1)


def _repeat_each(x: Any, times: int, axis: int) -> Any:
    return np.repeat(x, times, axis)


def _repeat_spec(x: Any, times: int, axis: int) -> Spec:
    at, times = normalize_axis_index(axis, x.ndim), operator.index(times)
    if times < 0:
        raise ArgumentError(f"repeat: times={times} is negative")
    return Spec((*x.shape[:at], x.shape[at] * times, *x.shape[at + 1 :]), x.dtype)


def _repeat_lowered(b: Any, x: Any, times: int, axis: int) -> Any:
    before, after = x.shape[: axis + 1], x.shape[axis + 1 :]
    spread = b.broadcast_to(b.reshape(x, (*before, 1, *after)), (*before, times, *after))
    return b.reshape(spread, (*before[:-1], before[-1] * times, *after))


repeat_each = linear(
    "repeat_each",
    _repeat_each,
    _repeat_back,
    samples=lambda: [
        sample(draw((3,), -2, 2), times=2, axis=0),
        sample(draw((2, 3), -2, 2), times=3, axis=1),
        sample(draw((2, 3), -2, 2), times=0, axis=0),
        sample(draw((3,), -2, 2).astype(np.float32), times=2, axis=0),
    ],
    bad=lambda: [sample(draw((3,), -2, 2), times=-1, axis=0)],
    spec=_repeat_spec,
    lower=_repeat_lowered,
    doc="Every lane along an axis, several times in a row: np.repeat with one number.",
    batch=Axes("axis"),
)


def _repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    x, repeats = as_array(x), np.asarray(settled(repeats))
    if axis is None:
        x, axis = ravel(x), 0
    if repeats.ndim == 0 and repeats.dtype.kind in "iu":
        return repeat_each(x, int(repeats), normalize_axis_index(axis, x.ndim))
    return picked(x, np.repeat(numbered(x), repeats, axis))


repeat = composite(
    "repeat",
    _repeat,
    samples=lambda: [
        sample(draw((3,), -2, 2), 2),
        sample(draw((2, 3), -2, 2), 2),
        sample(draw((2, 3), -2, 2), 3, axis=-1),
        sample(draw((2, 3), -2, 2), np.array([2, 0, 1]), axis=1),
        sample(draw((2, 3), -2, 2), np.array([2]), axis=0),
        sample(draw((3,), -2, 2), [1, 2, 3]),
        sample(draw((), -2, 2), 2),
    ],
    inputs=("x", "repeats"),
    numpy=(np.repeat,),
)


def _resize(x: Any, new_shape: Any) -> Any:
    x = as_array(x)
    plan = np.resize(np.arange(x.size), new_shape)
    return picked(x, plan) if x.size else np.zeros(plan.shape, x.dtype)


resize = composite(
    "resize",
    _resize,
    samples=lambda: [
        sample(draw((2, 3), -2, 2), new_shape=(2, 2)),
        sample(draw((2, 3), -2, 2), new_shape=(4, 4)),
        sample(draw((3,), -2, 2), new_shape=7),
        sample(draw((0,), -2, 2), new_shape=(2, 2)),
        sample(draw((3,), -2, 2), new_shape=(0, 2)),
    ],
    numpy=(np.resize,),
)


# -- padding ----------------------------------------------------------------------------------


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


STATISTICS = {"mean": np.mean, "maximum": np.max, "minimum": np.min, "median": np.median}


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
                middle = STATISTICS[mode](x, axis=axis, keepdims=True)  # type: ignore[operator]
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
    if mode not in ("edge", "reflect", "symmetric", "wrap") or reflect_type != "even":
        raise UnsupportedError(
            f"np.pad of a Variable with mode={mode!r} and reflect_type={reflect_type!r}: it takes "
            "NumPy's modes by name, and even reflections"
        )
    return picked(x, np.pad(numbered(x), widths, mode=mode))  # type: ignore[call-overload]


def _pads() -> list[Sample]:
    row, matrix = draw((4,), -2, 2), draw((2, 3), -2, 2)
    picking = ("edge", "reflect", "symmetric", "wrap")
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
        *(sample(row, (1, 2), mode=mode) for mode in (*picking, *STATISTICS)),
        *(sample(matrix, ((1, 2), (0, 3)), mode=mode) for mode in ("mean", "maximum")),
        sample(matrix, ((1, 2), (0, 3)), mode="linear_ramp", end_values=((1.0, 2.0), (3.0, 4.0))),
        *(sample(matrix, ((3, 4), (5, 2)), mode=mode) for mode in picking),
    ]


pad = composite(
    "pad",
    _pad,
    samples=_pads,
    inputs=("x", "pad_width"),
    numpy=(np.pad,),
    doc="np.pad; the constant frame may be made of Variables.",
)
