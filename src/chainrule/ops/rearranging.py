"""Moving and repeating the lanes of an array: flip, rot90, roll, tile, repeat, resize.

Whatever only picks lanes is found by doing it to their numbers: NumPy repeats or resizes
0, 1, 2, …, and what comes out says which lane of x stands where.  So every odd argument means
what it means in NumPy, and the derivative is that of indexing.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from chainrule.core.batching import Axes, BatchCall, lifted
from chainrule.core.masked import settled
from chainrule.core.op import Sample, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError
from chainrule.ops.define import composite, linear, same_shape, shaped_spec
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw
from chainrule.ops.shape import ravel, reshape, transpose


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
