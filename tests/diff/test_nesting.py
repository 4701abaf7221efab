"""Derivatives of derivatives, in any mode, order and nesting, against closed forms."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

import chainrule as cr
import chainrule.numpy as cnp


def by_reverse(f):
    return cr.grad(f)


def by_forward(f):
    return lambda x: cr.jvp(f, (x,), (1.0,))[1]


def by_pullback(f):
    return lambda x: cr.vjp(f, x)[1](1.0)[0]


def by_jacobian(f):
    return lambda x: cr.jacobian(f)(x)


D = {"reverse": by_reverse, "forward": by_forward, "pullback": by_pullback, "jacobian": by_jacobian}
BOTH = list(product([by_reverse, by_forward], repeat=2))


def tanh_to_order_four(x):
    t = np.tanh(x)
    slope = 1 - t**2
    return [slope, -2 * t * slope, (6 * t**2 - 2) * slope, (16 - 24 * t**2) * t * slope]


# A function, and its derivatives of order one to four.
CLOSED = {
    "sin": (np.sin, lambda x: [np.cos(x), -np.sin(x), -np.cos(x), np.sin(x)]),
    "exp": (np.exp, lambda x: [np.exp(x)] * 4),
    "log": (np.log, lambda x: [1 / x, -(x**-2), 2 * x**-3, -6 * x**-4]),
    "cube": (lambda x: x**3, lambda x: [3 * x**2, 6 * x, 6, 0]),
    "root": (np.sqrt, lambda x: [x**-0.5 / 2, -(x**-1.5) / 4, 3 * x**-2.5 / 8, -15 * x**-3.5 / 16]),
    "power": (
        lambda x: x**2.5,
        lambda x: [2.5 * x**1.5, 3.75 * x**0.5, 1.875 * x**-0.5, -0.9375 * x**-1.5],
    ),
    "product": (
        lambda x: x * np.exp(2 * x),
        lambda x: [(2**k * x + k * 2 ** (k - 1)) * np.exp(2 * x) for k in range(1, 5)],
    ),
    "tanh": (np.tanh, tanh_to_order_four),
    "array": (lambda x: np.sum((x * np.ones(3)) ** 2), lambda x: [6 * x, 6, 0, 0]),
    "gate": (lambda x: np.where(x > 0, x**3, 0.0), lambda x: [3 * x**2, 6 * x, 6, 0]),
}


@pytest.mark.parametrize("mode", D)
@pytest.mark.parametrize("name", CLOSED)
def test_orders_one_to_four(name, mode):
    f, closed = CLOSED[name]
    for order in range(4):
        f = D[mode](f)
        for x in (0.7, 1.9):
            np.testing.assert_allclose(f(x), closed(x)[order], rtol=1e-11, atol=1e-12)


@given(
    st.lists(st.floats(-2, 2), min_size=1, max_size=6),
    st.lists(st.sampled_from(sorted(D)), min_size=1, max_size=4),
    st.floats(-2, 2),
)
def test_any_sequence_of_modes_on_a_polynomial(coefficients, modes, x):
    def f(x):
        total = 0.0 * x
        for c in reversed(coefficients):
            total = total * x + c
        return total

    closed = Polynomial(coefficients).deriv(len(modes))(x)
    for mode in modes:
        f = D[mode](f)
    np.testing.assert_allclose(f(x), closed, rtol=1e-10, atol=1e-10)


# ---- perturbation confusion: the inner derivative must not see the outer one's x -----------------


@pytest.mark.parametrize(("outer", "inner"), BOTH)
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x, d: x * d(lambda y: x + y)(1.0), 1.0, 1.0),  # Siskind and Pearlmutter's
        (lambda x, d: x * d(lambda y: x * y)(2.0), 3.0, 6.0),
        (lambda x, d: d(lambda y: y * y * x)(x), 3.0, 12.0),
        (lambda x, d: x * d(lambda y: y**3)(2.0), 3.0, 12.0),  # the inner argument is a constant
        (lambda x, d: x * d(lambda y: x * x)(x), 3.0, 0.0),  # the inner function ignores it
        (lambda x, d: d(lambda y: x)(1.0) + d(lambda y: y)(x), 3.0, 0.0),
        (lambda x, d: d(lambda y: d(lambda z: x * y * z)(y) * y)(x), 2.0, 8.0),  # three deep
        (lambda x, d: d(lambda y: y * cr.stop_gradient(x))(1.0) + x, 3.0, 1.0),
    ],
)
def test_perturbations_are_not_confused(f, x, expected, outer, inner):
    assert outer(lambda x: f(x, inner))(x) == expected


@pytest.mark.parametrize(("outer", "inner"), BOTH)
def test_the_amazing_bug(outer, inner):
    """Manzyuk et al.: a derivative of a function that returns functions, used inside itself."""

    def shifted(d):
        return lambda f: lambda x: d(lambda u: f(x + u))(0.0)

    assert shifted(outer)(shifted(inner)(np.exp))(1.0) == pytest.approx(np.e, rel=1e-15)


def test_a_value_that_leaked_from_an_earlier_call_is_a_constant():
    kept = []

    def leak(x):
        kept.append(x * x)
        return x * 1.0

    cr.grad(leak)(2.0)
    assert cr.grad(lambda y: y * kept[0])(3.0) == 4.0
    _, pullback = cr.vjp(lambda y: y * y * kept[0], 3.0)
    assert pullback(1.0) == (24.0,)


def test_a_pullback_outlives_the_call_that_made_it():
    _, pullback = cr.vjp(lambda x: x**3, 2.0)
    assert cr.grad(lambda s: pullback(s)[0] ** 2)(1.0) == 2 * 12.0**2
    assert cr.jvp(pullback, (1.0,), (1.0,))[1] == (12.0,)


# ---- Hessians ----------------------------------------------------------------------------------

x0 = np.array([0.3, 0.7, 1.1])


def f(x):
    return np.sum(np.sin(x) * np.cumsum(x) ** 2) + np.prod(x) * np.exp(-x[0])


def differences(x, h=1e-4):
    def second(a, b):
        return (f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b)) / (4 * h * h)

    steps = h * np.eye(x.size)
    return np.array([[second(a, b) for b in steps] for a in steps])


J = cr.jacobian
ROUTES = {
    "hessian": cr.hessian(f),
    "forward over reverse": J(cr.grad(f), mode="forward"),
    "reverse over reverse": J(cr.grad(f), mode="reverse"),
    "reverse over forward": J(J(f, mode="forward"), mode="reverse"),
    "forward over forward": J(J(f, mode="forward"), mode="forward"),
    "hvp": lambda x: np.stack([cr.hvp(f, x, u) for u in np.eye(3)]),
    "jvp of grad": lambda x: np.stack([cr.jvp(cr.grad(f), (x,), (u,))[1] for u in np.eye(3)]),
    "grad of jvp": lambda x: np.stack(
        [cr.grad(lambda x, u=u: cr.jvp(f, (x,), (u,))[1])(x) for u in np.eye(3)]
    ),
    "grad of ⟨grad, u⟩": lambda x: np.stack(
        [cr.grad(lambda x, u=u: np.sum(cr.grad(f)(x) * u))(x) for u in np.eye(3)]
    ),
    "vjp of vjp": lambda x: np.stack(
        [cr.vjp(lambda x: cr.vjp(f, x)[1](1.0)[0], x)[1](u)[0] for u in np.eye(3)]
    ),
}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_to_the_hessian_agrees(route):
    found = ROUTES[route](x0)
    np.testing.assert_allclose(found, ROUTES["hessian"](x0), rtol=1e-13)
    np.testing.assert_allclose(found, found.T, rtol=1e-13)
    np.testing.assert_allclose(found, differences(x0), atol=1e-6)


def test_hvp_of_several_arguments_and_containers():
    def g(x, p):
        return x**2 * p["y"] ** 3 * np.sum(p["z"])

    args, along = (2.0, {"y": 3.0, "z": np.ones(2)}), (1.0, {"y": 0.0, "z": np.zeros(2)})
    x, p = cr.hvp(g, args, along)
    assert (x, p["y"]) == (2 * 27 * 2, 2 * 2 * 27 * 2)
    np.testing.assert_allclose(p["z"], [108.0, 108.0])


@given(st.floats(0.2, 2), st.floats(0.2, 2))
def test_mixed_partials_are_symmetric(x, y):
    def g(x, y):
        return np.sin(x * y) / (x + y**2) + np.arctan2(x, y)

    for d, e in BOTH:
        xy = d(lambda x, e=e: e(lambda y: g(x, y))(y))(x)
        yx = e(lambda y, d=d: d(lambda x: g(x, y))(x))(y)
        np.testing.assert_allclose(xy, yx, rtol=1e-10, atol=1e-12)


def test_third_derivative_of_an_array_function_is_symmetric():
    T = J(J(cr.grad(f), mode="reverse"), mode="forward")(x0)
    for axes in [(0, 2, 1), (1, 0, 2), (2, 1, 0)]:
        np.testing.assert_allclose(T, T.transpose(axes), rtol=1e-12)


# ---- inside programs ---------------------------------------------------------------------------


def in_place(x):
    y = cnp.zeros(3)
    for i in range(3):
        y[i] = x[i] * x[0]
    y[1] *= x[2]
    return np.sum(y * y)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_second_derivative_through_assignments(mode):
    def closed(x):
        return x[0] ** 4 + (x[0] * x[1] * x[2]) ** 2 + (x[0] * x[2]) ** 2

    found = J(cr.grad(in_place), mode=mode)(x0)
    np.testing.assert_allclose(found, cr.hessian(closed)(x0), rtol=1e-13)


def test_a_gradient_step_inside_a_differentiated_function():
    """Differentiating through an optimiser: two steps of gradient descent on (w − a)²."""

    def after_two_steps(a):
        w = 0.0 * a
        for _ in range(2):
            w = w - 0.1 * cr.grad(lambda w: (w - a) ** 2)(w)
        return w

    np.testing.assert_allclose(after_two_steps(3.0), 3.0 * (1 - 0.8**2), rtol=1e-14)
    for mode in D:
        np.testing.assert_allclose(D[mode](after_two_steps)(3.0), 1 - 0.8**2, rtol=1e-14)


def test_backward_of_a_gradient_reaches_both_the_argument_and_the_closure():
    x, v = cr.variable(2.0), cr.variable(3.0)
    (cr.grad(lambda x: x**3 * v)(x) * v).backward()
    assert x.grad == 6 * 2.0 * 9.0
    assert v.grad == 2 * 3 * 4.0 * 3.0
    tangent = cr.jvp(lambda x: x**3 * v, (x,), (1.0,))[1]
    v.zero_grad()
    tangent.backward()
    assert v.grad == 12.0


def test_newton_s_method_and_a_log_determinant_of_a_jacobian():
    def newton(a):
        x = 1.5
        for _ in range(6):
            x = x - (x * x - a) / cr.grad(lambda y: y * y - a)(x)
        return x

    np.testing.assert_allclose(cr.grad(newton)(2.0), 0.5 / np.sqrt(2.0), rtol=1e-12)

    def volume(x):
        return np.linalg.slogdet(J(lambda y: np.array([y[0] * y[1], y[1] ** 2]))(x))[1]

    np.testing.assert_allclose(cr.grad(volume)(np.array([2.0, 3.0])), [0.0, 2 / 3], atol=1e-14)
