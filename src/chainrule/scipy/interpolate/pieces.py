"""Piecewise polynomials whose coefficients, and the points they are asked at, may be Variables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.joining import as_array
from chainrule.record.state import is_constant

Array = Any


def numbers(value: Any) -> Any:
    """The plain numbers of an array, by which a piece is chosen; the compiler is told of them."""
    return value.value if hasattr(value, "__chainrule_record__") else np.asarray(value)


def breakpoints(x: Any, name: str) -> np.ndarray:
    """Increasing plain numbers: where the pieces meet is no input of a derivative."""
    x = as_array(x)
    if hasattr(x, "__chainrule_record__") and is_constant(x.node):
        x = x.value  # made by chainrule.numpy of plain numbers
    if hasattr(x, "__chainrule_record__"):
        raise DTypeError(
            f"{name}: the places x of the data are Variables; derivatives are taken in the values "
            "and in the points asked at.\n  pass cr.stop_gradient(x).value for x, or x.value "
            "outside of a differentiated function."
        )
    x = np.asarray(x, float)
    if x.ndim != 1 or len(x) < 2 or np.any(np.diff(x) <= 0):
        raise ArgumentError(f"{name}: x must be one axis of at least two increasing numbers")
    return x


def values_on(x: np.ndarray, y: Any, axis: int, name: str) -> Array:
    """The values with the axis of the data first."""
    y = np.moveaxis(as_array(y), axis, 0)
    if y.shape[0] != len(x):
        raise ShapeError(f"{name}: {len(x)} places x and {y.shape[0]} values along the axis {axis}")
    return y if y.dtype.kind in "fc" else y.astype(float)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials of t − x[i] on the piece i, highest power first, as scipy.interpolate.PPoly."""

    c: Array
    x: np.ndarray
    extrapolate: Any = True
    axis: int = 0

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Array:
        if nu:
            return self.derivative(nu)(x, extrapolate=extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        t = as_array(x)
        shape, t = t.shape, np.reshape(t, -1)
        first, last = self.x[0], self.x[-1]
        if extrapolate == "periodic":
            t = t - (last - first) * np.floor((numbers(t) - first) / (last - first))
        at = numbers(t)
        piece = np.clip(np.searchsorted(self.x, at, side="right") - 1, 0, len(self.x) - 2)
        tail = self.c.shape[2:]
        step = np.reshape(t - self.x[piece], (-1,) + (1,) * len(tail))
        total = self.c[0][piece]
        for k in range(1, self.c.shape[0]):
            total = total * step + self.c[k][piece]
        if extrapolate is False:
            inside = np.reshape((at >= first) & (at <= last), step.shape)
            total = np.where(inside, total, np.nan)
        total = np.reshape(total, (*shape, *tail))
        if self.axis:
            where = range(len(shape))
            total = np.moveaxis(total, where, range(self.axis, self.axis + len(shape)))
        return total

    def derivative(self, nu: int = 1) -> Pieces:
        """The pieces of the derivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        degree = self.c.shape[0] - 1
        if nu > degree:
            return replace(self, c=self.c[:1] * 0.0)
        factors = [math.perm(degree - k, nu) for k in range(degree + 1 - nu)]
        weights = np.reshape(np.asarray(factors, float), (-1,) + (1,) * (len(self.c.shape) - 1))
        return replace(self, c=self.c[: degree + 1 - nu] * weights)

    def antiderivative(self, nu: int = 1) -> Pieces:
        """The pieces of the integral from the first place on."""
        found = self
        for _ in range(nu):
            found = found._integrated()
        return found

    def _integrated(self) -> Pieces:
        count = self.c.shape[0]
        tail = (1,) * (len(self.c.shape) - 2)
        weights = np.reshape(1.0 / np.arange(count, 0, -1), (-1, 1, *tail))
        risen = self.c * weights
        h = np.reshape(np.diff(self.x), (-1, *tail))
        areas = sum(risen[k] * h ** (count - k) for k in range(count))
        start = np.concatenate([areas[:1] * 0.0, np.cumsum(areas, axis=0)[:-1]], axis=0)
        return replace(self, c=np.concatenate([risen, start[None]], axis=0))

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Array:
        """The integral from a to b, which may be Variables."""
        if (self.extrapolate if extrapolate is None else extrapolate) == "periodic":
            raise ArgumentError("integrate: of a periodic spline, from one place of x to another")
        whole = self._integrated()
        return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)


def cubics(x: np.ndarray, y: Array, slopes: Array) -> Array:
    """The coefficients of the cubics with these values and slopes at the places."""
    h = np.reshape(np.diff(x), (-1,) + (1,) * (len(y.shape) - 1))
    rise = (y[1:] - y[:-1]) / h
    bend = (slopes[:-1] + slopes[1:] - 2 * rise) / h
    return np.stack([bend / h, (rise - slopes[:-1]) / h - bend, slopes[:-1], y[:-1]])
