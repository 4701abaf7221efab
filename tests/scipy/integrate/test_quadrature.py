"""Integrals of functions and of samples against SciPy and closed forms (`samples.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate as plain

import chainrule as cr
from chainrule.scipy import integrate


def test_parameters_and_limits() -> None:
    f = lambda a: integrate.quad(lambda x, b: np.exp(-b * x), a / 2, a, args=(a * a,))[0]  # noqa: E731
    closed = lambda a: (np.exp(-(a**3) / 2) - np.exp(-(a**3))) / a**2  # noqa: E731
    derivatives = [(g, cr.grad(g), cr.grad(cr.grad(g))) for g in (f, closed)]
    for ours, theirs in zip(*derivatives, strict=True):
        assert ours(1.1) == pytest.approx(theirs(1.1), rel=1e-10)
    assert cr.jvp(f, (1.1,), (2.0,))[1] == pytest.approx(2 * cr.grad(closed)(1.1), rel=1e-10)


def test_an_infinite_limit_and_a_branch() -> None:
    f = lambda a: integrate.quad(  # noqa: E731
        lambda x: np.exp(-a * x) if x < 3 else np.exp(-2 * a * x), 0, np.inf, epsrel=1e-10
    )[0]
    a, h = 0.8, 1e-5
    exact = lambda a: (1 - np.exp(-3 * a)) / a + np.exp(-6 * a) / (2 * a)  # noqa: E731
    assert f(a) == pytest.approx(exact(a), rel=1e-7)
    assert cr.grad(f)(a) == pytest.approx((exact(a + h) - exact(a - h)) / (2 * h), rel=1e-6)


def test_plain_numbers_are_scipys() -> None:
    assert integrate.quad(np.cos, 0, 1) == plain.quad(np.cos, 0, 1)
    assert integrate.tplquad is not None
    with pytest.raises(cr.UnsupportedError, match="dblquad has no derivative"):
        cr.grad(lambda a: integrate.dblquad(lambda y, x: a * x * y, 0, 1, 0, 1)[0])(1.0)
    with pytest.raises(cr.UnsupportedError, match="weights"):
        cr.grad(lambda a: integrate.quad(lambda x: a * x, 0, 1, weight="cos", wvar=2)[0])(1.0)


RULES = ("trapezoid", "simpson", "cumulative_trapezoid")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("count", [2, 3, 6, 7])
def test_samples(rule: str, count: int) -> None:
    y = np.cos(np.arange(2.0 * count)).reshape(2, count)
    x = np.cumsum(0.3 + np.sin(np.arange(count)) ** 2)
    ours, theirs = getattr(integrate, rule), getattr(plain, rule)
    for where in ({}, {"x": x}, {"dx": 0.3}):
        found = ours(cr.variable(y), **where).value
        np.testing.assert_allclose(found, theirs(y, **where), rtol=1e-13)
        np.testing.assert_array_equal(ours(y, **where), theirs(y, **where))
    by_rows = ours(cr.variable(y.T), x=x, axis=0).value
    np.testing.assert_allclose(by_rows, theirs(y.T, x=x, axis=0), rtol=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_samples_are_differentiated(rule: str) -> None:
    y, x = np.cos(np.arange(6.0)), np.cumsum(0.3 + np.sin(np.arange(6)) ** 2)
    f = lambda y, x: np.sum(getattr(integrate, rule)(y, x=x) ** 2)  # noqa: E731
    for argnum in (0, 1):
        got, h = cr.grad(f, argnum)(y, x), 1e-6
        for k, e in enumerate(h * np.eye(6)):
            there = [f(*((y + s * e, x) if argnum == 0 else (y, x + s * e))) for s in (1, -1)]
            assert got[k] == pytest.approx((there[0] - there[1]) / (2 * h), rel=1e-6, abs=1e-8)


def test_a_start_for_the_running_sum() -> None:
    y = np.arange(4.0)
    ours = integrate.cumulative_trapezoid(cr.variable(y), initial=0).value
    np.testing.assert_array_equal(ours, plain.cumulative_trapezoid(y, initial=0))
    with pytest.raises(cr.UnsupportedError, match="initial"):
        integrate.cumulative_trapezoid(cr.variable(y), initial=1.0)
