"""One look at a training run: the sizes of gradients and updates by layer, and silent units."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.graph import Graph, inputs_of
from chainrule.core.node import Node
from chainrule.diff.run import Run, recorded_run
from chainrule.explain.depth import Depth, depth_of
from chainrule.explain.flow import flow_between
from chainrule.explain.measure import measure_of
from chainrule.explain.size import norm
from chainrule.explain.units import Units, units_of

LAST_STEP = re.compile(r"(\[[^\[]*\]|\.\w+)$")  # of a path: ['W'], [0], .bias
KEY = re.compile(r"\['([^']*)'\]")


@dataclass(frozen=True)
class Layer:
    """The parameters that one container holds, or one array that is in none.

    `gradient` is the size of that of the parameters, `arriving` that of the adjoint of what is
    first computed of them and data.  `update` is the size of the step by that of the parameters,
    None where these are all 0; `status` is that of the gradient, as `Run.status` says it.
    """

    name: str
    count: int
    gradient: float
    arriving: float
    update: float | None
    status: str


@dataclass(frozen=True, eq=False)
class Activation:
    """One activation, its line of source, and its units, as `explain.units` has them."""

    op: str
    text: str
    place: str
    silent: np.ndarray
    saturated: float


@dataclass(frozen=True, eq=False)
class Look:
    """What was seen at one step; the layers come in the order of the data, the first one first.

    `changes` says where the gradient vanishes or explodes on its way to the first of them.
    """

    step: int
    layers: tuple[Layer, ...]
    activations: tuple[Activation, ...]
    changes: tuple[str, ...]


def look(
    loss: Callable[..., Any], before: Any, after: Any, batch: Any, step: int
) -> tuple[Look, Run]:
    """Record the loss at the parameters before a step, on its batch, and see what the step did."""
    old, structure = flatten(before)
    new = structure.leaves_of(after)
    with np.errstate(all="ignore"):
        run = recorded_run(loss, before, *batch).backward()
        leaves = run.graph.leaves[: len(old)]
        held: dict[str, list[tuple[Node, Any, Any]]] = {}
        for path, *row in zip(structure.paths, leaves, old, new, strict=True):
            held.setdefault(layer_name(path) or str(leaves[0].name), []).append(tuple(row))
        heights = _heights(run.graph)
        firsts = _first_uses(run.graph, held, heights)
        order = sorted(held, key=lambda name: -heights[firsts[name]])
        layers = tuple(_layer(run, name, held[name], firsts[name]) for name in order)
        active = tuple(map(_activation, units_of(run, leaves)))
        return Look(step, layers, active, _changes(run, firsts[order[0]])), run


def layer_name(path: str) -> str:
    """Of the container that holds an array: `blocks[0].mlp` for ['blocks'][0]['mlp']['W']."""
    holder = LAST_STEP.sub("", path) or path
    return KEY.sub(r".\1", holder).lstrip(".")


def place_of(node: Node) -> str:
    """`model.py:12`, or nothing where the line is not known."""
    line = node.line
    return f"{os.path.basename(line.file)}:{line.number}" if line else ""


def _heights(graph: Graph) -> dict[Node, int]:
    """The longest distance of each node from the output."""
    heights = dict.fromkeys(graph.nodes, 0)
    for node in reversed(graph.nodes):
        for parent in inputs_of(node):
            heights[parent] = max(heights[parent], heights[node] + 1)
    return heights


def _first_uses(
    graph: Graph, held: dict[str, list[tuple[Node, Any, Any]]], heights: dict[Node, int]
) -> dict[str, Node]:
    """Of each layer the node where its parameters meet data, the farthest from the output."""
    owners = {node: name for name, rows in held.items() for node, _, _ in rows}
    firsts = {name: rows[0][0] for name, rows in held.items()}
    for node in graph.nodes:
        parents = inputs_of(node)
        of = {owners[parent] for parent in parents if parent in owners}
        if len(of) == 1 and all(parent in owners for parent in parents):
            owners[node] = of.pop()  # made of one layer alone: its transpose, its square
        for name in of:
            if firsts[name] in owners or heights[node] > heights[firsts[name]]:
                firsts[name] = node
    return firsts


def _layer(run: Run, name: str, held: list[tuple[Node, Any, Any]], first: Node) -> Layer:
    size = math.hypot(*(norm(a) for _, a, _ in held))
    moved = math.hypot(*(norm(np.subtract(b, a)) for _, a, b in held))
    alive = [node for node, _, _ in held if run.known_adjoints().get(node) is not None]
    return Layer(
        name=name,
        count=sum(np.size(a) for _, a, _ in held),
        gradient=math.hypot(*(norm(run.adjoint(node)) for node in alive)),
        arriving=norm(run.adjoint(first)),
        update=moved / size if size else None,
        status="value" if alive else run.status(held[0][0]),
    )


def _activation(units: Units) -> Activation:
    node = units.node
    text = node.line.text if node.line else ""
    return Activation(node.op.name, text, place_of(node), units.silent, units.saturated)


def _changes(run: Run, wrt: Node) -> tuple[str, ...]:
    """What `cr.explain` says of the depth, without its paths, of which proofs take long."""
    if run.known_adjoints().get(wrt) is None:
        return ()
    seeds = dict(zip(run.graph.outputs, run.seeds(), strict=True))
    depth = depth_of(flow_between(run, wrt, seeds, measure_of(wrt, None, None)))
    found = (depth.vanishing, "vanishes", min), (depth.exploding, "explodes", max)
    return tuple(
        f"the gradient {what}: in the reverse pass it becomes {change.factor:.2g} times as large "
        f"over {change.levels} level{'s' * (change.levels > 1)}, most of all by "
        f"{_cause(depth, extreme)}"
        for change, what, extreme in found
        if change is not None
    )


def _cause(depth: Depth, extreme: Callable[..., Any]) -> str:
    """The op on one line that changes the gradient most, all of its levels together."""
    with np.errstate(all="ignore"):
        logs = np.nan_to_num(np.log(depth.magnitudes), nan=1e3, posinf=1e3, neginf=-1e3)
    factors: dict[tuple[str, str], float] = {}
    for node, log in zip(depth.nodes, np.diff(logs), strict=False):
        cause = node.op.name, place_of(node)
        factors[cause] = factors.get(cause, 0.0) + log
    return ", ".join(filter(None, extreme(factors, key=factors.get)))
