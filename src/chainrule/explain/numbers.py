"""Numbers and arrays as plain JSON data, for pages and programs that read what is explained."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_json(value: Any, size: int = 64) -> Any:
    """A number as itself ("nan", "inf", "-inf" in words), a complex one as {"re", "im"}.

    An array is {"shape", "dtype", "data"}, flat and row by row; above `size` entries its data is
    None and "norm" stands for it.  Several results are {"parts": […]}.
    """
    if value is None:
        return None
    if isinstance(value, tuple):
        return {"parts": [as_json(v, size) for v in value]}
    array = np.asarray(value)
    if array.ndim == 0:
        return _number(array[()])
    made: dict[str, Any] = {"shape": list(array.shape), "dtype": array.dtype.name}
    if array.size <= size:
        return {**made, "data": [_number(v) for v in array.reshape(-1)]}
    return {**made, "data": None, "norm": _number(norm_of(array))}


def norm_of(array: Any) -> Any:
    """The Euclidean norm, without overflow on the way."""
    sizes = np.abs(np.asarray(array, np.result_type(array, np.float64))).reshape(-1)
    largest = sizes.max(initial=0.0)
    if not 0 < largest < np.inf:  # zero, infinite or NaN
        return largest
    return largest * np.sqrt(np.sum((sizes / largest) ** 2))


def _number(value: Any) -> Any:
    kind = np.asarray(value).dtype.kind
    if kind == "c":
        return {"re": _number(value.real), "im": _number(value.imag)}
    if kind == "b":
        return bool(value)
    if kind in "iu":
        return int(value)
    number = float(value)
    return number if np.isfinite(number) else str(number)
