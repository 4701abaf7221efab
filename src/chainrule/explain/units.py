"""Units that pass no gradient: the dead ones of relu, the flat ends of tanh and its like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from chainrule.core.graph import inputs_of
from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.op import Gate, Op, Partials
from chainrule.core.rule import parameters_of
from chainrule.diff.gradient import vjp
from chainrule.diff.run import Run

FLAT = 0.01  # of the steepest slope, below which a function is flat
FAR = 40.0  # where a function that flattens out has done so
PROBES = np.concatenate([[-FAR], np.linspace(-8.0, 8.0, 65), [FAR]])


@dataclass(frozen=True, eq=False)
class Units:
    """The units of one activation: the entries of one example.

    `silent` marks those whose slope is 0 in every example; `saturated` is the share of all entries
    on the flat ends of a function that has two (tanh, expit, arctan, …).
    """

    node: Node
    silent: np.ndarray[Any, Any]
    saturated: float


def units_of(run: Run, wrt: Iterable[Node]) -> tuple[Units, ...]:
    """The activations between the nodes `wrt` and the output, in the order of the graph.

    An activation works entry by entry on a batch, its first axis; it is flat in places, which
    depend on what flows through it, and there is no way around it, as there is in x·expit(x).
    """
    with np.errstate(all="ignore"):
        return tuple(_units(run, node, parent) for node, parent in _activations(run, set(wrt)))


def _activations(run: Run, moved: set[Node]) -> Iterator[tuple[Node, Node]]:
    """Each activation with the parent it bends; `moved` is what it depends on, and grows."""
    adjoints = run.known_adjoints()
    for node in run.graph.nodes:
        if node.is_leaf or moved.isdisjoint(inputs_of(node)):
            continue
        moved.add(node)
        bent = [p for p in node.parents if p in moved and not p.is_leaf]
        batch = node.ndim > 1 and node.shape[0] > 1 and node.dtype.kind == "f"
        if len(bent) != 1 or not batch or adjoints.get(node) is None:
            continue
        (parent,) = bent
        ways = [child for child in run.graph.children(parent) if parent in child.parents]
        if parent.shape == node.shape and ways == [node] and _flattens(node, parent, moved):
            yield node, parent


def _flattens(node: Node, parent: Node, moved: set[Node]) -> bool:
    """Whether the op has flat parts, where its input says so: not x·c, not a constant mask."""
    derivative, args = node.op.derivative, node.args or ()
    if not isinstance(derivative, Partials) or node.op.variadic:
        return False
    named = list(zip(node.op.inputs, derivative.factors, args, strict=True))
    factor = next(factor for _, factor, a in named if a is parent)
    if not isinstance(factor, Gate):
        return _steepest(node) > 0
    flowing = {name for name, _, a in named if isinstance(a, Node) and a in moved}
    return not flowing.isdisjoint(parameters_of(factor))


def _units(run: Run, node: Node, parent: Node) -> Units:
    ones = np.ones(node.shape, node.dtype)
    (slope,) = (c for p, c in run.pulled(ones, node) if p is parent)
    sizes = np.abs(np.broadcast_to(unmasked(slope), node.shape))
    saturated = float(np.mean(sizes < FLAT * _steepest(node)))
    return Units(node, ~np.any(sizes, axis=0), saturated)


def _steepest(node: Node) -> float:
    """The steepest slope of a function that flattens out on both sides; 0.0 for another."""
    return 0.0 if node.attrs or len(node.args or ()) != 1 else _steepest_of(node.op)


@cache
def _steepest_of(op: Op) -> float:
    _, pull = vjp(op, PROBES)
    sizes = np.abs(pull(np.ones_like(PROBES))[0])
    if not np.isfinite(sizes).all() or max(sizes[0], sizes[-1]) >= 1e-3 * sizes.max():
        return 0.0
    return float(sizes.max())
