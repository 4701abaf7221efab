"""functions.py of scipy.ndimage: each against SciPy's own value and against differences."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr
from chainrule import scipy as csp
from tests.scipy.alike import agrees, case

rng = np.random.default_rng(0)
X, M = rng.normal(size=9), rng.normal(size=(5, 6))
ODD, EVEN = rng.normal(size=3), rng.normal(size=4)
KERNEL = rng.normal(size=(3, 2))
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")

CASES = [
    *(case(f"correlate1d {k}", lambda m, x, w, k=k: m.correlate1d(x, w, mode=k), X, ODD)
      for k in MODES),
    case("correlate1d even", lambda m, x, w: m.correlate1d(x, w, axis=0), M, EVEN),
    case("convolve1d", lambda m, x, w: m.convolve1d(x, w, mode="constant", cval=2.0), X, ODD),
    case("convolve1d even", lambda m, x, w: m.convolve1d(x, w, axis=0, mode="wrap"), M, EVEN),
    case("correlate", lambda m, x, w: m.correlate(x, w), M, KERNEL),
    case("convolve", lambda m, x, w: m.convolve(x, w, mode="nearest"), M, KERNEL),
    case("gaussian_filter1d", lambda m, x: m.gaussian_filter1d(x, 1.3), X),
    case("gaussian_filter1d slope", lambda m, x: m.gaussian_filter1d(x, 1.0, order=1), X),
    case("gaussian_filter1d axis", lambda m, x: m.gaussian_filter1d(x, 0.7, 0, mode="wrap"), M),
    case("gaussian_filter", lambda m, x: m.gaussian_filter(x, (0.8, 1.1)), M),
    case("gaussian_filter constant", lambda m, x: m.gaussian_filter(x, 0.9, mode="constant"), M),
    case("uniform_filter1d", lambda m, x: m.uniform_filter1d(x, 3), X),
    case("uniform_filter1d even", lambda m, x: m.uniform_filter1d(x, 4, mode="nearest"), X),
    case("uniform_filter", lambda m, x: m.uniform_filter(x, size=(3, 2)), M),
]  # fmt: skip


@pytest.mark.parametrize("a", CASES, ids=str)
def test_value_and_derivatives(a):
    agrees("ndimage", a)


def test_the_width_of_a_gaussian_has_a_derivative():
    def f(s):
        return np.sum(csp.ndimage.gaussian_filter1d(X, s, radius=5) ** 2)

    slope = (f(1.3 + 1e-5) - f(1.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(cr.grad(f)(1.3), slope, rtol=1e-7)


def test_a_mode_nobody_knows():
    with pytest.raises(cr.ArgumentError, match="mode='odd'"):
        cr.grad(lambda x: np.sum(csp.ndimage.correlate1d(x, ODD, mode="odd")))(X)
