"""The size of the gradient level by level, from the output back to the input: does it vanish?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

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


@dataclass(frozen=True)
class Depth:
    """Magnitudes along depth; `vanishing` and `exploding` are None where the gradient does not."""

    levels: tuple[Level, ...]
    vanishing: Change | None
    exploding: Change | None


def depth_of(flow: Flow) -> Depth:
    """The largest adjoint of each level between the output and the input."""
    distances = [0] * len(flow.nodes)
    for v in range(1, len(flow.nodes)):
        distances[v] = 1 + max(distances[flow.tail[e]] for e in flow.edges_into(v))
    levels: list[Level] = []
    before = math.nan
    largest = _largest(flow, distances)
    for distance in range(len(largest) - 1, -1, -1):
        size, v = largest[distance]
        levels.append(Level(distance, flow.nodes[v], size, _ratio(size, before)))
        before = size
    return Depth(tuple(levels), _change(levels, falling=True), _change(levels, falling=False))


def _largest(flow: Flow, distances: list[int]) -> list[tuple[float, int]]:
    """Per distance the largest size there and the node it belongs to.

    A contribution that skips levels is on its way past them, and counts there with its child:
    else the thin branch of a residual network would look as if the gradient vanished in it.
    """
    sizes = flow.sizes
    largest = [(-1.0, 0)] * (max(distances) + 1)
    for v, d in enumerate(distances):
        largest[d] = _larger(largest[d], (sizes[v], v))
    passing: list[list[tuple[float, int, int]]] = [[] for _ in largest]
    for v in range(1, len(flow.nodes)):
        for e in flow.edges_into(v):
            to = distances[flow.tail[e]]
            if distances[v] - to > 1 and e not in flow.dead:
                size = abs(flow.factors[e]) * sizes[v]
                passing[distances[v] - 1].append((-size if size == size else -math.inf, to, v))
    under_way: list[tuple[float, int, int]] = []
    for d in range(len(largest) - 1, -1, -1):
        for edge in passing[d]:
            heappush(under_way, edge)
        while under_way and under_way[0][1] >= d:
            heappop(under_way)
        if under_way:
            largest[d] = _larger(largest[d], (-under_way[0][0], under_way[0][2]))
    return largest


def _larger(one: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
    """The larger of two sizes, NaN above all."""
    return other if other[0] > one[0] or (other[0] != other[0] and one[0] == one[0]) else one


def _ratio(now: float, before: float) -> float:
    if before == 0.0:
        return math.nan if now == 0.0 or now != now else math.inf
    return now / before


def _change(levels: list[Level], falling: bool) -> Change | None:
    """The stretch with the largest fall (or rise); among equals the one that starts latest."""
    sign = -1.0 if falling else 1.0
    heights = [sign * _log(level.magnitude) for level in levels]
    lowest, best, stretch = 0, 0.0, (0, 0)
    for i, height in enumerate(heights):
        if height <= heights[lowest]:
            lowest = i
        rise = height - heights[lowest] if i != lowest else 0.0
        if rise > best:
            best, stretch = rise, (lowest, i)
    if best < math.log(FACTOR):
        return None
    start, end = stretch
    steps = levels[start + 1 : end + 1]
    steepest = max(steps, key=lambda level: sign * _log(level.ratio))
    factor = _ratio(levels[end].magnitude, levels[start].magnitude)
    return Change(levels[start].node, levels[end].node, factor, end - start, steepest)


def _log(size: float) -> float:
    """A logarithm in which 0 and infinity are far but comparable, and NaN counts as infinite."""
    if size == 0.0:
        return -1e6
    return 1e6 if not size < math.inf else math.log(size)
