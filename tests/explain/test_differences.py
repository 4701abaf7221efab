"""Numerical derivatives along a line: accuracy, error estimate, both sides of a kink."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.explain.differences import STEPS, central, directions, inner, one_sided


def along(f, x, u=1.0):
    return lambda t: [np.asarray(f(x + t * u))]


SMOOTH = {
    "sin": (np.sin, np.cos),
    "exp": (np.exp, np.exp),
    "cube": (lambda x: x**3, lambda x: 3 * x**2),
    "fast": (lambda x: np.sin(50 * x), lambda x: 50 * np.cos(50 * x)),
    "large": (lambda x: 1e6 + x, lambda x: np.ones_like(x)),
    "constant": (lambda x: 0 * x + 7.0, lambda x: 0 * x),
}


@pytest.mark.parametrize("name", SMOOTH)
@given(x=st.floats(-3, 3))
def test_the_error_estimate_holds(name, x):
    f, slope = SMOOTH[name]
    found = central(along(f, x), 1.0)
    off = abs(found.value[0] - slope(x))
    assert off <= 10 * found.error[0] + 1e-9 * (1 + abs(slope(x)))
    assert off <= 1e-7 * (1 + abs(slope(x)))
    assert found.evaluations == 4 * len(STEPS)


@given(st.lists(st.floats(-5, 5), min_size=5, max_size=5))
def test_fourth_order_is_exact_for_quartics(coefficients):
    p = np.polynomial.Polynomial(coefficients)
    found = central(along(p, 0.3), 1.0)
    np.testing.assert_allclose(found.value[0], p.deriv()(0.3), atol=1e-10)


def test_several_outputs_and_shapes():
    def at(t):
        return [np.array([1.0, 2.0]) * t, np.asarray(t**2), np.ones((2, 0))]

    found = central(at, 1.0)
    assert [np.shape(v) for v in found.value] == [(2,), (), (2, 0)]
    np.testing.assert_allclose(found.value[0], [1.0, 2.0], rtol=1e-12)
    assert abs(found.value[1]) < 1e-12


def test_the_scale_stretches_every_step():
    seen = []

    def at(t):
        seen.append(t)
        return [np.asarray(t)]

    central(at, 100.0)
    assert max(seen) == pytest.approx(2 * 100.0 * max(STEPS))
    assert min(map(abs, seen)) == pytest.approx(100.0 * min(STEPS))


def test_a_step_outside_the_domain_is_not_chosen():
    with np.errstate(invalid="ignore"):
        found = central(along(np.log, 0.005), 1.0)
    np.testing.assert_allclose(found.value[0], 200.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "left", "right"),
    [(abs, -1.0, 1.0), (lambda x: np.maximum(x, 0), 0.0, 1.0), (np.sin, 1.0, 1.0)],
)
def test_both_sides_of_a_kink(f, left, right):
    for u in (1.0, -1.0, 2.0):
        found = one_sided(along(f, 0.0, u), 1.0)
        expected = (left * u, right * u) if u > 0 else (right * u, left * u)
        np.testing.assert_allclose([found[0][0], found[1][0]], expected, atol=1e-6)


def test_directions_have_shape_and_dtype_and_follow_the_seed():
    like = [np.zeros((2, 3)), np.float32(1), np.zeros(2, complex), np.zeros(0)]
    first = directions(like, np.random.default_rng(3))
    again = directions(like, np.random.default_rng(3))
    for a, b, x in zip(first, again, like, strict=True):
        assert (np.shape(a), a.dtype) == (np.shape(x), x.dtype)
        np.testing.assert_array_equal(a, b)
    assert np.all(first[2].imag != 0), "a complex lane moves in both directions"
    assert np.all(first[0] != directions(like, np.random.default_rng(4))[0])


@given(st.complex_numbers(max_magnitude=10), st.complex_numbers(max_magnitude=10))
def test_inner_is_the_real_inner_product_of_the_plane(z, w):
    """Re conj(z)·w, summed: what makes a complex gradient point uphill."""
    expected = z.real * w.real + z.imag * w.imag
    assert inner([np.array([z, 1.0])], [np.array([w, 2.0])]) == pytest.approx(expected + 2.0)
    assert isinstance(inner([np.float64(1)], [np.float64(2)]), float)
