"""Optimisers follow their formulas step by step, keep types, and refuse what does not fit."""

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn

RATE = 0.05


def sgd(p, g, n, m):
    return p - RATE * g, m


def momentum(p, g, n, m):
    v = 0.9 * m.get("v", 0.0) + g
    return p - RATE * v, {"v": v}


def nesterov(p, g, n, m):
    v = 0.9 * m.get("v", 0.0) + g
    return p - RATE * (g + 0.9 * v), {"v": v}


def rmsprop(p, g, n, m):
    s = 0.99 * m.get("s", 0.0) + 0.01 * g**2
    return p - RATE * g / (np.sqrt(s) + 1e-8), {"s": s}


def adam(p, g, n, m):
    first = 0.9 * m.get("m", 0.0) + 0.1 * g
    second = 0.999 * m.get("s", 0.0) + 0.001 * g**2
    free = first / (1 - 0.9**n), second / (1 - 0.999**n)
    return p - RATE * free[0] / (np.sqrt(free[1]) + 1e-8), {"m": first, "s": second}


def adamw(p, g, n, m):
    return adam(p - RATE * 0.01 * p, g, n, m)


FORMULAS = [sgd, momentum, nesterov, rmsprop, adam, adamw]
EVERY = [
    *(getattr(learn, f.__name__)(RATE) for f in FORMULAS),
    learn.clipped(learn.adam(learn.cosine(RATE, 30, 5)), norm=0.1, value=0.05),
    learn.accumulated(learn.momentum(learn.step_decay(RATE, 2)), 3),
]


def loss(parameters, x, y):
    hidden = np.tanh(x @ parameters["W"] + parameters["b"])
    return learn.mse(hidden @ parameters["more"][0], y)


def problem(dtype=np.float64):
    rng = np.random.default_rng(2)
    parameters = {
        "W": rng.normal(size=(3, 4)).astype(dtype),
        "b": np.zeros(4, dtype),
        "more": [rng.normal(size=4).astype(dtype)],
    }
    return parameters, rng.normal(size=(6, 3)).astype(dtype), rng.normal(size=6).astype(dtype)


def leaves(tree):
    return [tree["W"], tree["b"], tree["more"][0]]


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.__name__)
def test_twenty_steps_by_the_formula(formula):
    parameters, x, y = problem()
    optimiser = getattr(learn, formula.__name__)(RATE)
    state = optimiser.init(parameters)
    expected, memory = leaves(parameters), [{}, {}, {}]
    for n in range(1, 21):
        gradient = cr.grad(loss)(parameters, x, y)
        parameters, state = optimiser.update(parameters, gradient, state)
        pairs = [
            formula(p, g, n, m) for p, g, m in zip(expected, leaves(gradient), memory, strict=True)
        ]
        expected, memory = [p for p, _ in pairs], [m for _, m in pairs]
        for p, e in zip(leaves(parameters), expected, strict=True):
            np.testing.assert_allclose(p, e, rtol=1e-12)
    assert state["step"] == 20


@pytest.mark.parametrize("optimiser", EVERY, ids=lambda o: o.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_as_interpreted_in_the_types_of_the_parameters(optimiser, dtype):
    parameters, x, y = problem(dtype)
    fast = learn.make_step(loss, optimiser)
    slow = learn.make_step(loss, optimiser, compile=False)
    one = {k: v if isinstance(v, list) else v.copy() for k, v in parameters.items()}
    two = parameters
    first, second = optimiser.init(one), optimiser.init(two)
    for _ in range(12):
        two, second, value = slow(two, second, x, y)
        one, first, same = fast(one, first, x, y)
        assert value.dtype == same.dtype == dtype
    tolerance = 1e-12 if dtype is np.float64 else 1e-4
    for a, b in zip(leaves(one), leaves(two), strict=True):
        assert a.dtype == b.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * 1e-2)
    assert np.asarray(first["step"]).dtype == np.float64
    assert "interpreted" not in fast.report()
    assert fast.report().count("branch") == 1


def test_clipping_to_a_value_then_to_a_norm():
    seen = []
    spy = learn.Optimiser("spy", lambda p: {}, lambda p, g, s: (seen.append(g), s))
    gradient = {"a": np.array([3.0, -0.5]), "b": np.array([-4.0], np.float32)}
    learn.clipped(spy, norm=1.0).update(None, gradient, {})
    length = np.sqrt(9 + 0.25 + 16)
    np.testing.assert_allclose(seen[-1]["a"], gradient["a"] / length, rtol=1e-15)
    assert seen[-1]["b"].dtype == np.float32
    learn.clipped(spy, norm=100.0).update(None, gradient, {})
    np.testing.assert_array_equal(seen[-1]["a"], gradient["a"])
    learn.clipped(spy, value=1.0).update(None, gradient, {})
    np.testing.assert_array_equal(seen[-1]["a"], [1.0, -0.5])
    learn.clipped(spy, norm=1.0).update(None, {"a": np.zeros(2)}, {})
    np.testing.assert_array_equal(seen[-1]["a"], [0.0, 0.0])


def test_accumulated_steps_are_one_step_on_all_examples():
    parameters, x, y = problem()
    whole, parts = learn.adam(RATE), learn.accumulated(learn.adam(RATE), 3)
    state, inner = whole.init(parameters), parts.init(parameters)
    one = two = parameters
    for _ in range(4):
        one, state = whole.update(one, cr.grad(loss)(one, x, y), state)
        before = two
        for at in (0, 2, 4):
            for a, b in zip(leaves(two), leaves(before), strict=True):
                np.testing.assert_array_equal(a, b)
            gradient = cr.grad(loss)(two, x[at : at + 2], y[at : at + 2])
            two, inner = parts.update(two, gradient, inner)
    for a, b in zip(leaves(one), leaves(two), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert (inner["step"], inner["inner"]["step"]) == (12, 4)


def test_state_has_memory_of_its_own(tmp_path):
    np.save(tmp_path / "w.npy", np.ones(3))
    state = learn.adam().init(np.load(tmp_path / "w.npy", mmap_mode="r"))
    assert type(state["mean"]) is np.ndarray


@pytest.mark.parametrize(
    ("run", "error", "named"),
    [
        (lambda p: learn.sgd(-0.1), cr.ArgumentError, r"sgd\(rate=-0.1\).*schedule"),
        (lambda p: learn.adam("fast"), cr.ArgumentError, r"adam\(rate='fast'\)"),
        (lambda p: learn.momentum(0.1, decay=1.0), cr.ArgumentError, r"momentum\(decay=1.0\)"),
        (lambda p: learn.adamw(0.1, second=-1), cr.ArgumentError, r"adamw\(second=-1\)"),
        (lambda p: learn.clipped(learn.sgd(0.1), norm=0), cr.ArgumentError, r"norm=0"),
        (lambda p: learn.accumulated(learn.sgd(0.1), 0), cr.ArgumentError, r"every=0"),
        (lambda p: learn.sgd(0.1).init({}), cr.ArgumentError, "no parameters"),
        (
            lambda p: learn.sgd(0.1).init({"n": np.arange(3)}),
            cr.DTypeError,
            r"parameters\['n'\] is int64",
        ),
        (
            lambda p: learn.adam().update(p, {"W": p["W"]}, learn.adam().init(p)),
            cr.ArgumentError,
            "adam: gradient must be a dict with 'W', 'b', 'more'",
        ),
        (
            lambda p: learn.adam().update(p, p | {"b": np.zeros(1)}, learn.adam().init(p)),
            cr.ShapeError,
            r"adam: gradient\['b'\] is \(1,\), the parameter \(4,\)",
        ),
        (
            lambda p: learn.adam().update(p, p, learn.adam().init({"W": p["W"]})),
            cr.ArgumentError,
            "adam: mean must be a dict with 'W', 'b', 'more'",
        ),
    ],
)
def test_what_does_not_fit_is_named(run, error, named):
    with pytest.raises(error, match=named):
        run(problem()[0])
