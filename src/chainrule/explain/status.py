"""What kind of gradient each input has, and where a path that carries none is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.masked import Masked
from chainrule.core.node import Line, Node, StoredLine
from chainrule.core.op import ZERO
from chainrule.diff.run import Run
from chainrule.explain.size import is_dead


@dataclass(frozen=True)
class Cut:
    """An edge at which a path to the output ends: the child depends on the parent, no derivative.

    `why` says what ends it, in words.
    """

    parent: Node
    child: Node
    why: str

    @property
    def line(self) -> Line | StoredLine | None:
        return self.child.line


class Status(str):
    """ "value", "structural zero", "no path", "kink" or "integer", as `Run.status` says it.

    `cut` is the edge that ends the path of a structural zero, `kink` the node at a kink that the
    gradient went through, `line` the line of either; None where there is none.
    """

    cut: Cut | None
    kink: Node | None

    def __new__(cls, kind: str, cut: Cut | None = None, kink: Node | None = None) -> Status:
        status = super().__new__(cls, kind)
        status.cut, status.kink = cut, kink
        return status

    @property
    def line(self) -> Line | StoredLine | None:
        node = self.cut.child if self.cut else self.kink
        return None if node is None else node.line


@dataclass(frozen=True)
class Kink:
    """A node evaluated where its derivative jumps, which the gradient goes through."""

    node: Node
    lanes: int

    @property
    def line(self) -> Line | StoredLine | None:
        return self.node.line


@dataclass
class _Found:
    """What one walk from the outputs back has found, per node."""

    cuts: dict[Node, tuple[Node, Node]] = field(default_factory=dict)
    kinks: dict[Node, Node] = field(default_factory=dict)


def statuses(run: Run) -> dict[str, Status]:
    """The status of every input, by its name, in one walk over the graph.

    Of inputs that share a name the first has it, and the others a number behind it: `x (2)`.
    """
    graph = run.graph
    walked = _walk(run)
    named: dict[str, Status] = {}
    taken: dict[str, int] = {}
    for leaf in (*graph.leaves, *graph.captured):
        name = str(leaf.name)
        taken[name] = taken.get(name, 0) + 1
        if taken[name] > 1:
            name = f"{name} ({taken[name]})"
        named[name] = _status(run, leaf, walked)
    return named


def node_statuses(run: Run) -> list[Status]:
    """The status of every node, in the order of the graph, in one walk."""
    walked = _walk(run)
    return [_status(run, node, walked) for node in run.graph.nodes]


def _walk(run: Run) -> _Found:
    adjoints, walked = run.known_adjoints(), _Found()
    for child in reversed(run.graph.nodes):
        if child.rule is None:
            continue
        g = adjoints.get(child)
        arrives = g is not None and not (type(g) is Masked and is_dead(g))
        if g is not None:
            kink = walked.kinks.get(child)
            if child.op.kinks is not None and run.kink_matters(child):
                kink = child
            if kink is not None:
                walked.kinks.update((a, kink) for a in child.args or () if isinstance(a, Node))
        if arrives or child in walked.cuts:
            _mark_cuts(child, arrives, adjoints, walked.cuts)
    return walked


def _mark_cuts(
    child: Node, arrives: bool, adjoints: dict[Node, Any], cuts: dict[Node, tuple[Node, Node]]
) -> None:
    """Where the path of each parent without a derivative ends: here, or further on."""
    for parent in child.args or ():
        if not isinstance(parent, Node):
            continue
        g = adjoints.get(parent)
        if g is not None and type(g) is not Masked:
            continue  # alive
        here = arrives or (child.dtype.kind in "biu" and parent.dtype.kind in "fc")
        cuts.setdefault(parent, (parent, child) if here else cuts[child])


def _status(run: Run, node: Node, walked: _Found) -> Status:
    if node.dtype.kind not in "fcO":
        return Status("integer")
    adjoint = run.known_adjoints().get(node)
    edge = walked.cuts.get(node)
    if adjoint is None and edge is None and node not in run.graph.outputs:
        return Status("no path")
    if adjoint is not None and node in walked.kinks:
        return Status("kink", kink=walked.kinks[node])
    if is_dead(adjoint):
        return Status("structural zero", cut=None if edge is None else cut_at(run, *edge))
    return Status("value")


def cut_at(run: Run, parent: Node, child: Node) -> Cut:
    """The cut edge, with the reason why nothing flows along it."""
    op = child.op
    if op.derivative is ZERO:
        why = f"{op.name} has derivative zero wherever it has one"
    elif parent.dtype.kind not in "fcO":
        why = f"{parent.dtype.name} carries no derivative"
    elif parent not in child.parents:
        why = f"{op.name} has no derivative with respect to it"
    elif run.at_kink(child):
        why = f"{op.name} is at a kink and takes the slope 0"
    else:
        why = f"{op.name} does not select it here"
    return Cut(parent, child, why)


def cuts_from(run: Run, wrt: Node, dead: set[tuple[Node, Node]]) -> Iterator[Cut]:
    """Every edge at which a dependence of the output on `wrt` ends without a derivative.

    `dead` are the edges with a derivative that is a structural zero at this point.
    """
    reached = {wrt}
    for child in run.graph.nodes[run.graph.index[wrt] :]:
        if child.rule is None:
            continue
        for parent in {a: None for a in child.args or () if isinstance(a, Node)}:
            if parent in reached:
                if parent not in child.parents or (parent, child) in dead:
                    yield cut_at(run, parent, child)
                else:
                    reached.add(child)


def kinks_of(run: Run, nodes: Sequence[Node]) -> tuple[Kink, ...]:
    """Those after the first that were evaluated at a kink the gradient goes through."""
    return tuple(
        Kink(node, int(np.count_nonzero(run.kinks(node))))
        for node in nodes[1:]
        if node.op.kinks is not None and run.kink_matters(node)
    )
