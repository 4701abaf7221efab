"""`splines.py`, `pieces.py`, `lines.py`, `grids.py`: derivatives in the values, in the points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate

import chainrule as cr
from chainrule import scipy as csp
from tests.scipy.alike import agrees, case

rng = np.random.default_rng(0)
X = np.array([0.0, 0.7, 1.1, 2.0, 3.2])
Y, T = rng.normal(size=5), np.array([0.1, 0.9, 1.5, 3.1, -0.2, 3.5])
M = rng.normal(size=(5, 2))
LOOP = np.concatenate([Y[:4], Y[:1]])
GRID = (np.array([0.0, 1.0, 2.5]), np.array([0.0, 0.5, 2.0, 3.0]))
V, P = rng.normal(size=(3, 4)), np.array([[0.3, 0.2], [1.7, 2.2], [2.4, 1.1]])
ENDS = ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, -0.2)), ("natural", (1, 0.5)))
INNER = T[:4]


def around(y):
    """Values of which the last is the first."""
    return np.concatenate([y[:4], y[:1]])


CASES = [
    *(case(f"cubic {k}", lambda m, y, t, k=k: m.CubicSpline(X, y, bc_type=k)(t), Y, T)
      for k in ENDS),
    case("cubic periodic", lambda m, y, t: m.CubicSpline(X, around(y), bc_type="periodic")(t),
         LOOP, T),
    case("cubic columns", lambda m, y, t: m.CubicSpline(X, y)(t), M, T),
    case("cubic rows", lambda m, y, t: m.CubicSpline(X, y, axis=1)(t), M.T, T.reshape(2, 3)),
    case("cubic at points", lambda m, t: m.CubicSpline(X, Y)(t), T),
    case("cubic slope", lambda m, y, t: m.CubicSpline(X, y)(t, 1), Y, T),
    case("cubic integral", lambda m, y, a, b: m.CubicSpline(X, y).integrate(a, b),
         Y, np.float64(0.2), np.float64(2.9)),
    case("cubic integral of numbers", lambda m, b: m.CubicSpline(X, Y).integrate(0.1, b),
         np.float64(2.9)),
    case("cubic primitive", lambda m, y, t: m.CubicSpline(X, y).antiderivative()(t), Y, T),
    case("cubic curvature", lambda m, y, t: m.CubicSpline(X, y).derivative(2)(t), Y, T),
    case("hermite", lambda m, y, d, t: m.CubicHermiteSpline(X, y, d)(t), Y, M[:, 0], T),
    case("pchip", lambda m, y, t: m.PchipInterpolator(X, y)(t), Y, T),
    case("pchip rising", lambda m, y, t: m.PchipInterpolator(X, y)(t), np.sort(Y), T),
    case("pchip two", lambda m, y, t: m.PchipInterpolator(X[:2], y)(t), Y[:2], T),
    case("interp1d", lambda m, y, t: m.interp1d(X, y)(t), Y, INNER),
    case("interp1d axis", lambda m, y, t: m.interp1d(X, y, axis=0)(t), M, INNER.reshape(2, 2)),
    case("interp1d rows", lambda m, y, t: m.interp1d(X, y)(t), M.T, INNER),
    case("interp1d unsorted", lambda m, y, t: m.interp1d(X[::-1], y)(t), Y, INNER),
    case("interp1d at points", lambda m, t: m.interp1d(X, Y)(t), INNER),
    case("interp1d cubic", lambda m, y, t: m.interp1d(X, y, kind="cubic")(t), Y, INNER),
    *(case(f"interp1d {k}", lambda m, y, k=k: m.interp1d(X, y, kind=k)(INNER), Y)
      for k in ("nearest", "nearest-up", "previous", "zero", "next")),
    case("interp1d beyond", lambda m, y, t: m.interp1d(X, y, fill_value="extrapolate")(t), Y, T),
    case("interp1d filled",
         lambda m, y, t: m.interp1d(X, y, bounds_error=False, fill_value=(1.0, 2.0))(t), Y, T),
    case("grid", lambda m, v, p: m.RegularGridInterpolator(GRID, v)(p), V, P),
    case("grid at points", lambda m, p: m.RegularGridInterpolator(GRID, V)(p), P),
    case("grid nearest", lambda m, v: m.RegularGridInterpolator(GRID, v, "nearest")(P), V),
    case("grid beyond", lambda m, v, p: m.RegularGridInterpolator(
        GRID, v, bounds_error=False, fill_value=None)(p + 0.5), V, P),
    case("grid filled", lambda m, v, p: m.RegularGridInterpolator(
        GRID, v, bounds_error=False, fill_value=0.5)(p + 0.5), V, P),
]  # fmt: skip


@pytest.mark.parametrize("a", CASES, ids=str)
def test_value_and_derivatives(a):
    agrees("interpolate", a)


def test_of_plain_numbers_it_is_scipys_class():
    spline = csp.interpolate.CubicSpline(X, Y)
    assert isinstance(spline, scipy.interpolate.CubicSpline)
    np.testing.assert_array_equal(spline(T), scipy.interpolate.CubicSpline(X, Y)(T))


def test_places_of_the_data_have_no_derivative():
    with pytest.raises(cr.DTypeError, match="derivatives are taken in the values"):
        cr.grad(lambda x: csp.interpolate.CubicSpline(x, Y)(1.0))(X)


def test_outside_of_the_data():
    with pytest.raises(cr.OutOfRangeError, match=r"asked at -0\.2"):
        cr.grad(lambda y: np.sum(csp.interpolate.interp1d(X, y)(T)))(Y)


def test_compiled_it_follows_the_points_into_other_pieces():
    f = cr.compile(cr.grad(lambda t: csp.interpolate.CubicSpline(X, Y)(t)))
    for t in (0.3, 0.9, 1.9, 0.4, 2.5):
        np.testing.assert_allclose(f(t), scipy.interpolate.CubicSpline(X, Y)(t, 1), rtol=1e-12)
