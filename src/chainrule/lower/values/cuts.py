"""Which part of a product is known to be zero, or is never read, and how that is left out.

A triangular matrix has half of its elements; of the adjoint of one, half are read.  Such a product
is cut into blocks along its rows or columns, and each block is multiplied over the range that it
needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from chainrule.lower.values.needed import Readers
from chainrule.lower.values.value import Access, Dim, Value, root
from chainrule.lower.values.zeros import Zeros, read

MAX_BLOCKS, MIN_BLOCK_WIDTH = 8, 32  # how many at most, and rows or columns of one
MIN_SAVED, MIN_SAVED_SHARE = 10**5, 0.25  # multiplications, and the part of all of them
AXES = ("rows", "columns", "summed")


class Box(NamedTuple):
    """A part of a product: from where to where; None is all of it, and a sum of nothing is zero."""

    rows: tuple[int, int] | None = None
    columns: tuple[int, int] | None = None
    summed: tuple[int, int] | None = None


@dataclass(frozen=True)
class Cut:
    """How a product is cut: blocks along `axis`, each with its range of `over`.

    The axis is `repeats` times as long as `blocks` say where several triangles lie side by side.
    """

    axis: str
    over: str
    blocks: tuple[tuple[int, int, int, int], ...]  # first, after; first, after of the range
    repeats: int
    share: float  # of all multiplications

    def boxes(self, extent: int) -> tuple[Box, ...]:
        """The parts to compute, and those to set to zero; `extent` is that of the axis `over`."""
        found = []
        for first, after, low, high in self.blocks:
            along = {self.axis: (first * self.repeats, after * self.repeats)}
            if low < high or self.over == "summed":
                found.append(Box(**along, **{self.over: (low, high)}))
            if self.over != "summed":
                empty = [side for side in ((0, low), (high, extent)) if side[0] < side[1]]
                found += [Box(**along, **{self.over: side}, summed=(0, 0)) for side in empty]
        return tuple(found)


def cuts(made: Iterable[Value], outputs: Sequence[Value]) -> dict[Value, Cut]:
    """Per product of which a part can be left out, how that is done; they are among `made`."""
    if not any(v.kind == "product" and _is_large(v) for v in made):
        return {}
    zeros = Zeros()
    readers = Readers(outputs, zeros)
    found: dict[Value, Cut] = {}
    for v in readers.order:
        if (
            v.kind == "product"
            and v.params[0] == 1
            and 1 not in v.params[1:]
            and MIN_SAVED_SHARE * prod(v.params) >= MIN_SAVED
        ):
            every = [c for c in _choices(v, zeros, readers) if c.share <= 1 - MIN_SAVED_SHARE]
            if every:
                found[v] = min(every, key=lambda c: c.share)
    return found


def _is_large(product: Value) -> bool:
    batch, *sizes = product.params
    return batch == 1 and 1 not in sizes and MIN_SAVED_SHARE * prod(sizes) >= MIN_SAVED


def other_operand(product: Value, cut: Cut) -> Value:
    """What zeros are left out of multiplying: it must be finite for that to be right."""
    return root(product.args[0 if cut.axis == "columns" else 1][0])


def _choices(v: Value, zeros: Zeros, readers: Readers) -> Iterator[Cut]:
    _, rows, columns, summed = v.params
    (a, of_a), (b, of_b) = v.args
    left, right = zeros.of(a), zeros.of(b)
    if right is not None:
        kept = ~read(right, of_b, (summed, columns)).T
        yield from _cuts("columns", "summed", kept, v)
    if left is not None:
        yield from _cuts("rows", "summed", ~read(left, of_a, (rows, summed)), v)
    needed = readers.needed(v)
    if needed is not None:
        yield from _cuts("columns", "rows", needed.T, v)
        yield from _cuts("rows", "columns", needed, v)


def _cuts(axis: str, over: str, kept: np.ndarray, v: Value) -> Iterator[Cut]:
    """The ways to cut an axis: as it is, and as triangles side by side."""
    yield _cut(axis, over, kept, 1)
    split = split_axis(*v.args[AXES.index(axis)], AXES.index(axis))
    if split is not None:
        repeats, each = split
        yield _cut(axis, over, np.any(kept.reshape(repeats, each, -1), axis=0), repeats)


def _cut(axis: str, over: str, kept: np.ndarray, repeats: int) -> Cut:
    """Blocks of equal length, neighbours of one range joined."""
    length, extent = kept.shape
    count = max(1, min(MAX_BLOCKS, length * repeats // MIN_BLOCK_WIDTH))
    width = -(-length // count)
    blocks: list[tuple[int, int, int, int]] = []
    for first in range(0, length, width):
        after = min(first + width, length)
        (where,) = np.nonzero(kept[first:after].any(0))
        low, high = (int(where[0]), int(where[-1]) + 1) if len(where) else (0, 0)
        if blocks and blocks[-1][2:] == (low, high):
            first = blocks.pop()[0]
        blocks.append((first, after, low, high))
    computed = sum((after - first) * (high - low) for first, after, low, high in blocks)
    return Cut(axis, over, tuple(blocks), repeats, computed / (length * extent))


def split_axis(operand: Value, access: Access, axis: int) -> tuple[int, int] | None:
    """The two axes of an operand's memory that its one axis, read along `axis`, consists of."""
    at = [p for p, d in enumerate(access) if d == Dim(axis)]
    dims, whole = operand.dims, root(operand).dims
    if len(at) != 1 or len(dims) != 2 or len(whole) != len(dims) + 1:
        return None
    (p,) = at
    split = whole[p], whole[p + 1]
    return split if (*dims[:p], *split, *dims[p + 1 :]) == whole else None
