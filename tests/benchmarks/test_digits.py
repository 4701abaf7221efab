"""What the benchmark of the digits gives to the models is what it says."""

import numpy as np
import pytest

from benchmarks import digits

pytest.importorskip("sklearn")


def test_products_are_those_of_neighbours():
    x = np.random.default_rng(0).integers(0, 17, size=(2, 64)).astype(float)
    found = digits.with_products(x)
    pixels = digits.pixels(x).reshape(2, 8, 8)
    pairs = [
        pixels[:, i, j] * pixels[:, k, m]
        for i in range(8)
        for j in range(8)
        for k in range(8)
        for m in range(8)
        if max(abs(i - k), abs(j - m)) == 1 and (i, j) < (k, m)
    ]
    assert found.shape == (2, 64 + len(pairs)) == (2, 274)
    np.testing.assert_allclose(np.sort(found[:, 64:]), np.sort(np.stack(pairs, axis=1)))
    np.testing.assert_array_equal(found[:, :64], digits.pixels(x))


def test_images_are_moved_by_one_pixel():
    image = np.zeros((1, 8, 8))
    image[0, 3, 4] = 1.0
    x, y = digits.moved(image.reshape(1, 64), np.array([7]))
    places = {divmod(int(row.argmax()), 8) for row in x}
    assert places == {(3, 4), (2, 4), (4, 4), (3, 3), (3, 5)}
    assert y.tolist() == [7] * 5


@pytest.mark.parametrize("case", digits.FITS)
def test_the_split_is_the_fixed_one(case):
    x, y, tested, truth = digits.rows(case)
    assert (len(tested), len(x)) == (359, 1438 * (5 if case == digits.NETWORK else 1))
    assert len(y) == len(x)
    assert len(truth) == 359
    assert x.dtype == tested.dtype == (np.float32 if case == digits.NETWORK else np.float64)
