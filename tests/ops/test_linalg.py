"""Linear systems (`lu.py`), determinants, least squares, matrix functions, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr
from tests.ops.table import assert_derivatives

RNG = np.random.default_rng(3)


def regular(n: int, *stack: int) -> np.ndarray:
    return RNG.standard_normal((*stack, n, n)) + n * np.eye(n)


def symmetric(n: int) -> np.ndarray:
    root = regular(n)
    return root @ root.T


# -- determinants of singular matrices ---------------------------------------------------------


def cofactors(m: np.ndarray) -> np.ndarray:
    """By definition, from minors."""
    n = len(m)
    minor = [[np.delete(np.delete(m, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return np.array(
        [[(-1) ** (i + j) * np.linalg.det(minor[i][j]) for j in range(n)] for i in range(n)]
    )


SINGULAR = {
    "counted": np.arange(1.0, 10.0).reshape(3, 3),
    "exactly, rank 2": np.diag([1.0, 2.0, 0.0]),
    "rank 1": np.ones((3, 3)),
    "zero": np.zeros((3, 3)),
    "rank 3 of 4": np.diag([1e3, 1.0, 1e-3, 0.0]) + np.triu(np.ones((4, 4)), 1) * 0.5,
}


@pytest.mark.parametrize("m", SINGULAR.values(), ids=SINGULAR.keys())
def test_det_of_a_singular_matrix_has_its_cofactors_as_gradient(m):
    expected = cofactors(m)
    scale = 1 + np.abs(expected).max()
    np.testing.assert_allclose(cr.grad(np.linalg.det)(m), expected, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("m", SINGULAR.values(), ids=SINGULAR.keys())
def test_det_of_a_singular_matrix_has_a_hessian(m):
    """∂²det/∂mᵢₖ∂mⱼₗ is a minor with two rows and columns less: no singularity anywhere."""
    n = len(m)
    hessian = cr.hessian(np.linalg.det)(m)
    step = 1e-3

    def bumped(*moves):
        x = m.copy()
        for i, j, by in moves:
            x[i, j] += by
        return np.linalg.det(x)

    for i, j, k, p in [
        (0, 0, 1, 1),
        (0, 1, 1, 0),
        (n - 1, n - 1, 0, 0),
        (0, 0, 0, 1),
        (1, 2, 2, 1),
    ]:
        expected = sum(
            a * b * bumped((i, j, a * step), (k, p, b * step)) for a in (1, -1) for b in (1, -1)
        ) / (4 * step**2)  # exact: det is linear in each entry
        assert abs(hessian[i, j, k, p] - expected) < 1e-7 * (1 + abs(expected))


def test_the_third_derivative_of_det_exists_for_regular_matrices_only():
    def third(m):
        second = cr.jacobian(cr.grad(np.linalg.det))
        return cr.jacobian(second)(m)

    m = regular(3)
    expected = np.linalg.det(np.eye(3))  # ∂³det/∂m₀₀∂m₁₁∂m₂₂ = 1
    assert abs(third(m)[0, 0, 1, 1, 2, 2] - expected) < 1e-9
    with pytest.raises(cr.errors.LinearAlgebraError, match="third derivative of det"):
        third(SINGULAR["counted"])


def test_slogdet_of_a_singular_matrix_has_no_derivative():
    with pytest.raises(cr.errors.LinearAlgebraError, match="slogdet"):
        cr.grad(lambda m: np.linalg.slogdet(m)[1])(np.ones((2, 2)))


def test_results_have_numpy_s_names():
    m = cr.variable(symmetric(3))
    assert np.linalg.slogdet(m).logabsdet.shape == ()
    assert np.linalg.eigh(m).eigenvalues.shape == (3,)
    assert np.linalg.eig(m).eigenvectors.shape == (3, 3)
    assert np.linalg.svd(m).Vh.shape == (3, 3)
    assert np.linalg.qr(m).R.shape == (3, 3)


# -- systems -----------------------------------------------------------------------------------


def test_solve_solves_once_for_both_gradients(monkeypatch):
    a, b = regular(4), RNG.standard_normal(4)
    solve, calls = np.linalg.solve, []
    from chainrule.ops.linalg import solve_system

    def counted(*args):
        calls.append(args)
        return solve(*args)

    monkeypatch.setitem(solve_system.__dict__, "forward", counted)
    x = solve(a, b)
    for_a, for_b = cr.grad(lambda a, b: np.sum(np.linalg.solve(a, b)), argnums=(0, 1))(a, b)
    np.testing.assert_allclose(for_b, solve(a.T, np.ones(4)), rtol=1e-12)
    np.testing.assert_allclose(for_a, -np.outer(for_b, x), rtol=1e-12)
    assert len(calls) == 2  # forward and backward


def test_a_singular_system_names_the_line():
    with pytest.raises(cr.errors.LinearAlgebraError) as caught:
        np.linalg.solve(cr.variable(np.ones((2, 2))), np.ones(2))
    assert "test_linalg.py" in str(caught.value)
    assert isinstance(caught.value, np.linalg.LinAlgError)


def test_a_matrix_given_as_lists():
    x = cr.variable(np.array([3.0, 4.0]))
    np.testing.assert_allclose(np.linalg.solve([[2.0, 0.0], [0.0, 4.0]], x).value, [1.5, 1.0])


def test_the_hessian_of_trace_inv():
    a = np.diag([1.0, 2.0])
    hessian = cr.hessian(lambda a: np.trace(np.linalg.inv(a)))(a)
    d = np.array([1.0, 0.5])  # tr(a⁻¹) bends by 2 tr(a⁻¹ u a⁻¹ u a⁻¹)
    u = RNG.standard_normal((2, 2))
    bend = np.einsum("ij,ijkl,kl->", u, hessian, u)
    expected = 2 * np.einsum("i,ij,j,ji,i->", d, u, d, u, d)
    np.testing.assert_allclose(bend, expected, rtol=1e-12)


def test_solve_triangular_does_not_see_the_other_triangle():
    lower = np.tril(regular(3))
    spoiled = lower + np.triu(np.full((3, 3), np.nan), 1)
    b = RNG.standard_normal((2, 3, 1))

    def f(a):
        return np.sum(cr.solve_triangular(a, b[0], lower=True) ** 2)

    found = cr.grad(f)(spoiled)
    np.testing.assert_allclose(found, cr.grad(f)(lower), rtol=1e-13)
    assert np.array_equal(found, np.tril(found))
    stacked = cr.grad(lambda a: np.sum(cr.solve_triangular(a, b, lower=True)))(spoiled)
    assert np.all(np.isfinite(stacked))


def test_cholesky_has_its_gradient_in_the_triangle_it_reads():
    a = symmetric(3)

    def log_det(a, **attrs):
        factor = np.linalg.cholesky(a, **attrs)
        return 2 * np.sum(np.log(np.diagonal(factor)))

    full = np.linalg.inv(a)
    lower = cr.grad(log_det)(a)
    np.testing.assert_allclose(lower, np.tril(2 * full) - np.diag(np.diag(full)), rtol=1e-11)
    upper = cr.grad(lambda a: log_det(a, upper=True))(a)
    np.testing.assert_allclose(upper, lower.T, rtol=1e-11)
    # Through a symmetric matrix it is the symmetric gradient.
    both = cr.grad(lambda a: log_det((a + a.T) / 2))(a)
    np.testing.assert_allclose(both, full, rtol=1e-11)


def test_cho_solve_is_solve():
    a, b = symmetric(3), RNG.standard_normal(3)

    def by_factor(a, b):
        return np.sum(np.sin(cr.cho_solve((np.linalg.cholesky((a + a.T) / 2), True), b)))

    def direct(a, b):
        return np.sum(np.sin(np.linalg.solve((a + a.T) / 2, b)))

    for found, expected in zip(
        cr.grad(by_factor, argnums=(0, 1))(a, b), cr.grad(direct, argnums=(0, 1))(a, b), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# -- least squares -----------------------------------------------------------------------------


def test_lstsq_is_the_normal_equations():
    a, b = RNG.standard_normal((5, 2)), RNG.standard_normal(5)

    def by_lstsq(a, b):
        x, residuals, _, s = np.linalg.lstsq(a, b)
        return np.sum(x**3) + np.sum(residuals) + np.sum(np.log(s))

    def by_hand(a, b):
        x = np.linalg.solve(a.T @ a, a.T @ b)
        log_s = 0.5 * np.linalg.slogdet(a.T @ a)[1]
        return np.sum(x**3) + np.sum((b - a @ x) ** 2) + log_s

    for found, expected in zip(
        cr.grad(by_lstsq, argnums=(0, 1))(a, b), cr.grad(by_hand, argnums=(0, 1))(a, b), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_lstsq_of_deficient_rank_has_no_residuals():
    a, b = np.ones((4, 2)), RNG.standard_normal(4)
    x, residuals, rank, _ = np.linalg.lstsq(cr.variable(a), b)
    assert (residuals.shape, int(rank.value)) == ((0,), 1)
    out, tangent = cr.jvp(lambda b: np.linalg.lstsq(a, b)[0], (b,), (np.ones(4),))
    np.testing.assert_allclose(tangent, [0.5, 0.5], rtol=1e-12)
    np.testing.assert_allclose(out, x.value)


def test_pinv_of_constant_rank():
    left, right = RNG.standard_normal((4, 2)), RNG.standard_normal((2, 3))
    assert_derivatives(lambda p, q: (np.linalg.pinv(p @ q),), [left, right], "pinv of rank 2")


# -- functions of a matrix -----------------------------------------------------------------------


def test_expm_of_t_a_has_every_derivative_in_t():
    a = RNG.standard_normal((3, 3)) / 2

    def f(t):
        return np.sum(cr.expm(t * a))

    expected, derivative = np.linalg.matrix_power(a, 3) @ cr.expm(0.7 * a), f
    for _ in range(3):
        derivative = cr.grad(derivative)
    np.testing.assert_allclose(derivative(0.7), np.sum(expected), rtol=1e-10)


def test_logm_undoes_expm():
    a = RNG.standard_normal((3, 3)) / 3
    jacobian = cr.jacobian(lambda a: cr.logm(cr.expm(a)))(a).reshape(9, 9)
    np.testing.assert_allclose(jacobian, np.eye(9), atol=1e-10)


def test_sqrtm_squares_back():
    a = symmetric(3)
    jacobian = cr.jacobian(lambda a: np.linalg.matrix_power(cr.sqrtm(a), 2))(a).reshape(9, 9)
    np.testing.assert_allclose(jacobian, np.eye(9), atol=1e-10)


def test_a_zeroth_power_is_constant():
    x = cr.variable(np.full((2, 2), np.inf))
    y = np.linalg.matrix_power(x, 0)
    np.testing.assert_array_equal(y.value, np.eye(2))
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, np.zeros((2, 2)))


def test_a_complex_root_of_a_real_matrix_is_refused():
    with pytest.raises(cr.errors.ArgumentError, match=r"astype\(complex\)"):
        cr.sqrtm(cr.variable(-np.eye(2)))


def test_cond_of_a_singular_matrix_is_infinite():
    assert np.linalg.cond(cr.variable(np.diag([1.0, 0.0]))).value == np.inf
    with pytest.raises(cr.errors.LinearAlgebraError, match="cond of a singular matrix"):
        np.linalg.cond(cr.variable(np.ones((2, 2))), 1)


def test_a_logarithm_draws_none_of_the_numbers_that_all_code_shares():
    """SciPy's does, to estimate a norm: under vmap that would look like chance in the function."""
    a = 2 * np.eye(4) + 0.1 * np.arange(16.0).reshape(4, 4)
    before = np.random.get_state()[2]  # noqa: NPY002
    cr.logm(a)
    cr.vmap(cr.logm)(np.stack([a, 2 * a, 3 * a]))
    assert np.random.get_state()[2] == before  # noqa: NPY002
