"""A run step by step: each node is evaluated, then each hands its adjoint on to its parents.

order="sorted"       parents before children, then children before parents
order="data-driven"  no sorted list: a node joins a queue as soon as all it waits for is there
order="recursive"    the mistake: from the output, each visit of a node hands on all it has so
                     far, so that a node of two children hands the first part on twice
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import Node
from chainrule.core.replay import replay
from chainrule.diff.failing import names_the_node
from chainrule.diff.reverse import add, added, contributions, fit
from chainrule.diff.run import Run, leaf_values
from chainrule.errors import ArgumentError, DerivativeError
from chainrule.explain.numbers import as_json

Order = Literal["sorted", "data-driven", "recursive"]
ORDERS = ("sorted", "data-driven", "recursive")
MAX_VISITS = 1_000_000  # visits of a recursion
COUNTED = 10**18  # up to which visits are counted exactly
JSON_SIZE = 64  # numbers of an array that a step as JSON spells out


@dataclass(frozen=True, slots=True, eq=False)
class Addition:
    """What `child` adds to the adjoint of `parent`: (adjoint of child) × (local Jacobian)."""

    parent: Node
    child: Node
    _given: Any = field(repr=False)
    _contribution: Any = field(repr=False)
    _before: Any = field(repr=False)
    _after: Any = field(repr=False)
    _run: Run = field(repr=False)

    @property
    def child_adjoint(self) -> Any:
        """The adjoint of the child when it hands it on."""
        return self._run.plain_adjoint(self.child, self._given)

    @property
    def contribution(self) -> Any:
        return self._run.plain_adjoint(self.parent, self._contribution)

    @property
    def first(self) -> bool:
        """Whether nothing had been added to this parent before."""
        return self._before is None

    @property
    def before(self) -> Any:
        """The adjoint of the parent before; zero at first."""
        return self._run.plain_adjoint(self.parent, self._before)

    @property
    def after(self) -> Any:
        return self._run.plain_adjoint(self.parent, self._after)

    @property
    def local_jacobian(self) -> Any:
        """∂child/∂parent, (size of child) × (size of parent); computed when asked for."""
        return self._run.local_jacobian(self.parent, self.child)

    def to_dict(self, size: int = JSON_SIZE) -> dict[str, Any]:
        index = self._run.graph.index
        known = self.child.dtype != object != self.parent.dtype
        small = known and self.child.size * self.parent.size <= size
        return {
            "parent": index[self.parent],
            "contribution": as_json(self.contribution, size),
            "before": as_json(self.before, size),
            "after": as_json(self.after, size),
            "local_jacobian": as_json(self.local_jacobian, size) if small else None,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a run: `node` is evaluated, or hands its adjoint on.

    `because` are the nodes that made it ready: its parents (forward), its children (backward), or
    the one node that called it (recursive).  `wrong` is empty, or in a recursion

        early      some of its children have not added their part yet
        again      what it hands on contains what it has handed on before
        inherited  its own adjoint holds what a wrong step has added
    """

    number: int
    kind: Literal["forward", "backward"]
    node: Node
    because: tuple[Node, ...]
    additions: tuple[Addition, ...] = ()
    wrong: str = ""
    _adjoint: Any = field(default=None, repr=False)
    _run: Run = field(repr=False, kw_only=True)
    _called: bool = field(default=False, repr=False)

    @property
    def value(self) -> Any:
        """The node's value, read-only; a tuple for an op with several results."""
        return self._run.value(self.node)

    def value_of(self, parent: Node) -> Any:
        """The value of a node this one was computed from."""
        return self._run.value(parent)

    @property
    def adjoint(self) -> Any:
        """Backward: the node's adjoint at this moment, which it hands on; forward: None."""
        if self.kind == "forward":
            return None
        return self._run.plain_adjoint(self.node, self._adjoint)

    @property
    def reached(self) -> bool:
        """Whether a gradient has come to this node: forward, and beside every path, none has."""
        return self._adjoint is not None

    @property
    def why(self) -> str:
        """Why the node was ready.

        Forward "given", "captured", "constant" or "parents" (all are computed); backward "seed",
        "children" (the gradients of all are computed), "called" (by the recursion), or "no path".
        """
        graph = self._run.graph
        if self.kind == "forward":
            if self.node.is_leaf:
                return "captured" if self.node in graph.captured else "given"
            return "parents" if self.because else "constant"
        if not self.reached:
            return "no path"
        if not self.because:
            return "seed"
        return "called" if self._called else "children"

    def local_jacobian(self, parent: Node) -> Any:
        """The matrix on the edge from this parent; computed when asked for."""
        return self._run.local_jacobian(parent, self.node)

    def to_dict(self, size: int = JSON_SIZE) -> dict[str, Any]:
        """As plain JSON data; nodes by their place in the graph, arrays above `size` by norm."""
        index = self._run.graph.index
        made = {
            "number": self.number,
            "kind": self.kind,
            "node": index[self.node],
            "why": self.why,
            "because": [index[n] for n in self.because],
        }
        if self.kind == "forward":
            return {**made, "value": as_json(self.value, size)}
        return {
            **made,
            "adjoint": as_json(self.adjoint, size),
            "wrong": self.wrong or None,
            "additions": [a.to_dict(size) for a in self.additions],
        }


class Steps(Iterator[Step]):
    """The steps of one run, made one by one as they are asked for."""

    def __init__(self, graph: Graph, values: Sequence[Any], order: str, seed: Any, limit: int):
        self.graph, self.order = graph, order
        self._values, self._seed, self._limit = values, seed, limit
        self._leaves = leaf_values(graph, values)
        self._seeds = Run(graph, self._leaves).seeds(seed)
        self.total = 2 * len(graph)
        if order == "recursive":
            self.total = len(graph) + _visits(graph, limit)
        self._steps = self._made()

    def __next__(self) -> Step:
        return next(self._steps)

    def again(self) -> Steps:
        """The same steps from the first."""
        return Steps(self.graph, self._values, self.order, self._seed, self._limit)

    def run(self) -> Run:
        """The run these steps take apart, with the adjoints as they should be."""
        return self.graph.forward(*self._values).backward(self._seed)

    def _made(self) -> Iterator[Step]:
        walk = _Walk(self.graph, dict(self._leaves), self._seeds)
        if self.order == "data-driven":
            yield from _queued(walk.forward, self.graph.parents, self.graph.children, self.graph)
            yield from _queued(walk.backward, self.graph.children, self.graph.parents, self.graph)
            return
        yield from map(walk.forward, self.graph.nodes)
        if self.order == "recursive":
            yield from _recursive(walk)
        else:
            yield from map(walk.backward, reversed(self.graph.nodes))

    lines = lazy_method("chainrule.view.steps", "first_lines")
    __str__ = lazy_method("chainrule.view.styled", "report_text")
    _repr_html_ = lazy_method("chainrule.view.styled", "report_html")


def steps(
    graph: Graph, *values: Any, order: Order = "sorted", seed: Any = None, limit: int = MAX_VISITS
) -> Steps:
    """Every step of a forward and a backward pass at these values, as an iterator of `Step`.

    `order` is "sorted", "data-driven" (row by row whoever is ready) or "recursive" (which counts
    shared nodes twice, and says where); a recursion of more than `limit` visits is refused.
    """
    if order not in ORDERS:
        raise ArgumentError(f"order {order!r}: choose one of {', '.join(ORDERS)}")
    return Steps(graph, values, order, seed, limit)


class _Walk:
    """One run in the making."""

    def __init__(self, graph: Graph, known: dict[Node, Any], seeds: Sequence[Any]):
        self.graph, self.known, self.count = graph, known, 0
        self.run = Run(graph, known)  # shares `known`, which fills up
        self.adjoints = added(zip(graph.outputs, seeds, strict=True))

    def forward(self, node: Node) -> Step:
        if node not in self.known:
            replay([node], self.known)
        self.count += 1
        return Step(self.count, "forward", node, self.graph.parents(node), _run=self.run)

    def backward(self, node: Node) -> Step:
        return self._handed_on(node, self.graph.children(node), self.additions(node), "", False)

    def called(
        self, node: Node, caller: tuple[Node, ...], made: tuple[Addition, ...], wrong: str
    ) -> Step:
        return self._handed_on(node, caller, made, wrong, True)

    def _handed_on(
        self, node: Node, because: Any, made: tuple[Addition, ...], wrong: str, called: bool
    ) -> Step:
        self.count += 1
        g = self.adjoints.get(node)
        return Step(self.count, "backward", node, because, made, wrong, g, called, _run=self.run)

    @names_the_node
    def additions(self, node: Node) -> tuple[Addition, ...]:
        """Add what this node hands on to the adjoints of its parents."""
        g = self.adjoints.get(node)
        if g is None or node.is_leaf:
            return ()
        with np.errstate(all="ignore"):
            pulled = [*_pulled(self.run, node, g)]
            added: dict[Node, Addition] = {}
            for parent, c in pulled:
                c = fit(c, parent)
                before = self.adjoints.get(parent)
                add(self.adjoints, parent, c)
                after = self.adjoints[parent]
                if parent in added:  # x * x: one edge, two places
                    earlier = added[parent]
                    before, c = earlier._before, earlier._contribution + c
                added[parent] = Addition(parent, node, g, c, before, after, self.run)
        return tuple(added.values())


def _pulled(run: Run, node: Node, g: Any) -> Iterator[tuple[Node, Any]]:
    """What `node` adds to each parent, also to those that are computed and lead to no leaf."""
    bound = run.bound(node)
    pairs = zip(bound.parents, contributions(g, bound), strict=True)
    yield from ((p, c) for p, c in pairs if c is not None)
    for bound in run.bound_to_cut(node):
        try:
            (c,) = contributions(g, bound)
        except DerivativeError:  # nobody has written it: there is no number to show
            continue
        if c is not None:
            yield bound.parents[0], c


# -- the order without a sorted list --------------------------------------------------------------


def _queued(make: Any, before: Any, after: Any, graph: Graph) -> Iterator[Step]:
    """Each node once all of `before(node)` are done; whoever is done last starts `after(node)`."""
    missing = {node: len(before(node)) for node in graph.nodes}
    ready = deque(node for node in graph.nodes if not missing[node])
    while ready:
        node = ready.popleft()
        yield make(node)
        for waiting in after(node):
            missing[waiting] -= 1
            if not missing[waiting]:
                ready.append(waiting)


# -- the recursion --------------------------------------------------------------------------------


def _visits(graph: Graph, limit: int) -> int:
    """How often a recursion from the outputs visits a node, if that is within the limit."""
    visits = dict.fromkeys(graph.nodes, 0)
    for out in dict.fromkeys(graph.outputs):
        visits[out] += 1
    total = 0
    for node in reversed(graph.nodes):
        times = min(visits[node], COUNTED)
        total += times
        for parent in dict.fromkeys(inputs_of(node)) if times else ():
            if parent.dtype.kind in "fcO":
                visits[parent] += times
    if total > limit:
        said = f"{total:,}" if total < COUNTED else f"more than {COUNTED:.0e}"
        raise ArgumentError(
            f"the recursion would visit nodes {said} times, once per path from the output; the "
            f"limit is {limit:,}. order='sorted' takes {2 * len(graph):,} steps, and is right"
        )
    return total


def _recursive(walk: _Walk) -> Iterator[Step]:
    """Depth first from the outputs: every visit hands on all that the node has by then."""
    above = {node: _flows(walk.run, node) for node in walk.graph.nodes}
    missing = _reached_children(walk.graph, above)
    visited: set[Node] = set()
    tainted: set[Node] = set()
    calls: list[tuple[tuple[Node, ...], Node]] = [((), out) for out in walk.graph.outputs]
    calls = list(dict.fromkeys(reversed(calls)))
    while calls:
        caller, node = calls.pop()
        made = walk.additions(node)
        wrong = "inherited" if node in tainted else ""
        if made and missing[node]:
            wrong = "early"
        if made and node in visited:
            wrong = "again"
        if node not in visited:
            visited.add(node)
            for parent in above[node]:
                missing[parent] -= 1
        if wrong:
            tainted.update(a.parent for a in made)
        yield walk.called(node, caller, made, wrong)
        calls += [((node,), a.parent) for a in reversed(made)]


def _flows(run: Run, node: Node) -> tuple[Node, ...]:
    """The parents a derivative flows to."""
    if node.is_leaf:
        return ()
    cut = (bound.parents[0] for bound in run.bound_to_cut(node))
    return tuple(dict.fromkeys((*node.parents, *cut)))


def _reached_children(graph: Graph, above: dict[Node, tuple[Node, ...]]) -> dict[Node, int]:
    """How many children of each node a gradient comes to."""
    reached = set(graph.outputs)
    count = dict.fromkeys(graph.nodes, 0)
    for node in reversed(graph.nodes):
        for parent in above[node] if node in reached else ():
            count[parent] += 1
            reached.add(parent)
    return count
