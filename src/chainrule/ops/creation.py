"""Fresh arrays in the shape of another: zeros_like, ones_like, empty_like, full_like.

They depend on the shape of x and not on its values, so of a Variable they are plain arrays, with
nothing recorded; only the `fill_value` of full_like carries a derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import concrete
from chainrule.core.op import Sample, sample
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw
from chainrule.ops.shape import broadcast_to
from chainrule.ops.structure import cast_into, only_device
from chainrule.ops.structure import copy as copy_of


def _filled_with(number: int) -> Any:
    def expand(
        x: Any,
        dtype: Any = None,
        order: Any = "K",
        subok: bool = True,
        shape: Any = None,
        device: Any = None,
    ) -> Any:
        only_device(device)
        value = concrete(as_array(x))
        return np.full_like(value, number, dtype=dtype, order=order, subok=subok, shape=shape)

    return expand


def _likes() -> list[Sample]:
    return [
        sample(draw((), -2, 2)),
        sample(draw((2, 3), -2, 2)),
        sample(draw((2, 3), -2, 2).astype(np.float32)),
        sample(draw((2, 3), -2, 2), dtype=np.dtype(np.int64)),
        sample(draw((2, 3), -2, 2), shape=4),
        sample(draw((2, 3), -2, 2), shape=(4, 1), dtype=np.dtype(np.complex128)),
    ]


zeros_like = composite("zeros_like", _filled_with(0), samples=_likes, numpy=(np.zeros_like,))
ones_like = composite("ones_like", _filled_with(1), samples=_likes, numpy=(np.ones_like,))
empty_like = composite(
    "empty_like",
    _filled_with(0),
    samples=_likes,
    numpy=(np.empty_like,),
    reference=np.zeros_like,
    doc="np.empty_like; what it holds is zeros rather than left-over memory.",
)


def _full_like(
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    device: Any = None,
) -> Any:
    only_device(device)
    like = np.empty_like(concrete(as_array(x)), dtype=dtype, order=order, subok=subok, shape=shape)  # type: ignore[call-overload]
    filled = broadcast_to(cast_into(as_array(fill_value), like.dtype), like.shape)
    return copy_of(filled, order="F" if like.flags.fnc else "C")


full_like = composite(
    "full_like",
    _full_like,
    inputs=("x", "fill_value"),
    samples=lambda: [
        sample(draw((2, 3), -2, 2), np.float64(0.5)),
        sample(draw((2, 3), -2, 2), draw((3,), -2, 2, 1)),
        sample(draw((2, 3), -2, 2), 2),
        sample(draw((), -2, 2), np.float64(0.5)),
        sample(draw((2,), -2, 2), draw((4,), -2, 2, 1), shape=(3, 4)),
        sample(draw((2,), -2, 2), np.float64(0.5), dtype=np.dtype(np.complex128)),
    ],
    numpy=(np.full_like,),
)
