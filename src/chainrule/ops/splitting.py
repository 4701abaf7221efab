"""Taking arrays apart: split and friends, unstack, delete."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from chainrule.core.masked import settled
from chainrule.core.op import Sample, sample
from chainrule.errors import ShapeError
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array
from chainrule.ops.rearranging import numbered, picked
from chainrule.ops.samples import draw


def _cut(x: Any, function: Any, sections: Any, axis: int) -> list[Any]:
    """Views of x; where NumPy cuts is read off the numbers 0, 1, 2, … that it cuts."""
    x = as_array(x)
    axis = normalize_axis_index(axis, x.ndim)
    before = (slice(None),) * axis
    pieces = function(np.arange(x.shape[axis]), settled(sections))
    ranges = [slice(int(p[0]), int(p[-1]) + 1) if len(p) else slice(0, 0) for p in pieces]
    return [x[(*before, r)] for r in ranges]


def _even_and_uneven() -> list[Sample]:
    x = draw((4, 3), -2, 2)
    return [
        sample(x, 2),
        sample(x, 3, axis=1),
        sample(x, 1, axis=-1),
        sample(x, [1, 3]),
        sample(x, (2, 1, 9, -1), axis=0),
    ]


def _uneven() -> list[Sample]:
    return [*_even_and_uneven(), sample(draw((5,), -2, 2), 3), sample(draw((2,), -2, 2), 3)]


split = composite(
    "split",
    lambda x, indices_or_sections, axis=0: _cut(x, np.split, indices_or_sections, axis),
    inputs=("x", "indices_or_sections"),
    samples=_even_and_uneven,
    numpy=(np.split,),
)
array_split = composite(
    "array_split",
    lambda x, indices_or_sections, axis=0: _cut(x, np.array_split, indices_or_sections, axis),
    inputs=("x", "indices_or_sections"),
    samples=_uneven,
    numpy=(np.array_split,),
)


def _cut_along(axis: int, needed: int, name: str) -> Any:
    def expand(x: Any, indices_or_sections: Any) -> list[Any]:
        x = as_array(x)
        if x.ndim < needed:
            raise ShapeError(
                f"{name} takes an array of at least {needed} axes, not shape {x.shape}"
            )
        return _cut(x, np.split, indices_or_sections, min(axis, x.ndim - 1))

    return expand


def _cut_along_samples(*shapes: tuple[int, ...]) -> Any:
    return lambda: [sample(draw(s, -2, 2), n) for s in shapes for n in (2, [1, 3])]


def _splits(name: str, axis: int, needed: int, *shapes: tuple[int, ...]) -> Any:
    return composite(
        name,
        _cut_along(axis, needed, name),
        inputs=("x", "indices_or_sections"),
        samples=_cut_along_samples(*shapes),
        numpy=(getattr(np, name),),
    )


hsplit = _splits("hsplit", 1, 1, (4,), (3, 4))  # along the only axis, if there is but one
vsplit = _splits("vsplit", 0, 2, (4, 3))
dsplit = _splits("dsplit", 2, 3, (2, 3, 4))


def _unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    x = as_array(x)
    before = (slice(None),) * normalize_axis_index(axis, x.ndim)
    return tuple(x[(*before, i)] for i in range(x.shape[len(before)]))


unstack = composite(
    "unstack",
    _unstack,
    samples=lambda: [sample(draw((2, 3, 2), -2, 2), axis=axis) for axis in (0, 1, -1)],
    numpy=(np.unstack,) if hasattr(np, "unstack") else (),  # since NumPy 2.1
)


def _delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    arr = as_array(arr)
    return picked(arr, np.delete(numbered(arr), settled(obj), axis))


delete = composite(
    "delete",
    _delete,
    inputs=("arr", "obj"),
    samples=lambda: [
        sample(draw((3,), -2, 2), 1),
        sample(draw((2, 3), -2, 2), -1, axis=1),
        sample(draw((2, 3), -2, 2), [0, 2, 2], axis=-1),
        sample(draw((2, 3), -2, 2), slice(None, None, 2)),
        sample(draw((3,), -2, 2), np.array([True, False, True])),
        sample(draw((3,), -2, 2), []),
    ],
    numpy=(np.delete,),
)
