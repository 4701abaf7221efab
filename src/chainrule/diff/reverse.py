"""Reverse mode: adjoints flow from the outputs to the leaves, in reverse topological order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from chainrule.core.masked import Masked, Scattered, perhaps, plain, unmasked, within
from chainrule.core.node import Node
from chainrule.core.op import Multilinear
from chainrule.diff.failing import names_the_node
from chainrule.ops.operands import alive_operand, alive_shape

Adjoints = dict[Node, Any]


def add(adjoints: dict[Any, Any], node: Any, c: Any) -> None:
    """Add `c` to the adjoint of a node; one that is not there is zero."""
    before = adjoints.get(node)
    adjoints[node] = c if before is None else before + c


def added(contributions: Iterable[tuple[Node, Any]]) -> Adjoints:
    """Per node the sum of what belongs to it: an output that is there twice has two seeds."""
    adjoints: Adjoints = {}
    for node, c in contributions:
        add(adjoints, node, c)
    return adjoints


def added_to(parent: Node, contributions: Iterable[tuple[Node, Any]]) -> Any:
    """The sum of what belongs to one node, as its adjoint has it; None where nothing does."""
    fitted = ((p, fit(c, p)) for p, c in contributions if p is parent and c is not None)
    return added(fitted).get(parent)


@names_the_node
def reverse(
    order: Sequence[Node],
    seeds: Adjoints,
    visit: Callable[[Node, Any], Iterable[tuple[Node, Any]]],
    keep: bool = False,
) -> Adjoints:
    """Walk `order` backwards; each node adds (its adjoint) × (local derivative) to its parents.

    `visit(node, g)` gives each parent with what the node, whose adjoint is g, adds to the parent's.
    `seeds` are the outputs' adjoints; the leaves' come back (with `keep`, every node's).
    """
    adjoints = dict(seeds)
    take = adjoints.get if keep else adjoints.pop
    for node in reversed(order):
        if node.rule is None or (g := take(node, None)) is None:
            continue
        for parent, c in visit(node, g):
            add(adjoints, parent, c)
    return adjoints


def reverse_masked(
    order: Sequence[Node],
    seeds: Adjoints,
    prepare: Callable[[Node], Node] | None = None,
    keep: bool = False,
) -> Adjoints:
    """`reverse` by the rules of the nodes, in which structural zeros stay what they are.

    `prepare` gives the node whose saved values the rule shall read: those of another run, or
    Variables, so that the rule's own work is recorded.
    """

    def visit(node: Node, g: Any) -> Iterator[tuple[Node, Any]]:
        contributions = pulled(summed(g, prepare), node, prepare)
        for parent, c in zip(node.parents, contributions, strict=True):
            if c is not None:
                yield parent, fit(c, parent)

    adjoints = reverse(order, seeds, visit, keep)
    return {node: summed(g, prepare) for node, g in adjoints.items()}


def reverse_arrays(order: Sequence[Node], seeds: Adjoints) -> tuple[Adjoints, bool]:
    """`reverse_masked` on plain arrays, in its fast form; and whether a mask was dropped.

    Dead lanes are followed as the numeric zeros they hold.  That is the same, unless such a zero
    meets an infinity: then there is a NaN among the results, or a rule refuses it.
    """
    adjoints = {node: unmasked(g) for node, g in seeds.items()}
    dropped = any(type(g) is Masked for g in seeds.values())
    dropped |= walk_arrays(order, adjoints, set())
    return adjoints, add_up(adjoints) or dropped


def walk_arrays(order: Sequence[Node], adjoints: Adjoints, sums: set[Node]) -> bool:
    """A part of `reverse_arrays`, from the adjoints that later parts have left.

    In `sums` are those whose adjoint is an array of our own, to which more can be added.
    """
    dropped = False
    have, take = adjoints.get, adjoints.pop
    for node in reversed(order):
        rule = node.rule
        if rule is None or (g := take(node, None)) is None:
            continue
        if type(g) is Scattered:
            g, dropped = unmasked(g.total()), True
        if node.watch is not None:
            node.watch.check(node)
        if rule.flow is not None:
            dropped |= rule.flow(g, node, adjoints, sums)
            continue
        for parent, c in zip(node.parents, rule.pull(g, node)):  # noqa: B905 - strict costs 5%
            if c is None:
                continue
            if type(c) is Masked:
                c, dropped = c.value, True
            if c.shape != parent.shape or c.dtype is not parent.dtype:
                c = unmasked(fit(c, parent))
            before = have(parent)
            adjoints[parent] = c if before is None else before + c
    return dropped


def add_up(adjoints: Adjoints) -> bool:
    """Make arrays of what waits in any `Scattered`; whether there was one."""
    waited = False
    for node, g in adjoints.items():
        if type(g) is Scattered:
            adjoints[node], waited = unmasked(g.total()), True
    return waited


def contributions(g: Any, node: Node) -> Sequence[Any]:
    """What `node`, whose adjoint is `g`, adds to the adjoint of each of its parents."""
    return [summed(c) for c in pulled(g, node)]


def summed(g: Any, prepare: Callable[[Node], Node] | None = None) -> Any:
    """An adjoint that is no `Scattered`: what waited in one is added up."""
    if type(g) is not Scattered:
        return g
    if prepare is not None:
        prepare(g.node)  # what is recorded for it has this node's line
    return g.total()


def pulled(g: Any, node: Node, prepare: Callable[[Node], Node] | None = None) -> Sequence[Any]:
    """As `contributions`, some of them perhaps `Scattered`."""
    parts = _pulled(g, node if prepare is None else prepare(node))
    for c in parts:
        if type(c) is Scattered:
            c.node = node
    return parts


def _pulled(g: Any, node: Node) -> Sequence[Any]:
    if node.watch is not None:
        node.watch.check(node)
    if type(g) is Masked:
        return _masked_contributions(g, node)
    return node.rule.pull(g, node)


def own(g: Any) -> Any:
    """A gradient the caller may keep and write to: never a view, never shared."""
    return np.array(g) if isinstance(g, np.ndarray) else g


def fit(c: Any, parent: Any) -> Any:
    """A contribution in the parent's own shape and dtype: undo broadcasting and promotion."""
    if c.shape == parent.shape and c.dtype is parent.dtype:
        return c
    c = summed(c)
    if type(c) is Masked:
        alive = _sum_to(c.alive, parent.shape, np.any) if c.shape != parent.shape else c.alive
        return Masked(fit(c.value, parent), alive)
    if c.shape != parent.shape:
        c = _sum_to(c, parent.shape, np.sum)
    if c.dtype != parent.dtype:
        if c.dtype.kind == "c" and parent.dtype.kind == "f":
            c = np.real(c)
        c = c.astype(parent.dtype)
    return c


def _sum_to(c: Any, shape: tuple[int, ...], reduce: Callable[..., Any]) -> Any:
    """Sum over the axes along which a value of `shape` was broadcast."""
    if len(c.shape) < len(shape) or any(
        n not in (1, m) for n, m in zip(shape[::-1], c.shape[::-1], strict=False)
    ):
        return np.broadcast_to(c, shape)  # a partial that did not depend on the other operand
    extra = len(c.shape) - len(shape)
    axes = (
        *range(extra),
        *(extra + i for i, n in enumerate(shape) if n == 1 and c.shape[extra + i] != 1),
    )
    if axes:
        c = reduce(c, axis=axes)
    return c.reshape(shape) if c.shape != shape else c


def _masked_contributions(g: Masked, node: Node) -> Sequence[Any]:
    """As `contributions`, where dead lanes of `g` stay dead whatever the rule computes in them."""
    rule, depends = node.rule, node.rule.op.depends
    if rule.elementwise:
        return [within(c, g.alive) for c in rule.pull(g.value, node)]
    if depends.copies:
        reached = rule.pull(g.weights, node)
        return [
            None if c is None else c.within(m) if type(c) is Scattered else within(c, plain(m) != 0)
            for c, m in zip(rule.pull(g.value, node), reached, strict=True)
        ]
    if depends.reach is not None:
        reached = depends.reach(g.alive, node.parents[0], **node.attrs)
        return [within(c, reached) for c in rule.pull(g.value, node)]
    if isinstance(rule.op.derivative, Multilinear):
        node = _with_dead_operands_zeroed(g.alive, node)
    return rule.pull(g.value, node)


def _with_dead_operands_zeroed(alive: Any, node: Node) -> Node:
    """`node` whose operands are zero where only dead lanes of the result read them.

    Only where that can matter: where an operand is not finite, or may not be in another run of a
    trace.
    """
    rule = node.rule
    names = rule.op.inputs
    values = dict(zip(rule.saved_names, node.saved, strict=True))
    parents = dict(zip(rule.positions, node.parents, strict=True))
    specs: list[Any] = [parents.get(i, values.get(n)) for i, n in enumerate(names)]
    risky = {n for n in names if n in values and perhaps(~np.isfinite(plain(values[n])))}
    if not risky or any(s is None for s in specs):
        return node
    where = {
        "of": rule.op.name,
        "shapes": tuple(tuple(np.shape(s)) for s in specs),
        "settings": tuple(node.attrs.items()),
    }

    def zeroed(name: str, value: Any) -> Any:
        if name not in risky:
            return value
        at = {**where, "position": names.index(name)}
        return alive_operand(value, alive, **at, shape=alive_shape(value, alive, **at))

    return node.with_saved(tuple(zeroed(n, v) for n, v in values.items()))
