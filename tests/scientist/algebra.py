"""Linear algebra: systems, factors, functions of matrices; sparse ones too."""

from __future__ import annotations

import numpy as plain
import scipy.sparse as plain_sparse

from tests.scientist.snippet import snippet

X3, X4, X6 = [0.7, 1.3, 2.1], [0.7, 1.3, 2.1, 0.4], [0.3, 1.2, 0.8, 2.0, 1.5, 0.6]
LAPLACE = plain_sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(6, 6)).tocsr()
INCIDENCE = plain_sparse.csr_array(plain.array([[1.0, -1, 0, 0], [0, 1, -1, 0], [0, 0, 1, -1]]))


def spd(np, x):
    a = x.reshape(2, -1)
    return a @ a.T + np.eye(2)


@snippet(X6)
def log_determinant(np, scipy, x):
    return np.linalg.slogdet(spd(np, x))[1]


@snippet(X6)
def solve_numpy(np, scipy, x):
    return np.sum(np.linalg.solve(spd(np, x), x[:2]))


@snippet(X6)
def solve_scipy(np, scipy, x):
    return np.sum(scipy.linalg.solve(spd(np, x), x[:2], assume_a="pos"))


@snippet(X6)
def cholesky_factor(np, scipy, x):
    c = scipy.linalg.cho_factor(spd(np, x))
    return x[:2] @ scipy.linalg.cho_solve(c, x[:2])


@snippet(X6)
def whitened(np, scipy, x):
    factor = np.linalg.cholesky(spd(np, x))
    z = scipy.linalg.solve_triangular(factor, x[:2], lower=True)
    return np.sum(z**2) + 2 * np.sum(np.log(np.diag(factor)))


@snippet(X4)
def determinant(np, scipy, x):
    return scipy.linalg.det(x.reshape(2, 2) + 2 * np.eye(2))


@snippet(X4)
def inverse(np, scipy, x):
    return np.sum(scipy.linalg.inv(x.reshape(2, 2) + 2 * np.eye(2)))


@snippet(X4)
def matrix_exponential(np, scipy, x):
    return np.sum(scipy.linalg.expm(x.reshape(2, 2)))


@snippet(X6)
def matrix_logarithm(np, scipy, x):
    return np.trace(scipy.linalg.logm(spd(np, x)))


@snippet(X6)
def matrix_square_root(np, scipy, x):
    return np.sum(scipy.linalg.sqrtm(spd(np, x)))


@snippet(X6)
def eigenvalue_gap(np, scipy, x):
    w = scipy.linalg.eigvalsh(spd(np, x))
    return w[1] - w[0]


@snippet(X6)
def eigenvalues_numpy(np, scipy, x):
    w, v = np.linalg.eigh(spd(np, x))
    return w[1] * v[0, 1] ** 2


@snippet(X6)
def singular_values(np, scipy, x):
    return np.sum(scipy.linalg.svdvals(x.reshape(2, 3)))


@snippet(X6)
def low_rank_error(np, scipy, x):
    u, s, vt = np.linalg.svd(x.reshape(2, 3), full_matrices=False)
    best = s[0] * np.outer(u[:, 0], vt[0])
    return np.sum((x.reshape(2, 3) - best) ** 2)


@snippet(X6)
def least_squares(np, scipy, x):
    a = np.stack([np.ones(6), np.arange(6.0)], axis=1)
    return np.sum(scipy.linalg.lstsq(a, x)[0] ** 2)


@snippet(X6)
def normal_equations(np, scipy, x):
    a = np.stack([np.ones(6), np.arange(6.0)], axis=1)
    return np.sum(np.linalg.pinv(a.T @ a) @ (a.T @ x))


@snippet(X6)
def orthogonal_factor(np, scipy, x):
    _, r = np.linalg.qr(x.reshape(3, 2))
    return np.sum(np.abs(np.diag(r)))


@snippet(X4)
def lu_of_a_matrix(np, scipy, x):
    _, lower, upper = scipy.linalg.lu(x.reshape(2, 2) + 2 * np.eye(2))
    return np.sum(np.diag(upper)) + lower[1, 0]


@snippet(X4)
def lu_reused(np, scipy, x):
    factors = scipy.linalg.lu_factor(x.reshape(2, 2) + 2 * np.eye(2))
    y = scipy.linalg.lu_solve(factors, x[:2])
    return np.sum(scipy.linalg.lu_solve(factors, y))


@snippet(X4)
def toeplitz_system(np, scipy, x):
    return np.sum(np.linalg.solve(scipy.linalg.toeplitz(x) + 5 * np.eye(4), np.ones(4)))


@snippet(X4)
def banded_system(np, scipy, d):
    bands = np.stack([np.full(4, -0.3), 3.0 + d, np.full(4, -0.4)])
    return np.sum(scipy.linalg.solve_banded((1, 1), bands, np.ones(4)))


@snippet(X4)
def blocks(np, scipy, x):
    return np.sum(scipy.linalg.block_diag(x[:2].reshape(1, 2), np.diag(x[2:])) ** 3)


@snippet(X4)
def kronecker(np, scipy, x):
    return np.linalg.det(np.kron(x.reshape(2, 2), np.eye(2)) + np.eye(4))


@snippet(X4)
def lyapunov(np, scipy, x):
    a = x.reshape(2, 2) + 3 * np.eye(2)
    return np.trace(scipy.linalg.solve_continuous_lyapunov(a, np.eye(2)))


@snippet(X4)
def operator_norm(np, scipy, x):
    return scipy.linalg.norm(x.reshape(2, 2), 2) + np.linalg.cond(x.reshape(2, 2))


@snippet(X4)
def page_rank(np, scipy, x):
    links = np.abs(x.reshape(2, 2))
    links = links / links.sum(axis=0)
    r = np.ones(2) / 2
    for _ in range(20):
        r = 0.85 * links @ r + 0.15 / 2
    return r[0] ** 2


@snippet(X6)
def sparse_product(np, scipy, x):
    return np.sum((LAPLACE @ x) ** 2)


@snippet(X6)
def sparse_transposed(np, scipy, x):
    return np.sum((LAPLACE.T @ x) ** 3)


@snippet(X6)
def sparse_dot(np, scipy, x):
    return x @ LAPLACE.dot(x)


@snippet(X6)
def sparse_from_the_left(np, scipy, x):
    return np.sum((x @ LAPLACE) ** 2)


@snippet(X4)
def graph_energy(np, scipy, x):
    return np.sum((INCIDENCE @ x) ** 2) + np.sum(np.abs(INCIDENCE.T @ (INCIDENCE @ x)))


@snippet(X6)
def implicit_heat_step(np, scipy, u):
    for _ in range(3):
        u = scipy.sparse.linalg.spsolve(LAPLACE, u)
    return np.sum(u**2)


@snippet(X6)
def factorised_heat_step(np, scipy, u):
    lu = scipy.sparse.linalg.splu(LAPLACE.tocsc())
    for _ in range(3):
        u = lu.solve(u)
    return np.sum(u**2)


@snippet(X6)
def conjugate_gradients(np, scipy, b):
    x, _ = scipy.sparse.linalg.cg(LAPLACE, b, rtol=1e-12)
    return np.sum(x**2)


@snippet(X4)
def conductivities(np, scipy, k):
    a = scipy.sparse.diags([-k[:3], k + 3.0, -k[:3]], [-1, 0, 1]).tocsr()
    return np.sum(scipy.sparse.linalg.spsolve(a, np.ones(4)))


@snippet(X4)
def stiffness_by_elements(np, scipy, k):
    i, j = np.array([0, 1, 2, 3, 0, 1, 2]), np.array([0, 1, 2, 3, 1, 2, 3])
    data = np.concatenate([k + 2.0, 0.3 * k[:3]])
    a = scipy.sparse.csr_matrix((data, (i, j)), shape=(4, 4))
    return np.sum((a @ np.arange(4.0)) ** 2)
