"""The reverse pass of a loop in segments, between which only what is carried is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.core.loop import Body, looped
from chainrule.core.masked import unmasked
from chainrule.core.node import Node
from chainrule.diff.loop_body import inexact_carries, saving


def in_segments(
    pulled: Callable[..., list[Any]],
    given: Sequence[Any],
    xs: Sequence[Any],
    active: Sequence[bool],
    body: Body,
    sums: dict[int, Any],
) -> list[Any]:
    """The adjoints, segment by segment from the last, each run again from what was carried into it.

    Between segments only that is kept.
    """
    size, rest = body.segments[0], body.segments[1:]
    starts = list(range(0, body.count, size))
    fixed, carried, rows = body.parts(xs)
    entering = []
    for start in starts:
        entering.append(carried)
        if start != starts[-1]:
            here = [row[_rows_of(body, start, size)] for row in rows]
            plain = body.part(size)
            carried = list(looped(*fixed, *carried, *here, body=plain))[: body.carried]
    seeds = list(given)
    first = body.fixed + body.carried
    wanted = {*inexact_carries(body), *(i for i, on in enumerate(active) if on)}
    inside = [i in wanted for i in range(len(xs))]  # between segments each carry has an adjoint
    whole: dict[int, Any] = {}
    for start in reversed(starts):
        count = min(size, body.count - start)
        at = _rows_of(body, start, count)
        here = [*fixed, *entering.pop(), *(row[at] for row in rows)]
        part = [s if s is None or k < body.carried else s[at] for k, s in enumerate(seeds)]
        piece = body.part(count, rest if rest and rest[0] < count else ())
        if piece.segments:
            found = in_segments(pulled, part, here, inside, piece, sums)
        else:
            found = pulled(part, here, None, inside, piece, sums)
        found = [unmasked(g) for g in found]
        sums = {i: g for i, g in enumerate(found[: body.fixed]) if g is not None}
        seeds[: body.carried] = found[body.fixed : first]
        for i in range(first, len(xs)):
            if found[i] is not None:
                if i not in whole:
                    whole[i] = np.zeros(xs[i].shape, found[i].dtype)
                whole[i][at] = found[i]
    ends = [s if active[i] else None for i, s in enumerate(seeds[: body.carried], body.fixed)]
    every = [*(sums.get(i) for i in range(body.fixed)), *ends]
    return [*every, *(whole.get(i) for i in range(first, len(xs)))]


def _rows_of(body: Body, start: int, count: int) -> slice:
    """The rows that these iterations read."""
    if body.backwards:
        return slice(body.count - start - count, body.count - start)
    return slice(start, start + count)


def scratch_bytes(body: Body) -> int:
    """The bytes that the reverse rule uses at most beside its results."""
    full = saving(body, carries=True)
    one = sum(_bytes(out) for out in full.graph.outputs)
    carry = sum(_bytes(leaf) for leaf in body.parts(body.graph.leaves)[1])
    every = sum(_bytes(node) for node in full.graph.nodes)
    total, count = 0, body.count
    for size in body.segments:
        total += -(-count // size) * (carry + 200 * body.carried)
        count = size
    return total + 2 * count * one + 4 * every + 20_000 * len(body.graph.nodes)


def _bytes(node: Node) -> int:
    return node.size * node.dtype.itemsize + 120
