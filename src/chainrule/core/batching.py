"""Many lanes at once: how an op is applied to operands whose first axis counts lanes.

`Op.batch` of a record says how: a function of a `BatchCall` that returns the result with lanes in
front, or None where it cannot.  The common kinds:

    LANES                elementwise: ranks are aligned behind the axis of lanes
    SPREAD               every operand is given an axis of lanes: they have one shape
    STACKED              the op takes stacks of its one operand already (matrices, all lanes alike)
    Axes("axis")         an attr names axes of the first operand: they are counted behind the lanes
    AlignedAxis("axis")  operands are aligned, and an attr names an axis of the result
    a function           anything else, as with `merged`: the lanes as a part of another axis

An op without works lane by lane: slow, right, and named in reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from chainrule.core.op import Op

Apply = Callable[["Op", Sequence[Any], Mapping[str, Any]], Any]


class Lanes:
    """An operand that differs by lane: `value` has the lanes along its first axis.

    What an op with several results makes is a tuple of such values.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __getitem__(self, k: int) -> Any:
        """The operand in one lane."""
        value = self.value
        return tuple(part[k] for part in value) if isinstance(value, tuple) else value[k]

    def picked(self, places: np.ndarray) -> Lanes:
        """Some of the lanes."""
        value = self.value
        if isinstance(value, tuple):
            return Lanes(tuple(part[places] for part in value))
        return Lanes(value[places])

    def __repr__(self) -> str:
        return f"Lanes({self.value!r})"


@dataclass(slots=True)
class BatchCall:
    """One op on operands of which some are `Lanes`.

    `shape` is that of the result in one lane, () where there are several results; `apply(op, args,
    attrs)` computes or records.
    """

    op: Op
    args: Sequence[Any]
    attrs: Mapping[str, Any]
    count: int
    shape: tuple[int, ...]
    apply: Apply

    def on(self, i: int) -> bool:
        """Whether operand i differs by lane."""
        return type(self.args[i]) is Lanes

    def raw(self, i: int) -> Any:
        """Operand i as it is, with its axis of lanes if it has one."""
        arg = self.args[i]
        return arg.value if type(arg) is Lanes else arg

    def rank(self, i: int) -> int:
        """How many axes operand i has in one lane."""
        return rank_of(self.args[i])

    def lane_shape(self, i: int) -> tuple[int, ...]:
        """The shape of operand i in one lane."""
        arg = self.args[i]
        return arg.value.shape[1:] if type(arg) is Lanes else tuple(np.shape(arg))

    def aligned(self, i: int, rank: int) -> Any:
        """Operand i with axes of size one behind the lanes, so that a lane has `rank` axes."""
        arg = self.args[i]
        return lifted(arg.value, rank) if type(arg) is Lanes else arg

    def spread(self, i: int) -> Any:
        """Operand i with an axis of lanes in front, whether it differs by lane or not."""
        arg = self.args[i]
        if type(arg) is Lanes:
            return arg.value
        arg = arg if hasattr(arg, "dtype") else np.asarray(arg)
        return np.broadcast_to(arg, (self.count, *arg.shape))

    def call(self, *args: Any, op: Op | None = None, **changed: Any) -> Any:
        """The op on these operands, with its own attrs but for those that are named here."""
        return self.apply(op or self.op, args, {**self.attrs, **changed} if op is None else changed)


Batch = Callable[[BatchCall], Any]


def rank_of(arg: Any) -> int:
    if type(arg) is Lanes:
        return int(arg.value.ndim) - 1
    return int(arg.ndim) if hasattr(arg, "ndim") else 0


def lifted(x: Any, rank: int) -> Any:
    """(count, *lane) with as many axes of size one behind the lanes as a lane of `rank` needs."""
    missing = rank + 1 - x.ndim
    if missing <= 0:
        return x
    return x.reshape((x.shape[0], *(1,) * missing, *x.shape[1:]))


def lanewise(call: BatchCall) -> Any:
    """An elementwise op: operands are aligned behind the axis of lanes."""
    args = call.args
    rank = max(map(rank_of, args))
    values = [lifted(a.value, rank) if type(a) is Lanes else a for a in args]
    return call.apply(call.op, values, call.attrs)


def stacked(call: BatchCall) -> Any:
    """An op of one operand that takes stacks of it: the lanes are one more axis of the stack."""
    return call.call(call.raw(0))


def spread_all(call: BatchCall) -> Any:
    """An op of operands that must have one shape."""
    return call.call(*map(call.spread, range(len(call.args))))


LANES: Batch = lanewise
SPREAD: Batch = spread_all
STACKED: Batch = stacked


@dataclass(frozen=True, slots=True)
class Axes:
    """An attr names axes of the first operand; None means all of them.

    With `flat`, None means the operand as one axis (argmax, cumsum).  Other operands stay as they
    are and must not differ by lane.
    """

    name: str
    flat: bool = False

    def __call__(self, call: BatchCall) -> Any:
        if any(call.on(i) for i in range(1, len(call.args))):
            return None
        x, axis = call.spread(0), call.attrs[self.name]
        rank = x.ndim - 1
        if self.flat and (axis is None or not rank):
            x, axis = x.reshape((x.shape[0], prod(x.shape[1:]))), 1
        else:
            axis = behind(axis, rank)
        out = call.call(x, *map(call.raw, range(1, len(call.args))), **{self.name: axis})
        flat = self.flat and out.shape[1:] != call.shape  # keepdims of what was flattened
        return out.reshape((call.count, *call.shape)) if flat else out


def behind(axis: Any, rank: int) -> Any:
    """Axes of one lane, counted with the lanes in front; of a number, there are none."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, (tuple, list)):
        return tuple(int(a) % rank + 1 for a in axis)
    return int(axis) % rank + 1 if rank else ()


@dataclass(frozen=True, slots=True)
class AlignedAxis:
    """Operands are aligned as those of an elementwise op; an attr names an axis of the result."""

    name: str

    def __call__(self, call: BatchCall) -> Any:
        rank = max(map(rank_of, call.args))
        changed: dict[str, Any] = {self.name: behind(call.attrs[self.name], len(call.shape))}
        return call.call(*(call.aligned(i, rank) for i in range(len(call.args))), **changed)


def merged(x: Any, axis: int, groups: int = 1) -> Any:
    """(lanes, *lane) with the lanes in an axis of the lane, within each of its `groups`."""
    count, *lane = x.shape
    before, n, after = lane[:axis], lane[axis], lane[axis + 1 :]
    apart = x.reshape((count, *before, groups, n // groups, *after))
    return np.moveaxis(apart, 0, axis + 1).reshape((*before, count * n, *after))


def parted(x: Any, axis: int, count: int, groups: int = 1) -> Any:
    """The inverse of `merged`."""
    before, n, after = x.shape[:axis], x.shape[axis] // count, x.shape[axis + 1 :]
    apart = np.moveaxis(x.reshape((*before, groups, count, n // groups, *after)), axis + 1, 0)
    return apart.reshape((count, *before, n, *after))


def each_lane(call: BatchCall) -> Any:
    """The op lane by lane, and its results stacked: what an op without `batch` comes to."""
    results = [
        call.apply(call.op, [a[k] if type(a) is Lanes else a for a in call.args], call.attrs)
        for k in range(call.count)
    ]
    if isinstance(results[0], tuple):
        return tuple(np.stack(parts) for parts in zip(*results, strict=True))
    return np.stack(results)


def batched(call: BatchCall) -> tuple[Any, bool]:
    """The result with lanes in front, and whether it was made lane by lane."""
    rule = call.op.batch
    out = None if rule is None or call.count == 0 else rule(call)
    return (each_lane(call), True) if out is None else (out, False)
