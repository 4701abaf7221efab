"""Data: what scikit-learn brings along, the split, and how it is standardised."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.learn import Data, load, split, standardiser


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("digits", (1797, 64), 10),
        ("iris", (150, 4), 3),
        ("wine", (178, 13), 3),
        ("breast_cancer", (569, 30), 2),
        ("diabetes", (442, 10), 0),
    ],
)
def test_bundled_data(name, shape, classes):
    pytest.importorskip("sklearn")
    data = load(name)
    assert (data.x.shape, data.x.dtype, len(data.classes)) == (shape, float, classes)
    assert data.y.dtype == (np.int64 if classes else np.float64)
    assert len(data.columns) == shape[1]
    training, test = split(data)
    assert len(test) == round(0.2 * len(data))
    assert len(training) + len(test) == len(data)
    if classes:
        shares = np.bincount(test.y) / np.bincount(data.y)
        assert np.all(np.abs(shares - 0.2) * np.bincount(data.y) < 1)


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(cr.ArgumentError, match="no data set 'mnist': breast_cancer, diabetes"):
        load("mnist")


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    with pytest.raises(cr.UnsupportedError, match=r"pip install 'chainrule\[learn\]'"):
        load("iris")


def test_the_split_is_fixed_by_its_seed():
    data = Data(np.arange(30.0)[:, None], np.arange(30) % 3, classes=("a", "b", "c"))
    (a, b), (c, d) = split(data, test=0.3), split(data, test=0.3)
    assert np.array_equal(a.x, c.x)
    assert np.array_equal(b.y, d.y)
    assert not np.array_equal(split(data, test=0.3, seed=1)[1].x, b.x)
    assert not set(a.x[:, 0]) & set(b.x[:, 0])
    assert np.bincount(b.y).tolist() == [3, 3, 3]


@pytest.mark.parametrize("test", [0, 1, -0.1, 0.01, 0.99])
def test_a_split_has_two_parts(test):
    with pytest.raises(cr.ArgumentError, match=r"share of the rows|leaves one part empty"):
        split(Data(np.ones((10, 1)), np.ones(10)), test=test)


def test_map_replaces_x_and_keeps_the_rest():
    data = Data(np.arange(6.0).reshape(3, 2), np.arange(3), ("a", "b"), ("u", "v", "w"), "few")
    scaled = data.map(lambda x: x / 2)
    assert np.array_equal(scaled.x, data.x / 2)
    assert (scaled.columns, scaled.classes, scaled.name) == (("a", "b"), ("u", "v", "w"), "few")
    assert scaled.y is data.y
    wide = data.map(lambda x: np.column_stack([x, x[:, 0] * x[:, 1]]))
    assert (wide.x.shape, wide.columns) == ((3, 3), ())
    assert np.array_equal(data.map(np.negative).take([2]).x, [[-4, -5]])
    with pytest.raises(cr.ShapeError, match=r"keep the 3 rows of x, but returned shape \(2, 2\)"):
        data.map(lambda x: x[1:])
    with pytest.raises(cr.ShapeError, match=r"shape \(\)"):
        data.map(np.sum)


def test_standardiser_is_fitted_on_one_part():
    x = np.random.default_rng(0).normal(3, 5, (100, 3))
    x[:, 1] = 0.1  # constant, and its mean is not exactly 0.1
    fitted = standardiser(x)
    z = fitted(x)
    assert np.allclose(z.mean(axis=0), 0, atol=1e-14)
    assert np.allclose(z.std(axis=0), [1, 0, 1], atol=1e-14)
    assert np.all(z[:, 1] == 0)
    assert np.allclose(fitted.undo(z), x, rtol=1e-14)
    assert np.allclose(fitted(2 * x), (2 * x - fitted.mean) / fitted.scale)
