"""Many parts of one array: their adjoints cost their own size, and add up to what they must."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.masked import Masked, unmasked
from chainrule.core.order import order_above
from chainrule.diff.forward import forward
from chainrule.ops import indexing, scattering


def elements(x):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] ** 2
    return total


def slices(x):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i : i + 1] ** 2
    return total[0]


def iterated(x):
    total = 0.0
    for v in x:
        total = total + v * v
    return total


def rows(x):
    matrix = np.reshape(x, (-1, 1))
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(matrix[i, :] ** 2)
    return total


def gathered(x):
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(x[np.array([i, i])] ** 2)
    return total


def stacked(x):
    return np.sum(np.stack([x[i] for i in range(len(x))]) ** 2)


def concatenated(x):
    return np.sum(np.concatenate([x[i : i + 1] for i in range(len(x))]) ** 2)


def gated(x):
    """The parts' own adjoints have dead lanes."""
    total = 0.0
    for i in range(len(x) - 1):
        total = total + np.sum(np.maximum(x[i : i + 2], 0.1) ** 2)
    return total


def with_the_whole(x):
    """Adjoints of full size come between those of parts."""
    total = np.sum(x**3)
    for i in range(0, len(x), 3):
        total = total + x[i] ** 2 + (np.sum(x) if i % 9 == 0 else 0.0)
    return total


LOOPS = [elements, slices, iterated, rows, gathered, stacked, concatenated, gated]


def second(f, v):
    """The product of the second derivative with v."""
    return cr.grad(lambda x: np.sum(cr.grad(f)(x) * v))


def points(n):
    return np.random.default_rng(0).standard_normal(n)


@pytest.mark.parametrize("f", [*LOOPS, with_the_whole], ids=lambda f: f.__name__)
@pytest.mark.parametrize("most", [0, 8], ids=["many pieces", "few pieces"])
def test_waiting_pieces_give_the_same_derivatives(monkeypatch, f, most):
    x, v = points(30), points(31)[1:]
    run = cr.trace(f, x).forward(x).backward()
    expected = cr.grad(f)(x), second(f, v)(x), run.adjoint(run.graph.leaves[0])
    monkeypatch.setattr(indexing, "MAX_DENSE_LANES", 0)
    monkeypatch.setattr(scattering, "MAX_EMBEDDED_PIECES", most)
    run = cr.trace(f, x).forward(x).backward()
    found = cr.grad(f)(x), second(f, v)(x), run.adjoint(run.graph.leaves[0])
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    compiled = cr.compile(cr.grad(f))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), expected[0], rtol=1e-12, atol=1e-12)


def lanes_made(monkeypatch, f, n):
    """How many lanes of zeros a gradient asks NumPy for."""
    lanes, zeros = [0], np.zeros

    def counted(shape, *args, **kwargs):
        made = zeros(shape, *args, **kwargs)
        lanes[0] += made.size
        return made

    with monkeypatch.context() as patch:
        patch.setattr(np, "zeros", counted)
        cr.grad(f)(points(n))
    return lanes[0]


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_a_gradient_is_linear_in_the_number_of_parts(monkeypatch, f):
    monkeypatch.setattr(indexing, "MAX_DENSE_LANES", 64)
    n = 200
    assert lanes_made(monkeypatch, f, 4 * n) <= 5 * lanes_made(monkeypatch, f, n) <= 200 * n


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_what_a_second_derivative_records_is_linear(monkeypatch, f):
    monkeypatch.setattr(indexing, "MAX_DENSE_LANES", 64)

    def recorded(n):
        graph = cr.trace(second(f, np.ones(n)), points(n))
        return sum(node.size for node in graph.nodes)

    assert recorded(800) <= 5 * recorded(200)


def test_lanes_that_no_part_reads_are_structural_zeros(monkeypatch):
    x = np.array([1.0, 0.0, 4.0, 0.0, 9.0, 0.0])

    def f(x):
        y = np.sqrt(x)  # its derivative at 0 is infinite
        return y[0] * y[2] + np.sum(y[np.array([4, 4])]) + np.sum(y[2:3])

    monkeypatch.setattr(indexing, "MAX_DENSE_LANES", 0)
    expected = np.array([1.0, 0.0, 0.5, 0.0, 1 / 3, 0.0])
    np.testing.assert_allclose(cr.grad(f)(x), expected)
    again = cr.grad(lambda x: np.sum(cr.grad(f)(x)))(x)
    np.testing.assert_allclose(again, [-0.375, 0, 0.0625, 0, -1 / 54, 0])
    run = cr.trace(f, x).forward(x).backward()
    assert run.status(run.graph.leaves[0]) == "value"
    np.testing.assert_allclose(run.adjoint(run.graph.leaves[0]), expected)


def test_the_same_bits_every_time(monkeypatch):
    monkeypatch.setattr(indexing, "MAX_DENSE_LANES", 0)
    x = points(500)
    first = cr.grad(with_the_whole)(x).tobytes()
    assert all(cr.grad(with_the_whole)(x).tobytes() == first for _ in range(3))


def test_what_is_recorded_for_a_part_has_its_line(monkeypatch):
    monkeypatch.setattr(indexing, "MAX_DENSE_LANES", 0)

    def f(x):
        y = x[1:3]
        return np.sum(y**2)

    graph = cr.trace(cr.grad(f), np.arange(4.0))
    (embed,) = [node for node in graph.nodes if not node.is_leaf and node.op.name == "embed"]
    assert embed.line.text == "y = x[1:3]"


def test_the_forward_mode_makes_weights_of_a_mask_once():
    x, made = points(50), []
    weights = Masked.weights.fget

    class Alive(np.ndarray):
        def astype(self, *args, **kwargs):
            made.append(self.size)
            return super().astype(*args, **kwargs)

    kept = np.array([True] * 40 + [False] * 10)
    tangent = Masked(np.where(kept, 1.0, 0.0), kept.view(Alive))
    assert weights(tangent) is weights(tangent)
    leaf = cr.variable(x)
    order = order_above([elements(leaf).node])
    tangents = forward(order, {leaf.node: tangent})
    np.testing.assert_allclose(unmasked(tangents[order[-1]]), np.sum(2 * x[:40]))
    assert made.count(50) == 1
