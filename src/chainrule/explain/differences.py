"""Numerical derivatives along a line, with the step chosen by the error it makes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from chainrule.errors import ChainruleError

Arrays = list[Any]
Evaluate = Callable[..., Arrays]  # at(t, off): the function at x + off + t·u, a list of arrays

SMALLEST = 5e-324  # the distance of the smallest numbers
NEARBY = 24  # points around a kink at which slopes are taken
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)
FINER = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
CAREFUL_STEPS = tuple(10.0**-k for k in range(1, 15))  # steps of the careful difference
EPSILON = float(np.finfo(np.float64).eps)
FLOOR = 1e-8  # a slope below this part of |f| is zero as far as choosing among steps goes


class Slope(NamedTuple):
    """A derivative along a direction and how far it may be off, per output.

    `size` is that of the values: what a slope of this function is large or small by.
    """

    value: Arrays
    error: Arrays
    evaluations: int
    size: Arrays


def central(at: Evaluate, scale: float, tiny: float = 0.0, epsilon: float = EPSILON) -> Slope:
    """Fourth-order central difference; per entry that of the step which its neighbour confirms.

    The error is the distance to the difference of the step before, plus what rounding of the
    values, by `epsilon`, does to the quotient.  Where the usual steps do not settle (they leave the
    domain, or reach across a pole), finer ones are tried, last those of the size of `tiny`.
    """
    before = best = None
    used = 0
    for step in _steps(scale, tiny):
        if best is not None and used >= 4 * len(STEPS) and settled(best, 1e-7, scale):
            break
        value, coarse, size = _quotients(at, step)
        used += 4
        error = [
            np.where(np.isfinite(v - w), np.abs(v - w) + 2 * epsilon * f / step, np.inf)
            for v, w, f in zip(value, before or coarse, size, strict=True)
        ]
        best = _better(best, Slope(value, error, 0, size), scale)
        before = value
    assert best is not None
    return best._replace(evaluations=used)


def settled(slope: Slope, tolerance: float, scale: float) -> bool:
    """Whether no entry is off by more than this, relative to its size or that of |f| / scale."""
    return all(
        bool(np.all(np.isfinite(v) & (e <= tolerance * (np.abs(v) + 0.01 * f / scale))))
        for v, e, f in zip(slope.value, slope.error, slope.size, strict=True)
    )


def _steps(scale: float, tiny: float) -> list[float]:
    return [*(s * scale for s in (*STEPS, *FINER)), *(s * tiny for s in STEPS if tiny)]


def _quotients(at: Evaluate, h: float) -> tuple[Arrays, Arrays, Arrays]:
    """The difference quotients of fourth and second order, and the size of the values."""
    quads = list(zip(*(_wide(at(t * h)) for t in (2, 1, -1, -2)), strict=True))
    value = [((8 * (q - r) - (p - s)) / 12) / h for p, q, r, s in quads]
    coarse = [((q - r) / 2) / h for _, q, r, _ in quads]
    return value, coarse, [np.maximum(np.abs(q), np.abs(r)) for _, q, r, _ in quads]


def _wide(values: Arrays) -> Arrays:
    """Differences of narrow numbers are taken in double precision."""
    return [np.asarray(v, np.result_type(v, np.float64)) for v in values]


def _better(one: Slope | None, other: Slope, scale: float) -> Slope:
    """Per entry the one with the smaller error in relation to its size."""
    if one is None:
        return other
    value, error = [], []
    rows = zip(one.value, one.error, other.value, other.error, one.size, strict=True)
    for v, e, w, f, size in rows:
        floor = np.where(np.isfinite(size), FLOOR * size / scale, 0.0) + np.finfo(float).tiny
        take = ~np.isfinite(v) | (f / (np.abs(w) + floor) < e / (np.abs(v) + floor))
        value.append(np.where(take, w, v))
        error.append(np.where(take, f, e))
    return Slope(value, error, 0, one.size)


# -- with more care ------------------------------------------------------------------------------


def careful(
    at: Evaluate, scale: float, tiny: float, size: float, epsilon: float, floor: float = 0.0
) -> Slope:
    """The central difference of many steps, weighed by the noise of the values, which is measured.

    Coarse steps are exact to more digits, but only a finer one sees what the function does close
    by.  So per entry the walk goes from fine to coarse, takes what has the smaller error, and ends
    where a coarser difference contradicts the finer ones.  `size` is that of the point, whose own
    rounding makes each step longer or shorter; `floor` is noise that is known to be there.
    """
    steps = sorted({s * by for by in {scale, tiny} if by for s in CAREFUL_STEPS}, reverse=True)
    rows = []
    before = None
    for h in steps:
        near = [_wide(at(k * h / 4)) for k in range(-4, 5)]
        outer = _wide(at(-2 * h)), _wide(at(2 * h))
        noise = [np.maximum(n, floor) for n in _noise(near, epsilon)]
        quads = zip(outer[1], near[8], near[0], outer[0], strict=True)
        value = [((8 * (q - r) - (p - s)) / 12) / h for p, q, r, s in quads]
        coarse = [((q - r) / 2) / h for q, r in zip(near[8], near[0], strict=True)]
        error = [
            np.abs(v - w) + 3 * n / h + epsilon * size / h * np.abs(v)
            for v, w, n in zip(value, before or coarse, noise, strict=True)
        ]
        rows.append((value, error))
        before = value
    best = [_walked([(v[i], e[i]) for v, e in reversed(rows)]) for i in range(len(rows[0][0]))]
    values, errors = [b[0] for b in best], [b[1] for b in best]
    return Slope(values, errors, 11 * len(steps), [np.abs(v) for v in _wide(at(0.0))])


def _walked(rows: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Of differences from fine to coarse the most certain that no finer one contradicts."""
    value: Any = np.full(np.shape(rows[0][0]), np.nan, rows[0][0].dtype)
    error: Any = np.inf
    ended = np.zeros(np.shape(value), bool)
    for v, e in rows:
        counts = np.isfinite(v) & np.isfinite(e)
        first = counts & ~np.isfinite(value)
        agrees = np.abs(v - value) <= 2 * (e + error)
        ended = ended | (~first & ~(agrees & counts) & np.isfinite(value))
        take = first | (~ended & counts & (e < error))
        value, error = np.where(take, v, value), np.where(take, e, error)
    return value, error


def _noise(near: list[Arrays], epsilon: float) -> Arrays:
    """How far a value may be off, told from the high differences of its neighbours (Hamming)."""
    levels = []
    for values in zip(*near, strict=True):
        lanes = np.stack(values)
        noise = np.maximum(2 * epsilon * np.abs(lanes[4]), SMALLEST)
        for k in (5, 6):
            # The k-th difference of independent errors is larger than they are by √(2k over k).
            high = np.abs(np.diff(lanes, k, axis=0)).max(axis=0) / math.sqrt(math.comb(2 * k, k))
            noise = np.fmax(noise, np.where(np.isfinite(high), high, 0.0))
        levels.append(noise)
    return levels


def _slopes(
    ahead: Arrays, behind: Arrays, closer: tuple[Arrays, Arrays], h: float, noise: Arrays
) -> Arrays:
    """Difference quotients; infinite in the lanes whose difference does not shrink with the step,
    unless it is noise, NaN in those that leave the domain."""
    slopes = []
    for p, q, p1, q1, n in zip(ahead, behind, *closer, noise, strict=True):
        apart = np.abs(p - q)
        jumps = (apart > 50 * n) & (np.abs(p1 - q1) > 0.5 * apart)
        slope = np.where(np.isfinite(apart), (p - q) / h, np.nan)
        slopes.append(np.where(jumps, np.inf, slope))
    return slopes


def one_sided(at: Evaluate, scale: float, noise: Arrays | None = None) -> tuple[Arrays, Arrays]:
    """The derivatives on both sides along the direction, for points at a kink."""
    h, less = 1e-6 * scale, 1e-9 * scale
    here = at(0.0)
    noise = noise or [np.zeros(np.shape(o)) for o in here]
    left = _slopes(here, at(-h), (here, at(-less)), h, noise)
    return left, _slopes(at(h), here, (at(less), here), h, noise)


def nearby(at: Evaluate, point: Arrays, scale: float, rng: np.random.Generator) -> list[Arrays]:
    """The slopes along the direction at points around this one: a kink's derivative mixes them.

    NaN where a smaller step says otherwise: the larger one reached across the kink.
    """
    h, less, reach = 1e-7 * scale, 1e-9 * scale, 1e-5 * scale
    slopes = []
    far = zip(at(-1e-2 * scale), at(1e-2 * scale), strict=True)
    sizes = [np.nan_to_num(np.abs(q - p)) / (2e-2 * scale) for p, q in far]
    for _ in range(NEARBY):
        off = [reach * rng.uniform(-1, 1, np.shape(x)) for x in point]
        wide = [(p - q) / (2 * h) for p, q in zip(at(h, off), at(-h, off), strict=True)]
        near = [(p - q) / (2 * less) for p, q in zip(at(less, off), at(-less, off), strict=True)]
        slopes.append(
            [
                np.where(np.abs(w - n) <= 0.01 * (ahead + np.abs(n)), w, np.nan)
                for w, n, ahead in zip(wide, near, sizes, strict=True)
            ]
        )
    return slopes


def guarded(at: Evaluate) -> Evaluate:
    """The same function, NaN where it raises: a step may leave its domain."""
    here = at(0.0)

    def tried(t: float, off: Any = None) -> Arrays:
        try:
            return at(t, off)
        except (ArithmeticError, ValueError, ChainruleError):  # LinAlgError is a ValueError
            return [np.full(np.shape(o), np.nan, np.asarray(o).dtype) for o in here]

    return tried


def repeats(at: Evaluate, scale: float, times: int = 2) -> bool:
    """Whether the function gives the same value each time, here and a step away."""
    return all(
        np.allclose(a, b, rtol=1e-10, atol=0.0, equal_nan=True)
        for t in (0.0, 1e-3 * scale)
        for again in (at(t) for _ in range(times - 1))
        for a, b in zip(at(t), again, strict=True)
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
    size: Arrays  # of the slopes farther away, which one-sided differences are off by a part of


def sides(
    at: Evaluate, point: Arrays, scale: float, rng: np.random.Generator, floor: float = 0.0
) -> Sides:
    """What a derivative at a kink must lie between; beside a jump the slopes nearby say it.

    Slopes that differ by no more than the noise of the values, at least `floor`, are no kink's.
    """
    noise = [np.full(np.shape(o), floor) for o in at(0.0)]
    for sign in (1e-7 * scale, -1e-7 * scale):
        one_side = [_wide(at(k * sign)) for k in range(1, 10)]
        noise = list(map(np.fmax, noise, _noise(one_side, EPSILON)))
    left, right = one_sided(at, scale, noise)
    around = nearby(at, point, scale, rng)
    lanes = [np.stack(lane) for lane in zip(*around, strict=True)]
    jumps = any(bool(np.isinf(s).any()) for s in (*left, *right))
    bends = any(
        bool(np.any(np.abs(a - b) > 1e-3 * (np.abs(a) + np.abs(b)) + 2e7 * n / scale))
        for a, b, n in zip(left, right, noise, strict=True)
    )

    def filled(side: Arrays, choose: np.ufunc) -> Arrays:
        return [
            np.where(np.isfinite(s), s, choose.reduce(lane, axis=0))
            for s, lane in zip(side, lanes, strict=True)
        ]

    whole = [s for s in around if all(np.isfinite(a).all() for a in s)]
    h = 1e-2 * scale
    far = zip(at(-h), at(0.0), at(h), strict=True)
    size = [np.fmax(np.abs(b - a), np.abs(c - b)) / h for a, b, c in far]
    low, high = filled(left, np.fmin), filled(right, np.fmax)
    return Sides(low, high, whole, jumps, jumps or bends, size)


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
