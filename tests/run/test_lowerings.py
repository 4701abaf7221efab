"""Ops as machine code where the samples of the table are too small, or too tame, to tell."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.lower.code import products
from chainrule.lower.code.matrices import Matrices
from chainrule.lower.target import host
from tests.agree.compiled import assert_agrees
from tests.run.test_whole_networks import (
    assert_compiles,
    assert_gradient_compiles,
    interpreted,
)

pytest.importorskip("llvmlite")

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def same_numbers():
    """The numbers of a test do not depend on which tests ran before it."""
    rng.bit_generator.state = np.random.default_rng(0).bit_generator.state


# -- products in parts -----------------------------------------------------------------------------

SHAPES = ((2000, 30, 20), (20, 3001, 30), (30, 3001, 20), (517, 64, 64), (9, 12000, 16))


@pytest.mark.parametrize(("rows", "summed", "columns"), SHAPES)
@pytest.mark.parametrize("turned", ["", "x", "y", "xy"])
def test_long_and_narrow_products(rows, summed, columns, turned):
    """Asked for in parts, of which the last is shorter; operands may be transposed."""
    assert rows * summed * columns > products.MAX_CALL_SIZE
    x, y = rng.uniform(0.5, 1.5, (rows, summed)), rng.uniform(0.5, 1.5, (summed, columns))
    given = [
        np.ascontiguousarray(a.T) if n in turned else a for n, a in zip("xy", (x, y), strict=True)
    ]

    def product(a: Any, b: Any) -> Any:
        return (a.T if "x" in turned else a) @ (b.T if "y" in turned else b)

    assert_compiles(product, *given)


@pytest.mark.parametrize(
    ("sizes", "layouts", "expected"),
    [
        ((10, 10, 10), "NN", ("", 0)),
        ((6272, 32, 144), "NN", ("n", 217)),
        ((32, 144, 6272), "TN", ("k", 217)),
        ((32, 144, 6272), "NT", ("", 0)),
        ((2000, 2000, 2000), "NN", ("", 0)),
    ],
)
def test_which_products_are_asked_for_in_parts(sizes, layouts, expected):
    matrices = Matrices(host(), "f32", *sizes, (1, 1), (1, 1), 1)
    assert products._part(matrices, *layouts) == expected


# -- convolutions ----------------------------------------------------------------------------------

CONVOLUTIONS = (
    ((3, 9, 24), (16, 9, 5), {}),
    ((3, 16, 24, 20), (12, 16, 3, 3), {"padding": "same"}),
    ((3, 2, 24, 20), (12, 2, 3, 3), {"padding": ((0, 2), 1), "stride": (2, 1)}),
    ((2, 8, 15, 16), (8, 8, 3, 2), {"dilation": (2, 3), "padding": (2, 0)}),
    ((2, 16, 10, 11), (32, 8, 3, 3), {"groups": 2, "stride": 2}),
    ((2, 12, 10, 11), (12, 1, 3, 3), {"groups": 12, "padding": 1}),  # a channel each
    ((4, 24, 9, 9), (16, 24, 1, 1), {}),
    ((4, 24, 9, 9), (16, 24, 1, 1), {"stride": 2}),
    ((1, 8, 6, 6, 7), (9, 8, 2, 3, 2), {"padding": (0, 1, 1)}),
    ((1, 1, 1, 9), (1, 1, 1, 3), {}),
)


@pytest.mark.parametrize(("images", "weights", "settings"), CONVOLUTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_convolution(images, weights, settings, dtype):
    """Of positive numbers, so that no digits are lost: each entry of all three faces is right."""
    x, w = (rng.uniform(0.5, 1.5, size=shape).astype(dtype) for shape in (images, weights))
    seed = rng.uniform(0.5, 1.5, size=cr.conv(x, w, **settings).shape).astype(dtype)

    def faces(x: Any, w: Any) -> Any:
        out, pull = cr.vjp(lambda x, w: cr.conv(x, w, **settings), x, w)
        return (out, *pull(seed))

    assert_compiles(faces, x, w)


def test_second_derivative_of_a_convolution():
    x, w = rng.normal(size=(2, 9, 6, 6)), rng.normal(size=(8, 9, 3, 3))

    def curvature(w: Any) -> Any:
        slope = cr.grad(lambda w: np.sum(np.tanh(cr.conv(x, w, padding=1)) ** 2))
        return np.sum(slope(w) ** 2)

    gradient = cr.grad(curvature)
    assert_agrees(gradient, w)


def test_what_no_window_reads_is_zero_even_where_weights_are_infinite():
    x, w = np.arange(1.0, 7.0).reshape(1, 1, 6), np.array([[[np.inf, 1.0]]])
    gradient = cr.grad(lambda x: np.sum(cr.conv(x, w, stride=3)))
    np.testing.assert_array_equal(cr.compile(gradient)(x), gradient(x))


def test_windows_that_would_fill_the_memory_are_left_to_the_interpreter(monkeypatch):
    from chainrule.lower.values import convolve

    monkeypatch.setattr(convolve, "MAX_UNFOLDED_BYTES", 1000)
    x, w = rng.normal(size=(2, 3, 9, 9)), rng.normal(size=(4, 3, 3, 3))
    fast = cr.compile(lambda x: cr.conv(x, w))
    np.testing.assert_allclose(fast(x), cr.conv(x, w), rtol=1e-12)
    assert interpreted(fast) == ["conv: its windows are too many to be unfolded at once"]


# -- pooling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{}, {"stride": 1, "padding": 1}, {"stride": 3}, {"stride": 1}]
)
@pytest.mark.parametrize("channels", [2, 16])
def test_largest_of_windows_with_ties_and_nan(settings, channels):
    x = rng.integers(0, 3, size=(2, channels, 7, 8)).astype(np.float64)
    x[0, 0, 2, 3] = np.nan
    x[1, 1] = -np.inf
    pooled = lambda x: cr.max_pool(x, 2, **settings)  # noqa: E731
    assert_compiles(pooled, x)
    seed = rng.normal(size=pooled(x).shape)

    def pulled(x: Any) -> Any:
        return cr.vjp(pooled, x)[1](seed)[0]

    assert_agrees(pulled, x)


# -- running along an axis -------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("f", [np.cumsum, np.cumprod])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_running(f, axis, dtype):
    x = rng.integers(-2, 3, size=(5, 7, 16)).astype(dtype)
    assert_compiles(lambda x: f(cr.OPS["identity"](x), axis=axis), x)


@pytest.mark.parametrize("axis", [0, 1])
def test_running_extrema_keep_nan(axis):
    x = rng.normal(size=(9, 24))
    x[4, 5] = np.nan
    assert_compiles(lambda x: cr.cummax(x, axis=axis) - cr.cummin(x, axis=axis), x)


# -- where the extremum is -------------------------------------------------------------------------


@pytest.mark.parametrize("f", [np.argmax, np.argmin])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_first_of_several(f, dtype, axis):
    x = rng.integers(0, 2, size=(5, 40)).astype(dtype)
    assert_compiles(lambda x: f(x, axis=axis), x)


def test_a_nan_is_the_extremum_and_zeros_are_equal():
    x = np.array([[1.0, np.nan, 3.0, np.nan], [-0.0, 0.0, -0.0, -1.0], [np.inf, 0.0, np.inf, 1.0]])
    assert_compiles(lambda x: np.argmax(x, axis=1), x)
    assert_compiles(lambda x: np.argmin(x, axis=1), x)


# -- remainders ------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [np.remainder, np.fmod, np.floor_divide])
def test_remainders_of_any_sign(f):
    values = np.array([0.0, -0.0, 1.5, -1.5, 7.0, -7.0, 1e300, np.inf, -np.inf, np.nan])
    x, y = np.meshgrid(values, values)
    fast = cr.compile(f)
    with np.errstate(all="ignore"):
        expected, found = f(x, y), fast(x, y)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("f", [np.remainder, np.fmod])
def test_remainders_of_whole_numbers(f):
    """Division by 0, and of the least number by -1, would end the process."""
    values = np.array([0, 1, -1, 3, -3, 17, np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert_compiles(f, *np.meshgrid(values, values))


# -- the order of axes in memory -------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_maps_folds_and_shapes_of_permuted_arrays(order):
    """What a product leaves permuted is worked on as it lies; the results are the user's."""
    a, b = rng.normal(size=(6, 4, 16)), rng.normal(size=(16, 10))
    bias = rng.normal(size=np.transpose(np.zeros((6, 4, 10)), order).shape)

    def f(a: Any, b: Any) -> Any:
        x = np.transpose(np.tanh(a) @ b, order)
        y = np.exp(-(x**2)) + bias * x
        parts = [np.sum(y, axis=i) for i in range(3)]
        padded = np.pad(y, 1)[1:, :-1, 1:-1]
        flat = y.reshape(-1, y.shape[-1])
        whole = sum(np.sum(np.cos(p)) for p in (*parts, padded, flat @ flat.T))
        return whole + np.sum(np.max(y, axis=(0, 2)) * np.arange(y.shape[1]))

    assert_gradient_compiles(f, a, b, argnums=(0, 1))


def test_adjoints_of_parts_are_laid_side_by_side():
    x = rng.normal(size=(4, 30))

    def f(x: Any) -> Any:
        a, b, c, d = x
        return np.sum(np.sin(a) * b) + np.sum(c[:10] * d[20:]) + np.sum(c[5:] ** 2)

    assert_gradient_compiles(f, x)
    fast = cr.compile(cr.grad(f))
    fast(x)
    assert "into [4, 30]" in fast.report()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_shares_of_a_tie_are_machine_code(op, dtype):
    """Half of the adjoint each, of the type of the result: narrower ones would be interpreted."""
    x, y = np.array([1.0, 2.0, 3.0], dtype), np.array([1.0, 5.0, 2.0], dtype)
    gradient = cr.grad(lambda x, y: np.sum(op(x, y) ** 2), (0, 1))
    fast = cr.compile(gradient)
    for found, expected in zip(fast(x, y), gradient(x, y), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype
    ((variant,),) = fast.variants.values()
    assert variant.run.module.calls == []
