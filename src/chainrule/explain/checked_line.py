"""A line along which the gradient checker compares, and how far rounding may take it there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.parts import Parts
from chainrule.core.replay import computed
from chainrule.diff.reverse import contributions, fit
from chainrule.explain.arguments import as_array
from chainrule.explain.differences import (
    EPSILON,
    Arrays,
    Sides,
    Slope,
    directions,
    guarded,
    inner,
)
from chainrule.explain.nonfinite import OfRun

SETTLED = 1e-3  # differences less certain than this, relative, are no judge


@dataclass(frozen=True)
class Line:
    """A line through a point, and the derivatives along it: `ours(point)` by each mode.

    `edge` is a node and the number of its input, None for the function as a whole.  `noise` is the
    rounding of the values, `epsilon` that of the derivatives, both relative.
    """

    at: Callable[..., Arrays]
    x: Arrays
    u: Arrays
    ours: Callable[[Arrays], dict[str, Any]]
    at_kink: bool
    edge: tuple[Node, int] | None
    noise: float
    epsilon: float
    floor: float = 0.0  # noise of the values that is known to be there

    @property
    def scale(self) -> float:
        """How long a step is not small: the size of the point, at least 1, where it moves."""
        size = max((float(np.max(np.abs(d), initial=0.0)) for d in self.u), default=0.0)
        return max(1.0, self.size) / ((size or 1.0) if self.alone else 1.0 + size)

    @property
    def alone(self) -> bool:
        return sum(int(np.count_nonzero(d)) for d in self.u) <= 1

    @property
    def size(self) -> float:
        """The size of the point where it moves; the smallest among several arrays."""
        moving = [np.abs(np.asarray(v)[np.asarray(d) != 0]) for v, d in self._pairs()]
        return min((float(np.max(m)) for m in moving if m.size), default=0.0)

    @property
    def tiny(self) -> float:
        """A step by which each number moves by a part of its own size; 0 if all are 0."""
        ratios = [
            np.abs(v)[m] / np.abs(d)[m] for v, d in self._pairs() for m in [(v != 0) & (d != 0)]
        ]
        if all(r.size == 0 for r in ratios):
            return min((float(np.min(s)) for s in self._sizes() if s.size), default=0.0)
        return min(float(np.min(r)) for r in ratios if r.size)

    def _sizes(self) -> list[Any]:
        return [np.abs(v)[np.asarray(v) != 0] for v in map(np.asarray, self.x)]

    def _pairs(self) -> list[tuple[Any, Any]]:
        return [(np.asarray(v), np.asarray(d)) for v, d in zip(self.x, self.u, strict=True)]


def edge_line(
    node: Node, position: int, inputs: list[Any], u: Any, at_kink: bool, modes: Sequence[str]
) -> Line:
    """The line through one input of a node along u, with the node's own rule."""
    wide = [widened(v) for v in inputs]
    slot = node.rule.positions.index(position)
    several = node.dtype == object

    def at(t: float, off: Any = None) -> Arrays:
        x = wide[position] + (0.0 if off is None else off[0]) + t * widened(u)
        moved = [*wide[:position], np.asarray(x)[()], *wide[position + 1 :]]
        out = computed(node, moved)
        return [np.asarray(o) for o in (out if isinstance(out, tuple) else (out,))]

    def ours(point: Arrays) -> dict[str, Any]:
        x = np.asarray(point[0], np.asarray(inputs[position]).dtype)[()]
        given = [*inputs[:position], x, *inputs[position + 1 :]]
        bound = node.with_saved(node.rule.keep(*given, computed(node, given)))
        slopes: dict[str, Any] = {}
        if "reverse" in modes:

            def along(v: Arrays) -> float:
                seed = Parts(v) if several else np.asarray(v[0], node.dtype)[()]
                c = contributions(seed, bound)[slot]
                return 0.0 if c is None else inner([unmasked(fit(c, node.parents[slot]))], [u])

            slopes["reverse"] = along
        if "forward" in modes:
            ts = [u if k == slot else None for k in range(len(node.rule.positions))]
            t = unmasked(node.rule.push(ts, bound))
            slopes["forward"] = (
                [
                    np.zeros(o.shape) if p is None else as_array(p)
                    for p, o in zip(t, at(0.0), strict=True)
                ]
                if several
                else [np.broadcast_to(as_array(t), node.shape)]
            )
        return slopes

    noise = narrowest(o.dtype for o in at(0.0))
    epsilon = narrowest([node.dtype, *(np.asarray(v).dtype for v in inputs)])
    return Line(guarded(at), [wide[position]], [u], ours, at_kink, (node, position), noise, epsilon)


def weights(slope: Slope, rng: np.random.Generator) -> Arrays:
    """A random adjoint in which each lane has a say, be its slope large or small."""
    values = [np.asarray(s) for s in slope.value]
    v = directions(values, rng)
    if len(v) == 1 and np.size(v[0]) == 1:
        return v
    sizes = [np.abs(s) + 1e6 * e for s, e in zip(values, slope.error, strict=True)]
    known = [s[np.isfinite(s) & (s > 0)] for s in map(np.atleast_1d, sizes)]
    least = min((float(s.min()) for s in known if s.size), default=1.0)
    drawn = []
    for w, a, s in zip(v, values, sizes, strict=True):
        # Along the slope itself nothing cancels, so that no mistake hides behind another lane.
        w = np.where(a == 0, w, np.abs(w) * a / np.where(a == 0, 1.0, np.abs(a)))
        weight = np.where(s > 0, least / np.where(s > 0, s, 1.0), 1.0)
        drawn.append(np.asarray(np.where(np.isfinite(s), w * weight, 0.0), a.dtype)[()])
    return drawn


def rows_of(
    mode: str, what: Any, v: Arrays | None, slope: Slope, shaken: list[dict[str, Any]] | None
) -> list[tuple[Any, ...]]:
    """Ours, theirs, its error, the size of what is compared, and the rounding of ours."""
    loose: Any
    sizes: Any
    if v is None:
        loose = [
            4 * np.max([np.abs(s[mode][i] - w) for s in shaken], axis=0) if shaken else 0.0
            for i, w in enumerate(what)
        ]
        sizes = [np.abs(s) for s in slope.value]
        rows = zip(what, slope.value, slope.error, sizes, loose, strict=True)
        return [tuple(map(np.asarray, row)) for row in rows]
    ours = what(v)
    loose = 4 * max(abs(s[mode](v) - ours) for s in shaken) if shaken else 0.0
    weights = [np.abs(a) for a in v]
    finite = [np.where(w > 0, s, 0.0) for w, s in zip(weights, slope.value, strict=True)]
    errors = [np.where(w > 0, e, 0.0) for w, e in zip(weights, slope.error, strict=True)]
    sizes = inner(weights, [np.abs(s) for s in finite])
    row = ours, inner(v, finite), inner(weights, errors), sizes, loose
    return [tuple(map(np.asarray, row))]


def enclosed(here: Sides | None, v: Arrays | None) -> list[tuple[Any, ...]] | None:
    """At a kink: between which values a derivative (along v, if given) must lie.

    Each lane may take the slope of either side; of those nearby it is a mean.
    """
    if here is None:
        return None
    if v is None:
        lanes = list(zip(here.left, here.right, *here.around, strict=True))
        return [
            (np.min(lane, axis=0), np.max(lane, axis=0), size)
            for lane, size in zip(lanes, here.size, strict=True)
        ]
    mixed = [(w * a, w * b) for w, a, b in zip(v, here.left, here.right, strict=True)]
    low = float(sum(np.sum(np.minimum(a, b)) for a, b in mixed))
    high = float(sum(np.sum(np.maximum(a, b)) for a, b in mixed))
    along = [inner(v, s) for s in here.around]
    size = inner([np.abs(w) for w in v], here.size)
    return [(min([low, *along]), max([high, *along]), size)]


def judged(
    line: Line, ours: Any, theirs: Any, error: Any, allowed: Any, between: Any
) -> tuple[Any, Any, float]:
    """Lanes that are wrong, lanes of which that can be told, and how far the latter are off."""
    off = np.abs(ours - theirs)
    largest = np.fmax(np.abs(ours), np.abs(theirs))
    nothing = largest <= 1e-2 * error  # rounding of what is zero
    known = np.isfinite(theirs) & ((error <= SETTLED * largest) | nothing)
    if between is not None and ours.dtype.kind == "f":
        low, high, size = between
        slack = 1e-4 * np.maximum(np.abs(low), np.abs(high)) + 1e-3 * size
        inside = (ours >= low - slack) & (ours <= high + slack)
        off, allowed = np.where(inside, 0.0, off), np.where(known, allowed, 0.0)
        known = known | (np.isfinite(low + high) & ~np.isinf(ours))
    # The derivative of the whole function is finite: on an edge, it is of lanes that reach nothing.
    unreached = ~np.isfinite(ours) & (line.edge is not None)
    known = known & ~unreached
    contradicts = known | (np.isfinite(theirs) & (error <= 0.1 * largest))
    bad = contradicts & ~(off <= allowed) & ~unreached
    finite = off[np.isfinite(off) & known]
    return bad, known, float(np.max(finite, initial=0.0))


def sized(u: Arrays, x: Arrays, relative: bool) -> Arrays:
    """A direction in which each number moves by its own size, or where not relative at least 1."""
    sizes = [np.abs(v) for v in x]
    if relative:
        known = [s[s > 0] for s in map(np.atleast_1d, sizes)]
        least = min((float(s.min()) for s in known if s.size), default=1.0)
        sizes = [np.where(s > 0, s, least) for s in sizes]
    else:
        sizes = [np.maximum(s, 1.0) for s in sizes]
    largest = max((float(np.max(s, initial=0.0)) for s in sizes), default=0.0) or 1.0
    return [np.asarray(d * (s / largest), d.dtype)[()] for d, s in zip(u, sizes, strict=True)]


def rounding_of(known: OfRun) -> float:
    """What rounding each value may do to the output: that of one number, else not known."""
    if sum(n.size for n in known.outputs) != 1:
        return 0.0
    total = 0.0
    for node in known.order:
        g, value = known.adjoints.get(node), known.value(node)
        if node.rule is None or g is None or isinstance(value, tuple) or isinstance(g, Parts):
            continue
        terms = np.abs(np.asarray(unmasked(g)) * np.asarray(value))
        total = max(total, float(np.max(terms, initial=0.0)) * np.finfo(node.dtype).eps)
    return total if np.isfinite(total) else 0.0


def cancelled(known: OfRun, u: Arrays) -> float:
    """What rounding of the tangents in between may do to the derivative along u."""
    tangents: dict[Node, Any] = dict(zip(known.inputs, u, strict=False))
    worst = 0.0
    for node in known.order:
        if node.rule is None or not any(p in tangents for p in node.parents):
            continue
        t = unmasked(node.rule.push([tangents.get(p) for p in node.parents], known.bound(node)))
        if t is None:
            continue
        tangents[node] = t
        g = known.adjoints.get(node)
        if g is not None and node.dtype != object:
            terms = np.abs(np.asarray(unmasked(g)) * np.asarray(t))
            worst = max(worst, float(np.max(terms, initial=0.0)) * np.finfo(node.dtype).eps)
    return worst if np.isfinite(worst) else 0.0


def narrowest(dtypes: Iterable[Any]) -> float:
    """The rounding of the type of fewest digits among these, at least that of double."""
    return max([EPSILON, *(float(np.finfo(d).eps) for d in dtypes if d.kind in "fc")])


def widened(value: Any) -> Any:
    array = np.asarray(value)
    wide = array.dtype.kind in "fc" and not isinstance(value, tuple)
    return array.astype(np.result_type(array, np.float64))[()] if wide else value
