"""A compiled program in this process: its machine code, its memory, and how it is run."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from chainrule.core.memory_size import shown
from chainrule.core.replay import evaluated
from chainrule.core.spec import Shape
from chainrule.errors import ChainruleError, MemoryBudgetError, ShapeError
from chainrule.lower.build import Program
from chainrule.lower.module import Module, module_of
from chainrule.lower.plan.fuse import Called
from chainrule.lower.plan.memory import ALIGNMENT
from chainrule.lower.values.array import Constant, OpCall
from chainrule.run.blas import blas_imports
from chainrule.run.builtin import DEFINITION, builtin, extras, layout_is_known
from chainrule.run.machine import Machine
from chainrule.run.threads import parallel

HUGE_PAGE_BYTES = 2**22  # bytes of an array from which on NumPy asks for large pages
SMALL_ARENA_BYTES = 2**20  # bytes of an arena that is kept also where the usual call has another
# A process that is forked has its own; elsewhere than on Unix memory is never shared.
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@cache
def _cold(symbol: str, text: str) -> Machine:
    """A function that is rarely called, compiled once for all that do."""
    return Machine(text, [symbol])


def linked(text: str, names: Sequence[str], cold: Mapping[str, str]) -> Machine:
    """The machine code of a module, with the routines and the threads that it calls."""
    imports = blas_imports(text)
    for symbol, apart in cold.items():
        imports[symbol[1:]] = _cold(symbol[1:], apart).address(symbol[1:])
    if "@cr_parallel" in text:
        imports["cr_parallel"] = parallel()
    return Machine(text, names, imports)


class Executable:
    """Runs one program on arrays that fit it; may be called from several threads at once."""

    def __init__(self, program: Program):
        self.module: Module = module_of(program)
        names = [f"run{i}" for i in range(len(self.module.calls) + 1)]
        direct = not self.module.calls
        exported = [*names, "entry"] if direct else names
        self.machine = linked(self.module.text, exported, self.module.cold)
        self.parts = [RUN(self.machine.address(name)) for name in names]
        memory = self.module.memory
        self.constants = [np.ascontiguousarray(v.params, v.dtype) for v in memory.constants]
        self.shapes: list[tuple[Shape, Any]] = [(r.shape, r.dtype) for r in program.results]
        given = zip(program.shapes, program.inputs, strict=True)
        self.specs = [*((shape, v.dtype) for shape, v in given), *self.shapes]
        self.free: list[Workspace] = []
        self.builtin: Any = None
        if direct and layout_is_known():
            self._space = Workspace(self)  # Python runs one such call at a time
            self.builtin = builtin(self.machine.address("entry"), self._space.table)

    def refuse_above(self, budget: int) -> None:
        """Raise where a call takes more bytes than this: intermediate values and results."""
        memory = self.module.memory
        between = memory.arena + memory.local * (1 + memory.threads) + ALIGNMENT
        results = sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in self.shapes)
        if between + results > budget:
            raise MemoryBudgetError(
                f"compiled, a call takes {shown(between + results)}: {shown(between)} between its "
                f"arguments and its results, {shown(results)}\n  for these; the budget is "
                f"{shown(budget)}.  Keep less for the derivative: cr.scan(…, checkpoint="
                '"auto") for a loop,\n  cr.checkpoint(layer) for a layer; or call cr.grad(f, '
                "memory=…) as it is, without cr.compile.",
                between + results,
            )

    @property
    def entry(self) -> Any:
        """The fast entry: a function of inputs and outputs; whether it has filled these."""
        return self._filled if self.module.calls and layout_is_known() else self.builtin

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        outputs = [np.empty(shape, dtype) for shape, dtype in self.shapes]
        if self.builtin is None or not self.builtin(*inputs, *outputs):  # its memory is there
            self._run(inputs, outputs)
        return outputs

    def _filled(self, *given: Any) -> bool:
        """As the machine code's own entry, of a program with steps that are interpreted."""
        arrays = [np.asarray(a) if type(a) in (float, np.float64) else a for a in given]
        count = len(arrays) - len(self.shapes)
        for array, (shape, dtype) in zip(arrays, self.specs, strict=True):
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return False
        inputs, outputs = arrays[:count], arrays[count:]
        if not all(a.flags.c_contiguous and a.flags.aligned for a in inputs):
            return False
        if not all(a.flags.carray for a in outputs):
            return False
        try:
            self._run(inputs, outputs)
        except ChainruleError:  # it may not be the branch; if it is, recording it raises
            return False
        return True

    def _run(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        try:
            space = self.free.pop()
        except IndexError:
            space = Workspace(self)
        space.point(inputs, outputs)
        self.parts[0](space.address)
        for call, part in zip(self.module.calls, self.parts[1:], strict=True):
            space.interpret(call)
            part(space.address)
        space.arrays = []  # they are the caller's, to keep or to drop
        if self.builtin is None or self.module.memory.arena <= SMALL_ARENA_BYTES:
            self.free.append(space)


def _pages(sure: int, more: int) -> np.ndarray:
    """Memory of which so many bytes will be used, and perhaps more.

    A system hands out pages when they are touched: threads that do not run take none.  But of an
    array of 4 MB NumPy asks for pages of 2 MB each, and one that is touched is taken whole.
    """
    if sure < HUGE_PAGE_BYTES <= sure + more:
        return np.frombuffer(mmap.mmap(-1, sure + more, **PRIVATE), np.uint8)
    return np.empty(sure + more, np.uint8)


class Workspace:
    """The arena and the table of pointers of one call."""

    def __init__(self, executable: Executable):
        memory = executable.module.memory
        self.memory = memory
        self.arena = _pages(memory.arena + memory.local + ALIGNMENT, memory.local * memory.threads)
        start = -self.arena.ctypes.data % ALIGNMENT
        self.aligned = self.arena[start:]
        count = executable.module.first_extra
        more = extras(executable.module.dtypes)
        self.table = np.zeros(count + len(more) + DEFINITION, np.uintp)
        self.table[0] = self.aligned.ctypes.data
        self.table[count : count + len(more)] = more
        self.address = self.table.ctypes.data
        first = 1 + len(memory.inputs) + len(memory.outputs)
        for i, constant in enumerate(executable.constants):
            self.table[first + i] = constant.ctypes.data
        self.arrays: list[np.ndarray] = []
        self.constants = executable.constants

    def point(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Aim the table at the arrays of this call."""
        self.arrays = [*inputs, *outputs]
        for i, array in enumerate(self.arrays):
            self.table[1 + i] = array.ctypes.data

    def buffer(self, value: Any) -> np.ndarray:
        """The memory of a value as an array."""
        slot, offset = self.memory.locate(value)
        if slot == 0:
            raw = self.aligned[offset : offset + value.nbytes]
            return raw.view(value.dtype)
        count = len(self.arrays)
        held = self.arrays[slot - 1] if slot <= count else self.constants[slot - 1 - count]
        return held.reshape(-1)

    def interpret(self, step: Called) -> None:
        """Compute an op with its own `forward`."""
        call: OpCall = step.value.params
        operands = iter(step.value.args)
        args = []
        for argument in call.arguments:
            if isinstance(argument, Constant):
                args.append(argument.value)
            else:
                value, _ = next(operands)
                args.append(self._operand(value).reshape(argument)[()])
        node = call.node
        with np.errstate(all="ignore"):
            out = evaluated(node, args)
        if step.value.dtype == object:
            for result in step.results:
                self._fill(result, out[result.params], node)
        else:
            self._fill(step.value, out, node)

    def _fill(self, value: Any, out: Any, node: Any) -> None:
        """Write a result; one of another shape belongs to another branch."""
        buffer, result = self.buffer(value), np.asarray(out)
        if result.size != buffer.size:
            raise ShapeError(f"{node.op.name}: {result.size} numbers in place of {buffer.size}")
        buffer[:] = result.reshape(-1)

    def _operand(self, value: Any) -> np.ndarray:
        if value.kind == "constant" and value.size == 1:
            return np.asarray(value.params, value.dtype)
        buffer = self.buffer(value)
        buffer = buffer.view()
        buffer.flags.writeable = False
        return buffer
