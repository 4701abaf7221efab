"""Where a gradient vanishes or explodes, and at which node it starts."""

import math

import numpy as np
import pytest

import chainrule as cr


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def test_a_vanishing_gradient_in_fifty_layers_is_located():
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=(8, 8)) / 4 for _ in range(50)]

    def network(x, layers):
        h = x
        for W in layers:
            h = sigmoid(W @ h)
        return np.sum(h**2)

    explanation = cr.explain(network, rng.normal(size=8), layers, wrt="x")
    change = explanation.depth.vanishing
    assert change.factor < 1e-30
    assert change.line.text == "return 1.0 / (1.0 + np.exp(-z))"
    start = next(level for level in explanation.depth.levels if level.node is change.start)
    assert start.distance > 0.97 * len(explanation.depth.levels), "in the last layer"
    assert change.end is explanation.wrt
    assert 0 < change.rate < 1
    assert explanation.depth.exploding is None


def test_it_starts_after_the_healthy_layers():
    def f(x):
        h = x
        for _ in range(20):
            h = 0.01 * h  # the sick part
        for _ in range(30):
            h = 1.0 * h
        return h

    change = cr.explain(f, 0.5).depth.vanishing
    assert change.factor == pytest.approx(1e-40)
    assert (change.levels, change.rate) == (20, pytest.approx(0.01))
    assert change.line.text == "h = 0.01 * h  # the sick part"


def test_an_exploding_gradient():
    def f(x):
        for _ in range(12):
            x = x * 10.0
        return np.sin(x)

    change = cr.explain(f, 1e-20).depth.exploding
    assert change.factor == pytest.approx(1e12)
    assert change.rate == pytest.approx(10.0)


def test_one_steep_step():
    def f(x):
        a = np.tanh(20.0 * x)
        return a * 3.0

    change = cr.explain(f, 1.0).depth.vanishing
    assert change.steepest.ratio < 1e-15
    assert change.steepest.node.op.name == "multiply"


def test_a_way_around_keeps_the_gradient_alive():
    """A thin deep branch beside a skip connection: the gradient does not vanish."""

    def f(x):
        h = x
        for _ in range(20):
            h = 0.01 * h
        return x + h

    depth = cr.explain(f, 1.0).depth
    assert depth.vanishing is None
    assert depth.exploding is None
    assert [level.magnitude for level in depth.levels] == [1.0] * 22


def test_levels_go_from_the_output_to_the_input():
    levels = cr.explain(lambda x: 3.0 * np.sin(2.0 * x), 0.0).depth.levels
    assert [level.distance for level in levels] == [3, 2, 1, 0]
    assert [level.magnitude for level in levels] == [1.0, 3.0, 3.0, 6.0]
    assert math.isnan(levels[0].ratio)
    assert [level.ratio for level in levels[1:]] == [3.0, 1.0, 2.0]


def test_a_gradient_that_is_lost_to_underflow_and_one_that_is_infinite():
    lost = cr.explain(lambda x: np.exp(-(x**2)), 50.0).depth.vanishing
    assert lost.factor == 0.0
    infinite = cr.explain(lambda x: np.sqrt(x) * 2.0, 0.0).depth.exploding
    assert infinite.factor == math.inf
    assert infinite.end.name == "x"
