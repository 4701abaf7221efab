"""Pooling as machine code, tap by tap and in the order of the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from chainrule.ops.windows import MAX_TAPS, Window, inner, places


def _taps(b: Any, x: Any, windows: Sequence[Window], positions: Sequence[int], fill: Any) -> Any:
    """x as each tap of the windows sees it."""
    around = b.padded(x, windows, fill)
    return [b.getitem(around, at) for at in places(windows, positions)]


def _few(windows: Sequence[Window]) -> bool:
    return prod(w.size for w in windows) <= MAX_TAPS


def combined_lowered(
    b: Any, function: str, x: Any, windows: Sequence[Window], positions: Sequence[int], fill: Any
) -> Any:
    """The elements of each window combined, one axis after the other."""
    if not _few(windows):
        return None
    parts = _taps(b, x, windows, positions, fill)
    for w in windows:
        apart = len(parts) // w.size
        parts = [reduce(partial(b.map, function), parts[i::apart]) for i in range(apart)]
    return parts[0]


def peaks_lowered(
    b: Any, x: Any, top: Any, windows: Sequence[Window], positions: Sequence[int]
) -> Any:
    """Per tap, whether it holds the largest element; a NaN is the largest, what is padded never."""
    if not _few(windows) or x.dtype.kind != "f":
        return None
    padded = any(w.low or w.high for w in windows)
    seen = _taps(b, x, windows, positions, np.nan)
    unknown = [b.map("isnan", v) for v in seen]
    if padded:
        as_numbers = b.astype(b.map("isnan", x), x.dtype)
        none = b.constant(0, x.dtype)
        marks = _taps(b, as_numbers, windows, positions, 0)
        unknown = [b.map("not_equal", v, none) for v in marks]
    of_top = b.map("isnan", top)
    hits = [
        b.map("logical_or", b.map("equal", v, top), b.map("logical_and", u, of_top))
        for v, u in zip(seen, unknown, strict=True)
    ]
    return b.stack(hits, 0)


def _parts(b: Any, peaks: Any, values: Sequence[Any]) -> list[Any]:
    """Each tap's value where it is a peak, over the number of peaks of the window."""
    dtype = values[0].dtype
    zero, one = b.constant(0, dtype), b.constant(1, dtype)
    count = b.map("maximum", b.reduce("sum", b.astype(peaks, dtype), 0, False), one)
    return [
        b.map("where", b.getitem(peaks, (k,)), b.map("divide", v, count), zero)
        for k, v in enumerate(values)
    ]


def collected_lowered(
    b: Any, x: Any, peaks: Any, windows: Sequence[Window], positions: Sequence[int]
) -> Any:
    """The mean of x over the peaks of each window."""
    if not _few(windows):
        return None
    return reduce(partial(b.map, "add"), _parts(b, peaks, _taps(b, x, windows, positions, 0)))


def spread_lowered(
    b: Any, peaks: Any, y: Any, lengths: Any, windows: Sequence[Window], positions: Sequence[int]
) -> Any:
    """Images to which each tap of the windows adds y, or its share of y among the peaks."""
    if not _few(windows) or 0 in y.shape:
        return None
    parts = [y] * prod(w.size for w in windows)
    parts = parts if peaks is None else _parts(b, peaks, parts)
    around = [n + w.low + w.high for n, w in zip(lengths, windows, strict=True)]
    placed = list(zip(parts, places(windows, positions), strict=True))
    overlapping = any(w.stride < w.size for w in windows)
    whole = b.overlap((*y.shape[:2], *around), y.dtype, placed, overlapping)
    return b.getitem(whole, inner(lengths, windows))
