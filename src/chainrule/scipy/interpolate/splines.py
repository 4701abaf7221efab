"""Cubic splines: CubicSpline, PchipInterpolator, CubicHermiteSpline."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.errors import UnsupportedError
from chainrule.scipy.dispatch import meets_variable
from chainrule.scipy.interpolate.pieces import Pieces, breakpoints, cubics, values_on

Array = Any
MAX_PLACES = 8192  # of a spline with Variables: the slopes are a dense matrix times the values


def _theirs(name: str, *args: Any, **kwargs: Any) -> Any:
    """SciPy's object; asked at Variables it answers by the same coefficients."""
    import scipy.interpolate

    made = getattr(scipy.interpolate, name)(*args, **kwargs)
    return asked_at_variables(type(made))._of(made)


_asked: dict[type, type] = {}


def asked_at_variables(theirs: type) -> Any:
    """A subclass of a piecewise polynomial of SciPy's that can be asked at Variables."""
    if theirs in _asked:
        return _asked[theirs]

    class Asked(theirs):  # type: ignore[misc]
        @classmethod
        def _of(cls, made: Any) -> Any:
            made.__class__ = cls
            return made

        def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
            if not meets_variable(x):
                return super().__call__(x, nu, extrapolate)
            return Pieces(self.c, self.x, self.extrapolate, self.axis)(x, nu, extrapolate)

        def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
            if not meets_variable(a, b):
                return super().integrate(a, b, extrapolate)
            return Pieces(self.c, self.x, self.extrapolate, self.axis).integrate(a, b, extrapolate)

    Asked.__name__ = Asked.__qualname__ = theirs.__name__
    _asked[theirs] = Asked
    return Asked


def CubicSpline(  # noqa: N802 - SciPy's name
    x: Any, y: Array, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Any:
    """As scipy.interpolate.CubicSpline: the slopes at the places are linear in the values."""
    if not meets_variable(x, y, bc_type):
        return _theirs("CubicSpline", x, y, axis, bc_type, extrapolate)
    from scipy import interpolate

    if meets_variable(bc_type):
        raise UnsupportedError("CubicSpline: the end slopes in bc_type must be plain numbers")
    places = breakpoints(x, "CubicSpline")
    values = values_on(places, y, axis, "CubicSpline")
    n = len(places)
    if n > MAX_PLACES:
        raise UnsupportedError(f"CubicSpline of {n} Variables; at most {MAX_PLACES} are taken")
    unit, periodic = np.eye(n), isinstance(bc_type, str) and bc_type == "periodic"
    if periodic:
        unit = np.concatenate([np.eye(n - 1), np.eye(n - 1)[:1]])
    ends = _without_numbers(bc_type, unit.shape[1])
    matrix = interpolate.CubicSpline(places, unit, bc_type=ends)(places, 1)
    flat = np.reshape(values, (n, -1))
    slopes = matrix @ (flat[:-1] if periodic else flat)
    if not isinstance(bc_type, str):
        zero = np.zeros(values.shape)
        bent = interpolate.CubicSpline(places, zero, bc_type=bc_type)(places, 1)
        slopes = slopes + np.reshape(bent, (n, -1))
    if extrapolate is None:
        extrapolate = "periodic" if periodic else True
    coefficients = cubics(places, values, np.reshape(slopes, values.shape))
    return Pieces(coefficients, places, extrapolate, axis % len(values.shape))


def _without_numbers(bc_type: Any, count: int) -> Any:
    """The same conditions with the value 0, under which the spline is linear in the values."""
    if isinstance(bc_type, str):
        return bc_type
    return tuple(b if isinstance(b, str) else (b[0], np.zeros(count)) for b in bc_type)


def CubicHermiteSpline(  # noqa: N802 - SciPy's name
    x: Any, y: Array, dydx: Array, axis: int = 0, extrapolate: Any = None
) -> Any:
    """As scipy.interpolate.CubicHermiteSpline."""
    if not meets_variable(x, y, dydx):
        return _theirs("CubicHermiteSpline", x, y, dydx, axis, extrapolate)
    places = breakpoints(x, "CubicHermiteSpline")
    values, slopes = (values_on(places, v, axis, "CubicHermiteSpline") for v in (y, dydx))
    extrapolate = True if extrapolate is None else extrapolate
    return Pieces(cubics(places, values, slopes), places, extrapolate, axis % len(values.shape))


def PchipInterpolator(  # noqa: N802 - SciPy's name
    x: Any, y: Array, axis: int = 0, extrapolate: Any = None
) -> Any:
    """As scipy.interpolate.PchipInterpolator: slopes that keep the data's rises and falls."""
    if not meets_variable(x, y):
        return _theirs("PchipInterpolator", x, y, axis, extrapolate)
    places = breakpoints(x, "PchipInterpolator")
    values = values_on(places, y, axis, "PchipInterpolator")
    h = np.reshape(np.diff(places), (-1,) + (1,) * (len(values.shape) - 1))
    rise = (values[1:] - values[:-1]) / h
    if len(places) == 2:
        slopes = np.concatenate([rise, rise], axis=0)
    else:
        ends = (_end_slope(h[0], h[1], rise[0], rise[1])[None],
                _end_slope(h[-1], h[-2], rise[-1], rise[-2])[None])  # fmt: skip
        slopes = np.concatenate([ends[0], _inner_slopes(h, rise), ends[1]], axis=0)
    extrapolate = True if extrapolate is None else extrapolate
    return Pieces(cubics(places, values, slopes), places, extrapolate, axis % len(values.shape))


def _inner_slopes(h: Array, rise: Array) -> Array:
    """The weighted harmonic mean of both rises, and 0 where they differ in sign."""
    before, after = rise[:-1], rise[1:]
    same = np.sign(before) * np.sign(after) > 0
    one, two = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    left, right = np.where(same, before, 1.0), np.where(same, after, 1.0)
    return np.where(same, (one + two) / (one / left + two / right), 0.0)


def _end_slope(near: Array, far: Array, rise: Array, other: Array) -> Array:
    """By three points, kept from turning round."""
    slope = ((2 * near + far) * rise - near * other) / (near + far)
    turns = np.sign(slope) != np.sign(rise)
    steep = (np.sign(rise) != np.sign(other)) & (np.abs(slope) > 3 * np.abs(rise))
    return np.where(turns, 0.0, np.where(steep, 3 * rise, slope))
