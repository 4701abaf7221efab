"""Least squares and curve fits: the parameters and their covariance as functions of the data."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from scipy import optimize

from chainrule.diff.closed import Captured, detached, without_history
from chainrule.diff.implicit import refuse_compiling
from chainrule.diff.jacobian import jacobian
from chainrule.errors import UnsupportedError
from chainrule.record.variable import Variable
from chainrule.scipy.optimize.functions import Supplied, on_numbers
from chainrule.scipy.optimize.optimum import Rows, optimum

LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


def least_squares(
    fun: Callable[..., Any], x0: Any, jac: Any = "2-point", bounds: Any = (-np.inf, np.inf),
    *, args: Any = (), kwargs: Any = None, loss: Any = "linear", f_scale: float = 1.0,
    **settings: Any,
) -> Any:  # fmt: skip
    """scipy.optimize.least_squares: `x` and `cost` of the result are differentiable.

    The Jacobian is ours unless one is given; `njev` counts its calls.
    """
    named = kwargs or {}
    supplied = Supplied(lambda x, *more: fun(x, *more, **named), args, "least_squares")
    start = np.atleast_1d(np.asarray(without_history(x0), np.float64))
    lower, upper = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if callable(jac):
        given = jac
        jac = Supplied(lambda x, *more: given(x, *more, **named), args).plain
    elif jac == "2-point":
        jac = supplied.derivative(_jacobian_of_vector, (start,)) or jac
    found = optimize.least_squares(
        supplied.plain, start, jac=jac, bounds=without_history((lower, upper)), loss=loss,
        f_scale=f_scale, **settings,
    )  # fmt: skip
    if not supplied.captured and not any(isinstance(v, Variable) for v in (lower, upper)):
        return found
    if loss not in LOSSES:
        raise UnsupportedError(
            f"least_squares: a loss of your own has no derivative here; choose one of "
            f"{', '.join(LOSSES)}"
        )

    def cost(x: Any) -> Any:
        return 0.5 * f_scale**2 * np.sum(LOSSES[loss]((_vector(supplied(x)) / f_scale) ** 2))

    free = np.all(np.isinf(without_history(lower))) and np.all(np.isinf(without_history(upper)))
    rows = [] if free else [Rows(lambda x: x, lower, upper)]
    found.x = optimum("least_squares", found.x, cost, rows, bool(found.success))
    found.cost = cost(found.x)
    return found


def _vector(found: Any) -> Any:
    """Residuals as one vector, also where a list of numbers was returned."""
    if isinstance(found, (list, tuple)):
        found = np.stack(found)
    return np.ravel(found)


def _jacobian_of_vector(f: Callable[..., Any]) -> Callable[..., Any]:
    return jacobian(lambda *x: _vector(f(*x)))


def curve_fit(
    f: Callable[..., Any], xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None,
    absolute_sigma: bool = False, check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf), method: str | None = None, jac: Any = None, *,
    full_output: bool = False, nan_policy: str | None = None, **settings: Any,
) -> Any:  # fmt: skip
    """scipy.optimize.curve_fit: the parameters and their covariance are differentiable.

    The Jacobian of `f` is ours unless one is given.
    """
    captured: Captured = {}
    lower, upper = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    xs, ys, widths, start, limits = without_history((xdata, ydata, sigma, p0, (lower, upper)))
    model = detached(f, captured)
    start = _ones(f, limits) if p0 is None else np.atleast_1d(start)
    slopes = detached(jac, captured) if callable(jac) else jac or _slopes(f, captured, xs, start)
    options: dict[str, Any] = {} if slopes is None else {"jac": slopes}
    found = optimize.curve_fit(
        model, xs, ys, p0=start, sigma=widths, absolute_sigma=absolute_sigma,
        check_finite=check_finite, bounds=limits, method=method, full_output=full_output,
        nan_policy=nan_policy, **options, **settings,
    )  # fmt: skip
    given = (xdata, ydata, sigma, lower, upper)
    if not captured and not any(isinstance(v, Variable) for v in given):
        return found
    refuse_compiling("curve_fit")
    if nan_policy == "omit":
        raise UnsupportedError(
            "curve_fit: nan_policy='omit' is not differentiated; drop the missing points first"
        )

    def residuals(p: Any) -> Any:
        model = f(xdata, *(p[i] for i in range(len(found[0]))))
        return _whitened(np.ravel(model) - np.ravel(ydata), sigma)

    free = np.all(np.isinf(limits[0])) and np.all(np.isinf(limits[1]))
    rows = [] if free else [Rows(lambda x: x, lower, upper)]
    best = optimum("curve_fit", found[0], lambda p: 0.5 * np.sum(residuals(p) ** 2), rows)
    return (best, _covariance(residuals, best, absolute_sigma, np.size(ys)), *found[2:])


def _slopes(
    f: Callable[..., Any], captured: Captured, xs: Any, start: Any
) -> Callable[..., Any] | None:
    """The Jacobian of the model as curve_fit calls it; None where f cannot be recorded."""

    def slopes(x: Any, *p: Any) -> Any:
        def values(v: Any) -> Any:
            return np.ravel(f(x, *(v[i] for i in range(len(p)))))

        return on_numbers(jacobian(values), captured)(np.array(p, np.float64))

    try:
        slopes(xs, *start)
    except Exception:  # noqa: BLE001 - whatever it is, SciPy meets it too, or takes differences
        return None
    return slopes


def _ones(f: Callable[..., Any], limits: Any) -> Any:
    """Where SciPy starts without p0: at 1, or between or beside the bounds."""
    count = len(signature(f).parameters) - 1
    lower, upper = (np.broadcast_to(np.asarray(v, float), (count,)) for v in limits)
    both = np.isfinite(lower) & np.isfinite(upper)
    start = np.ones(count)
    start[both] = 0.5 * (lower[both] + upper[both])
    start[np.isfinite(lower) & ~both] = lower[np.isfinite(lower) & ~both] + 1
    start[np.isfinite(upper) & ~both] = upper[np.isfinite(upper) & ~both] - 1
    return start


def _whitened(residuals: Any, sigma: Any) -> Any:
    """Residuals over their standard deviations, or over the root of their covariance."""
    if sigma is None:
        return residuals
    if np.ndim(sigma) < 2:
        return residuals / sigma
    return np.linalg.solve(np.linalg.cholesky(sigma), residuals)


def _covariance(residuals: Callable[[Any], Any], best: Any, absolute: bool, count: int) -> Any:
    """The inverse of JᵀJ, times the mean square of what is left unless sigma is absolute."""
    slopes = jacobian(residuals, mode="forward")(best)
    covariance = np.linalg.inv(slopes.T @ slopes)
    if absolute:
        return covariance
    return covariance * (np.sum(residuals(best) ** 2) / (count - best.size))
