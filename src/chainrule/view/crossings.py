"""The order of the vertices in each column, so that few wires cross.

Sweeps to the right and to the left put every vertex at the mean place of its neighbours (Sugiyama's
barycentres), neighbours change places as long as that saves a crossing, and the best order met is
kept.  In a large graph all columns are sorted at once, a few times: the work is linear.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import chain

import numpy as np

from chainrule.view.layers import Layers

MAX_SIZE_SWEPT_BY_COLUMN = 12_000  # vertices and wires of a graph that is swept column by column
WORK = 40_000  # vertices and wires looked at in all those sweeps together
MAX_SWEEPS = 24
ROUNDS = 6  # of all columns at once
SWAPS = 4  # rounds of exchanging neighbours
CROWDED = 64  # vertices beyond this degree are not exchanged


def ordered(layers: Layers) -> list[list[int]]:
    """The columns, each from top to bottom."""
    columns = [list(column) for column in layers.columns]
    size = len(layers.layer) + sum(map(len, layers.right))
    sweeps = min(MAX_SWEEPS, WORK // max(size, 1))
    place = [0.0] * len(layers.layer)
    _number(columns, place)
    if size > MAX_SIZE_SWEPT_BY_COLUMN:
        return _roughly(layers, columns)
    best, fewest = [list(c) for c in columns], crossings(layers, columns)
    for sweep in range(sweeps):
        if not fewest:
            break
        _sweep(layers, columns, place, rightward=sweep % 2 == 1)
        _exchange(layers, columns, place)
        found = crossings(layers, columns)
        if found < fewest:
            best, fewest = [list(c) for c in columns], found
    return best


def _roughly(layers: Layers, columns: list[list[int]]) -> list[list[int]]:
    """All columns at once by the places of neighbours on both sides."""
    layer = np.array(layers.layer, int)
    sizes = np.bincount(layer)
    first = np.cumsum(sizes) - sizes
    order = np.fromiter(chain.from_iterable(columns), int, len(layer))
    degree = np.fromiter(map(len, layers.right), int, len(layer))
    tails = np.repeat(np.arange(len(layer)), degree)
    heads = np.fromiter(chain.from_iterable(layers.right), int, len(tails))
    near = degree + np.bincount(heads, minlength=len(layer))
    place = np.empty(len(layer))
    for _ in range(ROUNDS):
        place[order] = (np.arange(len(layer)) - first[layer[order]] + 0.5) / sizes[layer[order]]
        total = np.bincount(tails, place[heads], len(layer))
        total += np.bincount(heads, place[tails], len(layer))
        wanted = np.where(near > 0, (total + place) / (near + 1), place)
        order = order[np.lexsort((wanted[order], layer[order]))]
    flat, ends = order.tolist(), np.cumsum(sizes).tolist()
    return [flat[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _number(columns: list[list[int]], place: list[float]) -> None:
    for column in columns:
        _number_column(column, place)


def _number_column(column: list[int], place: list[float]) -> None:
    """Places between 0 and 1, so that columns of different length can be compared."""
    step = 1.0 / max(len(column), 1)
    for k, v in enumerate(column):
        place[v] = (k + 0.5) * step


def _sweep(layers: Layers, columns: list[list[int]], place: list[float], rightward: bool) -> None:
    towards, behind = (layers.left, layers.right) if rightward else (layers.right, layers.left)
    for column in columns if rightward else reversed(columns):
        if len(column) > 1:
            wanted = {}
            for v in column:
                near = towards[v] or behind[v]
                wanted[v] = sum([place[u] for u in near]) / len(near) if near else place[v]
            column.sort(key=wanted.__getitem__)
            _number_column(column, place)


def _exchange(layers: Layers, columns: list[list[int]], place: list[float]) -> None:
    """Exchange neighbours in a column as long as that saves crossings."""
    left, right = layers.left, layers.right
    for _ in range(SWAPS):
        saved = False
        for column in columns:
            for k in range(len(column) - 1):
                u, v = column[k], column[k + 1]
                if _saved(left[u], left[v], place) + _saved(right[u], right[v], place) > 0:
                    column[k], column[k + 1] = v, u
                    place[u], place[v] = place[v], place[u]
                    saved = True
        if not saved:
            return


def _saved(above: list[int], below: list[int], place: list[float]) -> int:
    """How many crossings go away if two neighbours change places, by whom they lead to."""
    if len(above) > CROWDED or len(below) > CROWDED:
        return 0
    total = 0
    for a in above:
        at = place[a]
        for b in below:
            total += (at > place[b]) - (at < place[b])
    return total


def crossings(layers: Layers, columns: list[list[int]]) -> int:
    """How many pairs of wires between neighbouring columns cross."""
    place = {v: k for column in columns for k, v in enumerate(column)}
    total = 0
    for column in columns:
        ends: list[int] = []
        for v in column:
            heads = sorted(place[u] for u in layers.right[v])
            total += sum(len(ends) - bisect_right(ends, h) for h in heads)
            for h in heads:
                insort(ends, h)
    return total
