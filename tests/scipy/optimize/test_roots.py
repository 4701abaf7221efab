"""Roots by SciPy's solvers: values as SciPy's, derivatives by the equations (`functions.py`)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize as plain

import chainrule as cr
from chainrule.scipy import optimize

SOLVERS = {
    "brentq": lambda a: optimize.brentq(lambda x: x**3 - a, 0, 3),
    "brenth": lambda a: optimize.brenth(lambda x: x**3 - a, 0, 3),
    "ridder": lambda a: optimize.ridder(lambda x: x**3 - a, 0, 3),
    "bisect": lambda a: optimize.bisect(lambda x, b: x**3 - b, 0, 3, args=a),
    "toms748": lambda a: optimize.toms748(lambda x: x**3 - a, 0, 3, full_output=True)[0],
    "newton": lambda a: optimize.newton(lambda x: x**3 - a, 1.0),
    "newton array": lambda a: optimize.newton(lambda x: x**3 - a, np.array([1.0, 2.0]))[1],
    "fixed_point": lambda a: optimize.fixed_point(lambda x: x - (x**3 - a) / 4, 1.0),
    "fsolve": lambda a: optimize.fsolve(lambda x: [x[0] ** 3 - a], 1.0)[0],
    "root hybr": lambda a: optimize.root(lambda x: x**3 - a, [1.0]).x[0],
    "root broyden": lambda a: optimize.root(lambda x: x**3 - a, [1.0], method="broyden1").x[0],
    "root jac": lambda a: optimize.root(lambda x: (x**3 - a, [3 * x**2]), [1.0], jac=True).x[0],
    "root_scalar": lambda a: optimize.root_scalar(lambda x: x**3 - a, bracket=(0, 3)).root,
    "root_scalar newton": lambda a: (
        optimize.root_scalar(lambda x: x**3 - a, x0=1.0, method="newton").root
    ),
    "halley": lambda a: optimize.root_scalar(lambda x: x**3 - a, x0=1.0, method="halley").root,
}


@pytest.mark.parametrize("name", SOLVERS)
def test_both_orders(name: str) -> None:
    solve = SOLVERS[name]
    np.testing.assert_allclose(solve(1.7), 1.7 ** (1 / 3), rtol=1e-6)
    np.testing.assert_allclose(cr.grad(solve)(1.7), 1.7 ** (-2 / 3) / 3, rtol=1e-11)
    np.testing.assert_allclose(cr.grad(cr.grad(solve))(1.7), -2 / 9 * 1.7 ** (-5 / 3), rtol=1e-10)
    np.testing.assert_allclose(cr.jvp(solve, (1.7,), (1.0,))[1], 1.7 ** (-2 / 3) / 3, rtol=1e-11)


def system(x, a):
    return [x[0] + 0.5 * (x[0] - x[1]) ** 3 - a[0], 0.5 * (x[1] - x[0]) ** 3 + x[1] * a[1]]


def test_a_system_is_handed_our_jacobian() -> None:
    a = np.array([1.0, 2.0])
    ours, theirs = (m.root(system, [0.0, 0.0], args=(a,)) for m in (optimize, plain))
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-12)
    assert ours.njev >= 1
    assert ours.nfev < theirs.nfev

    def f(a):
        return np.sum(optimize.root(system, [0.0, 0.0], args=(a,)).x ** 2)

    steps = 1e-5 * np.eye(2)
    differences = [(f(a + h) - f(a - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(cr.grad(f)(a), differences, rtol=1e-7)
    second = [(cr.grad(f)(a + h) - cr.grad(f)(a - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(cr.hessian(f)(a), second, rtol=1e-6)


def test_code_that_is_not_recorded_is_scipys() -> None:
    assert optimize.brentq(lambda x: math.cos(x) - x, 0, 1) == plain.brentq(
        lambda x: math.cos(x) - x, 0, 1
    )
    found = optimize.root(lambda x: [math.cos(x[0]) - x[0]], [0.5])
    assert found.x == plain.root(lambda x: [math.cos(x[0]) - x[0]], [0.5]).x


def test_a_gradient_that_would_be_lost_is_refused() -> None:
    with pytest.raises(cr.DetachError, match="float"):
        cr.grad(lambda a: optimize.brentq(lambda x: math.cos(x) - a * x, 0, 1))(1.0)
    with pytest.raises(cr.DetachError, match="float"):
        cr.grad(lambda a: optimize.brentq(lambda x: np.cos(x) - float(a) * x, 0, 1))(1.0)


def test_no_root_has_a_value_and_no_derivative() -> None:
    with pytest.raises(cr.DerivativeError, match="root: the residual is not small"):
        cr.grad(lambda a: optimize.root(lambda x: x * x + a, [0.5]).x[0])(1.0)


def test_outer_work_is_not_walked_again(monkeypatch) -> None:
    """What the captured Variables were computed from is no part of the equations."""

    def f(a):
        for _ in range(1000):
            a = a * 1.0
        return optimize.root(lambda x: x**3 - a, [1.0]).x[0]

    assert cr.grad(f)(8.0) == pytest.approx(1 / 12)


def test_other_names_are_scipys_and_refuse_variables() -> None:
    assert optimize.OptimizeResult is plain.OptimizeResult
    assert optimize.linear_sum_assignment([[1, 2], [0, 3]])[1].tolist() == [1, 0]
    with pytest.raises(AttributeError):
        optimize.no_such_solver  # noqa: B018
    with pytest.raises(cr.UnsupportedError, match=r"dual_annealing has no derivative"):
        cr.grad(lambda a: optimize.dual_annealing(
            lambda x: (x[0] - a) ** 2, [(0, 2)], maxiter=2).x[0])(1.0)  # fmt: skip
    assert "brentq" in dir(optimize)


def test_compiled_with_a_changing_constant() -> None:
    limit = [0.5]
    compiled = cr.compile(lambda x: x * optimize.brentq(lambda z: z - limit[0], 0, 1))
    assert compiled(2.0) == pytest.approx(1.0)
    limit[0] = 0.25
    assert compiled(2.0) == pytest.approx(0.5)
