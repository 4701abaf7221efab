"""Products: what NumPy accepts is accepted, shapes that do not fit are explained, NaN stays out."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr
from chainrule.ops.contraction import WORTH_A_MATRIX_PRODUCT

RNG = np.random.default_rng(7)
OF_THE_PLANE = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) >= "2.5.0", reason="NumPy 2.5 has dropped it"
)
A, B, C = RNG.standard_normal((2, 3)), RNG.standard_normal((3, 4)), RNG.standard_normal((4, 2))


def test_matmul_says_which_sizes_differ_and_on_which_line():
    inputs, W = cr.variable(np.ones((3, 3)), name="inputs"), cr.variable(np.ones((4, 2)), name="W")
    with pytest.raises(cr.ShapeError) as caught:
        inputs @ W
    assert "matmul of (3, 3) and (4, 2): the inner sizes 3 and 4 differ." in str(caught.value)
    assert "inputs @ W" in str(caught.value)
    assert "transpose" not in str(caught.value)


def test_matmul_suggests_the_transpose_where_it_fits():
    with pytest.raises(cr.ShapeError, match=r"stored \(out, in\), use its transpose"):
        cr.variable(np.ones((5, 3))) @ cr.variable(np.ones((4, 3)))


def test_matmul_of_a_number_suggests_multiplication():
    with pytest.raises(cr.ShapeError, match=r"multiply by it with \*"):
        np.matmul(cr.variable(np.ones(3)), 2.0)


def test_a_stack_times_one_matrix_has_the_gradient_of_the_flat_product():
    x, w, g = (RNG.standard_normal(s) for s in ((4, 2, 3), (3, 5), (4, 2, 5)))
    gradient = cr.grad(lambda w: np.sum(g * (x @ w)))(w)
    np.testing.assert_allclose(gradient, x.reshape(8, 3).T @ g.reshape(8, 5), rtol=1e-13)


@pytest.mark.parametrize(
    "product",
    [
        lambda x, w: x @ w,
        lambda x, w: np.dot(x, w),
        lambda x, w: np.tensordot(x, w, 1),
        lambda x, w: np.einsum("ij,j->i", x, w),
    ],
    ids=["matmul", "dot", "tensordot", "einsum"],
)
def test_rows_that_are_not_taken_do_not_reach_the_gradient(product):
    x, known = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, 4.0]]), np.array([True, False, True])

    def f(w):
        return np.sum(np.where(known, product(x, w), 0.0))

    np.testing.assert_array_equal(cr.grad(f)(np.ones(2)), [4.0, 6.0])
    np.testing.assert_array_equal(cr.hessian(f)(np.ones(2)), np.zeros((2, 2)))


def test_einsum_takes_every_way_of_calling_it():
    a, b = cr.variable(A), cr.variable(B)
    for found in (
        np.einsum("ij,jk->ik", a, b),
        np.einsum("ij,jk", a, B, optimize="optimal"),
        np.einsum(a, [0, 1], b, [1, 2], [0, 2]),
        np.einsum(A, [0, 1], b, [1, 2]),
        np.einsum("ij,jk->ik", a, B, optimize=["einsum_path", (0, 1)]),
    ):
        np.testing.assert_allclose(found.value, A @ B, rtol=1e-14)


def test_einsum_of_many_is_recorded_as_pairs():
    graph = cr.trace(lambda a, b, c: np.einsum("ij,jk,ki->", a, b, c), A, B, C)
    assert [n.op.name for n in graph.nodes if not n.is_leaf] == ["einsum_pair"] * 2
    grads = cr.grad(lambda a, b, c: np.einsum("ij,jk,ki->", a, b, c), argnums=(0, 1, 2))(A, B, C)
    for found, expected in zip(grads, ((B @ C).T, (C @ A).T, (A @ B).T), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_large_pair_is_the_same_by_matrix_product():
    a, b = RNG.standard_normal((5, 30, 8)), RNG.standard_normal((8, 5, 20))
    assert a.size * 20 > WORTH_A_MATRIX_PRODUCT
    found = np.einsum("bij,jbk->kbi", cr.variable(a), b).value
    np.testing.assert_allclose(found, np.einsum("bij,jbk->kbi", a, b), rtol=1e-12, atol=1e-12)


def test_the_transpose_of_a_trace_is_an_identity():
    square = RNG.standard_normal((3, 3))
    np.testing.assert_array_equal(cr.grad(lambda x: np.einsum("ii", x))(square), np.eye(3))
    picked = cr.grad(lambda x: np.einsum("ii->i", x)[1] ** 2)(square)
    np.testing.assert_array_equal(picked, np.diag([0, 2 * square[1, 1], 0]))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "reason"),
    [
        ("ij,jk->ik", [(2, 3), (2, 3)], "index 'j' has sizes 3 and 2"),
        ("ij->ii", [(2, 3)], "index 'i' is new or twice"),
        ("ij->ik", [(2, 3)], "index 'k' is new or twice"),
        ("i->i", [(2, 3)], "term 'i' stands for an operand of 2 axes"),
        ("...j->j", [(2, 3)], "needs '...'"),
        ("ij,jk->ik", [(2, 3)], "names 2 operands, 1 were given"),
    ],
)
def test_a_wrong_einsum_is_explained(subscripts, shapes, reason):
    with pytest.raises(cr.ChainruleError) as caught:
        np.einsum(subscripts, *(cr.variable(np.ones(s)) for s in shapes))
    assert reason in str(caught.value)
    assert "test_products.py" in str(caught.value)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@OF_THE_PLANE
def test_cross_of_vectors_in_the_plane():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert np.cross(cr.variable(a), b).value == -1.0
    np.testing.assert_array_equal(cr.grad(lambda a: np.cross(a, b))(a), [5.0, -3.0])
    mixed = np.cross(cr.variable(a), np.array([1.0, 2.0, 3.0])).value
    np.testing.assert_array_equal(mixed, [6.0, -3.0, 0.0])


@OF_THE_PLANE
def test_cross_of_vectors_in_the_plane_warns_as_numpy_does():
    with pytest.warns(DeprecationWarning, match="2-dimensional"):
        np.cross(cr.variable([1.0, 2.0]), [3.0, 5.0])
    with pytest.raises(cr.ShapeError, match="three components"):
        np.linalg.cross(cr.variable([1.0, 2.0]), [3.0, 5.0])


def test_multi_dot_of_two_is_dot():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(20.0).reshape(5, 4, 1)
    found = np.linalg.multi_dot([cr.variable(a), b])
    np.testing.assert_array_equal(found.value, np.linalg.multi_dot([a, b]))


def test_products_with_lists():
    x = cr.variable(np.array([1.0, 2.0]))
    assert np.dot([3.0, 4.0], x).value == 11.0
    np.testing.assert_array_equal((x @ [[1.0, 0.0], [0.0, 2.0]]).value, [1.0, 4.0])
    np.testing.assert_array_equal(np.outer(x, [1.0, 3.0]).value, [[1.0, 3.0], [2.0, 6.0]])


def test_multi_dot_multiplies_in_the_cheapest_order():
    tall, wide = np.ones((50, 1)), np.ones((1, 50))
    graph = cr.trace(lambda a, b, c: np.linalg.multi_dot([a, b, c]), tall, wide, tall)
    shapes = [n.shape for n in graph.nodes if not n.is_leaf]
    assert shapes == [(1, 1), (50, 1)]


def test_vdot_conjugates_its_first_operand():
    a, b = np.array([1 + 2j, 3j]), np.array([2 - 1j, 1 + 1j])
    gradient = cr.grad(lambda a: np.real(np.vdot(a, b)))(a)
    np.testing.assert_array_equal(gradient, b)
    np.testing.assert_array_equal(cr.grad(lambda a: np.real(np.vecdot(a, b)))(a), b)


def test_vecdot_keeps_dimensions():
    x = cr.variable(np.ones((2, 3)))
    assert np.vecdot(x, np.ones((2, 3)), axis=0, keepdims=True).shape == (1, 3)
