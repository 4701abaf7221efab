"""interp1d: straight lines, steps and cubics between data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.errors import OutOfRangeError, UnsupportedError
from chainrule.ops.joining import as_array
from chainrule.scipy.dispatch import meets_variable
from chainrule.scipy.interpolate.pieces import Pieces, breakpoints, numbers, values_on
from chainrule.scipy.interpolate.splines import CubicSpline

Array = Any
STEPS = ("nearest", "nearest-up", "previous", "zero", "next")


@dataclass(frozen=True, eq=False)
class Interpolant:
    """What `interp1d` returns where Variables are met."""

    x: np.ndarray
    y: Array  # with the axis of the data first
    kind: str
    axis: int
    bounds_error: bool
    fill_value: Any

    def __call__(self, x: Any) -> Array:
        t = as_array(x)
        shape, at = t.shape, np.reshape(t, -1)
        plain = numbers(at)
        below, above = plain < self.x[0], plain > self.x[-1]
        if self.bounds_error and np.any(below | above):
            raise OutOfRangeError(
                f"interp1d: asked at {plain[below | above][0]}, outside of [{self.x[0]}, "
                f"{self.x[-1]}]; pass bounds_error=False or fill_value='extrapolate'"
            )
        found = self._values(at, plain)
        if not isinstance(self.fill_value, str):
            low, high = self._fills()
            wide = (-1,) + (1,) * (len(self.y.shape) - 1)
            found = np.where(np.reshape(below, wide), low, found)
            found = np.where(np.reshape(above, wide), high, found)
        found = np.reshape(found, (*shape, *self.y.shape[1:]))
        return np.moveaxis(found, range(len(shape)), range(self.axis, self.axis + len(shape)))

    def _fills(self) -> tuple[Any, Any]:
        pair = isinstance(self.fill_value, tuple)
        return self.fill_value if pair else (self.fill_value, self.fill_value)

    def _values(self, t: Array, plain: np.ndarray) -> Array:
        if self.kind in STEPS:
            return self.y[self._step(plain)]
        if self.kind == "cubic":
            return CubicSpline(self.x, self.y)(t)
        wide = (-1,) + (1,) * (len(self.y.shape) - 1)
        rise = (self.y[1:] - self.y[:-1]) / np.reshape(np.diff(self.x), wide)
        return Pieces(np.stack([rise, self.y[:-1]]), self.x)(t)

    def _step(self, t: np.ndarray) -> Any:
        last = len(self.x) - 1
        if self.kind in ("previous", "zero"):
            return np.clip(np.searchsorted(self.x, t, side="right") - 1, 0, last)
        if self.kind == "next":
            return np.clip(np.searchsorted(self.x, t, side="left"), 0, last)
        middle = (self.x[1:] + self.x[:-1]) / 2
        return np.searchsorted(middle, t, side="right" if self.kind == "nearest-up" else "left")


def interp1d(
    x: Any,
    y: Array,
    kind: Any = "linear",
    axis: int = -1,
    copy: bool = True,
    bounds_error: bool | None = None,
    fill_value: Any = np.nan,
    assume_sorted: bool = False,
) -> Any:
    """As scipy.interpolate.interp1d."""
    if bounds_error is None:
        plain = not isinstance(fill_value, (str, tuple)) and not meets_variable(fill_value)
        bounds_error = bool(plain and np.all(np.isnan(fill_value)))
    if not meets_variable(x, y, fill_value):
        return _theirs(x, y, kind, axis, copy, bounds_error, fill_value, assume_sorted)
    return _ours(x, y, kind, axis, bounds_error, fill_value, assume_sorted)


def _ours(
    x: Any, y: Array, kind: Any, axis: int, bounds_error: bool, fill_value: Any, sorted: bool
) -> Interpolant:
    kind = {0: "zero", 1: "linear", 3: "cubic", "slinear": "linear"}.get(kind, kind)
    if kind not in (*STEPS, "linear", "cubic"):
        raise UnsupportedError(
            f"interp1d with kind={kind!r} on Variables; choose 'linear', 'cubic', 'nearest', "
            "'previous' or 'next'"
        )
    if not sorted and not meets_variable(x):
        order = np.argsort(np.asarray(x), kind="mergesort")
        x, y = np.asarray(x)[order], np.take(as_array(y), order, axis)
    places = breakpoints(x, "interp1d")
    values = values_on(places, y, axis, "interp1d")
    limits = bounds_error and not isinstance(fill_value, str)
    return Interpolant(places, values, kind, axis % len(values.shape), limits, fill_value)


def _theirs(x: Any, y: Any, kind: Any, axis: int, copy: bool, *rest: Any) -> Any:
    """SciPy's own; asked at Variables, ours of the same data."""
    from scipy.interpolate import interp1d as theirs

    bounds_error, fill_value, assume_sorted = rest

    class Asked(theirs):  # type: ignore[misc]
        def __call__(self, t: Any) -> Any:
            if not meets_variable(t):
                return super().__call__(t)
            return _ours(x, y, kind, axis, bounds_error, fill_value, assume_sorted)(t)

    Asked.__name__ = Asked.__qualname__ = "interp1d"
    return Asked(x, y, kind, axis, copy, bounds_error, fill_value, assume_sorted)
