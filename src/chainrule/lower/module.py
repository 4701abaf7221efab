"""The whole program as one LLVM module: a function per step, and one that calls them in turn.

Where the interpreter has to compute something, the module is cut: `@run0`, `@run1`, … are called
with the interpreter's work between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chainrule.lower.build import Program
from chainrule.lower.emit import kernel_function
from chainrule.lower.entry import entry_function
from chainrule.lower.fuse import Called, Kernel, Piece, Plan, Scatter, Step, fused
from chainrule.lower.loops import Nest, Place, nest_of, region_place
from chainrule.lower.maths import definitions
from chainrule.lower.memory import Memory, planned
from chainrule.lower.products import product_function
from chainrule.lower.scalars import Code
from chainrule.lower.scatter import scatter_function
from chainrule.lower.values import Value, pointwise


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
    """Fuse, plan memory, and write the code."""
    plan = fused(program.outputs)
    memory = planned(plan, program.inputs)
    calls: list[Called] = []
    nests: dict[str, Nest] = {}
    codes: list[Code] = []
    parts: list[list[str]] = [[]]
    for k, step in enumerate(plan.steps):
        if isinstance(step, Called):
            calls.append(step)
            parts.append([])
            for a, _ in step.value.args:
                if a.kind == "constant" and a.size != 1:
                    memory.locate(a)  # so that it has a place in the table
            continue
        name = f"step{k}"
        codes.append(_code(name, step, memory, nests))
        parts[-1].append(name)
    module = Module(program, plan, memory, "", calls, nests)
    if not calls:
        inputs = [(shape, v.dtype) for shape, v in zip(program.shapes, program.inputs, strict=True)]
        outputs = [(r.shape, r.dtype) for r in program.results]
        module.dtypes = list(dict.fromkeys(dtype for _, dtype in (*inputs, *outputs)))
        codes.append(entry_function(inputs, outputs, module.first_extra, module.dtypes))
    module.text = _assembled(codes, parts)
    return module


def _code(name: str, step: Step, memory: Memory, nests: dict[str, Nest]) -> Code:
    if isinstance(step, Kernel):
        nests[name] = nest_of(step)
        return kernel_function(name, nests[name], memory.locate)
    if isinstance(step, Piece):
        nests[name] = _piece_nest(step)
        return kernel_function(name, nests[name], memory.locate)
    if isinstance(step, Scatter):
        return scatter_function(name, step, memory.locate)
    assert not isinstance(step, Called)
    return product_function(name, step, memory.locate)


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
    where = region_place(whole, region, len(dims))
    if len(nest.extents) != len(dims):  # axes were joined that are apart in the whole
        nest = Nest(dims, 1, {}, {}, [], [copy])
        if step.piece is not None:
            access = pointwise(len(dims))
            nest.reads[step.piece, access] = region_place(step.piece, access, len(dims))
        nest.writes[copy] = where
        return nest
    order = nest.order or tuple(range(len(dims)))
    nest.writes[copy] = Place(whole, where.offset, tuple(where.strides[a] for a in order))
    return nest


def _assembled(codes: list[Code], parts: list[list[str]]) -> str:
    declares: set[str] = set()
    wanted: dict[tuple[str, str, int], None] = {}
    for code in codes:
        declares |= code.declares
        wanted |= dict.fromkeys(sorted(code.functions))
    maths = definitions(wanted)
    declares |= maths.declares
    lines = [*sorted(declares), "", maths.text]
    for code in codes:
        lines += code.lines
    for i, names in enumerate(parts):
        lines += [f"define void @run{i}(ptr %table) nounwind {{", "entry:"]
        lines += [f"  call void @{name}(ptr %table)" for name in names]
        lines += ["  ret void", "}", ""]
    return "\n".join(lines)
