"""What is known of a value without having it: its shape and its dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from chainrule.errors import ShapeError

Shape = tuple[int, ...]


class Spec(NamedTuple):
    """Shape and dtype of one array."""

    shape: Shape
    dtype: np.dtype[Any]

    @staticmethod
    def of(value: Any) -> Spec:
        """The spec of a value; a Python scalar counts as the 0-d array NumPy would make of it."""
        if not hasattr(value, "dtype"):
            value = np.asarray(value)
        return Spec(value.shape, value.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether values of this dtype can carry a derivative."""
    return dtype.kind in "fc"


def dummy(spec: Any) -> np.ndarray[Any, Any]:
    """A stand-in array of this spec that takes one element of memory, whatever its shape."""
    return np.broadcast_to(np.ones((), spec.dtype), spec.shape)


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """NumPy's broadcasting rule, with our error."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(str(tuple(s)) for s in shapes)
        raise ShapeError(f"shapes {listed} do not broadcast together") from None
