"""Law 2: a gradient is a function of (graph, point); `.grad` adds up, and never anything else."""

import numpy as np
import pytest

import chainrule as cr


def test_backward_twice_gives_the_documented_sum():
    x = cr.variable(3.0)
    y = x * x * x
    y.backward()
    assert x.grad == 27.0
    y.backward()
    assert x.grad == 54.0
    x.zero_grad()
    assert x.grad is None
    y.backward()
    assert x.grad == 27.0


def test_only_leaves_have_a_grad():
    x = cr.variable(3.0)
    y = x * x
    (y * 2.0).backward()
    assert y.grad is None
    assert x.grad == 12.0


def test_two_outputs_over_one_graph():
    x = cr.variable(2.0)
    shared = x * x
    (shared * 3.0).backward()
    (shared + x).backward()
    assert x.grad == 12.0 + 5.0


def test_gradients_are_new_arrays_of_the_caller_s_own():
    a = np.arange(3.0)
    first, second = cr.grad(lambda x, y: np.sum(x + y), (0, 1))(a, a)
    first[0] = 100.0
    np.testing.assert_array_equal(second, np.ones(3))
    x = cr.variable(a)
    np.sum(x).backward()
    kept = x.grad
    kept[0] = 100.0
    np.sum(x * 1.0).backward()
    assert x.grad is not kept


def test_a_pullback_can_be_called_again_and_returns_nothing_of_the_seed():
    _, pullback = cr.vjp(lambda x: x, np.ones(2))
    seed = np.array([1.0, 2.0])
    (first,) = pullback(seed)
    first[0] = 50.0
    np.testing.assert_array_equal(seed, [1.0, 2.0])
    np.testing.assert_array_equal(pullback(seed)[0], [1.0, 2.0])


def test_seed():
    x = cr.variable(np.arange(3.0))
    y = x * 2.0
    with pytest.raises(cr.ShapeError, match="needs a seed"):
        y.backward()
    with pytest.raises(cr.ShapeError, match=r"seed has shape \(2,\)"):
        y.backward(np.ones(2))
    y.backward(np.array([1.0, 0.0, 10.0]))
    np.testing.assert_array_equal(x.grad, [2.0, 0.0, 20.0])


def test_status_of_every_input():
    """Complaint 24: value, structural zero, no path, kink and integer are told apart."""

    def f(used, unused, cut, at_kink, whole):
        return used * 2.0 + np.floor(cut) + np.maximum(at_kink, 0.0) + whole[0]

    args = (1.0, 2.0, 3.5, 0.0, np.array([1, 2]))
    graph = cr.trace(f, *args)
    run = graph.forward(*args).backward()
    found = {leaf.name: run.status(leaf) for leaf in graph.leaves}
    assert found == {
        "used": "value", "unused": "no path", "cut": "structural zero", "at_kink": "kink",
        "whole": "integer",
    }  # fmt: skip


def test_unused_input_gets_zeros_of_its_own_shape():
    gradient = cr.grad(lambda x, y: np.sum(x), 1)(np.ones(2), np.ones((3, 2)))
    np.testing.assert_array_equal(gradient, np.zeros((3, 2)))
    assert cr.grad(lambda x: 3.0)(1.0) == 0.0
