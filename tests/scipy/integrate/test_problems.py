"""Initial value problems: SciPy's values, derivatives of its steps (`adjoint.py`, `steps.py`)."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import integrate as plain

import chainrule as cr
from chainrule.scipy import integrate

P = np.array([1.0, 2.0, 1.1, 0.7])
TIMES = np.array([0.3, 0.8, 1.0])
METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")


def hunt(t, y, a, b):
    return [a * y[0] - b * y[0] * y[1], -y[1] + 0.5 * y[0] * y[1]]


def solved(p, method, t_eval=None, span=(0, 1), tol=1e-5):
    return integrate.solve_ivp(
        hunt, span, p[:2], method, t_eval=t_eval, args=(p[2], p[3]), rtol=tol, atol=tol
    )


def exact(f, p, h=1e-3):
    """Differences of a solution much more accurate than the one that is tested."""
    return np.array([(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(len(p))])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("t_eval", [None, TIMES], ids=["steps", "t_eval"])
def test_values_are_scipys_and_modes_agree(method: str, t_eval) -> None:
    theirs = plain.solve_ivp(
        hunt, (0, 1), P[:2], method, t_eval=t_eval, args=(1.1, 0.7), rtol=1e-5, atol=1e-5
    )
    v = cr.variable(P)
    ours = solved(v, method, t_eval)
    np.testing.assert_allclose(ours.y.value, theirs.y, rtol=1e-14)
    np.testing.assert_array_equal(ours.t, theirs.t)
    assert ours.success
    gradient = cr.grad(lambda p: np.sum(solved(p, method, t_eval).y[:, -1] ** 2))(P)
    fine = exact(lambda p: np.sum(solved(p, "DOP853", [1.0], tol=1e-12).y ** 2), P)
    np.testing.assert_allclose(gradient, fine, atol=3e-2 if method == "RK23" else 1e-3)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
def test_forward_is_the_adjoint_of_reverse(method: str) -> None:
    f = lambda p: solved(p, method, TIMES, tol=1e-3).y  # noqa: E731
    along, weights = np.array([1.0, -2.0, 3.0, 0.5]), np.cos(np.arange(6.0)).reshape(2, 3)
    moved = cr.jvp(f, (P,), (along,))[1]
    back = cr.vjp(f, P)[1](weights)[0]
    assert np.sum(weights * moved) == pytest.approx(
        back @ along, rel=1e-5 if method == "Radau" else 1e-9
    )  # SciPy ends Newton's method early, so the states kept are not quite those of the steps


def fixed(p, order, method="RK45"):
    """Two steps of a length that no tolerance decides, so that differences are exact."""
    found = integrate.solve_ivp(
        hunt, (0, 1), p[:2], method, args=(p[2], p[3]), first_step=0.5, rtol=10.0, atol=10.0
    )
    return np.sum(found.y[:, -1] ** order)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_exact_for_what_was_computed(method: str) -> None:
    f = lambda p: fixed(p, 3, method)  # noqa: E731
    np.testing.assert_allclose(cr.grad(f)(P), exact(f, P, 1e-5), rtol=1e-8)
    np.testing.assert_allclose(cr.hessian(f)(P), exact(cr.grad(f), P, 1e-5), rtol=1e-7, atol=1e-7)


def test_equals_the_unrolled_steps() -> None:
    """The derivative of the same steps, written out with recorded operations."""

    def unrolled(p):
        mesh = solved(P, "RK23").t
        y = p[:2]
        f = lambda y: np.stack(hunt(0.0, y, p[2], p[3]))  # noqa: E731
        for h in np.diff(mesh):
            k1 = f(y)
            k2 = f(y + h / 2 * k1)
            k3 = f(y + 0.75 * h * k2)
            y = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
        return np.sum(y**3)

    ours = cr.grad(lambda p: np.sum(solved(p, "RK23").y[:, -1] ** 3))(P)
    np.testing.assert_allclose(ours, cr.grad(unrolled)(P), rtol=1e-10)


def test_times_are_differentiated() -> None:
    def f(times):
        found = integrate.solve_ivp(
            lambda t, y: -t * y, (times[0], times[1]), [2.0], "DOP853", t_eval=times[1:],
            rtol=1e-10, atol=1e-10,
        )  # fmt: skip
        return found.y[0, -1]

    at = np.array([0.2, 0.9])
    value = 2 * np.exp((0.04 - 0.81) / 2)
    np.testing.assert_allclose(cr.grad(f)(at), [0.2 * value, -0.9 * value], rtol=1e-7)
    moved = cr.jvp(f, (at,), (np.array([0.0, 1.0]),))[1]
    assert moved == pytest.approx(-0.9 * value, rel=1e-7)


def test_backward_in_time() -> None:
    f = lambda a: integrate.solve_ivp(  # noqa: E731
        lambda t, y: a * y, (1, 0), [1.0], t_eval=[0.5, 0.0], rtol=1e-10, atol=1e-10
    ).y[0, 1]
    assert cr.grad(f)(0.7) == pytest.approx(-np.exp(-0.7), rel=1e-7)


def test_what_the_function_closes_over_on_either_branch() -> None:
    early, late = cr.variable(0.5), cr.variable(2.0)
    found = integrate.solve_ivp(
        lambda t, y: -(early * y) if t < 0.5 else -(late * y), (0, 1), [1.0], max_step=0.05
    )
    found.y[0, -1].backward()
    np.testing.assert_allclose([early.grad, late.grad], -0.5 * np.exp(-1.25), rtol=0.05)


@pytest.mark.slow
def test_stiff() -> None:
    """Robertson's reaction, whose rates differ by nine orders of magnitude."""

    def reaction(t, y, k):
        first, second, third = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
        return np.stack([second - first, first - second - third, third])

    def f(k, method="Radau"):
        return integrate.solve_ivp(
            reaction, (0, 40), [1.0, 0.0, 0.0], method, t_eval=[40.0], args=(k,), rtol=1e-4,
            atol=1e-8,
        ).y[0, 0]  # fmt: skip

    k = np.array([0.04, 1e4, 3e7])
    steps = 1e-3 * np.diag(k)
    fine = lambda k: plain.solve_ivp(  # noqa: E731
        reaction, (0, 40), [1.0, 0.0, 0.0], "Radau", args=(k,), rtol=1e-10, atol=1e-12
    ).y[0, -1]
    differences = [(fine(k + h) - fine(k - h)) / 2 for h in steps]
    np.testing.assert_allclose(cr.grad(f)(k) * np.diag(steps), differences, rtol=3e-3)


def live_after(steps: int) -> int:
    """The most memory that a gradient takes at one time."""
    f = lambda a: integrate.solve_ivp(  # noqa: E731
        lambda t, y: a * y, (0, 1), np.ones(200), "RK23", t_eval=[1.0], max_step=1 / steps
    ).y[0, 0]
    tracemalloc.start()
    cr.grad(f)(0.3)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.slow
def test_memory_does_not_grow_with_the_steps() -> None:
    live_after(10)
    few, many = live_after(70), live_after(210)
    assert many < 1.3 * few  # all states of the 140 steps more would be 220 kB, beside their slopes


def test_odeint() -> None:
    times = np.linspace(0, 1, 4)
    swapped = lambda y, t, a, b: hunt(t, y, a, b)  # noqa: E731

    def f(p):
        return integrate.odeint(swapped, p[:2], times, args=(p[2], p[3]))

    theirs = plain.odeint(swapped, P[:2], times, args=(1.1, 0.7))
    np.testing.assert_array_equal(f(P), theirs)
    np.testing.assert_allclose(f(cr.variable(P)).value, theirs, rtol=1e-6)
    fine = exact(lambda p: np.sum(solved(p, "DOP853", times, tol=1e-12).y ** 2), P)
    np.testing.assert_allclose(cr.grad(lambda p: np.sum(f(p) ** 2))(P), fine, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"events": lambda t, y: y[0]}, "events are not differentiated"),
        ({"dense_output": True}, "pass the times as t_eval"),
        ({"method": plain.RK45}, "choose one of RK23"),
    ],
)
def test_what_is_not_covered_is_refused(options, says) -> None:
    def f(a):
        return integrate.solve_ivp(lambda t, y: a * y, (0, 1), [1.0], **options).y[0, -1]

    with pytest.raises(cr.UnsupportedError, match=says):
        cr.grad(f)(0.3)


def test_plain_problems_keep_events() -> None:
    event = lambda t, y, a: y[0] - 0.5  # noqa: E731
    event.terminal = True
    found = integrate.solve_ivp(lambda t, y, a: -a * y, (0, 9), [1.0], args=(1.0,), events=event)
    assert found.t_events[0][0] == pytest.approx(np.log(2), rel=1e-3)


def test_a_function_that_changes_is_noticed() -> None:
    rate = [1.0]

    def f(a):
        found = integrate.solve_ivp(lambda t, y: -(rate[0] * a * y), (0, 1), [1.0])
        rate[0] = 2.0
        return found.y[0, -1]

    with pytest.raises(cr.DerivativeError, match="the same each time"):
        cr.grad(f)(1.0)
