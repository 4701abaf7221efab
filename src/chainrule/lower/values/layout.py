"""In which order the axes of an array lie in memory: a permuted array is a view, not a copy.

A product of matrices gives the axes of its rows before those of its columns, whatever the user's
order is.  Maps and folds of such a view are made in the order of memory and seen permuted again, so
that channels may come last from one end of a network to the other without a copy between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from chainrule.lower.values.array import through_views
from chainrule.lower.values.value import Access, Dim, Value, composed, pointwise

MIN_INNER = 8  # elements, from which an axis is worth to be the innermost
MIN_RANK = 3  # matrices are read by rows or by columns alike, and BLAS transposes them itself


def order_of(access: Access, rank: int) -> tuple[int, ...] | None:
    """The axes of the reader in the order in which an operand has them; None if not each once."""
    axes = tuple(d.axis for d in access if not d.also and d.axis is not None)
    return axes if sorted(axes) == list(range(rank)) else None


def common_order(args: Sequence[tuple[Value, Access]], rank: int) -> tuple[int, ...] | None:
    """The order of axes that most operands have, if it is another than the reader's."""
    if rank < MIN_RANK:
        return None
    votes: Counter[tuple[int, ...]] = Counter()
    straight = tuple(range(rank))
    for value, access in args:
        order = order_of(access, rank)
        if order is not None and (order == straight or value.kind not in ("input", "constant")):
            votes[order] += 1
    best = max(votes, key=lambda order: (votes[order], order != straight), default=straight)
    return None if best == straight else best


def renumbered(access: Access, order: tuple[int, ...]) -> Access:
    """An access by axes that are taken in another order."""
    return composed(access, tuple(Dim(order.index(i)) for i in range(len(order))))


def in_memory_order(value: Value) -> tuple[Value, tuple[int, ...]]:
    """What a permuted view is of, and which axes of the view its axes are."""
    rank = len(value.dims)
    base, access = through_views(value, pointwise(rank))
    order = order_of(access, rank)
    if order is None or tuple(map(Dim, order)) != access:
        return value, tuple(range(rank))
    if base.dims != tuple(value.dims[a] for a in order):  # a part of it
        return value, tuple(range(rank))
    return base, order


def whole_order(pieces: Sequence[tuple[Value, Access]], rank: int) -> tuple[int, ...]:
    """The order of axes of an array of pieces: theirs if it is the same, else as it is seen."""
    found: set[tuple[int, ...] | None] = set()
    for value, region in pieces:
        _, access = through_views(value, pointwise(len(value.dims)))
        order, along = order_of(access, rank), order_of(region, rank)
        found.add(tuple(along.index(a) for a in order) if order and along else None)
    (order, *others) = found or {None}
    if order is None or others or rank < MIN_RANK:
        order = tuple(range(rank))
    return _without_gaps([(v, region) for v, region in pieces if len(v.dims) == rank], order)


def rows_of(value: Value, count: int) -> tuple[Value, Access]:
    """So many rows as those of an array in memory that start somewhere, and are evenly apart."""
    same = pointwise(len(value.dims))
    if count == 1:
        return value, same
    base, access = through_views(value, same)
    like = base.dims[1:] == value.dims[1:] and access[1:] == same[1:] and len(access) == len(same)
    if like and access[0].axis == 0 and not access[0].also:
        return base, access
    return value, same


def _without_gaps(
    pieces: Sequence[tuple[Value, Access]], order: tuple[int, ...]
) -> tuple[int, ...]:
    """The order with an axis last along which all pieces lie without gaps, if it is long enough."""

    def dense(axis: int) -> bool:
        along = [(v.dims, region[axis]) for v, region in pieces]
        return all(
            d.axis is not None and d.step == 1 and dims[d.axis] >= MIN_INNER for dims, d in along
        )

    if len(order) < MIN_RANK or not pieces or dense(order[-1]):
        return order
    axis = next((a for a in reversed(order) if dense(a)), order[-1])
    return (*(a for a in order if a != axis), axis)


def regrouped(
    order: tuple[int, ...], dims: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """A permuted view of extents `dims` as one of extents `wanted` without a copy, if it can be.

    It gives the extents in memory, and the order of axes in which those are seen.
    """
    if 0 in dims or order == tuple(range(len(order))):
        return None
    groups: list[tuple[int, range]] = []  # where in memory, and the wanted axes that come of it
    i = j = 0
    while i < len(dims):
        end, last = i + 1, j + 1
        while (have := prod(dims[i:end])) != (need := prod(wanted[j:last])):
            end, last = end + (have < need), last + (have > need)
        places = [order.index(a) for a in range(i, end)]
        if places != list(range(places[0], places[0] + end - i)):
            return None
        groups.append((places[0], range(j, last)))
        i, j = end, last
    seen = tuple(a for _, group in sorted(groups, key=lambda g: g[0]) for a in group)
    return tuple(wanted[a] for a in seen), seen
