"""Rewrites as users of `cr.compile` meet them: report, texts, guards, `reassociate`."""

import numpy as np
import pytest

import chainrule as cr

pytest.importorskip("llvmlite")

X = np.array([0.3, -1.7, 2.2, 0.9])


def loss(x):
    return np.sum((x / 3 - 1.0) ** 2) / 7


def test_the_report_names_and_counts_rewrites():
    fast = cr.compile(cr.grad(lambda x: np.sum(-x * x * 1.0)))
    fast(X)
    (line,) = [s for s in fast.report().splitlines() if s.startswith("  rewritten ")]
    assert "times one" in line
    assert "itself" in line


def test_nothing_is_said_where_nothing_was_rewritten():
    fast = cr.compile(np.sin)
    fast(X)
    assert "rewritten" not in fast.report()
    assert fast.ir("recorded") == fast.ir("graph")


def test_reassociating_is_asked_for():
    exact, loose = cr.compile(cr.grad(loss)), cr.compile(cr.grad(loss), reassociate=True)
    np.testing.assert_allclose(loose(X), exact(X), rtol=1e-14)
    assert "two factors" in loose.report()
    assert "two factors" not in exact.report()
    assert "divide" in exact.ir("graph")
    assert "divide" not in loose.ir("graph")


def test_each_branch_has_its_guards():
    def f(x):
        y = x * 1.0
        if np.sum(y) > 0:
            return y * 2.0
        return y - 0.0

    fast = cr.compile(f)
    for x in (X, -X, X + 1, -X - 1):
        assert np.array_equal(fast(x), f(x))
    assert fast.report().count(", branch ") == 2


def test_a_guard_of_what_is_only_read():
    fast = cr.compile(lambda x: x * (2.0 if float(np.max(x)) * 1 > 2 else 3.0))
    assert np.array_equal(fast(X), X * 2)
    assert np.array_equal(fast(X / 2), X / 2 * 3)


def test_zeros_of_both_signs_are_not_one_number():
    signs = cr.compile(lambda x: x * np.array([0.0, -0.0]))(np.ones(2))
    assert np.signbit(signs).tolist() == [False, True]


def test_a_variable_outside_is_folded_and_still_seen_to_change():
    w = cr.variable(np.array([1.0, 2.0]))
    fast = cr.compile(lambda x: x * np.exp(w))
    np.testing.assert_allclose(fast(np.ones(2)), np.exp([1.0, 2.0]), rtol=1e-15)
    assert "constant" in fast.report()
    w[0] = 0.0
    np.testing.assert_allclose(fast(np.ones(2)), np.exp([0.0, 2.0]), rtol=1e-15)


def test_a_negative_zero_in_a_joined_gradient():
    """The slabs of a gradient are added to zeros, which makes 0.0 of -0.0."""

    def f(x):
        return np.sum(x[:2] ** 2 * -0.0) + np.sum(x[2:] ** 2)

    fast = cr.compile(cr.grad(f))
    found, expected = fast(X), cr.grad(f)(X)
    assert "joined" in fast.report()
    assert found.tobytes() == expected.tobytes()


def test_an_error_still_names_the_line_of_the_user():
    def f(x, y):
        z = (-x * 2.0).reshape(2, 2)
        return np.linalg.inv(z) * y

    fast = cr.compile(f)
    fast(X.copy(), 1.0)
    with pytest.raises(cr.ChainruleError, match="linalg"):
        fast(np.zeros(4), 1.0)


def test_integers_are_as_in_numpy():
    def f(n):
        return (n * 1 - 0) // 3 + -(-n // 2) * n

    n = np.array([7, -7, 2**62, -(2**63), 0])
    assert np.array_equal(cr.compile(f)(n), f(n))


def test_verified_on_request(monkeypatch):
    monkeypatch.setenv("CHAINRULE_VERIFY", "1")
    fast = cr.compile(cr.value_and_grad(loss))
    np.testing.assert_allclose(fast(X)[1], cr.grad(loss)(X), rtol=1e-14)
