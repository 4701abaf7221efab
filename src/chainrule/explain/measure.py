"""How an adjoint of the input becomes a number: by one entry, along a direction, or by its norm."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.masked import Masked, unmasked
from chainrule.core.node import Node
from chainrule.errors import ArgumentError, OutOfRangeError, ShapeError
from chainrule.explain.size import norm
from chainrule.record.variable import Variable


@dataclass(frozen=True, eq=False)
class Measure:
    """An `entry`, or a direction (`along`), of an adjoint of this shape; neither: its norm."""

    shape: tuple[int, ...]
    entry: tuple[int, ...] | None = None
    along: Any = None

    @property
    def linear(self) -> bool:
        """Whether what is measured adds up over paths as a number."""
        return self.entry is not None or self.along is not None

    def of(self, adjoint: Any) -> Any:
        """The entry or the projection; the whole adjoint where its norm is meant."""
        value = unmasked(adjoint)
        if self.entry is not None:
            return value[self.entry] if self.entry else value
        if self.along is not None:
            return np.vdot(self.along, value)
        return value

    def factor(self, adjoint: Any) -> float | None:
        """The size by which an edge into the input counts; None where it is a structural zero."""
        if self.entry and type(adjoint) is Masked and not adjoint.alive[self.entry]:
            return None
        value = self.of(adjoint)
        single = np.size(value) == 1 and np.asarray(value).dtype.kind == "f"
        return float(np.reshape(value, -1)[0]) if single else norm(value)

    def zero(self, like: Node) -> Any:
        """What a path that ends in a structural zero adds."""
        return self.of(np.zeros(like.shape, like.dtype)[()])

    @staticmethod
    def share(part: Any, total: Any) -> float:
        """Which part of `total` this is, along it; NaN where the total is zero or not finite."""
        size = norm(total)
        if not 0.0 < size < math.inf:
            return math.nan
        if type(part) is np.float64 and type(total) is np.float64:
            return float(part) / float(total)
        with np.errstate(all="ignore"):
            return float(np.vdot(np.divide(total, size), np.divide(part, size)).real)


def measure_of(node: Node, entry: Any, along: Any) -> Measure:
    """The measure asked for, checked against the input it is of."""
    if entry is not None and along is not None:
        raise ArgumentError("pass entry= or along=, not both: an entry is a direction as well")
    if along is not None:
        direction = np.asarray(along.value if isinstance(along, Variable) else along)
        if direction.dtype.kind not in "fciub" or direction.shape != node.shape:
            raise ShapeError(
                f"along has the shape {direction.shape}; it is a direction in the space of "
                f"{node.name or 'the input'}, so it must have the shape {node.shape}"
            )
        return Measure(node.shape, along=direction)
    if entry is not None:
        return Measure(node.shape, entry=_checked_entry(node, entry))
    return Measure(node.shape, entry=() if node.shape == () else None)


def _checked_entry(node: Node, entry: Any) -> tuple[int, ...]:
    listed: Sequence[Any] = entry if isinstance(entry, (tuple, list)) else (entry,)
    try:
        index = tuple(operator.index(i) for i in listed)
    except TypeError:
        raise ArgumentError(f"entry {entry!r}: write whole numbers, as in entry=(1, 3)") from None
    if len(index) != len(node.shape):
        raise ArgumentError(
            f"entry {entry!r} has {len(index)} numbers; {node.name or 'the input'} has the shape "
            f"{node.shape}, so an entry has {len(node.shape)}"
        )
    for i, n in zip(index, node.shape, strict=True):
        if not -n <= i < n:
            raise OutOfRangeError(f"entry {entry!r} lies outside the shape {node.shape}")
    return tuple(i % n for i, n in zip(index, node.shape, strict=True))
