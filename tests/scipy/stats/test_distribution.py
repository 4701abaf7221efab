"""`distribution.py`, `continuous.py`, `discrete.py`: every method of every law, beside SciPy's."""

import numpy as np
import pytest
import scipy.stats as theirs

import chainrule as cr
from chainrule.scipy import stats as ours
from chainrule.scipy.stats import continuous, discrete

SHAPES = {
    "beta": (1.5, 2.5), "chi2": (3.5,), "gamma": (2.5,), "invgamma": (4.5,), "lognorm": (0.6,),
    "pareto": (4.5,), "t": (5.5,), "vonmises": (1.25,), "weibull_min": (1.75,),
}  # fmt: skip
COUNTS = {"bernoulli": (0.3,), "binom": (7.0, 0.4), "geom": (0.35,), "nbinom": (4.0, 0.45),
          "poisson": (2.5,)}  # fmt: skip
OF_POINTS = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf")
OF_SHARES = ("ppf", "isf")
WITHOUT = {("cauchy", m) for m in ("mean", "var", "std")}  # which it does not have
WITHOUT |= {("vonmises", m) for m in ("var", "std")}  # which has no closed form
PLACED = 0.25, 1.5  # loc and scale


def checked(method, name, *args):
    """SciPy's value, and the derivatives of differences in every argument."""
    mine = getattr(getattr(ours, name), method)
    expected = getattr(getattr(theirs, name), method)(*args)
    found = mine(*map(cr.variable, args))
    np.testing.assert_allclose(found.value, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(mine(*args), expected)
    cr.check_grads(lambda *a: np.sum(mine(*a) * np.arange(1.0, 1 + np.size(expected))), *args,
                   order=1, rtol=1e-4)  # fmt: skip


@pytest.mark.parametrize("method", [*OF_POINTS, *OF_SHARES])
@pytest.mark.parametrize("name", sorted(continuous.LAWS))
def test_continuous(name, method):
    shapes = SHAPES.get(name, ())
    shares = np.array([0.15, 0.4, 0.85])
    at = shares if method in OF_SHARES else getattr(theirs, name).ppf(shares, *shapes, *PLACED)
    checked(method, name, at, *shapes, *PLACED)


@pytest.mark.parametrize("method", ["mean", "var", "std", "entropy", "median"])
@pytest.mark.parametrize("name", sorted(continuous.LAWS))
def test_moments(name, method):
    if (name, method) in WITHOUT:
        with pytest.raises(cr.UnsupportedError, match=f"{name}.{method} is not differentiated"):
            getattr(getattr(ours, name), method)(*SHAPES.get(name, ()), cr.variable(0.25), 1.5)
    else:
        checked(method, name, *SHAPES.get(name, ()), *PLACED)


@pytest.mark.parametrize("method", ["logpmf", "pmf", "cdf", "sf", "logcdf", "logsf"])
@pytest.mark.parametrize("name", sorted(discrete.LAWS))
def test_discrete_in_their_parameters(name, method):
    k = np.array([1.0, 1.0]) if name == "bernoulli" else np.array([1.0, 3.0])
    first = 1 if name in ("binom", "nbinom") else 0  # n is a count
    counts, rest = COUNTS[name][:first], COUNTS[name][first:]
    mine, scipys = (getattr(getattr(lib, name), method) for lib in (ours, theirs))
    if name == "bernoulli" and method in ("sf", "logsf", "cdf", "logcdf"):
        k = k * 0
    expected = scipys(k, *counts, *rest)
    found = mine(k, *counts, *map(cr.variable, rest))
    np.testing.assert_allclose(found.value, expected, rtol=1e-9, atol=1e-12)
    cr.check_grads(lambda *a: np.sum(mine(k, *counts, *a) * np.array([1.0, 2.0])), *rest,
                   order=1, rtol=1e-4)  # fmt: skip


def test_every_law_is_here():
    assert set(SHAPES) <= set(continuous.LAWS)
    assert set(COUNTS) == set(discrete.LAWS)
