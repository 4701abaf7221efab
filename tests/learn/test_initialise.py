"""First values have the variance that the literature gives them."""

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn


def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize(
    ("initialiser", "shape", "variance"),
    [
        (learn.glorot, (300, 100), 2 / 400),
        (learn.he, (300, 100), 2 / 300),
        (learn.lecun, (300, 100), 1 / 300),
        (learn.glorot, (40, 20, 5, 5), 2 / (60 * 25)),
        (learn.he, (40, 20, 5, 5), 2 / (20 * 25)),
        (learn.lecun, (40, 20, 7), 1 / (20 * 7)),
        (learn.uniform, (100, 100), 0.1**2 / 12),
        (learn.normal, 20_000, 0.01**2),
    ],
)
def test_variance(initialiser, shape, variance):
    drawn = initialiser(rng(), shape)
    assert drawn.shape == ((shape,) if isinstance(shape, int) else shape)
    np.testing.assert_allclose(np.var(drawn), variance, rtol=0.05)
    assert abs(np.mean(drawn)) < 4 * np.sqrt(variance / drawn.size)
    np.testing.assert_array_equal(drawn, initialiser(rng(), shape))


def test_glorot_is_uniform_between_its_bounds():
    drawn = learn.glorot(rng(), (30, 20))
    assert 0.99 * np.sqrt(6 / 50) < np.max(np.abs(drawn)) <= np.sqrt(6 / 50)


@pytest.mark.parametrize("shape", [(6, 6), (8, 3), (3, 8), (4, 2, 3, 3)])
def test_orthogonal(shape):
    q = learn.orthogonal(rng(), shape)
    assert q.shape == shape
    q = q.reshape(shape[0], -1)
    product = q.T @ q if q.shape[0] >= q.shape[1] else q @ q.T
    np.testing.assert_allclose(product, np.eye(min(q.shape)), atol=1e-14)


def test_signs_of_orthogonal_are_not_those_of_qr():
    """The trace of a random rotation has mean 0; what LAPACK's qr returns has not."""
    generator = rng()
    traces = [np.trace(learn.orthogonal(generator, (3, 3))) for _ in range(2000)]
    assert abs(np.mean(traces)) < 0.1


@pytest.mark.parametrize("initialiser", [learn.glorot, learn.he, learn.lecun, learn.orthogonal])
def test_one_axis_has_no_fans(initialiser):
    with pytest.raises(cr.ShapeError, match=rf"{initialiser.__name__} of shape \(3,\).*uniform"):
        initialiser(rng(), (3,))


def test_a_seed_is_no_generator():
    with pytest.raises(cr.ArgumentError, match=r"np\.random\.default_rng"):
        learn.init_linear(0, 2, 3)


def test_sizes_are_positive():
    with pytest.raises(cr.ArgumentError, match=r"\(0, 3\)"):
        learn.init_linear(rng(), 0, 3)
