"""Roots of functions, by SciPy's solvers; their derivatives come from the function itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from chainrule.diff.closed import without_history
from chainrule.diff.gradient import grad
from chainrule.diff.implicit import polish_from, solution
from chainrule.diff.jacobian import jacobian
from chainrule.scipy.optimize.functions import Supplied

WITH_JACOBIAN = ("hybr", "lm")  # the methods of `root` that take one
WITH_SLOPE = ("newton", "halley")


def root(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: str = "hybr", jac: Any = None,
    tol: float | None = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """scipy.optimize.root: `x` of the result is differentiable by all that `fun` depends on.

    The methods hybr and lm are handed the Jacobian of `fun` where `jac` is not given.
    """
    pair = jac is True  # fun returns the Jacobian beside its value
    supplied = Supplied((lambda *a: fun(*a)[0]) if pair else fun, args, "root")
    start = without_history(x0)
    if pair:
        jac = Supplied(lambda *a: fun(*a)[1], args).plain
    elif callable(jac):
        jac = Supplied(jac, args).plain
    elif jac is None and method in WITH_JACOBIAN:
        flat = np.atleast_1d(np.asarray(start, np.float64)).ravel()
        jac = supplied.derivative(jacobian, (flat,))
    found = optimize.root(
        supplied.plain, start, method=method, jac=jac, tol=tol, callback=callback, options=options
    )
    found.x = _root_of("root", supplied, found.x, bool(found.success))
    return found


def fsolve(
    func: Callable[..., Any], x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0,
    col_deriv: Any = 0, **settings: Any,
) -> Any:  # fmt: skip
    """scipy.optimize.fsolve, differentiable by all that `func` depends on; fprime is ours."""
    supplied = Supplied(func, args, "fsolve")
    start = without_history(x0)
    if callable(fprime):
        fprime = Supplied(fprime, args).plain
    else:
        flat = np.atleast_1d(np.asarray(start, np.float64)).ravel()
        fprime, col_deriv = supplied.derivative(jacobian, (flat,)), 0
    found = optimize.fsolve(
        supplied.plain, start, fprime=fprime, full_output=full_output, col_deriv=col_deriv,
        **settings,
    )  # fmt: skip
    if not full_output:
        return _root_of("fsolve", supplied, found)
    return (_root_of("fsolve", supplied, found[0], found[2] == 1), *found[1:])


def root_scalar(
    f: Callable[..., Any], args: Any = (), method: str | None = None, bracket: Any = None,
    fprime: Any = None, fprime2: Any = None, x0: Any = None, x1: Any = None,
    xtol: float | None = None, rtol: float | None = None, maxiter: int | None = None,
    options: Any = None,
) -> Any:  # fmt: skip
    """scipy.optimize.root_scalar: `root` of the result is differentiable.

    newton and halley are handed the derivatives of `f` that are not given.
    """
    supplied = Supplied(f, args, "root_scalar")
    x0, x1, bracket = without_history((x0, x1, bracket))
    if method in WITH_SLOPE and x0 is not None:
        at = (float(x0),)
        fprime = _plain(fprime, args) or supplied.derivative(grad, at)
        if method == "halley":
            fprime2 = _plain(fprime2, args) or supplied.derivative(lambda g: grad(grad(g)), at)
    found = optimize.root_scalar(
        supplied.plain, method=method, bracket=bracket, fprime=_plain(fprime, args),
        fprime2=_plain(fprime2, args), x0=x0, x1=x1, xtol=xtol, rtol=rtol, maxiter=maxiter,
        options=options,
    )  # fmt: skip
    found.root = _root_of("root_scalar", supplied, found.root, bool(found.converged))
    return found


def _plain(fprime: Any, args: Any) -> Any:
    """A derivative that the user gave, on plain numbers; one of ours is that already."""
    if not callable(fprime) or getattr(fprime, "__qualname__", "").startswith("Supplied."):
        return fprime
    return Supplied(fprime, args).plain


def newton(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), tol: float = 1.48e-8,
    maxiter: int = 50, fprime2: Any = None, x1: Any = None, rtol: float = 0.0,
    full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """scipy.optimize.newton, differentiable; without `fprime` it takes secants, as SciPy's does."""
    supplied = Supplied(func, args, "newton")
    x0, x1 = without_history((x0, x1))
    found = optimize.newton(
        supplied.plain, x0, fprime=_plain(fprime, args), tol=tol, maxiter=maxiter,
        fprime2=_plain(fprime2, args), x1=x1, rtol=rtol, full_output=full_output, disp=disp,
    )  # fmt: skip
    return _with_output("newton", supplied, found, full_output)


def _bracketing(name: str) -> Callable[..., Any]:
    """A solver that narrows an interval down to a root."""
    solver = getattr(optimize, name)

    def solve(
        f: Callable[..., Any], a: Any, b: Any, args: Any = (), *rest: Any,
        full_output: bool = False, **settings: Any,
    ) -> Any:  # fmt: skip
        supplied = Supplied(f, args, name)
        a, b = without_history((a, b))
        found = solver(supplied.plain, a, b, (), *rest, full_output=full_output, **settings)
        return _with_output(name, supplied, found, full_output)

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"scipy.optimize.{name}, differentiable by all that `f` depends on."
    return solve


brentq, brenth, ridder, bisect = map(_bracketing, ("brentq", "brenth", "ridder", "bisect"))
toms748 = _bracketing("toms748")


def fixed_point(
    func: Callable[..., Any], x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500,
    method: str = "del2",
) -> Any:  # fmt: skip
    """scipy.optimize.fixed_point, differentiable by all that `func` depends on."""
    supplied = Supplied(func, args, "fixed_point")
    found = optimize.fixed_point(
        supplied.plain, without_history(x0), xtol=xtol, maxiter=maxiter, method=method
    )
    if not supplied.captured:
        return found
    return solution("fixed_point", found, lambda x: supplied(x) - x, polish=polish_from(True))


def _root_of(name: str, supplied: Supplied, found: Any, converged: bool = True) -> Any:
    """A root as a function of what the function closes over; the number itself where nothing is."""
    if not supplied.captured:
        return found
    return solution(name, found, supplied, polish=polish_from(converged))


def _with_output(name: str, supplied: Supplied, found: Any, full_output: bool) -> Any:
    """The root, or with `full_output` the root and what SciPy tells of it."""
    if not full_output:
        return _root_of(name, supplied, found)
    converged = bool(np.all(getattr(found[1], "converged", True)))
    return (_root_of(name, supplied, found[0], converged), *found[1:])
