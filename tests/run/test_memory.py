"""`cr.compile(f, memory=…)`: machine code that would take more is refused before it runs."""

import copy

import numpy as np
import pytest

import chainrule as cr

X = np.linspace(0.1, 1, 5000)


def far(x, checkpoint=None):
    def step(c, _):
        return np.tanh(c) * 1.1 + 0.1 * np.sin(c), None

    return np.sum(cr.scan(step, x, length=400, checkpoint=checkpoint)[0])


def in_blocks(x):
    @cr.checkpoint
    def block(x):
        for _ in range(10):
            x = np.tanh(x) * 1.1 + 0.1 * np.sin(x)
        return x

    for _ in range(8):
        x = block(x)
    return np.sum(x)


def least(f):
    with pytest.raises(cr.MemoryBudgetError, match="compiled, a call takes") as told:
        cr.compile(cr.grad(f), memory=1000)(X)
    return told.value.least


def test_what_it_takes_is_told_and_is_enough():
    needed = least(far)
    assert np.array_equal(cr.compile(cr.grad(far), memory=needed)(X), cr.compile(cr.grad(far))(X))
    with pytest.raises(cr.MemoryBudgetError, match=r'checkpoint="auto"'):
        cr.compile(cr.grad(far), memory=needed - 1)(X)


def test_segments_of_a_loop_take_less():
    assert least(lambda x: far(x, "auto")) < least(far) / 5


def test_what_is_checkpointed_is_computed_again_in_machine_code():
    """Sharing does not undo it; and a loop of one iteration whose rows are cut into chunks runs."""

    def whole(x):
        for k in range(80):
            x = np.tanh(x) * 1.1 + 0.1 * np.sin(x) * (k % 7)
        return np.sum(x)

    assert least(in_blocks) < least(whole) / 2
    expected = cr.grad(in_blocks)(X)
    np.testing.assert_allclose(cr.compile(cr.grad(in_blocks))(X), expected, rtol=1e-11)


def test_a_refused_call_is_refused_again_and_another_signature_is_not():
    fast = cr.compile(cr.grad(far), memory=200_000)
    for _ in range(2):
        with pytest.raises(cr.MemoryBudgetError):
            fast(X)
    np.testing.assert_allclose(fast(X[:3]), cr.grad(far)(X[:3]), rtol=1e-12)


def test_copies_have_the_same_budget():
    fast = cr.compile(np.sin, memory="1kB")
    rebuilt, given = fast.__reduce__()  # as another process gets it
    for other in (copy.copy(fast), copy.deepcopy(fast), rebuilt(*given)):
        with pytest.raises(cr.MemoryBudgetError):
            other(X)


def test_a_text_that_is_no_size():
    with pytest.raises(cr.ArgumentError, match="200MB"):
        cr.compile(np.sin, memory="lots")
