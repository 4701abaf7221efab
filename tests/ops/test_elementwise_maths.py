"""Elementwise mathematics: digits far out, special values, kinks, structural zeros, keywords."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import chainrule as cr
from chainrule.errors import ArgumentError, ChainruleError, DTypeError

INF, NAN = np.inf, np.nan

# op, point, first and second derivative: from mpmath with 80 digits, where the obvious formula
# (1 - tanh², out·(1 - out), out + 1, √(1 - x²), 1 + erf …) has lost most of its digits.
FAR_OUT = [
    ("expm1", -40.0, 4.248354255291589e-18, 4.248354255291589e-18),
    ("log1p", -0.9999999999, 9999999172.59636, -9.999998345192786e19),
    ("expit", 40.0, 4.248354255291589e-18, -4.248354255291589e-18),
    ("expit", -700.0, 9.85967654375977e-305, 9.85967654375977e-305),
    ("log_expit", 300.0, 5.148200222412013e-131, -5.148200222412013e-131),
    ("softplus", -300.0, 5.148200222412013e-131, 5.148200222412013e-131),
    ("logit", 0.999999999999, 1000022122210.5028, 1.0000442449083979e24),
    ("tanh", 20.0, 1.6993417021166355e-17, -3.398683404233271e-17),
    ("tanh", -340.0, 4 * math.exp(-680), 8 * math.exp(-680)),
    ("arcsin", 0.9999999999999, 2235720.41126528, 1.1175127204304577e19),
    ("arccos", -0.9999999999999, -2235720.41126528, 1.1175127204304577e19),
    ("arcsinh", 1e100, 1e-100, -1e-200),
    ("arccosh", 1.000000000001, 707075.3521795856, -3.535062491785564e17),
    ("arctanh", 0.999999999999, 500011061105.0014, 5.0002212245419894e23),
    ("gelu", -8.0, -3.979607261086796e-14, -3.1324080717928733e-13),
    ("silu", -40.0, -1.6568581595637197e-16, -1.6143746170108038e-16),
]


@pytest.mark.parametrize(("name", "x", "first", "second"), FAR_OUT)
def test_derivatives_keep_their_digits(name: str, x: float, first: float, second: float) -> None:
    slope = cr.grad(cr.OPS[name])
    np.testing.assert_allclose(slope(x), first, rtol=1e-13)
    np.testing.assert_allclose(cr.grad(slope)(x), second, rtol=1e-13)


@pytest.mark.parametrize("name", ["tanh", "expit", "softplus", "log_expit", "gelu", "silu"])
@pytest.mark.parametrize("x", [-800.0, 800.0])
def test_saturated_functions_are_flat_to_third_order(name: str, x: float) -> None:
    curve = cr.grad(cr.OPS[name])
    assert curve(x) in (0.0, 1.0)
    for _ in range(2):
        curve = cr.grad(curve)
        assert curve(x) == 0.0


@pytest.mark.parametrize("name", ["expit", "log_expit", "xlogy", "xlog1py"])
def test_values_are_scipy_s_and_scipy_s_ufunc_is_recorded(name: str) -> None:
    theirs, ours = getattr(special, name), cr.OPS[name]
    x = np.linspace(0.05, 30.0, 57)
    args = (x - 15,) if theirs.nin == 1 else (x - x[7], x)  # x - x[7] is 0 at one point
    np.testing.assert_allclose(ours(*args), theirs(*args), rtol=1e-14, atol=1e-300)
    assert isinstance(theirs(cr.variable(args[0]), *args[1:]), cr.Variable)


def test_sinc_is_smooth_through_zero() -> None:
    """sinc is 1 - (πx)²/6 + (πx)⁴/120 …, and its slopes are the slopes of that."""
    first, p = cr.grad(np.sinc), math.pi
    second = cr.grad(first)
    third = cr.grad(second)
    assert (first(0.0), third(0.0)) == (0.0, 0.0)
    np.testing.assert_allclose(second(0.0), -(p**2) / 3, rtol=1e-15)
    np.testing.assert_allclose(cr.grad(third)(0.0), p**4 / 5, rtol=1e-15)
    for x in (1e-12, -1e-8, 1e-5):
        np.testing.assert_allclose(first(x), -(p**2) * x / 3 + p**4 * x**3 / 30, rtol=1e-14)
        np.testing.assert_allclose(second(x), -(p**2) / 3 + p**4 * x**2 / 10, rtol=1e-14)
        np.testing.assert_allclose(third(x), p**4 * x / 5 - p**6 * x**3 / 42, rtol=1e-14)


@pytest.mark.parametrize("order", range(7))
def test_sinc_derivative_is_an_integral(order: int) -> None:
    """dⁿ/duⁿ sin(u)/u = ∫₀¹ tⁿ cos(tu + nπ/2) dt, here by Gauss-Legendre with 40 points."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t, w = (nodes + 1) / 2, weights / 2
    reach = (1 + order / 2) / math.pi  # where the series hands over to the recurrence
    x = np.array([0.0, 1e-7, 0.3, reach - 1e-9, reach + 1e-9, -2.6])
    integral = np.sum(
        w * t**order * np.cos(np.multiply.outer(math.pi * x, t) + order * math.pi / 2), -1
    )
    np.testing.assert_allclose(
        cr.sinc_derivative(x, order=order),
        math.pi**order * integral,
        rtol=0,
        atol=2e-15 * math.pi**order,
    )


# -- special values --------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [np.logaddexp, np.logaddexp2])
@pytest.mark.parametrize(
    ("x", "y", "shares"),
    [
        (-INF, -INF, (0.5, 0.5)),
        (INF, INF, (0.5, 0.5)),
        (INF, 1.0, (1.0, 0.0)),
        (-INF, 0.0, (0.0, 1.0)),
        (3.0, 3.0, (0.5, 0.5)),
        (-900.0, 900.0, (0.0, 1.0)),
    ],
)
def test_logaddexp_gives_shares(op: Any, x: float, y: float, shares: tuple[float, float]) -> None:
    assert cr.grad(op, argnums=(0, 1))(x, y) == shares
    assert np.all(np.isfinite(cr.hessian(lambda v: op(v[0], v[1]))(np.array([x, y]))))


def test_logaddexp_keeps_its_curvature_at_a_tie() -> None:
    curvature = cr.hessian(lambda v: np.logaddexp(v[0], v[1]))(np.zeros(2))
    np.testing.assert_allclose(curvature, [[0.25, -0.25], [-0.25, 0.25]])


@pytest.mark.parametrize(("op", "edge"), [(special.xlogy, 0.0), (special.xlog1py, -1.0)])
def test_a_zero_weight_hides_the_logarithm_s_edge(op: Any, edge: float) -> None:
    """At weight 0 the derivative by y is 0, structurally: also under √, whose slope at 0 is ∞."""
    weight = np.array([0.0, 2.0])
    y = np.array([edge, edge + 0.5])
    np.testing.assert_array_equal(op(weight, cr.variable(y)).value, op(weight, y))
    np.testing.assert_allclose(cr.grad(lambda y: np.sum(op(weight, y)))(y), [0.0, 4.0])
    curved = cr.hessian(lambda y: np.sum(op(weight, y)))(y)
    np.testing.assert_allclose(curved, [[0.0, 0.0], [0.0, -8.0]])
    under_root = cr.grad(lambda s: np.sum(op(weight, edge + np.sqrt(s))))(np.array([0.0, 0.25]))
    np.testing.assert_allclose(under_root, [0.0, 4.0])


def test_xlogy_at_weight_zero_still_has_its_mixed_derivative() -> None:
    assert cr.grad(special.xlogy, argnums=(0, 1))(0.0, 0.0) == (-INF, 0.0)
    mixed = cr.hessian(lambda v: special.xlogy(v[0], v[1]))(np.array([0.0, 2.0]))
    np.testing.assert_allclose(mixed, [[0.0, 0.5], [0.5, 0.0]])


@pytest.mark.parametrize("op", [np.hypot, np.arctan2])
def test_the_origin_of_the_plane_has_a_structural_zero(op: Any) -> None:
    assert cr.grad(op, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert not cr.hessian(lambda v: op(v[0], v[1]))(np.zeros(2)).any()
    assert cr.grad(lambda a: op(np.sqrt(a), 0.0))(0.0) == 0.0
    assert cr.jvp(lambda a: op(np.sqrt(a), 0.0), (0.0,), (1.0,))[1] == 0.0
    assert cr.OPS[op.__name__].kinks(0.0, 0.0)


def test_the_plane_does_not_overflow() -> None:
    np.testing.assert_allclose(cr.grad(np.arctan2, argnums=(0, 1))(1e200, 1e200), (5e-201, -5e-201))
    np.testing.assert_allclose(cr.grad(np.hypot)(3e200, 4e200), 0.6)


# -- kinks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (np.abs, 0.0),
        (np.fabs, 0.0),
        (cr.relu, 0.0),
        (lambda x: np.clip(x, 0.0, 1.0), 0.0),
        (lambda x: np.clip(x, -1.0, x), 1.0),
        (lambda x: np.fmax(x, 0.0), 0.0),
        (lambda x: np.copysign(x, -1.0), 0.0),
        (lambda x: cr.leaky_relu(x, 0.2), 0.2),
        (lambda x: cr.leaky_relu(x, 3.0), 1.0),
        (lambda x: cr.leaky_relu(x, -1.0), 0.0),
        (cr.elu, 1.0),
        (lambda x: cr.elu(x, alpha=0.5), 0.5),
        (lambda x: cr.elu(x, alpha=2.0), 1.0),
        (np.sign, 0.0),
        (np.floor, 0.0),
    ],
)
def test_at_a_kink_the_smallest_slope_is_taken(f: Callable[..., Any], slope: float) -> None:
    assert cr.grad(f)(0.0) == slope
    assert cr.jvp(f, (0.0,), (1.0,))[1] == slope


def test_bounds_of_clip_are_differentiated_and_ties_shared() -> None:
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])

    def total(x: Any, low: Any, high: Any) -> Any:
        return np.sum(np.clip(x, low, high))

    by_x, by_low, by_high = cr.grad(total, argnums=(0, 1, 2))(x, -1.0, 1.0)
    np.testing.assert_array_equal(by_x, [0, 0.5, 1, 0.5, 0])
    assert (by_low, by_high) == (1.5, 1.5)
    np.testing.assert_array_equal(cr.grad(total)(x, -1.0, 1.0), [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(cr.grad(total)(x, 1.0, -1.0), np.zeros(5))  # crossed: high wins


def test_ties_do_not_widen_float32() -> None:
    x = np.ones(2, np.float32)
    for op in (np.maximum, np.fmin):
        by_x, by_y = cr.grad(lambda x, y, op=op: np.sum(op(x, y)), argnums=(0, 1))(x, x)
        assert by_x.dtype == by_y.dtype == np.float32
        np.testing.assert_array_equal(by_x, [0.5, 0.5])


def test_fmax_and_fmin_pass_over_nan() -> None:
    x, y = np.array([NAN, 1.0, 2.0]), np.array([1.0, NAN, 3.0])
    for op, third in ((np.fmax, 0.0), (np.fmin, 1.0)):
        by_x, by_y = cr.grad(lambda x, y, op=op: np.sum(op(x, y)), argnums=(0, 1))(x, y)
        np.testing.assert_array_equal(by_x, [0, 1, third])
        np.testing.assert_array_equal(by_y, [1, 0, 1 - third])


def test_jumps_are_reported_as_kinks() -> None:
    x = np.array([0.0, 0.5, 1.0, 1.5, 1.7])
    expected = {"floor": [1, 0, 1, 0, 0], "trunc": [0, 0, 1, 0, 0], "rint": [0, 1, 0, 1, 0]}
    for name, lanes in expected.items():
        np.testing.assert_array_equal(cr.OPS[name].kinks(x), lanes)
    np.testing.assert_array_equal(cr.OPS["round"].kinks(np.array([0.25, 0.2]), 1), [1, 0])


# -- structural zeros ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.nan_to_num(np.log(x), neginf=0.0),
        lambda x: np.clip(np.log(x), -5.0, None),
        lambda x: np.fmax(np.log(x), -5.0),
        lambda x: cr.relu(np.log(x) + 3.0),
        lambda x: np.select([x > 0], [np.log(x)]),
        lambda x: cr.elu(np.where(x > 0, np.log(x), 2.0)),
        lambda x: np.abs(np.sqrt(x)) + np.log(x + 1),
    ],
)
def test_what_is_not_taken_reaches_no_gradient(f: Callable[..., Any]) -> None:
    """At x = 0 log and √ have no finite slope, and none of these functions asks for it."""
    x = np.array([0.0, 2.0])
    with np.errstate(divide="ignore"):
        slope = cr.grad(lambda x: np.sum(f(x)))(x)
        curve = cr.hessian(lambda x: np.sum(f(x)))(x)
        tangent = cr.jvp(f, (x,), (np.ones(2),))[1]
    assert np.all(np.isfinite(curve))
    np.testing.assert_allclose(tangent, slope)
    assert slope[0] in (0.0, 1.0)
    assert slope[1] != 0


def test_nan_to_num_replaces_complex_parts_one_by_one() -> None:
    z = np.array([complex(NAN, 2.0), complex(1.0, INF), 3 + 4j])
    replaced = np.nan_to_num(cr.variable(z), posinf=9.0)
    np.testing.assert_array_equal(replaced.value, np.nan_to_num(z, posinf=9.0))
    by_z = cr.grad(lambda z: np.sum(np.real(np.nan_to_num(z)) * 5))(z)
    np.testing.assert_array_equal(by_z, [0, 5, 5])


# -- several results, several choices, complex numbers ---------------------------------------------


def test_modf_splits_value_and_slope() -> None:
    x = np.array([-2.25, 0.5, 3.0, INF, -INF])
    fraction, whole = np.modf(cr.variable(x))
    np.testing.assert_array_equal(fraction.value, np.modf(x)[0])
    np.testing.assert_array_equal(whole.value, np.modf(x)[1])
    slope = cr.grad(lambda x: np.sum(3 * np.modf(x)[0] + 7 * np.modf(x)[1]))(x[:3])
    np.testing.assert_array_equal(slope, [3, 3, 3])


def test_heaviside_is_differentiated_by_the_value_at_its_jump() -> None:
    x = np.array([0.0, 1.0, -1.0])
    by_x, by_h = cr.grad(lambda x, h: np.sum(np.heaviside(x, h)), argnums=(0, 1))(
        x, np.full(3, 0.5)
    )
    np.testing.assert_array_equal(by_x, [0, 0, 0])
    np.testing.assert_array_equal(by_h, [1, 0, 0])


def test_select_takes_the_first_condition_that_holds() -> None:
    x = np.array([-1.0, 0.5, 2.0])

    def chosen(x: Any, other: Any) -> Any:
        return np.select([x > 1, x > 0], [x**2, 3 * x], default=other)

    np.testing.assert_array_equal(chosen(cr.variable(x), 7.0).value, chosen(x, 7.0))
    by_x, by_other = cr.grad(lambda x, d: np.sum(chosen(x, d)), argnums=(0, 1))(x, 7.0)
    np.testing.assert_array_equal(by_x, [0, 3, 4])
    assert by_other == 1.0


def test_absolute_and_angle_are_the_gradients_of_the_polar_form() -> None:
    z = np.array([3 + 4j, -2j, 0j])
    np.testing.assert_allclose(cr.grad(lambda z: np.sum(np.abs(z)))(z), [0.6 + 0.8j, -1j, 0])
    np.testing.assert_allclose(cr.grad(lambda z: np.sum(np.angle(z)))(z), [(-4 + 3j) / 25, 0.5, 0])
    degrees = cr.grad(lambda z: np.sum(np.angle(z, deg=True)))(z)
    np.testing.assert_allclose(
        degrees, np.degrees([-4 / 25, 0.5, 0]) + 1j * np.degrees([3 / 25, 0, 0])
    )
    assert not cr.grad(lambda x: np.sum(np.angle(x)))(np.array([1.0, -1.0])).any()


def test_sign_of_a_complex_number_turns_but_does_not_grow() -> None:
    along = cr.jvp(np.sign, (3 + 4j,), (3 + 4j,))[1]
    across = cr.jvp(np.sign, (3 + 4j,), (4 - 3j,))[1]
    np.testing.assert_allclose(along, 0, atol=1e-16)
    np.testing.assert_allclose(across, (4 - 3j) / 5)
    assert cr.jvp(np.sign, (0j,), (1 + 1j,))[1] == 0


# -- NumPy's way of calling ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.clip(x, a_min=-1, a_max=1),
        lambda x: np.clip(x, min=-1),
        lambda x: np.clip(a=x, a_min=None, a_max=0.5),
        lambda x: np.clip(x, None, None),
        lambda x: x.clip(-1, 1),
        lambda x: x.clip(max=1),
        lambda x: np.round(x, decimals=1),
        lambda x: np.around(x, 1),
        np.fix,
        lambda x: np.nan_to_num(x, True, 1.0),
        lambda x: np.angle(x, True),
        lambda x: np.select(condlist=[x > 1, x > 0], choicelist=[x, 0.5]),
    ],
)
def test_a_variable_is_called_as_an_array_is(f: Callable[..., Any]) -> None:
    x = np.array([[-2.0, -0.55], [0.15, 2.0]])
    found = f(cr.variable(x))
    assert isinstance(found, cr.Variable)
    np.testing.assert_array_equal(found.value, f(x))


@pytest.mark.parametrize(
    ("f", "kind", "word"),
    [
        (lambda x: cr.expit(x * 1j), DTypeError, "real numbers"),
        (lambda x: np.floor(x * 1j), DTypeError, "floor"),
        (lambda x: np.fabs(x * 1j), DTypeError, "fabs"),
        (lambda x: np.hypot(x, np.ones(3)), ChainruleError, "hypot"),
        (lambda x: np.clip(x, 0, 1, min=0), ArgumentError, "a_min"),
        (lambda x: np.nan_to_num(x, copy=False), ArgumentError, "copy=False"),
        (lambda x: np.select([x > 0], [x, x]), ArgumentError, "1 and 2"),
        (lambda x: np.select([x], [x]), DTypeError, "boolean"),
    ],
)
def test_bad_calls_are_named(f: Callable[..., Any], kind: type[Exception], word: str) -> None:
    with pytest.raises(kind, match=word):
        f(cr.variable(np.ones(2)))
