"""The gradient checker at kinks, ties, jumps, and near the edge of a domain."""

from dataclasses import replace

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import Gate, Partials
from tests.explain.planted import planted

SEEDS = range(12)

AT_KINKS = {
    "relu": (lambda x: cr.relu(x), np.array([0.0, 1.0])),
    "abs": (lambda x: np.abs(x), np.zeros(5)),
    "max": (lambda x: np.max(x), np.array([1.0, 1.0, 1.0, 0.0])),
    "sort": (lambda x: np.sort(x), np.array([1.0, 1.0, 0.0])),
    "clip": (lambda x: np.clip(x, 0, 1), np.array([0.0, 0.5])),
    "maximum": (lambda x: np.maximum(x[:2], x[2:]), np.ones(4)),
    "norm": (lambda x: np.linalg.norm(x), np.zeros(3)),
    "hypot": (lambda x: np.hypot(x[0], x[1]), np.zeros(2)),
    "chain": (lambda x: np.sin(np.abs(cr.relu(x) - 1.0)) * x, np.array([0.0, 1.0])),
    "round": (lambda x: np.round(x), 0.5),
}


@pytest.mark.parametrize("name", AT_KINKS)
def test_right_derivatives_at_kinks_pass_and_the_kinks_are_named(name):
    f, point = AT_KINKS[name]
    for seed in SEEDS:
        check = cr.check_grads(f, point, seed=seed)
        assert "at a kink" in str(check)
    assert all("test_kinks.py" in kink for kink in check.kinks)


def ramp(at_zero):
    """max(x, 0) with a derivative of one's own choice at 0."""

    def weights(x, y):
        return np.where(x > y, 1.0, np.where(x == y, at_zero, 0.0))

    op = replace(cr.OPS["maximum"], derivative=Partials((Gate(weights), None)), variant=None)
    return lambda x: op(x, 0.0)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_derivative_at_a_kink_must_lie_between_both_sides(mode):
    for seed in SEEDS:
        for inside in (0.0, 0.3, 1.0):
            assert cr.check_grads(ramp(inside), 0.0, modes=mode, seed=seed).kinks
        for outside in (1.1, -0.1, np.nan):
            with pytest.raises(cr.GradientCheckError, match=f"{mode} mode gives"):
                cr.check_grads(ramp(outside), 0.0, modes=mode, seed=seed)
    with pytest.raises(cr.GradientCheckError, match=rf"{mode} rule of maximum .*input 'x'"):
        cr.check_grads(ramp(1.1), 0.0, modes=mode)


def test_a_wrong_rule_beside_a_kink_is_still_found():
    wrong = cr.OPS["sin"]
    wrong = replace(wrong, derivative=Partials((lambda x: 1.01 * np.cos(x),)))
    with pytest.raises(cr.GradientCheckError, match="rule of sin"):
        cr.check_grads(lambda x: np.abs(x) + wrong(x), 0.0)
    with pytest.raises(cr.GradientCheckError, match="reverse mode gives"):
        cr.check_grads(lambda x: np.abs(x) * cr.stop_gradient(x - 1.0), 0.5)


def test_at_a_kink_the_second_order_is_left_to_the_edges():
    check = cr.check_grads(lambda x: np.abs(x) * x, 0.0, order=2)
    assert check.directions == 1
    assert cr.check_grads(lambda x: np.abs(x) * x, 0.1, order=2).directions == 9


@pytest.mark.parametrize("n", [2, 5])
def test_several_kinks_at_once(n):
    for seed in range(30):
        cr.check_grads(cr.relu, np.zeros(n), seed=seed, order=1)


@pytest.mark.parametrize("f", [np.sort, np.median])
def test_ties_of_three(f):
    for seed in SEEDS:
        cr.check_grads(f, np.ones(3), seed=seed, order=1)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", ["max", "min", "cummax"])
def test_a_wrong_share_of_a_tie_is_found(name, mode):
    for point in (np.ones(3), np.array([1.0, 1.0, 0.0]), np.array([[2.0, 2.0]])):
        for factor in (0.5, 3.0):
            wrong = planted(cr.OPS[name], 0, mode, factor)
            with pytest.raises(cr.GradientCheckError, match=f"{mode} rule of {name}"):
                cr.check_grads(lambda x, op=wrong: op(x, axis=-1), point, modes=mode, order=1)


def test_a_tie_or_a_step_hides_no_mistake_elsewhere():
    check = cr.check_grads(lambda x: np.max(x) + x[0], np.ones(2))
    assert (check.inputs, check.directions) == (2, 2)
    for f in (np.max, np.sort, np.linalg.norm, np.floor, np.sign):
        with pytest.raises(cr.GradientCheckError, match="mode gives"):
            cr.check_grads(lambda x, f=f: f(x - 1) + 9 * x[0] * cr.stop_gradient(x[1]), np.ones(2))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        *[(np.log, 1e-3), (np.log, np.array([0.01, 1.0])), (np.sqrt, 0.01), (np.arcsin, 0.99)],
        *[(np.log, 1e-5), (np.log, 1e-12), (np.log, np.array([1e-5, 1.0])), (np.sqrt, 1e-9)],
        *[(np.arcsin, 1 - 1e-7), (np.reciprocal, 1e-6), (cr.gammaln, 1e-6), (np.sin, 1e8)],
    ],
)
def test_near_the_edge_of_a_domain(f, x):
    for seed in SEEDS:
        assert cr.check_grads(f, x, seed=seed).unchecked == []


@pytest.mark.parametrize(
    ("name", "x"), [("log", 1e-5), ("reciprocal", 1e-6), ("sqrt", 1e-9), ("sin", 1e8)]
)
def test_a_wrong_rule_is_found_there_too(name, x):
    wrong = planted(cr.OPS[name], 0, "reverse", 1.01)
    with pytest.raises(cr.GradientCheckError, match=f"reverse rule of {name} "):
        cr.check_grads(lambda v: wrong(v), x, order=1, modes="reverse")


@pytest.mark.parametrize(("f", "x"), [(np.sqrt, 0.0), (np.log, 0.0)])
def test_an_infinite_derivative_is_no_derivative(f, x):
    with pytest.raises(
        cr.GradientCheckError, match="order 1 is not finite: reverse mode gives inf"
    ):
        cr.check_grads(f, x, order=1)


# ---- jumps ---------------------------------------------------------------------------------------

JUMPS = {
    "sign": (np.sign, 0.0),
    "floor": (np.floor, 1.0),
    "round": (np.round, 0.5),
    "heaviside": (lambda x: np.heaviside(x, 0.5), 0.0),
    "x floor(x)": (lambda x: x * np.floor(x), 1.0),
    "remainder": (lambda x: x % 1.5, 3.0),
    "where": (lambda x: np.where(x > 0, 1.0, 0.0) + x, 0.0),
    "one lane": (lambda x: np.sign(x) + x**2, np.array([0.0, 1.0])),
    "a branch of Python": (lambda x: x if x > 0 else x + 1.0, 0.0),
}


@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_is_called_a_jump(name):
    f, x = JUMPS[name]
    for seed in SEEDS:
        check = cr.check_grads(f, x, seed=seed)
        assert check.kinks
        assert check.jumps
        assert "a jump, held against the slopes nearby: " in str(check)


@pytest.mark.parametrize("name", JUMPS)
def test_a_wrong_slope_at_a_jump_is_found(name):
    f, x = JUMPS[name]
    for seed in SEEDS:
        with pytest.raises(cr.GradientCheckError):
            cr.check_grads(lambda v: f(v) + 3 * (v - cr.stop_gradient(v)), x, seed=seed, order=1)


def test_a_kink_made_by_python_is_a_kink():
    def bent(x):
        return x * x if x > 0 else -x

    assert cr.check_grads(bent, 0.0).kinks == ["a branch of the Python code"]
    assert cr.check_grads(bent, 0.1).kinks == []
    with pytest.raises(cr.GradientCheckError, match="wrong as a whole"):
        cr.check_grads(lambda x: bent(x) + 3 * (x - cr.stop_gradient(x)), 0.0)


def test_a_random_function_at_a_kink():
    rng = np.random.default_rng(0)
    for f in (
        lambda x: np.abs(x) * rng.standard_normal(),
        lambda x: np.abs(x) + x * rng.standard_normal(),
        lambda x: np.abs(x) + rng.standard_normal(),
    ):
        with pytest.raises(cr.GradientCheckError, match=r"two values[\s\S]*random numbers, state"):
            cr.check_grads(f, 0.0)
