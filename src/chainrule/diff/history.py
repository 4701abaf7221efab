"""Walks on Variables: a rule's own work is recorded, so that it can be differentiated again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from chainrule.core.masked import Masked, Scattered, plain, unmasked
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.parts import OBJECT, Parts
from chainrule.diff.forward import forward
from chainrule.diff.reverse import (
    Adjoints,
    add,
    fit,
    pulled,
    reverse,
    reverse_arrays,
    reverse_masked,
    summed,
)
from chainrule.errors import DegenerateError, NeedsHistoryError
from chainrule.record.state import current, recording
from chainrule.record.variable import Variable


def on_variables(node: Node) -> Node:
    """The node with its saved values as Variables: its rule's work is recorded, at its line."""
    if node.code is not None:
        current.set(current.get().changed(line=(node.code, node.lasti)))
    return node.rule.lift(node, Variable)


def reverse_or_record(
    order: Sequence[Node],
    seeds: Adjoints,
    prepare: Callable[[Node], Node] | None = None,
    wanted: Collection[Node] = (),
    last: bool = False,
) -> Adjoints:
    """The reverse pass on arrays, or with `prepare` on what it makes of the nodes: recorded.

    On arrays masks are left out, and followed only where a NaN comes of it; and a rule that needs
    the history of its adjoint makes the pass run on Variables.  `wanted` are the nodes whose
    adjoints are asked for; `last` tells that the walk itself is not differentiated.
    """
    if prepare is not None:
        tracing = current.get().tracing
        if tracing is not None and tracing.guarded:
            return _reverse_guarded(order, seeds, prepare, wanted, last)
        return reverse_masked(order, seeds, prepare)
    try:
        adjoints, dropped = reverse_arrays(order, seeds)
        if not dropped or not any(np.isnan(np.vdot(g, g)) for g in adjoints.values()):
            return adjoints
    except Exception:  # noqa: BLE001 - what is not due to a missing mask is raised again
        pass
    try:
        return reverse_masked(order, seeds)
    except NeedsHistoryError:
        with recording(inside=False):
            recorded = reverse_masked(order, seeds, on_variables)
        return {node: _without_history(g) for node, g in recorded.items()}


def _reverse_guarded(
    order: Sequence[Node],
    seeds: Adjoints,
    prepare: Callable[[Node], Node],
    wanted: Collection[Node],
    last: bool,
) -> Adjoints:
    """As `reverse_arrays`, recorded for the compiler: without masks while no NaN comes of it.

    Whether one does is read here, so it is a guard of what is compiled.
    """
    from chainrule.diff.sweep import can_sweep, drops_masks, swept  # for the compiler alone

    if last and can_sweep(order, seeds):
        adjoints, dropped = swept(order, seeds, wanted), drops_masks(order)
    else:
        adjoints, dropped = _walked(order, seeds, prepare)
    asked = [g for node, g in adjoints.items() if node in wanted]
    if dropped and any(np.any(np.isnan(g)) for g in asked):
        return reverse_masked(order, seeds, prepare)
    return adjoints


def _walked(
    order: Sequence[Node], seeds: Adjoints, prepare: Callable[[Node], Node]
) -> tuple[Adjoints, bool]:
    """The reverse pass without masks, and whether one was dropped."""
    dropped = any(type(g) is Masked for g in seeds.values())

    def visit(node: Node, g: Any) -> Iterator[tuple[Node, Any]]:
        nonlocal dropped
        contributions = pulled(unmasked(summed(g, prepare)), node, prepare)
        for parent, c in zip(node.parents, contributions, strict=True):
            if c is not None:
                dropped |= type(c) in (Masked, Scattered)
                yield parent, fit(unmasked(c), parent)

    adjoints = reverse(order, {node: unmasked(g) for node, g in seeds.items()}, visit)
    return {node: unmasked(summed(g, prepare)) for node, g in adjoints.items()}, dropped


def _without_history(g: Any) -> Any:
    if type(g) is Masked:
        return Masked(plain(g.value), g.alive)
    return Parts([plain(p) for p in g]) if isinstance(g, Parts) else plain(g)


def along(value: Variable, node: Node, changes: Sequence[Any], lanes: Any) -> tuple[list[Any], Any]:
    """The derivative of `value` along each change of the value of `node`, all else being held.

    Beside them, how much these lanes depend on what `node` was computed from by ways around it, as
    a part of the largest derivative on those ways.

    In a trace these walks are recorded: at another point, and in another lane, they come out
    differently.
    """
    history = History.now()
    order = history.order([value.node])
    if node not in order:  # it is recorded where this walk does not look
        raise DegenerateError("the results of this decomposition are read in two traces at once")
    pushed = [history.forward(order, {node: change}).get(value.node) for change in changes]
    derivatives = [None if p is None else plain(p) for p in pushed]
    below = set(history.order(node.parents))
    around = history.order([value.node], without=node)
    met = set(below)  # what depends on the same inputs as the node does
    for n in around:
        if any(p in met for p in history.parents(n)):
            met.add(n)
    probe = np.random.default_rng(0).standard_normal(value.shape) * lanes
    walked = [n for n in around if n not in below]
    adjoints = history.reverse(walked, {value.node: probe.astype(value.dtype)})
    sizes = {n: _size(g) for n, g in adjoints.items()}
    # Another decomposition of the same matrix counts where it is met: it may have the same kink.
    ends = [size for n, size in sizes.items() if n in below or (n in met and n.dtype == OBJECT)]
    return derivatives, _largest(ends) / np.maximum(_largest(sizes.values()), 1e-300)


@dataclass(frozen=True)
class History:
    """What has been recorded, walked also through the leaves that stand in for nodes outside.

    The trace of a lane has such leaves for what all lanes share.
    """

    originals: dict[Node, Node]
    prepare: Callable[[Node], Node] | None

    @staticmethod
    def now() -> History:
        tracing = current.get().tracing
        if tracing is None:
            return History({}, None)
        pairs = tracing.captured.items()
        return History({leaf: node for node, leaf in pairs if leaf is not node}, on_variables)

    def parents(self, node: Node) -> Sequence[Node]:
        original = self.originals.get(node)
        return node.parents if original is None else (original,)

    def order(self, nodes: Sequence[Node], without: Node | None = None) -> list[Node]:
        found = dfs_order(nodes, lambda n: () if n is without else self.parents(n))
        return [n for n in found if n is not without]

    def forward(self, order: Sequence[Node], tangents: dict[Node, Any]) -> dict[Node, Any]:
        for part in self._parts(order):
            leaf = part[0]
            if (t := tangents.get(self.originals.get(leaf, leaf))) is not None:
                tangents[leaf] = t
            forward(part, tangents, self.prepare)
        return tangents

    def reverse(self, order: Sequence[Node], adjoints: Adjoints) -> Adjoints:
        for part in reversed(list(self._parts(order))):
            adjoints = reverse_masked(part, adjoints, self.prepare, keep=True)
            leaf = part[0]
            if leaf in self.originals and leaf in adjoints:
                add(adjoints, self.originals[leaf], adjoints[leaf])
        return adjoints

    def _parts(self, order: Sequence[Node]) -> Iterator[Sequence[Node]]:
        """`order` cut before each leaf that stands in for a node."""
        starts = [i for i, n in enumerate(order) if i == 0 or n in self.originals]
        for start, stop in pairwise([*starts, len(order)]):
            yield order[start:stop]


def _size(g: Any) -> Any:
    if isinstance(g, Parts):
        return _largest([_size(p) for p in g if p is not None])
    return np.max(np.abs(plain(g)), initial=0.0)


def _largest(sizes: Collection[Any]) -> Any:
    return np.max(np.stack(list(sizes))) if sizes else 0.0
