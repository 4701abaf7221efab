"""The directed paths from an input to the output: how many, the heaviest, and what each adds.

    adjoint of the input  =  Σ over paths  of  seed × local Jacobian × … × local Jacobian

Between numbers a local Jacobian is a factor, and the heaviest paths are found exactly.  Where
arrays lie in between, the weight of a path is that of the whole product of Jacobians along it,
which the sizes of the single factors only suggest.  Candidates are taken in the order of the
products of norm ratios, then in that of bounds on the products, until the bound says that every
other path is lighter; what each adds is computed along it.  `exact` tells whether that was proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

import numpy as np

from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.parts import OBJECT
from chainrule.diff.call import unit
from chainrule.errors import UnsupportedError
from chainrule.explain.bounds import SLACK, edge_bounds
from chainrule.explain.flow import Flow, pulled
from chainrule.explain.heaviest import heaviest
from chainrule.explain.measure import Measure
from chainrule.explain.size import norm

TRIED = 4  # candidates per path asked for, where their order is an estimate
PULLS = 10_000  # derivatives of single edges that computing those candidates may take
MAX_PATHS = 10**6
LARGEST_JACOBIAN = 10**8  # entries


@dataclass(frozen=True, eq=False)
class Path:
    """One directed path: `nodes` from the input to an output, and what it adds to the adjoint.

    `product` is seed × Jacobians along the path: an array of the input's shape, or a number where
    an entry or a direction was asked for.  `weight` is its size, by which paths are ordered;
    `share` its part of the total, `covered` that of this path and all heavier ones together.
    """

    nodes: tuple[Node, ...]
    product: Any
    weight: float
    share: float
    covered: float
    seed: Any
    _edges: list[int] = field(repr=False)
    _flow: Flow = field(repr=False)
    _measure: Measure = field(repr=False)

    @cached_property
    def factors(self) -> tuple[Any, ...]:
        """Per edge the local derivative: a number, or where arrays are met the local Jacobian.

        A Jacobian is (size of child) × (size of parent).  Where one entry of the input was asked
        for, it is cut down to the `entries` this path goes through, and then often a number.  At
        the input it has one column, along the direction, where that was asked for.
        """
        flow = self._flow
        if flow.scalar and self._measure.linear and self.nodes[0].dtype.kind == "f":
            return tuple(flow.factors[e] for e in reversed(self._edges[1:]))
        used = self._used
        return tuple(
            _as_factor(
                matrix if used is None else matrix[np.ix_(used[i + 1], used[i] if i else [0])]
            )
            for i, matrix in enumerate(self._jacobians)
        )

    @cached_property
    def magnitudes(self) -> tuple[float, ...]:
        """Per node the size of the adjoint that travels along this path alone."""
        with np.errstate(all="ignore"):
            if self._flow.scalar:
                factors = [self._flow.factors[e] for e in self._edges]
                sizes = [abs(product) for product in accumulate(factors, mul)]
            else:
                walk = _Walk(self._flow)
                walk.draft(self._edges, self._measure)
                sizes = [norm(adjoint) for adjoint in walk.adjoints]
        return (self.weight, *sizes[-2::-1])

    @cached_property
    def entries(self) -> tuple[tuple[int, ...] | None, ...]:
        """Per node the one entry this path goes through; None where it goes through several."""
        if self._flow.scalar and self._measure.entry is not None:
            return (self._measure.entry, *((0,) * len(n.shape) for n in self.nodes[1:]))
        used = self._used or [range(_columns(node)) for node in self.nodes]
        return tuple(
            tuple(int(k) for k in np.unravel_index(lanes[0], node.shape))
            if len(lanes) == 1 and node.dtype != OBJECT
            else None
            for node, lanes in zip(self.nodes, used, strict=True)
        )

    @cached_property
    def _jacobians(self) -> list[Any]:
        with np.errstate(all="ignore"):
            return [self._jacobian(i) for i in range(len(self.nodes) - 1)]

    def _jacobian(self, i: int) -> Any:
        parent, child = self.nodes[i], self.nodes[i + 1]
        if parent.dtype == OBJECT:  # takes one result out of several: their Jacobian stands before
            return np.eye(child.size)
        beyond = self.nodes[i + 2] if child.dtype == OBJECT else None
        rows = child.size if beyond is None else beyond.size
        _check_jacobian(child, rows, parent.size)
        factors = []
        for k in range(rows):
            g = unit(child.shape, child.dtype, k) if beyond is None else _unit_result(self, i, k)
            c = pulled(self._flow.run, child, parent, g)
            zero = np.zeros(parent.shape, parent.dtype)
            row = np.conj(zero if c is None else unmasked(c))
            factors.append(np.reshape(row if i else self._measure.of(row), -1))
        return np.array(factors)

    @cached_property
    def _used(self) -> list[Any] | None:
        """Where an entry was asked for: per node the entries that both ends of the path reach."""
        if self._measure.entry is None:
            return None
        jacobians = self._jacobians
        below = [np.array([0])]
        for matrix in jacobians:
            below.append(np.flatnonzero((matrix[:, below[-1]] != 0).any(axis=1)))
        above = np.flatnonzero(np.reshape(self.seed, -1) != 0)
        used = [np.intersect1d(below[-1], above)]
        for matrix, lanes in zip(reversed(jacobians), reversed(below[:-1]), strict=True):
            above = np.flatnonzero((matrix[used[-1]] != 0).any(axis=0))
            used.append(np.intersect1d(lanes, above))
        used.reverse()
        if not all(map(len, used)):  # it adds zero: there is nothing to cut down to
            return None
        used[0] = np.array([np.ravel_multi_index(self._measure.entry, self.nodes[0].shape)])
        return used


def _columns(node: Node) -> int:
    return 1 if node.dtype == OBJECT else node.size


def _as_factor(matrix: Any) -> Any:
    return matrix[0, 0].item() if matrix.size == 1 else matrix


def _unit_result(path: Path, i: int, k: int) -> Any:
    """The adjoint of an op with several results in which one entry of one of them is 1."""
    several, one = path.nodes[i + 1], path.nodes[i + 2]
    return pulled(path._flow.run, one, several, unit(one.shape, one.dtype, k))


def _check_jacobian(child: Node, rows: int, columns: int) -> None:
    if rows * columns > LARGEST_JACOBIAN:
        where = f"\n  {child.line.shown()}" if child.line else ""
        raise UnsupportedError(
            f"the local Jacobian of {child.op.name} is {rows} × {columns}, too large to write "
            f"out.{where}\n  path.product and path.magnitudes need no Jacobian; run.contribution "
            "gives what one edge adds."
        )


# -- how many ------------------------------------------------------------------------------------


def count_paths(flow: Flow) -> int:
    """The exact number of directed paths; each count is forgotten once its last child has it."""
    first, tail = flow.first, flow.tail
    last = [0] * (len(first) - 1)
    for v in range(1, len(last)):
        for e in range(first[v], first[v + 1]):
            last[tail[e]] = v
    counts = [0] * len(last)
    counts[0] = 1
    for v in range(1, len(last)):
        total = 0
        for e in range(first[v], first[v + 1]):
            total += counts[tail[e]]
            if last[tail[e]] == v:
                counts[tail[e]] = 0
        counts[v] = total
    return counts[-1]


# -- the heaviest --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Found:
    """The heaviest paths, and whether it is certain that no other is heavier."""

    paths: tuple[Path, ...]
    exact: bool


def heaviest_paths(flow: Flow, measure: Measure, total: Any, top: int) -> Found:
    """The `top` heaviest paths, ordered by the size of what each adds to the adjoint."""
    if flow.scalar:
        candidates = heaviest(flow.first, flow.tail, flow.factors, flow.dead, top)
        with np.errstate(all="ignore"):
            drafts = [_along_numbers(flow, measure, edges) for edges in candidates]
        return Found(_with_shares(drafts, flow, measure, total), True)
    drafts, exact = _along_arrays(flow, measure, top)
    order = sorted(range(len(drafts)), key=lambda i: _rank(drafts[i].weight))
    return Found(_with_shares([drafts[i] for i in order[:top]], flow, measure, total), exact)


def _rank(weight: float) -> tuple[bool, float]:
    return (not math.isnan(weight), -weight if weight == weight else 0.0)


@dataclass(frozen=True, eq=False)
class _Draft:
    """A path before it is known what share of the total it has."""

    nodes: tuple[Node, ...]
    product: Any
    weight: float
    seed: Any
    edges: list[int]


def _with_shares(
    drafts: list[_Draft], flow: Flow, measure: Measure, total: Any
) -> tuple[Path, ...]:
    shares = [measure.share(d.product, measure.of(total)) for d in drafts]
    paths = []
    for d, share, covered in zip(drafts, shares, accumulate(shares), strict=True):
        own = d.nodes, d.product, d.weight, share, covered, d.seed, d.edges
        paths.append(Path(*own, flow, measure))
    return tuple(paths)


def _nodes_along(flow: Flow, edges: list[int]) -> tuple[Node, ...]:
    """From the input to an output; `edges` begins with the one into the sink."""
    nodes = [flow.nodes[flow.tail[e]] for e in edges]
    nodes.reverse()
    return tuple(nodes)


def _along_numbers(flow: Flow, measure: Measure, edges: list[int]) -> _Draft:
    """What a path adds: the product of the factors down to the child of the input, pulled once."""
    nodes = _nodes_along(flow, edges)
    seed = flow.seeds[nodes[-1]]
    if len(nodes) == 1:
        product = measure.of(seed)
    elif flow.dead.intersection(edges):
        product = measure.zero(nodes[0])
    else:
        size = math.prod([flow.factors[e] for e in edges[:-1]])
        g = np.full(nodes[1].shape, size, nodes[1].dtype)[()]
        c = pulled(flow.run, nodes[1], nodes[0], g)
        product = measure.zero(nodes[0]) if c is None else measure.of(c)
    return _Draft(nodes, product, norm(product), seed, edges)


def _along_arrays(flow: Flow, measure: Measure, top: int) -> tuple[list[_Draft], bool]:
    """Candidates computed exactly, and whether it is proved that no other path is heavier."""
    budget = max(PULLS, len(flow.tail))
    most = TRIED * top
    drafts: dict[tuple[int, ...], _Draft] = {}
    walk = _Walk(flow)
    with np.errstate(all="ignore"):
        for edges in heaviest(flow.first, flow.tail, flow.factors, flow.dead, most + 1):
            if len(drafts) == most or (len(drafts) >= top and walk.pulls > budget):
                exact = _prove(flow, measure, top, drafts, walk)
                return list(drafts.values()), exact
            drafts[tuple(edges)] = walk.draft(edges, measure)
    return list(drafts.values()), True


def _prove(
    flow: Flow, measure: Measure, top: int, drafts: dict[tuple[int, ...], _Draft], walk: _Walk
) -> bool:
    """Try paths in the order of what they can weigh at most, until no other can be among the top.

    New candidates are added to `drafts`; False where bounds or derivatives would take too long.
    """
    bounds = edge_bounds(flow, measure)
    if bounds is None:
        return False
    weights = sorted((d.weight for d in drafts.values()), reverse=True)[:top]
    walk.pulls = 0
    for edges in heaviest(flow.first, flow.tail, bounds, flow.dead, MAX_PATHS):
        most = math.prod(bounds[e] for e in edges) * SLACK
        if not top or (len(weights) == top and most <= weights[-1]):
            return True
        if walk.pulls > PULLS:
            return False
        if tuple(edges) not in drafts:
            draft = drafts[tuple(edges)] = walk.draft(edges, measure)
            weights = sorted([*weights, draft.weight], reverse=True)[:top]
    return True


class _Walk:
    """Adjoints along one path after the other; what a path shares with the last is not redone."""

    def __init__(self, flow: Flow):
        self.flow = flow
        self.edges: list[int] = []
        self.adjoints: list[Any] = []
        self.pulls = 0

    def draft(self, edges: list[int], measure: Measure) -> _Draft:
        flow, nodes = self.flow, _nodes_along(self.flow, edges)
        known = 0
        for a, b in zip(self.edges, edges, strict=False):
            if a != b:
                break
            known += 1
        del self.adjoints[known:]
        if not known:
            self.adjoints.append(flow.seeds[nodes[-1]])
        for child, parent in pairwise(nodes[len(nodes) - len(self.adjoints) :: -1]):
            self.adjoints.append(pulled(flow.run, child, parent, self.adjoints[-1]))
            self.pulls += 1
        self.edges = edges
        last = self.adjoints[-1]
        product = measure.zero(nodes[0]) if last is None else measure.of(last)
        return _Draft(nodes, product, norm(product), flow.seeds[nodes[-1]], edges)
