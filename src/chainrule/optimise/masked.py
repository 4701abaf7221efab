"""Arrays picked by a mask are kept whole, and need no guard on how many were picked.

x[mask] stands for the whole of x, of which only the lanes in the mask count: what works lane by
lane works on all of them, a sum takes 0 from the others, a write by the mask is a choice.  What is
computed in the other lanes, be it NaN, is never used: it is left out by `where`, not by a product.

    sum(x[m] ** 2)  =  sum(where(m, x ** 2, 0))

A mask is converted if every use of what it picks can be; else its picks stay, with their guards.
The order of adding is that of the whole array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.node import Node
from chainrule.core.op import OPS, Op
from chainrule.core.order import dfs_order
from chainrule.core.picked import Kept, OnPicked, Picked, picked_operands, picked_shapes
from chainrule.core.rule import rule_for
from chainrule.core.spec import Shape, Spec
from chainrule.optimise.rewrite import Sweep
from chainrule.optimise.share import key_of
from chainrule.record.specialise import Guard


@dataclass(frozen=True)
class Whole:
    """A graph after the pass, and what stands for nodes of the one before.

    `converted` are the masks that any number of lanes may be in, as nodes of the new graph; `some`
    are nodes that tell of a mask that a lane at least is in it, as must be.
    """

    graph: Graph
    nodes: Mapping[Node, Node]
    converted: frozenset[Node]
    some: tuple[Node, ...]


def without_counts(graph: Graph, guards: Sequence[Guard]) -> tuple[Graph, list[Guard]]:
    """The graph with picked arrays kept whole, and the guards that are needed still.

    A guard on how many lanes were picked is there `of` a node that picks them; one that code has
    read is of none, and fixes the count.
    """
    if all(g.of is None for g in guards):
        return graph, list(guards)
    counts = {g.node: _mask_of(g.of) for g in guards if g.of is not None}
    picks = [g.of for g in guards if g.of is not None]
    fixed = [counts[g.node] for g in guards if g.of is None and g.node in counts]
    fixed += [_mask_of(n) for n in picks if type(n.shape) is not Picked]
    every = with_outputs(graph, [g.node for g in guards])
    found = dense_picks(every, [m for m in fixed if m is not None], picks)
    left, kept = [], len(graph.outputs)
    for guard, node in zip(guards, found.graph.outputs[kept:], strict=True):
        mask = None if guard.of is None else _mask_of(guard.of)
        if mask is None or found.nodes.get(mask) not in found.converted:
            left.append(replace(guard, node=node))
    left += [Guard(node, np.array(True)) for node in found.some]
    return replace(found.graph, outputs=found.graph.outputs[:kept]), left


def _mask_of(node: Node) -> Node | None:
    """The mask that a node picks by, if it is one mask alone."""
    rule = node.op.picked
    return rule.mask(node) if isinstance(rule, OnPicked) and rule.mask is not None else None


def dense_picks(graph: Graph, fixed: Iterable[Node] = (), picks: Iterable[Node] = ()) -> Whole:
    """The graph with picked arrays kept whole, except those picked by masks that are `fixed`.

    Among the `picks` may be some that the graph does not need.
    """
    masks = _masks([*graph.nodes, *picks])
    shared = Sweep(with_outputs(graph, masks), {}, (), key_of)
    found = shared.run().graph
    stands: dict[Node, Node] = {n: shared.replaced.get(id(n), n) for n in graph.nodes}
    stands |= {m: shared.replaced.get(id(m), m) for m in masks}
    kept_out = {stands.get(n, n) for n in fixed}
    allowed = {stands[m] for m in masks} - kept_out
    found = replace(found, nodes=_masks_first(found, stands))
    while True:
        walk = _Walk(found, len(graph.outputs), allowed, stands)
        refused = walk.run()
        if not refused:
            break
        allowed = allowed - refused
    nodes = {n: walk.made.get(s, s) for n, s in stands.items()}
    converted = frozenset(walk.made.get(m, m) for m in allowed)
    return Whole(walk.graph(graph), nodes, converted, tuple(walk.needed.values()))


def _masks_first(graph: Graph, stands: Mapping[Node, Node]) -> tuple[Node, ...]:
    """The nodes in an order in which a mask is computed before a shape tells of it."""
    leaves = [n for n in graph.nodes if n.is_leaf]

    def above(node: Node) -> Sequence[Node]:
        return (*inputs_of(node), *(stands[s.mask] for s in picked_shapes(node)))

    return tuple(dict.fromkeys((*leaves, *dfs_order(graph.outputs, above))))


def _masks(nodes: Iterable[Node]) -> list[Node]:
    """The masks that pick anything, or of whose picks a shape is handed on."""
    found: dict[Node, None] = {}
    for node in nodes:
        found.update(dict.fromkeys(s.mask for s in picked_shapes(node)))
    return list(found)


def with_outputs(graph: Graph, extra: Sequence[Node]) -> Graph:
    """The graph with more outputs, which need not lead to those it has."""
    if not extra:
        return graph
    outputs = (*graph.outputs, *extra)
    known = set(graph.nodes)
    nodes = graph.nodes
    if not known.issuperset(extra):
        nodes = (*nodes, *(n for n in dfs_order(extra, inputs_of) if n not in known))
    return Graph(
        nodes, graph.leaves, outputs, graph.name, graph.captured, graph.inputs, graph.result
    )


class _Walk:
    """One walk over the graph, in which the masks that are `allowed` are taken to be converted."""

    def __init__(self, graph: Graph, count: int, allowed: set[Node], stands: dict[Node, Node]):
        self.old, self.count, self.allowed, self.stands = graph, count, allowed, stands
        self.made: dict[Node, Node] = {}  # the new node of an old one that is not picked
        self.kept: dict[Node, Kept] = {}
        self.needed: dict[Node, Node] = {}
        self.at: Node

    def run(self) -> set[Node]:
        """The masks that cannot be converted after all."""
        for node in self.old.nodes:
            if node.is_leaf:
                continue
            self.at = node
            masks = self._masks_of(node)
            if not masks:
                self._copied(node)
                continue
            whole = self._whole(node)
            if whole is None:
                return masks
        outputs = self.old.outputs[: self.count]
        return {self._stand(self.kept[n]) for n in outputs if n in self.kept}

    def _stand(self, kept: Kept) -> Node:
        return next(m for m in self.allowed if self.made.get(m, m) is kept.mask)

    def _masks_of(self, node: Node) -> set[Node]:
        """The masks on whose count the node rests, of those that are converted."""
        found = {self._stand(self.kept[a]) for a in node.args or () if self._is_kept(a)}
        found |= {self.stands[s.mask] for s in picked_operands(node)}
        rule = node.op.picked
        if isinstance(rule, OnPicked) and rule.mask is not None:
            found |= {m for m in (rule.mask(node),) if m is not None}
        return found & self.allowed

    def _is_kept(self, argument: Any) -> bool:
        return isinstance(argument, Node) and argument in self.kept

    def _copied(self, node: Node) -> None:
        """The same operation; shapes forget where they were picked."""
        args = tuple([self._argument(a) for a in node.args or ()])
        attrs = {k: tuple(v) if type(v) is Picked else v for k, v in node.attrs.items()}
        same = all(a is b for a, b in zip(args, node.args or (), strict=True))
        if same and not picked_operands(node) and type(node.shape) is not Picked:
            self.made[node] = node
            return
        parents = tuple([self.made.get(p, p) for p in node.parents])
        self.made[node] = Node(
            node.rule, parents, (), attrs, tuple(node.shape), node.dtype, node.code, node.lasti,
            args,
        )  # fmt: skip

    def _argument(self, argument: Any) -> Any:
        return self.made.get(argument, argument) if isinstance(argument, Node) else argument

    def _whole(self, node: Node) -> Node | None:
        """The new node; None where the op, or what it meets, cannot be kept whole."""
        rule = node.op.picked
        if not isinstance(rule, OnPicked):
            return None
        operands = [
            self.kept[a] if self._is_kept(a) else self._argument(a) for a in node.args or ()
        ]
        found = rule.whole(self, node, *operands)
        shape, whole = node.shape, None
        if isinstance(shape, Picked) and self.stands[shape.mask] in self.allowed:
            whole = self.whole_shape(shape)
            kept = self.mask(shape), shape.axis
        expected = tuple(shape) if whole is None else whole
        if found is None or (found.shape, found.dtype) != (expected, node.dtype):
            return None
        if whole is None:
            self.made[node] = found
        else:
            self.kept[node] = Kept(found, *kept)
        return found

    def graph(self, old: Graph) -> Graph:
        """What the outputs need, beside the leaves."""
        outputs = tuple(self.made.get(n, n) for n in self.old.outputs[: self.count])
        leaves = [n for n in old.nodes if n.is_leaf]
        known = set(leaves)
        wanted = [*outputs, *self.needed.values()]
        rest = [n for n in dfs_order(wanted, inputs_of) if n not in known]
        return Graph(
            (*leaves, *rest), old.leaves, outputs, old.name, old.captured, old.inputs, old.result
        )

    # -- what ops ask and make -----------------------------------------------------------------

    def mask(self, shape: Picked) -> Node:
        """The mask of a picked shape, as a node of the new graph."""
        stand = self.stands[shape.mask]
        return self.made.get(stand, stand)

    def whole_shape(self, shape: Picked) -> Shape:
        """The shape of the whole array."""
        axis = shape.axis
        return (*shape[:axis], *self.mask(shape).shape, *shape[axis + 1 :])

    def some(self, mask: Node) -> None:
        """A lane at least must be in the mask."""
        if mask not in self.needed:
            self.needed[mask] = self.op("any", mask)

    def reshape(self, x: Node, shape: Sequence[int]) -> Node:
        return x if x.shape == tuple(shape) else self.op("reshape", x, shape=tuple(shape))

    def op(self, op: Op | str, *args: Any, **attrs: Any) -> Node:
        """A new node on the line of the one at hand."""
        op = OPS[op] if isinstance(op, str) else op
        attrs = {**op.attrs, **attrs}
        with np.errstate(all="ignore"):
            spec = op.spec(*(a.spec if isinstance(a, Node) else a for a in args), **attrs)
        assert isinstance(spec, Spec)
        flows = spec.dtype.kind in "fcO"
        active = tuple([flows and isinstance(a, Node) and a.dtype.kind in "fcO" for a in args])
        rule = rule_for(op, active, spec.dtype.kind == "c")
        parents = tuple([args[i] for i in rule.positions])
        return Node(rule, parents, (), attrs, *spec, self.at.code, self.at.lasti, args)
