"""Arrays built out of others along axes they may not have: vstack and friends, block, insert."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from chainrule.core.masked import settled
from chainrule.core.op import sample
from chainrule.errors import ArgumentError, DTypeError
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array, concatenate, parts_of, rows_samples
from chainrule.ops.rearranging import numbered, picked
from chainrule.ops.samples import draw
from chainrule.ops.shape import atleast_1d, atleast_2d, atleast_3d, ravel, reshape
from chainrule.ops.structure import cast_into
from chainrule.ops.structure import copy as copy_of


def _vstack(tup: Any, dtype: Any = None, casting: str = "same_kind") -> Any:
    return concatenate([atleast_2d(p) for p in parts_of(tup, dtype, casting)], axis=0)


def _hstack(tup: Any, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [atleast_1d(p) for p in parts_of(tup, dtype, casting)]
    return concatenate(parts, axis=0 if parts and parts[0].ndim == 1 else 1)


def _dstack(tup: Any) -> Any:
    return concatenate([atleast_3d(p) for p in parts_of(tup)], axis=2)


def _column_stack(tup: Any) -> Any:
    """Arrays of fewer than two axes are columns."""
    parts = [p if p.ndim > 1 else reshape(p, (-1, 1)) for p in parts_of(tup)]
    return concatenate(parts, axis=1)


def _of_rows(name: str, expand: Any, function: Any) -> Any:
    return composite(name, expand, inputs=("tup",), samples=rows_samples(), numpy=(function,))


vstack = _of_rows("vstack", _vstack, np.vstack)
hstack = _of_rows("hstack", _hstack, np.hstack)
dstack = _of_rows("dstack", _dstack, np.dstack)
column_stack = _of_rows("column_stack", _column_stack, np.column_stack)


# -- block ------------------------------------------------------------------------------------


def _leaves(arrays: Any, depth: int = 0) -> Iterator[tuple[int, Any]]:
    """The blocks of nested lists, each with the number of lists it lies in."""
    if isinstance(arrays, tuple):
        raise DTypeError("block arranges blocks in lists, not in tuples")
    if not isinstance(arrays, list):
        yield depth, arrays
        return
    if not arrays:
        raise ArgumentError("block: a list of blocks is empty")
    for inner in arrays:
        yield from _leaves(inner, depth + 1)


def _block(arrays: Any) -> Any:
    """Innermost lists are joined along the last axis, those around them along the one before."""
    leaves = list(_leaves(arrays))
    depths = {depth for depth, _ in leaves}
    if len(depths) > 1:
        raise ArgumentError(f"block: the blocks lie at different depths {sorted(depths)}")
    (depth,) = depths
    ndim = max(depth, *(np.ndim(as_array(leaf)) for _, leaf in leaves))
    out = _joined(arrays, depth, ndim)
    return out if depth else copy_of(out)


def _joined(arrays: Any, depth: int, ndim: int) -> Any:
    if depth:
        return concatenate([_joined(a, depth - 1, ndim) for a in arrays], axis=-depth)
    block = as_array(arrays)
    return reshape(block, (1,) * (ndim - block.ndim) + block.shape) if block.ndim < ndim else block


block = composite(
    "block",
    _block,
    inputs=("arrays",),
    samples=lambda: [
        sample(draw((2, 3), -2, 2)),
        sample([[draw((2, 2), -2, 2), draw((2, 1), -2, 2)], [draw((1, 2), -2, 2), 1.0]]),
    ],
    numpy=(np.block,),
)


# -- editing along an axis --------------------------------------------------------------------


def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    arr, values = as_array(arr), as_array(values)
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], axis=0)
    return concatenate([arr, values], axis=axis)


append = composite(
    "append",
    _append,
    inputs=("arr", "values"),
    samples=lambda: [
        sample(draw((2, 3), -2, 2), draw((2,), -2, 2, 1)),
        sample(draw((2, 3), -2, 2), draw((1, 3), -2, 2, 1), axis=0),
        sample(draw((2, 3), -2, 2), draw((2, 1), -2, 2, 1), axis=-1),
        sample(draw((), -2, 2), draw((), -2, 2, 1)),
    ],
    numpy=(np.append,),
)


def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Lanes of `values` are numbered after those of `arr`, and NumPy inserts the numbers."""
    arr, values = as_array(arr), as_array(values)
    plan = np.insert(numbered(arr), settled(obj), arr.size + numbered(values), axis)
    together = [ravel(arr), ravel(cast_into(values, arr.dtype))]
    return picked(concatenate(together, axis=0), plan)


insert = composite(
    "insert",
    _insert,
    inputs=("arr", "obj", "values"),
    samples=lambda: [
        sample(draw((3,), -2, 2), 1, np.float64(0.5)),
        sample(draw((2, 3), -2, 2), 1, draw((2,), -2, 2, 1), axis=1),
        sample(draw((2, 3), -2, 2), [0, -1], draw((2, 1), -2, 2, 1), axis=-1),
        sample(draw((2, 3), -2, 2), [2, 2, 0], draw((3,), -2, 2, 1)),
        sample(draw((4,), -2, 2), slice(0, 4, 2), draw((2,), -2, 2, 1)),
        sample(draw((2, 3), -2, 2), [1], draw((2, 2), -2, 2, 1), axis=1),
        sample(draw((2, 3), -2, 2), [], draw((), -2, 2, 1), axis=0),
    ],
    numpy=(np.insert,),
)
