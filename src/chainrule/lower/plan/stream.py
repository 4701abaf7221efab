"""Streaming: steps that go over one long axis row by row are run tile by tile.

Where an axis is only mapped, or summed over at the end, all steps can be done for some rows, then
for the next.  What they hand on to each other then has the size of a tile: it stays in the cache,
and the memory of the program does not grow with the number of rows.

Steps are sorted into stages.  Those without rows of stage s run before the tiles of stage s; what
needs a sum over all rows of stage s belongs to stage s + 1.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from operator import itemgetter

from chainrule.lower.plan.fuse import Factored, Kernel, Piece, Plan, Product, Step
from chainrule.lower.plan.memory import reads_and_writes
from chainrule.lower.target import Target
from chainrule.lower.values.value import Access, Dim, Value, root

MIN_TILE_ROWS = 64
MIN_SAVED_BYTES = 2**19
NEVER = -1


@dataclass(eq=False)
class Region:
    """The steps first … last, run for `tile` of `rows` rows at a time, in chunks of tiles."""

    first: int
    last: int
    rows: int
    tile: int
    axis: dict[Step, int]  # of a kernel the row axis; of others 0, of a product 1 if summed over
    row_dim: dict[Value, int]  # of every value written by rows
    local: set[Value] = field(default_factory=set)  # that exist one tile at a time
    totals: set[Value] = field(default_factory=set)  # summed over all rows
    aliases: list[Value] = field(default_factory=list)  # other shapes of what is local
    chunk_rows: int = 0
    parts: dict[Value, Value] = field(default_factory=dict)  # per total, the sums of all chunks

    @property
    def chunks(self) -> int:
        """How many chunks there are; the last one also has the rows that fill no tile."""
        return -(-(self.rows // self.tile * self.tile) // self.chunk_rows)

    def apart(self, step: Step, value: Value) -> tuple[int, int]:
        """Bytes from one row to the next, of a value that has all rows; and for one chunk's sum
        those to the next.  0 for others."""
        base = root(value)
        if base in self.parts:
            return 0, base.nbytes
        if base in self.local or base in self.totals:
            return 0, 0
        dim = _row_dims(step, self.axis[step], self.rows).get(base)
        if dim is None and base in reads_and_writes(step)[1]:
            dim = self.row_dim[base]
        return (0 if dim is None else base.strides[dim] * value.dtype.itemsize), 0


@dataclass
class _Rows:
    """What is known while steps are sorted by stages, for one number of rows."""

    rows: int
    stage: dict[Value, int] = field(default_factory=dict)
    dim: dict[Value, int] = field(default_factory=dict)
    total: set[Value] = field(default_factory=set)


def streamed(plan: Plan) -> list[Region]:
    """Reorder the steps of a plan, and say which run by tiles."""
    plan.steps, plan.regions = _arranged(plan.steps, plan)
    for region in plan.regions:
        region.aliases = [v for v in plan.order if v.kind == "reshape" and root(v) in region.local]
        resize(plan, region, region.tile)
    return plan.regions


def alone(step: Step, k: int, rows: int, tile: int) -> Region | None:
    """Step k as a region of its own, if it can be done for some rows alone."""
    known = _Rows(rows)
    axis = _row_axis(step, known)
    if axis == NEVER:
        return None
    _note(step, known, axis, 0)
    own = set(step.buffers) if isinstance(step, Factored) else set()
    return Region(k, k, rows, tile, {step: axis}, known.dim, own, known.total)


def resize(plan: Plan, region: Region, rows: int) -> None:
    """Let the steps of a region be about so many rows."""
    for value in region.local & region.row_dim.keys():
        dim = region.row_dim[value]
        value.dims = (*value.dims[:dim], rows, *value.dims[dim + 1 :])
    for value in region.aliases:
        value.dims = (rows, *value.dims[1:])
    for step in plan.steps[region.first : region.last + 1]:
        k = region.axis[step]
        if isinstance(step, Kernel):
            step.dims = (*step.dims[:k], rows, *step.dims[k + 1 :])
        elif isinstance(step, Product):
            sizes = list(step.value.params)
            sizes[1 if k == 0 else 3] = rows
            step.value.params = tuple(sizes)
        elif isinstance(step, Factored):
            step.value.params = replace(step.value.params, batch=rows)


def _candidates(steps: list[Step]) -> list[int]:
    """Numbers of rows to try, by how much memory goes along with them."""
    weight: dict[int, int] = {}
    for step in steps:
        for value in {root(v): None for part in reads_and_writes(step) for v in part}:
            if value.dims and value.dims[0] >= MIN_TILE_ROWS:
                weight[value.dims[0]] = weight.get(value.dims[0], 0) + value.nbytes
    heavy = sorted(weight, key=lambda n: -weight[n])
    return [n for n in heavy[:3] if weight[n] > MIN_SAVED_BYTES]


def _arranged(steps: list[Step], plan: Plan) -> tuple[list[Step], list[Region]]:
    """Steps that follow each other in a plan, with the number of rows that saves most; and then
    those between the regions of that one, each stretch by itself."""
    tried = [_sorted(steps, plan, rows) for rows in _candidates(steps)]
    best, regions, saved = max(tried, key=itemgetter(2), default=(steps, [], 0))
    if saved <= MIN_SAVED_BYTES:
        return steps, []
    arranged: list[Step] = []
    every: list[Region] = []
    done = 0
    for region in [*regions, None]:
        between, inner = _arranged(best[done : region.first if region else None], plan)
        for r in inner:
            r.first, r.last = r.first + len(arranged), r.last + len(arranged)
        arranged, every = arranged + between, every + inner
        if region is not None:
            inside = best[region.first : region.last + 1]
            done = region.last + 1
            region.first, region.last = len(arranged), len(arranged) + len(inside) - 1
            arranged, every = arranged + inside, [*every, region]
    return arranged, every


def _sorted(steps: list[Step], plan: Plan, rows: int) -> tuple[list[Step], list[Region], int]:
    """The steps by stages, the regions among them, and the bytes that these save."""
    known = _Rows(rows)
    before: dict[int, list[Step]] = {}
    inside: dict[int, list[Step]] = {}
    axis: dict[Step, int] = {}
    for step in steps:
        k = _row_axis(step, known)
        stage = _stage(step, known, k)
        (before if k == NEVER else inside).setdefault(stage, []).append(step)
        if k != NEVER:
            axis[step] = k
        _note(step, known, k, stage)
    arranged: list[Step] = []
    regions: list[Region] = []
    saved = 0
    outputs = {root(v) for v in plan.outputs}
    readers = _readers(plan.steps)
    for stage in range(max((*before, *inside), default=0) + 1):
        arranged += before.get(stage, [])
        tiled = inside.get(stage, [])
        region = Region(
            len(arranged), len(arranged) + len(tiled) - 1, rows, rows, axis, dict(known.dim)
        )
        arranged += tiled
        gain = (
            _localised(region, tiled, readers, outputs, known, plan.target) if len(tiled) > 1 else 0
        )
        if gain > MIN_SAVED_BYTES and region.tile < rows:
            regions.append(region)
            saved += gain
    return arranged, regions, saved


def _conforming(value: Value, access: Access, along: int, rows: int) -> int | None:
    """The axis of a value that goes with the rows; None if none does, NEVER if it cannot."""
    axes = [i for i, d in enumerate(access) if any(axis == along for axis, _ in d.terms)]
    if not axes:
        return None
    one = len(axes) == 1 and access[axes[0]] == Dim(along) and value.dims[axes[0]] == rows
    base = root(value)
    if base is not value and (axes[0] != 0 or not base.dims or base.dims[0] != rows):
        return NEVER  # a reshape keeps rows apart only where they come first
    return axes[0] if one else NEVER


def _row_axis(step: Step, known: _Rows) -> int:
    """The axis of the rows in a kernel, or 0 or 1 for a product; NEVER where it has none."""
    if isinstance(step, Product):
        batch, rows, _, summed = step.value.params
        if batch != 1:
            return NEVER
        fits = {0: rows, 1: summed}
        return next((k for k in (0, 1) if fits[k] == known.rows and _fits(step, known, k)), NEVER)
    if isinstance(step, Factored):
        return 0 if step.value.params.batch == known.rows and _fits(step, known, 0) else NEVER
    if not isinstance(step, Kernel):
        return NEVER
    choices = [k for k, n in enumerate(step.dims) if n == known.rows]
    return next((k for k in choices if _fits(step, known, k)), NEVER)


def _reads(step: Step, k: int) -> list[tuple[Value, Access, int]]:
    """What a step reads, at which access, and which axis of the access goes with the rows."""
    if isinstance(step, Product):
        (a, at_a), (b, at_b) = step.value.args
        return [(a, at_a, k), (b, at_b, 0 if k == 1 else NEVER)]
    if isinstance(step, Factored):
        shared = step.value.params.shared
        return [(*read, NEVER if s else k) for read, s in zip(step.value.args, shared, strict=True)]
    assert isinstance(step, Kernel)
    return [
        (a, access, NEVER if v.params == "take" and i == 0 else k)
        for v, i, a, access in step.reads()
    ]


def _row_dims(step: Step, k: int, rows: int) -> dict[Value, int | None]:
    """Per value that a step reads, which of its axes goes with the rows."""
    return {
        root(value): _conforming(value, access, along, rows)
        for value, access, along in _reads(step, k)
    }


def _fits(step: Step, known: _Rows, k: int) -> bool:
    """Whether a step can be done for some rows alone, if its axis k goes with them."""
    dims = _row_dims(step, k, known.rows)
    for value, access, along in _reads(step, k):
        at = _conforming(value, access, along, known.rows)
        if at == NEVER or at != dims[root(value)]:  # it is read in two ways
            return False
        if isinstance(step, Product) and along != NEVER and at is None:
            return False
    return True


def _stage(step: Step, known: _Rows, k: int) -> int:
    """The first stage in which everything that a step reads is there."""
    # Pieces are laid one over the other.
    stage = known.stage.get(step.whole, 0) if isinstance(step, Piece) else 0
    reads: list[tuple[Value, int | None]] = (
        [(root(value), None) for value in reads_and_writes(step)[0]]
        if k == NEVER
        else [(root(v), _conforming(v, at, way, known.rows)) for v, at, way in _reads(step, k)]
    )
    for base, dim in reads:
        waits = base in known.total or known.dim.get(base, dim) != dim
        stage = max(stage, known.stage.get(base, 0) + waits)
    return stage


def _note(step: Step, known: _Rows, k: int, stage: int) -> None:
    for value in reads_and_writes(step)[1]:
        known.stage[value] = stage
        if k == NEVER:
            continue
        if isinstance(step, Product):
            if k == 0:
                known.dim[value] = 0
            else:
                known.total.add(value)
        elif isinstance(step, Factored) and value in step.buffers:
            continue
        elif value.kind == "reduce" and k in value.params[1]:
            known.total.add(value)
        elif value.kind == "reduce":
            known.dim[value] = k - sum(a < k for a in value.params[1])
        else:
            known.dim[value] = k


def _readers(steps: list[Step]) -> Counter[Value]:
    """By how many of the steps each value is read."""
    return Counter(base for step in steps for base in {root(v) for v in reads_and_writes(step)[0]})


def _localised(
    region: Region,
    tiled: list[Step],
    readers: Counter[Value],
    outputs: set[Value],
    known: _Rows,
    target: Target,
) -> int:
    """Which values need to exist one tile at a time only, and how many bytes that saves.

    Bytes saved are those of such values, and those that later steps find in the cache.
    """
    inside = _readers(tiled)
    for step in tiled:
        for value in reads_and_writes(step)[1]:
            if value in known.total:
                region.totals.add(value)
            elif value not in outputs and readers[value] == inside[value]:
                region.local.add(value)
    from_afar: Counter[Value] = Counter()
    for step in tiled:
        for base, dim in _row_dims(step, region.axis[step], region.rows).items():
            if dim is not None and base not in region.local:
                from_afar[base] += 1
    kept = sum(v.nbytes for v in region.local if v in known.dim)
    again = sum(v.nbytes * (times - 1) for v, times in from_afar.items())  # which is read once
    per_row = (kept + sum(v.nbytes for v in from_afar)) // region.rows
    if not kept + again or not per_row:
        return 0
    products = [s for s in tiled if isinstance(s, Product)]
    least = max((least_rows(s.value, target, region.axis[s]) for s in products), default=8)
    # More than the least rows of any product only where these stay near the processor, too.
    least = min(least, max(MIN_TILE_ROWS, target.shared_cache_bytes // per_row))
    region.tile = _tile(region.rows, target.cache_bytes // per_row, least)
    return (kept + again) // region.rows * (region.rows - region.tile)


def least_rows(product: Value, target: Target, axis: int = 0) -> int:
    """Rows from which on a product is worth a call: it goes through all of its other operand.

    One that sums over the rows goes through all of its result.
    """
    _, rows, columns, summed = product.params
    other = columns * (rows if axis == 1 else summed) * product.dtype.itemsize
    return 4 * MIN_TILE_ROWS if other > target.cache_bytes else MIN_TILE_ROWS


def _tile(rows: int, fitting: int, least: int) -> int:
    """As many rows as fit, a divisor of all of them if one is near."""
    wanted = max(fitting, least)
    if wanted >= rows:
        return rows
    lowest = max(wanted // 2, least)
    near = [t for t in range(lowest, min(2 * wanted, rows) + 1) if rows % t == 0]
    if near:
        return min(near, key=lambda t: abs(t - wanted))
    return max(wanted // 8 * 8, 8)
