"""functions.py of scipy.linalg: each against SciPy's own value and against differences."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr
from chainrule import scipy as csp
from tests.scipy.alike import agrees, case

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
B = rng.normal(size=(3, 2))
b = rng.normal(size=3)
S = A @ A.T
T = rng.normal(size=(4, 2))
BAND = np.array([[0.0, 0.3, -0.2, 0.5], [3.0, 4.0, 5.0, 4.5], [0.4, -0.6, 0.7, 0.0]])
SOLVES = ("general", "symmetric", "hermitian", "positive definite", "diagonal", "tridiagonal",
          "upper triangular", "lower triangular")  # fmt: skip
SHAPED = {
    "symmetric": S, "hermitian": S, "positive definite": S, "diagonal": np.diag(np.diag(A)),
    "tridiagonal": np.triu(np.tril(A, 1), -1), "upper triangular": np.triu(A),
    "lower triangular": np.tril(A),
}  # fmt: skip

CASES = [
    *(case(f"solve {k}", lambda m, a, b, k=k: m.solve(a, b, assume_a=k), SHAPED.get(k, A), b)
      for k in SOLVES),
    case("solve columns", lambda m, a, b: m.solve(a, b), A, B),
    case("solve transposed", lambda m, a, b: m.solve(a, b, transposed=True), A, b),
    case("solve pos lower", lambda m, a, b: m.solve(a, b, lower=True, assume_a="pos"), S, b),
    case("inv", lambda m, a: m.inv(a), A),
    case("det", lambda m, a: m.det(a), A),
    case("cholesky", lambda m, a: m.cholesky(a), S),
    case("cholesky lower", lambda m, a: m.cholesky(a, lower=True), S),
    case("cho_solve", lambda m, a, b: m.cho_solve(m.cho_factor(a), b), S, b),
    case("cho_solve lower", lambda m, a, b: m.cho_solve(m.cho_factor(a, lower=True), b), S, B),
    case("solve_triangular", lambda m, a, b: m.solve_triangular(a, b), A, b),
    case("solve_triangular lower", lambda m, a, b: m.solve_triangular(a, b, "T", True), A, B),
    case("lu", lambda m, a: m.lu(a), A[[2, 0, 1]]),
    case("lu permuted", lambda m, a: m.lu(a, permute_l=True), A[[2, 0, 1]]),
    case("lu indices", lambda m, a: m.lu(a, p_indices=True)[1:], A[[2, 0, 1]]),
    case("lu_factor", lambda m, a: m.lu_factor(a)[0], A[[1, 2, 0]]),
    case("lu_solve", lambda m, a, b: m.lu_solve(m.lu_factor(a), b), A[[1, 2, 0]], b),
    case("lu_solve T", lambda m, a, b: m.lu_solve(m.lu_factor(a), b, trans=1), A[[1, 2, 0]], B),
    case("expm", lambda m, a: m.expm(a), A / 3),
    case("logm", lambda m, a: m.logm(a), S),
    case("sqrtm", lambda m, a: m.sqrtm(a), S),
    case("svdvals", lambda m, a: m.svdvals(a), T),
    case("svd values", lambda m, a: m.svd(a, compute_uv=False), A),
    case("svd rebuilt", lambda m, a: (lambda u, s, v: u @ np.diag(s**2) @ v)(*m.svd(a)), A),
    case("eigvalsh", lambda m, a: m.eigvalsh(a), S),
    case("eigvalsh generalised", lambda m, a, b: m.eigvalsh(a, b), A + A.T, S),
    case("eigvalsh subset", lambda m, a: m.eigvalsh(a, subset_by_index=(1, 2)), S),
    case("eigh projector", lambda m, a: (lambda w, v: np.outer(v[:, 0], v[:, 0]))(*m.eigh(a)), S),
    case("eigh generalised", lambda m, a, b: (lambda w, v: np.outer(v[:, 2], v[:, 2]))(
        *m.eigh(a, b)), A + A.T, S),
    case("eigvals", lambda m, a: np.sort(np.abs(m.eigvals(a))), A),
    case("qr economic", lambda m, a: m.qr(a, mode="economic"), T),
    case("qr r", lambda m, a: m.qr(a, mode="r"), T),
    case("qr square", lambda m, a: m.qr(a), A),
    case("polar", lambda m, a: m.polar(a), A),
    case("polar left", lambda m, a: m.polar(a, side="left"), A),
    case("lstsq", lambda m, a, b: m.lstsq(a, b)[0], T, rng.normal(size=4)),
    case("lstsq residues", lambda m, a, b: m.lstsq(a, b)[1], T, rng.normal(size=4)),
    case("pinv", lambda m, a: m.pinv(a), T),
    case("null_space projector", lambda m, a: (lambda n: n @ n.T)(m.null_space(a)), T.T),
    case("norm", lambda m, a: m.norm(a), A),
    case("norm 1", lambda m, a: m.norm(a, 1), A),
    case("norm rows", lambda m, a: m.norm(a, axis=1), A),
    case("toeplitz", lambda m, c: m.toeplitz(c), b),
    case("toeplitz two", lambda m, c, r: m.toeplitz(c, r), b, rng.normal(size=4)),
    case("hankel", lambda m, c, r: m.hankel(c, r), b, rng.normal(size=4)),
    case("circulant", lambda m, c: m.circulant(c), b),
    case("block_diag", lambda m, a, c, d: m.block_diag(a, c, d), A, b, np.float64(0.5)),
    case("solve_banded", lambda m, ab, b: m.solve_banded((1, 1), ab, b), BAND, rng.normal(size=4)),
    case("solve_banded columns", lambda m, ab, b: m.solve_banded((1, 1), ab, b), BAND, T),
    case("solveh_banded", lambda m, ab, b: m.solveh_banded(ab, b), BAND[:2], rng.normal(size=4)),
    case("solveh_banded lower", lambda m, ab, b: m.solveh_banded(ab, b, lower=True), BAND[1:], T),
    case("solve_toeplitz", lambda m, c, b: m.solve_toeplitz(c, b), A[0] + 3 * np.eye(3)[0], b),
    case("solve_circulant", lambda m, c, b: m.solve_circulant(c, b), A[0] + 3 * np.eye(3)[0], b),
    case("solve_sylvester", lambda m, a, b, q: m.solve_sylvester(a, b, q), A, S, A),
    case("lyapunov", lambda m, a, q: m.solve_continuous_lyapunov(a, q), A, S),
    case("discrete lyapunov", lambda m, a, q: m.solve_discrete_lyapunov(a, q), A / 9, S),
]  # fmt: skip


@pytest.mark.parametrize("a", CASES, ids=str)
def test_value_and_derivatives(a):
    agrees("linalg", a)


def test_what_is_not_covered_names_itself():
    with pytest.raises(cr.UnsupportedError, match=r"scipy.linalg.cosm"):
        cr.grad(lambda a: np.sum(csp.linalg.cosm(a)))(A)


def test_a_singular_matrix_is_named_with_the_line():
    with pytest.raises(cr.LinearAlgebraError, match="test_functions"):
        cr.grad(lambda a: np.sum(csp.linalg.lu_factor(a)[0]))(np.zeros((2, 2)))


def test_no_structure_of_that_name():
    with pytest.raises(cr.ArgumentError, match="assume_a='square'"):
        cr.grad(lambda a: np.sum(csp.linalg.solve(a, b, assume_a="square")))(A)
