"""The heaviest paths of a directed acyclic graph, best first, without looking at the rest.

The weight of a path is the product of its edges' sizes, in this order:

    NaN > infinite > finite > zero > structural zero

A zero times an infinity is NaN, so a path that is light so far may end as the heaviest.  Hence a
node is split into one *state* per kind of product that leads to it; within a kind the logarithm of
the finite sizes decides.  The best way to every state is found in one sweep, and every other path
is the best one with *sidetracks*: edges not on the best way, each of which costs what it loses.
The next best path is the next cheapest set of sidetracks on a heap (Eppstein 1998, without his
shared heaps: a path is walked once when it is found).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush, nsmallest
from typing import Any, NamedTuple

import numpy as np

NAN, INFINITE, FINITE, ZERO, DEAD = range(5)  # heaviest first


class States(NamedTuple):
    """The graph that is searched: edges by child, as in `Flow`, and where they come from.

    `edge[k]` is the edge of the original graph behind edge k here; `ends` are the states of the
    sink, heaviest kind first.
    """

    first: Sequence[int]
    tail: Sequence[int]
    logs: Sequence[float]
    edge: Sequence[int]
    ends: Sequence[int]


def heaviest(
    first: Sequence[int],
    tail: Sequence[int],
    sizes: Sequence[float],
    dead: set[int],
    most: int,
) -> Iterator[list[int]]:
    """Up to `most` paths from node 0 to the last node, each as its edges, last edge first."""
    if not tail or most < 1:  # nothing leads to the last node
        return
    states = _states(first, tail, np.abs(np.asarray(sizes, np.float64)), dead)
    best, via = _best_ways(states)
    left = most
    for end in states.ends:
        for path in _from_one_end(states, best, via, end, left):
            yield [states.edge[e] for e in path]
            left -= 1
        if not left:
            return


def _states(first: Sequence[int], tail: Sequence[int], sizes: Any, dead: set[int]) -> States:
    kinds = np.full(len(sizes), FINITE)
    kinds[sizes == 0] = ZERO
    kinds[sizes == np.inf] = INFINITE
    kinds[np.isnan(sizes)] = NAN
    kinds[list(dead)] = DEAD
    plain = kinds == FINITE
    logs = np.log(np.where(plain, sizes, 1.0)).tolist()
    if plain.all():
        return States(first, tail, logs, range(len(tail)), [len(first) - 2])
    return _split(first, tail, logs, kinds.tolist())


def _split(
    first: Sequence[int], tail: Sequence[int], logs: list[float], kinds: list[int]
) -> States:
    """One state per node and kind of product that occurs there."""
    states_of: list[dict[int, int]] = [{FINITE: 0}]
    new_first, new_tail, new_logs, edge = [0, 0], [], [], []
    for v in range(1, len(first) - 1):
        into: dict[int, list[tuple[int, int]]] = {}
        for e in range(first[v], first[v + 1]):
            for kind, state in states_of[tail[e]].items():
                into.setdefault(_times(kind, kinds[e]), []).append((state, e))
        here = {}
        for kind in sorted(into):
            here[kind] = len(new_first) - 1
            for state, e in into[kind]:
                new_tail.append(state)
                new_logs.append(logs[e])
                edge.append(e)
            new_first.append(len(new_tail))
        states_of.append(here)
    return States(new_first, new_tail, new_logs, edge, list(states_of[-1].values()))


def _times(a: int, b: int) -> int:
    """The kind of a product of two kinds."""
    if DEAD in (a, b):
        return DEAD
    if NAN in (a, b) or {a, b} == {ZERO, INFINITE}:
        return NAN
    return a if b == FINITE else b


def _best_ways(states: States) -> tuple[list[float], list[int]]:
    """Per state the logarithm of the heaviest way to it, and the last edge of that way."""
    first, tail, logs = states.first, states.tail, states.logs
    best = [-math.inf] * (len(first) - 1)
    via = [-1] * (len(first) - 1)
    best[0] = 0.0
    start = first[1]
    for v in range(1, len(first) - 1):
        end = first[v + 1]
        heaviest_here, last = -math.inf, -1
        for e in range(start, end):
            weight = best[tail[e]] + logs[e]
            if weight > heaviest_here:
                heaviest_here, last = weight, e
        best[v], via[v] = heaviest_here, last
        start = end
    return best, via


def _from_one_end(
    states: States, best: list[float], via: list[int], end: int, most: int
) -> Iterator[list[int]]:
    """Paths from state 0 to `end` in order of weight: fewest losses by sidetracks first."""
    heads = np.repeat(np.arange(len(states.first) - 1), np.diff(states.first)).tolist()
    # The number makes equal losses come in the order in which they were found.
    heap: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 0, ())]
    number = 0
    for left in range(most, 0, -1):
        if not heap:
            return
        loss, _, sidetracks = heappop(heap)
        path, fork = _path(states.tail, heads, via, end, sidetracks)
        yield path
        losses = _losses(states, best, heads, path[fork:])
        for more, edge in nsmallest(left - 1, losses):
            number += 1
            heappush(heap, (loss + more, number, (*sidetracks, edge)))


def _path(
    tail: Sequence[int], heads: list[int], via: list[int], end: int, sidetracks: tuple[int, ...]
) -> tuple[list[int], int]:
    """The edges of a path, last first, and how many of them lead past its last sidetrack."""
    path: list[int] = []
    at = end
    for sidetrack in sidetracks:
        stop = heads[sidetrack]
        while at != stop:
            path.append(via[at])
            at = tail[via[at]]
        path.append(sidetrack)
        at = tail[sidetrack]
    fork = len(path)
    while at:
        path.append(via[at])
        at = tail[via[at]]
    return path, fork


def _losses(
    states: States, best: list[float], heads: list[int], way: Sequence[int]
) -> Iterator[tuple[float, int]]:
    """What each sidetrack off this best way would lose, and the sidetrack."""
    first, tail, logs = states.first, states.tail, states.logs
    for taken in way:
        v = heads[taken]
        if first[v + 1] - first[v] > 1:
            here = best[v]
            for e in range(first[v], first[v + 1]):
                if e != taken:
                    yield here - best[tail[e]] - logs[e], e
