"""What a step costs, as far as that is known before it runs: operations and bytes moved."""

from __future__ import annotations

from math import prod

from chainrule.lower.maths import FUNCTIONS
from chainrule.lower.plan.fuse import (
    Called,
    Factored,
    Kernel,
    Product,
    Scan,
    Scatter,
    Step,
    Taped,
    root,
)
from chainrule.lower.plan.memory import reads_and_writes
from chainrule.lower.tape.tape import Tape
from chainrule.lower.values.value import Value, ordered

TRANSCENDENTAL = 20  # operations that a mathematical function is counted as
# A core of today, roughly: what is near either speed is worth no more precision.
FLOPS_PER_SECOND = 16e9
BYTES_PER_SECOND = 10e9
CALL_SECONDS = 0.2e-6  # of a routine of LAPACK, however small its matrix is


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
    return _tape_flops(step.tape) if isinstance(step, Taped) else 0


def moved(step: Step) -> int:
    """Bytes read and written, every array once."""
    if isinstance(step, Called):
        return step.tape.nbytes if isinstance(step, Taped) else 0
    reads, writes = reads_and_writes(step)
    return sum(v.nbytes for v in {root(v): None for v in (*reads, *writes)})


def seconds(work: int, traffic: int) -> float:
    """How long so many operations and bytes take one core."""
    return max(work / FLOPS_PER_SECOND, traffic / BYTES_PER_SECOND)


def calling(step: Step) -> float:
    """How long it takes to get into routines and out of them."""
    return CALL_SECONDS * step.value.params.batch if isinstance(step, Factored) else 0.0


def duration(step: Step) -> float:
    """How long a step takes one core."""
    return seconds(flops(step), moved(step)) + calling(step)


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
    return TRANSCENDENTAL if v.params in FUNCTIONS or v.params in ("expit", "power") else 1
