"""Convolutions and pooling: against PyTorch, at ties and edges, and where no window reads."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import chainrule as cr

POOLS = ("max_pool", "avg_pool")


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def close(found, expected) -> None:
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-10, atol=1e-11)


def torch_function(name: str, dimensions: int):
    functional = pytest.importorskip("torch.nn.functional")
    return getattr(functional, f"{name}{dimensions}d")


def same_as_torch(ours, theirs, *arrays: np.ndarray) -> None:
    """Value, gradients, and the gradient of a gradient, all against PyTorch."""
    torch = pytest.importorskip("torch")
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    result = theirs(*leaves)
    out, pullback = cr.vjp(ours, *arrays)
    close(out, result)
    g = numbers(*out.shape, seed=7)
    gradients = torch.autograd.grad(result, leaves, torch.tensor(g), create_graph=True)
    for found, expected in zip(pullback(g), gradients, strict=True):
        close(found, expected)

    def energy(*arrays):
        return sum(np.sum(c**3) for c in cr.vjp(ours, *arrays)[1](g))

    if not all(gradient.requires_grad for gradient in gradients):
        return  # a linear function of one array
    second = torch.autograd.grad(sum((c**3).sum() for c in gradients), leaves)
    for found, expected in zip(
        cr.grad(energy, argnums=tuple(range(len(arrays))))(*arrays), second, strict=True
    ):
        close(found, expected)


CONVOLUTIONS = [
    ((2, 3, 9), (4, 3, 4), {}),
    ((2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ((2, 3, 9), (4, 3, 4), {"padding": "same", "dilation": 2}),
    ((1, 4, 10), (4, 1, 3), {"groups": 4, "dilation": 3, "stride": 3}),
    ((2, 3, 8, 7), (4, 3, 3, 3), {}),
    ((2, 3, 8, 7), (4, 3, 3, 2), {"stride": (2, 3), "padding": (1, 0), "dilation": (1, 2)}),
    ((2, 4, 8, 7), (2, 2, 3, 2), {"padding": "same", "groups": 2}),
    ((3, 2, 5, 5), (4, 2, 1, 1), {"stride": 2}),
    ((1, 2, 5, 6, 4), (3, 2, 3, 2, 2), {"stride": (2, 1, 1), "padding": (1, 0, 1)}),
    ((2, 4, 4, 4, 4), (4, 2, 2, 2, 2), {"groups": 2, "dilation": (1, 2, 1), "stride": 2}),
]


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")
@pytest.mark.parametrize(("image", "kernel", "settings"), CONVOLUTIONS, ids=str)
def test_conv_is_pytorch_s(image, kernel, settings):
    theirs = torch_function("conv", len(kernel) - 2)
    same_as_torch(
        lambda x, w: cr.conv(x, w, **settings),
        lambda x, w: theirs(x, w, **settings),
        numbers(*image),
        numbers(*kernel, seed=1),
    )


TRANSPOSED = [
    ((2, 3, 5), (3, 4, 4), {}),
    ((2, 4, 5), (4, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}),
    ((2, 3, 4, 3), (3, 2, 3, 2), {"stride": (3, 2), "output_padding": (2, 0), "dilation": (1, 2)}),
    ((1, 2, 3, 3), (2, 1, 2, 2), {"padding": 1, "groups": 2, "stride": 3}),
    ((1, 2, 2, 3, 2), (2, 3, 2, 2, 3), {"stride": 2, "padding": (0, 1, 1), "output_padding": 1}),
]


@pytest.mark.parametrize(("image", "kernel", "settings"), TRANSPOSED, ids=str)
def test_conv_transpose_is_pytorch_s(image, kernel, settings):
    theirs = torch_function("conv_transpose", len(kernel) - 2)
    same_as_torch(
        lambda x, w: cr.conv_transpose(x, w, **settings),
        lambda x, w: theirs(x, w, **settings),
        numbers(*image),
        numbers(*kernel, seed=1),
    )


POOLED = [
    ((2, 3, 9), {"window": 2}),
    ((2, 3, 9), {"window": 3, "stride": 1, "padding": 1}),
    ((2, 3, 8, 7), {"window": 2}),
    ((2, 3, 8, 7), {"window": (3, 2), "stride": (2, 1), "padding": (1, 0)}),
    ((2, 3, 8, 7), {"window": 2, "stride": 3}),
    ((1, 2, 5, 6, 4), {"window": (2, 3, 2), "stride": 2, "padding": 1}),
]


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize(("shape", "settings"), POOLED, ids=str)
def test_pooling_is_pytorch_s(name, shape, settings):
    theirs, ours = torch_function(name, len(shape) - 2), getattr(cr, name)
    renamed = {("kernel_size" if k == "window" else k): v for k, v in settings.items()}
    x = numbers(*shape)
    same_as_torch(lambda x: ours(x**2, **settings), lambda x: theirs(x**2, **renamed), x)
    if name == "avg_pool":
        same_as_torch(
            lambda x: ours(x**2, **settings, count_include_pad=False),
            lambda x: theirs(x**2, **renamed, count_include_pad=False),
            x,
        )


def test_conv_unfolds_a_few_images_at_a_time():
    """All windows of all images would be 9 times the images: 29 MB here."""
    x, w = np.ones((64, 16, 28, 28), np.float32), np.ones((8, 16, 3, 3), np.float32)
    y = cr.conv(x, w, padding=1)
    tracemalloc.start()
    cr.conv(x, w, padding=1)
    cr.conv_transpose(y, w, padding=1)
    cr.conv_weight(x, y, kernel=(3, 3), padding=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6


def test_padding_may_differ_before_and_after():
    x, w = numbers(1, 1, 5), numbers(1, 1, 3, seed=1)
    expected = np.correlate(np.pad(x[0, 0], (1, 2)), w[0, 0], "valid")
    np.testing.assert_allclose(cr.conv(x, w, padding=((1, 2),))[0, 0], expected, rtol=1e-13)


def test_plain_lists_are_arrays():
    assert cr.conv([[[1.0, 2.0, 3.0]]], [[[1.0, 10.0]]]).tolist() == [[[21.0, 32.0]]]
    assert cr.avg_pool([[[1, 2, 3, 5]]], 2).tolist() == [[[1.5, 4.0]]]
    assert cr.max_pool([[[1, 2, 3, 5]]], 2).tolist() == [[[2, 5]]]


def test_conv_says_which_channels_do_not_fit():
    x, w = cr.variable(numbers(2, 3, 8, 8)), cr.variable(numbers(4, 2, 3, 3))
    with pytest.raises(cr.errors.ShapeError) as caught:
        cr.conv(x, w)
    assert str(caught.value).startswith(
        "conv of (2, 3, 8, 8) with weights (4, 2, 3, 3): the input has 3 channels, "
        "the weights take 2 (groups=1)"
    )
    with pytest.raises(
        cr.errors.ShapeError,
        match=r"the kernel reaches over .5, 5., the padded input is only .4, 8.",
    ):
        cr.conv(x[:, :2, :4], w, dilation=2)
    with pytest.raises(cr.errors.ArgumentError, match='padding="same" needs stride=1'):
        cr.conv(x[:, :2], w, padding="same", stride=2)
    with pytest.raises(cr.errors.ArgumentError, match="a window can lie wholly in padding=2"):
        cr.max_pool(x, window=2, padding=2)


# -- ties, edges, structural zeros -----------------------------------------------------------------


def test_ties_of_a_window_share_equally():
    x = np.array([[[[1.0, 1.0], [1.0, 0.0]]]])
    gradient = cr.grad(lambda x: np.sum(cr.max_pool(x, window=2)))(x)
    np.testing.assert_allclose(gradient, [[[[1 / 3, 1 / 3], [1 / 3, 0]]]], rtol=1e-15)
    _, tangent = cr.jvp(
        lambda x: cr.max_pool(x, window=2), (x,), (np.arange(4.0).reshape(x.shape),)
    )
    np.testing.assert_allclose(tangent, [[[[1.0]]]], rtol=1e-15)
    kinks = cr.OPS["max_pool"].kinks(
        np.array([[[1.0, 1.0, 2.0, 3.0]]]), window=2, stride=None, padding=0
    )
    np.testing.assert_array_equal(kinks, [[[True, False]]])


def test_padding_never_wins_nor_ties():
    x = np.full((1, 1, 3), -np.inf)
    value, pullback = cr.vjp(lambda x: cr.max_pool(x, window=2, stride=2, padding=1), x)
    np.testing.assert_array_equal(value, [[[-np.inf, -np.inf]]])
    np.testing.assert_array_equal(pullback(np.ones((1, 1, 2)))[0], [[[1.0, 0.5, 0.5]]])
    assert cr.max_pool(np.array([[[-3, -5]]]), window=2, stride=1, padding=1).tolist() == [
        [[-3, -3, -5]]
    ]


def test_nan_is_the_largest_and_takes_the_gradient():
    x = np.array([[[1.0, np.nan, 2.0, 3.0]]])
    value, pullback = cr.vjp(lambda x: cr.max_pool(x, window=2), x)
    np.testing.assert_array_equal(value, [[[np.nan, 3.0]]])
    np.testing.assert_array_equal(pullback(np.ones((1, 1, 2)))[0], [[[0.0, 1.0, 0.0, 1.0]]])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: cr.max_pool(x, window=3),  # zeros lose
        lambda x: cr.sum_pool(x, window=2, stride=3),  # zeros lie between the windows
        lambda x: cr.avg_pool(x, window=2, stride=3),
        lambda x: cr.conv(x, numbers(2, 1, 2), stride=3),
        lambda x: cr.conv_weight(x, numbers(1, 2, 2), kernel=(2,), stride=3),
    ],
    ids=["max_pool", "sum_pool", "avg_pool", "conv", "conv_weight"],
)
def test_elements_that_no_window_takes_are_structurally_zero(f, order):
    """√x has slope ∞ at 0; it must not reach the gradient through windows that do not read it."""
    x = np.array([[[1.0, 4.0, 0.0, 4.0, 2.0, 0.0]]])

    def loss(x):
        return np.sum(f(np.sqrt(x)) ** 3)

    with np.errstate(divide="ignore", invalid="ignore"):
        derivative = cr.grad(loss)(x) if order == 1 else cr.hvp(loss, (x,), (np.ones_like(x),))
    derivative = np.asarray(derivative).reshape(x.shape)
    assert np.all(np.isfinite(derivative))
    assert np.all(derivative[x == 0] == 0)
    assert np.any(derivative != 0)


# -- sequences and views ---------------------------------------------------------------------------


@pytest.mark.parametrize("function", [np.convolve, np.correlate])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("lengths", [(5, 3), (3, 5), (4, 6), (6, 4), (4, 4), (1, 3), (2, 2)])
def test_adjoints_of_sequences(function, mode, lengths):
    """The adjoint in each operand is that of the map's own matrix, complex operands included."""
    a = numbers(lengths[0]) + 1j * numbers(lengths[0], seed=1)
    v = numbers(lengths[1], seed=2) + 1j * numbers(lengths[1], seed=3)
    out, pullback = cr.vjp(lambda a, v: function(a, v, mode), a, v)
    np.testing.assert_array_equal(out, function(a, v, mode))
    g = numbers(*out.shape, seed=4) + 1j * numbers(*out.shape, seed=5)
    for place, back in enumerate(pullback(g)):
        for k in range(lengths[place]):
            for unit, part in ((1, back[k].real), (1j, back[k].imag)):
                moved = [a, v]
                moved[place] = np.zeros(lengths[place], complex)
                moved[place][k] = unit
                along = np.sum(np.conj(g) * function(*moved, mode)).real
                np.testing.assert_allclose(part, along, atol=1e-13)


def test_convolve_takes_lists_and_numbers():
    x = numbers(4)
    np.testing.assert_array_equal(
        cr.grad(lambda x: np.sum(np.convolve(x, [1.0, 2.0])))(x), [3.0] * 4
    )
    np.testing.assert_array_equal(cr.grad(lambda x: np.sum(np.convolve(x, 2.0)))(x), [2.0] * 4)
    assert cr.grad(lambda c: np.sum(np.convolve(x, c)))(2.0) == pytest.approx(np.sum(x))


def test_sliding_window_view_through_numpy():
    x = numbers(6)
    view = np.lib.stride_tricks.sliding_window_view
    moving = cr.grad(lambda x: np.sum(view(x, window_shape=3) ** 2))(x)
    np.testing.assert_allclose(moving, 2 * x * [1, 2, 3, 3, 2, 1], rtol=1e-14)
    hessian = cr.hessian(lambda x: np.sum(np.prod(view(x, 2), axis=1)))(x)
    np.testing.assert_allclose(hessian, np.eye(6, k=1) + np.eye(6, k=-1), atol=1e-14)
