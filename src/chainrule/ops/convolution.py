"""The convolution of images with the kernels of a network, and its two transposes.

It is one trilinear form in three arrays, images x, weights w and results y:

    Σ  x[n, c, s·p + d·k − pad] · w[o, c, k] · y[n, o, p]    over n, o, c, positions p, offsets k

Three ops each take two of the arrays to the third: `conv` (x, w → y), `conv_transpose` (y, w → x),
`conv_weight` (x, y → w).  The derivatives of each are the other two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from chainrule.core.op import Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.convolution_lanes import conv_lanes, conv_transpose_lanes, conv_weight_lanes
from chainrule.ops.define import multilinear
from chainrule.ops.samples import draw
from chainrule.ops.windows import (
    Padding,
    Sizes,
    Window,
    inner,
    padded,
    sizes,
    where_covered,
    windows_of,
)

BATCH_BYTES = 1 << 19  # of unfolded windows at a time: they stay in the second-level cache


def _unfolded(x: Any, windows: Sequence[Window]) -> Any:
    """The windows on x as a view of shape (N, C, *taps, *positions) of x padded."""
    count = len(windows)
    axes = tuple(range(2, 2 + count))
    view = np.lib.stride_tricks.sliding_window_view(
        padded(x, windows), tuple(w.reach for w in windows), axes
    )
    every = (slice(None, None, w.stride) for w in windows)
    view = view[
        (slice(None), slice(None), *every, *(slice(None, None, w.dilation) for w in windows))
    ]
    return view.transpose(0, 1, *(a + count for a in axes), *axes)


def _batches(images: int, unfolded: int, dtype: Any) -> Iterator[slice]:
    """As many images at a time as the cache holds windows of, `unfolded` elements for each."""
    step = max(1, BATCH_BYTES // max(1, unfolded * dtype.itemsize))
    return (slice(start, start + step) for start in range(0, images, step))


# -- the three faces -----------------------------------------------------------------------------


def _described(name: str, x: Any, w: Any) -> str:
    return f"{name} of {tuple(x.shape)} with weights {tuple(w.shape)}"


def _check_weights(what: str, x: Any, w: Any, groups: int) -> None:
    if len(w.shape) < 3 or len(x.shape) != len(w.shape):
        raise ShapeError(
            f"{what}: the input must be (images, channels, *space) and the weights (channels out, "
            "channels in, *kernel), with as many axes"
        )
    sizes("groups", groups, 1, 1)
    if w.shape[0] % groups:
        raise ShapeError(f"{what}: {w.shape[0]} channels do not divide into groups={groups}")
    if 0 in w.shape[2:]:
        raise ShapeError(f"{what}: the kernel is empty")


def _positions(what: str, lengths: Sequence[int], windows: Sequence[Window]) -> tuple[int, ...]:
    """The number of windows per spatial axis."""
    around = tuple(n + w.low + w.high for n, w in zip(lengths, windows, strict=True))
    reach = tuple(w.reach for w in windows)
    if any(r > n for r, n in zip(reach, around, strict=True)):
        raise ShapeError(
            f"{what}: the kernel reaches over {reach}, the padded input is only {around}"
        )
    return tuple(w.positions(n) for n, w in zip(lengths, windows, strict=True))


def _conv_spec(
    x: Any, w: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Spec:
    what = _described("conv", x, w)
    _check_weights(what, x, w, groups)
    if x.shape[1] != w.shape[1] * groups:
        raise ShapeError(
            f"{what}: the input has {x.shape[1]} channels, "
            f"the weights take {w.shape[1] * groups} (groups={groups})"
        )
    windows = windows_of(w.shape[2:], stride, padding, dilation)
    positions = _positions(what, x.shape[2:], windows)
    return Spec((x.shape[0], w.shape[0], *positions), np.result_type(x.dtype, w.dtype))


def _conv(
    x: Any, w: Any, stride: Sizes = 1, padding: Padding = 0, dilation: Sizes = 1, groups: int = 1
) -> Any:
    x, w = np.asarray(x), np.asarray(w)
    spec = _conv_spec(x, w, stride, padding, dilation, groups)
    view = _unfolded(x, windows_of(w.shape[2:], stride, padding, dilation))
    matrix = w.reshape(groups, w.shape[0] // groups, prod(w.shape[1:]))
    points = prod(spec.shape[2:])
    out = np.empty((x.shape[0], groups, matrix.shape[1], points), spec.dtype)
    for part in _batches(x.shape[0], prod(view.shape[1:]), spec.dtype):
        into = out[part]
        columns = view[part].reshape(len(into), groups, matrix.shape[2], points)
        np.matmul(matrix, columns, out=into)
    return out.reshape(spec.shape)


def _transpose_spec(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Spec:
    what = _described("conv_transpose", x, w)
    _check_weights(what, x, w, groups)
    if x.shape[1] != w.shape[0]:
        raise ShapeError(
            f"{what}: the input has {x.shape[1]} channels, the weights take {w.shape[0]}"
        )
    windows = windows_of(w.shape[2:], stride, padding, dilation)
    extra = sizes("output_padding", output_padding, len(windows), 0)
    if any(e >= v.stride for e, v in zip(extra, windows, strict=True)):
        raise ArgumentError(
            f"{what}: output_padding={output_padding!r} must be less than stride={stride!r}"
        )
    lengths = tuple(v.length(p) + e for v, p, e in zip(windows, x.shape[2:], extra, strict=True))
    if any(n < 1 for n in lengths):
        raise ShapeError(f"{what}: padding={padding!r} leaves a result of size {lengths}")
    return Spec((x.shape[0], w.shape[1] * groups, *lengths), np.result_type(x.dtype, w.dtype))


def _conv_transpose(
    x: Any,
    w: Any,
    stride: Sizes = 1,
    padding: Padding = 0,
    output_padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Any:
    x, w = np.asarray(x), np.asarray(w)
    spec = _transpose_spec(x, w, stride, padding, output_padding, dilation, groups)
    (images, channels, *lengths), positions = spec.shape, x.shape[2:]
    windows = windows_of(w.shape[2:], stride, padding, dilation)
    matrix = w.reshape(groups, w.shape[0] // groups, prod(w.shape[1:])).transpose(0, 2, 1)
    rows = x.reshape(images, groups, matrix.shape[2], prod(positions))
    around = [n + v.low + v.high for n, v in zip(lengths, windows, strict=True)]
    out = np.zeros((images, channels, *around), spec.dtype)
    taps = [v.taps(p) for v, p in zip(windows, positions, strict=True)]
    for part in _batches(images, prod((channels, *w.shape[2:], *positions)), spec.dtype):
        into = out[part]
        spread = np.matmul(matrix, rows[part]).reshape(
            len(into), channels, *w.shape[2:], *positions
        )
        for offset in np.ndindex(*w.shape[2:]):
            at = (slice(None), slice(None), *(tap[k] for tap, k in zip(taps, offset, strict=True)))
            into[at] += spread[(slice(None), slice(None), *offset)]
    return np.ascontiguousarray(out[inner(lengths, windows)])


def _weight_spec(
    x: Any,
    y: Any,
    kernel: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Spec:
    what = f"conv_weight of {tuple(x.shape)} with results {tuple(y.shape)}"
    taps = sizes("kernel", kernel, len(x.shape) - 2, 1)
    if x.shape[1] % groups or y.shape[1] % groups:
        raise ShapeError(f"{what}: the channels do not divide into groups={groups}")
    positions = _positions(what, x.shape[2:], windows_of(taps, stride, padding, dilation))
    if (x.shape[0], *positions) != (y.shape[0], *y.shape[2:]):
        raise ShapeError(f"{what}: there are {positions} positions in each of {x.shape[0]} images")
    return Spec((y.shape[1], x.shape[1] // groups, *taps), np.result_type(x.dtype, y.dtype))


def _conv_weight(
    x: Any,
    y: Any,
    kernel: Any,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    spec = _weight_spec(x, y, kernel, stride, padding, dilation, groups)
    images, count = x.shape[0], len(spec.shape) - 2
    view = _unfolded(x, windows_of(spec.shape[2:], stride, padding, dilation))
    view = np.moveaxis(view, 0, 1 + count)  # channels, taps, images, positions: one long product
    out = np.zeros((groups, spec.shape[0] // groups, prod(spec.shape[1:])), spec.dtype)
    results = np.moveaxis(y, 0, 1)
    for part in _batches(images, prod(view.shape) // max(1, images), spec.dtype):
        columns = view[(slice(None),) * (1 + count) + (part,)].reshape(groups, out.shape[2], -1)
        rows = results[:, part].reshape(groups, out.shape[1], columns.shape[2])
        out += np.matmul(rows, columns.transpose(0, 2, 1))
    return out.reshape(spec.shape)


def _images(
    y: Any, w: Any, x_spec: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """conv_transpose(y, w), as large as x; what no window reads is structurally zero."""
    windows = windows_of(w.shape[2:], stride, padding, dilation)
    extra = tuple(v.leftover(n) for v, n in zip(windows, x_spec.shape[2:], strict=True))
    value = conv_transpose(
        y, w, stride=stride, padding=padding, output_padding=extra, dilation=dilation, groups=groups
    )
    return where_covered(value, windows)


def _weights(
    x: Any, y: Any, w_spec: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """conv_weight(x, y), as large as w."""
    kernel = tuple(w_spec.shape[2:])
    return conv_weight(
        x, y, kernel=kernel, stride=stride, padding=padding, dilation=dilation, groups=groups
    )


def _results(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return conv(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)


SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"stride": 2, "padding": 1},
    {"padding": ((0, 2),), "dilation": 2},
    {"stride": 3, "groups": 2},
    {"padding": "same"},
)


def _conv_samples() -> list[Sample]:
    """One to three dimensions, every setting, both widths, complex, nothing at all."""
    line, kernel = draw((2, 4, 7), -1, 1), draw((4, 2, 2), -1, 1)
    plane, square = draw((2, 2, 5, 4), -1, 1), draw((3, 2, 3, 2), -1, 1)
    cube, box = draw((1, 2, 3, 3, 4), -1, 1), draw((2, 1, 2, 1, 2), -1, 1)
    return [
        *(sample(line, draw((4, 4 // s.get("groups", 1), 2), -1, 1), **s) for s in SETTINGS),
        sample(line, kernel, groups=2, stride=4),
        sample(plane, square),
        sample(plane, square, stride=(2, 1), padding=(1, (0, 1)), dilation=(1, 2)),
        sample(plane, square, padding="same"),
        sample(cube, box, groups=2, padding=(0, 1, 0), stride=(1, 1, 2)),
        sample(line + 1j * line[::-1], np.concatenate([kernel, kernel * 1j], axis=1), padding=1),
        sample(plane.astype(np.float32), square.astype(np.float32), padding=1),
        sample(plane[:0], square),
    ]


def _transpose_samples() -> list[Sample]:
    line, plane = draw((2, 4, 3), -1, 1), draw((2, 2, 3, 2), -1, 1)
    return [
        *(sample(line, draw((4, 3, 3), -1, 1), **s) for s in SETTINGS),
        sample(line, draw((4, 1, 2), -1, 1), stride=3, output_padding=2, groups=4),
        sample(plane, draw((2, 1, 3, 2), -1, 1), stride=(2, 1), padding=1, output_padding=(1, 0)),
        sample(draw((1, 1, 2, 2, 2), -1, 1), draw((1, 2, 2, 2, 2), -1, 1), stride=2),
        sample(line + 1j * line[::-1], draw((4, 2, 2), -1, 1) + 1j * draw((4, 2, 2), -1, 1, 1)),
        sample(plane.astype(np.float32), draw((2, 2, 2, 2), -1, 1).astype(np.float32)),
    ]


def _weight_samples() -> list[Sample]:
    found = []
    for s in _conv_samples():
        kernel = s.args[1].shape[2:]
        found.append(sample(s.args[0], _conv(*s.args, **s.attrs) / 4, kernel=kernel, **s.attrs))
    return found


def _bad_conv() -> list[Sample]:
    x, w = draw((2, 3, 8, 8), -1, 1), draw((4, 3, 3, 3), -1, 1)
    return [
        sample(x, w[:, :2]), sample(x, w, groups=3), sample(x, w[0]), sample(x[0], w),
        sample(x[:, :, :2], w), sample(x, w, stride=0), sample(x, w, stride=(1, 1, 1)),
        sample(x, w, padding="other"), sample(x, w, padding="same", stride=2),
        sample(x, w, padding=(1,)), sample(x, w, padding=-1), sample(x, w[:, :, :0]),
        sample(x, w, groups=0), sample(x, w, stride=1.5), sample(x, w, padding=((1, 1, 1), 0)),
    ]  # fmt: skip


def _bad_transpose() -> list[Sample]:
    x, w = draw((2, 3, 4, 4), -1, 1), draw((3, 2, 3, 3), -1, 1)
    return [
        sample(x, w[:2]), sample(x, w, groups=2), sample(x, w, output_padding=1),
        sample(x, w, padding=4), sample(x, w, stride=2, padding="same"),
    ]  # fmt: skip


conv = multilinear(
    "conv",
    _conv,
    (
        lambda g, w, x_spec, stride, padding, dilation, groups: _images(
            g, conjugate(w), x_spec, stride, padding, dilation, groups
        ),
        lambda g, x, w_spec, stride, padding, dilation, groups: _weights(
            conjugate(x), g, w_spec, stride, padding, dilation, groups
        ),
    ),
    inputs=("x", "w"),
    spec=_conv_spec,
    samples=_conv_samples,
    bad=_bad_conv,
    lower=lambda b, x, w, stride, padding, dilation, groups: b.conv(
        x, w, windows_of(w.shape[2:], stride, padding, dilation), groups
    ),
    doc="""The convolution of a network (a cross-correlation), in one, two, three … dimensions.

    x is (images, channels, *space), w is (channels out, channels in / groups, *kernel).  `stride`
    and `dilation` are a number or one per spatial axis; `padding` too, or a pair (before, after)
    per axis, or "same" or "valid".
    """,
    batch=conv_lanes,
)
conv_transpose = multilinear(
    "conv_transpose",
    _conv_transpose,
    (
        lambda g, w, stride, padding, dilation, groups: _results(
            g, conjugate(w), stride, padding, dilation, groups
        ),
        lambda g, x, w_spec, stride, padding, dilation, groups: _weights(
            g, conjugate(x), w_spec, stride, padding, dilation, groups
        ),
    ),
    inputs=("x", "w"),
    spec=_transpose_spec,
    samples=_transpose_samples,
    bad=_bad_transpose,
    lower=lambda b, x, w, stride, padding, output_padding, dilation, groups: b.conv_transpose(
        x,
        w,
        windows_of(w.shape[2:], stride, padding, dilation),
        groups,
        _transpose_spec(x, w, stride, padding, output_padding, dilation, groups).shape[2:],
    ),
    doc="""The transpose of `conv` in its images: x is (images, channels, *space), w is (channels,
    channels out / groups, *kernel); `output_padding` chooses among the sizes that a stride rounds
    to the same number of positions.
    """,
    batch=conv_transpose_lanes,
)
conv_weight = multilinear(
    "conv_weight",
    _conv_weight,
    (
        lambda g, y, x_spec, stride, padding, dilation, groups: _images(
            conjugate(y), g, x_spec, stride, padding, dilation, groups
        ),
        lambda g, x, stride, padding, dilation, groups: _results(
            conjugate(x), g, stride, padding, dilation, groups
        ),
    ),
    inputs=("x", "y"),
    spec=_weight_spec,
    samples=_weight_samples,
    lower=lambda b, x, y, kernel, stride, padding, dilation, groups: b.conv_weight(
        x, y, windows_of(kernel, stride, padding, dilation), groups
    ),
    bad=lambda: [
        sample(draw((1, 2, 5), -1, 1), draw((1, 2, 4), -1, 1), kernel=(3,)),
        sample(draw((1, 2, 5), -1, 1), draw((1, 3, 3), -1, 1), kernel=(3,), groups=2),
    ],
    doc="The transpose of `conv` in its weights: what images x and results y add up to.",
    batch=conv_weight_lanes,
)
