"""How near a kink an op was evaluated, asked of the op's own `kinks`.

An op says of given inputs which lanes stand exactly at a kink.  Rounded to a grid of spacing 2^k,
inputs that are nearer than that to a kink (|x| to 0, x to y, x to a whole number) land on it; the
finest such grid gives the distance, to within a factor of four.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.diff.run import Run

MISSES = 3  # grids in a row without a kink after which finer ones are not tried
FINEST = 1074  # halvings of 1 down to the smallest number


@dataclass(frozen=True, slots=True)
class NearKink:
    """`distance` is 0 at the kink itself; `lanes` counts the entries near it, `lane` is nearest."""

    distance: float
    lane: tuple[int, ...]
    lanes: int


def kink_near(run: Run, node: Node, near: float) -> NearKink | None:
    """The nearest kink within `near` × the size of the inputs (at least 1); None if there is none.

    A distance can be measured only where the op finds its kinks from the inputs themselves.  A tie
    in `sort` was found when it was recorded, and a setting of an op stays as it is: such a kink is
    found only when it is met exactly.
    """
    kinks = None if node.is_leaf else node.op.kinks
    if kinks is None:
        return None
    inputs = [run.value(a) if isinstance(a, Node) else a for a in node.args or ()]

    def at(spacing: float) -> Any:
        moved = [_on_grid(v, spacing) if spacing else v for v in inputs]
        try:
            return np.asarray(kinks(*moved, **node.attrs))
        except Exception:  # noqa: BLE001 - rounded inputs may be outside of any op's domain
            return np.zeros((), bool)

    with np.errstate(all="ignore"):
        widest = near * max(1.0, *(_size(v) for v in inputs), 0.0)
        return _nearest(at, widest)


def _nearest(at: Any, widest: float) -> NearKink | None:
    exact = at(0.0)
    first = int(np.floor(np.log2(widest))) if 0 < widest < np.inf else -FINEST
    hits = [at(2.0 ** (first - k)) for k in range(MISSES)]
    close = np.logical_or.reduce([np.broadcast_to(h, exact.shape) for h in (exact, *hits)])
    if exact.any():
        return NearKink(0.0, _first(exact), int(close.sum()))
    if not close.any():
        return None
    distance, mask, level, missed = 0.0, close, first, 0
    while missed < MISSES and level > -FINEST:
        hit = at(2.0**level)
        missed = 0 if hit.any() else missed + 1
        if hit.any():
            distance, mask = 2.0 ** (level - 1), hit  # rounding moves by half a spacing
        level -= 1
    return NearKink(distance, _first(mask), int(close.sum()))


def _first(mask: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(mask.argmax()), mask.shape))


def _on_grid(value: Any, spacing: float) -> Any:
    array = np.asarray(value)
    if isinstance(value, tuple) or array.dtype.kind not in "fc":
        return value
    if array.dtype.kind == "c":
        return _on_grid(array.real, spacing) + 1j * _on_grid(array.imag, spacing)
    moved = np.rint(array / array.dtype.type(spacing)) * array.dtype.type(spacing)
    return np.where(np.isfinite(moved), moved, array)[()]


def _size(value: Any) -> float:
    array = np.asarray(0.0 if isinstance(value, (tuple, str)) else value)
    if array.dtype.kind not in "fciu":
        return 0.0
    sizes = np.abs(array[np.isfinite(array)])
    return float(sizes.max(initial=0.0))
