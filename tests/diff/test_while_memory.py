"""Reverse through a `while_loop` of unknown length within a budget (`diff/within_memory.py`)."""

import tracemalloc

import numpy as np
import pytest

import chainrule as cr

Y = np.linspace(0.1, 1, 200)


def decayed(steps, loop, **how):
    """Until the total of what has been taken away is enough: nothing says how many steps."""

    def f(y):
        def go_on(state):
            return state[0] < steps * 1e-3

        def step(state):
            taken, y = state
            return taken + 1e-3, np.sin(y) * 0.9999 + 1e-4 * np.cos(3 * y)

        return np.sum(loop(go_on, step, (5e-4, y), **how)[1] ** 2)

    return f


def python_while(go_on, step, state):
    while go_on(state):
        state = step(state)
    return state


def by_hand(steps, y):
    """The gradient of `decayed` by the chain rule, its values kept as plain arrays."""
    kept, taken = [], 5e-4
    while taken < steps * 1e-3:
        kept.append(y)
        taken, y = taken + 1e-3, np.sin(y) * 0.9999 + 1e-4 * np.cos(3 * y)
    g = 2 * y
    for y in reversed(kept):
        g = g * (np.cos(y) * 0.9999 - 3e-4 * np.sin(3 * y))
    return g


def weighed(call):
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found = call()
    used = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return found, used


def test_as_unrolled_below_the_budget():
    expected = cr.grad(decayed(600, python_while))(Y)
    loop = decayed(600, cr.while_loop)
    assert np.array_equal(cr.grad(loop)(Y), expected)
    cr.grad(loop, memory="1.4MB")(Y)  # what is imported on the way is no part of a peak
    found, used = weighed(lambda: cr.grad(loop, memory="1.4MB")(Y))
    assert np.array_equal(found, expected)
    assert used <= 1_400_000
    np.testing.assert_allclose(expected, by_hand(600, Y), rtol=1e-12)


@pytest.mark.parametrize("checkpoint", ["auto", 7, 599, 10**6])
def test_as_unrolled_by_segments(checkpoint):
    found = cr.grad(decayed(600, cr.while_loop, checkpoint=checkpoint))(Y)
    assert np.array_equal(found, cr.grad(decayed(600, python_while))(Y))


def test_a_loop_of_another_length_in_each_lane():
    def f(y, until):
        def step(s):
            return s[0] + 1, np.sin(s[1]) + 0.01 * y

        return cr.while_loop(lambda s: s[0] < until, step, (0, y))[1] ** 2

    y, until = np.array([0.3, 0.5, 0.8]), np.array([3, 300, 40])
    total = cr.grad(lambda y: np.sum(cr.vmap(f)(y, until)), memory="5MB")(y)
    each = [cr.grad(f, memory="5MB")(a, b) for a, b in zip(y, until, strict=True)]
    np.testing.assert_allclose(total, each, rtol=1e-12)


@pytest.mark.slow
def test_a_hundred_thousand_steps_within_50_megabytes():
    """Everything kept would be 10⁵ steps of four arrays of 1.6 kB: 640 MB."""
    loop = decayed(100_000, cr.while_loop)
    found, used = weighed(lambda: cr.grad(loop, memory="50MB")(Y))
    assert used <= 50_000_000
    np.testing.assert_allclose(found, by_hand(100_000, Y), rtol=1e-10)
    kept = decayed(100_000, cr.while_loop, checkpoint="auto")
    segments, used = weighed(lambda: cr.grad(kept)(Y))
    assert used <= 50_000_000
    assert np.array_equal(segments, found)
