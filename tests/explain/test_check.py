"""The gradient checker (`arguments.py`, `checked_line.py`, `disagreement.py`) is itself checked.

It must find every planted mistake, and no other.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainrule as cr
from tests.explain.planted import planted
from tests.ops.table import at_double, case_of, directions

# Op and the number of the input whose rule is made wrong.
PLANTED = [
    *[("add", 0), ("subtract", 1), ("multiply", 1), ("divide", 0), ("divide", 1), ("power", 0)],
    *[("power", 1), ("sqrt", 0), ("exp", 0), ("log1p", 0), ("expit", 0), ("softplus", 0)],
    *[("sin", 0), ("arctan", 0), ("arctan2", 1), ("hypot", 0), ("tanh", 0), ("arcsinh", 0)],
    *[("logaddexp", 1), ("xlogy", 0), ("erf", 0), ("gammaln", 0), ("maximum", 0), ("fmin", 1)],
    *[("absolute", 0), ("where", 1), ("sinc", 0), ("leaky_relu", 0)],
    *[("reshape", 0), ("transpose", 0), ("sum", 0), ("mean", 0), ("cumsum", 0), ("roll", 0)],
    *[("diagonal", 0), ("pad_zeros", 0), ("broadcast_to", 0), ("fft", 0), ("copy", 0)],
    *[("matmul", 0), ("matmul", 1), ("tensordot", 1), ("convolve", 0), ("einsum_pair", 1)],
    *[("cumprod", 0), ("inv", 0), ("pinv", 0), ("cholesky", 0), ("det", 0)],
    *[("prod", 0), ("logsumexp", 0), ("softmax", 0), ("log_softmax", 0), ("max", 0), ("cummax", 0)],
    *[("euclidean_norm", 0), ("eigh_pair", 0), ("qr_factors", 0), ("svd_factors", 0)],
]


def moving_case(op, position):
    """A sample whose derivative by this input is not zero, as a function of its arrays."""
    for sample in map(at_double, op.samples()):
        case = case_of(op, sample)
        if position not in case.places or not 0 < max(p.size for p in case.point) <= 30:
            continue
        still = [np.zeros_like(p) for p in case.point]
        still[case.places.index(position)] = directions(case.point, 5)[case.places.index(position)]
        if any(np.max(np.abs(t)) > 0.1 for t in cr.jvp(case, case.point, still)[1]):
            return case
    raise LookupError(f"no sample of {op.name} depends on input {position}")


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(("name", "position"), PLANTED)
def test_a_planted_wrong_rule_is_named(name, position, mode):
    op = cr.OPS[name]
    case = moving_case(op, position)
    wrong = planted(op, position, mode)

    def around(*arrays: Any, op=op):
        args = list(case.sample.args)
        for i, array in zip(case.places, arrays, strict=True):
            args[i] = array * 1.0
        return op(*args, **case.sample.attrs)

    cr.check_grads(around, *case.point, order=1)
    with pytest.raises(cr.GradientCheckError) as caught:
        cr.check_grads(lambda *arrays: around(*arrays, op=wrong), *case.point, order=1, modes=mode)
    text = str(caught.value)
    named = f"the {mode} rule of {name} with respect to input {op.inputs[position]!r} is wrong"
    assert text.startswith(f"{named} (order 1): {mode} mode gives ")
    assert "central differences" in text
    assert "test_check.py:" in text
    assert "return op(*args, **case.sample.attrs)" in text


def test_at_least_forty_ops_are_planted():
    assert len({name for name, _ in PLANTED}) >= 40


# ---- right rules pass ----------------------------------------------------------------------------


def mixed(x, p):
    h = np.tanh(x[:1] * p["scale"]) / (1 + x[1] ** 2)
    return np.sum(np.maximum(h, 0.3) ** 2), np.sort(x) * p["scale"]


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_right_rules_pass_at_a_hundred_random_points(seed):
    draw = np.random.default_rng(seed).standard_normal
    point = draw(2), {"scale": draw()}
    check = cr.check_grads(mixed, *point, order=1, seed=seed)
    assert (check.inputs, check.kinks) == (3, [])
    assert check.largest < 1e-6


@pytest.mark.parametrize("order", [1, 2, 3])
def test_order_and_cost_are_reported(order):
    calls = []

    def f(x):
        calls.append(1)
        return np.sum(np.sin(x) * x)

    check = cr.check_grads(f, np.array([0.3, 0.7, 1.1]), order=order, modes="forward")
    assert (check.order, check.modes, check.inputs) == (order, ("forward",), 3)
    assert check.directions == 3 + 8 * (order - 1), "each coordinate, then random directions"
    assert check.evaluations == 16 * (check.directions + check.edges)
    assert len(calls) >= 16 * 3
    text = str(check)
    for part in (f"order {order}", "(forward)", "3 inputs", f"{check.evaluations} evaluations"):
        assert part in text


def test_many_inputs_are_checked_along_random_directions():
    check = cr.check_grads(lambda x: np.sum(np.tanh(x)), np.linspace(-1, 1, 201), order=1)
    assert (check.inputs, check.directions) == (201, 8)
    assert cr.check_grads(lambda x: np.sum(x * x), np.ones(200), order=1).directions == 200


@dataclass
class Params:
    weight: Any
    bias: Any
    rest: Any = None


def test_containers_types_and_constants():
    def f(p):
        return {"y": np.abs(p.weight[0] * p.bias) ** 2, "n": np.argmax(p.weight[1]), "c": 3.0}

    point = Params((1 + 2j, np.array([0.5, 2.0])), np.float32(0.7), {"none": None})
    check = cr.check_grads(f, point)
    assert check.inputs == 4
    assert cr.check_grads(np.sin, np.float16(0.5)).largest < 1e-8, (
        "widened, not differenced as it is"
    )
    assert cr.check_grads(lambda x: np.sum(x), np.zeros(0)).inputs == 0
    index = np.array([2, 0])
    assert cr.check_grads(lambda p: p["x"][p["i"]] ** 2, {"x": np.ones(3), "i": index}).inputs == 3


@pytest.mark.parametrize(
    "f",
    [
        lambda: cr.check_grads(lambda p: p[0] * p[1], (2.0, 3)),
        lambda: cr.check_grads(lambda x, i: x[i], np.ones(3), np.array([0, 1])),
        lambda: cr.check_grads(lambda x, kind: x**2, 2.0, "kind"),
        lambda: cr.check_grads(lambda p: p[0] ** 2, (2.0, "kind")),
        lambda: cr.check_grads(lambda x: x * x, cr.variable(3.0)),
    ],
    ids=["integer in a container", "index array", "text", "text in a container", "Variable"],
)
def test_arguments_that_trace_takes(f):
    assert f().largest < 1e-8


# ---- mistakes of a second kind -------------------------------------------------------------------


def sine(backward, jvp=None):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.sin(x)

    methods = {"forward": forward, "backward": backward, **({"jvp": jvp} if jvp else {})}
    return type("Sine", (cr.Function,), {k: staticmethod(v) for k, v in methods.items()}).apply


def test_a_backward_that_is_right_but_whose_derivative_is_not():
    wrong = sine(lambda ctx, g: g * np.cos(cr.stop_gradient(ctx.saved[0])))
    cr.check_grads(lambda x: wrong(x) ** 2, 0.5, order=1)
    for mode in ("reverse", "forward"):
        with pytest.raises(cr.GradientCheckError, match="of order 2 is wrong.*" + mode):
            cr.check_grads(lambda x: wrong(x) ** 2, 0.5, modes=mode)


def test_a_wrong_jvp_beside_a_right_backward():
    wrong = sine(lambda ctx, g: g * np.cos(ctx.saved[0]), lambda ctx, t: t * np.sin(ctx.saved[0]))
    cr.check_grads(wrong, 0.5, modes="reverse", order=1)
    with pytest.raises(
        cr.GradientCheckError, match=r"forward rule of Sine .*input 0[\s\S]*wrong\(x"
    ):
        cr.check_grads(lambda x: wrong(x * 1.0), 0.5)


def test_a_backward_that_is_not_linear():
    with pytest.raises(cr.GradientCheckError, match="rule of Sine"):
        cr.check_grads(sine(lambda ctx, g: g * g * np.cos(ctx.saved[0])), 0.5, order=1)


def test_functions_of_something_else_than_their_arguments():
    rng, calls = np.random.default_rng(0), []

    def stateful(x):
        calls.append(1)
        return x * len(calls)

    for f in (lambda x: x * rng.standard_normal(), stateful):
        with pytest.raises(
            cr.GradientCheckError, match=r"wrong as a whole[\s\S]*random numbers, state"
        ):
            cr.check_grads(f, 2.0)


@pytest.mark.parametrize("bad", [{"modes": ()}, {"modes": "rev"}, {"modes": ("reverse", "back")}])
def test_unknown_modes(bad):
    with pytest.raises(cr.ArgumentError, match="choose among reverse, forward"):
        cr.check_grads(np.sin, 1.0, **bad)


@pytest.mark.parametrize(
    "order",
    [0, -1, 1.5],
)
def test_bad_order(order):
    with pytest.raises(cr.ArgumentError, match=f"order {order}"):
        cr.check_grads(np.sin, 1.0, order=order)


def test_a_result_without_derivative():
    with pytest.raises(cr.DerivativeError, match="return"):
        cr.check_grads(lambda x: None, 1.0)


def test_a_boolean_result():
    assert cr.check_grads(lambda x: (x * 2.0, x > 0), 1.0).largest < 1e-8
