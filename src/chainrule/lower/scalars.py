"""Scalar functions as LLVM instructions, alike for one lane and for a vector of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.lower.maths import FUNCTIONS, definitions, function_name

ELEMENTS = {"f64": "double", "f32": "float", "i64": "i64", "i1": "i1"}
BITS = {"f64": "i64", "f32": "i32"}

COMPARISONS = {
    "greater": "ogt", "greater_equal": "oge", "less": "olt", "less_equal": "ole", "equal": "oeq",
    "not_equal": "une",
}  # fmt: skip
SIGNED = {"ogt": "sgt", "oge": "sge", "olt": "slt", "ole": "sle", "oeq": "eq", "une": "ne"}
LOCAL = -1  # instead of a slot of the table: what a thread has for itself
STEP = "ptr %table, ptr %local, i64 %row, i64 %chunk"  # the parameters of a step
LOGICAL = frozenset({"logical_and", "logical_or", "logical_xor", "logical_not"})
MATHS = {"expit": "sigmoid", "power": "pow"}  # where NumPy's name is another than the function's


def constant_text(number: Any, kind: str) -> str:
    """A constant as LLVM spells it."""
    if kind == "i1":
        return "true" if number else "false"
    if kind == "i64":
        return str(int(number))
    if kind == "f32":
        number = float(np.float32(number))
    return "0x" + struct.pack(">d", float(number)).hex().upper()


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

    def as_step(self, name: str) -> None:
        """Make the lines a function of operands, row and chunk; `step_lines` calls it."""
        self.name = name
        parameters = [*(f"ptr %p{i}" for i in range(len(self.operands))), "i64 %row", "i64 %chunk"]
        self.as_function("", ", ".join(parameters))

    def step_lines(self, body: str) -> list[str]:
        """The function of a step: of the table, and which rows it is about."""
        step = Code()
        given = [*(f"ptr {o}" for o in self.operands), "i64 %row", "i64 %chunk"]
        step.lines = [*self.outside, f"  call void @{body}({', '.join(given)})"]
        step.as_function(self.name, STEP)
        return step.lines

    def as_function(self, name: str, parameters: str) -> None:
        """Make the lines the body of a function of the module."""
        head = f"define internal void @{name}({parameters}) nounwind {{"
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

    def apply(self, function: str, kind: str, lanes: int, args: list[str], result: str) -> str:
        """`function` of operands of this kind; `result` is the kind of what comes out."""
        write = SCALARS.get(function)
        if write is not None:
            return write(self, kind, lanes, *args)
        if function.startswith("to_"):
            return convert(self, kind, result, lanes, args[0])
        name = MATHS.get(function, function)
        self.functions.add((name, kind, lanes))
        of = self.type(kind, lanes)
        called = function_name(name, kind, lanes)
        return self.put(f"call {of} {called}({', '.join(f'{of} {a}' for a in args)})")


Write = Callable[..., str]


def kinds_of(function: str) -> str:
    """The kinds of numbers, by first letter, that a function is written for; "" if it is not."""
    if function in SCALARS:
        return KINDS.get(function, "f")
    return "f" if MATHS.get(function, function) in FUNCTIONS else ""


def _arithmetic(floating: str, integral: str) -> Write:
    def write(code: Code, kind: str, lanes: int, x: str, y: str) -> str:
        op = floating if kind[0] == "f" else integral
        return code.put(f"{op} {code.type(kind, lanes)} {x}, {y}")

    return write


def _intrinsic(name: str) -> Write:
    def write(code: Code, kind: str, lanes: int, *args: str) -> str:
        return code.intrinsic(name, kind, lanes, *args)

    return write


def _comparison(condition: str) -> Write:
    def write(code: Code, kind: str, lanes: int, x: str, y: str) -> str:
        of = code.type(kind, lanes)
        if kind[0] == "f":
            return code.put(f"fcmp {condition} {of} {x}, {y}")
        signed = SIGNED[condition]
        if kind == "i1":
            signed = signed.replace("s", "u", 1)
        return code.put(f"icmp {signed} {of} {x}, {y}")

    return write


def _bits(op: str) -> Write:
    def write(code: Code, kind: str, lanes: int, x: str, y: str) -> str:
        return code.put(f"{op} {code.type(kind, lanes)} {x}, {y}")

    return write


def _not(code: Code, kind: str, lanes: int, x: str) -> str:
    return code.put(f"xor {code.type('i1', lanes)} {x}, {code.constant(True, 'i1', lanes)}")


def _negative(code: Code, kind: str, lanes: int, x: str) -> str:
    of = code.type(kind, lanes)
    return (
        code.put(f"fneg {of} {x}")
        if kind[0] == "f"
        else code.put(f"sub {of} {code.constant(0, kind, lanes)}, {x}")
    )


def _square(code: Code, kind: str, lanes: int, x: str) -> str:
    return SCALARS["multiply"](code, kind, lanes, x, x)


def _reciprocal(code: Code, kind: str, lanes: int, x: str) -> str:
    return SCALARS["divide"](code, kind, lanes, code.constant(1, kind, lanes), x)


def _absolute(code: Code, kind: str, lanes: int, x: str) -> str:
    if kind[0] == "f":
        return code.intrinsic("fabs", kind, lanes, x)
    of = code.type(kind, lanes)
    negative = code.put(f"icmp slt {of} {x}, {code.constant(0, kind, lanes)}")
    return select(code, kind, lanes, negative, _negative(code, kind, lanes, x), x)


def select(code: Code, kind: str, lanes: int, condition: str, x: str, y: str) -> str:
    of = code.type(kind, lanes)
    return code.put(f"select {code.type('i1', lanes)} {condition}, {of} {x}, {of} {y}")


def _larger(floating: str, integral: str) -> Write:
    def write(code: Code, kind: str, lanes: int, x: str, y: str) -> str:
        return code.intrinsic(floating if kind[0] == "f" else integral, kind, lanes, x, y)

    return write


def _extreme(condition: str) -> Write:
    """np.maximum and np.minimum: a NaN wins, else the comparison says."""

    def write(code: Code, kind: str, lanes: int, x: str, y: str) -> str:
        of = code.type(kind, lanes)
        if kind[0] != "f":
            chosen = code.put(f"icmp {SIGNED[condition]} {of} {x}, {y}")
            return select(code, kind, lanes, chosen, x, y)
        chosen = code.put(f"fcmp {condition} {of} {x}, {y}")
        nan = code.put(f"fcmp uno {of} {x}, {x}")
        first = code.put(f"or {code.type('i1', lanes)} {chosen}, {nan}")
        return select(code, kind, lanes, first, x, y)

    return write


def _isnan(code: Code, kind: str, lanes: int, x: str) -> str:
    of = code.type(kind, lanes)
    return code.put(f"fcmp uno {of} {x}, {x}")


def _against_infinity(condition: str) -> Write:
    def write(code: Code, kind: str, lanes: int, x: str) -> str:
        size = code.intrinsic("fabs", kind, lanes, x)
        infinity = code.constant(np.inf, kind, lanes)
        return code.put(f"fcmp {condition} {code.type(kind, lanes)} {size}, {infinity}")

    return write


def _signbit(code: Code, kind: str, lanes: int, x: str) -> str:
    bits = BITS[kind]
    as_bits = code.put(f"bitcast {code.type(kind, lanes)} {x} to {code.type(bits, lanes)}")
    return code.put(f"icmp slt {code.type(bits, lanes)} {as_bits}, zeroinitializer" if lanes > 1
                    else f"icmp slt {bits} {as_bits}, 0")  # fmt: skip


def _sign(code: Code, kind: str, lanes: int, x: str) -> str:
    of, zero = code.type(kind, lanes), code.constant(0, kind, lanes)
    one, minus = code.constant(1, kind, lanes), code.constant(-1, kind, lanes)
    up = code.put(f"fcmp ogt {of} {x}, {zero}")
    down = code.put(f"fcmp olt {of} {x}, {zero}")
    even = code.put(f"fcmp oeq {of} {x}, {zero}")
    rest = select(code, kind, lanes, even, zero, x)  # NaN stays
    return select(code, kind, lanes, up, one, select(code, kind, lanes, down, minus, rest))


def convert(code: Code, kind: str, to: str, lanes: int, x: str) -> str:
    """A conversion between kinds, as NumPy's astype."""
    if kind == to:
        return x
    before, after = code.type(kind, lanes), code.type(to, lanes)
    if to == "i1":
        zero = code.constant(0, kind, lanes)
        return code.put(f"{'fcmp une' if kind[0] == 'f' else 'icmp ne'} {before} {x}, {zero}")
    how = {
        ("f64", "f32"): "fptrunc", ("f32", "f64"): "fpext", ("i1", "i64"): "zext",
        ("i1", "f64"): "uitofp", ("i1", "f32"): "uitofp", ("i64", "f64"): "sitofp",
        ("i64", "f32"): "sitofp", ("f64", "i64"): "fptosi", ("f32", "i64"): "fptosi",
    }[kind, to]  # fmt: skip
    return code.put(f"{how} {before} {x} to {after}")


SCALARS: dict[str, Write] = {
    "add": _arithmetic("fadd", "add"),
    "subtract": _arithmetic("fsub", "sub"),
    "multiply": _arithmetic("fmul", "mul"),
    "divide": _arithmetic("fdiv", "sdiv"),
    "fmod": _arithmetic("frem", "srem"),
    "negative": _negative,
    "positive": lambda code, kind, lanes, x: x,
    "copy": lambda code, kind, lanes, x: x,
    "square": _square,
    "reciprocal": _reciprocal,
    "sqrt": _intrinsic("sqrt"),
    "absolute": _absolute,
    "fabs": _absolute,
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "rint": _intrinsic("roundeven"),
    "copysign": _intrinsic("copysign"),
    "sign": _sign,
    "maximum": _extreme("ogt"),
    "minimum": _extreme("olt"),
    "fmax": _larger("maxnum", "smax"),
    "fmin": _larger("minnum", "smin"),
    "isnan": _isnan,
    "isfinite": _against_infinity("olt"),
    "isinf": _against_infinity("oeq"),
    "signbit": _signbit,
    "logical_and": _bits("and"),
    "logical_or": _bits("or"),
    "logical_xor": _bits("xor"),
    "logical_not": _not,
    "where": select,
    **{name: _comparison(condition) for name, condition in COMPARISONS.items()},
}
KINDS = {
    **dict.fromkeys(("add", "subtract", "multiply", "negative", "positive", "copy", "square",
                     "absolute", "maximum", "minimum"), "fi"),
    **dict.fromkeys((*COMPARISONS, "where"), "fi"),
    **dict.fromkeys(LOGICAL, "i"),
}  # fmt: skip

__all__ = [
    "COMPARISONS",
    "LOGICAL",
    "Code",
    "constant_text",
    "convert",
    "definitions",
    "kinds_of",
    "select",
]
