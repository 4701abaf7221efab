"""Numbers spread between two ends: linspace, geomspace, logspace; the ends may be Variables.

Each result lies a known fraction of the way from `start` to `stop`, so it depends on `start` with
the weight 1 - fraction and on `stop` with the weight fraction.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from chainrule.core.batching import AlignedAxis
from chainrule.core.depends import EVERY
from chainrule.core.op import Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec, broadcast_shapes
from chainrule.errors import ArgumentError
from chainrule.ops.define import composite, linear, rules, shaped_spec
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw
from chainrule.ops.structure import astype, only_device


def fractions(num: int, endpoint: bool, axis: int, ndim: int) -> Any:
    """How far along each of the results lies, shaped to broadcast with them."""
    shape = [1] * ndim
    shape[normalize_axis_index(axis, ndim)] = num
    return np.linspace(0.0, 1.0, num, endpoint).reshape(shape)


def beside(x: Any, axis: int, ndim: int) -> Any:
    """An end with the axis of the results put in, as size one."""
    shape = [1] * (ndim - 1 - len(x.shape)) + list(x.shape)
    shape.insert(normalize_axis_index(axis, ndim), 1)
    return np.reshape(x, tuple(shape))


def from_start(num: int, endpoint: bool, axis: int, ndim: int) -> Any:
    return 1 - fractions(num, endpoint, axis, ndim)


# -- linspace ----------------------------------------------------------------------------------


def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    return np.linspace(start, stop, num, endpoint, dtype=dtype, axis=axis)


def _spaced_spec(forward: Any) -> Any:
    """The shape of both ends broadcast, with an axis of `num` numbers put in."""

    def spec(start: Any, stop: Any, num: int = 50, axis: int = 0, **attrs: Any) -> Spec:
        ends = Spec.of(start).shape, Spec.of(stop).shape
        shape = list(broadcast_shapes(ends))
        shape.insert(normalize_axis_index(axis, len(shape) + 1), operator.index(num))
        if num < 0:
            raise ArgumentError(f"num={num} is negative")
        few = shaped_spec(partial(forward, num=1, **attrs), lambda start, stop: tuple(shape))
        return few(start, stop)

    return spec


def _linspace_lowered(
    b: Any, start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int
) -> Any:
    """As NumPy: start + k·step, and the last one `stop` itself."""
    start, stop = b.floats(start, stop)
    steps = num - 1 if endpoint else num
    if steps < 1 or (dtype is not None and np.dtype(dtype).kind != "f"):
        return None
    shape = list(broadcast_shapes([start.shape, stop.shape]))
    at = normalize_axis_index(axis, len(shape) + 1)
    ends = []
    for end in (start, stop):
        spread = b.broadcast_to(end, tuple(shape))
        ends.append(b.reshape(spread, (*shape[:at], 1, *shape[at:])))
    count = np.arange(num, dtype=start.dtype).reshape(
        [-1 if i == at else 1 for i in range(len(shape) + 1)]
    )
    step = b.map("divide", b.map("subtract", ends[1], ends[0]), b.constant(steps, start.dtype))
    line = b.map("add", b.map("multiply", b.held(count), step), ends[0])
    if not endpoint:
        return line
    last = b.map("equal", b.held(count), b.constant(steps, start.dtype))
    return b.map("where", last, ends[1], line)


def _start_of_line(g: Any, num: int, endpoint: bool, axis: int) -> Any:
    return np.sum(g * from_start(num, endpoint, axis, len(g.shape)), axis=axis)


def _stop_of_line(g: Any, num: int, endpoint: bool, axis: int) -> Any:
    return np.sum(g * fractions(num, endpoint, axis, len(g.shape)), axis=axis)


def _ends() -> list[Sample]:
    a, b = draw((2, 3), 0.5, 2), draw((3,), 2.5, 4, 1)
    return [
        sample(draw((), 0.5, 2), draw((), 2.5, 4), num=5),
        sample(a, b, num=4),
        sample(a, b, num=4, axis=-1),
        sample(a[0], 3.0, num=3, axis=1, endpoint=False),
        sample(a, 3, num=1),
        sample(a[0], b, num=0),
        sample(a[0].astype(np.float32), b.astype(np.float32), num=3),
        sample(a[0].astype(np.float32), b.astype(np.float32), num=3, dtype=np.dtype(np.float64)),
        sample(a[0] + 1j * b, b - 1j, num=3),
    ]


def _bad_ends() -> list[Sample]:
    a = draw((2, 3), 0.5, 2)
    return [sample(a, 3.0, num=-1), sample(a, 3.0, num=4, axis=3), sample(a, a[:, 0], num=3)]


linspace = linear(
    "linspace",
    _linspace,
    (_start_of_line, _stop_of_line),
    inputs=("start", "stop"),
    depends=EVERY,
    samples=_ends,
    bad=_bad_ends,
    spec=_spaced_spec(_linspace),
    doc="`num` numbers from start to stop, equally far apart.",
    lower=_linspace_lowered,
    batch=AlignedAxis("axis"),
)


def _numpy_linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    device: Any = None,
) -> Any:
    only_device(device)
    start, stop = as_array(start), as_array(stop)
    line = linspace(start, stop, num=num, endpoint=endpoint, dtype=dtype, axis=axis)
    if not retstep:
        return line
    gaps = num - 1 if endpoint else num
    return line, (stop - start) / gaps if gaps > 0 else np.nan


numpy_linspace = composite(
    "numpy_linspace",
    _numpy_linspace,
    inputs=("start", "stop"),
    samples=lambda: [
        sample(draw((2,), 0, 1), draw((2,), 2, 3), num=4),
        sample(draw((2,), 0, 1), draw((2,), 2, 3), num=4, endpoint=False, retstep=True),
    ],
    numpy=(np.linspace,),
    doc="np.linspace as NumPy calls it; recorded as `linspace`.",
)


# -- geomspace and logspace --------------------------------------------------------------------


def _geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    return np.geomspace(start, stop, num, endpoint, dtype, axis)


def _by_start(start: Any, out: Any, num: int, endpoint: bool, axis: int) -> Any:
    """The derivative of start^(1-f) · stop^f by start: (1-f) · out / start."""
    ndim = len(out.shape)
    return from_start(num, endpoint, axis, ndim) * (out / beside(start, axis, ndim))


def _by_stop(stop: Any, out: Any, num: int, endpoint: bool, axis: int) -> Any:
    ndim = len(out.shape)
    return fractions(num, endpoint, axis, ndim) * (out / beside(stop, axis, ndim))


def _pull_start(g: Any, start: Any, out: Any, num: int, endpoint: bool, axis: int) -> Any:
    return np.sum(g * conjugate(_by_start(start, out, num, endpoint, axis)), axis=axis)


def _pull_stop(g: Any, stop: Any, out: Any, num: int, endpoint: bool, axis: int) -> Any:
    return np.sum(g * conjugate(_by_stop(stop, out, num, endpoint, axis)), axis=axis)


def _push_start(t: Any, start: Any, out: Any, num: int, endpoint: bool, axis: int) -> Any:
    return beside(t, axis, len(out.shape)) * _by_start(start, out, num, endpoint, axis)


def _push_stop(t: Any, stop: Any, out: Any, num: int, endpoint: bool, axis: int) -> Any:
    return beside(t, axis, len(out.shape)) * _by_stop(stop, out, num, endpoint, axis)


geomspace = rules(
    "geomspace",
    _geomspace,
    reverse=(_pull_start, _pull_stop),
    push=(_push_start, _push_stop),
    inputs=("start", "stop"),
    samples=lambda: [
        *_ends(),
        sample(np.float64(-0.5), np.float64(-3.0), num=4),
        sample(np.array([-0.5, 2.0]), np.array([-3.0, 1.0]), num=4, axis=1),
    ],
    bad=lambda: [sample(np.zeros(2), np.ones(2), num=3), *_bad_ends()],
    spec=_spaced_spec(_geomspace),
    numpy=(np.geomspace,),
    doc="`num` numbers from start to stop, each the same multiple of the one before.",
    batch=AlignedAxis("axis"),
)


def _logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    start, stop, base = as_array(start), as_array(stop), as_array(base)
    if base.ndim:  # then it takes part in what `axis` counts
        ndim = max(start.ndim, stop.ndim, base.ndim)
        start, base = (np.reshape(a, (1,) * (ndim - a.ndim) + a.shape) for a in (start, base))
        base = beside(base, axis, ndim + 1)
    out = np.power(base, linspace(start, stop, num=num, endpoint=endpoint, axis=axis))
    return out if dtype is None else astype(out, dtype=np.dtype(dtype))


logspace = composite(
    "logspace",
    _logspace,
    inputs=("start", "stop"),
    samples=lambda: [
        sample(draw((), -1, 0), draw((), 1, 2), num=4),
        sample(draw((2, 3), -1, 0), draw((3,), 1, 2), num=3, endpoint=False, axis=-1),
        sample(np.float64(0.5), np.float64(1.5), num=3, base=draw((2,), 2, 3), axis=1),
        sample(draw((2,), -1, 0), 1.0, num=3, base=2, dtype=np.dtype(np.float32)),
    ],
    bad=lambda: [sample(draw((2,), -1, 0), 1.0, num=-1)],
    numpy=(np.logspace,),
    doc="base to the power of `num` numbers from start to stop; the base may be a Variable, too.",
)
