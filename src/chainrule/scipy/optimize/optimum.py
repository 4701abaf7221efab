"""Optima as functions of what they depend on: stationarity, active constraints and multipliers.

At an optimum x the gradient of the objective is a combination of the gradients of the constraints
that hold with equality, and these equations for x and the multipliers are what is differentiated.
An inequality counts as an equality where it is active.  One that is touched without any force on it
is where the active set changes: there the optimum has a kink, and its derivative is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.diff.closed import detached, without_history
from chainrule.diff.gradient import grad, jvp
from chainrule.diff.implicit import polish_from, solution
from chainrule.diff.jacobian import jacobian

NEAR = 1e-5  # of a constraint, relative: from here on it may be active
FORCE = 1e-6  # of a multiplier, relative: from here on the constraint is active


@dataclass(frozen=True)
class Rows:
    """Constraints lower ≤ value(x) ≤ upper, one per element; the limits may be Variables.

    `room` is how far from a limit the solver may stop, where that is more than rounding.
    """

    value: Callable[[Any], Any]
    lower: Any
    upper: Any
    room: float = 0.0


@dataclass(frozen=True)
class Active:
    """Elements of some rows that hold with equality, and the limits they have there."""

    rows: Rows
    lower: np.ndarray[Any, Any]  # the indices of those at their lower limit, or at both
    upper: np.ndarray[Any, Any]

    def gaps(self, x: Any) -> Any:
        """By how much each misses its limit."""
        value = np.ravel(self.rows.value(x))
        lower, upper = _spread(self.rows.lower, value), _spread(self.rows.upper, value)
        return np.concatenate(
            [value[self.lower] - lower[self.lower], value[self.upper] - upper[self.upper]]
        )


def _spread(limit: Any, like: Any) -> Any:
    """A limit for each element."""
    return np.broadcast_to(np.ravel(limit) if np.shape(limit) else limit, like.shape)


def optimum(
    name: str, found: Any, objective: Callable[[Any], Any], rows: Sequence[Rows] = (),
    converged: bool = True,
) -> Any:  # fmt: skip
    """The minimiser `found` of the objective, as a function of what both close over."""
    found = np.asarray(found, np.float64)
    x = found.ravel()

    def cost(v: Any) -> Any:
        return np.sum(objective(v.reshape(found.shape)))

    active, multipliers, refusal = _active(cost, x, rows)
    count = x.size

    def conditions(z: Any) -> Any:
        v, forces = z[:count], z[count:]
        if not active:
            return grad(cost)(v)

        def lagrangian(u: Any) -> Any:
            gaps = np.concatenate([each.gaps(u) for each in active])
            return cost(u) - np.sum(forces * gaps)

        gaps = np.concatenate([each.gaps(v) for each in active])
        return np.concatenate([grad(lagrangian)(v), gaps])

    z = solution(
        name,
        np.concatenate([x, multipliers]),
        conditions,
        polish=polish_from(converged),
        refusal=refusal,
    )
    return z[:count].reshape(found.shape)


def _active(
    cost: Callable[[Any], Any], x: np.ndarray[Any, Any], rows: Sequence[Rows]
) -> tuple[list[Active], np.ndarray[Any, Any], str]:
    """What holds with equality at x, with the multipliers; and why no derivative exists, or ""."""
    if not rows:
        return [], np.zeros(0), ""
    slope, curved = detached(_slope_and_curvature(cost))(x)
    near = [_near(each, x) for each in rows]
    gradients = [
        np.asarray(detached(jacobian(lambda v, each=each: np.ravel(each.value(v))))(x))[
            np.concatenate([both, lower, upper])
        ]
        for each, (both, lower, upper) in zip(rows, near, strict=True)
    ]
    matrix = np.concatenate([np.zeros((0, x.size)), *gradients])
    forces = np.linalg.lstsq(matrix.T, slope, rcond=None)[0] if len(matrix) else np.zeros(0)
    sizes = np.linalg.norm(matrix, axis=1)
    scale = np.linalg.norm(slope) + np.linalg.norm(curved)
    strength = forces * sizes / (scale or 1.0)
    active, kept, start, refusal = [], [], 0, ""
    for each, (both, lower, upper) in zip(rows, near, strict=True):
        ends = np.cumsum([start, len(both), len(lower), len(upper)])
        start = int(ends[-1])
        at_lower, at_upper = strength[ends[1] : ends[2]], -strength[ends[2] : ends[3]]
        weak = np.concatenate([lower[np.abs(at_lower) <= FORCE], upper[np.abs(at_upper) <= FORCE]])
        if len(weak):
            refusal = _degenerate(weak)
        picked = lower[at_lower > FORCE], upper[at_upper > FORCE]
        active.append(Active(each, np.concatenate([both, picked[0]]), picked[1]))
        kept += [
            forces[ends[0] : ends[1]],
            forces[ends[1] : ends[2]][at_lower > FORCE],
            forces[ends[2] : ends[3]][at_upper > FORCE],
        ]
    active = [each for each in active if len(each.lower) + len(each.upper)]
    return active, np.concatenate([np.zeros(0), *kept]), refusal


def _degenerate(which: np.ndarray[Any, Any]) -> str:
    return (
        f"constraint {which.tolist()[0]} is touched, with a multiplier of zero: the active set "
        "changes here, so that the optimum has a kink, and no derivative."
    )


def _slope_and_curvature(cost: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jvp(grad(cost), (x,), (x,))


def _near(rows: Rows, x: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """Indices of equalities, and of inequalities near their lower and upper limits."""
    value = np.ravel(detached(rows.value)(x))
    lower = _spread(without_history(rows.lower), value)
    upper = _spread(without_history(rows.upper), value)
    both = lower == upper
    width = np.where(np.isfinite(upper - lower), upper - lower, np.inf)
    room = np.maximum(NEAR * np.minimum(width, np.maximum(np.abs(value), 1.0)), rows.room)
    below, above = value - lower <= room, upper - value <= room
    return (
        np.flatnonzero(both),
        np.flatnonzero(below & ~both),
        np.flatnonzero(above & ~both & ~below),
    )
