"""`cr.checkpoint`: what is computed on the way is computed again; derivatives are the same."""

import tracemalloc

import numpy as np
import pytest

import chainrule as cr

R = np.random.default_rng(1).standard_normal
W = {"a": R((3, 3)) * 0.5, "b": [R(3), R((3, 2)) * 0.5]}
X = R((2, 3))


def layer(w, x):
    h = np.tanh(np.sin(x @ w["a"]) + w["b"][0])
    return {"out": h @ w["b"][1]}


def loss(run, w, x):
    return np.sum(run(w, x)["out"] ** 2)


def closing(run, w):
    return run(lambda x: np.sin(x * w) * np.exp(w))(w)


def branching(run, w):
    return run(lambda x: np.sin(x) if x > 0 else x**3)(w)


def with_inner_gradient(run, w):
    return run(lambda x: cr.grad(lambda y: np.sin(y * x))(x))(w)


def plain(f):
    return f


def test_gradient_of_a_layer():
    found = cr.grad(lambda w: loss(cr.checkpoint(layer), w, X))(W)
    expected = cr.grad(lambda w: loss(layer, w, X))(W)
    for a, b in zip(cr.tree.flatten(found)[0], cr.tree.flatten(expected)[0], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("program", [closing, branching, with_inner_gradient])
@pytest.mark.parametrize("at", [0.7, -0.4])
def test_every_derivative(program, at):
    def derivatives(run):
        def f(w):
            return program(run, w)

        return [
            f(at),
            cr.grad(f)(at),
            cr.grad(cr.grad(f))(at),
            cr.grad(cr.grad(cr.grad(f)))(at),
            cr.jvp(f, (at,), (1.0,))[1],
            cr.jvp(cr.grad(f), (at,), (1.0,))[1],
            cr.trace(cr.grad(f), at).forward(at).outputs,
        ]

    np.testing.assert_allclose(derivatives(cr.checkpoint), derivatives(plain), rtol=1e-13)


@pytest.mark.parametrize("program", [closing, branching])
def test_compiled(program):
    fast = cr.compile(cr.grad(lambda w: program(cr.checkpoint, w)))
    for at in (0.7, -0.4, 0.7):
        np.testing.assert_allclose(fast(at), cr.grad(lambda w: program(plain, w))(at), rtol=1e-13)


def test_nested():
    def f(x):
        inner = cr.checkpoint(lambda y: np.sin(y) * x)
        return cr.checkpoint(lambda y: inner(y) ** 2 + y)(x)

    def g(x):
        return (np.sin(x) * x) ** 2 + x

    for k in range(3):
        for _ in range(k):
            f, g = cr.grad(f), cr.grad(g)
        np.testing.assert_allclose(f(0.7), g(0.7), rtol=1e-13)


def test_plain_arguments():
    assert cr.checkpoint(np.sin)(0.5) == np.sin(0.5)
    assert cr.checkpoint(lambda x, n: x[:n])(np.ones(3), n=2).shape == (2,)


def test_what_is_no_number_is_passed_on():
    def f(x, how, times):
        return (np.sin if how == "sin" else np.cos)(x) * times

    assert cr.grad(cr.checkpoint(f))(0.5, "cos", 3) == cr.grad(f)(0.5, "cos", 3)


def test_numbers_drawn_are_the_same_when_it_is_run_again():
    drawn = np.random.default_rng(0)
    seen = []

    def f(x):
        seen.append(drawn.standard_normal(3))
        return np.sum(np.sin(x * seen[-1]))

    g = cr.grad(cr.checkpoint(f))(0.5)
    assert len(seen) == 1
    np.testing.assert_allclose(g, np.sum(seen[0] * np.cos(0.5 * seen[0])))


def test_what_is_closed_over_is_kept_as_it_was():
    scale = np.array([1.0, 2.0])
    x = cr.variable(np.array([0.5, 0.25]))
    out = np.sum(cr.checkpoint(lambda v: np.sin(v * scale))(x))
    scale[:] = 7.0
    out.backward()
    np.testing.assert_allclose(x.grad, [np.cos(0.5), 2 * np.cos(0.5)])


def test_an_argument_that_is_changed_is_noticed():
    scale = np.array([1.0, 2.0])
    x = cr.variable(np.array([0.5, 0.25]))
    out = np.sum(cr.checkpoint(lambda v, s: np.sin(v * s))(x, scale))
    scale[:] = 7.0
    with pytest.raises(cr.MutationError):
        out.backward()


def peak(run):
    tracemalloc.start()
    run()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_memory_is_saved():
    x = np.linspace(0, 1, 10_000)

    def block(v):
        for _ in range(8):
            v = np.sin(v) * np.cos(v)
        return v

    def model(run):
        def f(v):
            for _ in range(12):
                v = run(block)(v)
            return np.sum(v)

        return lambda: cr.grad(f)(x)

    assert peak(model(cr.checkpoint)) < 0.5 * peak(model(plain))


def test_memory_of_a_scan_grows_with_the_root_of_its_length():
    start = np.linspace(0, 1, 4_000)

    def run(checkpoint):
        def f(v):
            def step(c, _):
                return np.sin(c) * np.cos(c), None

            return np.sum(cr.scan(step, v, length=256, checkpoint=checkpoint)[0])

        return lambda: cr.grad(f)(start)

    assert peak(run("auto")) < 0.35 * peak(run(None))
