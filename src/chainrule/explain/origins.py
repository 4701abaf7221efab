"""What can be said of the place where a NaN or infinity began: operands, entry, reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.node import Node
from chainrule.core.op import Linear, Multilinear
from chainrule.core.parts import Parts
from chainrule.core.replay import computed
from chainrule.diff.call import unit
from chainrule.explain.blame import Event, Known
from chainrule.explain.lanes import (
    Operand,
    all_known,
    at_lane,
    first_lane,
    is_nan,
    lane_wise,
    not_finite,
    own_lane,
)

REASONS = {
    "divide by zero": "division by zero",
    "overflow": "overflow",
    "invalid value": "invalid",
}
STEPS = 12  # nodes that one turn of a loop may have, one after the other
Place = tuple[int, ...] | None


def examined(event: Event, known: Known) -> Event:
    """The event with what its op read, the local derivative, and how it came about."""
    node = event.node
    if node.rule is None or event.role in ("constant", "seed") or event.how == "sum":
        return event
    operands = known.operands(node)
    by_lane = lane_wise(node, operands) and event.lane is not None
    read, places = _read_here(event, operands, by_lane)
    event = replace(event, operands=read, places=places)
    if event.when == "tangent":
        return event
    if event.when == "forward":
        return replace(event, how=_how_value(event, operands, by_lane))
    return _with_local(event, known, by_lane)


def _read_here(
    event: Event, operands: Any, by_lane: bool
) -> tuple[tuple[Operand, ...], tuple[Place, ...]]:
    """The operands, each reduced to the number this lane was computed from."""
    if not by_lane or event.lane is None:
        return tuple(operands), (None,) * len(operands)
    read: list[Operand] = []
    places: list[Place] = []
    for operand in operands:
        value = operand.value
        if value is not None:
            places.append(own_lane(value, event.lane))
            value = at_lane(value, event.lane, event.node.shape)
        else:
            places.append(None)
        read.append(Operand(operand.name, operand.node, value))
    return tuple(read), tuple(places)


# -- values ----------------------------------------------------------------------------------------


def _how_value(event: Event, operands: Any, by_lane: bool) -> str:
    """How an op came to this value: what the processor says when it computes the lane again."""
    given = [o.value for o in event.operands]
    if not all_known(event.node, event.operands):
        return ""
    if event.role == "carrier":
        return _meeting(event, given) if by_lane else ""
    raised = _raised(lambda: computed(event.node, given))
    if not raised and isinstance(event.node.op.derivative, (Linear, Multilinear)):
        return "overflow" if _any_input(operands) else ""  # sums and products have no poles
    return _reason(raised) or ("overflow" if fits_double(event) else "")


def fits_double(event: Event) -> bool:
    """Whether a narrow op on the same operands in double precision is finite."""
    node, values = event.node, [o.value for o in event.operands]
    if node.dtype not in (np.float32, np.float16) or any(v is None for v in values):
        return False
    wide = [np.asarray(v, np.float64)[()] if np.asarray(v).dtype.kind == "f" else v for v in values]
    try:
        with np.errstate(all="ignore"):
            wider = computed(node, wide)
    except Exception:  # noqa: BLE001 - an op that takes no doubles
        return False
    return bool(np.all(np.isfinite(wider)))


def _any_input(operands: Any) -> bool:
    return any(np.size(o.value) for o in operands)


def _meeting(event: Event, given: list[Any]) -> str:
    """0 × inf, inf - inf or inf / inf: where infinities, no NaN, became a NaN."""
    if event.kind != "NaN" or any(is_nan(v).any() for v in given):
        return ""
    words = [_word(v) for v in given]
    if len(words) == 2 and event.node.op.origin:
        return f"{words[0]} {event.node.op.origin} {words[1]}"
    return f"{event.node.op.name} of {', '.join(words)}"


def _word(number: Any) -> str:
    return f"{number:.6g}" if isinstance(number, (float, complex, np.inexact)) else str(number)


def _raised(compute: Callable[[], Any]) -> list[str]:
    """The floating-point exceptions, in NumPy's words, that a computation raises."""
    seen: list[str] = []
    try:
        with np.errstate(all="call", under="ignore", call=lambda kind, _flag: seen.append(kind)):
            compute()
    except Exception:  # noqa: BLE001 - a number in place of an array: then the reason stays unsaid
        return []
    return seen


def _reason(raised: list[str]) -> str:
    """The reason that explains the others: 0/0 is invalid before it is anything else."""
    return next((REASONS[kind] for kind in REASONS if kind in raised), "")


# -- adjoints --------------------------------------------------------------------------------------


def _with_local(event: Event, known: Known, by_lane: bool) -> Event:
    node, parent = event.node, event.parent
    assert parent is not None
    slot = next(k for k, p in enumerate(node.parents) if p is parent)
    bound = known.bound(node)
    if not by_lane:
        lane, local = _column(bound, slot, event.index)
        if local is not None and np.isnan(local) and event.kind != "NaN":
            local = None  # 0 × inf of the unit tangent, no entry of the Jacobian
        upstream = event.adjoint
        adjoint = None
        if lane is not None and not isinstance(upstream, Parts):
            adjoint = np.asarray(plain(upstream))[lane]
        how = _how_product(adjoint, local, event, [])
        return replace(event, lane=lane, local=local, adjoint=adjoint, how=how)
    assert event.lane is not None
    adjoint = np.asarray(plain(event.adjoint))[event.lane]
    single = _at_one_lane(bound, event.lane)
    derivatives: list[Any] = []

    def compute() -> None:
        derivatives.append(plain(single.rule.pull(np.ones((), node.dtype)[()], single)[slot]))

    raised = _raised(compute)
    local = np.conj(derivatives[0]) if derivatives and np.ndim(derivatives[0]) == 0 else None
    how = _how_product(adjoint, local, event, raised)
    return replace(event, local=local, adjoint=adjoint, how=how)


def _at_one_lane(bound: Node, lane: tuple[int, ...]) -> Node:
    """A lane-wise node that has saved the numbers of one lane only."""

    def single(name: str, value: Any) -> Any:
        if name == "xs":
            return tuple(at_lane(v, lane, bound.shape) for v in value)
        if name.endswith("_spec") or name == "fixed":
            return value
        return at_lane(value, lane, bound.shape)

    names = bound.rule.saved_names
    return bound.with_saved(tuple(single(n, v) for n, v in zip(names, bound.saved, strict=True)))


def _column(bound: Node, slot: int, index: tuple[int, ...]) -> tuple[Place, Any]:
    """The first entry that is not finite in the column of the local Jacobian of this input lane."""
    parent = bound.parents[slot]
    k = int(np.ravel_multi_index(index, parent.shape)) if parent.shape else 0
    tangents: list[Any] = [None] * len(bound.parents)
    tangents[slot] = plain(unit(parent.shape, parent.dtype, k))
    try:
        with np.errstate(all="ignore"):
            moved = plain(bound.rule.push(tangents, bound))
    except Exception:  # noqa: BLE001 - no forward rule, or one that cannot run here: no entry to show
        return None, None
    if moved is None or isinstance(moved, Parts) or np.shape(moved) != bound.shape:
        return None, None
    bad = not_finite(moved)
    poles = bad & ~is_nan(moved)  # 0 × inf elsewhere in the column is no entry of it
    bad = poles if poles.any() else bad
    if not bad.any():
        return None, None
    lane = first_lane(bad)
    return lane, np.asarray(moved)[lane]


def _how_product(adjoint: Any, local: Any, event: Event, raised: list[str]) -> str:
    """How (upstream adjoint) × (local derivative) came to be what it is."""
    if local is None or adjoint is None:
        return _reason(raised)
    if not np.isfinite(local):
        if event.kind == "NaN" and not np.isnan(local) and adjoint == 0:
            return f"0 × {_word(local)}"
        return _reason(raised)
    if event.kind == "NaN" and np.isinf(adjoint) and local == 0:
        return f"{_word(adjoint)} × 0"
    return "overflow" if np.isfinite(adjoint) and event.kind != "NaN" else ""


# -- where it was computed from --------------------------------------------------------------------


def lineage(nodes: Sequence[Node]) -> Iterator[Node]:
    """These nodes and what they were computed from, a few steps far."""
    for _ in range(STEPS):
        yield from nodes
        nodes = list(dict.fromkeys(p for n in nodes for p in n.parents if p.rule is not None))


def leaves_of(node: Node) -> set[Node]:
    """The leaves a node was computed from, as far as a few steps tell."""
    near, leaves = [node], set()
    for _ in range(STEPS):
        leaves |= {n for n in near if n.rule is None}
        near = list(dict.fromkeys(p for n in near for p in n.parents))
    return leaves


def same_place(one: Node, other: Node) -> bool:
    """Whether both were recorded by the same instruction."""
    return one.code is not None and (one.code, one.lasti) == (other.code, other.lasti)
