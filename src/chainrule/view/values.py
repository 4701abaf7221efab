"""A number or an array in a few characters, the same in tables, steps and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_POSITIONAL = 1e8  # from which on NumPy writes powers of ten


def lane_text(lane: tuple[int, ...] | None) -> str:
    """`[1, 2]`; nothing for a number, which has no lanes."""
    return f"[{', '.join(map(str, lane))}]" if lane else ""


def _row_text(row: list[float]) -> str:
    """What NumPy's printing makes of a few numbers, which takes it ten times as long.

    "" where it would write powers of ten, break the line, or meets what is not finite.
    """
    if not max(map(abs, row)) < MAX_POSITIONAL:
        return ""
    texts = [
        np.format_float_positional(v, precision=4, unique=True, trim=".").split(".") for v in row
    ]
    left, right = (max(len(text[k]) for text in texts) for k in (0, 1))
    return "[" + " ".join(f"{a:>{left}}.{b:<{right}}" for a, b in texts) + "]"


def shown(value: Any) -> str:
    """A number to six digits; a small array in full; a large one by shape and size."""
    if type(value) is np.float64:
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return f"{len(value)} results"
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array[()]:.6g}" if array.dtype.kind in "fc" else str(array[()])
    if array.size <= 4:
        if array.ndim == 1 and array.dtype == np.float64 and array.size:
            text = _row_text(array.tolist())
            if text:
                return text
        with np.printoptions(precision=4, suppress=True):
            return np.array2string(array, separator=" ").replace("\n", "")
    sizes = np.abs(array.astype(complex if array.dtype.kind == "c" else float))
    largest = sizes.max()
    scaled = np.sum((sizes / largest) ** 2) if 0 < largest < np.inf else np.nan  # no overflow
    norm = largest * np.sqrt(scaled) if scaled == scaled else largest
    return f"{'×'.join(map(str, array.shape))}, norm {norm:.4g}"
