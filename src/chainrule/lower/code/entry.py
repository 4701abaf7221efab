"""The entry: a C function that Python calls with arrays, which checks them and runs the program.

It reads NumPy's array structure as NumPy's headers lay it out: type, data, shape, dtype and flags
stand at fixed places.  Arguments that are not exactly the arrays expected are refused by returning
False, and the caller finds out why, or makes them so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from chainrule.core.spec import Shape
from chainrule.lower.code.lines import Code

# struct PyArrayObject_fields and PyObject, on a 64-bit machine
REFERENCES, TYPE, DATA, AXES, SHAPE, DTYPE, FLAGS = 0, 8, 16, 24, 32, 56, 64
FLOAT_VALUE = 16  # of a Python float, and of NumPy's float64
FITS = 0x0001 | 0x0100  # C-contiguous and aligned
WRITEABLE = 0x0400
MAX_UNROLLED = 16  # arguments alike, checked one by one: LLVM takes n log n steps or worse for them
EXTRAS = ("array", "float", "float64", "true", "false", "busy")  # behind those of the program


def entry_function(
    inputs: Sequence[tuple[Shape, Any]],
    outputs: Sequence[tuple[Shape, Any]],
    first_extra: int,
    dtypes: Sequence[Any],
    long: bool,
) -> Code:
    """`@entry(self, args, count)`: self is the array that holds the table.

    While a long program runs, other threads of Python may: one that comes with the same program
    meanwhile is refused, since there is one table.
    """
    code = Code()
    code.line(f"%base = getelementptr i8, ptr %self, i64 {DATA}")
    code.line("%table = load ptr, ptr %base")
    extra = {name: code.pointer(first_extra + i) for i, name in enumerate(EXTRAS)}
    kinds = {d: code.pointer(first_extra + len(EXTRAS) + i) for i, d in enumerate(dtypes)}
    right = code.put(f"icmp eq i64 %count, {len(inputs) + len(outputs)}")
    _require(code, right, "counted", "turned_away")
    busy = code.put(f"getelementptr i8, ptr %table, i64 {8 * (first_extra + EXTRAS.index('busy'))}")
    if long:
        asked = code.put(f"cmpxchg ptr {busy}, i64 0, i64 1 seq_cst seq_cst")
        _require(code, code.put(f"extractvalue {{ i64, i1 }} {asked}, 1"), "mine", "turned_away")
    first = 0
    for (shape, dtype, written), run in groupby(
        [*((*spec, False) for spec in inputs), *((*spec, True) for spec in outputs)]
    ):
        end = first + len(list(run))
        number = not written and shape == () and dtype.name == "float64"
        _run_of(code, first, end, shape, kinds[dtype], extra, number, written)
        first = end
    if long:
        code.declares |= {
            "declare ptr @PyEval_SaveThread()",
            "declare void @PyEval_RestoreThread(ptr)",
        }
        state = code.put("call ptr @PyEval_SaveThread()")
        code.line("call void @run0(ptr %table)")
        code.line(f"call void @PyEval_RestoreThread(ptr {state})")
    else:
        code.line("call void @run0(ptr %table)")
    code.line(f"store atomic i64 0, ptr {busy} release, align 8")
    _returned(code, extra["true"])
    code.lines.append("refused:")
    code.line(f"store atomic i64 0, ptr {busy} release, align 8")
    code.line("br label %turned_away")
    code.lines.append("turned_away:")
    _returned(code, extra["false"])
    code.lines = [
        "define ptr @entry(ptr %self, ptr %args, i64 %count) nounwind {",
        "start:",
        *code.lines,
        "}",
        "",
    ]
    return code


def _require(code: Code, condition: str, label: str, refused: str = "refused") -> None:
    code.line(f"br i1 {condition}, label %{label}, label %{refused}")
    code.lines.append(f"{label}:")


def _field(code: Code, owner: str, offset: int, of: str) -> str:
    at = code.put(f"getelementptr i8, ptr {owner}, i64 {offset}")
    return code.put(f"load {of}, ptr {at}")


def _run_of(code: Code, first: int, end: int, *alike: Any) -> None:
    """Check arguments that are all to be alike: in a loop, if they are many."""
    if end - first <= MAX_UNROLLED:
        for i in range(first, end):
            _pointed(code, i, str(i), *alike)
        return
    code.line(f"br label %before{first}")
    code.lines.append(f"before{first}:")
    code.line(f"br label %loop{first}")
    code.lines.append(f"loop{first}:")
    number, following = f"%number_of{first}", f"%following{first}"
    code.line(f"{number} = phi i64 [ {first}, %before{first} ], [ {following}, %done{first} ]")
    _pointed(code, first, number, *alike)
    code.line(f"{following} = add i64 {number}, 1")
    more = code.put(f"icmp ult i64 {following}, {end}")
    code.line(f"br i1 {more}, label %loop{first}, label %behind{first}")
    code.lines.append(f"behind{first}:")


def _pointed(
    code: Code,
    i: int,
    at: str,
    shape: Shape,
    dtype: str,
    extra: dict[str, str],
    number: bool,
    written: bool,
) -> None:
    """Check argument number `at`, and put its data into the table; `i` is in its labels."""
    given = code.put(f"load ptr, ptr {code.put(f'getelementptr ptr, ptr %args, i64 {at}')}")
    kind = _field(code, given, TYPE, "ptr")
    is_array = code.put(f"icmp eq ptr {kind}, {extra['array']}")
    slots = code.put("getelementptr i8, ptr %table, i64 8")  # behind that of the arena
    into = code.put(f"getelementptr ptr, ptr {slots}, i64 {at}")
    if number:
        code.line(f"br i1 {is_array}, label %array{i}, label %number{i}")
        code.lines.append(f"number{i}:")
        is_float = code.put(f"icmp eq ptr {kind}, {extra['float']}")
        is_double = code.put(f"icmp eq ptr {kind}, {extra['float64']}")
        either = code.put(f"or i1 {is_float}, {is_double}")
        _require(code, either, f"float{i}")
        value = code.put(f"getelementptr i8, ptr {given}, i64 {FLOAT_VALUE}")
        code.line(f"store ptr {value}, ptr {into}")
        code.line(f"br label %done{i}")
        code.lines.append(f"array{i}:")
    else:
        _require(code, is_array, f"array{i}")
    found = _field(code, given, DTYPE, "ptr")
    axes = _field(code, given, AXES, "i32")
    flags = _field(code, given, FLAGS, "i32")
    needed = FITS | (WRITEABLE if written else 0)
    same = code.put(f"icmp eq ptr {found}, {dtype}")
    rank = code.put(f"icmp eq i32 {axes}, {len(shape)}")
    kept = code.put(f"and i32 {flags}, {needed}")
    flat = code.put(f"icmp eq i32 {kept}, {needed}")
    fits = code.put(f"and i1 {code.put(f'and i1 {same}, {rank}')}, {flat}")
    _require(code, fits, f"layout{i}")
    if shape:
        dims = _field(code, given, SHAPE, "ptr")
        fits = "true"
        for k, n in enumerate(shape):
            extent = _field(code, dims, 8 * k, "i64")
            one = code.put(f"icmp eq i64 {extent}, {n}")
            fits = one if fits == "true" else code.put(f"and i1 {fits}, {one}")
        _require(code, fits, f"shape{i}")
    data = _field(code, given, DATA, "ptr")
    code.line(f"store ptr {data}, ptr {into}")
    code.line(f"br label %done{i}")
    code.lines.append(f"done{i}:")


def _returned(code: Code, answer: str) -> None:
    """Return an object of Python's, with a reference to it."""
    at = code.put(f"getelementptr i8, ptr {answer}, i64 {REFERENCES}")
    count = code.put(f"load i32, ptr {at}")
    more = code.put(f"add i32 {count}, 1")
    # From Python 3.12 on these objects live for ever, and their count must not reach zero.
    immortal = code.put(f"icmp slt i32 {count}, 0")
    kept = code.put(f"select i1 {immortal}, i32 {count}, i32 {more}")
    code.line(f"store i32 {kept}, ptr {at}")
    code.line(f"ret ptr {answer}")
