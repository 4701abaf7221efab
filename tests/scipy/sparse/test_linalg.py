"""`linalg.py`, `matrices.py` of scipy.sparse, `cr.sparse_values`: against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import chainrule as cr
from chainrule import scipy as csp
from chainrule.ops import sparse
from tests.scipy.alike import differentiates

rng = np.random.default_rng(0)
DENSE = np.where(rng.random((5, 5)) < 0.4, rng.normal(size=(5, 5)), 0.0) + 4 * np.eye(5)
SYMMETRIC = DENSE + DENSE.T
X, B = rng.normal(size=5), rng.normal(size=(5, 2))
KINDS = (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix, sp.dia_array)


def same_as_dense(f, dense, *args):
    """f with the sparse matrix has the gradient of f with the dense one."""
    wanted = cr.grad(lambda *a: f(dense, *a), argnums=tuple(range(len(args))))(*args)
    return lambda matrix: [
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)
        for g, w in zip(
            cr.grad(lambda *a: f(matrix, *a), argnums=tuple(range(len(args))))(*args),
            wanted,
            strict=True,
        )
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: np.sum((a @ x) ** 2),
        lambda a, x: np.sum((a.T @ x) ** 2),
        lambda a, x: np.sum((x @ a) ** 2),
        lambda a, x: np.sum(a.tocsr().dot(x) ** 2 if sp.issparse(a) else a.dot(x) ** 2),
        lambda a, x: np.sum((a @ np.outer(x, x)) ** 2),
        lambda a, x: np.sum((np.outer(x, x) @ a) ** 2),
    ],
)
def test_products_of_scipys_own_classes(kind, f):
    same_as_dense(f, DENSE, X)(kind(DENSE))


def test_a_star_is_what_it_is_in_scipy():
    same_as_dense(lambda a, x: np.sum((a * x) ** 2), DENSE, X)(sp.csr_array(DENSE))
    matrix = sp.csr_matrix(DENSE)
    found = cr.grad(lambda x: np.sum((matrix * x) ** 2))(X)
    np.testing.assert_allclose(found, 2 * DENSE.T @ DENSE @ X)
    same_as_dense(lambda a, x: np.sum((a + x) ** 2) + np.sum((x - a) ** 2), DENSE, X)(
        sp.csr_array(DENSE)
    )


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_values_of_a_matrix(kind):
    matrix = kind(DENSE)

    def f(data, x):
        a = cr.sparse_values(matrix, data)
        return np.sum((a @ x) ** 2) + np.sum((2 * a.T @ x) ** 3) + np.sum(-(a.toarray() ** 2))

    differentiates(f, (matrix.data, X))
    np.testing.assert_allclose(cr.sparse_values(matrix).toarray(), DENSE)


def test_a_solve_factorises_once(monkeypatch):
    count = []
    theirs = scipy.sparse.linalg.splu
    monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda a: count.append(1) or theirs(a))
    sparse._factors.clear()
    matrix = sp.csr_array(DENSE)

    def f(data, b):
        return np.sum(csp.sparse.linalg.spsolve(cr.sparse_values(matrix, data), b) ** 2)

    cr.grad(f, argnums=(0, 1))(matrix.data, X)
    assert len(count) == 1


def solved(how):
    """A sum over the solution, as a function of the values and the right side."""
    matrix = sp.csr_array(SYMMETRIC)
    return matrix, lambda data, b: np.sum(how(cr.sparse_values(matrix, data), b) ** 2)


@pytest.mark.parametrize(
    "how",
    [
        csp.sparse.linalg.spsolve,
        lambda a, b: csp.sparse.linalg.splu(a).solve(b),
        lambda a, b: csp.sparse.linalg.splu(a).solve(b, "T"),
        lambda a, b: csp.sparse.linalg.factorized(a)(b),
        lambda a, b: csp.sparse.linalg.gmres(a, b, rtol=1e-13)[0],
        lambda a, b: csp.sparse.linalg.bicgstab(a.T, b, rtol=1e-13)[0],
    ],
    ids=["spsolve", "splu", "splu T", "factorized", "gmres", "bicgstab"],
)
def test_solves(how):
    matrix, f = solved(how)
    differentiates(f, (matrix.data, X))


@pytest.mark.parametrize("name", ["cg", "minres", "gmres"])
def test_iterative_solves_of_a_plain_matrix(name):
    matrix = sp.csr_array(SYMMETRIC)
    solve = getattr(csp.sparse.linalg, name)
    found = cr.grad(lambda b: np.sum(solve(matrix, b, rtol=1e-12)[0] ** 2))(X)
    inverse = np.linalg.inv(SYMMETRIC)
    np.testing.assert_allclose(found, 2 * inverse.T @ inverse @ X, rtol=1e-7)


def test_a_plain_matrix_and_a_right_side_of_columns():
    matrix = sp.csc_array(DENSE)
    for solve in (csp.sparse.linalg.spsolve, lambda a, b: csp.sparse.linalg.splu(a).solve(b)):
        differentiates(lambda b, solve=solve: np.sum(solve(matrix, b) ** 2), (B,))
    np.testing.assert_array_equal(
        csp.sparse.linalg.spsolve(matrix, X), scipy.sparse.linalg.spsolve(matrix, X)
    )


def test_what_has_not_converged_raises():
    matrix = sp.csr_array(SYMMETRIC)
    with pytest.raises(cr.LinearAlgebraError, match="has not converged"):
        cr.grad(lambda b: np.sum(csp.sparse.linalg.cg(matrix, b, rtol=1e-14, maxiter=1)[0]))(X)


def test_matrices_made_of_variables():
    rows, columns = np.array([0, 1, 1, 2]), np.array([0, 1, 1, 2])  # one place twice

    def f(v, x):
        m = csp.sparse
        a = m.csr_array((v, (rows, columns)), shape=(3, 3))
        b = m.diags([v[:3], v[:2]], [0, 1])
        c = m.csc_array((v, np.array([0, 2, 1, 0]), np.array([0, 1, 2, 4])), shape=(3, 3))
        d = m.coo_matrix(np.outer(v[:3], v[:3]))
        return np.sum((a @ x + b @ x + c @ x + d @ x) ** 2)

    differentiates(f, (rng.normal(size=4), X[:3]))
    assert isinstance(sp.csr_array(DENSE), csp.sparse.csr_array)
    assert isinstance(csp.sparse.csr_array(DENSE), sp.csr_array)
    assert (csp.sparse.diags([1.0, 2.0]) != sp.diags([1.0, 2.0])).nnz == 0


def test_compiled_it_runs_as_plain_python_and_says_so():
    a = sp.csr_array(DENSE)
    compiled = cr.compile(cr.grad(lambda x: np.sum((a @ x) ** 2)))
    with pytest.warns(RuntimeWarning, match="whose inside cannot be watched"):
        compiled(X)
    np.testing.assert_allclose(compiled(2 * X), 4 * DENSE.T @ DENSE @ X)


def test_what_does_not_fit():
    with pytest.raises(cr.ShapeError, match="they do not fit"):
        cr.grad(lambda x: np.sum(sp.csr_array(DENSE) @ x))(X[:3])
    with pytest.raises(cr.ShapeError, match="values are stored"):
        cr.sparse_values(sp.csr_array(DENSE), X)
    with pytest.raises(cr.DTypeError, match="must be sparse"):
        cr.sparse_values(DENSE)
