"""Signed zeros, infinities, NaN and invalid arguments: as in NumPy and C99."""

import math

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the functions are run as machine code")
pytest.importorskip("mpmath", reason="the points are made with it")

import scipy.special

from chainrule.lower.maths import FUNCTIONS
from tests.lower.maths.machine import DTYPES, kernel
from tests.lower.maths.points import SPECIAL


def log_gamma(x: np.ndarray) -> np.ndarray:
    """C's lgamma: SciPy's is infinite for subnormal numbers, and −∞ at −∞."""
    poles = (x <= 0) & (x == np.floor(x))
    return np.array(
        [np.inf if p else math.lgamma(v) for p, v in zip(poles, x, strict=True)], x.dtype
    )


THEIRS = {
    "lgamma": log_gamma,
    "digamma": scipy.special.psi,
    "pow": np.power,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "sigmoid": scipy.special.expit,
    "softplus": lambda x: np.logaddexp(x, 0),
}
DIFFICULT = (*SPECIAL, 1e300, -1e300, 5e-324, -5e-324, 1e-310, 1e38, -1e38, 1e-45, -1e-45, 1e-39)


def special(dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.array(DIFFICULT).astype(DTYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name, dtype):
    values = special(dtype)
    arguments = [values]
    if FUNCTIONS[name].arguments == 2:
        arguments = [a.ravel() for a in np.meshgrid(values, values)]
    ours = kernel(name, dtype)(*arguments)
    with np.errstate(all="ignore"):
        theirs = (THEIRS.get(name) or getattr(np, name))(*arguments)
    # Only what is exact is compared here: NaN, infinities and zeros, with their signs.
    for row in zip(*arguments, ours, theirs, strict=True):
        *point, got, expected = row
        if np.isnan(expected) or np.isinf(expected) or expected == 0:
            assert np.array_equal(got, expected, equal_nan=True), (name, point)
            assert np.isnan(expected) or np.signbit(got) == np.signbit(expected), (name, point)
        else:
            assert np.isfinite(got), (name, point)
            assert got == pytest.approx(expected, rel=1e-6), (name, point)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_with_any_payload_stays_nan(name, dtype):
    integer = {"f64": np.uint64, "f32": np.uint32}[dtype]
    quiet = int(np.array(np.nan, DTYPES[dtype]).view(integer))
    patterns = np.array([quiet, quiet | 1, quiet | 4095, quiet | 0x1FFFFF], integer)
    nans = patterns.view(DTYPES[dtype])
    if FUNCTIONS[name].arguments == 1:
        assert np.isnan(kernel(name, dtype)(nans)).all()
        return
    two = np.full_like(nans, 2.0)
    assert np.isnan(kernel(name, dtype)(nans, two)).all()
    assert np.isnan(kernel(name, dtype)(two, nans)).all()
