"""Which column of a picture each node stands in, and the places where long wires cross a column.

Nodes are numbered in topological order and edges sorted by child.  A node stands one column right
of its last parent, and moves right, next to its first user, where that makes no wires longer.

The wires from one node share a *trunk*: one place in every column they cross, up to the last user,
where each leaves it in turn.  Nodes and the places of trunks together are the *vertices*.  In
a graph where many wires cross many columns there would be too many of them: what exceeds the
budget goes straight from node to node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PLACES = 0.5  # of trunks, per node and edge of the graph
FREE_PLACES = 4_000  # places that every graph may have


@dataclass(frozen=True)
class Layers:
    """`columns[k]` are the vertices of column k, nodes first; `left` and `right` their neighbours.

    `first[p]` is the first place of the trunk of node p, or -1 where its wires cross no column or
    go straight; the others are numbered on from it.
    """

    layer: list[int]
    nodes: int
    first: list[int]
    left: list[list[int]]
    right: list[list[int]]
    columns: list[list[int]]

    def is_place(self, vertex: int) -> bool:
        return vertex >= self.nodes


def layers_of(count: int, tails: Sequence[int], heads: Sequence[int]) -> Layers:
    """The columns of a graph given as pairs (tail, head) of a parent and a later child."""
    parents: list[list[int]] = [[] for _ in range(count)]
    children: list[list[int]] = [[] for _ in range(count)]
    for p, c in zip(tails, heads, strict=True):
        parents[c].append(p)
        children[p].append(c)
    layer = _columns(parents, children)
    spans = [max((layer[c] for c in children[p]), default=0) - layer[p] - 1 for p in range(count)]
    first, total = _trunks(spans, int(PLACES * (count + len(tails))) + FREE_PLACES)
    return _connected(layer, first, total, spans, parents, children)


def _columns(parents: list[list[int]], children: list[list[int]]) -> list[int]:
    layer: list[int] = []
    for above in parents:
        layer.append(max((layer[p] for p in above), default=-1) + 1)
    last = max(layer, default=0)
    reach = [-1] * len(layer)  # the last column that a wire from a node leads to, as far as settled
    for v in range(len(layer) - 1, -1, -1):
        if children[v]:
            target = min([layer[c] for c in children[v]]) - 1
            if target > layer[v] and _longer(v, target, parents, children, reach) <= 1:
                layer[v] = target
        elif parents[v]:
            layer[v] = last  # a result: the right-hand side
        for p in parents[v]:
            if layer[v] > reach[p]:
                reach[p] = layer[v]
    return layer


def _longer(
    v: int, target: int, parents: list[list[int]], children: list[list[int]], reach: list[int]
) -> int:
    """How many wires grow if v moves right, where its own shrinks: not those of who can follow."""
    return sum(
        reach[p] < target and not (len(children[p]) == 1 and len(parents[p]) <= 1)
        for p in parents[v]
    )


def _trunks(spans: list[int], budget: int) -> tuple[list[int], int]:
    """Where the trunk of each node begins among the vertices, short trunks first to be granted."""
    first, total = [-1] * len(spans), len(spans)
    for p in sorted((p for p, span in enumerate(spans) if span > 0), key=spans.__getitem__):
        if total + spans[p] > len(spans) + budget:
            break
        first[p] = total
        total += spans[p]
    return first, total


def _connected(
    layer: list[int],
    first: list[int],
    total: int,
    spans: list[int],
    parents: list[list[int]],
    children: list[list[int]],
) -> Layers:
    count = len(layer)
    layer = [*layer, *[0] * (total - count)]
    left: list[list[int]] = [[] for _ in range(total)]
    right: list[list[int]] = [[] for _ in range(total)]

    def join(a: int, b: int) -> None:
        right[a].append(b)
        left[b].append(a)

    for p in range(count):
        for k in range(spans[p] if first[p] >= 0 else 0):
            place = first[p] + k
            layer[place] = layer[p] + k + 1
            join(place - 1 if k else p, place)
    for c in range(count):
        for p in parents[c]:
            span = layer[c] - layer[p]
            if span == 1:
                join(p, c)
            elif first[p] >= 0:
                join(first[p] + span - 2, c)
    columns: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for v in _depth_first(parents, children, layer, first, spans):
        columns[layer[v]].append(v)
    return Layers(layer, count, first, left, right, columns)


def _depth_first(
    parents: list[list[int]],
    children: list[list[int]],
    layer: list[int],
    first: list[int],
    spans: list[int],
) -> list[int]:
    """Every vertex once, from the results back along first arguments first: a tree has no crossing.

    The trunk of a node stands with it.
    """
    seen = [False] * len(parents)
    order: list[int] = []
    roots = [v for v in range(len(parents)) if not children[v]]
    stack = roots[::-1]
    while stack:
        v = stack.pop()
        if seen[v]:
            continue
        seen[v] = True
        order.append(v)
        if first[v] >= 0:
            order.extend(range(first[v], first[v] + spans[v]))
        stack.extend(reversed(parents[v]))
    return order
