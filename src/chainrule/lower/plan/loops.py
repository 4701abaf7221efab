"""A kernel as a loop nest: which axes, in which order, what is read and written at which strides.

Everything is known when it is compiled: extents and strides are numbers.  Axes that all accesses
walk through as one are joined, and the axis that most of them walk through one by one is innermost,
where it is computed in vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from chainrule.lower.plan.fuse import Kernel
from chainrule.lower.target import Target
from chainrule.lower.values.functions import SIMPLE
from chainrule.lower.values.value import SINGLE, Access, Value

MAX_ROW_VECTORS = 64
MAX_JAMMED_ROWS, MAX_JAMMED_BODY = 16, 96  # summed up in registers: rows; operations of all


@dataclass(frozen=True)
class Place:
    """An access to memory: of which value, at which offset and strides along the loops."""

    value: Value
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Fold:
    """A reduction: which loops it folds, and where its result stands."""

    value: Value
    axes: frozenset[int]
    place: Place


@dataclass
class Nest:
    """The loops of a kernel, outermost first; `lanes` numbers of the last are computed at once."""

    extents: tuple[int, ...]
    lanes: int
    reads: dict[tuple[Value, Access], Place]
    writes: dict[Value, Place]
    folds: list[Fold]
    body: list[Value]
    unroll: int = 1
    jam: int = 1  # how many rows, of the loop before the last, are added up together
    abreast: int = 1  # how many rows, each with sums of its own, are computed together
    order: tuple[int, ...] = field(default=())


def nest_of(
    kernel: Kernel, target: Target, elsewhere: Mapping[Value, Place] = MappingProxyType({})
) -> Nest:
    """The loop nest of a kernel; `elsewhere` are places of what is not written to its own."""
    rank = len(kernel.dims)
    reads: dict[tuple[Value, Access], Place] = {}
    writes: dict[Value, Place] = {}
    folds: list[Fold] = []
    for v, i, a, access in kernel.reads():
        if not (v.params == "take" and i == 0):
            reads[a, access] = place_of(a, access, rank)
    for v in kernel.body:
        if v.kind == "reduce":
            axes = frozenset(v.params[1])
            kept = iter(v.strides)
            strides = tuple(0 if i in axes else next(kept) for i in range(rank))
            folds.append(Fold(v, axes, Place(v, 0, strides)))
        elif v in kernel.stored:
            writes[v] = elsewhere.get(v) or Place(v, 0, v.strides)
    nest = Nest(kernel.dims, 1, reads, writes, folds, kernel.body)
    _join_axes(nest)
    _choose_vector_axis(nest, target)
    return nest


def place_of(value: Value, access: Access, rank: int) -> Place:
    """Where a value is met along the loops."""
    strides = [0] * rank
    offset = 0
    for d, step in zip(access, value.strides, strict=True):
        offset += d.start * step
        for axis, apart in d.terms:
            strides[axis] += apart * step
    return Place(value, offset, tuple(strides))


def _places(nest: Nest) -> list[Place]:
    return [*nest.reads.values(), *nest.writes.values(), *(f.place for f in nest.folds)]


def _rearranged(nest: Nest, groups: list[list[int]]) -> None:
    """Every group of neighbouring axes becomes one loop; its stride is that of its last axis."""

    def moved(place: Place) -> Place:
        return Place(place.value, place.offset, tuple(place.strides[g[-1]] for g in groups))

    nest.reads = {key: moved(p) for key, p in nest.reads.items()}
    nest.writes = {key: moved(p) for key, p in nest.writes.items()}
    nest.folds = [
        Fold(f.value, frozenset(i for i, g in enumerate(groups) if g[0] in f.axes), moved(f.place))
        for f in nest.folds
    ]
    extents = []
    for group in groups:
        n = 1
        for axis in group:
            n *= nest.extents[axis]
        extents.append(n)
    nest.extents = tuple(extents)


def _join_axes(nest: Nest) -> None:
    groups: list[list[int]] = []
    places = _places(nest)
    for axis, n in enumerate(nest.extents):
        if groups:
            before = groups[-1][-1]
            together = all(p.strides[before] == p.strides[axis] * n for p in places)
            alike = all((before in f.axes) == (axis in f.axes) for f in nest.folds)
            if together and alike:
                groups[-1].append(axis)
                continue
        groups.append([axis])
    _rearranged(nest, groups)


def _waits_for_itself(nest: Nest) -> bool:
    """Whether the body is a long chain of operations with little to hold beside it."""
    chain = [v for v in nest.body if v.kind == "map"]
    if len(nest.reads) + len(nest.writes) > 4 or not 8 <= len(chain) <= 250:
        return False
    depth: dict[Value, int] = {}
    for v in chain:
        depth[v] = 1 + max((depth.get(a, 0) for a, _ in v.args), default=0)
    simple = all(v.params in SIMPLE for v in chain)
    return simple and 2 * max(depth.values()) >= len(chain)


def _rows_together(rows: int, body: int) -> int:
    """How many rows are computed at once, so that their sum is brought to memory once."""
    most = min(MAX_JAMMED_ROWS, MAX_JAMMED_BODY // body)
    return max((n for n in range(1, most + 1) if rows % n == 0), default=1)


def _rows_abreast(nest: Nest) -> int:
    """How many short rows are summed up at once: registers hold their sums and what they share."""
    short = 1 <= nest.extents[-1] // nest.lanes <= MAX_ROW_VECTORS and nest.lanes > 4
    simple = all(v.params in SIMPLE for v in nest.body if v.kind == "map")
    floats = all(f.value.dtype.kind == "f" for f in nest.folds)
    if not (short and simple and floats and nest.folds and len(nest.body) <= 12):
        return 1
    rows = 8 if len(nest.folds) == 1 else 4
    return rows if nest.extents[-2] >= rows and nest.lanes >= rows else 1


def _unrolled(nest: Nest) -> int:
    """How many vectors are computed in turns, so that none waits for the one before."""
    last = len(nest.extents) - 1
    if nest.extents[-1] < 8 * nest.lanes:
        return 1
    if any(last in f.axes for f in nest.folds) and len(nest.body) <= 24:
        simple = all(v.params in SIMPLE for v in nest.body if v.kind == "map")
        return 4 if simple else 2  # a mathematical function keeps the processor busy by itself
    return 4 if _waits_for_itself(nest) else 1


def _choose_vector_axis(nest: Nest, target: Target) -> None:
    if not nest.extents:
        return
    narrow = all(v.dtype.itemsize <= SINGLE.itemsize for v in nest.body)
    widest = target.lanes(4 if narrow else 8)
    places = _places(nest)

    def cost(axis: int) -> float:
        n = nest.extents[axis]
        blocks = -(-n // widest) * widest
        steps = sum(1 if p.strides[axis] in (0, 1) else widest for p in places)
        return (steps + len(nest.body)) * blocks / max(n, 1)

    rank = len(nest.extents)
    best = min(range(rank), key=lambda a: (cost(a), -a))
    order = [a for a in range(rank) if a != best] + [best]
    if order != list(range(rank)):
        _rearranged(nest, [[a] for a in order])
    nest.order = tuple(order)
    n = nest.extents[-1]
    lanes = widest
    while lanes > 1 and lanes // 2 >= n:
        lanes //= 2
    nest.lanes = lanes
    nest.unroll = _unrolled(nest)
    summed_rows = rank > 1 and all(
        rank - 2 in f.axes and rank - 1 not in f.axes for f in nest.folds
    )
    if nest.folds and summed_rows:
        nest.jam = _rows_together(nest.extents[-2], len(nest.body))
    elif rank > 1 and all(f.axes == {rank - 1} for f in nest.folds):
        nest.abreast = _rows_abreast(nest)
