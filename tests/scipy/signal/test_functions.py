"""functions.py of scipy.signal: each against SciPy's own value and against differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import chainrule as cr
from chainrule import scipy as csp
from tests.scipy.alike import agrees, case

rng = np.random.default_rng(0)
X, SHORT, LONG = rng.normal(size=12), rng.normal(size=4), rng.normal(size=70)
M, K = rng.normal(size=(4, 5)), rng.normal(size=(2, 3))
B, A = np.array([0.5, 0.3, -0.2]), np.array([1.2, 0.4, 0.1])
SOS = scipy.signal.butter(4, 0.3, output="sos")
MODES = ("full", "same", "valid")


def sections(b, a):
    return np.concatenate([b, np.ones((2, 1)), a], axis=1)


CASES = [
    *(case(f"convolve {k}", lambda m, x, y, k=k: m.convolve(x, y, k), X, SHORT) for k in MODES),
    *(case(f"convolve turned {k}", lambda m, x, y, k=k: m.convolve(y, x, k), X, SHORT[:3])
      for k in MODES),
    *(case(f"convolve 2d {k}", lambda m, x, y, k=k: m.convolve(x, y, k), M, K) for k in MODES),
    *(case(f"fftconvolve {k}", lambda m, x, y, k=k: m.fftconvolve(x, y, k), X, SHORT)
      for k in MODES),
    *(case(f"correlate {k}", lambda m, x, y, k=k: m.correlate(x, y, k), X, SHORT) for k in MODES),
    case("correlate 2d", lambda m, x, y: m.correlate(x, y, "same"), M, K),
    case("lfilter", lambda m, b, a, x: m.lfilter(b, a, x), B, A, X),
    case("lfilter rows", lambda m, b, a, x: m.lfilter(b, a, x, axis=0), B, A, M),
    case("lfilter fir", lambda m, b, x: m.lfilter(b, 1.0, x), B, X),
    case("lfilter long fir", lambda m, b, x: m.lfilter(b, [1.0], x), LONG, X),
    case("lfilter pole", lambda m, a, x: m.lfilter([1.0], a, x), A, X),
    case("lfilter state", lambda m, b, a, x, z: m.lfilter(b, a, x, zi=z), B, A, X, SHORT[:2]),
    case("lfilter state uneven", lambda m, b, a, x, z: m.lfilter(b, a, x, zi=z),
         B[:2], A, X, SHORT[:2]),
    case("sosfilt", lambda m, b, a, x: m.sosfilt(sections(b, a), x), SOS[:, :3], SOS[:, 4:], X),
    case("filtfilt", lambda m, b, a, x: m.filtfilt(b, a, x), B, A, X),
    case("filtfilt even", lambda m, b, a, x: m.filtfilt(b, a, x, -1, "even", 3), B, A, X),
    case("filtfilt bare", lambda m, b, a, x: m.filtfilt(b, a, x, padtype=None), B, A, X),
    case("savgol_filter", lambda m, x: m.savgol_filter(x, 5, 2), X),
    case("savgol slope", lambda m, x: m.savgol_filter(x, 5, 3, deriv=1, delta=0.1), X),
    case("hilbert", lambda m, x: np.abs(m.hilbert(x)), X),
    case("hilbert odd", lambda m, x: m.hilbert(x, axis=0), M[:3]),
    case("detrend", lambda m, x: m.detrend(x), X),
    case("detrend constant", lambda m, x: m.detrend(x, axis=0, type="constant"), M),
]  # fmt: skip


@pytest.mark.parametrize("a", CASES, ids=str)
def test_value_and_derivatives(a):
    agrees("signal", a)


def test_a_first_coefficient_of_zero_is_refused():
    with pytest.raises(cr.ArgumentError, match="first coefficient"):
        cr.grad(lambda a: np.sum(csp.signal.lfilter([1.0], a, X)))(np.array([0.0, 1.0]))


def test_a_mode_nobody_knows():
    with pytest.raises(cr.ArgumentError, match="mode='all'"):
        cr.grad(lambda x: np.sum(csp.signal.convolve(x, SHORT, "all")))(X)
