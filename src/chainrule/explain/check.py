"""Gradient checking: both modes against central differences, each edge on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import Node
from chainrule.diff.gradient import jvp, vjp
from chainrule.diff.run import Run
from chainrule.errors import ArgumentError, ChainruleError, GradientCheckError, NeedsHistoryError
from chainrule.explain.arguments import Flat, as_array, on_arrays, pulled_back
from chainrule.explain.checked_line import (
    Line,
    cancelled,
    edge_line,
    enclosed,
    judged,
    narrowest,
    rounding_of,
    rows_of,
    sized,
    weights,
)
from chainrule.explain.differences import (
    Arrays,
    Sides,
    Slope,
    careful,
    central,
    directions,
    guarded,
    inner,
    repeats,
    sides,
)
from chainrule.explain.disagreement import (
    NOT_A_FUNCTION,
    named,
    not_finite_text,
    wrong_at_kink,
    wrong_rule,
    wrong_whole,
)
from chainrule.explain.lanes import not_finite
from chainrule.explain.nonfinite import OfRun, report
from chainrule.record.trace import trace

MODES = ("reverse", "forward")
CERTAIN = 5.0  # times the estimated error that a difference may be off
GROWTH = 1e3  # by which an op such as solve may enlarge the rounding of its result
SHAKEN = 6  # points, next to the given one, at which the rounding of a derivative is measured
BRANCH = "a branch of the Python code"
WHOLE = "the function as a whole"
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
    rounding: list[str] = field(default_factory=list)

    @property
    def notes(self) -> str:
        """What was met on the way that a reader of the result should know."""
        met = f"; {len(self.kinks)} nodes at a kink, held between both sides" if self.kinks else ""
        if self.jumps:
            met += f"; a jump, held against the slopes nearby: {', '.join(self.jumps)}"
        if self.unchecked:
            met += f"; differences do not settle, not checked: {', '.join(self.unchecked)}"
        if self.rounding:
            met += (
                "; ill-conditioned, agrees as far as rounding lets it (cr.conditioning tells "
                f"where): {', '.join(self.rounding)}"
            )
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
    function, point, names = on_arrays(f, args)
    name = getattr(f, "__name__", type(f).__name__)
    with np.errstate(all="ignore"):
        for k in range(1, order + 1):
            _Checker(function, point, check, k, rtol, rng, name, names).run()
            function = pulled_back(function, point, rng)
    return check


@dataclass(eq=False)
class _Checker:
    """One order of one function at one point."""

    f: Flat
    point: Arrays
    check: Check
    k: int
    rtol: float
    rng: np.random.Generator
    name: str
    names: Sequence[str]

    def run(self) -> None:
        self.graph = graph = trace(self.f, *self.point)
        run = graph.forward(*self.point)
        self.epsilon = narrowest(n.dtype for n in graph.nodes)
        # What a rule compares, without a derivative of its own, says nothing new of the function.
        told = [n for n in graph.nodes if self.k == 1 or n.parents]
        self.kinks = [n for n in told if run.at_kink(n)]
        self.check.kinks += [named(n) for n in self.kinks]
        if self.k == 1 and not repeats(lambda t: self._moved(t * 1e-3), 1.0):
            raise GradientCheckError(NOT_A_FUNCTION)
        self._refuse_not_finite(run)
        self._check_edges(graph, run, set(self.kinks))
        if self.k == 1 or not self.check.kinks:  # at a kink the gradient jumps
            self._check_whole()

    def _moved(self, t: float) -> Arrays:
        return [as_array(o) for o in self.f(*((1 + t) * v + t for v in self.point))]

    def _refuse_not_finite(self, run: Run) -> None:
        """Raise where the derivative, or all of the value, is NaN or infinite."""
        self.known, self.floor = None, 0.0
        try:
            self.known = known = OfRun(run)
        except NeedsHistoryError:  # the engine has another walk for it, which the rest is held to
            return
        self.floor = rounding_of(known)
        trouble = report(known, self.name, dict(zip(self.graph.leaves, self.names, strict=False)))
        gradients = [r for r in trouble.results if r.what == "gradient"]
        values = [r for r in trouble.results if r.what == "value"]
        if gradients and self.k > 1 and self.check.kinks:
            self._note(self.check.unchecked, f"order {self.k}, not finite at a kink")
        elif (gradients and ("reverse" in self.check.modes or self._forward_not_finite())) or (
            values
            and sum(r.count for r in values)
            == sum(n.size for n in self.graph.outputs if n.dtype.kind in "fc")
        ):
            text = not_finite_text(self.k, self.check.modes[0], trouble)
            raise GradientCheckError(text, finite=False)
        elif values:
            what = f"{values[0].count} lanes whose value is {values[0].kind}"
            self._note(self.check.unchecked, what)

    def _forward_not_finite(self) -> bool:
        ones = [np.ones_like(v) for v in self.point]
        return any(bool(not_finite(t).any()) for t in jvp(self.f, self.point, ones)[1])

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

            def ours(point: Arrays, u: Arrays = u) -> dict[str, Any]:
                slopes: dict[str, Any] = {}
                if "reverse" in self.check.modes:
                    back = vjp(self.f, *point)[1]
                    slopes["reverse"] = lambda v: inner(back(tuple(v)), u)
                if "forward" in self.check.modes:
                    slopes["forward"] = [as_array(t) for t in jvp(self.f, point, u)[1]]
                return slopes

            noise = self.epsilon
            line = Line(
                guarded(at), self.point, u, ours, bool(self.kinks), None, noise, noise, self.floor
            )
            if self._compare(line) == "unknown":
                self._note(self.check.unchecked, _place(None, self.kinks))

    def _chosen_directions(self, count: int) -> list[Arrays]:
        arrays = [np.asarray(v) for v in self.point]
        if count > COORDINATES or self.k > 1:
            return [
                sized(directions(arrays, self.rng), arrays, relative=bool(i % 2)) for i in range(8)
            ]
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
            if self.k > 1 and node in kinks and not node.rule.elementwise:
                continue  # what is recorded for a derivative jumps there, as x / ‖x‖ does at 0
            for position in node.rule.positions:
                self.check.edges += 1
                x = np.asarray(inputs[position])
                tied = node in kinks and not node.rule.elementwise
                states = []
                for u in self._edge_directions(x, tied):
                    line = edge_line(node, position, inputs, u, node in kinks, self.check.modes)
                    states.append(self._compare(line))
                    if states[-1] == "unknown" and not tied:
                        (u,) = sized([u], [x], relative=True)
                        line = edge_line(node, position, inputs, u, node in kinks, self.check.modes)
                        states[-1] = self._compare(line)
                if "unknown" in states:
                    self._note(self.check.unchecked, named(node))

    def _edge_directions(self, x: Any, tied: bool) -> list[Any]:
        """One at random; where values tie also all together, and some alone."""
        along = sized(directions([x], self.rng), [x], relative=False)
        if tied:
            alone = np.eye(x.size, dtype=x.dtype)[:16].reshape(-1, *x.shape)
            along += [np.ones(x.shape, x.dtype), *alone]
        return along

    # -- comparing -----------------------------------------------------------------------------

    def _compare(self, line: Line) -> str:
        """Raise unless each mode's derivative along a line is what differences say it is.

        "agree", or "unknown" where the differences are too uncertain to say it.  Where they do not
        agree at first, more care is taken: finer steps and measured noise, the slopes on both sides
        of a kink that nobody had told of, the rounding of the derivative itself.
        """
        worst: tuple[str, str, Any] = ("unknown", "", None)
        slopes = line.ours(line.x)
        adjoint = None
        for slope, here, rounding in self._attempts(line, slopes):
            self.check.evaluations += slope.evaluations
            if adjoint is None:
                adjoint = weights(slope, self.rng)
            worst = self._hold(line, slope, adjoint, slopes, here, rounding)
            if worst[0] == "agree":
                if rounding:
                    self._note(self.check.rounding, _place(line.edge, self.kinks))
                return "agree"
        if worst[0] == "unknown":
            return "unknown"
        raise GradientCheckError(self._message(line, *worst[1:]))

    def _attempts(self, line: Line, found: dict[str, Any]) -> Iterator[tuple[Slope, Any, Any]]:
        scale, tiny = line.scale, line.tiny
        slope = central(line.at, scale, tiny, line.noise)
        if line.at_kink:
            yield slope, self._sides(line), None
            return
        yield slope, None, None
        slope = careful(line.at, scale, tiny, line.size, line.noise, line.floor)
        yield slope, None, None
        if line.edge is None:
            here = self._sides(line)
            if here is not None:
                yield slope._replace(evaluations=0), here, None
                return
        yield slope._replace(evaluations=0), None, self._shaken(line)

    def _shaken(self, line: Line) -> list[dict[str, Any]]:
        """The derivatives at points so near that all they differ by is rounding."""
        draw = self.rng.integers
        return [
            line.ours([v * (1 + line.epsilon * draw(-4, 5, np.shape(v))) for v in line.x])
            for _ in range(SHAKEN)
        ]

    def _sides(self, line: Line) -> Sides | None:
        """Both sides of a kink, or of what turns out to be one; None where it is none."""
        if line.edge is None and not repeats(line.at, line.scale, 8):
            raise GradientCheckError(NOT_A_FUNCTION)
        both = sides(line.at, line.x, line.scale, self.rng, line.floor)
        if not (line.at_kink or both.kink):
            return None
        if both.jumps:
            self._note(self.check.jumps, _place(line.edge, self.kinks))
        if not line.at_kink:
            self._note(self.check.kinks, BRANCH)
        return both

    @staticmethod
    def _note(notes: list[str], what: str) -> None:
        if what not in notes:
            notes.append(what)

    def _hold(
        self,
        line: Line,
        slope: Slope,
        v: Arrays,
        slopes: dict[str, Any],
        here: Sides | None,
        shaken: list[dict[str, Any]] | None,
    ) -> tuple[str, str, Any]:
        """ "agree", "unknown", or "wrong" with the mode and the numbers."""
        state: tuple[str, str, Any] = ("agree", "", None)
        for mode, what in slopes.items():
            along = v if callable(what) else None
            bounds = enclosed(here, along)
            rows = rows_of(mode, what, along, slope, shaken)
            for i, (ours, theirs, error, size, loose) in enumerate(rows):
                allowed = max(self.rtol, 32 * line.epsilon) * size + CERTAIN * error + loose
                if shaken and line.edge is None and self.known is not None:
                    allowed = allowed + GROWTH * cancelled(self.known, line.u)
                bound = bounds and bounds[i]
                bad, known, off = judged(line, ours, theirs, error, allowed, bound)
                self.check.largest = max(self.check.largest, off)
                if bad.any():
                    at = tuple(int(k) for k in np.argwhere(bad)[0])
                    return "wrong", mode, (ours[at], theirs[at], at)
                if not known.all():
                    state = ("unknown", "", None)
        return state

    def _message(self, line: Line, mode: str, numbers: Any) -> str:
        """Which derivative is wrong, where, and by how much."""
        ours, theirs, at = numbers
        entry = f" (entry {list(at)})" if at else ""
        text = f"{mode} mode gives {ours:.10g}, central differences {theirs:.10g}{entry}"
        if line.edge is not None:
            return wrong_rule(self.k, text, mode, *line.edge)
        if self.kinks:
            return wrong_at_kink(self.k, text, self.kinks[0])
        step = [v + 1e-3 * line.scale * d for v, d in zip(line.x, line.u, strict=True)]
        try:
            there = trace(self.f, *step)
        except (ChainruleError, ValueError, ArithmeticError):  # a step out of its domain
            there = None
        return wrong_whole(self.k, text, self.graph, there)


def _finite(value: Any) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return all(bool(np.all(np.isfinite(p))) for p in parts)


def _place(edge: Any, kinks: list[Node]) -> str:
    if edge is not None:
        return named(edge[0])
    return named(kinks[0]) if kinks else WHOLE
