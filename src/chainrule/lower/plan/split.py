"""Steps that take long are cut into chunks, which several threads compute.

The cut depends on the sizes alone, and every chunk has sums of its own, which are added up in order
at the end: the result has the same bits on any number of threads, one included.
"""

from __future__ import annotations

from chainrule.lower.plan.cost import calling, duration, flops, moved
from chainrule.lower.plan.fuse import Factored, Kernel, Plan, Product, Step
from chainrule.lower.plan.memory import reads_and_writes
from chainrule.lower.plan.stream import Region, alone, least_rows, resize
from chainrule.lower.target import Target
from chainrule.lower.values.value import Value, pointwise

MAX_CHUNKS = 32  # and so the most threads that are ever busy
MAX_SUMMING_SHARE = 0.03  # the part of the time that may go into adding up the sums of chunks
CHUNK_ROW_MULTIPLE = 8  # chunks begin at multiples of it, so that no vector is cut


def split(plan: Plan) -> None:
    """Say which steps run in chunks, and add the steps that add up their sums."""
    for k, step in enumerate(plan.steps):
        if not any(r.first <= k <= r.last for r in plan.regions):
            region = _lone(step, k, plan.target)
            if region is not None:
                plan.regions.append(region)
                resize(plan, region, region.tile)
    plan.regions.sort(key=lambda r: r.first)
    inserted = 0
    for region in plan.regions:
        region.first, region.last = region.first + inserted, region.last + inserted
        steps = plan.steps[region.first : region.last + 1]
        region.chunk_rows = _chunk_rows(region, steps, plan.target)
        if region.chunks > 1:
            added = [_own_sums(region, steps, v) for v in _in_order(region.totals, steps)]
            plan.steps[region.last + 1 : region.last + 1] = added
            inserted += len(added)


def _lone(step: Step, k: int, target: Target) -> Region | None:
    """A single step as a region, where it takes long enough."""
    chunks = int(duration(step, target) / target.chunk_seconds)
    if chunks < 2:
        return None
    if isinstance(step, Product):
        extents = [step.value.params[1]]
    elif isinstance(step, Kernel):
        extents = list(step.dims)
    elif isinstance(step, Factored):
        extents = [step.value.params.batch]
    else:
        return None
    for rows in sorted(set(extents), key=extents.index):  # the outermost that is long enough
        least = least_rows(step.value, target) if isinstance(step, Product) else CHUNK_ROW_MULTIPLE
        tile = -(-rows // min(chunks, MAX_CHUNKS))
        tile = max(-(-tile // CHUNK_ROW_MULTIPLE) * CHUNK_ROW_MULTIPLE, least)
        region = alone(step, k, rows, tile) if tile < rows else None
        if region is not None and not (isinstance(step, Product) and region.totals):
            return region
    return None


def _chunk_rows(region: Region, steps: list[Step], target: Target) -> int:
    """Rows of one chunk: whole tiles."""
    tiles = region.rows // region.tile
    times = region.rows / region.tile
    work = sum(map(flops, steps))
    traffic = sum(map(moved, steps))
    expected = times * (target.seconds(work, traffic) + sum(calling(s, target) for s in steps))
    wanted = min(MAX_CHUNKS, tiles, int(expected / target.chunk_seconds))
    sums = sum(v.nbytes for v in region.totals)
    if sums:
        wanted = min(wanted, int(MAX_SUMMING_SHARE * expected * target.bytes_per_second / sums))
    return -(-tiles // max(wanted, 1)) * region.tile


def _in_order(values: set[Value], steps: list[Step]) -> list[Value]:
    made = [v for s in steps for v in reads_and_writes(s)[1]]
    return [v for v in made if v in values]


def _own_sums(region: Region, steps: list[Step], total: Value) -> Kernel:
    """Let every chunk have its own sum, and `total` be what they add up to."""
    own = Value(total.kind, total.dims, total.dtype, total.args, total.params)
    own.line, own.name, own.number = total.line, total.name, total.number
    function = total.params[0] if total.kind == "reduce" else "sum"
    for step in steps:
        if isinstance(step, Product) and step.value is total:
            step.value = own
        elif isinstance(step, Kernel) and total in step.body:
            step.body[step.body.index(total)] = own
            step.stored.pop(total, None)
    parts = Value("parts", (region.chunks, *total.dims), total.dtype)
    if total.order is not None:
        own.order, parts.order = total.order, (0, *(a + 1 for a in total.order))
    region.totals.remove(total)
    region.totals.add(own)
    region.parts[own] = parts
    total.kind, total.params = "reduce", (function, (0,))
    total.args = ((parts, pointwise(len(parts.dims))),)
    return Kernel(parts.dims, [total])
