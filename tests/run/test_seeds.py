"""The programs of the lecture notes compiled: their numbers, and what the interpreter gives."""

import numpy as np
import pytest

import chainrule as cr
from tests.agree.compiled import assert_agrees
from tests.seeds.test_row02_contributions import composed
from tests.seeds.test_row07_traversal_order import shared
from tests.seeds.test_rows03_to_06_small_graphs import Gauss
from tests.seeds.test_rows12_and_13_network import K, V, W, b, d, gamma, m, network, x, y
from tests.seeds.test_rows15_to_19_gates import Multiply, intermediates, worked
from tests.seeds.test_rows23_to_25_chains import diamond

pytest.importorskip("llvmlite")

# Programs with the numbers that the notes give for value and gradient.
NUMBERS = {
    "3: (a + b) c": (lambda a, b, c: (a + b) * c, (7.0, 3.0, 2.0), 20.0, (2.0, 2.0, 10.0)),
    "5: power": (lambda a, b, c: (a + b**3) * c, (7.0, 3.0, 2.0), 68.0, (2.0, 54.0, 34.0)),
    "8: formal graph": (lambda u1, u2: u2 * (u1 + u2), (2.0, 3.0), 15.0, (3.0, 8.0)),
    "15: worked": (worked, (-2.0, 5.0, -4.0), -12.0, (-4.0, -4.0, 3.0)),
    "18: the same elsewhere": (worked, (1.0, 2.0, 3.0), 9.0, (3.0, 3.0, 3.0)),
    "17: routes": (np.maximum, (3.0, 2.0), 3.0, (1.0, 0.0)),
    "17: a tie": (np.maximum, (2.0, 2.0), 2.0, (0.5, 0.5)),
    "19: an object": (Multiply.apply, (3.0, 4.0), 12.0, (4.0, 3.0)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_numbers_of_the_notes(name):
    f, at, value, gradient = NUMBERS[name]
    fast = cr.compile(cr.value_and_grad(f, tuple(range(len(at)))))
    for _ in range(2):
        assert fast(*at) == (value, gradient)


def chain(x):
    for _ in range(1000):
        x = x * 1.000001
    return x


# Programs without numbers, and what calculus says their gradient by the first argument is.
CLOSED = {
    "2: contributions": (composed, (0.7, 0.4), None),
    "6: any function": (Gauss.apply, (0.6,), lambda x: -2 * x * np.exp(-x * x)),
    "7: shared": (
        shared,
        (1.3,),
        lambda x: 2 * x * (3 * np.sin(x * x) + 3 * x * x * np.cos(x * x)),
    ),
    "16: intermediates": (
        intermediates,
        (0.8,),
        lambda x: (
            (2 * x + 2 * x * np.exp(x**2))
            * (0.5 / np.sqrt(x**2 + np.exp(x**2)) - np.sin(x**2 + np.exp(x**2)))
        ),
    ),
    "23: a chain": (chain, (2.0,), lambda x: 1.000001**1000),
    "25: diamond": (diamond, (0.3, 0.7), None),
}


@pytest.mark.parametrize("name", CLOSED)
def test_derivatives_up_to_the_third(name):
    f, at, closed = CLOSED[name]
    if closed is not None:
        np.testing.assert_allclose(cr.compile(cr.grad(f))(*at), closed(*at), rtol=1e-12)
    for _ in range(4):
        assert_agrees(f, *at)
        f = cr.grad(f)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_row_12_the_jacobian_of_log_softmax(mode):
    scores = np.cos(np.arange(float(K)))
    p = np.exp(scores) / np.exp(scores).sum()
    jacobian = cr.jacobian(cr.log_softmax, mode=mode)
    np.testing.assert_allclose(cr.compile(jacobian)(scores), np.eye(K) - p[None, :], atol=1e-15)
    assert_agrees(jacobian, scores)


def test_row_12_the_jacobian_by_a_matrix():
    found = cr.compile(cr.jacobian(lambda W: W @ x + b))(W).reshape(m, m * d)
    np.testing.assert_array_equal(found, np.kron(np.eye(m), x))


def test_row_13_against_the_formula_written_by_hand():
    gW, gb, gV, gg = cr.compile(cr.grad(network, (0, 1, 2, 3)))(W, b, V, gamma)
    h = np.tanh(W @ x + b)
    p = np.exp(V @ h + gamma)
    delta = p / p.sum() - np.eye(K)[y]
    hidden = (V.T @ delta) * (1 - h**2)
    for found, expected in ((gV, np.outer(delta, h)), (gg, delta), (gb, hidden)):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(gW, np.outer(hidden, x), rtol=1e-12, atol=1e-15)


def test_row_13_trained():
    def step(parameters):
        value, slopes = cr.value_and_grad(lambda p: network(*p))(parameters)
        return value, [p - 0.5 * s for p, s in zip(parameters, slopes, strict=True)]

    fast, ours, theirs = cr.compile(step), [W, b, V, gamma], [W, b, V, gamma]
    values = []
    for _ in range(30):
        value, ours = fast(ours)
        expected, theirs = step(theirs)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        values.append(value)
    assert values[-1] < 0.1 * values[0]
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2), (1, 2, 3, 2)])
def test_row_24_arrays_of_any_rank(shape):
    at = np.random.default_rng(1).uniform(0.5, 1.5, shape)
    gradient = cr.grad(lambda x: np.sum(np.sin(x) * x))
    np.testing.assert_allclose(cr.compile(gradient)(at), np.cos(at) * at + np.sin(at), rtol=1e-14)
    assert_agrees(gradient, at)
