"""functions.py of scipy.fft: each against SciPy's own value and against differences."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr
from chainrule import scipy as csp
from tests.scipy.alike import agrees, case

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 4))
HALF = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
ONE = ("fft", "rfft", "ihfft")
WAVES = ("dct", "idct", "dst", "idst")

CASES = [
    *(case(name, lambda m, x, f=name: getattr(m, f)(x, axis=0), X) for name in ONE),
    *(case(f"{name} n", lambda m, x, f=name: getattr(m, f)(x, 6, norm="ortho"), X) for name in ONE),
    case("irfft", lambda m, x: m.irfft(m.rfft(x) ** 2), X),
    case("ifft", lambda m, x: m.ifft(m.fft(x) * np.arange(4)), X),
    case("hfft", lambda m, x: m.hfft(m.ihfft(x) ** 2), X),
    *(case(name, lambda m, x, f=name: getattr(m, f)(x), X) for name in ("fft2", "rfft2")),
    case("fftn s", lambda m, x: m.fftn(x, s=(2, 5)), X),
    case("rfftn axes", lambda m, x: m.irfftn(m.rfftn(x, axes=(0, 1)) ** 2, s=(3, 4)), X),
    case("shifts", lambda m, x: m.ifftshift(m.fftshift(x, axes=1) ** 2), X),
    *(case(f"{f} {t}", lambda m, x, f=f, t=t: getattr(m, f)(x, t), X)
      for f in WAVES for t in (1, 2, 3, 4)),
    *(case(f"{f} ortho", lambda m, x, f=f: getattr(m, f)(x, norm="ortho", axis=0), X)
      for f in WAVES),
    case("dct longer", lambda m, x: m.dct(x, n=6, norm="forward"), X),
    case("dct shorter", lambda m, x: m.idct(x, n=3, axis=-1), X),
    case("dctn", lambda m, x: m.idctn(m.dctn(x) ** 2), X),
    case("dstn axes", lambda m, x: m.dstn(x, axes=(0,), norm="ortho"), X),
]  # fmt: skip


@pytest.mark.parametrize("a", CASES, ids=str)
def test_value_and_derivatives(a):
    agrees("fft", a)


def test_a_weight_of_its_own_is_refused():
    with pytest.raises(cr.UnsupportedError, match="orthogonalize=True"):
        cr.grad(lambda x: np.sum(csp.fft.dct(x, orthogonalize=True)))(X)
