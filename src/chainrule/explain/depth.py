"""The size of the gradient level by level: where it vanishes or explodes, and how fast."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from chainrule.core.node import Line, Node, StoredLine
from chainrule.explain.flow import Flow

FACTOR = 1e3  # a gradient that changes by less along the way neither vanishes nor explodes


class Level(NamedTuple):
    """One level: the largest adjoint in it, and how it compares with the level before.

    `distance` is the longest distance from the input.  Levels are listed as the gradient travels,
    the output first; `ratio` is NaN there.
    """

    distance: int
    node: Node
    magnitude: float
    ratio: float


@dataclass(frozen=True)
class Change:
    """A stretch over which the gradient shrinks or grows by `factor`.

    It starts at the node `start` (nearest to the output) and ends at `end`; `rate` is the mean
    factor per level, `steepest` the level that changes it most.
    """

    start: Node
    end: Node
    factor: float
    levels: int
    steepest: Level

    @property
    def rate(self) -> float:
        return self.factor ** (1 / self.levels)

    @property
    def line(self) -> Line | StoredLine | None:
        return self.start.line


@dataclass(frozen=True, eq=False)
class Depth:
    """Magnitudes along depth; `vanishing` and `exploding` are None where the gradient does not.

    `nodes` and `magnitudes` hold, as the gradient travels, the largest adjoint of each level.
    """

    nodes: tuple[Node, ...]
    magnitudes: np.ndarray[Any, Any]
    vanishing: Change | None
    exploding: Change | None

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Each level as a record, the output's first."""
        ratios = _ratios(self.magnitudes)
        last = len(self.nodes) - 1
        return tuple(
            Level(last - i, node, float(self.magnitudes[i]), float(ratios[i]))
            for i, node in enumerate(self.nodes)
        )


def depth_of(flow: Flow) -> Depth:
    """The largest adjoint of each level between the output and the input."""
    distances = _distances(flow)
    sizes, largest = _largest(flow, distances)
    magnitudes = np.array(sizes[::-1])
    nodes = tuple(flow.nodes[v] for v in reversed(largest))
    stretches = [_stretch(magnitudes, sign) for sign in (-1.0, 1.0)]
    fall, rise = (None if s is None else _change(nodes, magnitudes, *s) for s in stretches)
    return Depth(nodes, magnitudes, fall, rise)


def _distances(flow: Flow) -> list[int]:
    """The longest distance of each node from the input."""
    first, tail = flow.first, flow.tail
    distances = [0] * len(flow.nodes)
    start = 0
    for v in range(1, len(flow.nodes)):
        end = first[v + 1]
        start, parents = end, tail[start:end]
        distances[v] = 1 + max([distances[p] for p in parents])
    return distances


def _largest(flow: Flow, distances: list[int]) -> tuple[list[float], list[int]]:
    """Per distance the largest size there, NaN above all, and the node it belongs to.

    A contribution that skips levels is on its way past them, and counts there with its child:
    else the thin branch of a residual network would look as if the gradient vanished in it.
    """
    size_of = flow.sizes
    sizes, nodes = [-1.0] * (max(distances) + 1), [0] * (max(distances) + 1)

    def see(d: int, size: float, v: int) -> None:
        if not size <= sizes[d] and sizes[d] == sizes[d]:
            sizes[d], nodes[d] = size, v

    passing: dict[int, list[tuple[float, int, int]]] = {}
    for v, d in enumerate(distances):
        see(d, size_of[v], v)
        for e in flow.edges_into(v):
            to = distances[flow.tail[e]]
            if d - to > 1 and e not in flow.dead:
                size = abs(flow.factors[e]) * size_of[v]
                least = -size if size == size else -math.inf
                passing.setdefault(d - 1, []).append((least, to, v))
    under_way: list[tuple[float, int, int]] = []
    for d in range(len(sizes) - 1, -1, -1) if passing else ():
        for edge in passing.get(d, ()):
            heappush(under_way, edge)
        while under_way and under_way[0][1] >= d:
            heappop(under_way)
        if under_way:
            see(d, -under_way[0][0], under_way[0][2])
    return sizes, nodes


def _ratios(magnitudes: Any) -> Any:
    """Each magnitude by the one before; NaN for the first and for 0 by 0."""
    with np.errstate(all="ignore"):
        return np.concatenate([[np.nan], magnitudes[1:] / magnitudes[:-1]])


def _stretch(magnitudes: Any, sign: float) -> tuple[int, int, float] | None:
    """Where the largest rise (sign 1) or fall (sign -1) starts and ends; None if it is small."""
    heights = sign * _logs(magnitudes)
    lowest = np.minimum.accumulate(heights)
    end = int(np.argmax(heights - lowest))
    if heights[end] - lowest[end] < math.log(FACTOR):
        return None
    start = int(np.flatnonzero(heights[: end + 1] == lowest[end])[-1])
    return start, end, sign


def _change(nodes: tuple[Node, ...], magnitudes: Any, start: int, end: int, sign: float) -> Change:
    ratios = _ratios(magnitudes)
    steepest = start + 1 + int(np.argmax(sign * _logs(ratios[start + 1 : end + 1])))
    level = Level(
        len(nodes) - 1 - steepest,
        nodes[steepest],
        float(magnitudes[steepest]),
        float(ratios[steepest]),
    )
    with np.errstate(all="ignore"):
        factor = float(np.divide(magnitudes[end], magnitudes[start]))
    return Change(nodes[start], nodes[end], factor, end - start, level)


def _logs(sizes: Any) -> Any:
    """Logarithms in which 0 and infinity are far but comparable, and NaN counts as infinite."""
    with np.errstate(all="ignore"):
        logs = np.log(sizes)
    return np.nan_to_num(logs, nan=1e6, posinf=1e6, neginf=-1e6)
