"""Gradient checking: both modes against central differences, each edge on its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.graph import Graph
from chainrule.core.masked import unmasked
from chainrule.core.node import PARENTS, RULE, Node
from chainrule.core.parts import Parts
from chainrule.diff.gradient import jvp, vjp
from chainrule.diff.reverse import contributions, fit
from chainrule.diff.run import Run
from chainrule.errors import ArgumentError, GradientCheckError
from chainrule.explain.differences import Arrays, central, directions, inner, one_sided
from chainrule.record.trace import trace

MODES = ("reverse", "forward")
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

    def __str__(self) -> str:
        met = f"; {len(self.kinks)} nodes at a kink, held between both sides" if self.kinks else ""
        return (
            f"checked against central differences to order {self.order} "
            f"({' and '.join(self.modes)}): "
            f"{self.directions} directions over {self.inputs} inputs, {self.edges} edges, "
            f"{self.evaluations} evaluations, largest difference {self.largest:.0e}{met}"
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
    if order < 1:
        raise ArgumentError(f"order {order}: at least 1")
    check = Check(order, modes)
    rng = np.random.default_rng(seed)
    point = [_widened(a) for a in args]
    function = f
    for k in range(1, order + 1):
        _Checker(function, point, check, k, rtol, rng).run()
        function = _pulled_back(function, point, rng)
    return check


def _widened(arg: Any) -> Any:
    leaves, structure = flatten(arg)

    def wide(v: Any) -> Any:
        kind = {"float16": np.float64, "float32": np.float64, "complex64": np.complex128}
        name = getattr(getattr(v, "dtype", None), "name", "")
        return v.astype(kind[name]) if name in kind else v

    return structure.unflatten([wide(v) for v in leaves])


def _pulled_back(
    f: Callable[..., Any], point: Sequence[Any], rng: np.random.Generator
) -> Callable[..., Any]:
    """x ↦ (∂f/∂x)ᵀ·seed for one fixed random seed: what the next order differentiates."""
    out = vjp(f, *point)[0]
    leaves, structure = flatten(out)
    seed = structure.unflatten(directions([np.asarray(o) for o in leaves], rng))
    return lambda *args: vjp(f, *args)[1](seed)


class _Checker:
    """One order of one function at one point."""

    def __init__(
        self, f: Any, point: Any, check: Check, k: int, rtol: float, rng: np.random.Generator
    ):
        self.f, self.point, self.check, self.k, self.rtol, self.rng = f, point, check, k, rtol, rng

    def run(self) -> None:
        graph = trace(self.f, *self.point)
        run = graph.forward(*self.point)
        kinks = [n for n in graph.nodes if run.at_kink(n)]
        self.check.kinks += [_named(n) for n in kinks]
        self._check_edges(graph, run, set(kinks))
        if (
            self.k == 1 or not self.check.kinks
        ):  # at a kink the gradient jumps: no second difference
            self._check_whole(graph, bool(kinks))

    # -- the function as a whole -------------------------------------------------------------

    def _check_whole(self, graph: Graph, at_kink: bool) -> None:
        leaves = [leaf for leaf in graph.leaves if leaf.dtype.kind in "fc"]
        start = dict(zip(graph.leaves, self._leaf_values(graph), strict=True))
        values = [start[leaf] for leaf in leaves]
        count = sum(v.size for v in values)
        self.check.inputs = max(self.check.inputs, count)
        for u in self._chosen_directions(values, count):
            self.check.directions += 1

            def at(t: float, u: Arrays = u) -> Arrays:
                moved = dict(
                    zip(leaves, (v + t * d for v, d in zip(values, u, strict=True)), strict=True)
                )
                result = self.f(*self._repacked(graph, {**start, **moved}))
                return [_array(o) for o in flatten(result)[0]]

            self._compare(at, u, self._modes_of_whole(graph, leaves, u), values, at_kink, None)

    def _leaf_values(self, graph: Graph) -> list[Any]:
        run = graph.forward(*self.point)
        return [np.asarray(run.value(leaf)) for leaf in graph.leaves]

    def _chosen_directions(self, values: Arrays, count: int) -> list[Arrays]:
        if count > COORDINATES or self.k > 1:
            return [directions(values, self.rng) for _ in range(8)]
        chosen = []
        for i, v in enumerate(values):
            for lane in range(v.size):
                for factor in (1.0, 1j) if v.dtype.kind == "c" else (1.0,):
                    u = [np.zeros_like(w) for w in values]
                    u[i].reshape(-1)[lane] = factor
                    chosen.append(u)
        return chosen

    def _repacked(self, graph: Graph, values: dict[Node, Any]) -> list[Any]:
        """Leaf values in the structure the function takes its arguments in."""
        left = iter(graph.leaves)
        packed = []
        for arg in self.point:
            leaves, structure = flatten(arg)
            numeric = [
                isinstance(v, (np.ndarray, np.generic, float, int, complex))
                and not isinstance(v, bool)
                for v in leaves
            ]
            packed.append(
                structure.unflatten(
                    [values[next(left)] if n else v for v, n in zip(leaves, numeric, strict=True)]
                )
            )
        return packed

    def _modes_of_whole(self, graph: Graph, leaves: list[Node], u: Arrays) -> dict[str, Any]:
        """Per mode a function that gives ⟨v, Ju⟩ for an output direction v, or J u itself."""
        moving = dict(zip(leaves, u, strict=True))
        tangents = self._repacked(
            graph, {n: moving.get(n, np.zeros(n.shape)) for n in graph.leaves}
        )
        found: dict[str, Any] = {}
        if "reverse" in self.check.modes:
            found["reverse"] = self._reverse_of_whole(u, leaves, graph)
        if "forward" in self.check.modes:
            found["forward"] = [_array(t) for t in flatten(jvp(self.f, self.point, tangents)[1])[0]]
        return found

    def _reverse_of_whole(
        self, u: Arrays, leaves: list[Node], graph: Graph
    ) -> Callable[[Arrays], float]:
        out, pullback = vjp(self.f, *self.point)
        structure = flatten(out)[1]

        def along(v: Arrays) -> float:
            back = [b for p in pullback(structure.unflatten(v)) for b in flatten(p)[0]]
            every = dict(zip(graph.leaves, back, strict=True))
            return inner([every[n] for n in leaves], u)

        return along

    # -- one edge ------------------------------------------------------------------------------

    def _check_edges(self, graph: Graph, run: Run, kinks: set[Node]) -> None:
        for node in graph.nodes:
            if node[RULE] is None or not node[PARENTS]:
                continue
            inputs = [run.value(a) if isinstance(a, Node) else a for a in node.args or ()]
            if any(isinstance(v, tuple) for v in inputs):
                continue  # one result of several: selecting it is no calculus
            if not all(_finite(v) for v in (*inputs, run.value(node))):
                continue  # differences say nothing at a pole
            for position in node[RULE].positions:
                self.check.edges += 1
                self._check_edge(node, position, inputs, node in kinks)

    def _check_edge(self, node: Node, position: int, inputs: list[Any], at_kink: bool) -> None:
        x = np.asarray(inputs[position])
        (u,) = directions([x], self.rng)
        bound = node.with_saved(node[RULE].keep(*inputs, node.op.forward(*inputs, **node.attrs)))
        slot = node[RULE].positions.index(position)

        def at(t: float) -> Arrays:
            moved = [*inputs[:position], (x + t * u)[()], *inputs[position + 1 :]]
            out = node.op.forward(*moved, **node.attrs)
            return [np.asarray(o) for o in (out if isinstance(out, tuple) else (out,))]

        several = node.dtype == object
        found: dict[str, Any] = {}
        with np.errstate(all="ignore"):
            if "reverse" in self.check.modes:

                def along(v: Arrays) -> float:
                    c = contributions(Parts(v) if several else v[0][()], bound)[slot]
                    like = node[PARENTS][slot]
                    return 0.0 if c is None else inner([unmasked(fit(c, like))], [u])

                found["reverse"] = along
            if "forward" in self.check.modes:
                ts = [u if k == slot else None for k in range(len(node[RULE].positions))]
                t = unmasked(node[RULE].push(ts, bound))
                found["forward"] = (
                    [_array(p) for p in t] if several else [np.broadcast_to(_array(t), node.shape)]
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
        scale = 1.0 / (1.0 + max((float(np.max(np.abs(d), initial=0.0)) for d in u), default=0.0))
        scale *= max(1.0, min((float(np.max(np.abs(v), initial=0.0)) for v in x), default=1.0))
        with np.errstate(all="ignore"):
            slope = central(at, scale)
            sides = one_sided(at, scale) if at_kink else None
        self.check.evaluations += slope.evaluations
        v = directions([np.asarray(s) for s in slope.value], self.rng)
        for mode, what in found.items():
            if callable(what):
                pairs = [
                    (what(v), inner(v, slope.value), inner([np.abs(a) for a in v], slope.error))
                ]
                between = [(inner(v, sides[0]), inner(v, sides[1]))] if sides else None
            else:
                pairs = list(zip(what, slope.value, slope.error, strict=True))
                between = list(zip(*sides, strict=True)) if sides else None
            for i, (ours, theirs, error) in enumerate(pairs):
                self._judge(mode, ours, theirs, error, between[i] if between else None, edge)

    def _judge(
        self, mode: str, ours: Any, theirs: Any, error: Any, between: Any, edge: Any
    ) -> None:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        off = np.abs(ours - theirs)
        allowed = self.rtol * (1.0 + np.abs(theirs)) + 10 * np.asarray(error)
        if between is not None and ours.dtype.kind == "f":
            low, high = np.minimum(*between), np.maximum(*between)
            slack = 1e-4 * (1.0 + np.abs(theirs))
            off = np.where((ours >= low - slack) & (ours <= high + slack), 0.0, off)
        both_not_finite = ~np.isfinite(ours) & ~np.isfinite(theirs)
        bad = ~(off <= allowed) & ~both_not_finite
        if bad.any():
            raise GradientCheckError(_message(self.k, mode, ours, theirs, bad, edge))
        finite = off[np.isfinite(off)]
        self.check.largest = max(self.check.largest, float(np.max(finite, initial=0.0)))


def _finite(value: Any) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return all(bool(np.all(np.isfinite(p))) for p in parts)


def _array(value: Any) -> Any:
    return np.asarray(getattr(value, "_value", value))


def _named(node: Node) -> str:
    where = f" at {node.line.shown()}" if node.line else ""
    return f"{node.op.name}{where}"


def _message(order: int, mode: str, ours: Any, theirs: Any, bad: Any, edge: Any) -> str:
    """Which derivative is wrong, where, and by how much."""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    entry = f" (entry {list(at)})" if at else ""
    numbers = f"{mode} mode gives {ours[at]:.10g}, central differences {theirs[at]:.10g}{entry}"
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
