"""A function that needs new code at every call: what is kept, what is said, and right results."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest

import chainrule as cr
from chainrule.run import branches
from chainrule.run.branches import (
    MANY_SIGNATURES,
    MAX_BRANCHES,
    MAX_MISSES,
    MAX_SIGNATURES,
    MAX_STOPS,
)

X = np.arange(3.0)


def count(compiled):
    return sum(map(len, compiled.variants.values()))


def said(run):
    """The warnings of a run."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    assert all(w.category is RuntimeWarning for w in found)
    return [str(w.message) for w in found]


def test_branches_beyond_the_bound_run_as_plain_python():
    def rounds(x, n):
        while x[0] < n:
            x = x + 1
        return x

    fast = cr.compile(cr.value_and_grad(lambda x, n: np.sum(rounds(x, n) ** 2)))

    def run():
        for n in range(MAX_BRANCHES + 3):
            value, slope = fast(X, float(n))
            np.testing.assert_allclose(value, np.sum((X + n) ** 2))
            np.testing.assert_allclose(slope, 2 * (X + n))

    (text,) = said(run)
    assert f"more than {MAX_BRANCHES} branches" in text
    assert re.search(r"at .*test_branches.py:\d+; .* np.where", text)
    assert count(fast) == MAX_BRANCHES
    assert said(lambda: fast(X, 100.0)) == []  # it is said once
    np.testing.assert_allclose(fast(X, 2.0)[1], 2 * (X + 2))  # and the known branches are there


def test_an_int_that_changes_at_every_call_is_named():
    fast = cr.compile(lambda x, n: x * n)

    def run():
        for n in range(MANY_SIGNATURES + 2):
            np.testing.assert_array_equal(fast(X, n), X * n)

    (text,) = said(run)
    assert f"{MANY_SIGNATURES} times, since an argument differs in its int: 0, 1, 2, …" in text
    assert "Pass a float" in text


def test_a_shape_that_changes_at_every_call_is_named():
    fast = cr.compile(lambda x: 2 * x)
    (text,) = said(lambda: [fast(np.ones(n)) for n in range(1, MANY_SIGNATURES + 2)])
    assert "its shape: (1,), (2,), (3,), …" in text


def test_beyond_the_last_signature_calls_are_plain(monkeypatch):
    fast = cr.compile(lambda x, n: x * n)
    monkeypatch.setattr(fast.limits, "signatures", 4)
    for n in (*range(6), 0):
        np.testing.assert_array_equal(fast(X, n), X * n)
    assert len(fast.variants) == fast.recordings == 4
    assert MAX_SIGNATURES > MANY_SIGNATURES
    for n in range(MAX_MISSES):
        np.testing.assert_array_equal(fast(X, n + 10), X * (n + 10))
    assert fast.interpreted


def test_signatures_that_never_come_again_are_not_compiled_for_ever(monkeypatch):
    monkeypatch.setattr(branches, "MAX_UNUSED", 3)
    fast = cr.compile(lambda x, n: x * n)
    (text,) = said(lambda: [fast(X, n) for n in range(6)])
    assert "compiled 3 times in a row for arguments that never came again" in text
    assert fast.interpreted
    assert fast.recordings == 3


@pytest.mark.parametrize("verify", ["sometimes", "always", "never"])
def test_signatures_that_come_again_are_kept(monkeypatch, verify):
    monkeypatch.setattr(branches, "MAX_UNUSED", 3)
    fast = cr.compile(lambda x, n: x * n, verify=verify)
    for n in (0, 0, 1, 2, 3, 4, 4, 5):
        np.testing.assert_array_equal(fast(X, n), X * n)
    assert fast.recordings == 6


def test_few_signatures_are_nothing_to_speak_of():
    fast = cr.compile(lambda x, flag: x if flag else -x)
    assert said(lambda: [fast(X[: k % 3], bool(k % 2)) for k in range(4 * MANY_SIGNATURES)]) == []


RATE = 0.0


def scaled(x):
    return x * RATE


def test_a_global_that_is_rebound_at_every_call_is_named(monkeypatch):
    fast = cr.compile(scaled)

    def run():
        for n in range(MAX_BRANCHES + 2):
            monkeypatch.setattr(f"{__name__}.RATE", float(n) + 0.5)
            np.testing.assert_array_equal(fast(X), X * (n + 0.5))

    (text,) = said(run)
    assert text.startswith(f"scaled takes more than {MAX_BRANCHES} branches")
    assert "of global `RATE`;" in text
    assert fast.recordings == MAX_BRANCHES


def stepped(x):
    """Another branch for each whole number."""
    return x * int(x[0])


def at(n):
    return np.array([float(n), 1.0])


def test_a_function_that_takes_a_new_branch_at_every_call_is_given_up():
    """It pays for so many recordings, tries so many times to find a branch, then tries no more."""
    fast = cr.compile(stepped)

    def run():
        for n in range(100):
            np.testing.assert_array_equal(fast(at(n)), stepped(at(n)))
            assert fast.interpreted == (n >= MAX_BRANCHES + MAX_MISSES - 1)

    assert len(said(run)) == 1
    assert fast.recordings == MAX_BRANCHES
    assert count(fast) == 0  # the memory of its programs is given back


def test_branches_that_are_taken_now_and_then_stay():
    fast = cr.compile(stepped)

    def run():
        for n in range(4 * MAX_MISSES):
            for x in (at(n), at(1)):
                np.testing.assert_array_equal(fast(x), stepped(x))

    assert len(said(run)) == 1
    assert not fast.interpreted
    assert count(fast) == fast.recordings == MAX_BRANCHES


LOG = []


def noted(x):
    LOG.append(1)
    return x * 2


def test_a_function_with_effects_is_watched_a_few_times_only(monkeypatch):
    monkeypatch.setattr(f"{__name__}.LOG", [])
    fast = cr.compile(noted)

    def run():
        for n in range(1, 21):
            np.testing.assert_array_equal(fast(X), X * 2)
            assert len(LOG) == n  # neither twice nor never
            assert fast.interpreted == (n >= MAX_STOPS)

    (text,) = said(run)
    assert re.search(
        r"^noted runs as plain Python: it .*\n  test_branches.py:\d+ +LOG.append", text
    )
    assert fast.recordings == 0  # it was only watched


def test_an_effect_on_a_rare_branch_spares_the_others(monkeypatch):
    monkeypatch.setattr(f"{__name__}.LOG", [])

    def f(x):
        if np.sum(x) > 100:
            LOG.append(1)
        return x * 2

    fast = cr.compile(f)
    np.testing.assert_array_equal(fast(X), X * 2)
    assert len(said(lambda: fast(X + 100))) == 1
    assert LOG == [1]
    np.testing.assert_array_equal(fast(X), X * 2)
    assert not fast.interpreted
    assert fast.recordings == 1


def test_what_python_is_told_is_the_guard_not_the_number():
    """The truth of a number, and its whole part, are the same for most numbers."""

    def f(x, n):
        scale = 2.0 if np.sum(x) else 3.0
        return scale * x * int(n) + math.floor(n) - math.ceil(n) + math.trunc(n)

    fast = cr.compile(f)
    for k in range(1, 40):
        x, n = np.array([k, 1.0]), 2.0 + k / 50
        np.testing.assert_array_equal(fast(x, n), f(x, n))
    np.testing.assert_array_equal(fast(np.zeros(2), 2.5), f(np.zeros(2), 2.5))
    np.testing.assert_array_equal(fast(np.ones(2), 3.5), f(np.ones(2), 3.5))
    (variants,) = fast.variants.values()
    assert len(variants) == 3
    assert not fast.interpreted


def test_an_op_that_raises_by_rounding_alone_gives_the_plain_result():
    """The dot product is 0.0 in NumPy and may be -0.0 in machine code; its sign decides here."""

    def f(x, y):
        return np.linalg.cholesky(np.eye(2) * np.copysign(1.0, x @ y))[0, 0]

    fast = cr.compile(f)
    x, y = np.array([-1.0, -2.0, -3.0, -4.0]), np.zeros(4, int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for point in ((x, y - 1), (x, y), (-x, y), (x, y + 1)):
            try:
                expected = f(*point)
            except np.linalg.LinAlgError:
                with pytest.raises(np.linalg.LinAlgError):
                    fast(*point)
            else:
                assert fast(*point) == expected
