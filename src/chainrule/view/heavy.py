"""The heaviest paths on which a gradient comes to an input, as shares of their edges."""

from __future__ import annotations

from itertools import pairwise

from chainrule.core.node import Node
from chainrule.diff.run import Run
from chainrule.explain.explanation import explain

TOP = 5


def heavy_edges(run: Run, wrt: int | str | Node, top: int = TOP) -> dict[int, float]:
    """By the place of an edge in `graph.edges`: the part of these paths that leads along it."""
    paths = explain(run, wrt=wrt, top=top, seed=run.seed).paths
    sizes = [abs(path.share) if path.share == path.share else 0.0 for path in paths]
    whole = sum(sizes) or 1.0  # more than 1 where paths cancel
    place = {edge: e for e, edge in enumerate(run.graph.edges)}
    found: dict[int, float] = {}
    for path, size in zip(paths, sizes, strict=True):
        for edge in pairwise(path.nodes):
            found[place[edge]] = found.get(place[edge], 0.0) + size / whole
    return found
