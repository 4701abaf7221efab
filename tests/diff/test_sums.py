"""Adjoints are added up in place, and never in an array that is somebody else's."""

import numpy as np

import chainrule as cr


def test_a_seed_is_not_written_to():
    x = cr.variable(np.ones(3))
    y = x * 1.0
    for _ in range(3):
        y = y + x
    seed = np.array([1.0, 2.0, 3.0])
    y.backward(seed)
    np.testing.assert_array_equal(seed, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.grad, 4 * seed)


def test_two_leaves_that_share_an_adjoint_do_not_share_the_array():
    def f(x, y):
        s = x + y
        return np.sum((s + s) * 3.0 + s)

    dx, dy = cr.grad(f, (0, 1))(np.ones(2), np.ones(2))
    dx[0] = 100.0
    np.testing.assert_array_equal(dy, [7.0, 7.0])


def test_a_node_used_many_times_beside_one_that_passes_its_adjoint_on():
    """`z + x` hands its own adjoint to both; what is added to x later must not reach z."""
    x, z = cr.variable(np.array([2.0, 3.0])), cr.variable(np.array([5.0, 7.0]))
    y = z + x
    y = np.sum(y * y + x * x + x * 2.0 + np.sin(x))
    y.backward()
    s = z.value + x.value
    np.testing.assert_allclose(z.grad, 2 * s, rtol=1e-15)
    np.testing.assert_allclose(x.grad, 2 * s + 2 * x.value + 2 + np.cos(x.value), rtol=1e-15)
