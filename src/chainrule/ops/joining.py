"""Putting arrays together: concatenate, stack and their friends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.op import Sample, sample
from chainrule.ops.define import linear
from chainrule.ops.samples import draw


def _concatenate(*xs: Any, axis: int | None = 0) -> Any:
    return np.concatenate(xs, axis=axis)


def _split_back(g: Any, xs_spec: Sequence[Any], axis: int | None) -> list[Any]:
    """The transpose of concatenating: each input gets its own slice of the adjoint."""
    pieces, start = [], 0
    for spec in xs_spec:
        width = spec.size if axis is None else spec.shape[axis]
        cut = (slice(None),) * (0 if axis is None else axis % spec.ndim) + (slice(start, start + width),)
        pieces.append(g[cut].reshape(spec.shape) if axis is None else g[cut])
        start += width
    return pieces


def _joins() -> list[Sample]:
    a, b, c = draw((2, 3), -2, 2), draw((1, 3), -2, 2, 1), draw((2, 2), -2, 2, 2)
    return [sample(a, b, axis=0), sample(a, c, axis=1), sample(a, b, axis=None), sample(a, c, a, axis=-1)]


concatenate = linear(
    "concatenate", _concatenate, _split_back, inputs=("xs",), variadic=True, samples=_joins, numpy=(np.concatenate,)
)


def _stack(*xs: Any, axis: int = 0) -> Any:
    return np.stack([np.asarray(x) for x in xs], axis=axis)


def _unstack(g: Any, xs_spec: Sequence[Any], axis: int) -> list[Any]:
    at = (slice(None),) * (axis % len(g.shape))
    return [g[(*at, i)] for i in range(len(xs_spec))]


stack = linear(
    "stack",
    _stack,
    _unstack,
    inputs=("xs",),
    variadic=True,
    samples=lambda: [
        sample(draw((2, 3), -2, 2), draw((2, 3), -2, 2, 1), axis=axis) for axis in (0, 1, -1)
    ] + [sample(np.float64(1.0), np.float64(2.0), axis=0)],
    numpy=(np.stack,),
)
