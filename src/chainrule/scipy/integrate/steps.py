"""One step of an integrator from t to tn, on arrays or Variables, with its dense output.

Runge–Kutta steps follow SciPy's tableaux.  Those of the stiff solvers are steps of Radau's method
of order 5, whose stages are an implicit function: of Radau itself exactly, of BDF and LSODA on the
mesh that they have chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK23, RK45
from scipy.linalg import lu_factor, lu_solve
from scipy.optimize import root

from chainrule.diff.closed import detached, without_history
from chainrule.diff.implicit import solution
from chainrule.diff.jacobian import jacobian

Rhs = Callable[[Any, Any], Any]
Step = Callable[[Rhs, Any, Any, Any, Any], tuple[Any, Any]]
S6 = 6**0.5
NODES = np.array([(4 - S6) / 10, (4 + S6) / 10, 1.0])
POWERS = NODES[:, None] ** np.arange(1, 4)
# Collocation: the weights integrate exactly the polynomial that has the slopes of the stages.
WEIGHTS = POWERS / np.arange(1, 4) @ np.linalg.inv(NODES[:, None] ** np.arange(3))
INTERPOLATION = np.linalg.inv(POWERS)
MAX_ITERATIONS, SETTLED = 30, 1e-14  # of Newton's method; relative


def runge_kutta(solver: Any) -> Step:
    """The step of one of SciPy's explicit solvers; `at` are times of dense output, or None."""

    def step(f: Rhs, t: Any, tn: Any, y: Any, at: Any) -> tuple[Any, Any]:
        h = tn - t
        slopes = [f(t, y)]
        for a, c in zip(solver.A[1:], solver.C[1:], strict=True):
            slopes.append(f(t + c * h, y + h * _combined(slopes, a)))
        new = y + h * _combined(slopes, solver.B)
        if at is None:
            return new, None
        slopes.append(f(tn, new))
        dense = _dop853_dense if solver is DOP853 else _dense
        return new, dense(solver, f, slopes, (t, h, y, new), at)

    return step


def _combined(slopes: list[Any], weights: Any) -> Any:
    """The sum of weights times slopes, of which there may be fewer."""
    return np.dot(weights[: len(slopes)], np.stack(slopes))


def _dense(solver: Any, f: Rhs, slopes: list[Any], step: Any, at: Any) -> Any:
    t, h, y, _ = step
    x = (at - t) / h
    powers = np.stack([x**k for k in range(1, solver.P.shape[1] + 1)])  # power, time
    return y + h * (powers.T @ (solver.P.T @ np.stack(slopes)))


def _dop853_dense(solver: Any, f: Rhs, slopes: list[Any], step: Any, at: Any) -> Any:
    t, h, y, new = step
    slopes = list(slopes)
    for a, c in zip(solver.A_EXTRA, solver.C_EXTRA, strict=True):
        slopes.append(f(t + c * h, y + h * _combined(slopes, a)))
    first, last, change = slopes[0], slopes[solver.n_stages], new - y
    rows = [change, h * first - change, 2 * change - h * (last + first)]
    rest = h * np.dot(solver.D, np.stack(slopes))
    rows += [rest[k] for k in range(len(solver.D))]
    x = np.reshape((at - t) / h, (-1, 1))
    found = 0.0 * x * y
    for i, row in enumerate(reversed(rows)):
        found = (found + row) * (x if i % 2 == 0 else 1 - x)
    return y + found


def radau(f: Any, t: Any, tn: Any, y: Any, at: Any) -> tuple[Any, Any]:
    """A step of the Radau IIA method of order 5: its stages solve three coupled equations."""
    h, count = tn - t, np.size(y)

    def conditions(z: Any) -> Any:
        return _collocation(f, t, h, y, z)

    start, begin, end = without_history((y, t, tn))
    found = _stages(f.plain, begin, end - begin, start)
    stages = np.reshape(solution("solve_ivp", found, conditions), (3, count))
    new = y + stages[2]
    if at is None:
        return new, None
    x = (at - t) / h
    powers = np.stack([x**k for k in range(1, 4)])
    return new, y + powers.T @ (INTERPOLATION @ stages)


def _collocation(f: Rhs, t: Any, h: Any, y: Any, z: Any) -> Any:
    """What is zero where z are the three stages, less y."""
    stages = np.reshape(z, (3, np.size(y)))
    slopes = np.stack([f(t + c * h, y + stages[i]) for i, c in enumerate(NODES)])
    return z - h * np.reshape(WEIGHTS @ slopes, (3 * np.size(y),))


def _stages(f: Rhs, t: Any, h: Any, y: Any) -> Any:
    """The stages on plain numbers, by Newton's method with the Jacobian where it starts."""
    slope = np.asarray(detached(jacobian(lambda v: f(t, v)))(y))
    factors = lu_factor(np.eye(3 * y.size) - h * np.kron(WEIGHTS, slope))
    z = np.zeros(3 * y.size)
    for _ in range(MAX_ITERATIONS):
        change = lu_solve(factors, np.asarray(_collocation(f, t, h, y, z)))
        z = z - change
        if np.linalg.norm(change) <= SETTLED * np.linalg.norm(y + z[-y.size :]):
            return z
    return root(lambda z: _collocation(f, t, h, y, z), z, tol=1e-13).x


STEPS: dict[str, Step] = {
    "RK23": runge_kutta(RK23), "RK45": runge_kutta(RK45), "DOP853": runge_kutta(DOP853),
    "Radau": radau, "BDF": radau, "LSODA": radau,
}  # fmt: skip
STIFF = ("Radau", "BDF", "LSODA")
