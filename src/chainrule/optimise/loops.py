"""What nobody reads of a loop is not stacked, and what is only needed for that is not computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.loop import Body, body_graph
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.rule import rule_for
from chainrule.core.spec import is_inexact
from chainrule.ops.loop import loop
from chainrule.ops.structure import item


def without_unread(graph: Graph) -> Graph:
    """The graph with loops that give what is read of them, and read what that needs."""
    read: dict[Node, set[int]] = {}
    for node in graph.nodes:
        if not node.is_leaf and node.op is loop:
            read[node] = set()
    if not read:
        return graph
    for node in graph.nodes:
        if not node.is_leaf and node.op is item and node.args and node.args[0] in read:
            read[node.args[0]].add(node.attrs["index"])
    made: dict[Node, Node] = {}
    kept: dict[Node, list[int]] = {}
    for node in graph.nodes:
        found = node
        if node in read:
            found, kept[node] = _smaller(node, read[node], made)
        elif not node.is_leaf and any(a in made for a in inputs_of(node)):
            found = _moved(node, made, kept)
        if found is not node:
            made[node] = found
    outputs = tuple(made.get(n, n) for n in graph.outputs)
    rest = dfs_order(outputs, inputs_of)
    first = dict.fromkeys((*graph.leaves, *graph.captured))
    return replace(
        graph, nodes=(*first, *(n for n in rest if n not in first)), outputs=outputs
    )  # fmt: skip


def _smaller(node: Node, read: Iterable[int], made: dict[Node, Node]) -> tuple[Node, list[int]]:
    """The loop with these results alone, and the numbers of those that it still has."""
    body: Body = node.attrs["body"]
    carried = _needed(body, read)
    stacks = sorted(k for k in read if k >= body.carried)
    results = [*carried, *stacks]
    outputs = [body.graph.outputs[k] for k in results]
    used = set(dfs_order(outputs, inputs_of))
    leaves = body.graph.leaves
    first, second = body.fixed, body.fixed + body.carried
    keep = [i for i, leaf in enumerate(leaves) if i < first or i >= second]
    fixed = [i for i in keep if i < first and leaves[i] in used]
    rows = [i for i in keep if i >= second and leaves[i] in used]
    inputs = [*fixed, *(first + k for k in carried), *rows]
    graph = body_graph([leaves[i] for i in inputs], outputs)
    smaller = Body(graph, body.count, len(carried), len(rows), body.backwards, saves=body.saves)
    given = node.args or ()
    args = tuple(made.get(a, a) if isinstance(a, Node) else a for a in (given[i] for i in inputs))
    active = tuple(isinstance(a, Node) and is_inexact(a.dtype) for a in args)
    rule = rule_for(loop, active)
    parents = tuple(args[i] for i in rule.positions)
    line = node.code, node.lasti
    attrs = {"body": smaller}
    return Node(rule, parents, (), attrs, node.shape, node.dtype, *line, args), results


def _needed(body: Body, read: Iterable[int]) -> list[int]:
    """The numbers of what is carried that is read, or that something read depends on."""
    of = {leaf: k for k, leaf in enumerate(body.parts(body.graph.leaves)[1])}
    found = {k for k in read if k < body.carried}
    pending = list(read)
    while pending:
        above = dfs_order([body.graph.outputs[pending.pop()]], inputs_of)
        new = {of[n] for n in above if n in of} - found
        found |= new
        pending += new
    return sorted(found)


def _moved(node: Node, made: dict[Node, Node], kept: dict[Node, list[int]]) -> Node:
    """A node on what stands for its arguments; a result of a loop under its new number."""
    args = [made.get(a, a) if isinstance(a, Node) else a for a in node.args or ()]
    attrs = node.attrs
    if node.op is item and inputs_of(node)[0] in kept:
        results = kept[inputs_of(node)[0]]
        attrs = {"index": results.index(attrs["index"]), "count": len(results)}
    return node.on(args, attrs)
