"""reduce, accumulate and reduceat of ufuncs for which there is no op: one step after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.errors import ArgumentError
from chainrule.ops.joining import as_array


def folded(ufunc: np.ufunc, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """What `ufunc.method(x, …)` returns, by as many calls of the ufunc as there are steps."""
    names = ("indices", "axis") if method == "reduceat" else ("axis",)
    given = {**dict(zip(names, inputs[1:], strict=False)), **options}
    axis = given.get("axis", 0)
    x = as_array(inputs[0])
    if axis is None:
        x, axis = np.reshape(x, (-1,)), 0
    if not isinstance(axis, (int, np.integer)):
        raise ArgumentError(f"np.{ufunc.__name__}.{method} of a Variable goes along one axis")
    rows = np.moveaxis(x, axis, 0)
    if method == "reduceat":
        indices = as_array(given["indices"])
        if indices.dtype.kind not in "iub":
            raise ArgumentError(f"np.{ufunc.__name__}.reduceat goes by indices that are integers")
        found = _by_segments(ufunc, rows, [int(i) for i in indices])
        return np.moveaxis(found, 0, axis)
    steps = _steps(ufunc, rows)
    if method == "accumulate":
        return np.moveaxis(np.stack(steps), 0, axis)
    last = steps[-1]
    if given.get("initial") is not None:
        last = ufunc(given["initial"], last)
    return np.expand_dims(last, axis) if given.get("keepdims") else last


def _steps(ufunc: np.ufunc, rows: Any) -> list[Any]:
    if not rows.shape[0]:
        raise ArgumentError(f"np.{ufunc.__name__} over an axis of no elements")
    found = [rows[0]]
    for k in range(1, rows.shape[0]):
        found.append(ufunc(found[-1], rows[k]))
    return found


def _by_segments(ufunc: np.ufunc, rows: Any, indices: list[int]) -> Any:
    """From each index up to the next; where that is not greater, the one element."""
    ends = [*indices[1:], rows.shape[0]]
    parts = []
    for start, end in zip(indices, ends, strict=True):
        parts.append(ufunc.reduce(rows[start:end], axis=0) if start < end else rows[start])
    return np.stack(parts)
