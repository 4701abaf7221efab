"""Scalar functions as LLVM instructions, alike for one lane and for a vector of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from chainrule.lower.code.lines import Code
from chainrule.lower.maths import function_name
from chainrule.lower.values.functions import maths_name

BITS = {"f64": "i64", "f32": "i32"}

CONDITIONS = {
    "greater": "ogt", "greater_equal": "oge", "less": "olt", "less_equal": "ole", "equal": "oeq",
    "not_equal": "une",
}  # fmt: skip
SIGNED = {"ogt": "sgt", "oge": "sge", "olt": "slt", "ole": "sle", "oeq": "eq", "une": "ne"}


Write = Callable[..., str]


def apply(code: Code, function: str, kind: str, lanes: int, args: list[str], result: str) -> str:
    """`function` of operands of this kind; `result` is the kind of what comes out."""
    write = SCALARS.get(function)
    if write is not None:
        return write(code, kind, lanes, *args)
    if function.startswith("to_"):
        return convert(code, kind, result, lanes, args[0])
    name = maths_name(function)
    code.functions.add((name, kind, lanes))
    of = code.type(kind, lanes)
    called = function_name(name, kind, lanes)
    return code.put(f"call {of} {called}({', '.join(f'{of} {a}' for a in args)})")


def _arithmetic(floating: str, integral: str) -> Write:
    def write(code: Code, kind: str, lanes: int, x: str, y: str) -> str:
        op = floating if kind[0] == "f" else integral
        return code.put(f"{op} {code.type(kind, lanes)} {x}, {y}")

    return write


def _intrinsic(floating: str, integral: str = "") -> Write:
    def write(code: Code, kind: str, lanes: int, *args: str) -> str:
        return code.intrinsic(floating if kind[0] == "f" else integral, kind, lanes, *args)

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
    "fmax": _intrinsic("maxnum", "smax"),
    "fmin": _intrinsic("minnum", "smin"),
    "isnan": _isnan,
    "isfinite": _against_infinity("olt"),
    "isinf": _against_infinity("oeq"),
    "signbit": _signbit,
    "logical_and": _arithmetic("and", "and"),
    "logical_or": _arithmetic("or", "or"),
    "logical_xor": _arithmetic("xor", "xor"),
    "logical_not": _not,
    "where": select,
    **{name: _comparison(condition) for name, condition in CONDITIONS.items()},
}
