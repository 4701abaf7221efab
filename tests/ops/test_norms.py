"""Norms: kinks give 0 at order one and two, and every keyword of NumPy's is taken."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr

INF = np.inf
ORDERS = (None, 2, 1, INF, -INF, 3, 1.5, 0.5)
MATRIX_ORDERS = (None, "fro", "nuc", 1, -1, INF, -INF, 2, -2)


@pytest.mark.parametrize("order", ORDERS)
def test_a_vector_norm_at_zero_has_gradient_zero_whatever_comes_after(order):
    zero = np.zeros(3)
    np.testing.assert_array_equal(cr.grad(lambda x: np.linalg.norm(x, order))(zero), zero)
    steep = cr.grad(lambda x: np.sqrt(np.linalg.norm(x, order)))(zero)  # 0 · ∞
    np.testing.assert_array_equal(steep, zero)
    hessian = cr.hessian(lambda x: np.linalg.norm(x, order))(zero)
    assert np.all(np.isfinite(hessian))


@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_a_matrix_norm_at_zero_has_gradient_zero(order):
    zero = np.zeros((2, 3))
    np.testing.assert_array_equal(cr.grad(lambda x: np.linalg.norm(x, order))(zero), zero)


@pytest.mark.parametrize("order", [1.5, 3, 0.5])
def test_a_zero_among_others_is_a_kink_of_its_own(order):
    gradient = cr.grad(lambda x: np.linalg.norm(x, order))(np.array([0.0, 2.0]))
    np.testing.assert_allclose(gradient, [0.0, 1.0], rtol=1e-14)


def test_ties_share():
    half = np.diag([0.5, 0.5])
    np.testing.assert_allclose(cr.grad(lambda a: np.linalg.norm(a, 2))(np.eye(2)), half)
    np.testing.assert_allclose(cr.grad(lambda a: np.linalg.norm(a, -2))(np.eye(2)), half)
    tied = cr.grad(lambda x: np.linalg.norm(x, INF))(np.array([3.0, -3.0, 1.0]))
    np.testing.assert_array_equal(tied, [0.5, -0.5, 0.0])


def test_the_nuclear_norm_leaves_zero_singular_values_alone():
    gradient = cr.grad(lambda a: np.linalg.norm(a, "nuc"))(np.diag([2.0, 2.0, 0.0]))
    np.testing.assert_allclose(gradient, np.diag([1.0, 1.0, 0.0]), atol=1e-15)


def test_the_gradient_of_a_norm_does_not_overflow_before_it_must():
    x = np.array([3e150, 4e150])
    np.testing.assert_allclose(cr.grad(np.linalg.norm)(x), [0.6, 0.8], rtol=1e-15)


def test_the_hessian_of_the_euclidean_norm():
    x = np.array([3.0, 4.0])
    expected = np.eye(2) / 5 - np.outer(x, x) / 125
    np.testing.assert_allclose(cr.hessian(np.linalg.norm)(x), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda x: np.linalg.norm(x, ord=1, axis=-1, keepdims=True), (2, 3, 1)),
        (lambda x: np.linalg.norm(x, axis=(0, 2)), (3,)),
        (lambda x: np.linalg.norm(x, "nuc", (2, 0), True), (1, 3, 1)),
        (lambda x: np.linalg.vector_norm(x, axis=(0, 1), ord=3, keepdims=True), (1, 1, 4)),
        (lambda x: np.linalg.matrix_norm(x, ord=-2, keepdims=True), (2, 1, 1)),
    ],
)
def test_numpy_s_keywords(call, shape):
    x = np.random.default_rng(1).standard_normal((2, 3, 4))
    found = call(cr.variable(x))
    assert found.shape == shape
    np.testing.assert_allclose(found.value, call(x), rtol=1e-13)


def test_integers_and_counts():
    assert np.linalg.norm(cr.variable(np.array([3.0, 0.0, 4.0])), 0).value == 2.0
    assert cr.norm(np.array([3, 4])) == 5.0


@pytest.mark.parametrize(
    ("shape", "attrs", "reason"),
    [
        ((3,), {"ord": "fro"}, "norm of matrices"),
        ((2, 2), {"ord": 3}, "not a norm of matrices"),
        ((2, 2, 2), {"ord": 2}, "the two of a matrix"),
        ((2, 2), {"axis": (0, 0)}, "repeated axis"),
        ((3,), {"axis": 1}, "axis 1 is out of bounds"),
    ],
)
def test_a_norm_that_does_not_exist_is_explained(shape, attrs, reason):
    with pytest.raises(cr.ChainruleError) as caught:
        np.linalg.norm(cr.variable(np.ones(shape)), **attrs)
    assert reason in str(caught.value)
    assert "test_norms.py" in str(caught.value)
