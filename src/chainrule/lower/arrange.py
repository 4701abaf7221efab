"""In which order the axes of what is handed from step to step lie in memory.

A register holds several numbers.  Where the last axis of an array fills none, or fills some only in
part, and the first is long (ten classes of each of a thousand points), the first is put last: then
the same is computed for many points at once, and sums over classes need no sum within a register.
"""

from __future__ import annotations

from chainrule.lower.fuse import Kernel, Piece, Plan, Product, Step, root
from chainrule.lower.loops import REGISTER
from chainrule.lower.values import SINGLE, Value

SHORT, LONG = 16, 64  # extents
FILLED = 0.9  # of all registers, enough to leave it as it is


def arrange(plan: Plan) -> None:
    """Put the first axis last where that is better, and nothing forbids it."""
    bound = {root(v) for v in plan.outputs}
    views: dict[Value, list[Value]] = {}  # of one memory, under all its shapes
    for step in plan.steps:
        bound |= set(_in_usual_order(step))
    for v in plan.order:
        views.setdefault(root(v), []).append(v)
    for step in plan.steps:
        for value in _written(step):
            seen = views.get(value, [value])
            same_rows = all(v.dims[:1] == value.dims[:1] for v in seen)
            if value not in bound and same_rows and _better(seen):
                for v in seen:
                    v.order = (*range(1, len(v.dims)), 0) if len(v.dims) > 1 else None


def _written(step: Step) -> list[Value]:
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


def _better(seen: list[Value]) -> bool:
    """Whether some shape in which the memory is seen has rows that fill registers badly."""
    shapes = [v.dims for v in seen if len(v.dims) > 1]
    if len(shapes) > 1 and seen[0].kind == "product":
        shapes = [v.dims for v in seen[1:]]
    return any(dims[0] >= LONG and _fills_badly(dims[-1], seen[0]) for dims in shapes)


def _fills_badly(n: int, value: Value) -> bool:
    lanes = REGISTER // (4 if value.dtype == SINGLE else 8)  # truths are kept beside numbers
    return n < SHORT or n / (-(-n // lanes) * lanes) < FILLED
