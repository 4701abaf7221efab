"""Every function against its value to many digits: the error never exceeds the bound it states."""

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the functions are run as machine code")
pytest.importorskip("mpmath", reason="the values to compare with have 200 binary digits")

from mpmath import mp

from chainrule.lower.maths import FUNCTIONS
from tests.lower.maths.machine import DTYPES, kernel
from tests.lower.maths.points import near_quarter_turns, points
from tests.lower.maths.reference import EXACT, errors_in_ulp, exact

COUNT = 2400


def test_each_function_has_a_reference():
    assert EXACT.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_within_the_stated_bound(name, dtype):
    arguments = points(name, dtype, COUNT)
    results = kernel(name, dtype)(*arguments)
    errors = errors_in_ulp(name, dtype, arguments, results)
    worst = errors.argmax()
    assert errors[worst] <= FUNCTIONS[name].ulp, (
        f"{errors[worst]:.2f} ulp at {[a[worst] for a in arguments]}: {results[worst]!r}"
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_gamma_below_zero(dtype):
    """Both are differences there, and the error is small beside what is subtracted."""
    x = -np.random.default_rng(0).uniform(0, 30, 400).astype(DTYPES[dtype])
    unit = np.finfo(DTYPES[dtype]).eps
    log_gamma, digamma = (kernel(name, dtype)(x) for name in ("lgamma", "digamma"))
    with mp.workprec(200):
        for i, at in enumerate(map(mp.mpf, x.tolist())):
            sine = mp.sin(mp.pi * at)
            logarithms = 1 + mp.loggamma(2 - at) - mp.log(abs(sine))
            assert abs(float(log_gamma[i]) - exact("lgamma", at)) < 2 * unit * logarithms, at
            slopes = 4 + mp.pi / abs(sine)
            assert abs(float(digamma[i]) - exact("digamma", at)) < 2 * unit * slopes, at


def test_no_bound_exceeds_two_ulp():
    assert max(function.ulp for function in FUNCTIONS.values()) <= 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_angles_come_close_to_quarter_turns(dtype):
    """The hardest points are there: some sine of a huge number is as small as it gets."""
    angles = near_quarter_turns(dtype, 8)
    assert np.abs(angles).max() > 1e-6 * np.finfo(DTYPES[dtype]).max
    sines = np.abs(kernel("sin", dtype)(angles[np.abs(angles) > 1]))
    assert sines.min() < {"f64": 1e-17, "f32": 1e-8}[dtype]


def test_the_hardest_double():
    """6381956970095103·2^797 is nearer to a multiple of π/2 than any other double."""
    x = np.array([6381956970095103.0 * 2.0**797])
    assert abs(kernel("cos", "f64")(x)[0]) == 4.6871659242546277e-19


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_that_are_exact(dtype):
    whole = np.arange(-20.0, 21.0)
    assert (kernel("exp2", dtype)(whole) == 2.0**whole).all()
    assert (kernel("log2", dtype)(2.0**whole) == whole).all()
    assert (kernel("cbrt", dtype)(whole**3) == whole).all()
    assert (kernel("pow", dtype)(whole, np.full_like(whole, 2.0)) == whole**2).all()
    assert (kernel("cos", dtype)(np.zeros(4)) == 1).all()
    assert (kernel("log10", dtype)(10.0 ** np.arange(11)) == np.arange(11)).all()
