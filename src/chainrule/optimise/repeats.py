"""Where a recorded sequence repeats itself: the iterations of loops that Python has run.

Every node gets a number, the same for what may be the same step of two iterations: the same line of
code, the same op on operands of the same shapes and dtypes.  Numbers in an index may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from chainrule.core.node import Node, span_of
from chainrule.core.op import Op
from chainrule.core.picked import picked_shapes
from chainrule.ops.structure import item
from chainrule.optimise.indices import Numbers, form_of
from chainrule.optimise.rewrite import is_ours
from chainrule.optimise.share import constant_key

MIN_COUNT = 8  # iterations: fewer are compiled one by one
MAX_ARGUMENTS = 16  # of a step; what has more joins the results of a loop
MAX_PERIODS = 64  # that are tried, those that recur most often first
WINDOWS = (1, 3, 8)  # steps in a row that are looked for again
FIXED = (bool, str, type(None))  # arguments that decide what an op does


class Numbering:
    """Numbers of nodes by what they do."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}
        self.places: dict[tuple[int, int], Any] = {}
        self.ops: dict[Op, bool] = {}

    def of(self, sequence: Sequence[Node]) -> Numbers:
        """One number for each node; one that nothing else has for what cannot be in a loop."""
        numbers = np.empty(len(sequence), np.int64)
        for i, node in enumerate(sequence):
            key = self._key(node)
            numbers[i] = -1 - i if key is None else self.known.setdefault(key, len(self.known))
        return numbers

    def _key(self, node: Node) -> Any:
        op, args = node.rule.op, node.args or ()
        fits = self.ops.get(op)
        if fits is None:
            fits = self.ops[op] = is_ours(op) and (op.lower is not None or op is item)
        if not fits or len(args) > MAX_ARGUMENTS or picked_shapes(node):
            return None
        if op.by_value is not None and op.value_shaped(args, node.attrs):
            return None
        operands = [
            (a.shape, a.dtype) if isinstance(a, Node) else a if type(a) in FIXED else type(a)
            for a in args
        ]
        return (id(node.rule), node.shape, node.dtype, self._place(node), *operands, *_attrs(node))

    def _place(self, node: Node) -> Any:
        """The expression, and not the instruction: CPython moves these as it specialises them."""
        at = id(node.code), node.lasti
        place = self.places.get(at)
        if place is None:
            code = node.code
            span = span_of(code, node.lasti) if isinstance(code, CodeType) else None
            place = self.places[at] = id(code), span
        return place


def _attrs(node: Node) -> Iterator[Any]:
    for name, value in node.attrs.items():
        if name.startswith("_"):
            continue  # what an op keeps for itself
        if node.op.by_arrays and name == "template":
            yield form_of(value)
        elif isinstance(value, np.ndarray):
            yield value.shape, value.dtype, value.tobytes()
        else:
            yield constant_key(value)


@dataclass(frozen=True)
class Stretch:
    """A stretch of the sequence in which numbers recur with a period."""

    start: int
    period: int
    length: int


def stretches_in(numbers: Numbers) -> list[Stretch]:
    """The stretches that leave the fewest nodes, none of which overlaps another; in their order."""
    every: list[tuple[int, int, int]] = []
    for period in _periods(numbers):
        recurs = numbers[period:] == numbers[:-period]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], recurs.astype(np.int8), [0]])))
        for start, stop in edges.reshape(-1, 2).tolist():
            if (stop - start) // period + 1 >= MIN_COUNT:
                every.append((start, period, stop - start + period))
    every.sort(key=lambda one: (one[1] - one[2], one[1], one[0]))
    taken = np.zeros(len(numbers), bool)
    stretches = []
    for start, period, length in every:
        free = np.concatenate([[0], ~taken[start : start + length], [0]]).astype(np.int8)
        for first, last in np.flatnonzero(np.diff(free)).reshape(-1, 2).tolist():
            if (last - first) // period >= MIN_COUNT:
                stretches.append(Stretch(start + first, period, last - first))
                taken[start + first : start + last] = True
    return sorted(stretches, key=lambda one: one.start)


def _periods(numbers: Numbers) -> list[int]:
    """Distances at which a few steps in a row often recur."""
    often: dict[int, int] = {}
    for width in WINDOWS:
        if len(numbers) < width + MIN_COUNT:
            break
        mixed = numbers[: len(numbers) - width + 1].astype(np.uint64)
        for k in range(1, width):
            mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + numbers[
                k : len(numbers) - width + 1 + k
            ].astype(np.uint64)
        order = np.argsort(mixed, kind="stable")
        alike = mixed[order][1:] == mixed[order][:-1]
        distances, counts = np.unique(np.diff(order)[alike], return_counts=True)
        for distance, count in zip(distances.tolist(), counts.tolist(), strict=True):
            if count >= MIN_COUNT - 1:
                often[distance] = max(often.get(distance, 0), count)
    return sorted(often, key=lambda p: -p * often[p])[:MAX_PERIODS]
