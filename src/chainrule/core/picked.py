"""An array that a mask has picked: its shape, and how an op is written on it when it stays whole.

The length of x[mask] depends on values.  While a call is recorded for the compiler, the node of
such an array has a `Picked` shape, which remembers along which axis it was picked and by what mask.
The pass `optimise.masked` then computes with the whole array, of which only the lanes in the mask
count, and the graph holds for a mask of any count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.node import Node

UNKNOWN = -1  # in place of an axis: the op cannot be written on whole arrays


class Picked(tuple[int, ...]):
    """The shape of an array that was picked along `axis`; `count` is a recorded number."""

    axis: int
    mask: Node
    count: Any

    @staticmethod
    def by(shape: tuple[int, ...], axis: int, mask: Node, count: Any) -> Picked:
        made = Picked(shape)
        made.axis, made.mask, made.count = axis, mask, count
        return made

    def along(self, shape: tuple[int, ...], axis: int) -> Picked:
        """Another shape that was picked by the same mask."""
        return Picked.by(shape, axis, self.mask, self.count)


@dataclass(frozen=True, slots=True)
class Kept:
    """A picked array as the pass has it: `node` is whole, the mask's axes stand at `axis`."""

    node: Node
    mask: Node
    axis: int

    @property
    def ndim(self) -> int:
        """How many axes the picked array has."""
        return self.node.ndim - self.mask.ndim + 1

    def axes(self, picked: tuple[int, ...]) -> tuple[int, ...]:
        """The axes of the whole array that these axes of the picked one stand for."""
        more = self.mask.ndim - 1
        whole_axes: list[int] = []
        for a in sorted(picked):
            if a == self.axis:
                whole_axes.extend(range(a, a + more + 1))
            else:
                whole_axes.append(a if a < self.axis else a + more)
        return tuple(whole_axes)


@dataclass(frozen=True, slots=True)
class OnPicked:
    """How an op treats arrays picked by a mask.

    `axis(node)` is the picked axis of the result; None if the result is not picked, UNKNOWN if the
    op cannot tell.  `whole(b, node, *operands)` makes the node of the whole result, of operands
    that are `Kept` or not picked, with the builder of the pass; None refuses.  `mask(node)` is the
    mask of an op that reads or writes by one.

    The rules of such an op must not turn a size along a picked axis into a number: they hand the
    shape on as they found it, or ask for the `count`.
    """

    axis: Callable[[Node], int | None]
    whole: Callable[..., Node | None]
    mask: Callable[[Node], Node | None] | None = None


def shape_of(x: Any) -> Any:
    """The shape of an array or a Variable; it remembers where it was picked."""
    node = getattr(x, "node", None)
    return x.shape if node is None else node.shape


def picked_operands(node: Node) -> list[Any]:
    """The picked shapes among what a node is made of: of its operands, and among its attrs."""
    shapes = [a.shape for a in node.args or () if type(getattr(a, "shape", None)) is Picked]
    for value in node.attrs.values():
        if type(value) is Picked:
            shapes.append(value)
    return shapes


def picked_shapes(node: Node) -> list[Picked]:
    """The picked shapes among what a node is made of, and its own."""
    own = [node.shape] if type(node.shape) is Picked else []
    return [*picked_operands(node), *own]


def one_mask(shapes: Sequence[Picked]) -> bool:
    """Whether these were all picked by one mask, be it computed repeatedly."""
    return all(_same(s.mask, shapes[0].mask) for s in shapes[1:])


def _same(a: Node, b: Node, most: int = 1000) -> bool:
    """Whether two nodes do the same with the same arrays; False if that takes long to tell."""
    pairs: list[tuple[Any, Any]] = [(a, b)]
    while pairs:
        x, y = pairs.pop()
        most -= 1
        if x is y:
            continue
        if not isinstance(x, Node):
            if type(x) is not type(y) or isinstance(x, np.ndarray) or x != y:
                return False
            continue
        if most < 0 or not isinstance(y, Node) or x.is_leaf or y.is_leaf or x.op is not y.op:
            return False
        left, right = (*(x.args or ()), *x.attrs.values()), (*(y.args or ()), *y.attrs.values())
        if len(left) != len(right):
            return False
        pairs.extend(zip(left, right, strict=True))
    return True


def picked_among(values: Iterable[Any]) -> list[Picked]:
    """The picked shapes of Variables, also of those in lists."""
    shapes: list[Picked] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            shapes += picked_among(value)
        elif type(shape := getattr(getattr(value, "node", None), "shape", None)) is Picked:
            shapes.append(shape)
    return shapes


# -- ops that work lane by lane ----------------------------------------------------------------


def _lanes_axis(node: Node) -> int | None:
    """The axis that every picked operand has in common, counted from the last."""
    place, *others = {s.axis - len(s) for s in picked_operands(node)}
    for argument in node.args or ():
        shape = np.shape(argument) if not hasattr(argument, "shape") else argument.shape
        # What is as long as the picked array by chance is so for this count alone.
        if type(shape) is not Picked and len(shape) >= -place and shape[place] != 1:
            return UNKNOWN
    return UNKNOWN if others else place + len(node.shape)


def _lanes_whole(b: Any, node: Node, *operands: Any) -> Node | None:
    kept = next(o for o in operands if isinstance(o, Kept))
    place = kept.axis - kept.ndim
    args = [aligned(b, o, kept, place) for o in operands]
    if any(a is None for a in args):
        return None
    return b.op(node.op, *args, **node.attrs)


def aligned(b: Any, x: Any, kept: Kept, place: int) -> Any:
    """An operand that broadcasts with whole arrays whose mask stands `place` from the end.

    None where it cannot: picked by another mask, or as long as the picked array without being so.
    """
    if isinstance(x, Kept):
        if x.mask is not kept.mask or x.axis - x.ndim != place:
            return None
        return harmless(b, x)
    shape = np.shape(x) if not hasattr(x, "shape") else x.shape
    axis = place + len(shape)
    if axis < 0:
        return x
    if shape[axis] != 1 or not isinstance(x, Node):
        return None
    more = kept.mask.ndim - 1
    return b.reshape(x, (*shape[:axis], *(1,) * more, *shape[axis:])) if more else x


def harmless(b: Any, x: Kept) -> Node:
    """A whole array for arithmetic: of integers, those not picked are 1, by which all can divide
    and to which all can be raised."""
    return filled(b, x, 1) if x.node.dtype.kind in "iu" else x.node


def filled(b: Any, x: Kept, value: Any) -> Any:
    """The whole array with a number in the lanes that are not picked."""
    python = {"b": bool, "i": int, "u": int, "c": complex}.get(x.node.dtype.kind, float)
    return b.op("where", mask_on(b, x), x.node, python(value))


def mask_on(b: Any, x: Kept) -> Any:
    """The mask with axes of size one, so that it broadcasts with the whole array."""
    after = x.node.ndim - x.axis - x.mask.ndim
    return b.reshape(x.mask, (*x.mask.shape, *(1,) * after)) if after else x.mask


LANES = OnPicked(_lanes_axis, _lanes_whole)


# -- reductions --------------------------------------------------------------------------------


def gone_axes(ndim: int, axis: Any) -> tuple[int, ...]:
    """The axes that a reduction removes, counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    listed = (axis,) if isinstance(axis, (int, np.integer)) else axis
    return tuple(int(a) % ndim for a in listed)


def reduced_axis(node: Node) -> int | None:
    """Where the picked axis is after a reduction."""
    (shape,) = picked_operands(node)
    if node.attrs.get("where", True) is not True:
        return UNKNOWN
    gone = gone_axes(len(shape), node.attrs["axis"])
    if shape.axis in gone:
        return None
    before = 0 if node.attrs["keepdims"] else sum(a < shape.axis for a in gone)
    return int(shape.axis - before)


def reducing(neutral: Callable[[Any], Any], some: bool = False) -> OnPicked:
    """A reduction in which lanes of a `neutral(dtype)` number do not count.

    `some` tells that NumPy refuses to reduce nothing unless there is an `initial` number.
    """

    def whole(b: Any, node: Node, x: Kept) -> Node | None:
        gone = gone_axes(x.ndim, node.attrs["axis"])
        axes = None if node.attrs["axis"] is None else x.axes(gone)
        if x.axis not in gone:
            return b.op(node.op, x.node, **{**node.attrs, "axis": axes})
        value = neutral(x.node.dtype)
        if value is None:
            return None
        if some and node.attrs.get("initial") is None:
            b.some(x.mask)
        attrs = {**node.attrs, "axis": axes, "keepdims": False}
        return b.reshape(b.op(node.op, filled(b, x, value), **attrs), node.shape)

    return OnPicked(reduced_axis, whole)


def lowest(dtype: Any) -> Any:
    """What no number of the dtype is below; None where there is no order."""
    if dtype.kind == "f":
        return -np.inf
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return False if dtype.kind == "b" else None


def highest(dtype: Any) -> Any:
    """What no number of the dtype is above."""
    if dtype.kind == "f":
        return np.inf
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return True if dtype.kind == "b" else None
