"""Lanes: which elements of a value are not finite, and which elements they were computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.masked import Masked, plain
from chainrule.core.node import Node
from chainrule.core.op import ZERO, Gate, Partials
from chainrule.core.parts import OBJECT, Parts
from chainrule.core.rule import rule_for
from chainrule.core.spec import Spec
from chainrule.diff.reverse import contributions, fit
from chainrule.errors import DerivativeError

Lanes = np.ndarray[Any, np.dtype[np.bool_]]
DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class Operand:
    """One argument of an op: its name, the node it is (None for a constant), its value if known.

    It is suspect if its value is not known, and what it was computed from is not finite.
    """

    name: str
    node: Node | None
    value: Any
    suspect: bool = False


def not_finite(value: Any) -> Lanes:
    """The lanes that are NaN or infinite; a single lane stands for an op's several results."""
    if isinstance(value, (tuple, Parts)):
        return np.array(any(p is not None and not_finite(p).any() for p in value))
    array = np.asarray(plain(value))
    if array.dtype.kind not in "fc":
        return np.zeros(array.shape, bool)
    return np.asarray(~np.isfinite(array))


def is_nan(value: Any) -> Lanes:
    """The lanes that are NaN."""
    if isinstance(value, (tuple, Parts)):
        return np.array(any(p is not None and is_nan(p).any() for p in value))
    array = np.asarray(plain(value))
    return np.asarray(np.isnan(array) if array.dtype.kind in "fc" else np.zeros(array.shape, bool))


def first_lane(lanes: Lanes) -> tuple[int, ...]:
    """The index of the first lane that is set."""
    return tuple(int(i) for i in np.unravel_index(int(lanes.argmax()), lanes.shape))


def spread(lanes: Lanes, shape: tuple[int, ...]) -> Lanes:
    """Lanes of an operand as lanes of the result it was broadcast to."""
    return np.broadcast_to(lanes, shape)


def folded(lanes: Lanes, shape: tuple[int, ...]) -> Lanes:
    """Lanes of a result as lanes of an operand of this shape that was broadcast to it."""
    if lanes.shape == shape:
        return lanes
    spread: Masked = fit(Masked(np.zeros(lanes.shape), lanes), Spec(shape, DOUBLE))
    return spread.alive


def at_lane(value: Any, lane: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The one number of an operand that a lane of the result, of this shape, was computed from."""
    return np.broadcast_to(np.asarray(plain(value)), shape)[lane]


def own_lane(value: Any, lane: tuple[int, ...]) -> tuple[int, ...]:
    """The index, in an operand that was broadcast, of what a lane of the result read."""
    shape = np.shape(plain(value))
    kept = lane[len(lane) - len(shape) :]
    return tuple(0 if n == 1 else i for i, n in zip(kept, shape, strict=True))


def lane_wise(node: Node, operands: Sequence[Operand]) -> bool:
    """Whether each lane of the result is computed from the same lane of each operand."""
    if node.dtype == OBJECT or any(isinstance(o.value, tuple) for o in operands):
        return False
    shapes = [np.shape(o.value) for o in operands]
    if not (node.rule.elementwise or node.op.derivative is ZERO):
        return False
    try:
        return np.broadcast_shapes(*shapes, node.shape) == node.shape
    except ValueError:
        return False


def all_known(node: Node, operands: Sequence[Operand]) -> bool:
    """Whether every argument is there: a node recorded without them keeps what its rule reads."""
    every = len(operands) == len(node.rule.active)
    return every and all(o.value is not None for o in operands)


def read_lanes(
    node: Node, operands: Sequence[Operand], out: Any, lanes: Lanes
) -> dict[int, Lanes] | None:
    """Per operand the lanes that these lanes of the result were taken from; None if not known.

    `where`, `max` and indexing read some lanes only: a NaN in the others has no part in the result.
    """
    if not all_known(node, operands) or node.dtype == OBJECT or not _selects(node):
        return None
    values = [o.value for o in operands]
    active = tuple(not isinstance(v, tuple) and Spec.of(v).dtype.kind in "fc" for v in values)
    rule = rule_for(node.op, active, node.dtype.kind == "c")
    specs: tuple[Any, ...] = tuple(Spec.of(values[i]) for i in rule.positions)
    probe = Node(rule, specs, rule.keep(*values, out), node.attrs, node.shape, node.dtype)
    try:
        with np.errstate(all="ignore"):
            parts = contributions(Masked(lanes.astype(node.dtype), lanes), probe)
    except DerivativeError:
        return None
    return {i: _alive(c, spec) for i, c, spec in zip(rule.positions, parts, specs, strict=True)}


def _selects(node: Node) -> bool:
    derivative = node.op.derivative
    if isinstance(derivative, Partials):
        return any(isinstance(f, Gate) for f in derivative.factors)
    depends = node.op.depends
    return depends.copies or depends.reach is not None


def _alive(contribution: Any, spec: Spec) -> Lanes:
    if contribution is None:
        return np.zeros(spec.shape, bool)
    fitted = fit(contribution, spec)
    return fitted.alive if type(fitted) is Masked else np.ones(spec.shape, bool)
