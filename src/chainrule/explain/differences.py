"""Numerical derivatives along a line, with the step chosen by the error it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Arrays = list[Any]
Evaluate = Callable[..., Arrays]  # at(t, off): the function at x + off + t·u, a list of arrays

NEARBY = 24  # points around a kink at which slopes are taken
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)
FINER = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
EPSILON = np.finfo(np.float64).eps
FLOOR = 1e-8  # a slope below this is zero as far as choosing among steps goes


class Slope(NamedTuple):
    """A derivative along a direction and how far it may be off, per output."""

    value: Arrays
    error: Arrays
    evaluations: int


def central(at: Evaluate, scale: float, tiny: float = 0.0) -> Slope:
    """Fourth-order central difference; per entry that of the step which its neighbour confirms.

    The error is the distance to the difference of the step before, plus what rounding of the
    values does to the quotient.  Where the usual steps do not settle (they leave the domain, or
    reach across a pole), finer ones are tried, last those of the size of `tiny`.
    """
    before = best = None
    used = 0
    for step in _steps(scale, tiny):
        if best is not None and used >= 4 * len(STEPS) and settled(best, 1e-7):
            break
        value, coarse, rounding = _quotients(at, step)
        used += 4
        error = [
            np.where(np.isfinite(v - w), np.abs(v - w) + e, np.inf)
            for v, w, e in zip(value, before or coarse, rounding, strict=True)
        ]
        best = _better(best, Slope(value, error, 0))
        before = value
    assert best is not None
    return best._replace(evaluations=used)


def settled(slope: Slope, tolerance: float) -> bool:
    """Whether no entry is off by more than this, relative to its size."""
    return all(
        bool(np.all(np.isfinite(v) & (e <= tolerance * (0.01 + np.abs(v)))))
        for v, e in zip(slope.value, slope.error, strict=True)
    )


def _steps(scale: float, tiny: float) -> list[float]:
    return [*(s * scale for s in (*STEPS, *FINER)), *(s * tiny for s in STEPS if tiny)]


def _quotients(at: Evaluate, h: float) -> tuple[Arrays, Arrays, Arrays]:
    """The difference quotients of fourth and second order, and what rounding does to them."""
    quads = list(zip(at(2 * h), at(h), at(-h), at(-2 * h), strict=True))
    value = [(8 * (q - r) - (p - s)) / (12 * h) for p, q, r, s in quads]
    coarse = [(q - r) / (2 * h) for _, q, r, _ in quads]
    rounding = [EPSILON * (np.abs(q) + np.abs(r)) / h for _, q, r, _ in quads]
    return value, coarse, rounding


def _better(one: Slope | None, other: Slope) -> Slope:
    """Per entry the one with the smaller error in relation to its size."""
    if one is None:
        return other
    value, error = [], []
    for v, e, w, f in zip(one.value, one.error, other.value, other.error, strict=True):
        take = ~np.isfinite(v) | (f / (np.abs(w) + FLOOR) < e / (np.abs(v) + FLOOR))
        value.append(np.where(take, w, v))
        error.append(np.where(take, f, e))
    return Slope(value, error, 0)


def _slopes(ahead: Arrays, behind: Arrays, closer: tuple[Arrays, Arrays], h: float) -> Arrays:
    """Difference quotients; infinite in the lanes whose difference does not shrink with the step,
    NaN in those that leave the domain."""
    found = []
    for p, q, p1, q1 in zip(ahead, behind, *closer, strict=True):
        apart = np.abs(p - q)
        jumps = (apart > 0) & (np.abs(p1 - q1) > 0.5 * apart)
        slope = np.where(np.isfinite(apart), (p - q) / h, np.nan)
        found.append(np.where(jumps, np.inf, slope))
    return found


def one_sided(at: Evaluate, scale: float) -> tuple[Arrays, Arrays]:
    """The derivatives on both sides along the direction, for points at a kink."""
    h, less = 1e-6 * scale, 1e-9 * scale
    here = at(0.0)
    left = _slopes(here, at(-h), (here, at(-less)), h)
    return left, _slopes(at(h), here, (at(less), here), h)


def nearby(at: Evaluate, point: Arrays, scale: float, rng: np.random.Generator) -> list[Arrays]:
    """The slopes along the direction at points around this one: a kink's derivative mixes them.

    NaN where a smaller step says otherwise: the larger one reached across the kink.
    """
    h, less, reach = 1e-7 * scale, 1e-9 * scale, 1e-5 * scale
    slopes = []
    for _ in range(NEARBY):
        off = [reach * rng.uniform(-1, 1, np.shape(x)) for x in point]
        wide = [(p - q) / (2 * h) for p, q in zip(at(h, off), at(-h, off), strict=True)]
        near = [(p - q) / (2 * less) for p, q in zip(at(less, off), at(-less, off), strict=True)]
        slopes.append(
            [
                np.where(np.abs(w - n) <= 0.01 * (1 + np.abs(n)), w, np.nan)
                for w, n in zip(wide, near, strict=True)
            ]
        )
    return slopes


def repeats(at: Evaluate, scale: float) -> bool:
    """Whether the function gives the same value twice, here and a step away."""
    return all(
        np.array_equal(a, b, equal_nan=True)
        for t in (0.0, 1e-3 * scale)
        for a, b in zip(at(t), at(t), strict=True)
    )


class Sides(NamedTuple):
    """The slopes at a kink: on both sides, and at points nearby.

    `jumps` tells whether the value jumps there, `kink` whether that or the slopes show it to be a
    kink; the edge of a domain shows nothing.
    """

    left: Arrays
    right: Arrays
    around: list[Arrays]
    jumps: bool
    kink: bool


def sides(at: Evaluate, point: Arrays, scale: float, rng: np.random.Generator) -> Sides:
    """What a derivative at a kink must lie between; beside a jump the slopes nearby say it."""
    left, right = one_sided(at, scale)
    around = nearby(at, point, scale, rng)
    lanes = [np.stack(lane) for lane in zip(*around, strict=True)]
    jumps = any(bool(np.isinf(s).any()) for s in (*left, *right))
    bends = any(
        bool(np.any(np.abs(a - b) > 1e-3 * (1 + np.abs(a) + np.abs(b))))
        for a, b in zip(left, right, strict=True)
    )

    def filled(side: Arrays, choose: np.ufunc) -> Arrays:
        return [
            np.where(np.isfinite(s), s, choose.reduce(lane, axis=0))
            for s, lane in zip(side, lanes, strict=True)
        ]

    whole = [s for s in around if all(np.isfinite(a).all() for a in s)]
    return Sides(filled(left, np.fmin), filled(right, np.fmax), whole, jumps, jumps or bends)


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
