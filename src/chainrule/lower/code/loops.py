"""A loop as a step: a table for its iterations, aimed anew at what each reads and writes.

The table of an iteration is like that of a program: its memory, its inputs, its outputs, its
constants.  What is fixed stays where it is, rows and stacks move on, and what is carried is written
to two places in turn, so that nothing is written over while it is read; in the last iteration to
where the result belongs.  Few numbers, be they carried or of an iteration itself, lie on the stack,
from where LLVM takes them into registers.
"""

from __future__ import annotations

from itertools import accumulate

from chainrule.lower.code.lanes import Frame
from chainrule.lower.code.lines import INLINE, Code
from chainrule.lower.plan.fuse import Looped
from chainrule.lower.plan.memory import ALIGNMENT, Memory, rounded
from chainrule.lower.values.value import Value

MAX_CARRY_BYTES = 64  # of a carried value that is copied from iteration to iteration
MAX_STACK_BYTES = 2048  # of an iteration whose own memory lies on the stack


def buffer_bytes(step: Looped, memory: Memory) -> int:
    """What an iteration needs for itself, and the second slots of what is carried."""
    return _places(step, memory)[-1]


def _places(step: Looped, memory: Memory) -> list[int]:
    """Where in the buffer the second slot of each carried value begins, and where all ends.

    Truths about an iteration have a slot each behind them.
    """
    own = memory.arena + memory.local * (1 + memory.threads) + ALIGNMENT
    loop = step.value.params
    carried = [memory.outputs[k].nbytes for k in range(loop.body.carried)]
    truths = [1] * (len(memory.outputs) - len(loop.body.graph.outputs))
    return list(accumulate(map(rounded, (own, *carried, *truths))))


def loop_function(name: str, step: Looped, frame: Frame) -> Code:
    """The code of a function that runs a loop."""
    writer = _Writer(name, step, frame)
    if step.value.params.body.count:
        writer.loop()
    else:
        writer.nothing()
    writer.code.as_step(name)
    return writer.code


class _Writer:
    def __init__(self, name: str, step: Looped, frame: Frame):
        self.name, self.step, self.frame, self.code = name, step, frame, Code()
        self.body, self.memory = step.value.params.body, step.memory
        self.given = [frame.pointer(self.code, a) for a, _ in step.value.args]
        self.results = [frame.pointer(self.code, v) for v in step.results]

    def nothing(self) -> None:
        """No iteration: what is carried is what was given."""
        for k in range(self.body.carried):
            self.code.copy(self.results[k], self.given[self.body.fixed + k], self._nbytes(k))
        for result in self.results[len(self.body.graph.outputs) :]:
            self.code.line(f"store i8 0, ptr {result}")

    def _nbytes(self, k: int) -> int:
        output: Value = self.memory.outputs[k]
        return output.nbytes

    def loop(self) -> None:
        code, body, memory = self.code, self.body, self.memory
        buffer = self.frame.pointer(code, self.step.buffer)
        constants = [self.frame.pointer(code, v) for v in memory.constants]
        first_output = 1 + len(memory.inputs)
        first_constant = first_output + len(memory.outputs)
        self.table = code.buffer(first_constant + len(constants), "ptr")
        starts = _places(self.step, memory)
        self._aim(0, code.buffer(starts[0], "i8") if starts[0] <= MAX_STACK_BYTES else buffer)
        for k in range(body.fixed):
            self._aim(1 + k, self.given[k])
        for k, constant in enumerate(constants):
            self._aim(first_constant + k, constant)
        self.second = [self._on(buffer, start) for start in starts[: body.carried]]
        count = len(body.graph.outputs)
        self.truths = [code.buffer(1, "i8") for _ in self.results[count:]]
        for k, truth in enumerate(self.truths):
            self._aim(first_output + count + k, truth)
        inits = self.given[body.fixed : body.fixed + body.carried]
        small = [k for k in range(body.carried) if self._nbytes(k) <= MAX_CARRY_BYTES]
        self.copied = {k: self._slots(k, first_output + k, inits[k]) for k in small}
        self.large = [k for k in range(body.carried) if k not in self.copied]
        carried = [*(("ptr", inits[k]) for k in self.large), *(("i8", "0") for _ in self.truths)]
        found = code.loop("0", str(body.count), carried, self._iteration)
        for k, (read, _) in self.copied.items():
            code.copy(self.results[k], read, self._nbytes(k))
        for truth, result in zip(found[len(self.large) :], self.results[count:], strict=True):
            code.line(f"store i8 {truth}, ptr {result}")

    def _slots(self, k: int, output: int, init: str) -> tuple[str, str]:
        """Where an iteration reads what is carried, and where it writes it."""
        read, written = (self.code.buffer(self._nbytes(k), "i8") for _ in range(2))
        self._aim(1 + self.body.fixed + k, read)
        self._aim(output, written)
        self.code.copy(read, init, self._nbytes(k))
        return read, written

    def _iteration(self, i: str, names: list[str]) -> list[str]:
        code, body = self.code, self.body
        left = code.put(f"sub i64 {body.count - 1}, {i}")
        row = left if body.backwards else i
        odd = code.put(f"trunc i64 {left} to i1")
        first_output = 1 + len(self.memory.inputs)
        written = []
        for k, name in zip(self.large, names, strict=False):
            self._aim(1 + body.fixed + k, name)
            into = f"select i1 {odd}, ptr {self.second[k]}, ptr {self.results[k]}"
            written.append(code.put(into))
            self._aim(first_output + k, written[-1])
        for k in range(body.fixed + body.carried, len(self.given)):
            _, access = self.step.value.args[k]
            start, step = (access[0].start, access[0].step) if access else (0, 1)
            read = code.put(f"add i64 {code.put(f'mul i64 {row}, {step}')}, {start}")
            self._aim(1 + k, self._row(self.given[k], read, self.memory.inputs[k].nbytes))
        for k in range(body.carried, len(body.graph.outputs)):
            self._aim(first_output + k, self._row(self.results[k], row, self._nbytes(k)))
        code.line(f"call void @{self.name}.run(ptr {self.table}){INLINE}")
        for k, (read, made) in self.copied.items():
            code.copy(read, made, self._nbytes(k))
        met = []
        for before, truth in zip(names[len(self.large) :], self.truths, strict=True):
            met.append(code.put(f"or i8 {before}, {code.put(f'load i8, ptr {truth}')}"))
        return [*written, *met]

    def _aim(self, slot: int, pointer: str) -> None:
        at = self.code.put(f"getelementptr ptr, ptr {self.table}, i64 {slot}")
        self.code.line(f"store ptr {pointer}, ptr {at}")

    def _on(self, pointer: str, nbytes: int) -> str:
        return self.code.put(f"getelementptr i8, ptr {pointer}, i64 {nbytes}")

    def _row(self, pointer: str, row: str, nbytes: int) -> str:
        offset = self.code.put(f"mul i64 {row}, {nbytes}")
        return self.code.put(f"getelementptr i8, ptr {pointer}, i64 {offset}")
