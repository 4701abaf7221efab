"""Initial value problems: SciPy's solvers choose the steps, and the steps are differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate
from scipy.integrate._ivp.ivp import METHODS, OdeResult

from chainrule.core.containers import flatten
from chainrule.diff.closed import Captured, detached, without_history
from chainrule.diff.implicit import refuse_compiling
from chainrule.errors import ArgumentError, DTypeError, UnsupportedError
from chainrule.record.recorder import as_operand, record
from chainrule.record.variable import Variable
from chainrule.scipy.integrate.adjoint import TRAJECTORY, Kept, Problem, as_vector
from chainrule.scipy.integrate.steps import STEPS

SMALLEST = 1e-3, 1e-6  # SciPy's rtol and atol
ODEINT = 1.49012e-8  # the tolerances of odeint, both


def solve_ivp(
    fun: Callable[..., Any], t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None,
    dense_output: bool = False, events: Any = None, vectorized: bool = False, args: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """scipy.integrate.solve_ivp: `y` of the result is differentiable.

    With respect to y0, t_span, t_eval, args and all that `fun` closes over.  The derivative is that
    of the steps that were accepted, whose interior times are held; of BDF and LSODA it is that of
    Radau's method on their mesh, checked to agree within 1000 times the tolerances.
    """
    more = () if args is None else tuple(args)
    rhs = lambda t, y: fun(t, y, *more)  # noqa: E731
    captured: Captured = {}
    plain = detached(rhs, captured)
    given = (t_span, y0, t_eval)
    times, start, at = without_history(given)
    recorded = any(isinstance(v, Variable) for v in flatten((*given, more))[0])
    if not recorded:
        found = integrate.solve_ivp(
            plain, times, start, method, t_eval=at, dense_output=dense_output,
            events=_plain_events(events, more), vectorized=vectorized, **options,
        )  # fmt: skip
        if not captured:
            return found
    _refuse_uncovered(method, dense_output, events)
    refuse_compiling("solve_ivp")
    return _recorded(rhs, plain, captured, given, method, options)


def _plain_events(events: Any, more: tuple[Any, ...]) -> Any:
    """Events as SciPy calls them when args are bound already."""
    if events is None or not more:
        return events

    def bound(event: Any) -> Any:
        def called(t: Any, y: Any) -> Any:
            return event(t, y, *more)

        for name in ("terminal", "direction"):
            if hasattr(event, name):
                setattr(called, name, getattr(event, name))
        return called

    return bound(events) if callable(events) else [bound(event) for event in events]


def _refuse_uncovered(method: Any, dense_output: bool, events: Any) -> None:
    if method not in STEPS:
        raise UnsupportedError(
            f"solve_ivp: no derivative of the method {method!r}; choose one of {', '.join(STEPS)}"
        )
    if events is not None:
        raise UnsupportedError(
            "solve_ivp: events are not differentiated, and their times would lose their gradient.\n"
            "  Leave events out, and solve for the time with scipy.optimize.brentq of "
            "chainrule around solve_ivp."
        )
    if dense_output:
        raise UnsupportedError(
            "solve_ivp: dense_output=True gives a function without a derivative; pass the times "
            "as t_eval."
        )


def _recorded(
    rhs: Callable[..., Any], plain: Any, captured: Captured, given: Any, method: str, options: Any
) -> Any:
    """SciPy's steps, and the result recorded as a function of all that they depend on."""
    (t0, t1), y0, t_eval = given
    y0 = _floats(y0)
    times, start, at = without_history((given[0], y0, t_eval))
    at = None if at is None else np.asarray(at, np.float64)
    options = {name: without_history(value) for name, value in options.items()}
    solver = METHODS[method](
        lambda t, y: np.asarray(plain(t, y), np.float64), float(times[0]), np.asarray(start),
        float(times[1]), **options,
    )  # fmt: skip
    _check_times(at, times)
    mesh, kept, results, message = _integrate(solver, at)
    inputs = tuple(captured.values())
    tolerance = options.get("rtol", SMALLEST[0]), options.get("atol", SMALLEST[1])
    values = np.array(results).T
    problem = Problem(rhs, inputs, method, tolerance, mesh, at, kept, values)
    wanted = np.zeros(0) if t_eval is None else _floats(t_eval)
    ends = [_floats(t) if isinstance(t, Variable) else np.float64(t) for t in (t0, t1)]
    xs = [*ends, wanted, y0, *inputs]
    problem.point = tuple(without_history(xs))
    y = record(Variable, TRAJECTORY, xs, {"problem": problem})
    failed = solver.status == "failed"
    return OdeResult(
        t=mesh if at is None else at, y=y, sol=None, t_events=None, y_events=None,
        nfev=solver.nfev, njev=solver.njev, nlu=solver.nlu, status=-1 if failed else 0,
        message=message or "The solver successfully reached the end of the integration interval.",
        success=not failed,
    )  # fmt: skip


def _floats(value: Any) -> Any:
    """A number, a vector or a list with Variables in it, as float64."""
    value = as_operand(value, Variable)
    if np.asarray(getattr(value, "_value", value)).dtype.kind == "c":
        raise DTypeError("solve_ivp: complex states are not differentiated; split them in two")
    return value if isinstance(value, Variable) else np.asarray(value, np.float64)[()]


def _check_times(at: Any, times: Any) -> None:
    if at is None:
        return
    low, high = min(times), max(times)
    steps = np.diff(at) if times[1] > times[0] else -np.diff(at)
    if at.ndim != 1 or np.any(at < low) or np.any(at > high) or np.any(steps <= 0):
        raise ArgumentError("solve_ivp: t_eval must be a sorted vector of times within t_span")


def _integrate(solver: Any, at: Any) -> tuple[Any, dict[int, Any], list[Any], Any]:
    """Run a solver of SciPy's: the times it stopped at, some states, and the results asked for."""
    mesh, kept, message, sign = [solver.t], Kept(), None, solver.direction
    kept.note(0, solver.y)
    results, reached = ([np.array(solver.y)] if at is None else []), 0
    while solver.status == "running":
        message = solver.step()
        if solver.status == "failed":
            break
        mesh.append(solver.t)
        kept.note(len(mesh) - 1, solver.y)
        if at is None:
            results.append(np.array(solver.y))
            continue
        until = int(np.searchsorted(sign * at, sign * solver.t, side="right"))
        if until > reached:
            results += list(solver.dense_output()(at[reached:until]).T)
            reached = until
    kept.states[len(mesh) - 1] = np.array(solver.y)
    return np.array(mesh), kept.states, results, message


def odeint(
    func: Callable[..., Any], y0: Any, t: Any, args: Any = (), tfirst: bool = False,
    full_output: bool = False, rtol: Any = None, atol: Any = None, **settings: Any,
) -> Any:  # fmt: skip
    """scipy.integrate.odeint, differentiable by y0, t, args and all that `func` closes over.

    On plain numbers it is SciPy's.  On Variables DOP853 takes the steps, or Radau where SciPy found
    the problem stiff, with the tolerances of odeint.
    """
    more = args if isinstance(args, tuple) else (args,)

    def rhs(t: Any, y: Any) -> Any:
        return func(t, y, *more) if tfirst else func(y, t, *more)

    captured: Captured = {}
    plain = detached(rhs, captured)
    start, times = without_history((y0, t))
    found, info = integrate.odeint(
        plain, start, times, tfirst=True, full_output=True, rtol=rtol, atol=atol, **settings
    )
    recorded = any(isinstance(v, Variable) for v in flatten((y0, t, more))[0])
    if not captured and not recorded:
        return (found, info) if full_output else found
    stiff = bool(np.any(info["mused"] == 2))
    result = solve_ivp(
        lambda s, y: as_vector(rhs(s, y)), (t[0], t[len(times) - 1]), y0,
        "Radau" if stiff else "DOP853", t_eval=t, rtol=ODEINT if rtol is None else rtol,
        atol=ODEINT if atol is None else atol,
    )  # fmt: skip
    return (result.y.T, info) if full_output else result.y.T
