"""A function that needs new code at every call: what is kept, what is said, and right results."""

from __future__ import annotations

import re
import warnings

import numpy as np
from chainrule.run.paths import FORMS, MANY, PATHS

import chainrule as cr

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


def test_paths_beyond_the_bound_are_interpreted():
    def rounds(x, n):
        while x[0] < n:
            x = x + 1
        return x

    fast = cr.compile(cr.value_and_grad(lambda x, n: np.sum(rounds(x, n) ** 2)))

    def run():
        for n in range(PATHS + 3):
            value, slope = fast(X, float(n))
            np.testing.assert_allclose(value, np.sum((X + n) ** 2))
            np.testing.assert_allclose(slope, 2 * (X + n))

    (text,) = said(run)
    assert f"more than {PATHS} paths" in text
    assert re.search(r"at .*test_paths.py:\d+; .* np.where", text)
    assert count(fast) == PATHS
    assert said(lambda: fast(X, 100.0)) == []  # it is said once
    np.testing.assert_allclose(fast(X, 2.0)[1], 2 * (X + 2))  # and the known paths are there


def test_an_int_that_changes_at_every_call_is_named():
    fast = cr.compile(lambda x, n: x * n)

    def run():
        for n in range(MANY + 2):
            np.testing.assert_array_equal(fast(X, n), X * n)

    (text,) = said(run)
    assert f"{MANY} times, since an argument differs in its int: 0, 1, 2, …  Pass a float" in text


def test_a_shape_that_changes_at_every_call_is_named():
    fast = cr.compile(lambda x: 2 * x)
    (text,) = said(lambda: [fast(np.ones(n)) for n in range(1, MANY + 2)])
    assert "its shape: (1,), (2,), (3,), …" in text


def test_the_oldest_form_goes(monkeypatch):
    monkeypatch.setattr("chainrule.run.compiled.FORMS", 4)
    fast = cr.compile(lambda x, n: x * n)
    for n in (*range(6), 0):
        np.testing.assert_array_equal(fast(X, n), X * n)
    assert len(fast.variants) == 4
    assert FORMS > MANY


def test_few_forms_are_nothing_to_speak_of():
    fast = cr.compile(lambda x, flag: x if flag else -x)
    assert said(lambda: [fast(X[: k % 3], bool(k % 2)) for k in range(4 * MANY)]) == []


RATE = 0.0


def scaled(x):
    return x * RATE


def test_a_global_that_is_rebound_at_every_call_is_named(monkeypatch):
    fast = cr.compile(scaled)

    def run():
        for n in range(MANY + 2):
            monkeypatch.setattr(f"{__name__}.RATE", float(n) + 0.5)
            np.testing.assert_array_equal(fast(X), X * (n + 0.5))

    (text,) = said(run)
    assert f"scaled was recorded again {MANY} times, since global `RATE` changes." in text
