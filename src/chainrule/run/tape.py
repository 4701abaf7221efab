"""A tape in this process: the machine code of its loops, and the memory of its calls."""

from __future__ import annotations

import ctypes

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
        names = ["forward"] if tape.seed is None else ["forward", "reverse"]
        self.machine = Machine(tape_text(tape), names)
        self.forward = FORWARD(self.machine.address("forward"))
        if tape.seed is not None:
            self.reverse = REVERSE(self.machine.address("reverse"))
        runs, operands = tape.runs.ctypes.data, tape.operands.ctypes.data
        self.ends = runs, runs + tape.runs.nbytes, operands, operands + tape.operands.nbytes
        self.free: list[_Slots] = []

    def __call__(self, *inputs: np.ndarray) -> list[np.ndarray]:
        tape = self.tape
        try:
            slots = self.free.pop()
        except IndexError:
            slots = _Slots(tape)
        for (first, size, _), given in zip(tape.inputs, inputs, strict=True):
            slots.write(first, size, given)
        runs, end, operands, operands_end = self.ends
        self.forward(slots.at_values, runs, end, operands, len(tape.given))
        if tape.seed is not None:
            slots.adjoints.fill(0.0)
            slots.adjoints[tape.seed[0]] = tape.seed[1]
            at = slots.at_values, slots.at_adjoints
            self.reverse(*at, runs, end, operands_end, tape.slots)
        found = [slots.read(result) for result in tape.results]
        self.free.append(slots)
        return found


class _Slots:
    """The values and adjoints of one call."""

    def __init__(self, tape: Tape):
        self.values = np.empty(tape.slots)
        self.values[: len(tape.given)] = tape.given
        self.bits = self.values.view(np.int64)
        self.adjoints = np.empty(tape.slots if tape.seed is not None else 0)
        self.at_values, self.at_adjoints = self.values.ctypes.data, self.adjoints.ctypes.data

    def write(self, first: int, size: int, given: np.ndarray) -> None:
        into = self.values if given.dtype.kind == "f" else self.bits
        into[first : first + size] = given.reshape(-1)

    def read(self, result: Result) -> np.ndarray:
        if result.adjoint:
            return self.adjoints[result.slots].reshape(result.shape)
        memory = self.values if result.dtype.kind == "f" else self.bits
        return memory[result.slots].astype(result.dtype, copy=False).reshape(result.shape)
