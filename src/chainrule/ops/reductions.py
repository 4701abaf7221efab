"""Sums and products over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Sample, sample
from chainrule.ops.define import linear
from chainrule.ops.samples import draw

Axis = int | tuple[int, ...] | None


def expanded(g: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Any:
    """A reduced array `g` with its reduced axes back, as size one, so that it broadcasts to `shape`."""
    if keepdims or g.shape == shape:
        return g
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {a % len(shape) for a in axes} if shape else set()
    return np.reshape(g, tuple(1 if i in gone else n for i, n in enumerate(shape)))


def reduction_samples(low: float = -2.0, high: float = 2.0) -> Any:
    """Every kind of axis argument a reduction takes."""

    def samples() -> list[Sample]:
        x = draw((2, 3, 4), low, high)
        return [
            sample(x), sample(x, axis=0), sample(x, axis=-1, keepdims=True),
            sample(x, axis=(0, 2)), sample(draw((), low, high)), sample(draw((3,), low, high).astype(np.float32)),
        ]  # fmt: skip

    return samples


def _sum(x: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def _spread(g: Any, x_spec: Any, axis: Axis, keepdims: bool) -> Any:
    return np.broadcast_to(expanded(g, x_spec.shape, axis, keepdims), x_spec.shape)


sum = linear("sum", _sum, _spread, samples=reduction_samples(), numpy=(np.sum,))  # noqa: A001
