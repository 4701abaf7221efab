"""What is pooled in each window of an image: its sum, its mean, its largest element."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, merged, parted
from chainrule.core.depends import FILLS
from chainrule.core.masked import Masked, plain
from chainrule.core.op import Op, Sample, first_recorded, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.define import ZERO, composite, linear, rules
from chainrule.ops.joining import as_array
from chainrule.ops.pooling_lowered import (
    collected_lowered,
    combined_lowered,
    peaks_lowered,
    spread_lowered,
)
from chainrule.ops.samples import draw
from chainrule.ops.windows import (
    Padding,
    Sizes,
    Window,
    inner,
    padded,
    places,
    sizes,
    where_covered,
    windows_of,
)


def _pooled(
    name: str, x: Any, window: Any, stride: Any, padding: Any
) -> tuple[list[Window], tuple[int, ...]]:
    """How the windows lie on the images x, and how many there are along each axis."""
    what = f"{name} of {tuple(x.shape)} with window={window!r}"
    count = len(x.shape) - 2
    if count < 1:
        raise ShapeError(f"{what}: the input must be (images, channels, *space)")
    if x.dtype.kind not in "fciu":
        raise DTypeError(f"{what}: elements of {x.dtype} are not pooled")
    taps = sizes("window", window, count, 1)
    windows = windows_of(taps, taps if stride is None else stride, padding)
    if any(max(w.low, w.high) >= w.size for w in windows):
        raise ArgumentError(f"{what}: a window can lie wholly in padding={padding!r}")
    positions = tuple(w.positions(n) for w, n in zip(windows, x.shape[2:], strict=True))
    if any(p < 1 for p in positions):
        raise ShapeError(f"{what}: the window is larger than the input with padding={padding!r}")
    return windows, positions


def _images(y: Any, lengths: Any) -> Spec:
    """What images of these lengths are, of which y was pooled."""
    return Spec((*y.shape[:2], *lengths), y.dtype)


def _combined(
    ufunc: np.ufunc, x: Any, windows: Sequence[Window], positions: Sequence[int], fill: Any
) -> Any:
    """The elements of each window combined, one axis after the other."""
    x = padded(x, windows, fill)
    for axis, (window, count) in enumerate(zip(windows, positions, strict=True), 2):
        at = (slice(None),) * axis
        first, *others = window.taps(count)
        out = x[(*at, first)].copy()
        for tap in others:
            ufunc(out, x[(*at, tap)], out=out)
        x = out
    return x


def _pool_spec(name: str) -> Any:
    def spec(x: Any, window: Any, stride: Any = None, padding: Any = 0) -> Spec:
        return Spec((*x.shape[:2], *_pooled(name, x, window, stride, padding)[1]), x.dtype)

    return spec


def _sum_pool(x: Any, window: Sizes, stride: Sizes | None = None, padding: Padding = 0) -> Any:
    x = np.asarray(x)
    windows, positions = _pooled("sum_pool", x, window, stride, padding)
    return _combined(np.add, x, windows, positions, 0)


def _sum_unpool(
    y: Any, lengths: Any, window: Sizes, stride: Sizes | None = None, padding: Padding = 0
) -> Any:
    stand_in = _images(y, lengths)
    windows, positions = _pooled("sum_unpool", stand_in, window, stride, padding)
    for axis, (w, n, count) in reversed(
        list(enumerate(zip(windows, lengths, positions, strict=True), 2))
    ):
        at = (slice(None),) * axis
        out = np.zeros((*y.shape[:axis], n + w.low + w.high, *y.shape[axis + 1 :]), y.dtype)
        for tap in w.taps(count):
            out[(*at, tap)] += y
        y = out[(*at, slice(w.low, w.low + n))]
    return np.ascontiguousarray(y)


def _spread_sum(g: Any, x_spec: Any, window: Any, stride: Any, padding: Any) -> Any:
    """Each element gets the adjoints of the windows it is in; in none, it is structurally zero."""
    windows, _ = _pooled("sum_pool", x_spec, window, stride, padding)
    value = sum_unpool(
        g, lengths=tuple(x_spec.shape[2:]), window=window, stride=stride, padding=padding
    )
    return where_covered(value, windows)


def distinct(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Numbers in random order, no two of them close."""
    return np.random.default_rng(seed).permutation(prod(shape)).reshape(shape) * 0.25 - 2


def _pool_samples() -> list[Sample]:
    line, plane = distinct((2, 2, 7)), distinct((2, 1, 5, 6))
    return [
        sample(line, window=2), sample(line, window=3, stride=1, padding=1),
        sample(line, window=2, stride=3), sample(plane, window=2),
        sample(plane, window=(3, 2), stride=(2, 1), padding=(1, (0, 1))),
        sample(distinct((1, 2, 3, 4, 2)), window=(2, 2, 1)),
        sample(plane, window=3, stride=1, padding="same"),
        sample(plane.astype(np.float32), window=2), sample(plane[:0], window=2),
    ]  # fmt: skip


def _bad_pools() -> list[Sample]:
    x = draw((1, 2, 4, 4), -1, 1)
    return [
        sample(x, window=5), sample(x, window=(2, 2, 2)), sample(x, window=0),
        sample(x, window=2, padding=2), sample(x, window=2, stride=0), sample(x[0, 0], window=2),
    ]  # fmt: skip


def _images_lanes(call: BatchCall) -> Any:
    """The images of all lanes are so many more images."""
    return parted(call.call(merged(call.raw(0), 0)), 0, call.count)


sum_pool = linear(
    "sum_pool",
    _sum_pool,
    _spread_sum,
    lower=lambda b, x, window, stride, padding: combined_lowered(
        b, "add", x, *_pooled("sum_pool", x, window, stride, padding), 0
    ),
    samples=_pool_samples,
    bad=_bad_pools,
    spec=_pool_spec("sum_pool"),
    doc="The sum of each window of x (images, channels, *space); beyond the edge are zeros.",
    batch=_images_lanes,
)
sum_unpool = linear(
    "sum_unpool",
    _sum_unpool,
    lambda g, window, stride, padding: sum_pool(g, window=window, stride=stride, padding=padding),
    inputs=("y",),
    depends=FILLS,
    lower=lambda b, y, lengths, **where: spread_lowered(
        b, None, y, lengths, *_pooled("sum_unpool", _images(y, lengths), **where)
    ),
    samples=lambda: [
        sample(_sum_pool(*s.args, **s.attrs) / 4, lengths=s.args[0].shape[2:], **s.attrs)
        for s in _pool_samples()
    ],
    spec=lambda y, lengths, window, stride=None, padding=0: Spec((*y.shape[:2], *lengths), y.dtype),
    doc="The transpose of sum_pool: images of these lengths, in which windows add y.",
    batch=_images_lanes,
)


def _avg_pool(
    x: Any,
    window: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
    count_include_pad: bool = True,
) -> Any:
    x = as_array(x)
    total = sum_pool(x, window=window, stride=stride, padding=padding)
    if count_include_pad:
        return total / prod(sizes("window", window, len(x.shape) - 2, 1))
    ones = np.ones((1, 1, *x.shape[2:]), total.dtype)
    return total / sum_pool(ones, window=window, stride=stride, padding=padding)


avg_pool = composite(
    "avg_pool",
    _avg_pool,
    samples=lambda: [
        *_pool_samples(),
        sample(distinct((1, 1, 5)), window=3, padding=1, count_include_pad=False),
    ],
    bad=_bad_pools,
    doc="The mean of each window; `count_include_pad` tells whether zeros beyond the edge count.",
)

# -- the largest of each window --------------------------------------------------------------------


def _max_pool(x: Any, window: Sizes, stride: Sizes | None = None, padding: Padding = 0) -> Any:
    x = np.asarray(x)
    windows, positions = _pooled("max_pool", x, window, stride, padding)
    if x.dtype.kind == "c":
        raise DTypeError("max_pool of complex numbers: they have no largest")
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return _combined(np.maximum, x, windows, positions, lowest)


def _max_pool_lowered(b: Any, x: Any, window: Any, stride: Any, padding: Any) -> Any:
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    where = _pooled("max_pool", x, window, stride, padding)
    return combined_lowered(b, "maximum", x, *where, lowest)


def _max_peaks(
    x: Any, top: Any, window: Sizes, stride: Sizes | None = None, padding: Padding = 0
) -> Any:
    """Per tap, whether it holds the largest element of its window; a NaN is the largest."""
    windows, positions = _pooled("max_peaks", x, window, stride, padding)
    taps = places(windows, positions)
    around = padded(x, windows, np.nan)  # equal to nothing
    peaks = np.stack([np.equal(around[at], top) for at in taps])
    if np.isnan(top).any():
        unknown = padded(np.isnan(x), windows, False)
        peaks |= np.stack([unknown[at] for at in taps]) & np.isnan(top)
    return peaks


def _max_collect(
    x: Any, peaks: Any, window: Sizes, stride: Sizes | None = None, padding: Padding = 0
) -> Any:
    windows, positions = _pooled("max_collect", x, window, stride, padding)
    around = padded(x, windows)
    out = np.zeros((*x.shape[:2], *positions), x.dtype)
    zero = np.zeros((), x.dtype)
    for at, peak in zip(places(windows, positions), peaks, strict=True):
        out += np.where(peak, around[at], zero)
    return _shared(out, peaks)


def _max_spread(
    y: Any,
    peaks: Any,
    lengths: Any,
    window: Sizes,
    stride: Sizes | None = None,
    padding: Padding = 0,
) -> Any:
    stand_in = _images(y, lengths)
    windows, positions = _pooled("max_spread", stand_in, window, stride, padding)
    share, zero = _shared(y, peaks), np.zeros((), y.dtype)
    out = padded(np.zeros(stand_in.shape, y.dtype), windows)
    for at, peak in zip(places(windows, positions), peaks, strict=True):
        out[at] += np.where(peak, share, zero)
    return np.ascontiguousarray(out[inner(lengths, windows)])


def _reached(peaks: Any, shape: tuple[int, ...], window: Any, stride: Any, padding: Any) -> Any:
    """Which elements of images of this shape are a peak of some window."""
    windows, positions = _pooled(
        "max_spread", Spec(shape, np.dtype(np.int8)), window, stride, padding
    )
    out = padded(np.zeros(shape, bool), windows)
    for at, peak in zip(places(windows, positions), peaks, strict=True):
        out[at] |= peak
    return out[inner(shape[2:], windows)]


def _shared(y: Any, peaks: Any) -> Any:
    """y over the number of peaks in each window: the largest elements share equally."""
    count = np.sum(peaks, axis=0, dtype=np.int32)
    return y / np.maximum(count, 1).astype(y.dtype) if (count > 1).any() else y


def _pull_max(g: Any, x: Any, out: Any, window: Any, stride: Any, padding: Any) -> Any:
    """The adjoint goes to the largest element of each window; all others are structurally zero."""
    where = {"window": window, "stride": stride, "padding": padding}
    peaks = max_peaks(x, out, **where)
    where_to = {"lengths": tuple(x.shape[2:]), **where}
    known = plain(peaks)
    if first_recorded((known,)) is None:
        alive = _reached(known, x.shape, **where)
    else:
        alive = max_spread(np.ones(out.shape), known, **where_to) != 0
    return Masked(max_spread(g, peaks, **where_to), alive)


def _push_max(t: Any, x: Any, out: Any, window: Any, stride: Any, padding: Any) -> Any:
    where = {"window": window, "stride": stride, "padding": padding}
    return max_collect(t, max_peaks(x, out, **where), **where)


def _peak_samples() -> list[Sample]:
    found = [s for s in _pool_samples() if s.args[0].size]
    tied = np.array([[[1.0, 1.0, 0.0, 2.0, 2.0, 2.0]]])
    return [*found, sample(tied, window=3, stride=1, padding=1)]


def _with_peaks(s: Sample) -> tuple[Any, Any]:
    (x,) = s.args
    top = _max_pool(x, **s.attrs)
    return top, _max_peaks(x, top, **s.attrs)


max_pool = rules(
    "max_pool",
    _max_pool,
    reverse=(_pull_max,),
    push=(_push_max,),
    lower=_max_pool_lowered,
    samples=_pool_samples,
    edges=lambda: [
        sample(np.zeros((1, 1, 4)), window=2),
        sample(np.full((1, 1, 3), -np.inf), window=3, stride=1, padding=1),
        sample(np.array([[[1.0, 1.0, 0.0, 2.0, 2.0, 2.0]]]), window=3, stride=1),
    ],
    bad=lambda: [*_bad_pools(), sample(draw((1, 1, 4), -1, 1) * 1j, window=2)],
    kinks=lambda x, window, stride=None, padding=0: (
        _with_peaks(sample(x, window=window, stride=stride, padding=padding))[1].sum(axis=0) > 1
    ),
    spec=_pool_spec("max_pool"),
    doc="The largest element of each window of images x (images, channels, *space).",
    batch=_images_lanes,
)


def _peaks_lanes(call: BatchCall) -> Any:
    """Images stand along the second axis of peaks."""
    return parted(call.call(*(merged(call.spread(i), 0) for i in (0, 1))), 1, call.count)


def _peaked_lanes(call: BatchCall) -> Any:
    found = call.call(merged(call.spread(0), 0), merged(call.spread(1), 1))
    return parted(found, 0, call.count)


max_peaks = rules(
    "max_peaks",
    _max_peaks,
    derivative=ZERO,
    inputs=("x", "top"),
    lower=lambda b, x, top, **where: peaks_lowered(b, x, top, *_pooled("max_peaks", x, **where)),
    samples=lambda: [sample(*s.args, _with_peaks(s)[0], **s.attrs) for s in _peak_samples()],
    spec=lambda x, top, window, stride=None, padding=0: Spec(
        (prod(sizes("window", window, len(x.shape) - 2, 1)), *top.shape), np.dtype(bool)
    ),
    doc="Which elements of each window equal its largest one, `top`: one boolean array per tap.",
    batch=_peaks_lanes,
)
max_collect = linear(
    "max_collect",
    _max_collect,
    (
        lambda g, peaks, x_spec, window, stride, padding: max_spread(
            g, peaks, lengths=tuple(x_spec.shape[2:]), window=window, stride=stride, padding=padding
        ),
        None,
    ),
    inputs=("x", "peaks"),
    lower=lambda b, x, peaks, **where: collected_lowered(
        b, x, peaks, *_pooled("max_collect", x, **where)
    ),
    samples=lambda: [sample(*s.args, _with_peaks(s)[1], **s.attrs) for s in _peak_samples()],
    spec=lambda x, peaks, window, stride=None, padding=0: Spec(peaks.shape[1:], x.dtype),
    doc="The mean of x over the peaks of each window: the derivative of max_pool.",
    batch=_peaked_lanes,
)
max_spread: Op = linear(
    "max_spread",
    _max_spread,
    (
        lambda g, peaks, window, stride, padding: max_collect(
            g, peaks, window=window, stride=stride, padding=padding
        ),
        None,
    ),
    inputs=("y", "peaks"),
    depends=FILLS,
    lower=lambda b, y, peaks, lengths, **where: spread_lowered(
        b, peaks, y, lengths, *_pooled("max_spread", _images(y, lengths), **where)
    ),
    samples=lambda: [
        sample(*_with_peaks(s), lengths=s.args[0].shape[2:], **s.attrs) for s in _peak_samples()
    ],
    spec=lambda y, peaks, lengths, window, stride=None, padding=0: Spec(
        (*y.shape[:2], *lengths), y.dtype
    ),
    doc="The transpose of max_collect: y shared out among the peaks of each window.",
    batch=_peaked_lanes,
)
