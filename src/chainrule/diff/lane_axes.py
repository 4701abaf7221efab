"""Which axis of each argument and of each result counts the lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import Lanes
from chainrule.core.containers import flatten, opened
from chainrule.diff.pieces import with_lanes
from chainrule.errors import ArgumentError, ShapeError
from chainrule.record.variable import Variable

Axes = Any  # an int, None, or a container of them


def spread_axes(axes: Axes, tree: Any, what: str) -> list[int | None]:
    """The axis of each leaf of a container, where one number may stand for all that is below."""
    found: list[int | None] = []
    pending = [(axes, tree)]
    while pending:
        axis, part = pending.pop()
        if axis is None or (isinstance(axis, (int, np.integer)) and not isinstance(axis, bool)):
            found += [None if axis is None else int(axis)] * flatten(part)[1].count
            continue
        one, other = opened(axis), opened(part)
        alike = one is not None and other is not None and len(one[1]) == len(other[1])
        if one is None or other is None or not alike or one[0].names != other[0].names:
            raise ArgumentError(
                f"vmap: {what} {axis!r} does not fit {_kind(part)}: it is a number, None, or a "
                "container built as that one is"
            )
        pending += reversed(list(zip(one[1], other[1], strict=True)))
    return found


def _kind(part: Any) -> str:
    children = opened(part)
    if children is None:
        return f"a {type(part).__name__}"
    return f"a {type(part).__name__} of {len(children[1])}"


def leaf_name(path: str) -> str:
    """What a user calls a leaf: the number of its argument, and its place in there."""
    kind, rest = path[1], path[3:]
    if kind == "1":
        return f"keyword argument {rest}"
    number, inner = rest.removeprefix("[").split("]", 1)
    return f"argument {number}{inner}"


def lanes_first(value: Any, axis: int, name: str) -> Any:
    """An argument with its axis of lanes in front."""
    array: Any = value if isinstance(value, Variable) else np.asarray(value)
    if array.dtype.kind not in "fciub":
        raise ArgumentError(
            f"vmap: {name} is a {type(value).__name__}, and lanes hold numbers; in_axes=None for "
            "what all lanes share"
        )
    if not -array.ndim <= axis < array.ndim:
        raise ShapeError(
            f"vmap: {name} of shape {array.shape} has no axis {axis}; in_axes=None for what all "
            "lanes share"
        )
    return array if axis in (0, -array.ndim) else np.moveaxis(array, axis, 0)


def placed(leaf: Any, axis: int | None, count: int) -> Any:
    """A result with its lanes along `axis`; None for one that is the same in all."""
    if axis is None:
        if type(leaf) is Lanes:
            raise ArgumentError(
                "vmap: out_axes is None for a result that differs by lane; give the axis where the "
                "lanes shall stand"
            )
        return leaf
    value = with_lanes(leaf, count)
    if not -value.ndim <= axis < value.ndim:
        raise ShapeError(f"vmap: out_axes={axis}, and the result has {value.ndim} axes with lanes")
    return value if axis == 0 else np.moveaxis(value, 0, axis)
