"""An array in a few numbers: all of it, or its statistics, a histogram, and a coarse picture.

    {"shape": [2, 2], "data": [0.1, 0.2, "nan", 0.4]}    up to FULL entries, row by row
    {"shape": […], "low", "high", "mean", "std", "norm", "zeros", "nan", "inf",
     "histogram": [counts], "heat": {"rows", "columns", "data": [0 … 255 or null]}}

`low` … `std` are of the finite entries, and the ends of the histogram are `low` and `high`.  The
picture shows means of blocks: 0 is -largest, 128 is zero, 255 is +largest, where `largest` is the
largest size among the means, and null a block with an entry that is not finite.  Axes before the
last are laid below each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.explain.numbers import as_json, norm_of

FULL = 64  # entries up to which an array is given in full
BINS = 24
CELLS = 256  # of a picture
HUGE_MAGNITUDE = 1e290


def summary(value: Any, cells: int = CELLS) -> dict[str, Any] | None:
    """An array of numbers as plain JSON data; None for what is none, or one number."""
    array = np.asarray(value) if not isinstance(value, tuple) else np.zeros(())
    if array.ndim == 0 or array.dtype.kind not in "fciub":
        return None
    found: dict[str, Any] = {"shape": list(array.shape)}
    if array.size <= FULL:
        return {**found, "data": as_json(array, FULL)["data"]}
    real = np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64, copy=False)
    finite = real[np.isfinite(real)]
    with np.errstate(all="ignore"):
        found |= {
            "low": as_json(finite.min(initial=np.inf)),
            "high": as_json(finite.max(initial=-np.inf)),
            "mean": as_json(finite.mean() if finite.size else np.nan),
            "std": as_json(finite.std() if finite.size else np.nan),
            "norm": as_json(norm_of(array)),
            "zeros": int(np.count_nonzero(real == 0)),
            "nan": int(np.count_nonzero(np.isnan(real))),
            "inf": int(np.count_nonzero(np.isinf(real))),
            "histogram": _histogram(finite),
        }
    if cells >= 4:
        found["heat"] = _heat(real, cells)
    return found


def _histogram(finite: np.ndarray) -> list[int]:
    """Counts in equal bins; entries near the largest number there is are scaled to be counted."""
    if not finite.size:
        return []
    largest = np.abs(finite).max()
    scaled = finite / largest if largest > HUGE_MAGNITUDE else finite
    low, high = float(scaled.min()), float(scaled.max())
    if not low < high or not np.isfinite((high - low) / BINS) or (high - low) / BINS == 0.0:
        return [int(finite.size)]
    at = np.minimum(((scaled - low) / (high - low) * BINS).astype(int), BINS - 1)
    return np.bincount(at, minlength=BINS).tolist()


def _heat(real: np.ndarray, cells: int) -> dict[str, Any]:
    table = as_table(real)
    rows, columns = table.shape
    height = min(rows, max(1, round((cells * rows / columns) ** 0.5)), cells)
    means = blocks(table, height, min(columns, max(1, cells // height)))
    return {"rows": len(means), "columns": means.shape[1], "data": heat_levels(means)}


def as_table(array: np.ndarray) -> np.ndarray:
    """Rows and columns: axes before the last are laid below each other."""
    return array.reshape(-1, array.shape[-1]) if array.size else array.reshape(0, 0)


def blocks(table: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The means of rows × columns blocks that the table is cut into; huge ones are scaled down."""
    if table.shape == (rows, columns):
        return table
    if np.abs(table[np.isfinite(table)]).max(initial=0.0) > HUGE_MAGNITUDE:
        table = table / HUGE_MAGNITUDE  # a sum of them would not be finite
    tall, wide = (
        np.arange(count) * size // count
        for count, size in zip((rows, columns), table.shape, strict=True)
    )
    with np.errstate(all="ignore"):
        sums = np.add.reduceat(np.add.reduceat(table, tall, axis=0), wide, axis=1)
        heights, widths = np.diff([*tall, len(table)]), np.diff([*wide, table.shape[1]])
        return sums / np.outer(heights, widths)


def heat_levels(means: np.ndarray) -> list[int | None]:
    """0 … 255 around 128, by the largest size; None where a mean is not finite."""
    finite = np.isfinite(means)
    largest = float(np.abs(means[finite]).max(initial=0.0))
    with np.errstate(all="ignore"):
        levels = np.rint(128 + 127 * (np.where(finite, means, 0.0) / (largest or 1.0)))
    return [
        int(v) if ok else None for v, ok in zip(levels.reshape(-1), finite.reshape(-1), strict=True)
    ]
