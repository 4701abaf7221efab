"""Gradient checking: both modes against central differences, each edge on its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.core.parts import Parts
from chainrule.diff.gradient import jvp, vjp
from chainrule.diff.reverse import contributions, fit
from chainrule.diff.run import Run
from chainrule.errors import ArgumentError, GradientCheckError
from chainrule.explain.arguments import Flat, as_array, on_arrays, pulled_back
from chainrule.explain.differences import (
    Arrays,
    Sides,
    Slope,
    central,
    directions,
    inner,
    repeats,
    settled,
    sides,
)
from chainrule.record.trace import trace

MODES = ("reverse", "forward")
NOWHERE: Arrays = [0.0]
SETTLED = 1e-3  # differences less certain than this, relative, are no judge
BRANCH = "a branch of the Python code"
COORDINATES = 200  # inputs up to which every coordinate is checked; above, random directions


@dataclass
class Check:
    """What was checked, and how well it agreed."""

    order: int
    modes: tuple[str, ...]
    inputs: int = 0
    directions: int = 0
    edges: int = 0
    evaluations: int = 0
    largest: float = 0.0
    kinks: list[str] = field(default_factory=list)
    jumps: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def notes(self) -> str:
        """What was met on the way that a reader of the result should know."""
        met = f"; {len(self.kinks)} nodes at a kink, held between both sides" if self.kinks else ""
        if self.jumps:
            met += f"; a jump, held against the slopes nearby: {', '.join(self.jumps)}"
        if self.unchecked:
            met += f"; differences do not settle, not checked: {', '.join(self.unchecked)}"
        return met

    def __str__(self) -> str:
        return (
            f"checked against central differences to order {self.order} "
            f"({' and '.join(self.modes)}): "
            f"{self.directions} directions over {self.inputs} inputs, {self.edges} edges, "
            f"{self.evaluations} evaluations, largest difference {self.largest:.0e}{self.notes}"
        )


def check_grads(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    modes: Sequence[str] = MODES,
    rtol: float = 1e-6,
    seed: int = 0,
) -> Check:
    """Check every derivative of f here; raises GradientCheckError naming op, edge and line.

    Numerical gradients cost O(number of inputs) evaluations: up to 200 inputs each coordinate is
    tried, above that random directions.  Each edge of the graph is checked on its own as well.
    float32 arguments are widened, since differences of float32 values drown in rounding.
    """
    modes = tuple([modes] if isinstance(modes, str) else modes)
    if not modes or any(m not in MODES for m in modes):
        raise ArgumentError(f"modes {modes!r}: choose among {', '.join(MODES)}")
    if not isinstance(order, int) or order < 1:
        raise ArgumentError(f"order {order}: a whole number, at least 1")
    check = Check(order, modes)
    rng = np.random.default_rng(seed)
    function, point = on_arrays(f, args)
    for k in range(1, order + 1):
        _Checker(function, point, check, k, rtol, rng).run()
        function = pulled_back(function, point, rng)
    return check


class _Checker:
    """One order of one function at one point."""

    def __init__(
        self, f: Flat, point: Arrays, check: Check, k: int, rtol: float, rng: np.random.Generator
    ):
        self.f, self.point, self.check, self.k = f, point, check, k
        self.rtol, self.rng = rtol, rng

    def run(self) -> None:
        graph = trace(self.f, *self.point)
        run = graph.forward(*self.point)
        # What a rule compares, without a derivative of its own, says nothing new of the function.
        told = [n for n in graph.nodes if self.k == 1 or n.parents]
        self.kinks = [n for n in told if run.at_kink(n)]
        self.check.kinks += [_named(n) for n in self.kinks]
        self._check_edges(graph, run, set(self.kinks))
        if self.k == 1 or not self.check.kinks:  # at a kink the gradient jumps
            self._check_whole()

    # -- the function as a whole -------------------------------------------------------------

    def _check_whole(self) -> None:
        count = sum(np.size(v) for v in self.point)
        self.check.inputs = max(self.check.inputs, count)
        for u in self._chosen_directions(count):
            self.check.directions += 1

            def at(t: float, off: Any = None, u: Arrays = u) -> Arrays:
                offs = [0.0] * len(u) if off is None else off
                moved = [v + o + t * d for v, o, d in zip(self.point, offs, u, strict=True)]
                return [as_array(o) for o in self.f(*moved)]

            found: dict[str, Any] = {}
            if "reverse" in self.check.modes:
                pullback = vjp(self.f, *self.point)[1]
                found["reverse"] = lambda v, u=u, back=pullback: inner(back(tuple(v)), u)
            if "forward" in self.check.modes:
                found["forward"] = [as_array(t) for t in jvp(self.f, self.point, u)[1]]
            self._compare(at, u, found, self.point, bool(self.kinks), None)

    def _chosen_directions(self, count: int) -> list[Arrays]:
        if count > COORDINATES or self.k > 1:
            return [directions([np.asarray(v) for v in self.point], self.rng) for _ in range(8)]
        chosen = []
        for i, v in enumerate(self.point):
            for lane in range(np.size(v)):
                for factor in (1.0, 1j) if np.iscomplexobj(v) else (1.0,):
                    u = [np.zeros_like(w) for w in self.point]
                    u[i] = np.asarray(u[i])
                    u[i].reshape(-1)[lane] = factor
                    chosen.append([d[()] for d in u])
        return chosen

    # -- one edge ------------------------------------------------------------------------------

    def _check_edges(self, graph: Graph, run: Run, kinks: set[Node]) -> None:
        for node in graph.nodes:
            if node.rule is None or not node.parents:
                continue
            inputs = [run.value(a) if isinstance(a, Node) else a for a in node.args or ()]
            if any(isinstance(v, tuple) for v in inputs):
                continue  # one result of several: selecting it is no calculus
            if not all(_finite(v) for v in (*inputs, run.value(node))):
                continue  # differences say nothing at a pole
            for position in node.rule.positions:
                self.check.edges += 1
                x = np.asarray(inputs[position])
                tied = node in kinks and not node.rule.elementwise
                for u in self._edge_directions(x, tied):
                    self._check_edge(node, position, inputs, u, node in kinks)

    def _edge_directions(self, x: Any, tied: bool) -> list[Any]:
        """One at random; where values tie also all together, and some alone."""
        found = directions([x], self.rng)
        if tied:
            alone = np.eye(x.size, dtype=x.dtype)[:16].reshape(-1, *x.shape)
            found += [np.ones(x.shape, x.dtype), *alone]
        return found

    def _check_edge(
        self, node: Node, position: int, inputs: list[Any], u: Any, at_kink: bool
    ) -> None:
        x = np.asarray(inputs[position])
        bound = node.with_saved(node.rule.keep(*inputs, node.op.forward(*inputs, **node.attrs)))
        slot = node.rule.positions.index(position)

        def at(t: float, off: Arrays = NOWHERE) -> Arrays:
            moved = [*inputs[:position], (x + off[0] + t * u)[()], *inputs[position + 1 :]]
            out = node.op.forward(*moved, **node.attrs)
            return [np.asarray(o) for o in (out if isinstance(out, tuple) else (out,))]

        several = node.dtype == object
        found: dict[str, Any] = {}
        with np.errstate(all="ignore"):
            if "reverse" in self.check.modes:

                def along(v: Arrays) -> float:
                    c = contributions(Parts(v) if several else v[0][()], bound)[slot]
                    like = node.parents[slot]
                    return 0.0 if c is None else inner([unmasked(fit(c, like))], [u])

                found["reverse"] = along
            if "forward" in self.check.modes:
                ts = [u if k == slot else None for k in range(len(node.rule.positions))]
                t = unmasked(node.rule.push(ts, bound))
                found["forward"] = (
                    [as_array(p) for p in t]
                    if several
                    else [np.broadcast_to(as_array(t), node.shape)]
                )
            self._compare(at, [u], found, [x], at_kink, (node, position))

    # -- comparing -----------------------------------------------------------------------------

    def _compare(
        self,
        at: Callable[[float], Arrays],
        u: Arrays,
        found: dict[str, Any],
        x: Arrays,
        at_kink: bool,
        edge: Any,
    ) -> None:
        """Raise unless each mode's derivative along u is what differences say it is."""
        size = max((float(np.max(np.abs(d), initial=0.0)) for d in u), default=0.0)
        scale = max(1.0, min((float(np.max(np.abs(v), initial=0.0)) for v in x), default=1.0))
        scale /= 1.0 + size
        with np.errstate(all="ignore"):
            slope = central(at, scale, _smallest(x) / (size or 1.0))
            lost = edge is None and not settled(slope, SETTLED)
            here = self._sides(at, x, scale, edge, at_kink) if at_kink or lost else None
        self.check.evaluations += slope.evaluations
        v = directions([np.asarray(s) for s in slope.value], self.rng)
        try:
            self._hold(slope, v, found, here, edge)
        except GradientCheckError:
            if edge is not None or here is not None:
                raise
            with np.errstate(all="ignore"):
                here = self._sides(at, x, scale, edge, at_kink)
            if here is None:
                raise
            self._hold(slope, v, found, here, edge)

    def _sides(self, at: Any, x: Arrays, scale: float, edge: Any, at_kink: bool) -> Sides | None:
        """Both sides of a kink, or of what turns out to be one; None where it is none."""
        if not repeats(at, scale):
            raise GradientCheckError(_not_a_function(self.k))
        found = sides(at, x, scale, self.rng)
        if not (at_kink or found.kink):
            return None
        if found.jumps:
            self._note(self.check.jumps, _place(edge, self.kinks))
        if not at_kink:
            self._note(self.check.kinks, BRANCH)
        return found

    @staticmethod
    def _note(notes: list[str], what: str) -> None:
        if what not in notes:
            notes.append(what)

    def _hold(
        self, slope: Slope, v: Arrays, found: dict[str, Any], here: Sides | None, edge: Any
    ) -> None:
        for mode, what in found.items():
            if callable(what):
                error = inner([np.abs(a) for a in v], slope.error)
                pairs = [(what(v), inner(v, slope.value), error)]
            else:
                pairs = list(zip(what, slope.value, slope.error, strict=True))
            bounds = self._enclosed(here, v if callable(what) else None)
            for i, (ours, theirs, error) in enumerate(pairs):
                self._judge(mode, ours, theirs, error, bounds[i] if bounds else None, edge)

    @staticmethod
    def _enclosed(here: Sides | None, v: Arrays | None) -> list[tuple[Any, Any]] | None:
        """At a kink: between which values a derivative (along v, if given) must lie.

        Each lane may take the slope of either side; of those nearby it is a mean.
        """
        if here is None:
            return None
        if v is None:
            lanes = list(zip(here.left, here.right, *here.around, strict=True))
            return [(np.min(lane, axis=0), np.max(lane, axis=0)) for lane in lanes]
        mixed = [(w * a, w * b) for w, a, b in zip(v, here.left, here.right, strict=True)]
        low = float(sum(np.sum(np.minimum(a, b)) for a, b in mixed))
        high = float(sum(np.sum(np.maximum(a, b)) for a, b in mixed))
        along = [inner(v, s) for s in here.around]
        return [(min([low, *along]), max([high, *along]))]

    def _judge(
        self, mode: str, ours: Any, theirs: Any, error: Any, between: Any, edge: Any
    ) -> None:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        off = np.abs(ours - theirs)
        allowed = self.rtol * (1.0 + np.abs(theirs)) + 10 * np.asarray(error)
        known = np.isfinite(theirs) & (np.asarray(error) <= SETTLED * (1.0 + np.abs(theirs)))
        if between is not None and ours.dtype.kind == "f":
            low, high = between
            slack = 1e-4 * (1.0 + np.maximum(np.abs(low), np.abs(high)))
            inside = (ours >= low - slack) & (ours <= high + slack)
            off, allowed = np.where(inside, 0.0, off), np.where(known, allowed, 0.0)
            known = known | (np.isfinite(low + high) & ~np.isinf(ours))
        if not known.all():
            self._note(self.check.unchecked, _place(edge, self.kinks))
        both_not_finite = ~np.isfinite(ours) & ~np.isfinite(theirs)
        bad = known & ~(off <= allowed) & ~both_not_finite
        if bad.any():
            raise GradientCheckError(_message(self.k, mode, ours, theirs, bad, edge, self.kinks))
        finite = off[np.isfinite(off)]
        self.check.largest = max(self.check.largest, float(np.max(finite, initial=0.0)))


def _smallest(x: Arrays) -> float:
    """The magnitude of the number nearest to zero that is not zero; 0 if there is none."""
    sizes = [np.abs(v)[np.abs(v) > 0] for v in map(np.asarray, x)]
    return min((float(np.min(s)) for s in sizes if s.size), default=0.0)


def _finite(value: Any) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return all(bool(np.all(np.isfinite(p))) for p in parts)


def _named(node: Node) -> str:
    where = f" at {node.line.shown()}" if node.line else ""
    return f"{node.op.name}{where}"


def _place(edge: Any, kinks: list[Node]) -> str:
    if edge is not None:
        return _named(edge[0])
    return _named(kinks[0]) if kinks else "the function as a whole"


def _not_a_function(order: int) -> str:
    return (
        f"the derivative of order {order} is wrong as a whole: at one point the function gives two "
        "values.\n  look at what it depends on besides its arguments: random numbers, state."
    )


def _message(
    order: int, mode: str, ours: Any, theirs: Any, bad: Any, edge: Any, kinks: list[Node]
) -> str:
    """Which derivative is wrong, where, and by how much."""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    entry = f" (entry {list(at)})" if at else ""
    numbers = f"{mode} mode gives {ours[at]:.10g}, central differences {theirs[at]:.10g}{entry}"
    if edge is None and kinks:
        return (
            f"the derivative of order {order} is not between the slopes on both sides: {numbers}.\n"
            f"  the function is at a kink, or jumps: {_named(kinks[0])}."
        )
    if edge is None:
        return (
            f"the derivative of order {order} is wrong as a whole: {numbers}.\n"
            "  every rule agrees with differences on its own edge: look at functions whose value\n"
            "  depends on something else than their arguments (random numbers, state), or at a\n"
            "  stop_gradient."
        )
    node, position = edge
    op = node.op
    name = f"input {position}" if op.variadic else f"input {op.inputs[position]!r}"
    where = f"\n  {node.line.shown()}" if node.line else ""
    what = f"the {mode} rule of {op.name} with respect to {name} is wrong (order {order})"
    return f"{what}: {numbers}.{where}"
