"""How far two values lie apart: absolutely, relatively, and in units of the last place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Gap:
    """The lane in which two values of one shape lie farthest apart, relative to their size.

    `lane` begins with the number of the part for an op with several results.  `beyond` tells
    whether any lane differs by more than was tolerated.
    """

    lane: tuple[int, ...]
    a: Any
    b: Any
    absolute: float
    relative: float
    ulps: float | None
    beyond: bool


def gap(a: Any, b: Any, rtol: float = 0.0, atol: float = 0.0) -> Gap | None:
    """Where a and b lie farthest apart, or None where they are equal; NaN equals NaN."""
    if isinstance(a, tuple):
        gaps = [(i, gap(p, q, rtol, atol)) for i, (p, q) in enumerate(zip(a, b, strict=True))]
        parts = [(i, g) for i, g in gaps if g is not None]
        if not parts:
            return None
        i, g = max(parts, key=lambda part: (part[1].beyond, part[1].relative))
        return Gap((i, *g.lane), g.a, g.b, g.absolute, g.relative, g.ulps, g.beyond)
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return Gap((), a, b, np.inf, np.inf, None, True)
    if a.size == 0 or (a.size == 1 and (a == b).all()):
        return None
    return _farthest(a, b, rtol, atol)


def _farthest(a: Any, b: Any, rtol: float, atol: float) -> Gap | None:
    with np.errstate(all="ignore"):
        absolute, size = apart(a, b)
        relative = np.where(absolute > 0, absolute / size, 0.0)
        relative[np.isnan(relative)] = np.inf
        worst = int(relative.argmax())
        if not absolute.reshape(-1)[worst] > 0:
            return None
        beyond = bool(np.any((absolute > atol + rtol * size) | np.isinf(absolute)))
    lane = tuple(int(i) for i in np.unravel_index(worst, a.shape))
    off = float(absolute[lane])
    ulps = _ulps(off, float(size[lane]), a.dtype, b.dtype)
    return Gap(lane, a[lane], b[lane], off, float(relative[lane]), ulps, beyond)


def apart(a: Any, b: Any) -> tuple[Any, Any]:
    """Per lane how far apart, and the larger of the two sizes; infinite where one is not finite."""
    wide = np.result_type(a.dtype, b.dtype, np.float64)
    x, y = np.asarray(a, wide), np.asarray(b, wide)
    same = (x == y) | ((x != x) & (y != y))
    absolute = np.where(same, 0.0, np.abs(x - y))
    absolute[np.isnan(absolute)] = np.inf
    size = np.maximum(np.abs(x), np.abs(y))
    return absolute, size


def _ulps(off: float, size: float, *dtypes: Any) -> float | None:
    """`off` in spacings of the coarser type; None between whole numbers."""
    coarse = coarser(*dtypes)
    if coarse is None:
        return None
    if not np.isfinite(off):
        return np.inf
    largest = float(np.finfo(coarse).max)
    return off / float(np.spacing(coarse.type(min(size, largest))))


def coarser(*dtypes: Any) -> Any:
    """The real floating-point type of fewest digits among these; None where there is none."""
    kinds = [np.finfo(d).dtype for d in dtypes if np.dtype(d).kind in "fc"]
    return max(kinds, key=lambda d: np.finfo(d).eps) if kinds else None
