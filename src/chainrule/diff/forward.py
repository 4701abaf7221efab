"""Forward mode: tangents flow from the leaves to the outputs, in topological order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.core.masked import Masked, plain, unmasked, within
from chainrule.core.node import Node
from chainrule.diff.failing import names_the_node

Tangents = dict[Node, Any]


@names_the_node
def forward(
    order: Sequence[Node],
    tangents: Tangents,
    prepare: Callable[[Node], Node] | None = None,
) -> Tangents:
    """Walk `order`; the tangent of a node is the sum of (local derivative) × (tangent of a parent).

    `tangents` holds those of the leaves on entry, every node's on return; a node that is missing
    has a structural zero.  `prepare` as in `reverse`.
    """
    for node in order:
        if node.rule is None or node in tangents:
            continue
        ts = [tangents.get(parent) for parent in node.parents]
        if all(t is None for t in ts):
            continue
        if node.watch is not None:
            node.watch.check(node)
        tangents[node] = _fit(_push(ts, prepare(node) if prepare else node), node)
    return tangents


def _push(ts: list[Any], node: Node) -> Any:
    rule, depends = node.rule, node.rule.op.depends
    structural = any(type(t) is Masked for t in ts) or (
        depends.copies and (depends.fills or rule.constants or any(t is None for t in ts))
    )
    if not structural:
        return rule.push(ts, node)
    if rule.elementwise:
        total = None
        for k, t in enumerate(ts):
            if t is None:
                continue
            alone = [None] * k + [unmasked(t)] + [None] * (len(ts) - k - 1)
            term = rule.push(alone, node)
            if type(t) is Masked:
                term = within(term, t.alive)
            total = term if total is None else total + term
        return total
    if depends.copies:
        alive = [
            None if t is None else t.weights if type(t) is Masked else np.ones(t.shape) for t in ts
        ]
        value = rule.push([unmasked(t) for t in ts], node)
        return within(value, plain(rule.push(alive, node)) != 0)
    return rule.push([unmasked(t) for t in ts], node)


def _fit(t: Any, node: Node) -> Any:
    """A tangent in the node's own shape and dtype."""
    if t is None:
        return None
    if type(t) is Masked:
        alive = np.broadcast_to(t.alive, node.shape)
        return Masked(_fit(t.value, node), alive)
    if t.shape != node.shape:
        t = np.broadcast_to(t, node.shape)
    if t.dtype != node.dtype and node.dtype.kind in "fc":
        t = np.real(t) if t.dtype.kind == "c" and node.dtype.kind == "f" else t
        t = t.astype(node.dtype)
    return t
