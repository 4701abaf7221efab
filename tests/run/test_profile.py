"""`fast.profile`: which step of a compiled function takes how long."""

import re

import numpy as np
import pytest

import chainrule as cr

pytest.importorskip("llvmlite")


def parts(text):
    """Per line the share in percent, and what it is."""
    found = [re.match(r" *(\d+)% +\S+ \S+ +(.*)", line) for line in text.splitlines()[1:]]
    assert all(found), text
    return [(int(m[1]), m[2]) for m in found]


def test_every_step_has_a_time_and_they_add_up():
    rng = np.random.default_rng(0)
    fast = cr.compile(cr.value_and_grad(lambda w, x: np.mean(np.log1p(np.exp(-(x @ w))))))
    text = fast.profile(np.zeros(30), rng.normal(size=(20_000, 30)), seconds=0.05)
    steps = fast.report().count("  step ")
    shares = parts(text)
    assert len(shares) == steps + 1
    assert 90 <= sum(share for share, _ in shares) <= 110
    assert "a call, the mean of" in text


def test_the_expensive_step_is_the_one():
    def f(x, y):
        return np.sum(np.exp(np.sin(np.exp(np.sin(x))))), np.sum(y * 2.0)

    text = cr.compile(f).profile(np.linspace(0, 1, 200_000), np.ones(8), seconds=0.05)
    share, what = max(parts(text))
    assert share > 80
    assert "sin" in what


def test_steps_of_the_interpreter_count():
    fast = cr.compile(lambda x: np.sum(np.sort(x) * x))
    text = fast.profile(np.random.default_rng(0).normal(size=20_000), seconds=0.05)
    assert max(parts(text))[1].partition(":")[0].endswith("interpreter")


def test_of_several_paths_the_one_taken():
    fast = cr.compile(lambda x: np.sum(np.exp(x)) if x[0] > 0 else np.sum(np.sin(x)))
    x = np.linspace(1, 2, 1000)
    assert "exp" in fast.profile(x, seconds=0.01)
    assert "sin" in fast.profile(-x, seconds=0.01)
    assert "exp" in fast.profile(x, seconds=0.01)


def test_nothing_is_changed():
    """Neither arguments, nor results handed out before, nor what the function does later."""
    x = np.linspace(0, 1, 1000)
    fast = cr.compile(lambda x: np.cumsum(np.exp(x)))
    before = fast(x)
    kept = before.copy()
    fast.profile(x, seconds=0.01)
    np.testing.assert_array_equal(before, kept)
    np.testing.assert_array_equal(fast(x), kept)
    np.testing.assert_array_equal(x, np.linspace(0, 1, 1000))


def test_bad_questions():
    fast = cr.compile(np.exp)
    with pytest.raises(cr.ArgumentError, match="seconds=0"):
        fast.profile(1.0, seconds=0)
    with pytest.raises(cr.ArgumentError, match="not of Variables"):
        fast.profile(cr.variable(1.0))
