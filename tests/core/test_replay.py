"""A graph evaluated again: by NumPy, or by what else a node is said to make of its arguments."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.replay import arguments, computed, evaluated, replay
from chainrule.record.variable import Variable


def traced():
    return cr.trace(lambda x, y: (np.sin(x) * y, np.linalg.inv(y)), np.ones((2, 2)), np.eye(2))


def test_values_at_another_point():
    graph = traced()
    x, y = np.array([[0.5, 1.0], [2.0, 3.0]]), np.array([[2.0, 1.0], [0.0, 4.0]])
    values = replay(graph.nodes, dict(zip(graph.leaves, (x, y), strict=True)))
    product, inverse = (values[n] for n in graph.outputs)
    np.testing.assert_array_equal(product, np.sin(x) * y)
    np.testing.assert_array_equal(inverse, np.linalg.inv(y))


def test_what_is_known_is_not_computed_again():
    graph = traced()
    met = []

    def apply(node, args):
        met.append(node)
        return computed(node, args)

    sine = next(n for n in graph.nodes if not n.is_leaf and n.op.name == "sin")
    values = dict(zip(graph.leaves, (np.ones((2, 2)), np.eye(2)), strict=True))
    values[sine] = np.full((2, 2), 7.0)
    values = replay(graph.nodes, values, apply)
    assert sine not in met
    np.testing.assert_array_equal(values[graph.outputs[0]], 7.0 * np.eye(2))


def test_on_variables_what_is_replayed_is_recorded():
    graph = cr.trace(lambda x: np.sin(x) * x, 2.0)
    (x,) = graph.leaves
    leaf = cr.variable(0.5)
    values = replay(graph.nodes, {x: leaf}, lambda node, args: node.op(*args, **node.attrs))
    result = values[graph.outputs[0]]
    assert isinstance(result, Variable)
    result.backward()
    assert leaf.grad == pytest.approx(np.cos(0.5) * 0.5 + np.sin(0.5))


def test_an_error_is_ours_and_has_the_line():
    graph = traced()
    inverse = graph.outputs[1]
    values = dict(zip(graph.leaves, (np.ones((2, 2)), np.zeros((2, 2))), strict=True))
    with pytest.raises(cr.ChainruleError, match=r"(?s)inv failed: Singular matrix.*test_replay.py"):
        evaluated(inverse, arguments(inverse, values))
