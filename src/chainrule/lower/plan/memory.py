"""Where each value lies: inputs, outputs and constants where they are, the rest in one arena.

Two values may share memory when the last step that reads the one comes before the step that makes
the other.  The arena is as large as what is alive at once, and that is known before anything runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chainrule.lower.plan.fuse import (
    Called,
    Factored,
    Kernel,
    Looped,
    Piece,
    Plan,
    Product,
    Scan,
    Scatter,
    Step,
    Taped,
)
from chainrule.lower.values.value import Value, pointwise, root

ALIGNMENT = 64
LOCAL = -1  # instead of a slot of the table: what a thread has for itself


@dataclass
class Memory:
    """The table of pointers that machine code is given: the arena, inputs, outputs, constants."""

    inputs: list[Value]
    outputs: list[Value]
    constants: list[Value] = field(default_factory=list)
    slots: dict[Value, tuple[int, int]] = field(default_factory=dict)
    arena: int = 0
    local: int = 0  # bytes that each thread has for itself, behind the arena
    threads: int = 0  # that may be busy at once

    def locate(self, value: Value) -> tuple[int, int]:
        """Slot of the table, or LOCAL; and offset in bytes."""
        value = root(value)
        place = self.slots.get(value)
        if place is None and value.kind == "constant":
            slot = 1 + len(self.inputs) + len(self.outputs) + len(self.constants)
            place = self.slots[value] = (slot, 0)
            self.constants.append(value)
        assert place is not None, f"{value!r} of kind {value.kind} is not in memory"
        return place


def planned(plan: Plan, inputs: list[Value]) -> Memory:
    """Memory for every value that a step writes.

    In a region that runs by tiles a step comes again after later ones: what is there before it, or
    is summed in it, lives until its end.
    """
    memory = Memory(inputs, plan.outputs)
    for i, value in enumerate(inputs):
        memory.slots[value] = (1 + i, 0)
    for i, value in enumerate(plan.outputs):
        memory.slots[root(value)] = (1 + len(inputs) + i, 0)
    first, last = _lifetimes(plan.steps)
    for region in plan.regions:
        for own, parts in region.parts.items():  # the sums of all chunks lie side by side
            del first[own], last[own]
            first[parts] = region.first
        _stretch(region, first, last)
    _allocate(memory, plan, first, last)
    for region in plan.regions:
        for own, parts in region.parts.items():
            memory.slots[own] = memory.slots[parts]
    memory.threads = max((region.chunks for region in plan.regions), default=0)
    return memory


def _allocate(memory: Memory, plan: Plan, first: dict[Value, int], last: dict[Value, int]) -> None:
    """A place for every value from the step that makes it to the last that reads it."""
    entering, leaving = _by_step(first), _by_step(last)
    local = {v for region in plan.regions for v in region.local}
    arenas = {0: _Arena(), LOCAL: _Arena()}
    for k, step in enumerate(plan.steps):
        taken = set()
        for value, old in _in_place(step):
            place = memory.slots.get(old, (1, 0))  # inputs, outputs and constants stay as they are
            free = old not in taken and value not in memory.slots and place[0] in arenas
            if free and first[value] == k == last[old] and (value in local) == (old in local):
                memory.slots[value] = place
                taken.add(old)
        for value in entering.get(k, ()):
            if value not in memory.slots:
                slot = LOCAL if value in local else 0
                memory.slots[value] = (slot, arenas[slot].take(max(value.nbytes, 1)))
        for value in leaving.get(k, ()):
            if value in first and value not in taken and memory.slots[value][0] in arenas:
                slot, offset = memory.slots[value]
                arenas[slot].give(offset, max(value.nbytes, 1))
    memory.arena, memory.local = arenas[0].top, arenas[LOCAL].top


def _in_place(step: Step) -> list[tuple[Value, Value]]:
    """What is stored, and what it may be stored over."""
    if isinstance(step, Kernel):
        return _read_first(step)
    if not isinstance(step, Factored):
        return []
    read = [root(a) for a, _ in step.value.args]
    begun = [(step.results[k], read[j]) for k, j in step.value.params.starts]
    return [(new, old) for new, old in begun if read.count(old) == 1 and new.nbytes == old.nbytes]


def _read_first(kernel: Kernel) -> list[tuple[Value, Value]]:
    """What is stored over what is read at the same index alone.

    In a kernel everything at an index is read before anything is written there.
    """
    here = pointwise(len(kernel.dims))
    elsewhere = {root(a) for _, _, a, access in kernel.reads() if access != here}
    elsewhere |= {root(a) for v, i, a, _ in kernel.reads() if v.params == "take" and i == 0}
    old = [a for _, _, a, _ in kernel.reads() if root(a) is a and a not in elsewhere]
    return [
        (value, a)
        for value in kernel.stored
        for a in dict.fromkeys(old)
        if (a.dims, a.order, a.dtype.itemsize) == (value.dims, value.order, value.dtype.itemsize)
    ]


def _by_step(steps: dict[Value, int]) -> dict[int, list[Value]]:
    values: dict[int, list[Value]] = {}
    for value, k in steps.items():
        values.setdefault(k, []).append(value)
    return values


def _stretch(region: Any, first: dict[Value, int], last: dict[Value, int]) -> None:
    """What a region does not have one tile at a time lives all through it."""
    for value in last:
        if value in region.local:
            continue
        if region.first <= first.get(value, -1) <= region.last:
            first[value] = region.first
        if region.first <= last[value] <= region.last:
            last[value] = region.last


def reads_and_writes(step: Step) -> tuple[list[Value], list[Value]]:
    """The values in memory that a step reads, and those that it writes."""
    if isinstance(step, Kernel):
        reads = [a for _, _, a, _ in step.reads()]
        return reads, [v for v in step.body if v.kind == "reduce" or v in step.stored]
    if isinstance(step, (Product, Scan, Scatter)):
        return [a for a, _ in step.value.args], [step.value]
    if isinstance(step, Piece):
        return [] if step.piece is None else [step.piece], [step.whole]
    if isinstance(step, Factored):
        return [a for a, _ in step.value.args], step.results
    if isinstance(step, Looped):
        return [a for a, _ in step.value.args], [*step.results, step.buffer]
    assert isinstance(step, Called)
    results = [*step.results] if step.value.dtype == object else [step.value]
    if isinstance(step, Taped):
        results.append(step.buffer)
    return [a for a, _ in step.value.args], results


def _lifetimes(steps: list[Any]) -> tuple[dict[Value, int], dict[Value, int]]:
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    for k, step in enumerate(steps):
        reads, writes = reads_and_writes(step)
        for value in writes:
            first.setdefault(value, k)
            last[value] = k
        for value in reads:
            last[root(value)] = k
    return first, last


class _Arena:
    """Free stretches, first fit; neighbours are joined when they are given back."""

    def __init__(self) -> None:
        self.free: list[tuple[int, int]] = []  # offset, size
        self.top = 0

    def take(self, size: int) -> int:
        size = rounded(size)
        for i, (offset, free_bytes) in enumerate(self.free):
            if free_bytes >= size:
                if free_bytes == size:
                    del self.free[i]
                else:
                    self.free[i] = (offset + size, free_bytes - size)
                return offset
        if self.free and sum(self.free[-1]) == self.top:
            offset, _ = self.free.pop()
        else:
            offset = self.top
        self.top = offset + size
        return offset

    def give(self, offset: int, size: int) -> None:
        self.free.append((offset, rounded(size)))
        self.free.sort()
        joined: list[tuple[int, int]] = []
        for start, free_bytes in self.free:
            if joined and sum(joined[-1]) == start:
                joined[-1] = (joined[-1][0], joined[-1][1] + free_bytes)
            else:
                joined.append((start, free_bytes))
        self.free = joined


def rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
