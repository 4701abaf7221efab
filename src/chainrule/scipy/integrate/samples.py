"""Integrals of samples: sums with weights, the same on arrays and on Variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate

from chainrule.core.containers import flatten
from chainrule.errors import UnsupportedError
from chainrule.record.recorder import as_operand
from chainrule.record.variable import Variable


def _open(*values: Any) -> bool:
    return any(isinstance(v, Variable) for v in flatten(values)[0])


def _taken(x: Any, axis: int, start: int, stop: int | None, step: int = 1) -> Any:
    index = [slice(None)] * x.ndim
    index[axis] = slice(start, stop, step)
    return x[tuple(index)]


def _widths(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The distances between samples, in a shape that fits y along the axis."""
    if x is None:
        return dx
    x = as_operand(x, Variable)
    if x.ndim > 1:
        return np.diff(x, axis=axis)
    shape = [1] * y.ndim
    shape[axis] = -1
    return np.reshape(np.diff(x), shape)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """scipy.integrate.trapezoid, differentiable by the samples and where they are."""
    if not _open(y, x, dx):
        return integrate.trapezoid(y, x, dx, axis)
    y = as_operand(y, Variable)
    means = (_taken(y, axis, 1, None) + _taken(y, axis, 0, -1)) / 2
    return np.sum(_widths(y, x, dx, axis) * means, axis=axis)


def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """scipy.integrate.cumulative_trapezoid, differentiable by the samples and where they are."""
    if not _open(y, x, dx):
        return integrate.cumulative_trapezoid(y, x, dx, axis, initial)
    if initial not in (None, 0):
        raise UnsupportedError("cumulative_trapezoid: `initial` must be None or 0, as in SciPy")
    y = as_operand(y, Variable)
    means = (_taken(y, axis, 1, None) + _taken(y, axis, 0, -1)) / 2
    found = np.cumsum(_widths(y, x, dx, axis) * means, axis=axis)
    if initial is None:
        return found
    return np.concatenate([np.zeros_like(_taken(y, axis, 0, 1)), found], axis=axis)


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """scipy.integrate.simpson, differentiable by the samples and where they are."""
    if not _open(y, x, dx):
        return integrate.simpson(y, x=x, dx=dx, axis=axis)
    y = as_operand(y, Variable)
    count = y.shape[axis]
    if count < 3:
        return trapezoid(y, x, dx, axis)
    widths = _widths(y, x, dx, axis)
    if x is None:
        widths = dx * np.ones([count - 1 if k == axis % y.ndim else 1 for k in range(y.ndim)])
    even = count if count % 2 else count - 1  # samples in whole parabolas
    first, second = _taken(widths, axis, 0, even - 1, 2), _taken(widths, axis, 1, even - 1, 2)
    a, b, c = (_taken(y, axis, k, even - 2 + k, 2) for k in range(3))
    whole = first + second
    parts = whole / 6 * (
        a * (2 - second / first) + b * whole**2 / (first * second) + c * (2 - first / second)
    )  # fmt: skip
    total = np.sum(parts, axis=axis)
    if count % 2:
        return total
    # Cartwright's rule for the last interval, by the parabola through the last three samples.
    before, last = (np.squeeze(_taken(widths, axis, k, k + 1 or None), axis) for k in (-2, -1))
    u, v, w = (np.squeeze(_taken(y, axis, k, k + 1 or None), axis) for k in (-3, -2, -1))
    return (
        total
        + w * (2 * last**2 + 3 * last * before) / (6 * (before + last))
        + v * (last**2 + 3 * last * before) / (6 * before)
        - u * last**3 / (6 * before * (before + last))
    )
