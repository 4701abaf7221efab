"""The one order in which the results of shards are added, however many workers compute them.

Shard i is a leaf of a binary tree over all shards.  A node of it covers 2ᵏ shards from a multiple
of 2ᵏ on; where the number of shards is no power of two, what is left over at the end is added from
the right.  A worker adds what lies inside of its own shards, and who joins the workers the rest:
each addition has the same two operands everywhere, so the sum has the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class Part(NamedTuple):
    """The sum of `size` shards from shard `low` on: a node of the tree."""

    low: int
    size: int
    vector: np.ndarray


class Additions:
    """Takes parts in the order of their shards, and adds two as soon as they make a node."""

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self.parts: list[Part] = []
        for part in parts:
            self.push(part)

    def push(self, part: Part) -> None:
        """Add a part; its vector is written into, if it can be."""
        self.parts.append(part)
        while len(self.parts) > 1:
            left, right = self.parts[-2:]
            if left.size != right.size or left.low % (2 * left.size):
                return
            self._add_last_two()

    def total(self) -> np.ndarray:
        """The sum of all parts, which must be all shards."""
        while len(self.parts) > 1:
            self._add_last_two()
        return self.parts[0].vector

    def _add_last_two(self) -> None:
        right, left = self.parts.pop(), self.parts.pop()
        out = left.vector if left.vector.flags.writeable else None  # as those of messages are not
        vector = np.add(left.vector, right.vector, out=out)
        self.parts.append(Part(left.low, left.size + right.size, vector))


def nodes_of(low: int, high: int) -> list[tuple[int, int]]:
    """The fewest (low, size) of nodes of the tree that cover the shards from low to high."""
    found = []
    while low < high:
        size = 1 << (high - low).bit_length() - 1
        size = min(size, low & -low) if low else size
        found.append((low, size))
        low += size
    return found


def span_of(worker: int, workers: int, count: int) -> tuple[int, int]:
    """Which of `count` shards a worker computes, where all workers have about equally many."""
    return worker * count // workers, (worker + 1) * count // workers


def groups_of(count: int, at_least: int) -> list[tuple[int, int]]:
    """Nodes (low, high) that cover all shards, `at_least` so many if there are enough shards."""
    size = 1 << max(0, (count // max(1, at_least)).bit_length() - 1)
    return [(low, min(low + size, count)) for low in range(0, count, size)]
