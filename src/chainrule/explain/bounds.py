"""Upper bounds on what an edge can do to an adjoint, to prove that no path was overlooked.

The weight of a path is at most the product of its bounds.  Paths taken in the order of that product
can stop once it has fallen below the weights already found: all others are lighter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.diff.call import unit
from chainrule.explain.flow import Flow, pulled
from chainrule.explain.measure import Measure
from chainrule.explain.size import norm

PULLS = 4_000  # entries of all children together up to which local Jacobians are written out
WIDEST = 10**6  # entries of one local Jacobian
SLACK = 1 + 1e-9  # rounding of a product of bounds


def edge_bounds(flow: Flow, measure: Measure) -> list[float] | None:
    """Per edge the largest factor by which it lengthens an adjoint; None where that is too dear.

    It is the largest singular value of the local Jacobian; at the input the length of the column
    of the entry, or along the direction, that is asked for.
    """
    pairs: list[tuple[Node, Node]] = []
    pulls = 0
    for v, child in enumerate(flow.nodes):
        parents = [flow.nodes[flow.tail[e]] for e in flow.edges_into(v)]
        pulls += child.size * len(parents)
        if pulls > PULLS or child.dtype.kind != "f" or not child.size:
            return None
        if any(child.size * parent.size > WIDEST for parent in parents):
            return None
        pairs += [(parent, child) for parent in parents]
    bounds = [_bound(flow, measure, parent, child) for parent, child in pairs]
    outputs = [norm(flow.seeds[flow.nodes[p]]) for p in flow.tail[len(bounds) :]]
    norms = [*bounds, *outputs]
    return norms if all(map(math.isfinite, norms)) else None


def _bound(flow: Flow, measure: Measure, parent: Node, child: Node) -> float:
    rows: list[Any] = []
    for k in range(child.size):
        c = pulled(flow.run, child, parent, unit(child.shape, child.dtype, k))
        if parent is flow.wrt:
            c = measure.zero(parent) if c is None else measure.of(c)
        row = np.zeros(parent.shape) if c is None else unmasked(c)
        rows.append(np.reshape(row, -1))
    matrix = np.array(rows, np.float64)
    if not np.isfinite(matrix).all():
        return math.inf
    return float(np.linalg.norm(matrix, 2)) * SLACK
