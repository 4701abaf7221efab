"""In which order the axes of what is handed from step to step lie in memory.

A register holds several numbers.  Where the last axis of an array fills none, or fills some only in
part, and the first is long (ten classes of each of a thousand points), the first is put last: then
the same is computed for many points at once, and sums over classes need no sum within a register.
"""

from __future__ import annotations

from collections.abc import Collection

from chainrule.lower.plan.fuse import Kernel, Piece, Plan, Product, Step
from chainrule.lower.plan.memory import reads_and_writes
from chainrule.lower.target import Target
from chainrule.lower.values.value import SINGLE, Value, pointwise, root

SHORT_AXIS, LONG_AXIS = 16, 64  # extents
MIN_FILLED_SHARE = 0.9  # of all registers, enough to leave it as it is


def arrange(plan: Plan, better: Collection[int] = ()) -> None:
    """Put the first axis last where that is better, and nothing forbids it.

    It is better for extents that are given, and where registers are filled better.
    """
    bound, views = bound_to_order(plan) | _beside_fixed_order(plan), seen_as(plan)
    for step in plan.steps:
        for value in written(step):
            seen = views.get(value, [value])
            same_rows = all(v.dims[:1] == value.dims[:1] for v in seen)
            if value not in bound and same_rows and _better(seen, better, plan.target):
                for v in seen:
                    if len(v.dims) > 1:
                        v.order = (*(a for a in _order(v) if a != 0), 0)


def bound_to_order(plan: Plan) -> set[Value]:
    """The memory that must have the usual order."""
    bound = {root(v) for v in plan.outputs}
    for step in plan.steps:
        bound |= set(_in_usual_order(step))
    return bound


def _beside_fixed_order(plan: Plan) -> set[Value]:
    """What is only read index by index beside inputs or outputs, which have the usual order."""
    outputs = {root(v) for v in plan.outputs}
    alone: dict[Value, bool] = {}  # whether all reads of it are of that kind
    for step in plan.steps:
        if not isinstance(step, Kernel):
            alone |= dict.fromkeys(map(root, reads_and_writes(step)[0]), False)
            continue
        here = pointwise(len(step.dims))
        reads = [(root(a), a.dims == step.dims and at == here) for _, _, a, at in step.reads()]
        beside = not outputs.isdisjoint(v for v in step.stored if v.dims == step.dims)
        beside |= any(a.kind == "input" and same for a, same in reads)
        for value, same in reads:
            alone[value] = alone.get(value, True) and same and beside
    return {value for value, only in alone.items() if only}


def seen_as(plan: Plan) -> dict[Value, list[Value]]:
    """Per memory the values that it is, under all its shapes."""
    views: dict[Value, list[Value]] = {}
    for v in plan.order:
        views.setdefault(root(v), []).append(v)
    return views


def written(step: Step) -> list[Value]:
    """What a step writes in the order that is wanted."""
    if isinstance(step, Kernel):
        return [v for v in step.body if v.kind == "reduce" or v in step.stored]
    return [step.value] if isinstance(step, Product) and step.value.params[0] == 1 else []


def _in_usual_order(step: Step) -> list[Value]:
    """The memory that a step can only use in the usual order."""
    if isinstance(step, Kernel):
        return [root(a) for v, i, a, _ in step.reads() if v.params == "take" and i == 0]
    if isinstance(step, Piece):
        return [step.whole]
    if isinstance(step, Product):
        odd = [a for a, _ in step.value.args if len(a.dims) != 2]
        return [root(a) for a in odd] + [step.value][: len(step.value.dims) != 2]
    return [root(a) for a, _ in step.value.args]


def _better(seen: list[Value], better: Collection[int], target: Target) -> bool:
    """Whether some shape in which the memory is seen has rows that fill registers badly."""
    if seen[0].dims[:1] and seen[0].dims[0] in better:
        return True
    shapes = [v for v in seen if len(v.dims) > 1]
    if len(shapes) > 1 and seen[0].kind == "product":
        shapes = seen[1:]
    lanes = target.lanes(4 if seen[0].dtype == SINGLE else 8)  # truths are kept beside numbers
    innermost = (v.dims[_order(v)[-1]] for v in shapes if v.dims[0] >= LONG_AXIS)
    return any(_fills_badly(n, lanes) for n in innermost)


def _order(v: Value) -> tuple[int, ...]:
    return v.order or tuple(range(len(v.dims)))


def _fills_badly(n: int, lanes: int) -> bool:
    return n < SHORT_AXIS or n / (-(-n // lanes) * lanes) < MIN_FILLED_SHARE
