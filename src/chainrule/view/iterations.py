"""What is inside the box of a loop: some of its iterations, and how what they carry grows or fades.

`Iterations(run, node, body)` is of one loop in a run of the graph around it.  Of each iteration
that is `kept` there is a run, with its adjoints where the run around it has them; `sizes` are of
all iterations.  A loop too long to be run again on the way to a page has its first iteration alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.loop import Body
from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.replay import arguments, replay
from chainrule.diff.run import Run, completed_run
from chainrule.explain.size import norm

MAX_STEPS = 100_000  # nodes times iterations that are run again
MAX_STEPS_BACK = 30_000  # that are run in reverse, too
KEPT_NODES = 400  # of all iterations of a loop that are written out together
MOST_KEPT = 5


def loops_of(graph: Graph) -> Iterator[tuple[Node, Body]]:
    """The loops of a graph that have an iteration."""
    for node in graph.nodes:
        for body in node.attrs.values():
            if isinstance(body, Body) and body.count:
                yield node, body


class Iterations:
    """The iterations of one loop, by their place in the order in which they ran."""

    def __init__(self, run: Run, node: Node, body: Body):
        self.run, self.node, self.body = run, node, body
        self.order = list(body.order())
        self.outputs = _shown_outputs(run.graph, node, body)
        self.graph = _graph(body, [body.graph.outputs[k] for k in self.outputs])
        steps = len(self.graph) * body.count
        self.runs_all = steps <= MAX_STEPS
        back = steps <= min(MAX_STEPS, MAX_STEPS_BACK)
        self.has_adjoints = run.has_adjoints and back and bool(self.outputs)

    @property
    def kept(self) -> list[int]:
        """The places that are written out: the first, the last, and some between."""
        if not self.runs_all:
            return [0]
        most = min(MOST_KEPT, max(KEPT_NODES // len(self.graph), 2), self.body.count)
        return np.linspace(0, self.body.count - 1, most).round().astype(int).tolist()

    def at(self, place: int) -> Run:
        """The run of one iteration."""
        run = completed_run(self.graph, self._leaves(place))
        return self._backward(run, place, self._ends[place]) if self.has_adjoints else run

    def sizes(self) -> dict[str, list[float | None] | None]:
        """How large what is handed on is, and its adjoint, iteration by iteration."""
        values = None
        if self.runs_all and self.body.carried:
            values = [_size(carried) for carried in self._starts[1:]]
        adjoints = [_size(end) for end in self._ends] if values and self.has_adjoints else None
        return {"value": values, "adjoint": adjoints}

    @cached_property
    def _starts(self) -> list[list[Any]]:
        """What each iteration begins with, and what the last one leaves."""
        _, carried, _ = self.body.parts(self._inputs)
        found = [carried]
        outputs = self.body.graph.outputs[: self.body.carried]
        graph = _graph(self.body, outputs)
        for place in range(self.body.count if self.runs_all else 0):
            values = replay(graph.nodes, self._given(place, found[-1]))
            found.append([values[out] for out in outputs])
        return found

    @cached_property
    def _ends(self) -> list[list[Any]]:
        """The adjoints of what each iteration hands on: a reverse pass over all of them."""
        end = [
            np.zeros(out.shape) if part is None else part
            for out, part in zip(self.body.graph.outputs, self._parts, strict=True)
        ][: self.body.carried]
        leaves = self.body.parts(self.graph.leaves)[1]
        found = [end]
        for place in reversed(range(1, self.body.count)):
            run = completed_run(self.graph, self._leaves(place))
            self._backward(run, place, found[-1])
            found.append([run.adjoint(leaf) for leaf in leaves])
        return found[::-1]

    @cached_property
    def _inputs(self) -> list[Any]:
        return arguments(self.node, {n: self.run.value(n) for n in inputs_of(self.node)})

    @cached_property
    def _parts(self) -> list[Any]:
        """The adjoints of the results of the loop; None where there is none."""
        found = self.run.known_adjoints().get(self.node)
        if found is None:
            return [None] * len(self.body.graph.outputs)
        return [None if part is None else unmasked(part) for part in found]

    def _leaves(self, place: int) -> dict[Node, Any]:
        return self._given(place, self._starts[place])

    def _given(self, place: int, carried: Sequence[Any]) -> dict[Node, Any]:
        fixed, _, rows = self.body.parts(self._inputs)
        given = [*fixed, *carried, *(row[self.order[place]] for row in rows)]
        return dict(zip(self.graph.leaves, given, strict=True))

    def _backward(self, run: Run, place: int, end: Sequence[Any]) -> Run:
        """Fill in the adjoints: `end` are those of what is handed on, rows those of the stacks."""
        seeds = []
        for k in self.outputs:
            part = self._parts[k]
            if k < self.body.carried:
                seeds.append(end[k])
            else:
                shape = self.body.graph.outputs[k].shape
                seeds.append(np.zeros(shape) if part is None else part[self.order[place]])
        return run.backward(seeds if len(seeds) > 1 else seeds[0])


def _shown_outputs(graph: Graph, node: Node, body: Body) -> list[int]:
    """The results of an iteration that carry a derivative and are read; not what rules keep."""
    read = {child.attrs.get("index") for child in graph.children(node)}
    return [
        k
        for k, out in enumerate(body.graph.outputs)
        if out.dtype.kind in "fc" and (k < body.carried or k in read)
    ]


def _graph(body: Body, outputs: Sequence[Node]) -> Graph:
    """What an iteration computes on the way to these results."""
    leaves = body.graph.leaves
    given = set(leaves)
    order = dfs_order(outputs, lambda n: () if n in given else inputs_of(n))
    rest = [node for node in order if node not in given]
    return Graph((*leaves, *rest), leaves, tuple(outputs), "one iteration")


def _size(values: Sequence[Any]) -> float | None:
    found = math.hypot(*(norm(np.asarray(v)) for v in values if np.asarray(v).dtype.kind in "fc"))
    return found if math.isfinite(found) else None
