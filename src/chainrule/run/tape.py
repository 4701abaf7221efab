"""A tape in this process: the machine code of its loops, and the memory of its calls."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from chainrule.lower.tape import Result, Tape
from chainrule.lower.tape_code import tape_text
from chainrule.run.machine import Machine

_POINTER, _LONG = ctypes.c_void_p, ctypes.c_int64
FORWARD = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER, _POINTER, _LONG)
REVERSE = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, _LONG)


class TapeMachine:
    """Runs one tape on inputs that fit it; may be called from several threads at once."""

    def __init__(self, tape: Tape):
        self.tape = tape
        names = ["forward", "reverse"] if tape.sweeps else ["forward"]
        self.machine = Machine(tape_text(tape), names)
        runs, operands, end = (a.ctypes.data for a in (tape.runs, tape.operands, tape.operands))
        end += tape.operands.nbytes
        self.forward = FORWARD(self.machine.address("forward"))
        self.way = runs, runs + tape.runs.nbytes, operands, len(tape.given)
        self.ways_back = [
            (at := s.runs.ctypes.data, at + s.runs.nbytes, end, tape.slots) for s in tape.sweeps
        ]
        if tape.sweeps:
            self.reverse = REVERSE(self.machine.address("reverse"))
        self.free: list[_Slots] = []

    def __call__(self, *inputs: np.ndarray) -> list[Any]:
        tape = self.tape
        try:
            slots = self.free.pop()
        except IndexError:
            slots = _Slots(tape)
        for (first, size, _), given in zip(tape.inputs, inputs, strict=True):
            slots.write(first, size, given)
        self.forward(slots.at_values, *self.way)
        found = [None if r.sweep >= 0 else slots.read(r) for r in tape.results]
        for i, (sweep, way) in enumerate(zip(tape.sweeps, self.ways_back, strict=True)):
            slots.adjoints.fill(0.0)
            slots.adjoints[sweep.slot] = sweep.seed
            self.reverse(slots.at_values, slots.at_adjoints, *way)
            for k, result in enumerate(tape.results):
                if result.sweep == i:
                    found[k] = slots.adjoints[result.slots].reshape(result.shape)
        self.free.append(slots)
        return found


class _Slots:
    """The values and adjoints of one call."""

    def __init__(self, tape: Tape):
        self.values = np.empty(tape.slots)
        self.values[: len(tape.given)] = tape.given
        self.bits = self.values.view(np.int64)
        self.adjoints = np.empty(tape.slots if tape.sweeps else 0)
        self.at_values, self.at_adjoints = self.values.ctypes.data, self.adjoints.ctypes.data

    def write(self, first: int, size: int, given: np.ndarray) -> None:
        into = self.values if given.dtype.kind == "f" else self.bits
        into[first : first + size] = given.reshape(-1)

    def read(self, result: Result) -> np.ndarray:
        memory = self.values if result.dtype.kind == "f" else self.bits
        return memory[result.slots].astype(result.dtype, copy=False).reshape(result.shape)
