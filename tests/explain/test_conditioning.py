"""Conditioning (`amplify.py`, `extended.py`, `near_kinks.py`): by definition, and measured."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.explain.amplify import chosen_lanes, condition_number, derivative_condition
from chainrule.explain.extended import replay_extended, wider
from chainrule.explain.near_kinks import kink_near

EXTENDED = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps
needs_extended = pytest.mark.skipif(not EXTENDED, reason="long double is double here")


def last(f, *args):
    graph = cr.trace(f, *args)
    return graph.forward(*args), graph.outputs[0]


# ---- condition numbers ---------------------------------------------------------------------------

CLOSED = {
    "exp": (np.exp, 3.0, 3.0, 3.0),
    "log": (np.log, 1.001, 1 / np.log(1.001), 1.0),
    "sin": (np.sin, 2.0, abs(2 / np.tan(2.0)), abs(2 * np.tan(2.0))),
    "tan": (np.tan, 1.57, 1.57 / (np.sin(1.57) * np.cos(1.57)), 2 * 1.57 * np.tan(1.57)),
    "sqrt": (np.sqrt, 5.0, 0.5, 0.5),
    "power": (lambda x: x**3.0, 2.0, 3.0, 2.0),
    "reciprocal": (lambda x: 1.0 / x, 4.0, 1.0, 2.0),
    "a line": (lambda x: x * 3.0, 4.0, 1.0, 0.0),
    "minus": (lambda x: x - 1.0, 1.001, 1.001 / 0.001, 0.0),
}


@pytest.mark.parametrize("name", CLOSED)
def test_of_one_number(name):
    f, x, value, derivative = CLOSED[name]
    run, node = last(f, x)
    found, lane = condition_number(run, node)
    np.testing.assert_allclose(found, value, rtol=1e-9)
    assert lane == ()
    np.testing.assert_allclose(derivative_condition(run, node), derivative, rtol=1e-9, atol=1e-14)


def by_definition(run, node):
    """Σ |x| |J| / |y|, with the whole Jacobian."""
    total = np.zeros(node.size)
    for parent in dict.fromkeys(node.parents):
        jacobian = np.abs(run.local_jacobian(parent, node))
        total += jacobian @ np.abs(np.reshape(run.value(parent), -1))
    return np.max(total / np.abs(np.reshape(run.value(node), -1)))


rng = np.random.default_rng(0)
ARRAYS = {
    "sum": (lambda x: np.sum(x, axis=0), rng.standard_normal((4, 3))),
    "mean": (np.mean, rng.standard_normal(7)),
    "matmul": (lambda x, y: x @ y, rng.standard_normal((3, 4)), rng.standard_normal((4, 2))),
    "dot": (np.dot, rng.standard_normal(5), rng.standard_normal(5)),
    "cross": (np.cross, rng.standard_normal(3), rng.standard_normal(3)),
    "broadcast": (np.subtract, rng.standard_normal((3, 1)), rng.standard_normal(4)),
    "index": (lambda x: x[::-1], rng.standard_normal(5)),
    "softmax": (cr.softmax, rng.standard_normal(4)),
    "det": (np.linalg.det, rng.standard_normal((3, 3))),
    "inv": (np.linalg.inv, rng.standard_normal((3, 3))),
    "cumsum": (np.cumsum, rng.standard_normal(5)),
    "complex": (np.multiply, 1 + 2j, np.array([1j, 2.0])),
    "one twice": (lambda x: np.multiply(x, x), rng.standard_normal(3)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_of_arrays_by_definition(name):
    f, *args = ARRAYS[name]
    run, _ = last(f, *args)
    checked = 0
    for node in run.graph.nodes:
        if len(set(node.parents)) == len(node.parents) > 0:  # x * x adds up before taking sizes
            found, _ = condition_number(run, node)
            np.testing.assert_allclose(found, by_definition(run, node), rtol=1e-9)
            checked += 1
    assert checked or name == "one twice"
    if name == "one twice":
        assert condition_number(run, run.graph.outputs[0])[0] == 2.0


def test_a_large_result_is_sampled_where_it_is_smallest():
    out = np.full(1000, 1.0)
    out[777] = 1e-9
    lanes = chosen_lanes(out)
    assert 777 in lanes
    assert len(lanes) <= 32
    a = np.ones((50, 50))
    b = np.ones((50, 50))
    b[25:, 7] = -1.0 + 1e-9
    run, node = last(np.matmul, a, b)
    found, lane = condition_number(run, node)
    assert lane[1] == 7
    assert found > 1e9


def test_where_there_is_none():
    for f, x in [
        (np.floor, 1.5),
        (np.linalg.eigh, np.eye(2) + np.ones((2, 2))),
        (lambda x: np.sin(np.zeros(0) * x), 1.0),
        (lambda x: x > 1, 2.0),
    ]:
        graph = cr.trace(f, x)
        run = graph.forward(x)
        for node in graph.nodes:
            if node.is_leaf or not node.parents or node.dtype == object or node.size == 0:
                assert condition_number(run, node) is None
    run, node = last(np.sqrt, 0.0)
    assert condition_number(run, node)[0] == 0.0


def test_of_a_function_without_a_second_derivative():
    class Cube(cr.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(np.asarray(x))
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved
            return g * np.asarray(float(3 * x**2))

    found = cr.conditioning(lambda x: Cube.apply(x) + 0.0, 2.0)
    kappas = [n.condition for n in found.nodes]
    assert 3.0 in [None if k is None else round(k, 6) for k in kappas]
    assert str(found)


# ---- measured ------------------------------------------------------------------------------------


def cancels(x):
    big = x + 1e8
    d = big - 1e8
    return np.sum(d * d)


@needs_extended
def test_lost_digits_are_measured_and_named():
    x = np.array([0.1, 0.2, 0.3])
    found = cr.conditioning(cancels, x)
    (worst,) = found.cancellations
    assert worst.line.text == "d = big - 1e8"
    assert 7 < worst.lost < 9
    exact = (x + np.longdouble(1e8)) - np.longdouble(1e8)
    error = np.max(np.abs(((x + 1e8) - 1e8) - exact) / np.abs(exact))
    np.testing.assert_allclose(worst.error, float(error), rtol=1e-6)
    assert 6.5 < found.correct_digits(found.graph.outputs[0]) < 9
    assert 6.5 < found.correct_adjoint_digits("x") < 9
    assert found.adjoints_measured


@needs_extended
def test_a_difference_of_exact_numbers_loses_nothing():
    found = cr.conditioning(lambda x, y: x - y, 1.0 + 1e-9, 1.0)
    node = found.of(found.graph.outputs[0])
    assert node.condition > 1e9
    assert node.error == 0.0
    assert node.lost == 0.0
    assert found.cancellations == ()


@needs_extended
def test_errors_are_those_of_a_replay_in_long_double():
    """Every value and adjoint against the function recorded on long doubles."""
    rng = np.random.default_rng(2)

    def f(W, x):
        z = np.tanh(W @ x) + np.sum(x**3)
        return np.sum(np.exp(z) * z) / np.max(np.abs(x))

    W, x = rng.standard_normal((4, 3)), rng.standard_normal(3)
    run = cr.trace(f, W, x).forward(W, x).backward()
    wide = replay_extended(run, run.seeds())
    args = W.astype(np.longdouble), x.astype(np.longdouble)
    graph = cr.trace(f, *args)
    exact = graph.forward(*args).backward()
    assert not wide.narrow
    for node, twin in zip(run.graph.nodes, graph.nodes, strict=True):
        np.testing.assert_array_equal(wide.values[node], exact.value(twin))
        np.testing.assert_allclose(
            run.plain_adjoint(node, wide.adjoints[node]), exact.adjoint(twin), rtol=1e-17
        )


@needs_extended
def test_what_cannot_be_extended_is_said():
    def f(a):
        w, _ = np.linalg.eigh(a @ a.T)
        return np.sum(np.log(w))

    found = cr.conditioning(f, np.array([[2.0, 1.0], [0.5, 3.0]]))
    ((node, why),) = found.unmeasured.items()
    assert "eigh" in node.op.name
    assert "unsupported" in why
    assert found.of(node).unmeasured == why
    assert "not computed in extended precision" in str(found)
    assert found.correct_digits(found.graph.outputs[0]) > 14


@needs_extended
def test_errors_before_such_an_op_go_through_it():
    def f(x):
        a = np.stack([np.stack([x, 0.1 * x]), np.stack([0.2 * x, 2.0 * x])])
        return np.sum(np.linalg.inv(a))

    clean = cr.conditioning(f, 0.3)
    noisy = cr.conditioning(lambda x: f((x + 1e6) - 1e6), 0.3)
    assert clean.correct_digits(clean.graph.outputs[0]) > 14
    assert noisy.correct_digits(noisy.graph.outputs[0]) < 11


@needs_extended
def test_a_comparison_that_comes_out_differently():
    def f(x):
        s = (x + 1e17) - 1e17
        return np.where(s > 0, 1.0, 2.0) * x

    found = cr.conditioning(f, 1.0)
    assert [n.op.name for n in found.flips] == ["greater"]
    assert "comes out differently in extended precision" in str(found)


def test_float32_is_measured_even_without_long_double():
    x = np.array([0.1, 0.2, 0.3], np.float32)

    def f(x):
        d = (x + np.float32(1e3)) - np.float32(1e3)
        return np.sum(d)

    found = cr.conditioning(f, x, digits=2)
    assert found.cancellations[0].node.op.name == "subtract"
    assert found.cancellations[0].node.dtype == np.float32
    assert found.correct_digits(found.graph.outputs[0]) < 5


def test_without_a_wider_type_digits_are_predicted(monkeypatch):
    monkeypatch.setattr("chainrule.explain.extended.wider", lambda graph: None)
    found = cr.conditioning(cancels, np.array([0.1, 0.2, 0.3]))
    assert found.precision == "NumPy has no wider type on this machine"
    (worst,) = found.cancellations
    assert (worst.node.op.name, worst.error) == ("subtract", None)
    np.testing.assert_allclose(worst.lost, 9, atol=0.1)
    assert found.correct_digits("x") is None
    assert "not measured: NumPy has no wider type" in str(found)


def test_wider():
    def of(*dtypes):
        return wider(cr.trace(lambda *xs: xs, *[np.ones(1, d) for d in dtypes]))

    assert of(np.float32) == (np.longdouble if EXTENDED else np.float64)
    assert of(np.float32, np.float64) == (np.dtype(np.longdouble) if EXTENDED else None)
    assert of(np.longdouble) is None
    assert of(np.int64) is None


# ---- kinks ---------------------------------------------------------------------------------------

KINKS = [
    (np.abs, lambda d: d),
    (cr.relu, lambda d: -d),
    (lambda x: np.maximum(x, 0.3), lambda d: 0.3 + d),
    (lambda x: np.clip(x, -0.7, 0.7), lambda d: 0.7 - d),
    (np.floor, lambda d: 5.0 - d),
    (np.round, lambda d: 2.5 + d),
    (np.max, lambda d: np.array([1.3, 1.3 + d, -4.0])),
    (np.median, lambda d: np.array([0.1, 0.7, 0.7 - d, 0.7 + 3 * d, 2.0])),
    (np.linalg.norm, lambda d: np.array([d, 0.0])),
    (lambda x: x > 0.3, lambda d: 0.3 + d),
    (lambda x: np.max(np.reshape(x, (2, 2)), axis=0), lambda d: np.array([1, 5.1, 1 + d, 7.7])),
]


@pytest.mark.parametrize("case", range(len(KINKS)))
@pytest.mark.parametrize("distance", [1e-7, 3e-9, 1e-11])
def test_the_distance_to_a_kink_within_a_factor_of_four(case, distance):
    f, at = KINKS[case]
    x = at(distance)
    graph = cr.trace(f, x)
    run = graph.forward(x)
    found = [k for n in graph.nodes if (k := kink_near(run, n, 1e-6)) is not None]
    assert found
    assert distance / 4 <= min(k.distance for k in found) <= distance * 4


@pytest.mark.parametrize("case", range(len(KINKS)))
def test_at_a_kink_and_far_from_one(case):
    f, at = KINKS[case]
    here, there = cr.trace(f, at(0.0)), cr.trace(f, at(0.01))
    run = here.forward(at(0.0))
    assert any(
        (k := kink_near(run, n, 1e-6)) is not None and k.distance == 0 for n in here.nodes
    ) == any(run.at_kink(n) for n in here.nodes)
    run = there.forward(at(0.01))
    assert all(kink_near(run, n, 1e-6) is None for n in there.nodes)


def test_a_tie_in_sort_is_found_when_it_is_exact():
    graph = cr.trace(np.sort, np.array([1.0, 2.0, 1.0]))
    run = graph.forward(np.array([1.0, 2.0, 1.0]))
    (kink,) = [k for n in graph.nodes if (k := kink_near(run, n, 1e-6)) is not None]
    assert kink.distance == 0


def test_random_distances():
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, d = rng.uniform(-5, 5), 10.0 ** rng.uniform(-14, -7)
        graph = cr.trace(np.maximum, a, a + d)
        run = graph.forward(a, a + d)
        kink = kink_near(run, graph.outputs[0], 1e-6)
        true = (a + d) - a
        assert kink is not None
        assert true / 4 <= kink.distance <= true * 4


def test_lanes_of_a_kink():
    x = np.array([1.0, 1e-9, -2.0, 0.0, 1e-8])
    found = cr.conditioning(lambda x: np.sum(np.abs(x)), x)
    (at,) = found.kinks
    assert (at.kink.distance, at.kink.lane, at.kink.lanes) == (0.0, (3,), 3)
    near = cr.conditioning(lambda x: np.sum(np.abs(x)), x[:3])
    assert near.kinks[0].kink.lane == (1,)
    assert near.kinks[0].kink.lanes == 1
    assert cr.conditioning(lambda x: np.sum(np.abs(x)), x[:3], near=1e-12).kinks == ()


# ---- any kind of function ------------------------------------------------------------------------

EVERY = {
    "complex": (lambda z: np.real(np.sum(z * z)), np.array([1 + 2j, 3j])),
    "several outputs": (lambda x: (x * 2.0, np.sin(x)), np.ones(3)),
    "integers": (lambda x, i: np.sum(x[i]), np.arange(4.0), np.array([1, 2])),
    "empty": (lambda x: np.sum(x), np.zeros(0)),
    "not finite": (lambda x: np.sum(np.log(x)), np.array([0.0, -1.0, 1.0])),
    "infinite": (lambda x: np.sum(x - x), np.array([np.inf, 1.0])),
    "overflows": (lambda x: np.sum(np.exp(x)), np.array([1000.0])),
    "containers": (lambda p: p["w"] * p["b"], {"w": 2.0, "b": 3.0}),
    "svd": (lambda a: np.sum(np.linalg.svd(a)[1]), np.array([[1.0, 2.0], [3.0, 4.0]])),
    "fft": (lambda x: np.sum(np.abs(np.fft.fft(x))), np.arange(4.0)),
    "special": (lambda x: np.sum(cr.gammaln(x) + cr.erf(x)), np.array([1.5, 2.5])),
    "masked": (lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)), 0.0)), np.array([-1.0, 2.0])),
    "the argument": (lambda x: x, 2.0),
    "an integer result": (lambda x: np.argmax(x), np.arange(3.0)),
    "convolution": (lambda x: np.sum(np.convolve(x, x)), np.arange(3.0)),
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_kind(name):
    f, *args = EVERY[name]
    found = cr.conditioning(f, *args)
    assert len(found.nodes) == len(found.graph)
    assert str(found)
    for n in found.nodes:
        assert n.error is None or n.error >= 0
        assert n.derivative_condition is None or n.derivative_condition >= 0
        assert 0 <= n.lost < 20


def test_captured_variables_and_recorded_graphs():
    c = cr.variable(3.0)
    graph = cr.trace(lambda x: x * c, 2.0)
    found = cr.conditioning(graph, 4.0)
    assert found.graph is graph
    assert found.of("x").value == 4.0


def test_a_seed_measures_the_adjoints_of_an_array():
    x = np.array([1.0, 2.0])
    assert not cr.conditioning(np.sin, x).adjoints_measured
    if EXTENDED:
        assert cr.conditioning(np.sin, x, seed=np.ones(2)).correct_adjoint_digits("x") > 14


def test_without_a_derivative_the_values_are_still_measured():
    found = cr.conditioning(lambda n, x: cr.expn(n, x) * 2.0, 2.0, 0.5)
    assert "no derivative with respect to n" in found.no_adjoints
    assert f"gradient not measured: {found.no_adjoints}" in str(found)
    assert cr.conditioning(np.argmax, np.ones(2)).no_adjoints.startswith("the output is of type")


def test_what_is_refused():
    with pytest.raises(cr.ArgumentError, match="choose near ≥ 0 and digits > 0"):
        cr.conditioning(np.sin, 1.0, near=-1.0)
    with pytest.raises(cr.ArgumentError, match="digits=0"):
        cr.conditioning(np.sin, 1.0, digits=0)
