"""The losses of a run of any length in a few points."""

import numpy as np
import pytest

from chainrule.view.curve import Curve


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65, 1000])
def test_each_point_is_what_its_stretch_was(count):
    losses = np.random.default_rng(count).normal(size=count)
    curve = Curve(most=8)
    for step, loss in enumerate(losses, 1):
        curve.add(step, float(loss))
    points = curve.all()
    assert 4 <= len(points) <= 8 or count < 4
    start = 0
    for step, mean, low, high in points:
        stretch = losses[start:step]
        assert mean == pytest.approx(stretch.mean(), rel=1e-12)
        assert (low, high) == (stretch.min(), stretch.max())
        start = step
    assert start == count


@pytest.mark.parametrize(
    ("losses", "trend"),
    [
        ([1.0], ""),
        (np.linspace(2, 1, 100), "falling"),
        (np.linspace(1, 2, 100), "rising"),
        (np.ones(100), "level"),
        ([*np.linspace(9, 1, 50), *np.ones(50)], "level"),
        (np.linspace(-1, -2, 100), "falling"),
    ],
)
def test_the_trend(losses, trend):
    curve = Curve(most=64)
    for step, loss in enumerate(losses):
        curve.add(step, float(loss))
    assert curve.trend() == trend


def test_as_data():
    curve = Curve()
    assert curve.to_data() == {"at": [], "mean": [], "low": [], "high": []}
    curve.add(3, float("nan"))
    assert curve.to_data()["mean"] == ["nan"]
