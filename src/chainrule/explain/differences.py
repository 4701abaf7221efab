"""Numerical derivatives along a line, with the step chosen by the error it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Arrays = list[Any]
Evaluate = Callable[..., Arrays]  # at(t, off): the function at x + off + t·u, a list of arrays

NEARBY = 24  # points around a kink at which slopes are taken
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)


class Slope(NamedTuple):
    """A derivative along a direction and how far it may be off, per output."""

    value: Arrays
    error: Arrays
    evaluations: int


def central(at: Evaluate, scale: float) -> Slope:
    """Fourth-order central difference; of several steps the one whose error estimate is least.

    The estimate is the distance to the second-order difference of the same step plus what
    rounding of the values does to the quotient.
    """
    best: Slope | None = None
    least = np.inf
    used = 0
    for step in STEPS:
        h = step * scale
        a, b, c, d = at(2 * h), at(h), at(-h), at(-2 * h)
        used += 4
        value = [(8 * (q - r) - (p - s)) / (12 * h) for p, q, r, s in zip(a, b, c, d, strict=True)]
        coarse = [(q - r) / (2 * h) for q, r in zip(b, c, strict=True)]
        rounding = [
            np.finfo(np.float64).eps * (np.abs(q) + np.abs(r)) / h
            for q, r in zip(b, c, strict=True)
        ]
        # Fourth order is about (error of second order)² better; its own error is below this.
        error = [np.abs(v - w) * step + e for v, w, e in zip(value, coarse, rounding, strict=True)]
        largest = max((float(np.max(e, initial=0.0)) for e in error), default=0.0)
        largest = largest if largest == largest else np.inf  # a step out of the domain
        if largest < least or best is None:
            best, least = Slope(value, error, 0), largest
    assert best is not None
    return best._replace(evaluations=used)


def one_sided(at: Evaluate, scale: float) -> tuple[Arrays, Arrays]:
    """The derivatives on both sides along the direction, for points at a kink."""
    h = 1e-6 * scale
    here, ahead, behind = at(0.0), at(h), at(-h)
    right = [(p - q) / h for p, q in zip(ahead, here, strict=True)]
    left = [(q - p) / h for p, q in zip(behind, here, strict=True)]
    return left, right


def nearby(at: Evaluate, point: Arrays, scale: float, rng: np.random.Generator) -> list[Arrays]:
    """The slopes along the direction at points around this one: a kink's derivative mixes them."""
    h, reach = 1e-7 * scale, 1e-5 * scale
    slopes = []
    for _ in range(NEARBY):
        off = [reach * rng.uniform(-1, 1, np.shape(x)) for x in point]
        slopes.append([(p - q) / (2 * h) for p, q in zip(at(h, off), at(-h, off), strict=True)])
    return slopes


def directions(arrays: Sequence[Any], rng: np.random.Generator) -> Arrays:
    """A random direction in the space of these arrays; 1 in that of a real number."""

    def one(a: Any) -> Any:
        if a.size == 1 and a.dtype.kind == "f":
            return np.ones(a.shape, a.dtype)[()]
        real = rng.standard_normal(a.shape)
        made = real + 1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else real
        return made.astype(a.dtype)[()] if made.ndim == 0 else made.astype(a.dtype)

    return [one(a) for a in arrays]


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """Re Σ conj(a)·b."""
    return float(sum(np.sum(np.conj(p) * q).real for p, q in zip(a, b, strict=True)))
