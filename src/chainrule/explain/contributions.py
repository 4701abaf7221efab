"""What each use of an input adds to its adjoint: per edge, per line of code, per op."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.node import Line, Node, StoredLine
from chainrule.diff.run import Run
from chainrule.explain.flow import Flow, pulled
from chainrule.explain.measure import Measure
from chainrule.explain.size import norm


@dataclass(frozen=True, eq=False)
class Contribution:
    """What these `children` of the input add to its adjoint together.

    `amount` is the number that was asked for (an entry, or along a direction; of an array as a
    whole the norm), `share` its part of the total, and `value` all of it.
    """

    parent: Node
    children: tuple[Node, ...]
    amount: Any
    share: float
    _run: Run = field(repr=False)

    @property
    def value(self) -> Any:
        """The contribution itself, of the input's shape, computed when it is asked for."""
        parts = [self._run.contribution(self.parent, child) for child in self.children]
        return sum(parts[1:], start=parts[0])

    @property
    def norm(self) -> float:
        """The size of the amount."""
        return norm(self.amount)

    @property
    def line(self) -> Line | StoredLine | None:
        """The line of the first child."""
        return self.children[0].line

    @property
    def op(self) -> str:
        """The op of the first child."""
        return self.children[0].op.name


@dataclass(frozen=True)
class Contributions:
    """The adjoint taken apart by the edges into the input, three times: each sums to the total."""

    edges: tuple[Contribution, ...]
    lines: tuple[Contribution, ...]
    ops: tuple[Contribution, ...]


def contributions_of(flow: Flow, measure: Measure, total: Any) -> Contributions:
    """Every use of the input and what it adds, the largest first."""
    run, wrt, whole = flow.run, flow.wrt, measure.of(total)
    adjoints = run.known_adjoints()
    lines: Groups = {}
    ops: Groups = {}

    def contribution(children: list[Node], value: Any) -> Contribution:
        amount = value if measure.linear else norm(value)
        return Contribution(wrt, tuple(children), amount, measure.share(value, whole), run)

    edges = []
    with np.errstate(all="ignore"):
        for child in _children(flow):
            part = pulled(run, child, wrt, adjoints.get(child))
            value = measure.zero(wrt) if part is None else measure.of(part)
            edges.append(contribution([child], value))
            _collect(lines, _place(child), child, value)
            _collect(ops, child.op.name, child, value)
    return Contributions(
        _sorted(edges),
        _sorted(contribution(*group) for group in lines.values()),
        _sorted(contribution(*group) for group in ops.values()),
    )


Groups = dict[Any, tuple[list[Node], Any]]


def _collect(groups: Groups, key: Any, child: Node, value: Any) -> None:
    children, sum_so_far = groups.get(key, ([], None))
    children.append(child)
    groups[key] = children, value if sum_so_far is None else sum_so_far + value


def _children(flow: Flow) -> list[Node]:
    tail, first = flow.tail, flow.first
    return [flow.nodes[v] for v in range(1, len(flow.nodes)) if 0 in tail[first[v] : first[v + 1]]]


def _place(child: Node) -> Any:
    line = child.line
    return None if line is None else (line.file, line.number)


def _sorted(contributions: Iterable[Contribution]) -> tuple[Contribution, ...]:
    """The largest first, NaN before all."""
    return tuple(sorted(contributions, key=lambda c: -c.norm if c.norm == c.norm else -np.inf))
