"""Error propagation: covariances against closed forms and samples, and shares that add up."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr
from chainrule.scipy.optimize import curve_fit

COV = np.array([[0.04, 0.01], [0.01, 0.09]])


def gravity(p):
    length, period = p
    return 4 * np.pi**2 * length / period**2


def test_one_number_of_two() -> None:
    found = cr.propagate(gravity, [1.0, 2.0], COV)
    slopes = np.array([4 * np.pi**2 / 4, -8 * np.pi**2 / 8])
    assert found.value == pytest.approx(np.pi**2)
    assert found.cov == pytest.approx(slopes @ COV @ slopes)
    assert found.std == pytest.approx(np.sqrt(slopes @ COV @ slopes))
    shares = slopes * (COV @ slopes) / (slopes @ COV @ slopes)
    np.testing.assert_allclose(list(found.shares.inputs.values()), shares)
    assert list(found.shares.inputs) == ["p[0]", "p[1]"]
    assert sum(found.shares.lines.values()) == pytest.approx(1.0)


def test_one_variance_of_one_number() -> None:
    found = cr.propagate(np.exp, 0.5, 0.01)
    assert found.std == pytest.approx(0.1 * np.exp(0.5))
    assert list(found.shares.inputs.values()) == [pytest.approx(1.0)]


def test_several_results() -> None:
    matrix = np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 3.0]])
    found = cr.propagate(lambda x: matrix @ x, np.array([1.0, 2.0]), COV)
    np.testing.assert_allclose(found.cov, matrix @ COV @ matrix.T)
    np.testing.assert_allclose(found.std, np.sqrt(np.diag(found.cov)))
    np.testing.assert_allclose(sum(found.shares.inputs.values()), 1.0)
    np.testing.assert_allclose(sum(found.shares.lines.values()), 1.0)


def test_containers() -> None:
    at = {"mass": 2.0, "speed": np.array([3.0, 4.0])}
    found = cr.propagate(
        lambda s: {"energy": s["mass"] * np.sum(s["speed"] ** 2) / 2, "mass": s["mass"]},
        at, np.diag([0.01, 0.04, 0.04]),
    )  # fmt: skip
    assert found.value["energy"] == pytest.approx(25.0)
    variance = (12.5**2) * 0.01 + (6.0**2 + 8.0**2) * 0.04
    assert found.std["energy"] == pytest.approx(np.sqrt(variance))
    assert found.cov[0, 1] == pytest.approx(12.5 * 0.01)
    assert list(found.shares.inputs) == ["s['mass']", "s['speed'][0]", "s['speed'][1]"]


def test_a_share_may_be_negative() -> None:
    found = cr.propagate(lambda x: x[0] - x[1], [1.0, 1.0], [[1.0, 1.5], [1.5, 4.0]])
    np.testing.assert_allclose(list(found.shares.inputs.values()), [-0.25, 1.25])


def test_by_line() -> None:
    def f(x):
        wide = 3 * x[0]
        narrow = 4 * x[1]
        return wide + narrow

    lines = cr.propagate(f, [1.0, 1.0], np.eye(2)).shares.lines
    assert [line.split("  ")[1] for line in lines] == ["narrow = 4 * x[1]", "wide = 3 * x[0]"]
    np.testing.assert_allclose(list(lines.values()), [16 / 25, 9 / 25])


def test_agrees_with_samples() -> None:
    draws = np.random.default_rng(0).multivariate_normal([1.0, 2.0], COV / 400, 40_000)
    found = cr.propagate(gravity, [1.0, 2.0], COV / 400)
    assert found.std == pytest.approx(np.std([gravity(d) for d in draws[:4000]]), rel=0.05)


def test_a_fit_is_passed_on() -> None:
    x = np.linspace(0, 4, 15)
    y = 2.5 * np.exp(-1.3 * x) + 0.02 * np.cos(9 * x)
    popt, pcov = curve_fit(lambda x, a, b: a * np.exp(-b * x), x, y, p0=[2, 1])
    found = cr.propagate(lambda p: np.log(2) / p[1], popt, pcov)
    assert found.std == pytest.approx(np.log(2) / popt[1] ** 2 * np.sqrt(pcov[1, 1]))
    assert found.shares.inputs["p[1]"] == pytest.approx(1.0)


def test_prints_as_a_table() -> None:
    text = str(cr.propagate(gravity, [1.0, 2.0], np.diag([0.04, 0.09])))
    assert text.startswith("9.8696 ± ")
    assert "share  input" in text
    assert "length, period = p" in text
    assert "<pre" in cr.propagate(gravity, [1.0, 2.0], COV)._repr_html_()


@pytest.mark.parametrize(
    ("cov", "kind", "says"),
    [
        (np.eye(3), cr.ShapeError, r"must be \(2, 2\)"),
        ([[1.0, 0.5], [0.0, 1.0]], cr.ArgumentError, "not symmetric"),
        ([[np.inf, 0.0], [0.0, 1.0]], cr.ArgumentError, "not finite"),
        ([[1.0, -9.0], [-9.0, 1.0]], cr.ArgumentError, "negative variance"),
        ([["a", "b"], ["c", "d"]], cr.DTypeError, "not real numbers"),
    ],
)
def test_no_covariance(cov, kind, says) -> None:
    with pytest.raises(kind, match=says):
        cr.propagate(lambda x: x[0] + x[1], [1.0, 2.0], cov)
