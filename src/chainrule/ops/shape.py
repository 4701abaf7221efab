"""Rearranging an array without computing: reshape, transpose, broadcast and their friends."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import sample
from chainrule.ops.define import linear
from chainrule.ops.samples import draw


def _reshape(x: Any, shape: Any, order: str = "C") -> Any:
    return np.reshape(x, shape, order=order)


reshape = linear(
    "reshape",
    _reshape,
    lambda g, x_spec, order: np.reshape(g, x_spec.shape, order=order),
    samples=lambda: [
        sample(draw((2, 3), -2, 2), shape=(3, 2)),
        sample(draw((2, 3), -2, 2), shape=-1),
        sample(draw((2, 3), -2, 2), shape=(6,), order="F"),
        sample(draw((0, 3), -2, 2), shape=(3, 0)),
        sample(draw((1,), -2, 2), shape=()),
    ],
    numpy=(np.reshape,),
    view=True,
)


def _transpose(x: Any, axes: Any = None) -> Any:
    return np.transpose(x, axes)


transpose = linear(
    "transpose",
    _transpose,
    lambda g, axes: np.transpose(g, None if axes is None else tuple(np.argsort([a % len(axes) for a in axes]))),
    samples=lambda: [
        sample(draw((2, 3), -2, 2)),
        sample(draw((2, 3, 4), -2, 2), axes=(2, 0, 1)),
        sample(draw((2, 3, 4), -2, 2), axes=(-1, 0, 1)),
    ],
    numpy=(np.transpose,),
    view=True,
)


def _sum_back(g: Any, x_spec: Any) -> Any:
    """Sum over the axes along which x was repeated."""
    extra = len(g.shape) - len(x_spec.shape)
    axes = (*range(extra), *(extra + i for i, n in enumerate(x_spec.shape) if n == 1))
    return np.reshape(np.sum(g, axis=axes), x_spec.shape) if axes else g


broadcast_to = linear(
    "broadcast_to",
    lambda x, shape: np.broadcast_to(x, shape),
    _sum_back,
    samples=lambda: [
        sample(draw((3,), -2, 2), shape=(2, 3)),
        sample(draw((2, 1), -2, 2), shape=(4, 2, 3)),
        sample(draw((), -2, 2), shape=(2, 2)),
    ],
    numpy=(np.broadcast_to,),
    view=True,
)
