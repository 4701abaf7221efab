"""QR, eigenvalues, singular values: choices of basis, coinciding values, complex matrices."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr
from tests.ops.table import assert_close, assert_derivatives, central_difference

RNG = np.random.default_rng(11)
Q = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
G = RNG.standard_normal((3, 3))
K = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))
U = np.linalg.qr(K)[0]
looks_twice = pytest.mark.skipif(
    not hasattr(cr.Variable, "along"), reason="the engine does not repeat a walk on Variables yet"
)
REPEATED = {
    "identity": np.eye(3),
    "a pair": np.diag([1.0, 1.0, 2.0]),
    "a pair, turned": Q @ np.diag([1.0, 1.0, 2.0]) @ Q.T,
}
FUNCTIONS = {"w": lambda w: w, "exp": np.exp, "log": np.log, "zero": lambda w: w - 1}
repeated = pytest.mark.parametrize("a", REPEATED.values(), ids=REPEATED.keys())


def symmetrised(a):
    return (a + np.conj(np.transpose(a))) / 2


def assert_gradient(f, a):
    """The gradient against central differences along every entry, real and imaginary."""
    found, units = cr.grad(f)(a), np.eye(a.size).reshape(a.size, *a.shape)
    expected = np.array([central_difference(lambda x: (f(x),), [a], [u])[0] for u in units])
    if a.dtype.kind == "c":
        turned = [central_difference(lambda x: (f(x),), [a], [1j * u])[0] for u in units]
        expected = expected + 1j * np.array(turned)
    assert_close([found], [expected.reshape(a.shape)], "gradient", 1e-7)


# -- the triangle that is read -------------------------------------------------------------------


def test_eigh_has_its_gradient_in_the_triangle_it_reads():
    a, c = symmetrised(G), np.array([1.0, 2.0, 4.0])
    full = (lambda v: (v * c) @ v.T)(np.linalg.eigh(a)[1])
    lower = cr.grad(lambda a: c @ np.linalg.eigvalsh(a))(a)
    np.testing.assert_allclose(lower, np.tril(2 * full) - np.diag(np.diag(full)), atol=1e-13)
    upper = cr.grad(lambda a: c @ np.linalg.eigvalsh(a, UPLO="U"))(a)
    np.testing.assert_allclose(upper, lower.T, atol=1e-13)
    through = cr.grad(lambda a: c @ np.linalg.eigvalsh((a + a.T) / 2))(a)
    np.testing.assert_allclose(through, full, atol=1e-13)


# -- coinciding eigenvalues ------------------------------------------------------------------------


@repeated
def test_a_symmetric_function_of_repeated_eigenvalues(a):
    gradient = cr.grad(lambda a: np.sum(np.exp(np.linalg.eigvalsh(symmetrised(a)))))(a)
    np.testing.assert_allclose(gradient, cr.expm(a), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        cr.grad(lambda a: np.trace(a) + np.sum(np.linalg.eigvalsh(a)))(a), 2 * np.eye(3), atol=1e-13
    )


def test_one_of_several_equal_eigenvalues_is_a_kink_and_they_share():
    largest = cr.grad(lambda a: np.linalg.eigvalsh(a)[-1])(np.eye(3))
    np.testing.assert_allclose(largest, np.eye(3) / 3, atol=1e-15)
    graph = cr.trace(lambda a: np.linalg.eigvalsh(a)[-1], np.eye(3))
    run = graph.forward(np.eye(3)).backward()
    assert run.status("a") == "kink"


@repeated
def test_forward_mode_knows_the_values_and_refuses_the_vectors(a):
    direction = symmetrised(G)
    _, tangent = cr.jvp(lambda a: np.sum(np.linalg.eigvalsh(a)), (a,), (direction,))
    np.testing.assert_allclose(tangent, np.trace(direction), rtol=1e-12)
    with pytest.raises(cr.errors.DegenerateError, match="eigenvalues 0 and 1 coincide"):
        cr.jvp(lambda a: np.linalg.eigh(a)[1], (a,), (direction,))


@repeated
def test_a_choice_among_the_eigenvectors_is_refused(a):
    with pytest.raises(cr.errors.DegenerateError, match=r"coincide \("):
        cr.grad(lambda a: np.linalg.eigh(a)[1][0, 0])(a)
    with pytest.raises(cr.errors.DegenerateError):
        cr.grad(lambda a: np.sum(G * np.linalg.eigh(a)[1]))(a)


@looks_twice
@repeated
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_a_function_of_a_matrix_at_repeated_eigenvalues(a, f):
    def spectral(a):
        w, v = np.linalg.eigh(symmetrised(a))
        return np.sum(G * ((v * f(w)) @ v.T))

    assert_gradient(spectral, a)
    x = cr.variable(a)
    spectral(x).backward()
    np.testing.assert_array_equal(x.grad, cr.grad(spectral)(a))
    with pytest.raises(cr.errors.DegenerateError):  # a Run has no history of its adjoints
        cr.trace(spectral, a).forward(a).backward()


@looks_twice
def test_v_w_vt_is_the_matrix_itself():
    def itself(a):
        w, v = np.linalg.eigh(a)
        return np.sum(G * (v @ np.diag(w) @ v.T))

    expected = np.tril(G + G.T) - np.diag(np.diag(G))
    np.testing.assert_allclose(cr.grad(itself)(np.eye(3)), expected, atol=1e-15)


@looks_twice
@repeated
def test_the_hessian_of_a_symmetric_function_of_repeated_eigenvalues(a):
    def f(a):
        return np.sum(np.exp(np.linalg.eigvalsh(symmetrised(a))))

    def by_expm(a):
        return np.trace(cr.expm(symmetrised(a)))

    found = cr.jacobian(cr.grad(f), mode="reverse")(a)
    np.testing.assert_allclose(found, cr.hessian(by_expm)(a), rtol=1e-10, atol=1e-11)


@looks_twice
@repeated
def test_lanes_at_repeated_eigenvalues_are_the_lanes_alone(a):
    """The limits depend on what differs by lane: on the adjoint, and on the matrix."""

    def spectral(a, scale):
        w, v = np.linalg.eigh(symmetrised(a))
        return np.sum(scale * np.sin(G * ((v * np.exp(w)) @ v.T)))

    scales = np.array([1.0, 2.0, -3.0])
    lanes = cr.vmap(cr.grad(spectral), (None, 0))(a, scales)
    alone = [cr.grad(spectral)(a, scale) for scale in scales]
    np.testing.assert_allclose(lanes, np.stack(alone), rtol=1e-12, atol=1e-12)
    pullback = cr.vjp(cr.grad(lambda a: np.sum(np.exp(np.linalg.eigvalsh(symmetrised(a))))), a)[1]
    seeds = RNG.standard_normal((3, 3, 3))
    rows = np.stack([pullback(seed)[0] for seed in seeds])
    np.testing.assert_allclose(cr.vmap(lambda s: pullback(s)[0])(seeds), rows, atol=1e-12)


@looks_twice
def test_what_cannot_be_known_is_refused_and_not_guessed():
    def from_two_nodes(a):
        w, v = np.linalg.eigvalsh(a), np.linalg.eigh(a)[1]
        return np.sum(G * ((v * np.exp(w)) @ v.T))

    def twice(a):
        w, v = np.linalg.eigh(a)
        return np.sum(G * ((v * np.exp(w)) @ v.T))

    with pytest.raises(cr.errors.DegenerateError):
        cr.grad(from_two_nodes)(np.eye(3))
    with pytest.raises(cr.errors.DegenerateError):
        cr.jacobian(cr.grad(twice), mode="reverse")(np.eye(3))


@looks_twice
def test_whitening_of_white_data():
    """What is multiplied with V f(W) Vᵀ may depend on the same matrix."""
    x = np.linalg.qr(RNG.standard_normal((5, 3)))[0]

    def f(x):
        w, v = np.linalg.eigh(x.T @ x)
        return np.sum(G * np.sin(x @ ((v * w**-0.5) @ v.T))[:3])

    assert_gradient(f, x)


# -- complex Hermitian matrices --------------------------------------------------------------------


@pytest.mark.parametrize(
    "a", [symmetrised(K), np.diag([1.0, 2.0, 4.0]) + 0j], ids=["full", "diagonal"]
)
def test_complex_eigenvectors_where_their_phase_does_not_matter(a):
    def f(a):
        w, v = np.linalg.eigh(symmetrised(a))
        return np.real(np.sum(K * ((v * np.exp(w / 3)) @ np.conj(v.T)))) + np.sum(np.abs(v[0]) ** 4)

    assert_gradient(f, a)


def test_the_phase_of_a_complex_eigenvector_is_refused():
    with pytest.raises(cr.errors.DegenerateError, match="phase"):
        cr.grad(lambda a: np.real(np.sum(K * np.linalg.eigh(a)[1])))(symmetrised(K))
    with pytest.raises(cr.errors.DegenerateError, match="phase"):
        cr.grad(lambda a: np.real(np.sum(K * np.linalg.svd(a)[0])))(K)


# -- singular values -------------------------------------------------------------------------------

DEGENERATE = {
    "identity": np.eye(3),
    "a pair": np.diag([2.0, 2.0, 1.0]),
    "a pair and zero": np.diag([2.0, 2.0, 0.0]),
    "zero": np.zeros((3, 3)),
    "rank 1, tall": np.outer([1.0, 2.0, 3.0, 4.0], [1.0, -1.0]),
    "pairs, tall": np.eye(4)[:, :2] * 3,
    "zero, wide": np.zeros((2, 3)),
    "a pair and zeros, tall": np.diag([1.0, 1.0, 0.0, 0.0])[:, :3],
    "turned": U.real @ np.diag([2.0, 2.0, 1.0]) @ Q,
}
degenerate = pytest.mark.parametrize("a", DEGENERATE.values(), ids=DEGENERATE.keys())


@looks_twice
@degenerate
@pytest.mark.parametrize("full", [False, True])
def test_u_s_vt_is_the_matrix_itself(a, full):
    weights = RNG.standard_normal(a.shape)
    k = min(a.shape)

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=full)
        return np.sum(weights * ((u[:, :k] * s) @ vh[:k]))

    np.testing.assert_allclose(cr.grad(f)(a), weights, atol=1e-13)


@looks_twice
@degenerate
def test_the_frobenius_norm_from_singular_values_to_order_two(a):
    def f(a):
        return np.sum(np.linalg.svdvals(a) ** 2)

    np.testing.assert_allclose(cr.grad(f)(a), 2 * a, atol=1e-14)
    hessian = cr.jacobian(cr.grad(f), mode="reverse")(a).reshape(a.size, a.size)
    np.testing.assert_allclose(hessian, 2 * np.eye(a.size), atol=1e-13)


@pytest.mark.parametrize("a", [K, K[:, :2], K[:2]], ids=["square", "tall", "wide"])
def test_complex_singular_vectors_where_their_phase_does_not_matter(a):
    weights = K[: a.shape[0], : a.shape[1]]

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.real(np.sum(weights * ((u * s**2) @ vh))) + np.sum(np.abs(u[0]) ** 4)

    assert_gradient(f, a)


@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_full_matrices_where_the_basis_of_the_null_space_does_not_matter(shape):
    a, weights = RNG.standard_normal(shape), RNG.standard_normal((4, 4))

    def projector(a):
        u, _, vh = np.linalg.svd(a)
        null = u[:, 2:] if a.shape[0] == 4 else vh[2:].T
        return np.sum(weights * (null @ null.T))

    assert_gradient(projector, a)
    with pytest.raises(cr.errors.DegenerateError, match="null space"):
        cr.grad(lambda a: np.sum(weights * np.linalg.svd(a)[0 if shape[0] == 4 else 2]))(a)


def test_a_single_zero_singular_value_of_a_square_matrix_needs_no_second_look():
    a = np.diag([3.0, 1.0, 0.0])
    found = cr.grad(lambda a: (lambda u, s, vh: np.sum(G * ((u * s) @ vh)))(*np.linalg.svd(a)))(a)
    np.testing.assert_allclose(found, G, atol=1e-14)


# -- QR and eig ------------------------------------------------------------------------------------


def test_q_r_is_the_matrix_itself():
    for shape in ((3, 3), (4, 2), (2, 4)):
        a, weights = RNG.standard_normal(shape), RNG.standard_normal(shape)
        for mode in ("reduced", "complete"):
            gradient = cr.grad(
                lambda a, mode=mode, w=weights: np.sum(w * np.matmul(*np.linalg.qr(a, mode)))
            )(a)
            np.testing.assert_allclose(gradient, weights, atol=1e-12)


def test_the_complement_of_a_complete_qr():
    a, weights = RNG.standard_normal((4, 2)), RNG.standard_normal((4, 4))

    def projector(a):
        rest = np.linalg.qr(a, "complete")[0][:, 2:]
        return np.sum(weights * (rest @ rest.T))

    assert_gradient(projector, a)
    with pytest.raises(cr.errors.DegenerateError, match="complement"):
        cr.grad(lambda a: np.sum(weights * np.linalg.qr(a, "complete")[0]))(a)


REAL = {
    "complex pairs": np.array([[1.0, -2.0, 0.3], [2.0, 1.0, 0.1], [0.2, 0.5, 3.0]]),
    "real eigenvalues": np.array([[1.0, 2.0, 0.3], [0.5, 4.0, 0.1], [0.2, 0.5, 8.0]]),
}


@pytest.mark.parametrize("a", REAL.values(), ids=REAL.keys())
def test_eig_of_a_real_matrix_is_differentiated_as_numpy_normalises_it(a):
    assert_derivatives(lambda a: tuple(np.linalg.eig(a)), [a], "eig of a real matrix")
    assert_derivatives(lambda a: (np.linalg.eigvals(a),), [a], "eigvals of a real matrix")
    graph = cr.trace(lambda a: np.linalg.eigvals(a), a)
    graph.verify()
    np.testing.assert_allclose(
        cr.Graph.from_json(graph.to_json()).forward(a).outputs, np.linalg.eigvals(a)
    )


def test_eig_is_right_to_order_two():
    a = REAL["complex pairs"]

    def f(a):
        w, v = np.linalg.eig(a)
        return np.sum(np.abs(w) ** 3) + np.sum(np.abs(v[0]) ** 4)

    assert_derivatives(lambda a: (cr.grad(f)(a),), [a], "order 2 of eig")


def test_repeated_eigenvalues_of_a_general_matrix():
    np.testing.assert_allclose(
        cr.grad(lambda a: np.real(np.sum(np.linalg.eigvals(a))))(np.eye(2)), np.eye(2)
    )
    with pytest.raises(cr.errors.DegenerateError, match="coincide"):
        cr.grad(lambda a: np.real(np.linalg.eig(a)[1][0, 0]))(np.eye(2))
