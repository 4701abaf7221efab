"""Windows that slide over an array: how they lie, the view of all of them, and its transpose."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from chainrule.core.batching import BatchCall, behind
from chainrule.core.masked import Masked
from chainrule.core.op import Op, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError
from chainrule.ops.define import linear
from chainrule.ops.samples import draw

MAX_TAPS = 128  # of windows that machine code goes through one by one
Sizes = int | Sequence[int]
Padding = Sizes | Sequence[Sequence[int]] | str


class Window(NamedTuple):
    """Windows along one padded axis: `size` taps, `dilation` apart, one window every `stride`."""

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    dilation: int = 1

    @property
    def reach(self) -> int:
        return self.dilation * (self.size - 1) + 1

    def positions(self, length: int) -> int:
        """How many windows fit on an axis of this length."""
        return (length + self.low + self.high - self.reach) // self.stride + 1

    def leftover(self, length: int) -> int:
        """How many elements at the end of the padded axis no window reaches."""
        return (length + self.low + self.high - self.reach) % self.stride

    def length(self, positions: int) -> int:
        """The shortest axis on which so many windows fit."""
        return (positions - 1) * self.stride + self.reach - self.low - self.high

    def taps(self, positions: int) -> list[slice]:
        """Per tap, where the windows read it on the padded axis."""
        span = (positions - 1) * self.stride + 1
        return [
            slice(k * self.dilation, k * self.dilation + span, self.stride)
            for k in range(self.size)
        ]


def sizes(name: str, value: Any, count: int, least: int) -> tuple[int, ...]:
    """`count` integers; a single one counts for all."""
    try:
        single = not isinstance(value, (tuple, list, np.ndarray))
        each = (value,) * count if single else tuple(value)
        each = tuple(operator.index(v) for v in each)
    except TypeError:
        raise ArgumentError(f"{name}={value!r}: integers are needed") from None
    if len(each) != count:
        raise ArgumentError(f"{name}={value!r} gives {len(each)} numbers where {count} are needed")
    if any(v < least for v in each):
        raise ArgumentError(f"{name}={value!r}: the least possible is {least}")
    return each


def paddings(
    value: Any, taps: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> list[Any]:
    """(before, after) per spatial axis, of a number, a number or pair per axis, or a word."""
    if not isinstance(value, str):
        each = value if isinstance(value, (tuple, list)) else (value,) * len(taps)
        if len(each) != len(taps):
            raise ArgumentError(
                f"padding={value!r} is for {len(each)} spatial axes, there are {len(taps)}"
            )
        return [sizes("padding", p, 2, 0) for p in each]
    if value not in ("same", "valid"):
        raise ArgumentError(f'padding={value!r}; it is a number, one per axis, "same" or "valid"')
    if value == "same" and any(s != 1 for s in stride):
        raise ArgumentError('padding="same" needs stride=1')
    totals = [d * (k - 1) if value == "same" else 0 for k, d in zip(taps, dilation, strict=True)]
    return [(t // 2, t - t // 2) for t in totals]


def windows_of(taps: Sequence[int], stride: Any, padding: Any, dilation: Any = 1) -> list[Window]:
    count = len(taps)
    strides, dilations = sizes("stride", stride, count, 1), sizes("dilation", dilation, count, 1)
    pads = paddings(padding, taps, strides, dilations)
    return [
        Window(k, s, low, high, d)
        for k, s, (low, high), d in zip(taps, strides, pads, dilations, strict=True)
    ]


def padded(x: Any, windows: Sequence[Window], fill: Any = 0) -> Any:
    """x with `fill` around its last axes."""
    if not any(w.low or w.high for w in windows):
        return x
    lead = len(x.shape) - len(windows)
    around = [n + w.low + w.high for n, w in zip(x.shape[lead:], windows, strict=True)]
    out = np.full((*x.shape[:lead], *around), fill, x.dtype)
    out[inner(x.shape[lead:], windows)] = x
    return out


def inner(lengths: Sequence[int], windows: Sequence[Window]) -> tuple[Any, ...]:
    """The index of the data in a padded array."""
    return (..., *(slice(w.low, w.low + n) for n, w in zip(lengths, windows, strict=True)))


def covered(shape: Sequence[int], windows: Sequence[Window]) -> Any:
    """Which elements of an array of this shape some window reads; None for all of them."""
    lead = len(shape) - len(windows)
    alive: Any = np.ones((), bool)
    for n, w in zip(shape[lead:], windows, strict=True):
        line = np.zeros(n + w.low + w.high, bool)
        for tap in w.taps(w.positions(n)):
            line[tap] = True
        alive = np.logical_and.outer(alive, line[w.low : w.low + n])
    return None if alive.all() else np.broadcast_to(alive, shape)


def places(windows: Sequence[Window], positions: Sequence[int]) -> list[tuple[Any, ...]]:
    """Per tap of the window, where on the padded images the windows have it."""
    taps = [w.taps(p) for w, p in zip(windows, positions, strict=True)]
    return [
        (..., *(along[k] for along, k in zip(taps, offset, strict=True)))
        for offset in np.ndindex(*(w.size for w in windows))
    ]


def where_covered(value: Any, windows: Sequence[Window]) -> Any:
    """An adjoint of windowed data; elements that no window reads are structurally zero."""
    alive = covered(value.shape, windows)
    return value if alive is None else Masked(value, alive)


# -- every window ----------------------------------------------------------------------------------


def _overlap_add(y: Any, shape: Sequence[int], axis: Any = None) -> Any:
    """The elements of every window back at their places, added where windows overlap."""
    rank = len(shape)
    axes = range(rank) if axis is None else normalize_axis_tuple(axis, rank, allow_duplicate=True)
    out = np.zeros(shape, y.dtype)
    for offset in np.ndindex(*y.shape[rank:]):
        start = [0] * rank
        for a, k in zip(axes, offset, strict=True):  # an axis may come twice
            start[a] += k
        at = tuple(slice(s, s + n) for s, n in zip(start, y.shape[:rank], strict=True))
        out[at] += y[(..., *offset)]
    return out


def _sliding_lowered(b: Any, x: Any, window_shape: Any, axis: Any) -> Any:
    taps = tuple(np.atleast_1d(window_shape).tolist())
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, None, True)
    lengths, steps = list(x.shape), [{i: 1} for i in range(x.ndim)]
    for k, (a, size) in enumerate(zip(axes, taps, strict=True), x.ndim):
        lengths[a] -= size - 1
        steps[a][k] = 1
    return b.sliding(x, (*lengths, *taps), steps)


def _overlap_lowered(b: Any, y: Any, shape: Sequence[int], axis: Any) -> Any:
    rank = len(shape)
    taps = y.shape[rank:]
    if prod(taps) > MAX_TAPS:
        return None
    axes = range(rank) if axis is None else normalize_axis_tuple(axis, rank, None, True)
    pieces = []
    for offset in np.ndindex(*taps):
        start = [0] * rank
        for a, k in zip(axes, offset, strict=True):
            start[a] += k
        at = tuple(slice(s, s + n) for s, n in zip(start, y.shape[:rank], strict=True))
        pieces.append((b.getitem(y, (..., *offset)), at))
    return b.overlap(tuple(shape), y.dtype, pieces)


def _sliding_lanes(call: BatchCall) -> Any:
    axes = behind(call.attrs["axis"], call.rank(0))
    return call.call(call.raw(0), axis=axes)


def _overlap_lanes(call: BatchCall) -> Any:
    shape = call.attrs["shape"]
    axes = behind(call.attrs["axis"], len(shape))
    return call.call(call.raw(0), shape=(call.count, *shape), axis=axes)


sliding_window_view = linear(
    "sliding_window_view",
    lambda x, window_shape, axis=None: np.lib.stride_tricks.sliding_window_view(
        x, window_shape, axis
    ),
    lambda g, x_spec, axis: overlap_add(g, shape=tuple(x_spec.shape), axis=axis),
    samples=lambda: [
        sample(draw((5,), -1, 1), window_shape=3),
        sample(draw((3, 4), -1, 1), window_shape=(2, 3)),
        sample(draw((3, 4), -1, 1), window_shape=2, axis=-1),
        sample(draw((3, 4), -1, 1), window_shape=(2, 2), axis=(1, 1)),
        sample(draw((4,), -1, 1).astype(np.float32), window_shape=(1,)),
    ],
    bad=lambda: [
        sample(draw((3,), -1, 1), window_shape=4),
        sample(draw((3, 4), -1, 1), window_shape=2),
        sample(draw((3,), -1, 1), window_shape=2, axis=1),
    ],
    numpy=(np.lib.stride_tricks.sliding_window_view,),
    lower=_sliding_lowered,
    view=True,
    batch=_sliding_lanes,
)
overlap_add: Op = linear(
    "overlap_add",
    _overlap_add,
    lambda g, y_spec, shape, axis: sliding_window_view(
        g, window_shape=tuple(y_spec.shape[len(shape) :]), axis=axis
    ),
    inputs=("y",),
    samples=lambda: [
        sample(draw((3, 3), -1, 1), shape=(5,)),
        sample(draw((2, 2, 2, 3), -1, 1), shape=(3, 4)),
        sample(draw((3, 2, 2, 2), -1, 1), shape=(3, 4), axis=(1, -1)),
    ],
    bad=lambda: [sample(draw((3, 3), -1, 1), shape=(5,), axis=1)],
    spec=lambda y, shape, axis=None: Spec(tuple(shape), y.dtype),
    lower=_overlap_lowered,
    doc="The transpose of sliding_window_view: an array of this shape, from its windows.",
    batch=_overlap_lanes,
)
