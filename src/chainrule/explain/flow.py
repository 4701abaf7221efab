"""The part of a graph through which one input reaches the output, as integers, each edge sized.

Nodes are numbered in topological order, the input 0; after the last node stands a *sink*, into
which every output leads with the size of its seed.  An edge is a pair (parent, child) of nodes
through which a derivative flows, counted once however often the child uses the parent.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.parts import OBJECT
from chainrule.diff.reverse import added_to, contributions, fit
from chainrule.diff.run import Run
from chainrule.explain.measure import Measure
from chainrule.explain.size import is_dead, norm

Parents = Callable[[Node], Sequence[Node]]


@dataclass(frozen=True, eq=False)
class Flow:
    """`tail[e]` is the parent of edge e; the edges into child v are first[v] … first[v + 1] - 1.

    `factors[e]` is the local derivative where both ends are real numbers, at the input its measure;
    `dead` are the edges whose derivative is a structural zero at this point.  Where `scalar` is
    false, some node in between is an array, and a factor is only the ratio of two sizes.
    `sizes[v]` is the norm of the adjoint of node v.
    """

    run: Run
    nodes: list[Node]
    first: list[int]
    tail: list[int]
    factors: list[float]
    dead: set[int]
    sizes: list[float]
    seeds: dict[Node, Any]
    scalar: bool

    @property
    def wrt(self) -> Node:
        return self.nodes[0]

    def edges_into(self, child: int) -> range:
        return range(self.first[child], self.first[child + 1])

    def dead_edges(self) -> set[tuple[Node, Node]]:
        """The edges whose derivative is a structural zero, as pairs (parent, child)."""
        return {
            (self.nodes[self.tail[e]], self.nodes[bisect_right(self.first, e) - 1])
            for e in self.dead
        }


def flow_between(run: Run, wrt: Node, seeds: dict[Node, Any], measure: Measure) -> Flow:
    """Everything between `wrt` and the outputs; `measure` is how an adjoint of `wrt` is sized."""
    parents = _parents_through_cuts(run) if _is_cut(wrt) else _parents
    nodes = _nodes_between(run, wrt, set(seeds), parents)
    scalar = all(map(is_number, nodes[1:]))
    draft = _Draft(run, nodes, measure, {} if scalar else _used_once(run, seeds))
    with np.errstate(all="ignore"):
        for v, node in enumerate(nodes):
            if v:
                draft.add_child(v, node)
            draft.first.append(len(draft.tail))
        for out, seed in seeds.items():
            if out in draft.place:
                draft.add_edge(draft.place[out], _signed(seed) if is_number(out) else norm(seed))
    draft.first.append(len(draft.tail))
    return Flow(
        run, nodes, draft.first, draft.tail, draft.factors, draft.dead, draft.sizes, seeds,
        scalar,
    )  # fmt: skip


def _nodes_between(run: Run, wrt: Node, outputs: set[Node], parents: Parents) -> list[Node]:
    """The input, then in topological order every node on a path from it to an output."""
    graph = run.graph
    reached = {wrt}
    below = []
    for node in graph.nodes[graph.index[wrt] :]:
        for parent in parents(node):
            if parent in reached:
                reached.add(node)
                below.append(node)
                break
    useful = outputs & reached
    between = []
    for node in reversed(below):
        if node in useful:
            between.append(node)
            useful.update(parents(node))
    return [wrt, *reversed(between)]


def _used_once(run: Run, seeds: dict[Node, Any]) -> dict[Node, bool]:
    """The nodes whose adjoint is what their one child adds, and nothing else."""
    uses: dict[Node, bool] = dict.fromkeys(seeds, False)
    for node in run.graph.nodes:
        for parent in node.parents:
            uses[parent] = parent not in uses
    return uses


def is_number(node: Node) -> bool:
    """Whether the node holds one real number, so that a derivative through it is a factor."""
    return node.dtype.kind == "f" and (node.shape == () or node.size == 1)


def pulled(run: Run, child: Node, parent: Node, g: Any) -> Any:
    """What `child`, if its adjoint were `g`, would add to that of `parent`; None: nothing."""
    if g is None:
        return None
    if len(child.parents) == 1 and child.parents[0] is parent:
        (c,) = contributions(g, run.bound(child))
        return None if c is None else fit(c, parent)
    return added_to(parent, _contributions(run, g, child, parent in child.parents))


def _contributions(run: Run, g: Any, child: Node, flows: bool) -> Any:
    if not flows:
        return run.pulled(g, child)
    bound = run.bound(child)
    return zip(bound.parents, contributions(g, bound), strict=True)


def _signed(seed: Any) -> float:
    return float(np.reshape(unmasked(seed), -1)[0])


def _parents(node: Node) -> Sequence[Node]:
    return node.parents


def _is_cut(node: Node) -> bool:
    """Whether no leaf's derivative flows through this node, as through floor(x)."""
    return not (node.is_leaf or node.parents)


def _parents_through_cuts(run: Run) -> Parents:
    """Parents as `Run` follows them, also those behind which every derivative is zero."""

    def parents(node: Node) -> Sequence[Node]:
        if node.rule is None:
            return ()
        return (*node.parents, *(p for bound in run.bound_to_cut(node) for p in bound.parents))

    return parents


class _Draft:
    """A flow in the making: children are added in topological order, each with its edges."""

    def __init__(self, run: Run, nodes: list[Node], measure: Measure, once: dict[Node, bool]):
        self.run, self.wrt, self.measure, self.once = run, nodes[0], measure, once
        self.place = {node: i for i, node in enumerate(nodes)}
        self.first = [0]
        self.tail: list[int] = []
        self.factors: list[float] = []
        self.dead: set[int] = set()
        self.adjoints = run.known_adjoints()
        self.sizes = [norm(self.adjoints.get(node)) for node in nodes]
        self.flows = not _is_cut(self.wrt)
        self.ones: dict[Any, Any] = {}

    def add_edge(self, parent: int, factor: float | None) -> None:
        if factor is None:
            self.dead.add(len(self.tail))
            factor = 0.0
        self.tail.append(parent)
        self.factors.append(factor)

    def add_child(self, v: int, child: Node) -> None:
        """Each parent once, with its factor."""
        number = is_number(child)
        if not number and self._add_known(v, child):
            return
        g = self._one(child) if number else self._probe(v, child)
        # Several results of which none leads on have no adjoint, so nothing flows to their parents.
        edges = (
            zip(child.parents, [None] * len(child.parents), strict=True)
            if g is None
            else _contributions(self.run, g, child, self.flows)
        )
        scale = 1.0 if number or not 0.0 < self.sizes[v] < math.inf else self.sizes[v]
        start, place, several = len(self.tail), self.place, len(child.parents) != 1
        for parent, c in edges:
            p = place.get(parent)
            if p is None:
                continue
            if several and p in self.tail[start:]:
                self._add_again(v, child, parent, number, scale)
            elif type(c) is np.float64 and p and number and parent.shape == ():
                self.tail.append(p)
                self.factors.append(float(c))
            else:
                self.add_edge(p, self._factor(c, parent, number, scale))

    def _add_known(self, v: int, child: Node) -> bool:
        """Edges sized without a derivative: what an array adds to a parent nobody else uses."""
        scale = self.sizes[v]
        if not (self.flows and 0.0 < scale < math.inf):
            return False
        within = [(self.place[p], p) for p in child.parents if p in self.place]
        if not all(self.once[parent] for _, parent in within):
            return False
        for p, parent in within:
            g = self.adjoints.get(parent)
            dead = type(g) is not np.ndarray and is_dead(g)
            known = None if dead else self.sizes[p] / scale
            self.add_edge(p, known if p else self._factor(g, parent, False, scale))
        return True

    def _add_again(self, v: int, child: Node, parent: Node, number: bool, scale: float) -> None:
        """A parent that is used twice: one edge, whose factor is that of both uses together."""
        edge = self.tail.index(self.place[parent], self.first[v])
        g = self._one(child) if number else self._probe(v, child)
        factor = self._factor(pulled(self.run, child, parent, g), parent, number, scale)
        self.factors[edge] = 0.0 if factor is None else factor
        if factor is not None:
            self.dead.discard(edge)

    def _factor(self, c: Any, parent: Node, number: bool, scale: float) -> float | None:
        if is_dead(c):
            return None
        c = fit(c, parent)
        if parent is self.wrt:
            size = self.measure.factor(c)
            return None if size is None else size / scale
        return _signed(c) if number and is_number(parent) else norm(c) / scale

    def _one(self, child: Node) -> Any:
        key = child.shape, child.dtype
        one = self.ones.get(key)
        if one is None:
            ones = np.ones(child.shape, child.dtype)
            one = self.ones[key] = ones[()]
        return one

    def _probe(self, v: int, child: Node) -> Any:
        """The adjoint of an array, by which its edges are sized; ones where it tells nothing."""
        usable = child.dtype == OBJECT or 0.0 < self.sizes[v] < math.inf
        return self.adjoints.get(child) if usable else self._one(child)
