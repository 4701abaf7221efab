"""The adjoint or tangent of an op with several results: a part for each, None where it is zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

OBJECT = np.dtype(object)


class Parts:
    """A tuple of adjoints, of shape () and dtype object as a node with several results is.

    In `parts` they may be `Masked`; whoever unpacks it is given plain values.
    """

    __slots__ = ("parts",)
    __array_ufunc__ = None
    shape = ()
    dtype = OBJECT

    def __init__(self, parts: Sequence[Any]):
        self.parts = tuple(parts)

    @staticmethod
    def single(index: int, count: int, part: Any) -> Parts:
        return Parts([part if i == index else None for i in range(count)])

    def __add__(self, other: Parts) -> Parts:
        def plus(a: Any, b: Any) -> Any:
            return b if a is None else a if b is None else a + b

        return Parts([plus(a, b) for a, b in zip(self.parts, other.parts, strict=True)])

    def __iter__(self) -> Iterator[Any]:
        return map(_unmasked, self.parts)

    def __getitem__(self, index: int) -> Any:
        return _unmasked(self.parts[index])

    def __len__(self) -> int:
        return len(self.parts)


def _unmasked(part: Any) -> Any:
    return part.value if hasattr(part, "alive") else part
