"""The whole program as one LLVM module: a function per step, and one that calls them in turn.

Where the interpreter has to compute something, the module is cut: `@run0`, `@run1`, … are called
with the interpreter's work between them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chainrule.lower.build import Program
from chainrule.lower.emit import kernel_function
from chainrule.lower.entry import entry_function
from chainrule.lower.fuse import Called, Kernel, Piece, Plan, Scatter, Step, Taped, fused
from chainrule.lower.loops import Nest, Place, nest_of, place_of
from chainrule.lower.maths import definitions
from chainrule.lower.memory import Memory, planned
from chainrule.lower.products import product_function
from chainrule.lower.scalars import Code
from chainrule.lower.scatter import scatter_function
from chainrule.lower.stream import Region, resize, streamed
from chainrule.lower.tape_code import tape_function
from chainrule.lower.values import Value, pointwise

MOST_COPIES = 12


@dataclass
class Module:
    """Text and memory of one compiled program; `calls[i]` comes between @run{i} and @run{i+1}."""

    program: Program
    plan: Plan
    memory: Memory
    text: str
    calls: list[Called]
    nests: dict[str, Nest] = field(default_factory=dict)
    dtypes: list[Any] = field(default_factory=list)  # whose addresses the entry compares

    @property
    def first_extra(self) -> int:
        """The slot of the table behind those of the program."""
        memory = self.memory
        return 1 + len(memory.inputs) + len(memory.outputs) + len(memory.constants)


def module_of(program: Program) -> Module:
    """Fuse, stream, plan memory, and write the code."""
    plan = fused(program.outputs)
    streamed(plan)
    memory = planned(plan, program.inputs)
    module = Module(program, plan, memory, "", [])
    writer = _Writer(module)
    for k, step in enumerate(plan.steps):
        if isinstance(step, Called) and not isinstance(step, Taped):
            writer.called(step)
        else:
            writer.step(k, step)
    if not module.calls:
        inputs = [(shape, v.dtype) for shape, v in zip(program.shapes, program.inputs, strict=True)]
        outputs = [(r.shape, r.dtype) for r in program.results]
        module.dtypes = list(dict.fromkeys(dtype for _, dtype in (*inputs, *outputs)))
        entry = entry_function(inputs, outputs, module.first_extra, module.dtypes)
        writer.codes.append(entry)
    module.text = writer.text()
    return module


class _Writer:
    """Writes one step after the other, and the functions that call them."""

    def __init__(self, module: Module):
        self.module = module
        self.codes: list[Code] = []
        self.parts: list[list[str]] = [[]]

    def called(self, step: Called) -> None:
        self.module.calls.append(step)
        self.parts.append([])
        for a, _ in step.value.args:
            if a.kind == "constant" and a.size != 1:
                self.module.memory.locate(a)  # so that it has a place in the table

    def step(self, k: int, step: Step) -> None:
        plan = self.module.plan
        region = next((r for r in plan.regions if r.first <= k <= r.last), None)
        if region is None:
            self.codes.append(self._code(f"step{k}", step, None))
            self.parts[-1].append(f"  call void @step{k}(ptr %table, i64 0)")
            return
        rest = region.rows % region.tile
        if rest:
            resize(plan, region, rest)
            self.codes.append(self._code(f"rest{k}", step, region))
            resize(plan, region, region.tile)
        self.codes.append(self._code(f"step{k}", step, region))
        if k == region.last:
            names = range(region.first, region.last + 1)
            self.parts[-1] += _tiles(region, names, bool(rest))

    def _code(self, name: str, step: Step, region: Region | None) -> Code:
        locate, nests = self.module.memory.locate, self.module.nests
        slide = partial(region.stride, step) if region is not None else (lambda value: 0)
        totals = region.totals if region is not None else set()
        if isinstance(step, (Kernel, Piece)):
            nests[name] = nest_of(step) if isinstance(step, Kernel) else _piece_nest(step)
            return kernel_function(name, nests[name], locate, slide, totals)
        if isinstance(step, Scatter):
            return scatter_function(name, step, locate)
        if isinstance(step, Taped):
            return tape_function(name, step, locate)
        assert not isinstance(step, Called)
        return product_function(name, step, locate, slide, step.value in totals)

    def text(self) -> str:
        declares: set[str] = set()
        wanted: dict[tuple[str, str, int], None] = {}
        for code in self.codes:
            declares |= code.declares
            wanted |= dict.fromkeys(sorted(code.functions))
        maths = definitions(wanted)
        declares |= maths.declares
        lines = [*sorted(declares), "", self._seldom_inlined(maths.text)]
        for code in self.codes:
            lines += code.lines
        for i, calls in enumerate(self.parts):
            lines += [f"define void @run{i}(ptr %table) nounwind {{", "entry:", *calls]
            lines += ["  ret void", "}", ""]
        return "\n".join(lines)

    def _seldom_inlined(self, maths: str) -> str:
        """What is called in many places is not copied there: that would take long to compile."""
        places: Counter[str] = Counter()
        for code in self.codes:
            for line in code.lines:
                if "@cr_" in line and " call " in line:
                    places[line.partition("@cr_")[2].partition("(")[0]] += 1
        for name, count in places.items():
            if count > MOST_COPIES:
                head, found, rest = maths.partition(f"@cr_{name}(")
                maths = head + found + rest.replace("alwaysinline", "noinline", 1)
        return maths


def _tiles(region: Region, steps: range, rest: bool) -> list[str]:
    """The loop over tiles, and the last, shorter one."""
    full = region.rows // region.tile * region.tile
    at = region.first
    lines = [
        f"  br label %before{at}",
        f"before{at}:",
        f"  br label %tile{at}",
        f"tile{at}:",
        f"  %row{at} = phi i64 [ 0, %before{at} ], [ %next{at}, %tile{at} ]",
        *(f"  call void @step{k}(ptr %table, i64 %row{at})" for k in steps),
        f"  %next{at} = add i64 %row{at}, {region.tile}",
        f"  %more{at} = icmp slt i64 %next{at}, {full}",
        f"  br i1 %more{at}, label %tile{at}, label %after{at}",
        f"after{at}:",
    ]
    if rest:
        lines += [f"  call void @rest{k}(ptr %table, i64 {full})" for k in steps]
    return lines


def _piece_nest(step: Piece) -> Nest:
    """A piece copied to its region; nothing: the whole set to zero."""
    whole = step.whole
    if step.piece is None:
        dims = whole.dims
        zero = Value("constant", (), whole.dtype, params=0)
        copy = Value("map", dims, whole.dtype, ((zero, ()),), "copy")
        region = pointwise(len(dims))
    else:
        dims = step.piece.dims
        copy = Value("map", dims, whole.dtype, ((step.piece, pointwise(len(dims))),), "copy")
        region = step.region
    nest = nest_of(Kernel(dims, [copy], {}))
    where = place_of(whole, region, len(dims))
    if len(nest.extents) != len(dims):  # axes were joined that are apart in the whole
        nest = Nest(dims, 1, {}, {}, [], [copy])
        if step.piece is not None:
            access = pointwise(len(dims))
            nest.reads[step.piece, access] = place_of(step.piece, access, len(dims))
        nest.writes[copy] = where
        return nest
    order = nest.order or tuple(range(len(dims)))
    nest.writes[copy] = Place(whole, where.offset, tuple(where.strides[a] for a in order))
    return nest
