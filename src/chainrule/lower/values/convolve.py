"""Convolutions as products of matrices: windows unfolded to rows, and rows folded back.

Of a convolution's three faces each takes two of images, weights and results to the third; each is
one product over the windows, for each group.  Where an image has many channels they come last,
in memory too, so that nothing is moved lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from chainrule.core.spec import Shape
from chainrule.lower.values.array import Array, NotLoweredError
from chainrule.lower.values.contract import Contractions
from chainrule.ops.windows import Window, inner

MIN_CHANNELS_LAST = 8  # from so many channels on
MAX_UNFOLDED_BYTES = 2**26  # of windows: more are left to the interpreter, which takes turns
MAX_FOLDED_TAPS = 128  # of a kernel that is folded back


class Convolutions(Contractions):
    """The part of a builder that slides windows."""

    def padded(self, x: Array, windows: Sequence[Window], fill: Any = 0) -> Array:
        """x with `fill` around its last axes."""
        lead = x.ndim - len(windows)
        return self.pad(x, [*[(0, 0)] * lead, *((w.low, w.high) for w in windows)], fill)

    def windows(self, x: Array, windows: Sequence[Window]) -> Array:
        """Every window on the last axes of x, already padded: (…, *taps, *positions)."""
        lead, count = x.ndim - len(windows), len(windows)
        sides = list(zip(windows, x.shape[lead:], strict=True))
        positions = [(n - w.reach) // w.stride + 1 for w, n in sides]
        shape = (*x.shape[:lead], *(w.size for w in windows), *positions)
        steps: list[dict[int, int]] = [{i: 1} for i in range(lead)]
        steps += [{i: w.dilation, i + count: w.stride} for i, w in enumerate(windows, lead)]
        return self.sliding(x, shape, steps)

    def conv(self, x: Array, w: Array, windows: Sequence[Window], groups: int) -> Array:
        x, w = self._alike(x, w)
        rows, names = self._rows(x, windows, groups)
        # Small, and read in each product: it is turned once, so that BLAS need not.
        weights = self.packed(self.transpose(self._weights(w, groups), (0, 2, 1)))
        found = self._product(rows, weights, (names, "gko", "gro"))
        images, channels = x.shape[0], w.shape[0]
        positions = [v.positions(n) for v, n in zip(windows, x.shape[2:], strict=True)]
        found = self.reshape(found, (groups, images, *positions, channels // groups))
        last = found.ndim - 1
        found = self.transpose(found, (1, 0, last, *range(2, last)))
        return self.reshape(found, (images, channels, *positions))

    def conv_weight(self, x: Array, y: Array, windows: Sequence[Window], groups: int) -> Array:
        x, y = self._alike(x, y)
        rows, names = self._rows(x, windows, groups)
        found = self._product(self._results(y, groups), rows, ("gro", names, "gok"))
        out, channels = y.shape[1], x.shape[1] // groups
        taps = [v.size for v in windows]
        if channels < MIN_CHANNELS_LAST:
            return self.reshape(found, (out, channels, *taps))
        found = self.reshape(found, (out, *taps, channels))
        return self.transpose(found, (0, found.ndim - 1, *range(1, found.ndim - 1)))

    def conv_transpose(
        self, y: Array, w: Array, windows: Sequence[Window], groups: int, lengths: Sequence[int]
    ) -> Array:
        y, w = self._alike(y, w)
        images, _, *positions = y.shape
        channels, *taps = w.shape[1:]
        if prod(taps) > MAX_FOLDED_TAPS:
            raise NotLoweredError(f"a kernel of {prod(taps)} elements is folded back")
        rows, weights = self._results(y, groups), self._weights(w, groups)
        self._bounded(prod(y.shape) // y.shape[1] * prod(w.shape[1:]) * groups, y.dtype)
        # As (images, groups, channels, *positions, *taps), whichever way it lies in memory.
        if channels < MIN_CHANNELS_LAST:
            spread = self._product(rows, weights, ("gro", "gok", "gkr"))
            spread = self.reshape(spread, (groups, channels, *taps, images, *positions))
            n = len(taps)
            order = (2 + n, 0, 1, *range(3 + n, 3 + 2 * n), *range(2, 2 + n))
        else:
            spread = self._product(rows, weights, ("gro", "gok", "grk"))
            spread = self.reshape(spread, (groups, images, *positions, *taps, channels))
            order = (1, 0, spread.ndim - 1, *range(2, spread.ndim - 1))
        spread = self.transpose(spread, order)
        around = [n + v.low + v.high for n, v in zip(lengths, windows, strict=True)]
        places = [v.taps(p) for v, p in zip(windows, positions, strict=True)]
        pieces = []
        for tap in np.ndindex(*taps):
            at = (slice(None),) * 3 + tuple(p[k] for p, k in zip(places, tap, strict=True))
            pieces.append((self.getitem(spread, (..., *tap)), at))
        whole = self.overlap((images, groups, channels, *around), y.dtype, pieces)
        found = self.getitem(whole, inner(lengths, windows))
        return self.reshape(found, (images, groups * channels, *lengths))

    # -- the three arrays as matrices, for each group -------------------------------------------

    def _alike(self, x: Array, y: Array) -> tuple[Array, Array]:
        common = np.result_type(x.dtype, y.dtype)
        if common.kind != "f" or 0 in (*x.shape, *y.shape):
            raise NotLoweredError("no floating-point numbers are convolved")
        return self.astype(x, common), self.astype(y, common)

    def _product(self, x: Array, y: Array, labels: tuple[str, str, str]) -> Array:
        found = self.contract(x, y, labels)
        assert found is not None
        return found

    def _bounded(self, size: int, dtype: Any) -> None:
        if size * dtype.itemsize > MAX_UNFOLDED_BYTES:
            raise NotLoweredError("its windows are too many to be unfolded at once")

    def _rows(self, x: Array, windows: Sequence[Window], groups: int) -> tuple[Array, str]:
        """Windows, and the names of the axes: groups, elements of a window (k), windows (r)."""
        images, channels, *lengths = x.shape
        apart = self.reshape(x, (images, groups, channels // groups, *lengths))
        seen = self.windows(self.padded(apart, windows), windows)
        self._bounded(prod(seen.shape), x.dtype)
        n = len(windows)
        taps, positions = tuple(range(3, 3 + n)), tuple(range(3 + n, 3 + 2 * n))
        elements, count = prod(seen.shape[2 : 3 + n]), prod((images, *seen.shape[3 + n :]))
        if channels // groups < MIN_CHANNELS_LAST:
            moved = self.transpose(seen, (1, 2, *taps, 0, *positions))
            return self.reshape(moved, (groups, elements, count)), "gkr"
        moved = self.transpose(seen, (1, 0, *positions, *taps, 2))
        return self.reshape(moved, (groups, count, elements)), "grk"

    def _weights(self, w: Array, groups: int) -> Array:
        """Weights as (groups, channels out, elements of a window)."""
        out, channels, *taps = w.shape
        if channels >= MIN_CHANNELS_LAST:
            w = self.transpose(w, (0, *range(2, w.ndim), 1))
        return self.reshape(w, (groups, out // groups, channels * prod(taps)))

    def _results(self, y: Array, groups: int) -> Array:
        """Results as (groups, windows, channels out)."""
        images, channels, *positions = y.shape
        apart = self.reshape(y, (images, groups, channels // groups, *positions))
        moved = self.transpose(apart, (1, 0, *range(3, apart.ndim), 2))
        shape: Shape = (groups, images * prod(positions), channels // groups)
        return self.reshape(moved, shape)
