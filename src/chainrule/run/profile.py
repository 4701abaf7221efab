"""Where the time of a compiled function goes: the same machine code, with a clock around each step.

The clock is the processor's own counter, read in machine code: a step of a tenth of a microsecond
can be told from the next.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from chainrule.errors import ArgumentError, UnsupportedError
from chainrule.run.compiled import Compiled
from chainrule.run.direct import MISS
from chainrule.run.machine import target_machine
from chainrule.run.program import RUN, Workspace, linked
from chainrule.run.signature import signature_of
from chainrule.run.variant import Variant

CLOCKS = {  # instructions that any program may use, by processor
    "x86_64": "call i64 @llvm.readcyclecounter()",
    "aarch64": 'call i64 asm sideeffect "mrs $0, cntvct_el0", "=r"()',
}
DECLARATION = "declare i64 @llvm.readcyclecounter()"
STEP_CALL = re.compile(r"^  call void @(?:step|rest)(\d+)\(.*$", re.M)
LEAST_CALLS, MOST_CALLS = 3, 10_000


@dataclass(frozen=True)
class Profile:
    """Seconds of one call: of the whole of it, and of each step; the mean of several calls.

    Steps that several threads compute count the time of all of them.
    """

    variant: Variant
    calls: int
    whole: float
    steps: list[float]


def profile_of(
    compiled: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], seconds: float
) -> Profile:
    """Call the function on these arguments for about so many seconds."""
    if not seconds > 0:
        raise ArgumentError(f"seconds={seconds!r}: how long to measure, more than 0")
    compiled(*args, **kwargs)
    leaves, key = signature_of(args, kwargs)
    if leaves is None:
        raise ArgumentError("a profile is taken of numbers and arrays, not of Variables")
    for variant in compiled.variants.get(key, ()):
        if variant(leaves) is not MISS:
            return _Timed(variant, leaves).measured(seconds)
    raise ArgumentError("the function takes another branch in every call: there is none to measure")


class _Timed:
    """The steps of a variant under the clock, and memory to run them in."""

    def __init__(self, variant: Variant, leaves: list[np.ndarray]):
        self.variant, run = variant, variant.run
        self.count = len(run.module.plan.steps)
        text = with_clocks(run.module.text, self.count)
        names = [f"run{i}" for i in range(len(run.module.calls) + 1)]
        self.machine = linked(text, [*names, "cycles", "now"], run.module.cold)
        self.parts = [RUN(self.machine.address(name)) for name in names]
        self.now = ctypes.CFUNCTYPE(ctypes.c_int64)(self.machine.address("now"))
        words = (ctypes.c_int64 * self.count).from_address(self.machine.address("cycles"))
        self.cycles = np.ctypeslib.as_array(words)
        self.places = {s: k for k, s in enumerate(run.module.plan.steps)}
        self.interpreted = np.zeros(self.count)
        inputs = [*leaves, *(np.ascontiguousarray(a) for a in variant.external)]
        self.outputs = [np.empty(shape, dtype) for shape, dtype in run.shapes]
        self.space = Workspace(run)
        self.space.point(inputs, self.outputs)

    def measured(self, seconds: float) -> Profile:
        self._call()  # memory is touched for the first time
        self.cycles[:], self.interpreted[:] = 0, 0.0
        calls, began, first = 0, perf_counter(), self.now()
        while calls < LEAST_CALLS or (perf_counter() - began < seconds and calls < MOST_CALLS):
            self._call()
            calls += 1
        spent = perf_counter() - began
        per_cycle = spent / max(self.now() - first, 1)
        steps = (self.cycles * per_cycle + self.interpreted) / calls
        return Profile(self.variant, calls, spent / calls, steps.tolist())

    def _call(self) -> None:
        self.parts[0](self.space.address)
        for call, part in zip(self.variant.run.module.calls, self.parts[1:], strict=True):
            began = perf_counter()
            self.space.interpret(call)
            self.interpreted[self.places[call]] += perf_counter() - began
            part(self.space.address)


def with_clocks(text: str, count: int) -> str:
    """The text of a module in which the cycles of every step are added up in `@cycles`."""
    processor = target_machine().triple.partition("-")[0]
    clock = CLOCKS.get(processor)
    if clock is None:
        raise UnsupportedError(f"a profile needs a clock, and none is known on {processor}")
    places = iter(range(text.count("\n")))

    def timed(call: re.Match[str]) -> str:
        at = next(places)
        return "\n".join([
            f"  %start{at} = {clock}",
            call[0],
            f"  %stop{at} = {clock}",
            f"  %took{at} = sub i64 %stop{at}, %start{at}",
            f"  %place{at} = getelementptr i64, ptr @cycles, i64 {call[1]}",
            f"  %before{at} = atomicrmw add ptr %place{at}, i64 %took{at} monotonic",
        ])  # fmt: skip

    head = [f"@cycles = global [{max(count, 1)} x i64] zeroinitializer"]
    if DECLARATION not in text and "@llvm.readcyclecounter" in clock:
        head.append(DECLARATION)
    head.append(f"define i64 @now() nounwind {{\n  %now = {clock}\n  ret i64 %now\n}}")
    return "\n".join([*head, STEP_CALL.sub(timed, text)])
