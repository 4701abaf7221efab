"""Derivatives of float32, complex and mixed values, and where a quotient is infinite."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr


def test_narrow_seeds_and_tangents():
    x = np.ones(3, np.float32)
    out, pullback = cr.vjp(np.sin, x)
    assert out.dtype == pullback(np.ones(3))[0].dtype == np.float32
    assert cr.jvp(np.sin, x, np.ones(3))[1].dtype == np.float32, "one bare primal is a 1-tuple"
    assert cr.vjp(np.sin, 1.0)[1](1)[0].dtype == np.float64, "an integer seed"


def test_a_mixed_container_keeps_each_dtype():
    def loss(p):
        return np.abs(np.sum(p["narrow"]) * p["wide"] * p["complex"]) ** 2

    given = {"narrow": np.ones(2, np.float32), "wide": 2.0, "complex": 1 + 2j}
    found = cr.grad(loss)(given)
    assert [found[k].dtype.name for k in given] == ["float32", "float64", "complex128"]
    np.testing.assert_allclose(found["complex"], 2 * (1 + 2j) * 16)


@given(st.complex_numbers(max_magnitude=3))
def test_holomorphic_derivative(z):
    found = cr.grad(lambda z: np.exp(z) * z**3, holomorphic=True)(z)
    np.testing.assert_allclose(found, np.exp(z) * (z**3 + 3 * z**2), rtol=1e-12, atol=1e-12)
    _, tangent = cr.jvp(lambda z: np.exp(z) * z**3, (z,), (1 + 0j,))
    np.testing.assert_allclose(tangent, found, rtol=1e-12, atol=1e-12)


def test_a_complex_direction_of_a_real_value_is_refused():
    with pytest.raises(cr.DTypeError, match="complex"):
        cr.jvp(lambda x: x * x, (1.0,), (1j,))
    with pytest.raises(cr.DTypeError, match="complex"):
        cr.vjp(lambda x: x * x, 1.0)[1](1j)


@pytest.mark.parametrize("zero", [0, 0.0, np.zeros(2)])
def test_division_by_zero_is_infinite_as_in_numpy(zero):
    with np.errstate(divide="ignore"):
        assert np.all(cr.grad(lambda x: np.sum(x / zero))(1.0) == np.inf)
