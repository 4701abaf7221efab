"""The whole program as one LLVM module: a function per step, and one that calls them in turn.

Where the interpreter has to compute something, the module is cut: `@run0`, `@run1`, … are called
with the interpreter's work between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import compress, decompress

from chainrule.lower.build import Program
from chainrule.lower.code.entry import entry_function
from chainrule.lower.code.kernel import kernel_function
from chainrule.lower.code.lanes import Frame
from chainrule.lower.code.lines import INLINE, Code
from chainrule.lower.code.loops import buffer_bytes, loop_function
from chainrule.lower.code.products import CALLS, QUIET, product_function
from chainrule.lower.code.routines import FACTORING, routine_function
from chainrule.lower.code.scan import scan_function
from chainrule.lower.code.scatter import scatter_function
from chainrule.lower.code.tape import tape_function
from chainrule.lower.maths import definitions
from chainrule.lower.plan.arrange import arrange
from chainrule.lower.plan.cost import duration
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
    fused,
)
from chainrule.lower.plan.loops import Nest, nest_of, place_of
from chainrule.lower.plan.memory import Memory, planned
from chainrule.lower.plan.split import split
from chainrule.lower.plan.stream import Region, resize, streamed
from chainrule.lower.plan.triangle import cut_products
from chainrule.lower.target import Target
from chainrule.lower.values.value import Value

MAX_INLINED_CALLS = 12
MAX_INLINED_LINES = 400  # of the steps of a loop
MAX_OPTIMISED_STEPS = 100
LONG_CALL_SECONDS = 100e-6
# Of a function of the table, a thread's memory and the number of a chunk: the bytes of the one, how
# many there are of the other.
PARALLEL = "declare void @cr_parallel(ptr, ptr, ptr, i64, i64)"
WRITERS: dict[type[Step], Callable[[str, Any, Frame], Code]] = {
    Scatter: scatter_function,
    Scan: scan_function,
    Factored: routine_function,
    Taped: tape_function,
    Product: product_function,
}


@dataclass
class Module:
    """Text and memory of one compiled program; `calls[i]` comes between @run{i} and @run{i+1}."""

    program: Program
    plan: Plan
    memory: Memory
    packed: bytes  # the text, which is long and seldom asked for
    calls: list[Called]
    nests: dict[str, Nest] = field(default_factory=dict)
    dtypes: list[Any] = field(default_factory=list)  # whose addresses the entry compares
    cold: Mapping[str, str] = field(default_factory=dict)  # modules to link, by what they define

    @property
    def text(self) -> str:
        return decompress(self.packed).decode()

    @property
    def first_extra(self) -> int:
        """The slot of the table behind those of the program."""
        memory = self.memory
        return 1 + len(memory.inputs) + len(memory.outputs) + len(memory.constants)


def module_of(program: Program) -> Module:
    """Fuse, stream, plan memory, and write the code."""
    plan, memory = steps_of(program)
    module = Module(program, plan, memory, b"", [])
    writer = _Writer(module, plan, memory)
    writer.write()
    if not module.calls:
        inputs = [(shape, v.dtype) for shape, v in zip(program.shapes, program.inputs, strict=True)]
        outputs = [(r.shape, r.dtype) for r in program.results]
        module.dtypes = list(dict.fromkeys(dtype for _, dtype in (*inputs, *outputs)))
        entry = entry_function(inputs, outputs, module.first_extra, module.dtypes, _is_long(plan))
        writer.codes.append(entry)
    module.packed = compress(writer.text().encode(), 1)
    return module


def steps_of(program: Program) -> tuple[Plan, Memory]:
    """The steps of a program, and where its values lie; loops have a plan of each iteration."""
    plan = fused(program.outputs, program.target)
    for step in plan.steps:
        if isinstance(step, Looped):
            inner, memory = steps_of(step.value.params.program)
            step.hold(inner, memory, buffer_bytes(step, memory))
    arrange(plan, cut_products(plan, program.cuts))
    streamed(plan)
    split(plan)
    return plan, planned(plan, program.inputs)


class _Writer:
    """Writes one step after the other, and the functions that call them.

    The steps of a loop's body have a writer of their own, and names that begin with the loop's.
    """

    def __init__(self, module: Module, plan: Plan, memory: Memory, prefix: str = ""):
        self.module, self.plan, self.memory, self.prefix = module, plan, memory, prefix
        self.codes: list[Code] = []
        self.parts: list[list[str]] = [[]]

    def write(self) -> None:
        for k, step in enumerate(self.plan.steps):
            if isinstance(step, Called) and not isinstance(step, Taped):
                self.called(step)
            else:
                self.step(k, step)

    def called(self, step: Called) -> None:
        self.module.calls.append(step)
        self.parts.append([])
        for a, _ in step.value.args:
            if a.kind == "constant" and a.size != 1:
                self.memory.locate(a)  # so that it has a place in the table

    def step(self, k: int, step: Step) -> None:
        plan, name, rest_name = self.plan, f"{self.prefix}step{k}", f"{self.prefix}rest{k}"
        region = next((r for r in plan.regions if r.first <= k <= r.last), None)
        if region is None:
            self.codes.append(self._code(name, step, None))
            self.parts[-1].append(f"  call void @{name}(ptr %table, ptr null, i64 0, i64 0)")
            return
        rest = region.rows % region.tile
        if rest:
            resize(plan, region, rest)
            self.codes.append(self._code(rest_name, step, region))
            resize(plan, region, region.tile)
        self.codes.append(self._code(name, step, region))
        if k == region.last:
            self.codes.append(_chunk(region, self.prefix))
            self.parts[-1] += self._chunks(region)

    def _chunks(self, region: Region) -> list[str]:
        """All chunks of a region, by this thread or by several."""
        memory, at = self.memory, region.first
        chunk = f"{self.prefix}chunk{at}"
        local = f"%local{at}"
        # Behind the arena every thread has some memory for itself.
        lines = [
            f"  %arena{at} = load ptr, ptr %table",
            f"  {local} = getelementptr i8, ptr %arena{at}, i64 {memory.arena}",
        ]
        if region.chunks == 1:
            return [*lines, f"  call void @{chunk}(ptr %table, ptr {local}, i64 0)"]
        self.codes[-1].declares.add(PARALLEL)
        given = f"ptr @{chunk}, ptr %table, ptr {local}, i64 {memory.local}, i64 {region.chunks}"
        return [*lines, f"  call void @cr_parallel({given})"]

    def _code(self, name: str, step: Step, region: Region | None) -> Code:
        nests = self.module.nests
        if isinstance(step, Looped):
            return self._loop(name, step)
        frame = self._frame(step, region)
        if isinstance(step, (Kernel, Piece)):
            target = frame.target
            nests[name] = (
                nest_of(step, target) if isinstance(step, Kernel) else _piece_nest(step, target)
            )
            return kernel_function(name, nests[name], frame)
        return WRITERS[type(step)](name, step, frame)

    def _loop(self, name: str, step: Looped) -> Code:
        """The function of a loop, after all that it calls: then its constants are known."""
        inner = _Writer(self.module, step.plan, step.memory, f"{name}.")
        inner.write()
        calls = inner.parts[0]
        if sum(len(code.lines) for code in inner.codes) <= MAX_INLINED_LINES:
            for code in inner.codes:
                code.inlined = True
            calls = [line + INLINE if line.startswith("  call ") else line for line in calls]
        self.codes += inner.codes
        self.codes.append(_in_turn(f"{name}.run", calls))
        return loop_function(name, step, self._frame(step, None))

    def _frame(self, step: Step, region: Region | None) -> Frame:
        locate, target = self.memory.locate, self.module.program.target
        if region is None:
            return Frame(target, lambda v: (*locate(v), 0, 0))
        return Frame(
            target,
            lambda v: (*locate(v), *region.apart(step, v)),
            region.totals,
            region.chunk_rows,
            region.axis[step],
        )

    def text(self) -> str:
        declares: set[str] = set()
        wanted: dict[tuple[str, str, int], None] = {}
        for code in self.codes:
            declares |= code.declares
            wanted |= dict.fromkeys(sorted(code.functions))
        quiet = not declares.isdisjoint((*CALLS.values(), *FACTORING.values()))
        if quiet:
            declares |= set(QUIET)
        maths = definitions(wanted)
        declares |= maths.declares
        self.module.cold = maths.cold
        lines = [*sorted(declares), "", self._seldom_inlined(maths.text)]
        lines += self._steps()
        for i, calls in enumerate(self.parts):
            if quiet:
                calls = ["  call void @cr_one_thread()", *calls, "  call void @cr_threads_back()"]
            lines += [f"define void @run{i}(ptr %table) nounwind {{", "entry:", *calls]
            lines += ["  ret void", "}", ""]
        return "\n".join(lines)

    def _steps(self) -> list[str]:
        """The functions of all steps; those that do the same have one body."""
        lines: list[str] = []
        bodies: dict[tuple[str, ...], str] = {}
        for code in self.codes:
            if not code.name:
                lines += code.lines
                continue
            text = tuple(code.lines)
            if text not in bodies:
                name = bodies[text] = f"body{len(bodies)}"
                lines += [text[0].replace("@(", f"@{name}(", 1), *text[1:]]
            lines += code.step_lines(bodies[text], len(self.codes) > MAX_OPTIMISED_STEPS)
        return lines

    def _seldom_inlined(self, maths: str) -> str:
        """What is called in many places is not copied there: that would take long to compile."""
        places: Counter[str] = Counter()
        for code in self.codes:
            for line in code.lines:
                if "@cr_" in line and " call " in line:
                    places[line.partition("@cr_")[2].partition("(")[0]] += 1
        for name, count in places.items():
            if count > MAX_INLINED_CALLS:
                head, found, rest = maths.partition(f"@cr_{name}(")
                maths = head + found + rest.replace("alwaysinline", "noinline", 1)
        return maths


def _is_long(plan: Plan) -> bool:
    """Whether a call takes so long that others should not wait for it."""
    return (
        any(r.chunks > 1 for r in plan.regions)
        or sum(duration(s, plan.target) for s in plan.steps) > LONG_CALL_SECONDS
    )


def _in_turn(name: str, calls: list[str]) -> Code:
    """A function of a table that makes these calls."""
    code = Code()
    code.lines = list(calls)
    code.as_function(name, "ptr %table")
    return code


def _chunk(region: Region, prefix: str) -> Code:
    """The function of one chunk: its tiles in turn, and in the last the rows that fill none."""
    code, steps = Code(), range(region.first, region.last + 1)
    full = region.rows // region.tile * region.tile
    given = "ptr %table, ptr %local"
    code.line(f"%first = mul i64 %chunk, {region.chunk_rows}")
    code.line(f"%after = add i64 %first, {region.chunk_rows}")
    code.line(f"%last = icmp sge i64 %after, {full}")
    code.line(f"%end = select i1 %last, i64 {full}, i64 %after")
    code.line("br label %tile")
    code.lines.append("tile:")
    code.line("%row = phi i64 [ %first, %entry ], [ %next, %tile ]")
    for k in steps:
        code.line(f"call void @{prefix}step{k}({given}, i64 %row, i64 %chunk)")
    code.line(f"%next = add i64 %row, {region.tile}")
    code.line("%more = icmp slt i64 %next, %end")
    code.line("br i1 %more, label %tile, label %done")
    code.lines.append("done:")
    if full < region.rows:
        code.line("br i1 %last, label %rest, label %return")
        code.lines.append("rest:")
        for k in steps:
            code.line(f"call void @{prefix}rest{k}({given}, i64 {full}, i64 %chunk)")
        code.line("br label %return")
        code.lines.append("return:")
    code.as_function(f"{prefix}chunk{region.first}", "ptr %table, ptr %local, i64 %chunk")
    return code


def _piece_nest(step: Piece, target: Target) -> Nest:
    """A piece copied or added to its region; nothing: the whole set to zero."""
    whole, dims = step.whole, step.dims
    piece = step.piece or Value("constant", (), whole.dtype, params=0)
    read = [(piece, step.access)]
    if step.added:
        read.append((whole, step.region))
    written = Value("map", dims, whole.dtype, tuple(read), "add" if step.added else "copy")
    place = place_of(whole, step.region, len(dims))
    return nest_of(Kernel(dims, [written], {written: None}), target, {written: place})
