"""Minima of functions, by SciPy's solvers, which are handed our derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize

from chainrule.diff.closed import without_history
from chainrule.diff.gradient import grad
from chainrule.diff.jacobian import hessian, hvp, jacobian
from chainrule.record.variable import Variable
from chainrule.scipy.optimize.functions import Supplied
from chainrule.scipy.optimize.optimum import Rows, optimum

WITH_GRADIENT = frozenset({
    "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "slsqp", "dogleg", "trust-ncg", "trust-krylov",
    "trust-exact", "trust-constr",
})  # fmt: skip
WITH_PRODUCT = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
WITH_HESSIAN = frozenset({"dogleg", "trust-exact"})


def minimize(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: Any = None, jac: Any = None,
    hess: Any = None, hessp: Any = None, bounds: Any = None, constraints: Any = (),
    tol: float | None = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """scipy.optimize.minimize: `x` and `fun` of the result are differentiable.

    Where the method takes a gradient, a Hessian or its products and none is given, it is handed
    ours; `njev` and `nhev` count its calls.  With bounds and constraints the result is a function
    of what these depend on, too.
    """
    pair = jac is True  # fun returns the gradient beside its value
    supplied = Supplied((lambda *a: fun(*a)[0]) if pair else fun, args, "minimize")
    limits = _Constraints(constraints, bounds)
    kind = _method(method, bounds, limits.constraints)
    start = np.atleast_1d(np.asarray(without_history(x0), np.float64))
    if pair:
        jac = Supplied(lambda *a: fun(*a)[1], args).plain
    jac, hess, hessp = _derivatives(supplied, kind, start.ravel(), args, (jac, hess, hessp))
    found = optimize.minimize(
        supplied.plain, start, method=method, jac=jac, hess=hess, hessp=hessp,
        bounds=limits.plain_bounds(), constraints=limits.plain(kind, start.ravel()), tol=tol,
        callback=callback, options=options,
    )  # fmt: skip
    if supplied.captured or limits.captured:
        rows = limits.rows()
        found.x = optimum("minimize", found.x, supplied, rows, bool(found.success))
        found.fun = supplied(found.x)
    return found


def _method(method: Any, bounds: Any, constraints: Sequence[Any]) -> str:
    """The name of the method, as SciPy chooses it where none is given."""
    if method is None:
        return "slsqp" if constraints else "l-bfgs-b" if bounds is not None else "bfgs"
    return method.lower() if isinstance(method, str) else ""


def _derivatives(
    supplied: Supplied, kind: str, at: Any, args: Any, given: tuple[Any, Any, Any]
) -> tuple[Any, Any, Any]:
    """jac, hess and hessp for SciPy: those given, and ours in the place of those missing."""
    jac, hess, hessp = (Supplied(g, args).plain if callable(g) else g for g in given)
    if jac is None and kind in WITH_GRADIENT:
        jac = supplied.derivative(grad, (at,))
    if hess is None and hessp is None:
        if kind in WITH_PRODUCT and callable(jac):
            hessp = supplied.derivative(_products, (at, at))
        elif kind in WITH_HESSIAN:
            hess = supplied.derivative(hessian, (at,))
    return jac, hess, hessp


def _products(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, p: hvp(f, x, p)


class _Constraints:
    """Bounds and constraints in each way in which SciPy takes them, with Variables in them."""

    def __init__(self, constraints: Any, bounds: Any):
        one = isinstance(constraints, dict) or hasattr(constraints, "lb")
        self.constraints = [constraints] if one else list(constraints)
        self.lower, self.upper = _limits(bounds)
        self.bounded = bounds is not None
        self.bounds = bounds
        self.functions = [
            Supplied(c["fun"], c.get("args", ()), "minimize") if isinstance(c, dict)
            else Supplied(c.fun, (), "minimize") if hasattr(c, "fun")
            else None
            for c in self.constraints
        ]  # fmt: skip

    @property
    def captured(self) -> bool:
        """Whether a constraint or a bound depends on a Variable."""
        limits = [self.lower, self.upper]
        for c, f in zip(self.constraints, self.functions, strict=True):
            if f is not None and f.captured:
                return True
            if not isinstance(c, dict):
                limits += [c.lb, c.ub, getattr(c, "A", None)]
        return any(_has_variable(v) for v in limits)

    def plain_bounds(self) -> Any:
        if not self.bounded or isinstance(self.bounds, optimize.Bounds):
            return self.bounds
        return list(zip(without_history(self.lower), without_history(self.upper), strict=True))

    def plain(self, kind: str, at: Any) -> Any:
        """The constraints as SciPy takes them, their Jacobians ours where none are given."""
        every = zip(self.constraints, self.functions, strict=True)
        return [_plain_constraint(c, f, kind, at) for c, f in every]

    def rows(self) -> list[Rows]:
        """What must hold, as rows of values between limits."""
        rows = []
        for c, f in zip(self.constraints, self.functions, strict=True):
            if isinstance(c, dict):
                assert f is not None
                upper = 0.0 if c["type"].lower() == "eq" else np.inf
                rows.append(Rows(_as_vector(f), 0.0, upper))
            elif f is not None:
                rows.append(Rows(_as_vector(f), c.lb, c.ub))
            else:
                rows.append(Rows(_product(c.A), c.lb, c.ub))
        if self.bounded:
            rows.append(Rows(lambda x: x, _stacked(self.lower), _stacked(self.upper)))
        return rows


def _product(matrix: Any) -> Callable[[Any], Any]:
    return lambda x: np.ravel(matrix @ x)


def _has_variable(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_variable, value))
    return isinstance(value, Variable)


def _as_vector(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def value(x: Any) -> Any:
        found = f(x)
        if isinstance(found, (list, tuple)):
            found = np.stack([np.asarray(v) if not isinstance(v, Variable) else v for v in found])
        return found

    return value


def _plain_constraint(c: Any, f: Supplied | None, kind: str, at: Any) -> Any:
    if f is None:  # a LinearConstraint
        lower, upper, matrix = without_history((c.lb, c.ub, c.A))
        return optimize.LinearConstraint(matrix, lower, upper, c.keep_feasible)
    wanted = kind in WITH_GRADIENT
    if isinstance(c, dict):
        jac = c.get("jac")
        jac = Supplied(jac, c.get("args", ())).plain if callable(jac) else jac
        jac = jac or (_jacobian_of(f, at) if wanted else None)
        return {"type": c["type"], "fun": f.plain, **({"jac": jac} if jac else {})}
    lower, upper = without_history((c.lb, c.ub))
    jac = _jacobian_of(f, at) if c.jac == "2-point" and wanted else None
    return optimize.NonlinearConstraint(
        f.plain, lower, upper, jac=jac or c.jac, hess=c.hess, keep_feasible=c.keep_feasible
    )


def _jacobian_of(f: Supplied, at: Any) -> Any:
    f.plain(at)
    return f.derivative(lambda g: jacobian(_as_vector(g)), (at,))


def _limits(bounds: Any) -> tuple[Any, Any]:
    """Lower and upper bounds, each a list or an array that may hold Variables."""
    if bounds is None:
        return -np.inf, np.inf
    if isinstance(bounds, optimize.Bounds):
        return bounds.lb, bounds.ub
    pairs = [tuple(pair) for pair in bounds]
    return (
        [-np.inf if low is None else low for low, _ in pairs],
        [np.inf if high is None else high for _, high in pairs],
    )


def _stacked(limit: Any) -> Any:
    """A list of numbers and Variables as one array."""
    if isinstance(limit, list) and _has_variable(limit):
        return np.stack([v if isinstance(v, Variable) else np.float64(v) for v in limit])
    return limit


def minimize_scalar(
    fun: Callable[..., Any], bracket: Any = None, bounds: Any = None, args: Any = (),
    method: Any = None, tol: float | None = None, options: Any = None,
) -> Any:  # fmt: skip
    """scipy.optimize.minimize_scalar: `x` and `fun` of the result are differentiable."""
    supplied = Supplied(fun, args, "minimize_scalar")
    found = optimize.minimize_scalar(
        supplied.plain, bracket=without_history(bracket), bounds=without_history(bounds),
        method=method, tol=tol, options=options,
    )  # fmt: skip
    if supplied.captured or _has_variable(bounds):
        room = 10 * (options or {}).get("xatol", tol or 1e-5)
        rows = [] if bounds is None else [Rows(lambda x: x, bounds[0], bounds[1], room)]
        x = np.asarray(found.x, np.float64)
        found.x = optimum("minimize_scalar", x, supplied, rows, bool(found.success))
        found.fun = supplied(found.x)
    return found
