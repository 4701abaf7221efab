"""Where values lie: over what nobody reads any more, also in the step that reads it last."""

import numpy as np
import pytest

import chainrule as cr

pytest.importorskip("llvmlite")

X = np.random.default_rng(0).normal(size=(50, 40))


def centred(x):
    return x - np.mean(x, axis=1, keepdims=True)


def memory_of(f, *args):
    fast = cr.compile(f)
    np.testing.assert_allclose(fast(*args), f(*args), rtol=1e-12, atol=1e-15)
    (variant,) = next(iter(fast.variants.values()))
    return variant.run.module.memory


@pytest.mark.parametrize("times", [2, 3, 6])
def test_a_chain_needs_one_array(times):
    def f(x):
        for _ in range(times):
            x = np.exp(centred(np.sin(x)))
        return np.sum(x)

    memory = memory_of(f, X)
    assert memory.arena < 1.2 * X.nbytes


def test_what_is_read_elsewhere_is_not_written_over():
    def f(x):
        y = np.exp(centred(np.sin(x)))
        z = y * y[::-1]  # the last row is read with the first
        return centred(z)

    memory_of(f, X)


def test_what_is_read_again_is_not_written_over():
    def f(x):
        y = np.exp(centred(np.sin(x)))
        z = np.tanh(centred(y))
        return centred(z) * y

    memory_of(f, X)


def test_other_sizes_of_numbers_take_other_memory():
    def f(x):
        y = np.sin(x)
        few = (y - np.sum(y, axis=1, keepdims=True)).astype(np.float32)
        return few - np.sum(few, axis=1, keepdims=True)

    fast = cr.compile(f)
    np.testing.assert_allclose(fast(X), f(X), rtol=1e-6, atol=1e-4)  # float32, of some hundreds
