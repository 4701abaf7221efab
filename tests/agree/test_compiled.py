"""The comparison of compiled and interpreted results notices what is wrong, and only that."""

import numpy as np
import pytest

import chainrule as cr
from tests.agree import compiled
from tests.agree.compiled import compared, movement

X = np.array([0.3, 1.7, -2.9])


@pytest.fixture
def planted(monkeypatch):
    """Compiled functions that return what the test makes of the interpreter's result."""

    def plant(change):
        monkeypatch.setattr(compiled.cr, "compile", lambda f: lambda *args: change(f(*args)))

    return plant


@pytest.mark.parametrize(("error", "agrees"), [(9e-13, True), (2e-12, False), (1e-6, False)])
def test_one_number_that_is_off(planted, error, agrees):
    planted(lambda y: y * np.array([1, 1 + error, 1]))
    found = compared(lambda x: np.exp(x) * x, X)
    assert found.agrees is agrees
    assert found.beyond == (not agrees)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 0.0])
def test_a_number_that_is_none(planted, wrong):
    planted(lambda y: np.where([True, False, False], wrong, y))
    assert not compared(np.exp, X).agrees


def test_a_nan_that_both_have_agrees(planted):
    planted(lambda y: y)
    assert compared(np.log, X) == compiled.Agreement(entries=3)


def test_what_is_exact_must_be_the_same(planted):
    planted(lambda y: y + (y == 1))
    assert not compared(lambda x: np.sign(x).astype(int), X).agrees


def test_another_type_or_shape(planted):
    planted(lambda y: y.astype(np.float32))
    with pytest.raises(AssertionError):
        compared(np.exp, X)


def cancelled(x):
    """sin x · 1e8 - cos(x - π/2) · 1e8: zero but for rounding, of 1e-8."""
    return np.sin(x) * 1e8 - np.cos(x - np.pi / 2) * 1e8


@pytest.mark.parametrize(("error", "agrees"), [(1e-8, True), (1e-5, False)])
def test_where_terms_cancel_it_may_differ_by_what_rounding_moves(planted, error, agrees):
    planted(lambda y: y + error)
    found = compared(cancelled, X)
    assert found.beyond == 3
    assert found.agrees is agrees


def test_movement():
    """About a unit in the last place of 1e8 where that is subtracted; none of what is only chosen."""
    (moved,) = movement(cancelled, (X,))
    assert np.all((moved > 1e-9) & (moved < 1e-7))
    (moved,) = movement(lambda x: np.sort(x)[::-1] * np.array([1.0, 0.0, 1.0]), (X,))
    np.testing.assert_array_equal(moved, 0.0)


def test_a_number_without_digits_is_not_excused(planted):
    planted(lambda y: y * 1.001)
    steep = cr.grad(lambda x: np.sum(np.sin(np.exp(x * 12.0))))
    found = compared(steep, np.array([2.9]))
    assert found.roundings == np.inf
