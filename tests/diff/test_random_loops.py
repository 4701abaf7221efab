"""Random loops in loops, differentiated, in lanes and compiled: what Python's own loops give."""

import numpy as np
import pytest

import chainrule as cr
from tests.diff.loop_source import both
from tests.sweeps import sampled

BOTH = (0, 1)


def points(seed):
    return np.random.default_rng(seed).normal(size=(3, 2, 3))


def assert_same(found, expected, says, tolerance=1e-9):
    pairs = zip(cr.tree.leaves(found), cr.tree.leaves(expected), strict=True)
    for a, b in pairs:
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype), says
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=says)


def stacked(f, at):
    each = [cr.tree.leaves(f(x, y)) for x, y in at]
    return [np.stack(parts) for parts in zip(*each, strict=True)]


@pytest.mark.parametrize("seed", sampled(range(240), 20))
def test_loops_are_python_s(seed):
    ours, python, says = both(seed)
    at = points(seed)
    slope, theirs = cr.grad(ours, BOTH), cr.grad(python, BOTH)
    fast, fast_slope = cr.compile(ours), cr.compile(slope)
    for x, y in at:
        value, gradient = python(x, y), theirs(x, y)
        assert_same(ours(x, y), value, says, 1e-12)
        assert_same(fast(x, y), value, says)
        assert_same(slope(x, y), gradient, says)
        assert_same(fast_slope(x, y), gradient, says)
        assert_same(cr.grad(ours, BOTH, memory="50MB")(x, y), gradient, says)


@pytest.mark.parametrize("seed", sampled(range(240), 30))
def test_lanes_of_loops_are_each_alone(seed):
    ours, python, says = both(seed)
    at = points(seed)
    X, Y = at[:, 0], at[:, 1]
    theirs = stacked(cr.grad(python, BOTH), at)
    assert_same(cr.vmap(ours)(X, Y), stacked(python, at)[0], says)
    assert_same(cr.vmap(cr.grad(ours, BOTH))(X, Y), theirs, says)
    assert_same(cr.grad(lambda X, Y: np.sum(cr.vmap(ours)(X, Y)), BOTH)(X, Y), theirs, says)


@pytest.mark.parametrize("seed", sampled(range(240), 30))
def test_loops_of_second_order_and_forward(seed):
    ours, python, says = both(seed)
    x, y = points(seed)[0]
    assert_same(cr.jvp(ours, (x, y), (y, x)), cr.jvp(python, (x, y), (y, x)), says)
    assert_same(cr.hessian(ours)(x, y), cr.hessian(python)(x, y), says, 1e-7)
