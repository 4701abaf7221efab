"""Minima, fits and linear programs with constraints (`minimum.py`, `fitting.py`, `linear.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize as plain

import chainrule as cr
from chainrule.scipy import optimize

POINT = np.array([1.0, 100.0, 0.6])


def rosenbrock(x, a, b):
    return (a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2 + 0.1 * x[1] ** 4


def differences(f, at, h=1e-5):
    return np.array([(f(at + h * e) - f(at - h * e)) / (2 * h) for e in np.eye(len(at))])


def smallest(p, **settings):
    start = [0.5, 0.3] if len(settings) > 1 else [0.9, 0.8]
    return optimize.minimize(rosenbrock, start, args=(p[0], p[1]), **{"tol": 1e-12, **settings})


@pytest.mark.parametrize("method", [None, "CG", "Newton-CG", "L-BFGS-B", "TNC", "SLSQP", "dogleg",
                                    "trust-ncg", "trust-exact", "Nelder-Mead"])  # fmt: skip
def test_every_method_has_one_derivative(method) -> None:
    f = lambda p: np.sum(smallest(p, method=method).x ** 2)  # noqa: E731
    np.testing.assert_allclose(cr.grad(f)(POINT[:2]), [1.99823352e00, 2.82645287e-06], rtol=1e-7)


def test_differences_and_second_order() -> None:
    """The second derivatives are those of Newton's method in 40 digits: on a valley's floor, of
    which differences of what a solver finds show little."""
    f = lambda p: np.sum(smallest(p).x ** 2)  # noqa: E731
    np.testing.assert_allclose(
        cr.grad(f)(POINT[:2]), differences(f, POINT[:2], 1e-3), rtol=1e-4, atol=1e-8
    )
    mixed = 2.3251530793949972e-06
    exact = [[-1.0815733534661405, mixed], [mixed, -5.641156690668881e-08]]
    np.testing.assert_allclose(cr.hessian(f)(POINT[:2]), exact, rtol=1e-9)


def test_a_solver_that_stops_at_rounding_is_taken_to_the_end() -> None:
    """BFGS cannot meet such a tolerance and says so; what it found is improved all the same."""
    assert not smallest(POINT).success
    x = []
    cr.grad(lambda p: (x.append(f := smallest(p).x), np.sum(f))[1])(POINT)
    exact = [0.8606028373122126, 0.7398273626747088]
    np.testing.assert_allclose(x[0].value, exact, rtol=1e-13)


def test_the_least_value() -> None:
    """By the envelope theorem its gradient is the partial derivative."""
    f = lambda p: smallest(p).fun  # noqa: E731
    x = smallest(POINT).x
    exact = [2 * (1.0 - x[0]), (x[1] - x[0] ** 2) ** 2]
    np.testing.assert_allclose(cr.grad(f)(POINT[:2]), exact, rtol=1e-6, atol=1e-12)


def test_solvers_are_handed_our_derivatives() -> None:
    for method, least in (("BFGS", {"njev"}), ("Newton-CG", {"njev", "nhev"})):
        found = optimize.minimize(rosenbrock, [0.9, 0.8], args=(1.0, 100.0), method=method)
        assert found.success
        assert all(found[name] >= 2 for name in least)
    theirs = plain.minimize(rosenbrock, [0.9, 0.8], args=(1.0, 100.0), method="BFGS")
    ours = optimize.minimize(rosenbrock, [0.9, 0.8], args=(1.0, 100.0), method="BFGS")
    assert ours.nfev * 2 < theirs.nfev


CONSTRAINED = {
    "bound": lambda p: smallest(p, bounds=[(0, p[2]), (None, None)]),
    "bounds as arrays": lambda p: smallest(
        p, bounds=plain.Bounds([-1.0, -1.0], [0.6, 2.0]), method="L-BFGS-B"
    ),
    "inequality": lambda p: smallest(
        p,
        constraints=[
            {"type": "ineq", "fun": lambda x: p[2] - x[0] ** 2 - x[1] ** 2},
            {"type": "ineq", "fun": lambda x: x[0] + 10},
        ],
    ),
    "equality": lambda p: smallest(
        p, constraints={"type": "eq", "fun": lambda x, s: x[0] + x[1] - s, "args": (p[2],)}
    ),
    "linear": lambda p: smallest(
        p, constraints=plain.LinearConstraint([[1.0, 1.0]], -np.inf, 0.6), method="SLSQP"
    ),
}


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constraints_that_hold(name: str) -> None:
    f = lambda p: np.sum(CONSTRAINED[name](p).x ** 3)  # noqa: E731
    got = cr.grad(f)(POINT)
    np.testing.assert_allclose(got, differences(f, POINT, 1e-4), rtol=1e-5, atol=2e-7)
    np.testing.assert_allclose(
        cr.hessian(f)(POINT), differences(cr.grad(f), POINT, 1e-4), rtol=1e-4, atol=2e-6
    )


def test_a_bound_that_takes_over() -> None:
    f = lambda a: optimize.minimize(lambda x: (x[0] - a) ** 2, [0.5], bounds=[(0, None)]).x[0]  # noqa: E731
    assert cr.grad(f)(1.0) == pytest.approx(1.0)
    assert cr.grad(f)(-1.0) == pytest.approx(0.0)
    with pytest.raises(cr.DerivativeError, match="active set changes"):
        cr.grad(f)(0.0)


def test_a_minimum_that_is_not_isolated() -> None:
    f = lambda a: optimize.minimize(lambda x: (x[0] + x[1] - a) ** 2, [0.5, 0.1]).x[0]  # noqa: E731
    with pytest.raises(cr.DerivativeError, match="singular"):
        cr.grad(f)(1.0)


def test_scalar_minima() -> None:
    cost = lambda x, a: (x - a) ** 2 + np.exp(a * x)  # noqa: E731
    f = lambda a: optimize.minimize_scalar(lambda x: cost(x, a), tol=1e-12).x  # noqa: E731
    x = f(0.7)
    bend = 2 + 0.49 * np.exp(0.7 * x)
    exact = (2 - np.exp(0.7 * x) * (1 + 0.7 * x)) / bend
    assert cr.grad(f)(0.7) == pytest.approx(exact, rel=1e-6)

    def bounded(a):
        limits = (0.0, a / 20)
        return optimize.minimize_scalar(lambda x: cost(x, a), bounds=limits, method="bounded").x

    assert cr.grad(bounded)(0.7) == pytest.approx(1 / 20)


# ---- fits ----------------------------------------------------------------------------------------

X = np.linspace(0, 4, 20)
Y = 2.5 * np.exp(-1.3 * X) + 0.5 + 0.02 * np.cos(17 * X)
WIDTHS = 0.1 + 0.05 * X


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


SIGMAS = {
    "none": {},
    "absolute": {"sigma": WIDTHS, "absolute_sigma": True},
    "covariance": {"sigma": np.diag(WIDTHS) + 0.01},
    "bounds": {"bounds": ([0.0, 0.0, 0.52], [5.0, 5.0, 5.0])},
}


@pytest.mark.parametrize("name", SIGMAS)
def test_a_fit_is_scipys(name: str) -> None:
    ours, theirs = (
        m.curve_fit(decay, X, Y, p0=[2, 1, 0.6], **SIGMAS[name]) for m in (optimize, plain)
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-3)
    recorded = optimize.curve_fit(decay, X, cr.variable(Y), p0=[2, 1, 0.6], **SIGMAS[name])
    np.testing.assert_allclose(recorded[1].value, theirs[1], rtol=1e-3)


@pytest.mark.parametrize("name", SIGMAS)
def test_a_fit_by_its_data(name: str) -> None:
    tight = {"xtol": 1e-14, "ftol": 1e-14, **({"gtol": 1e-14} if name == "bounds" else {})}

    def fit(scale):
        y = Y + scale * np.sin(5 * X)
        popt, pcov = optimize.curve_fit(decay, X, y, p0=[2, 1, 0.6], **SIGMAS[name], **tight)
        return np.sum(popt**2) + 100 * np.trace(pcov)

    h = 1e-3  # a fit ends where its sum of squares no longer falls
    assert cr.grad(fit)(0.01) == pytest.approx((fit(0.01 + h) - fit(0.01 - h)) / (2 * h), rel=1e-4)


def test_least_squares_with_every_loss() -> None:
    for loss in ("linear", "soft_l1", "huber", "cauchy", "arctan"):

        def f(s, loss=loss):
            data = Y + s * np.sin(5 * X)
            found = optimize.least_squares(
                lambda p: decay(X, *p) - data, [2.0, 1.0, 0.6], loss=loss, f_scale=0.03,
                xtol=1e-15, ftol=1e-15, gtol=1e-13,
            )  # fmt: skip
            return np.sum(found.x**2)

        h = 1e-5
        assert cr.grad(f)(0.01) == pytest.approx((f(0.01 + h) - f(0.01 - h)) / (2 * h), rel=1e-3)


def test_least_squares_refuses_a_loss_of_your_own() -> None:
    loss = lambda z: np.stack([z, np.ones_like(z), np.zeros_like(z)])  # noqa: E731
    with pytest.raises(cr.UnsupportedError, match="soft_l1"):
        cr.grad(lambda a: optimize.least_squares(lambda x: x - a, [0.0], loss=loss).x[0])(1.0)


# ---- linear programs -----------------------------------------------------------------------------


def test_a_vertex_moves_with_its_constraints() -> None:
    def f(p):
        a = np.reshape(np.stack([1.0 + 0 * p[0], p[0], p[1], 1.0 + 0 * p[0]]), (2, 2))
        limit = np.stack([4.0 + 0 * p[0], p[2]])
        return np.sum(optimize.linprog(-np.array([1.0, 1.5]), A_ub=a, b_ub=limit).x ** 2)

    p = np.array([2.0, 3.0, 5.0])
    np.testing.assert_allclose(cr.grad(f)(p), [-1.68, -0.48, 0.4], rtol=1e-9)
    np.testing.assert_allclose(cr.hessian(f)(p)[0], [3.584, -1.072, 0.8], rtol=1e-9)


def test_the_dual_is_the_gradient_of_the_optimum() -> None:
    f = lambda b: optimize.linprog([-1.0, -2.0], A_ub=[[1.0, 1.0]], b_ub=b).fun  # noqa: E731
    np.testing.assert_allclose(cr.grad(f)(np.array([1.0])), [-2.0])


def test_an_optimum_that_is_not_unique() -> None:
    with pytest.raises(cr.DerivativeError, match="active set changes"):
        cr.grad(lambda c: optimize.linprog(c, A_ub=[[1.0, 1.0]], b_ub=[1.0]).x[0])(
            np.array([-1.0, -1.0])
        )
