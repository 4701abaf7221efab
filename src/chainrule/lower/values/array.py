"""Arrays of the user's code as the compiler handles them, and what is left to the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.op import NOT_WRITTEN, Op
from chainrule.core.parts import OBJECT
from chainrule.core.spec import Shape, Spec
from chainrule.errors import UnsupportedError
from chainrule.lower.values.value import Access, Dim, Value, composed


class NotLoweredError(Exception):
    """An op is left to the interpreter, for the reason given."""


class Array:
    """A value in the shape the user's code gives it, axes of size one included."""

    __slots__ = ("shape", "value")

    def __init__(self, value: Value, shape: Shape):
        self.value, self.shape = value, shape

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def number(self) -> Any:
        """The number it is, where it is a constant; else None."""
        v = self.value
        return v.params if v.kind == "constant" and v.size == 1 else None

    @property
    def weak(self) -> bool:
        """Whether it is a Python number, which takes the type of what it meets."""
        return self.value.name == "weak" and self.number is not None


class Constant:
    """An argument of a call that is no array of the program."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Move:
    """Stands for a node whose op copies: of a type that machine code does not have."""

    line = None
    attrs: Mapping[str, Any] = {}

    class op:  # noqa: N801 - as the field of a node
        name = "copy"

        @staticmethod
        def forward(x: Any) -> Any:
            return x


class OpCall:
    """An op as the interpreter calls it: per argument its shape, or the constant it is."""

    __slots__ = ("arguments", "node")

    def __init__(self, node: Node | Move, arguments: list[Any]):
        self.node, self.arguments = node, arguments

    @property
    def op(self) -> Any:
        return self.node.op


def _not_interpreted(*_: Any, **__: Any) -> Any:
    raise UnsupportedError("a tape is run by compiled code only")


TAPE = Op(
    name="tape",
    forward=_not_interpreted,
    inputs=(),
    derivative=NOT_WRITTEN,
    spec=lambda tape: Spec((), OBJECT),
    samples=list,
    doc="The results of a tape, given its inputs.",
)


def dims_of(shape: Shape) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def axes_of(shape: Shape) -> tuple[tuple[int, ...], dict[int, int]]:
    """The extents other than one, and for each such position which axis it is."""
    axis_at: dict[int, int] = {}
    for i, n in enumerate(shape):
        if n != 1:
            axis_at[i] = len(axis_at)
    return tuple(n for n in shape if n != 1), axis_at


def folded_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None or ndim == 0:  # NumPy lets one say axis=0, or -1, of a number
        return tuple(range(ndim))
    listed = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % ndim for a in listed))


def spelled_out(template: tuple[Any, ...], rank: int) -> list[Any]:
    """An index of an array of so many axes, with slices for its ellipsis, said or not."""
    hidden = rank - sum(p is not None and p is not Ellipsis for p in template)
    parts: list[Any] = []
    for part in (*template, *[Ellipsis][: Ellipsis not in template]):
        parts += [slice(None)] * hidden if part is Ellipsis else [part]
    return parts


def selected_shape(template: tuple[Any, ...], shape: Shape) -> Shape:
    """The shape of what a basic index selects."""
    return np.broadcast_to(0, shape)[template].shape


def region(template: tuple[Any, ...], shape: Shape) -> Access:
    """Where a basic index of an array of this shape points, by the axes of what it selects."""
    sizes, found, axis = iter(shape), [], 0
    for part in spelled_out(template, len(shape)):
        if part is None:
            continue
        n = next(sizes)
        if isinstance(part, slice):
            start, stop, step = part.indices(n)
            count = len(range(start, stop, step))
            if n != 1:
                found.append(Dim(axis if count != 1 else None, start, step))
            axis += count != 1
        elif n != 1:
            found.append(Dim(None, int(part) % n))
    return tuple(found)


Placed = tuple[tuple[int, ...], Access]  # extents of a piece, and its region


def apart(one: Placed, other: Placed) -> bool:
    """Whether two regions of an array are seen to have no element in common."""
    for a, b in zip(one[1], other[1], strict=True):
        ends = []
        for (dims, _), d in ((one, a), (other, b)):
            last = d.start + (0 if d.axis is None else d.step * (dims[d.axis] - 1))
            ends.append((min(d.start, last), max(d.start, last)))
        (low, high), (lower, higher) = ends
        if high < lower or higher < low:
            return True
    return False


def diagonal_of(shape: Shape, offset: int, axis1: int, axis2: int) -> tuple[Shape, Access]:
    """The shape of a diagonal, its own axis last, and where in the array it lies."""
    starts = {axis1 % len(shape): max(-offset, 0), axis2 % len(shape): max(offset, 0)}
    others = [i for i in range(len(shape)) if i not in starts]
    count = max(min(shape[i] - start for i, start in starts.items()), 0)
    seen = (*(shape[i] for i in others), count)
    _, axis_at = axes_of(seen)
    access = [
        Dim(axis_at.get(len(others) if i in starts else others.index(i)), starts.get(i, 0))
        for i, n in enumerate(shape)
        if n != 1
    ]
    return seen, tuple(access)


def through_views(value: Value, access: Access) -> tuple[Value, Access]:
    """What is read through a view is read from what the view is of."""
    while value.kind == "map" and value.params == "copy":
        inner, way = value.args[0]
        value, access = inner, composed(way, access)
    return value, access
