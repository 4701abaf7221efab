"""Fourier transforms: NumPy's arguments, the weights of a half spectrum, what a cut leaves out."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr

NORMS = (None, "backward", "ortho", "forward")


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def complex_numbers(*shape: int) -> np.ndarray:
    return numbers(*shape) + 1j * numbers(*shape, seed=1)


def real_matrix(f, size: int) -> np.ndarray:
    """The linear map f of `size` complex numbers as a real matrix, column by column."""
    columns = []
    for unit in (1, 1j):
        for k in range(size):
            x = np.zeros(size, complex)
            x[k] = unit
            y = f(x)
            columns.append(np.concatenate([y.real, y.imag]))
    return np.array(columns).T


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, None])
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft"])
def test_adjoint_is_the_transposed_matrix(name, n, norm):
    """Exact down to the imaginary parts at frequencies 0 and n/2, which irfft and hfft ignore."""
    transform = getattr(np.fft, name)
    x = complex_numbers(5)
    out, pullback = cr.vjp(lambda x: transform(x, n=n, norm=norm), x)
    g = (complex_numbers if out.dtype.kind == "c" else numbers)(*out.shape)
    (back,) = pullback(g)
    matrix = real_matrix(lambda x: transform(x, n=n, norm=norm), 5)
    expected = matrix.T @ np.concatenate([g.real, g.imag])
    np.testing.assert_allclose(np.concatenate([back.real, back.imag]), expected, atol=1e-14)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, None])
@pytest.mark.parametrize("name", ["rfft", "ihfft"])
def test_adjoint_of_a_real_transform(name, n, norm):
    transform = getattr(np.fft, name)
    out, pullback = cr.vjp(lambda x: transform(x, n=n, norm=norm), numbers(5))
    g = complex_numbers(*out.shape)
    columns = [transform(unit, n=n, norm=norm) for unit in np.eye(5)]
    expected = [np.sum(np.conj(column) * g).real for column in columns]
    np.testing.assert_allclose(pullback(g)[0], expected, atol=1e-14)


def test_imaginary_parts_that_numpy_ignores_have_gradient_zero():
    def f(x):
        return np.sum(np.fft.irfft(x) ** 3)

    gradient = cr.grad(f)(complex_numbers(5))
    assert gradient[0].imag == 0 == gradient[-1].imag
    assert np.all(gradient[1:-1].imag != 0)


def test_gradient_of_the_energy():
    x = numbers(6)
    gradient = cr.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x)
    np.testing.assert_allclose(gradient, 2 * 6 * x, rtol=1e-13)
    hessian = cr.hessian(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 4))(x)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)


CALLS = [
    {},
    {"axes": (1,)},
    {"axes": (-1, 0)},
    {"axes": (0, 0)},
    {"axes": (2, 1, 2), "s": (3, 6, 5)},
    {"axes": (1, 1, 2), "s": (6, 2, 3)},
    {"axes": (0, 1), "s": (1, -1)},
    {"axes": (0, 2), "s": (3, 8), "norm": "ortho"},
    {"axes": (0, 2), "s": [2, 3], "norm": "forward"},
    {"axes": [1, 2], "s": np.array([4, 2])},
]


@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.parametrize(
    "name", ["fftn", "ifftn", "fft2", "ifft2", "rfftn", "rfft2", "irfftn", "irfft2"]
)
def test_several_axes_are_read_as_numpy_does(name, call):
    transform = getattr(np.fft, name)
    x = numbers(2, 3, 5) if name.startswith("rfft") else complex_numbers(2, 3, 5)
    expected = transform(x, **call)
    found, pullback = cr.vjp(lambda x: transform(x, **call), x)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    g, u = numbers(*expected.shape), numbers(*x.shape, seed=3)
    np.testing.assert_allclose(
        np.sum(g * transform(u, **call)).real, np.sum(np.conj(pullback(g)[0]) * u).real, rtol=1e-12
    )


def test_no_axes_is_the_identity():
    x = numbers(2, 3)
    np.testing.assert_array_equal(np.fft.fftn(cr.variable(x), axes=()).value, x)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name):
    shift = getattr(np.fft, name)
    x = numbers(3, 4)
    for axes in (None, 0, (1,), (0, -1), [1]):
        value, pullback = cr.vjp(lambda x, axes=axes: shift(x, axes=axes), x)
        np.testing.assert_array_equal(value, shift(x, axes=axes))
        np.testing.assert_array_equal(pullback(value)[0], x)


@pytest.mark.parametrize("order", [1, 2])
def test_what_is_cut_off_is_structurally_zero(order):
    """√x has slope ∞ at 0; a transform that does not read the zeros must not see it."""

    def line(x):
        return np.sum(np.abs(np.fft.fft(np.sqrt(x), n=2)) ** 2)

    def plane(x):
        return np.sum(np.abs(np.fft.rfft2(np.sqrt(x), s=(1, 2))) ** 2)

    def spectrum(x):
        return np.sum(np.fft.irfftn(np.sqrt(x) + 0j, s=(2, 2), axes=(0, 1)) ** 3)

    for f, x in (
        (line, np.array([1.0, 4.0, 0.0])),
        (plane, np.array([[1.0, 4.0, 0.0], [0.0, 0.0, 0.0]])),
        (spectrum, np.array([[1.0, 4.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            derivative = cr.grad(f)(x) if order == 1 else cr.hvp(f, (x,), (np.ones_like(x),))
        derivative = np.asarray(derivative).reshape(x.shape)
        assert np.all(derivative[x == 0] == 0)
        assert np.all(np.isfinite(derivative))
        if order == 1:
            assert np.any(derivative != 0)


def test_single_precision_stays_single():
    x = numbers(6).astype(np.float32)
    for transform in (np.fft.fft, np.fft.rfft, np.fft.ihfft, np.fft.rfftn):
        assert transform(cr.variable(x)).dtype == np.complex64
        assert cr.grad(lambda x, f=transform: np.sum(np.abs(f(x)) ** 2))(x).dtype == np.float32
    assert np.fft.irfft(cr.variable(x)).dtype == np.float32


@pytest.mark.parametrize("shapes", [((5,), (3,)), ((3,), (6,)), ((4, 5), (3, 2)), ((2, 2), (4, 5))])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_fftconvolve_is_scipy_s(shapes, mode):
    signal = pytest.importorskip("scipy.signal")
    a, v = numbers(*shapes[0]), numbers(*shapes[1], seed=1)
    for v_ in (v, v * (1 + 2j)):
        expected = signal.fftconvolve(a, v_, mode)
        found = cr.fftconvolve(a, v_, mode=mode)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_fftconvolve_and_convolve_have_one_gradient():
    a, v, g = numbers(9), numbers(4, seed=1), numbers(12, seed=2)
    fast = cr.grad(lambda a, v: np.sum(cr.fftconvolve(a, v) * g), argnums=(0, 1))(a, v)
    slow = cr.grad(lambda a, v: np.sum(np.convolve(a, v) * g), argnums=(0, 1))(a, v)
    for f, s in zip(fast, slow, strict=True):
        np.testing.assert_allclose(f, s, atol=1e-13)


def test_errors_say_what_is_wrong():
    x = cr.variable(numbers(2, 3))
    with pytest.raises(cr.errors.OutOfRangeError, match=r"fft of \(2, 3\): there is no axis 2"):
        np.fft.fft(x, axis=2)
    with pytest.raises(cr.errors.ShapeError, match="a transform of 0 points"):
        np.fft.irfft(cr.variable(numbers(1)))
    with pytest.raises(cr.errors.DTypeError, match="rfft takes real values"):
        np.fft.rfft(x * 1j)
    with pytest.raises(cr.errors.ArgumentError, match="norm='other'"):
        np.fft.hfft(x, norm="other")
    with pytest.raises(cr.errors.ShapeError, match="2 lengths for the 1 axes"):
        np.fft.fftn(x, s=(2, 2), axes=(0,))
    with pytest.raises(cr.errors.ShapeError, match="neither lies within"):
        cr.fftconvolve(x, cr.variable(numbers(3, 1)), mode="valid")
