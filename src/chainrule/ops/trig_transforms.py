"""Discrete cosine and sine transforms of types 1 to 4 along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core import batching
from chainrule.core.depends import EVERY
from chainrule.core.op import Op, Sample, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, OutOfRangeError, ShapeError
from chainrule.ops.define import linear
from chainrule.ops.fourier import complex_draw, opposite
from chainrule.ops.samples import draw

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _trig_transform(x: Any, family: str, type: int = 2, norm: Any = None, axis: int = -1) -> Any:
    import scipy.fft

    return getattr(scipy.fft, family)(x, type=type, norm=norm, axis=axis)


def _scaled(x: Any, axis: int, first: float, last: float) -> Any:
    """x with the first and the last element along the axis times these."""
    n = x.shape[axis]
    weights = np.ones(n, np.empty(0, x.dtype).real.dtype)
    weights[0] *= first
    weights[-1] *= last
    return x * np.reshape(weights, (n,) + (1,) * (len(x.shape) - 1 - axis % len(x.shape)))


def _transpose(g: Any, family: str, type: int, norm: Any, axis: int) -> Any:
    """The matrix of cosines is symmetric but for the weight of its first or last row or column."""
    back = {"family": family, "type": INVERSE[type], "norm": norm, "axis": axis}
    if norm == "ortho" or type == 4 or (family == "dst" and type == 1):
        return trig_transform(g, **back)
    if type == 1:
        return _scaled(trig_transform(_scaled(g, axis, 2.0, 2.0), **back), axis, 0.5, 0.5)
    first, last = (2.0, 1.0) if family == "dct" else (1.0, 2.0)
    if type == 2:
        return trig_transform(_scaled(g, axis, first, last), **back)
    return _scaled(trig_transform(g, **back), axis, 1 / first, 1 / last)


def _spec(x: Any, family: str, type: int = 2, norm: Any = None, axis: int = -1) -> Spec:
    if family not in ("dct", "dst") or type not in INVERSE:
        raise ArgumentError(f"{family} of type {type!r}; types are 1, 2, 3 and 4")
    opposite(norm)
    if not -len(x.shape) <= axis < len(x.shape):
        raise OutOfRangeError(f"{family} of {x.shape}: there is no axis {axis}")
    if x.shape[axis] < (2 if family == "dct" and type == 1 else 1):
        raise ShapeError(f"{family} of type {type} of {x.shape[axis]} points")
    single = x.dtype in (np.dtype(np.float32), np.dtype(np.complex64))
    return Spec(x.shape, x.dtype if x.dtype.kind == "c" or single else np.dtype(np.float64))


def _samples() -> list[Sample]:
    x = draw((2, 5), -1, 1)
    return [
        *(sample(x, family=f, type=t) for f in ("dct", "dst") for t in INVERSE),
        *(sample(x, family=f, type=t, norm="ortho") for f in ("dct", "dst") for t in INVERSE),
        *(sample(x, family="dct", type=t, norm="forward", axis=0) for t in INVERSE),
        sample(complex_draw((4,)), family="dst", type=3),
        sample(x.astype(np.float32), family="dct"),
    ]


trig_transform: Op = linear(
    "trig_transform",
    _trig_transform,
    _transpose,
    samples=_samples,
    bad=lambda: [
        sample(draw((3,), -1, 1), family="dct", type=5),
        sample(draw((3,), -1, 1), family="dct", axis=1),
        sample(draw((1,), -1, 1), family="dct", type=1),
    ],
    depends=EVERY,
    batch=batching.Axes("axis"),
    spec=_spec,
    doc="scipy.fft.dct or scipy.fft.dst (`family`) along an axis.",
)
