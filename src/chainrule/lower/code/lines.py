"""The lines of one LLVM function in the making."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.lower.plan.memory import LOCAL

ELEMENTS = {"f64": "double", "f32": "float", "i64": "i64", "i1": "i1"}
STEP = "ptr %table, ptr %local, i64 %row, i64 %chunk"  # the parameters of a step


def constant_text(number: Any, kind: str) -> str:
    """A constant as LLVM spells it."""
    if kind == "i1":
        return "true" if number else "false"
    if kind == "i64":
        return str(int(number))
    if kind == "f32":
        number = float(np.float32(number))
    return "0x" + struct.pack(">d", float(number)).hex().upper()


INLINE = " alwaysinline"  # at a call


class Code:
    """Lines of one function in the making: fresh names, types, and what the module must declare.

    A value is (text, kind, lanes); operands of one lane are spread to vectors where they meet one.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.declares: set[str] = set()
        self.functions: set[tuple[str, str, int]] = set()
        self.taken: list[str] = []  # memory on the stack, taken once at the start
        self.outside: list[str] = []  # of a step: how its operands are found
        self.operands: list[str] = []
        self.block = "entry"  # the one that is being written
        self.labels = 0
        self.name = ""  # of the step
        self.inlined = False  # a step of a short loop

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def put(self, text: str) -> str:
        """One instruction; the name of its result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def pointer(self, slot: int) -> str:
        """What a slot of the table points to."""
        at = self.put(f"getelementptr i8, ptr %table, i64 {8 * slot}")
        return self.put(f"load ptr, ptr {at}")

    def operand(self, slot: int, offset: int, row_bytes: int, chunk_bytes: int) -> str:
        """What a slot points to, some bytes on, where row and chunk begin: as a parameter.

        So the code of a step does not depend on where its operands lie, and steps that are alike
        have it in common.
        """
        outside = Code()
        outside.count = len(self.outside)
        base = "%local" if slot == LOCAL else outside.pointer(slot)
        if offset:
            base = outside.put(f"getelementptr i8, ptr {base}, i64 {offset}")
        for index, apart in (("%row", row_bytes), ("%chunk", chunk_bytes)):
            if apart:
                on = outside.put(f"mul i64 {index}, {apart}")
                base = outside.put(f"getelementptr i8, ptr {base}, i64 {on}")
        self.outside += outside.lines
        self.operands.append(base)
        return f"%p{len(self.operands) - 1}"

    def table(self) -> str:
        """The table itself, as a parameter."""
        self.operands.append("%table")
        return f"%p{len(self.operands) - 1}"

    def label(self, what: str) -> str:
        self.labels += 1
        return f"{what}{self.labels}"

    def enter(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def loop(
        self,
        first: str,
        end: str,
        carried: Sequence[tuple[str, str]],
        body: Callable[[str, list[str]], list[str]],
    ) -> list[str]:
        """for i in range(first, end): carried values (type, start) become what body gives."""
        head, done = self.label("loop"), self.label("done")
        before = self.block
        i, step = self.fresh(), self.fresh()
        names = [self.fresh() for _ in carried]
        self.line(f"br label %{head}")
        self.enter(head)
        mark = len(self.lines)
        found = body(i, names)
        self.line(f"{step} = add i64 {i}, 1")
        more = self.put(f"icmp slt i64 {step}, {end}")
        last = self.block
        self.line(f"br i1 {more}, label %{head}, label %{done}")
        phis = [f"  {i} = phi i64 [ {first}, %{before} ], [ {step}, %{last} ]"]
        phis += [
            f"  {name} = phi {of} [ {start}, %{before} ], [ {new}, %{last} ]"
            for name, (of, start), new in zip(names, carried, found, strict=True)
        ]
        self.lines[mark:mark] = phis
        self.enter(done)
        return found

    def buffer(self, count: int, element: str) -> str:
        """Memory on the stack for so many elements."""
        name = self.fresh()
        self.taken.append(f"  {name} = alloca [{count} x {element}], align 64")
        return name

    def copy(self, into: str, source: str, nbytes: int, align: str = "") -> None:
        """Copy memory; `align` holds for both sides, as "align 8 "."""
        self.declares.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        both = f"ptr {align}{into}, ptr {align}{source}"
        self.line(f"call void @llvm.memcpy.p0.p0.i64({both}, i64 {nbytes}, i1 false)")

    def clear(self, memory: str, nbytes: int | str, align: str = "") -> None:
        """Set memory to zero."""
        self.declares.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        at = f"ptr {align}{memory}"
        self.line(f"call void @llvm.memset.p0.i64({at}, i8 0, i64 {nbytes}, i1 false)")

    def as_step(self, name: str) -> None:
        """Make the lines a function of operands, row and chunk; `step_lines` calls it."""
        self.name = name
        parameters = [*(f"ptr %p{i}" for i in range(len(self.operands))), "i64 %row", "i64 %chunk"]
        self.as_function("", ", ".join(parameters))

    def step_lines(self, body: str, quickly: bool) -> list[str]:
        """The function of a step: of the table, and which rows it is about.

        `quickly` leaves it as it is: it only finds the operands, and there are many of its kind.
        """
        step = Code()
        given = [*(f"ptr {o}" for o in self.operands), "i64 %row", "i64 %chunk"]
        how = INLINE if self.inlined and not quickly else ""
        step.lines = [*self.outside, f"  call void @{body}({', '.join(given)}){how}"]
        step.as_function(self.name, STEP, "noinline optnone nounwind" if quickly else "nounwind")
        return step.lines

    def as_function(self, name: str, parameters: str, how: str = "nounwind") -> None:
        """Make the lines the body of a function of the module."""
        head = f"define internal void @{name}({parameters}) {how} {{"
        self.lines = [head, "entry:", *self.taken, *self.lines, "  ret void", "}", ""]

    def type(self, kind: str, lanes: int) -> str:
        element = ELEMENTS.get(kind, kind)
        return element if lanes == 1 else f"<{lanes} x {element}>"

    def constant(self, number: Any, kind: str, lanes: int) -> str:
        text = constant_text(number, kind)
        return text if lanes == 1 else f"splat ({ELEMENTS[kind]} {text})"

    def intrinsic(self, name: str, kind: str, lanes: int, *args: str) -> str:
        """A call of llvm.<name> on operands of one type."""
        return self.put(self.intrinsic_text(name, kind, lanes, *args))

    def intrinsic_text(self, name: str, kind: str, lanes: int, *args: str) -> str:
        of = self.type(kind, lanes)
        suffix = kind if lanes == 1 else f"v{lanes}{kind}"
        self.declares.add(f"declare {of} @llvm.{name}.{suffix}({', '.join([of] * len(args))})")
        return f"call {of} @llvm.{name}.{suffix}({', '.join(f'{of} {a}' for a in args)})"
