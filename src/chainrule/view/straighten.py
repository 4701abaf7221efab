"""How high each vertex stands: long wires straight, neighbours close, nothing overlapping.

The method of Brandes and Köpf (2001): each vertex is aligned with the median of its neighbours, so
that the vertices fall into *blocks*, each on one horizontal line; blocks are then packed in the
order in which they stand.  That is done to the left and to the right, from above and from below,
and the four results are averaged.  A large graph has one or two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from chainrule.view.layers import Layers

FOUR, TWO = 6_000, 20_000  # vertices up to which four and two results are averaged
Neighbours = list[list[int]]


def heights_of(
    layers: Layers, columns: list[list[int]], halves: Sequence[float], gap: float
) -> list[float]:
    """The height of the wire of each vertex; `halves` is what a vertex needs above and below."""
    total = len(layers.layer)
    ways = 4 if total <= FOUR else 2 if total <= TWO else 1
    crossed = _crossing_places(layers, columns) if ways > 1 else set()
    lefts, rights = _along_trunks(layers)
    found: list[list[float]] = []
    for upward, rightward in ((False, True), (True, False), (True, True), (False, False))[:ways]:
        ordered = [column[::-1] for column in columns] if upward else columns
        sweep = ordered if rightward else ordered[::-1]
        near = lefts if rightward else rights
        root = _blocks(total, sweep, near, crossed, rightward)
        placed = _packed(ordered, root, halves, gap)
        found.append([-y for y in placed] if upward else placed)
    return _averaged(found)


def _along_trunks(layers: Layers) -> tuple[Neighbours, Neighbours]:
    """Neighbours to align with: a trunk goes straight on, whoever leaves it on the way bends.

    So does the wire of a leaf into a node that has other parents too: what is computed runs
    straight through a network, and its parameters stand above and below.
    """
    leaf = [not near and not layers.is_place(v) for v, near in enumerate(layers.left)]
    passed = [any(not leaf[w] for w in near) for near in layers.left]
    goes_on = [
        layers.is_place(v) and bool(near) and layers.is_place(near[0])
        for v, near in enumerate(layers.right)
    ]
    rights = [
        near[:1] if goes_on[v] else [w for w in near if not (leaf[v] and passed[w])]
        for v, near in enumerate(layers.right)
    ]
    lefts = [
        near
        if layers.is_place(v)
        else [w for w in near if not goes_on[w] and not (leaf[w] and passed[v])]
        for v, near in enumerate(layers.left)
    ]
    return lefts, rights


def _crossing_places(layers: Layers, columns: list[list[int]]) -> set[tuple[int, int]]:
    """Wires (left end, right end) that cross a trunk: the trunk stays straight, not they."""
    crossed: set[tuple[int, int]] = set()
    for before, column in pairwise(columns):
        place = {v: k for k, v in enumerate(before)}
        low, start = 0, 0
        for k, v in enumerate(column):
            inner = _trunk_end(layers, v)
            if inner < 0 and k < len(column) - 1:
                continue
            high = place[inner] if inner >= 0 else len(before) - 1
            for u in column[start : k + 1]:
                for w in layers.left[u]:
                    at = place[w]
                    both = layers.is_place(w) and layers.is_place(u)
                    if not both and not low <= at <= high:
                        crossed.add((w, u))
            low, start = high, k + 1
    return crossed


def _trunk_end(layers: Layers, vertex: int) -> int:
    """The place before this one on the same trunk, or -1."""
    if not layers.is_place(vertex):
        return -1
    before = layers.left[vertex][0]
    return before if layers.is_place(before) else -1


def _blocks(
    total: int,
    sweep: list[list[int]],
    near: Neighbours,
    crossed: set[tuple[int, int]],
    rightward: bool,
) -> list[int]:
    """Per vertex the first of its block, which stands for it."""
    root = list(range(total))
    taken = [False] * total
    place = [0] * total
    for column in sweep:
        reached = -1
        for k, v in enumerate(column):
            place[v] = k
            around = near[v]
            if not around:
                continue
            if len(around) > 1:
                around = sorted(around, key=place.__getitem__)
            last = len(around) - 1
            for w in {around[last // 2]: 0, around[(last + 1) // 2]: 0}:
                edge = (w, v) if rightward else (v, w)
                if place[w] > reached and not taken[w] and edge not in crossed:
                    root[v] = root[w]
                    taken[w] = True
                    reached = place[w]
                    break
    return root


def _packed(
    columns: list[list[int]], root: list[int], halves: Sequence[float], gap: float
) -> list[float]:
    """Each block as high as those above it allow, then as low as those below it allow."""
    total = len(root)
    below: list[list[tuple[int, float]]] = [[] for _ in range(total)]
    waiting = [0] * total
    for column in columns:
        for u, v in pairwise(column):
            below[root[u]].append((root[v], halves[u] + halves[v] + gap))
            waiting[root[v]] += 1
    y = [0.0] * total
    order = [v for v in range(total) if root[v] == v and not waiting[v]]
    for v in order:
        for w, apart in below[v]:
            if y[v] + apart > y[w]:
                y[w] = y[v] + apart
            waiting[w] -= 1
            if not waiting[w]:
                order.append(w)
    for v in reversed(order):
        if below[v]:
            y[v] = min([y[w] - apart for w, apart in below[v]])
    return [y[r] for r in root]


def _averaged(found: list[list[float]]) -> list[float]:
    """The mean of the middle two, after all have been moved onto the narrowest."""
    spans = [(min(ys), max(ys)) if ys else (0.0, 0.0) for ys in found]
    top, bottom = min(spans, key=lambda s: s[1] - s[0])
    for k, (low, high) in enumerate(spans):
        # Those packed from above touch the top, those packed from below the bottom.
        shift = bottom - high if k in (1, 2) else top - low
        found[k] = [y + shift for y in found[k]]
    if len(found) < 4:
        return [sum(ys) / len(ys) for ys in zip(*found, strict=True)]
    return [sum(sorted(ys)[1:3]) / 2 for ys in zip(*found, strict=True)]
