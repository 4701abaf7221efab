"""Implicit functions and what they close over (`linearised.py`, `closed.py`, `applied.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import chainrule as cr
from chainrule.diff import linearised

MATRIX = np.array([[3.0, 1.0], [1.0, 2.0]])


def cube_root(a):
    return optimize.brentq(lambda x: x**3 - a, 0.0, 10.0, xtol=1e-15)


root = cr.implicit(cube_root, lambda x, a: x**3 - a)


def spring(p):
    """Two coupled cubic springs: the displacements under the load p["load"]."""
    found = optimize.root(lambda z: MATRIX @ z + p["k"] * z**3 - p["load"], [0.0, 0.0], tol=1e-14)
    return {"left": found.x[0], "right": found.x[1:]}


def forces(z, p):
    x = np.stack([z["left"], z["right"][0]])
    return MATRIX @ x + p["k"] * x**3 - p["load"]


displaced = cr.implicit(spring, forces)
LOAD = {"k": 0.7, "load": np.array([1.0, -2.0])}


def energy(p):
    z = displaced(p)
    return z["left"] ** 2 + 3 * np.sum(z["right"] ** 3)


def unrolled(p):
    """The same by Newton's method, every step of which is recorded."""
    x = np.zeros(2)
    for _ in range(30):
        slopes = MATRIX + 3 * p["k"] * np.diag(x**2)
        x = x - np.linalg.solve(slopes, MATRIX @ x + p["k"] * x**3 - p["load"])
    return x[0] ** 2 + 3 * x[1] ** 3


def gradient_of(f, p):
    return np.concatenate([np.ravel(g) for g in cr.tree.leaves(cr.grad(f)(p))])


def test_every_order_of_a_scalar() -> None:
    third = [root, *(f := [cr.grad(root)]), cr.grad(f[0]), cr.grad(cr.grad(f[0]))]
    exact = [2.0, 1 / 12, -2 / 9 * 8 ** (-5 / 3), 10 / 27 * 8 ** (-8 / 3)]
    np.testing.assert_allclose([each(8.0) for each in third], exact, rtol=1e-13)


def test_forward_mode_and_products() -> None:
    np.testing.assert_allclose(cr.jvp(root, (8.0,), (2.0,))[1], 1 / 6, rtol=1e-13)
    np.testing.assert_allclose(cr.hvp(root, 8.0, 3.0), -2 / 3 * 8 ** (-5 / 3), rtol=1e-13)


def test_equals_the_unrolled_solver() -> None:
    np.testing.assert_allclose(gradient_of(energy, LOAD), gradient_of(unrolled, LOAD), rtol=1e-10)
    flat = lambda f: lambda v: f({"k": v[0], "load": v[1:]})  # noqa: E731
    at = np.array([0.7, 1.0, -2.0])
    ours, theirs = cr.hessian(flat(energy))(at), cr.hessian(flat(unrolled))(at)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


def test_against_differences() -> None:
    cr.check_grads(energy, LOAD, order=1)


def test_what_the_residual_closes_over() -> None:
    a, b = cr.variable(3.0), cr.variable(2.0)
    scale = a * b  # recorded outside, used inside
    solved = cr.implicit(lambda c: np.sqrt(6.0 * c), lambda x, c: x * x - scale * c)
    y = solved(1.5)
    y.backward()
    np.testing.assert_allclose([a.grad, b.grad], [0.5, 0.75])


def test_a_function_of_captured_variables_alone_in_forward_mode() -> None:
    def f(a):
        inner = np.exp(a)
        return cr.implicit(lambda: np.exp(0.5 * 1.2), lambda x: x * x - inner)()

    np.testing.assert_allclose(cr.jvp(f, (1.2,), (1.0,))[1], 0.5 * np.exp(0.6))


def test_nothing_to_differentiate_gives_the_numbers() -> None:
    assert type(root(8.0)) is float


def test_a_solver_inside_a_residual() -> None:
    nested = cr.implicit(lambda a: cube_root(a) ** 0.5, lambda x, a: x * x - root(a))
    np.testing.assert_allclose(cr.grad(nested)(8.0), 8 ** (-5 / 6) / 6, rtol=1e-12)
    np.testing.assert_allclose(cr.grad(cr.grad(nested))(8.0), -5 / 36 * 8 ** (-11 / 6), rtol=1e-11)


def test_compiled_it_runs_as_plain_python() -> None:
    compiled = cr.compile(cr.grad(lambda a: root(a) * a))
    with pytest.warns(RuntimeWarning, match="calls cube_root, a solver"):
        got = [compiled(a) for a in (8.0, 1.0, 3.0)]
    np.testing.assert_allclose(got, [4 / 3 * a ** (1 / 3) for a in (8.0, 1.0, 3.0)], rtol=1e-12)


def test_a_graph_runs_at_another_point() -> None:
    graph = cr.trace(lambda a: 2 * root(a), 8.0)
    assert graph.forward(27.0).value(graph.outputs[0]) == pytest.approx(6.0)

    def closes(a):
        return 2 * cr.implicit(lambda: cube_root(8.0), lambda x: x**3 - a)()

    graph = cr.trace(closes, 8.0)
    assert graph.forward(27.0).value(graph.outputs[0]) == pytest.approx(6.0, rel=1e-12)


def test_a_graph_refuses_another_branch() -> None:
    def f(a):
        residual = lambda x: x - a if a > 0 else x + a  # noqa: E731
        return cr.implicit(lambda: 2.0, residual)()

    graph = cr.trace(f, 2.0)
    with pytest.raises(cr.DerivativeError, match="another branch"):
        graph.forward(-1.0)


@pytest.mark.parametrize(
    ("solve", "residual", "at", "says"),
    [
        (lambda a: 3.0, lambda x, a: x * x - a, 4.0, "residual is not small"),
        (lambda a: 1.0 * a, lambda x, a: (x - a) ** 2, 1.0, "singular"),
        (lambda a: 1.0 + 1e-8, lambda x, a: (x - 1) ** 2 + a, 0.0, "multiple root"),
        (lambda a: np.array([a, 0.0]), lambda x, a: np.stack([x[0] - a, 0 * x[1]]), 1.0,
         "singular"),
        (lambda a: np.nan, lambda x, a: x - a, 1.0, "solution is not finite"),
        (lambda a: 0.0, lambda x, a: np.sqrt(x) - a, 0.0, "Jacobian is not finite"),
    ],
)  # fmt: skip
def test_conditions_that_fail_are_named(solve, residual, at, says) -> None:
    with pytest.raises(cr.DerivativeError, match=says):
        cr.jacobian(cr.implicit(solve, residual))(at)


def test_more_equations_than_unknowns() -> None:
    with pytest.raises(cr.ShapeError, match="2 equations for 1 unknowns"):
        cr.grad(cr.implicit(lambda a: a, lambda x, a: np.stack([x - a, x])))(1.0)


def test_one_factorisation_serves_every_row(monkeypatch) -> None:
    made = []
    inner = linearised.Linearised.__init__
    monkeypatch.setattr(
        linearised.Linearised, "__init__", lambda self, *a: (made.append(1), inner(self, *a))[1]
    )

    def f(load):
        z = displaced({"k": 0.7, "load": load})
        return np.concatenate([np.reshape(z["left"], 1), z["right"]])

    cr.jacobian(f, mode="reverse")(LOAD["load"])
    assert len(made) == 1


def test_a_loop_variable_that_has_gone_on() -> None:
    """What a residual closes over counts as it was when the solver ran."""
    results, a = [], cr.variable(2.0)
    for power in (1, 2, 3):
        solved = cr.implicit(lambda: 2 ** (1 / power), lambda x: x**power - a)  # noqa: B023
        results.append(solved())
    results[0].backward()
    assert a.grad == pytest.approx(1.0)


def test_many_unknowns_by_products() -> None:
    """10⁴ unknowns: the Jacobian is never made."""
    n = 10_000
    load = np.linspace(-1.0, 1.0, n)

    def residual(x, k):
        return x + k * np.tanh(x) + 0.1 * (x - np.roll(x, 1)) - load

    def solve(k):
        x = np.zeros(n)
        for _ in range(60):
            x = x - residual(x, k) / (1.1 + k / np.cosh(x) ** 2)
        return x

    f = lambda k: np.sum(cr.implicit(solve, residual)(k) ** 2)  # noqa: E731
    got = cr.grad(f)(0.5)
    h = 1e-5
    assert got == pytest.approx((f(0.5 + h) - f(0.5 - h)) / (2 * h), rel=1e-7)


def test_arguments_are_checked() -> None:
    with pytest.raises(cr.ArgumentError, match="two functions"):
        cr.implicit(cube_root, 3.0)
