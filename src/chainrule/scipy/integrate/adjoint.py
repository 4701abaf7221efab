"""The derivative of an integration: that of the steps it took, one after the other.

Backward the states are computed again from a few that were kept, so that memory does not grow with
the number of steps: between two of those that were kept, as many again, until all fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from chainrule.core.op import Op, Rules
from chainrule.core.parts import OBJECT
from chainrule.diff.closed import opened, without_history
from chainrule.diff.gradient import jvp, vjp
from chainrule.errors import DerivativeError
from chainrule.record.recorder import as_operand
from chainrule.record.state import recording
from chainrule.record.variable import Variable
from chainrule.scipy.integrate.steps import STEPS, STIFF

SLOTS = 32  # states kept at a time
ROUNDING = 1e-8  # that may have grown between two states kept, relative


class Kept:
    """At most `SLOTS` states of a running integration, evenly spread: old ones make room."""

    def __init__(self) -> None:
        self.stride = 1
        self.states: dict[int, Any] = {}

    def note(self, k: int, y: Any) -> None:
        if k % self.stride:
            return
        self.states[k] = np.array(y)
        if len(self.states) > SLOTS:
            self.stride *= 2
            self.states = {i: s for i, s in self.states.items() if i % self.stride == 0}


@dataclass(frozen=True)
class Slope:
    """The right-hand side of a differential equation, for these values of what it closes over."""

    call: Callable[..., Any]
    inputs: Sequence[Any]

    def __call__(self, t: Any, y: Any) -> Any:
        return as_vector(self.call((t, y), self.inputs))

    @property
    def plain(self) -> Slope:
        """The same on plain numbers."""
        return Slope(self.call, without_history(list(self.inputs)))


@dataclass(eq=False)
class Problem:
    """An initial value problem that was solved: the mesh of accepted steps, and states kept."""

    f: Callable[..., Any]
    captured: Sequence[Variable]
    method: str
    tolerance: tuple[Any, Any]
    mesh: np.ndarray[Any, Any]
    at: np.ndarray[Any, Any] | None  # times of the results; None for the mesh itself
    kept: dict[int, Any]
    values: np.ndarray[Any, Any]  # the results, of shape (unknowns, times)
    point: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.call = opened(self.f, self.captured)

    @property
    def count(self) -> int:
        """The number of steps."""
        return len(self.mesh) - 1

    def step(self, k: int) -> Callable[..., Any]:
        """Step k as a function of t, tn, y, the times of results in it, and the inputs."""
        advance, dense = STEPS[self.method], len(self.inside(k)) > 0

        def taken(t: Any, tn: Any, y: Any, at: Any, *inputs: Any) -> Any:
            rhs = Slope(self.call, inputs)
            new, results = advance(rhs, t, tn, y, at if dense else None)
            return (new, results) if dense else (new,)

        return taken

    def inside(self, k: int) -> np.ndarray[Any, Any]:
        """Which results lie in step k; that at the start belongs to the first."""
        if self.at is None:
            return np.zeros(0, int)
        sign = np.sign(self.mesh[-1] - self.mesh[0]) or 1.0
        after = sign * self.at > sign * self.mesh[k] if k else sign * self.at >= sign * self.mesh[0]
        return np.flatnonzero(after & (sign * self.at <= sign * self.mesh[k + 1]))

    def times(self, k: int, t0: Any, t1: Any) -> tuple[Any, Any]:
        """Where step k begins and ends; only the first and the last time are not held."""
        return (
            t0 if k == 0 else np.float64(self.mesh[k]),
            t1 if k == self.count - 1 else np.float64(self.mesh[k + 1]),
        )

    def __repr__(self) -> str:
        return f"<{self.count} steps of {self.method}>"


def as_vector(found: Any) -> Any:
    """What a right-hand side returned, as a vector of float64."""
    if isinstance(found, (list, tuple)) or getattr(found, "dtype", None) is OBJECT:
        found = as_operand(found, Variable)
    return np.ravel(found)


def unrolled(problem: Problem, t0: Any, t1: Any, at: Any, y: Any, *inputs: Any) -> Any:
    """The whole integration, step by step, on whatever it is given: (unknowns, times)."""
    results = [y] if problem.at is None else []
    for k in range(problem.count):
        here = at[problem.inside(k)]
        y, *more = problem.step(k)(*problem.times(k, t0, t1), y, here, *inputs)
        results += [y] if problem.at is None else [row for rows in more for row in _rows(rows)]
    return np.stack(results).T


def _rows(rows: Any) -> list[Any]:
    return [rows[i] for i in range(rows.shape[0])]


# ---- the op --------------------------------------------------------------------------------------


def _forward(*xs: Any, problem: Problem) -> Any:
    if all(np.array_equal(a, b) for a, b in zip(xs, problem.point, strict=True)):
        return problem.values.copy()
    with recording(tracing=None, debug=None):  # on the same mesh, whose ends move
        return np.asarray(unrolled(problem, *xs))


def _pull(g: Any, xs: Any, problem: Problem) -> Any:
    if any(isinstance(v, Variable) for v in (g, *xs)):
        return vjp(lambda *v: unrolled(problem, *v), *xs)[1](g)
    return _adjoint(problem, g, *xs)


def _push(ts: Any, xs: Any, problem: Problem) -> Any:
    if any(isinstance(v, Variable) for v in (*ts, *xs)):
        return jvp(lambda *v: unrolled(problem, *v), tuple(xs), tuple(ts))[1]
    t0, t1, at, y, *inputs = xs
    moved_t0, moved_t1, moved_at, moved, *moves = ts
    results = [moved] if problem.at is None else []
    for k in range(problem.count):
        here = problem.inside(k)
        begins, ends = (moved_t0 if k == 0 else 0.0), (moved_t1 if k == problem.count - 1 else 0.0)
        point = (*problem.times(k, t0, t1), y, at[here], *inputs)
        along = (np.float64(begins), np.float64(ends), moved, moved_at[here], *moves)
        (y, *_), (moved, *more) = jvp(problem.step(k), point, along)
        results += [moved] if problem.at is None else [row for rows in more for row in rows]
    return np.stack(results).T


def _adjoint(
    problem: Problem, g: Any, t0: Any, t1: Any, at: Any, y0: Any, *inputs: Any
) -> tuple[Any, ...]:
    """Adjoints of all inputs: one walk back over the steps, each differentiated by itself."""
    at_t0, at_t1, at_at = np.float64(0), np.float64(0), np.zeros(np.shape(at))
    sums = [np.zeros(np.shape(v)) for v in inputs]
    weight = np.zeros(np.shape(y0))
    for k, y in _backwards(problem, t0, t1, y0, inputs):
        here = problem.inside(k)
        if problem.at is None:
            weight = weight + g[:, k + 1]
        seeds = (weight, g[:, here].T) if len(here) else (weight,)
        point = (*problem.times(k, t0, t1), y, at[here], *inputs)
        begins, ends, weight, when, *found = vjp(problem.step(k), *point)[1](seeds)
        at_at[here] += when
        at_t0 = at_t0 + begins if k == 0 else at_t0
        at_t1 = at_t1 + ends if k == problem.count - 1 else at_t1
        sums = [s + c for s, c in zip(sums, found, strict=True)]
    if problem.at is None:
        weight = weight + g[:, 0]
    return (at_t0, at_t1, at_at, weight, *sums)


def _backwards(problem: Problem, t0: Any, t1: Any, y0: Any, inputs: Sequence[Any]) -> Any:
    """Every step with the state it starts from, last one first."""
    starts = sorted(problem.kept)
    ends = [*starts[1:], problem.count]
    pending = [(a, b, problem.kept[a]) for a, b in zip(starts, ends, strict=True) if a < b]
    while pending:
        first, last, y = pending.pop()
        stride = -(-(last - first) // SLOTS)
        states = {first: y}
        for k in range(first, last - 1):
            y = problem.step(k)(*problem.times(k, t0, t1), y, np.zeros(0), *inputs)[0]
            if (k + 1 - first) % stride == 0:
                states[k + 1] = np.asarray(y)
        if stride > 1:
            cuts = [*sorted(states), last]
            pending += [(a, b, states[a]) for a, b in pairwise(cuts)]
            continue
        _refuse_other(problem, last, states[last - 1], inputs, t0, t1)
        for k in reversed(range(first, last)):
            yield k, states[k]


def _refuse_other(
    problem: Problem, last: int, y: Any, inputs: Sequence[Any], t0: Any, t1: Any
) -> None:
    """The states computed again must be those that the solver went through."""
    if last not in problem.kept:
        return
    again = problem.step(last - 1)(*problem.times(last - 1, t0, t1), y, np.zeros(0), *inputs)[0]
    there, (rtol, atol) = problem.kept[last], problem.tolerance
    room = ROUNDING * np.max(np.abs(there), initial=0.0)
    if problem.method in STIFF:
        room = room + 1e3 * (atol + rtol * np.abs(there))
    if not np.all(np.abs(again - there) <= room):
        raise DerivativeError(
            f"solve_ivp: at t = {problem.mesh[last]:.6g} the steps computed again arrive at "
            f"{np.max(np.abs(again - there)):.1e} from where {problem.method} did.  The function "
            "must give the same each time it is called"
            + (
                ", and the derivative is that of Radau's method on the same mesh: choose "
                "method='Radau', or smaller tolerances."
                if problem.method in STIFF
                else "."
            )
        )


TRAJECTORY = Op(
    "trajectory", _forward, ("xs",), Rules((_pull,), (_push,)), lambda *_, **__: None, list,
    variadic=True, doc="The solution of an initial value problem by the steps that were accepted.",
)  # fmt: skip
