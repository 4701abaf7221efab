"""What a step costs, as far as that is known before it runs: operations and bytes moved."""

from __future__ import annotations

from math import prod

from chainrule.lower.maths import FUNCTIONS
from chainrule.lower.plan.fuse import (
    Called,
    Factored,
    Kernel,
    Looped,
    Product,
    Scan,
    Scatter,
    Step,
    Taped,
)
from chainrule.lower.plan.memory import reads_and_writes
from chainrule.lower.tape.tape import Tape
from chainrule.lower.target import Target
from chainrule.lower.values.functions import maths_name
from chainrule.lower.values.value import Value, ordered, root

TRANSCENDENTAL = 20  # operations that a mathematical function is counted as


def flops(step: Step) -> int:
    """Operations on numbers."""
    if isinstance(step, Product):
        return int(2 * prod(step.value.params) * step.share)
    if isinstance(step, Scatter):
        return step.value.args[1][0].size
    if isinstance(step, Scan):
        return step.value.size
    if isinstance(step, Factored):
        return int(step.value.params.batch * step.value.params.flops)
    if isinstance(step, Kernel):
        return prod(step.dims) * sum(map(_operations, step.body))
    if isinstance(step, Looped):
        return step.value.params.body.count * sum(map(flops, step.plan.steps))
    return _tape_flops(step.tape) if isinstance(step, Taped) else 0


def moved(step: Step) -> int:
    """Bytes read and written, every array once."""
    if isinstance(step, Called):
        return step.tape.nbytes if isinstance(step, Taped) else 0
    reads, writes = reads_and_writes(step)
    return sum(v.nbytes for v in {root(v): None for v in (*reads, *writes)})


def calling(step: Step, target: Target) -> float:
    """How long it takes to get into routines and out of them."""
    return target.routine_seconds * step.value.params.batch if isinstance(step, Factored) else 0.0


def duration(step: Step, target: Target) -> float:
    """How long a step takes one core."""
    if isinstance(step, Looped):
        return step.value.params.body.count * sum(duration(s, target) for s in step.plan.steps)
    return target.seconds(flops(step), moved(step)) + calling(step, target)


def _tape_flops(tape: Tape) -> int:
    total = 0
    for count, kind in zip(tape.counts, tape.kinds, strict=True):
        back = [v for v in kind.reverse if v is not None]
        for values, times in (([kind.forward, *kind.saved], 1), (back, len(tape.sweeps))):
            each = sum(_operations(v) for v in ordered(values) if v.kind == "map")
            total += count * times * each
    return total


def _operations(v: Value) -> int:
    if v.kind == "reduce":
        return 1
    if v.params in ("copy", "take") or v.params.startswith("to_"):
        return 0
    return TRANSCENDENTAL if maths_name(v.params) in FUNCTIONS else 1
