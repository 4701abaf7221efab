"""RegularGridInterpolator: values on a grid, between which lines in each direction are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from chainrule.errors import OutOfRangeError, ShapeError, UnsupportedError
from chainrule.ops.joining import as_array
from chainrule.scipy.dispatch import meets_variable
from chainrule.scipy.interpolate.pieces import breakpoints, numbers

Array = Any


@dataclass(frozen=True, eq=False)
class Grid:
    """What `RegularGridInterpolator` returns where Variables are met."""

    grid: tuple[np.ndarray, ...]
    values: Array
    method: str
    bounds_error: bool
    fill_value: Any

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        method = self.method if method is None else method
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*[as_array(v) for v in xi]), axis=-1)
        xi = as_array(xi)
        if xi.ndim == 1 and len(self.grid) > 1:
            xi = np.reshape(xi, (1, -1))  # one point
        if xi.shape[-1:] != (len(self.grid),):
            raise ShapeError(f"points of shape {xi.shape} on a grid of {len(self.grid)} axes")
        shape, points = xi.shape[:-1], np.reshape(xi, (-1, len(self.grid)))
        plain = numbers(points)
        outside = self._outside(plain)
        found = self._linear(points, plain) if method == "linear" else self._nearest(plain)
        if self.fill_value is not None and np.any(outside):
            wide = np.reshape(outside, (-1,) + (1,) * (len(found.shape) - 1))
            found = np.where(wide, self.fill_value, found)
        return np.reshape(found, (*shape, *found.shape[1:]))

    def _outside(self, plain: np.ndarray) -> np.ndarray:
        outside = np.zeros(len(plain), bool)
        for k, axis in enumerate(self.grid):
            beyond = (plain[:, k] < axis[0]) | (plain[:, k] > axis[-1])
            if self.bounds_error and np.any(beyond):
                raise OutOfRangeError(
                    f"RegularGridInterpolator: a point is outside of the grid along axis {k}; "
                    "pass bounds_error=False, and fill_value=None to extrapolate"
                )
            outside |= beyond
        return outside

    def _cells(self, plain: np.ndarray) -> list[np.ndarray]:
        return [
            np.clip(np.searchsorted(axis, plain[:, k]) - 1, 0, len(axis) - 2)
            for k, axis in enumerate(self.grid)
        ]

    def _linear(self, points: Array, plain: np.ndarray) -> Array:
        """The corners of the cell, each times how near it is."""
        cells, total = self._cells(plain), 0.0
        parts = [
            (points[:, k] - axis[i]) / (axis[i + 1] - axis[i])
            for k, (axis, i) in enumerate(zip(self.grid, cells, strict=True))
        ]
        tail = (1,) * (len(self.values.shape) - len(self.grid))
        for corner in product((0, 1), repeat=len(self.grid)):
            weight: Any = 1.0
            for part, upper in zip(parts, corner, strict=True):
                weight = weight * (part if upper else 1 - part)
            at = tuple(i + upper for i, upper in zip(cells, corner, strict=True))
            total = total + np.reshape(weight, (-1, *tail)) * self.values[at]
        return total

    def _nearest(self, plain: np.ndarray) -> Array:
        at = []
        for k, (axis, i) in enumerate(zip(self.grid, self._cells(plain), strict=True)):
            part = (plain[:, k] - axis[i]) / (axis[i + 1] - axis[i])
            at.append(np.where(part <= 0.5, i, i + 1))
        return self.values[tuple(at)]


def RegularGridInterpolator(  # noqa: N802 - SciPy's name
    points: Sequence[Any],
    values: Array,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
    **options: Any,
) -> Any:
    """As scipy.interpolate.RegularGridInterpolator, with the methods linear and nearest."""
    from scipy import interpolate

    theirs = interpolate.RegularGridInterpolator
    if not meets_variable(points, values, fill_value):
        made = theirs(points, values, method, bounds_error, fill_value, **options)
        return _asked(theirs, made)
    if method not in ("linear", "nearest") or options:
        raise UnsupportedError(
            f"RegularGridInterpolator with method={method!r}; choose 'linear' or 'nearest'"
        )
    grid = tuple(breakpoints(p, "RegularGridInterpolator") for p in points)
    values = as_array(values)
    if values.shape[: len(grid)] != tuple(len(axis) for axis in grid):
        raise ShapeError(f"values of shape {values.shape} on a grid of {[len(a) for a in grid]}")
    return Grid(grid, values, method, bounds_error, fill_value)


def _asked(theirs: Any, made: Any) -> Any:
    """SciPy's own; asked at Variables, ours of the same values."""

    class Asked(theirs):  # type: ignore[misc]
        def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
            if not meets_variable(xi):
                return super().__call__(xi, method, nu=nu)
            how = self.method if method is None else method
            if nu is not None or how not in ("linear", "nearest"):
                raise UnsupportedError(
                    f"RegularGridInterpolator with method={how!r} at Variables; choose 'linear' "
                    "or 'nearest', and leave nu out"
                )
            return Grid(self.grid, self.values, how, self.bounds_error, self.fill_value)(xi)

    Asked.__name__ = Asked.__qualname__ = "RegularGridInterpolator"
    made.__class__ = Asked
    return made
