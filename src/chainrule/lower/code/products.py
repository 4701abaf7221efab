"""Products by BLAS, called from machine code.

BLAS counts by columns and we by rows, so C = A·B is asked for as Cᵀ = Bᵀ·Aᵀ; a transposed operand
is a flag.  OpenBLAS copies the operands of a product of more than 10⁶ multiplications into an
order of its own, and those of a smaller one not: a long and narrow product is asked for in parts.
In float32 (32, 6272)·(6272, 144) takes 0.55 ms so, and 1.05 ms at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chainrule.lower.code.boxes import write_boxes
from chainrule.lower.code.lanes import Frame
from chainrule.lower.code.lines import Code
from chainrule.lower.code.matrices import Matrices
from chainrule.lower.code.tiles import write_product
from chainrule.lower.plan.fuse import Product, matrix_strides
from chainrule.lower.target import Target
from chainrule.lower.values.cuts import Box
from chainrule.lower.values.value import KNOWN, Value

ROUTINES = {"f64": "cr_dgemm", "f32": "cr_sgemm"}
MAX_CALL_SIZE = 10**6  # multiplications of one call
MIN_PART_ROWS, MIN_PART_SUMMED = 32, 128  # of one part
ARGUMENTS = ", ".join(["ptr"] * 13)
CALLS = {routine: f"declare void @{routine}({ARGUMENTS})" for routine in ROUTINES.values()}
QUIET = ("declare void @cr_one_thread()", "declare void @cr_threads_back()")
# Whether BLAS can be told how many threads to use: what a program calls before its products, and
# after them.  The first of several programs at once says so, and the last one takes it back.
ONE_THREAD = {
    False: """
define void @cr_one_thread() { ret void }
define void @cr_threads_back() { ret void }
""",
    True: """
@users = internal global i64 0
@before = internal global i32 1
declare i32 @cr_get_threads()
declare void @cr_set_threads(i32)

define void @cr_one_thread() nounwind {
  %users = atomicrmw add ptr @users, i64 1 seq_cst
  %first = icmp eq i64 %users, 0
  br i1 %first, label %look, label %return
look:
  %threads = call i32 @cr_get_threads()
  store i32 %threads, ptr @before
  %many = icmp ne i32 %threads, 1
  br i1 %many, label %set, label %return
set:
  call void @cr_set_threads(i32 1)
  br label %return
return:
  ret void
}

define void @cr_threads_back() nounwind {
  %users = atomicrmw sub ptr @users, i64 1 seq_cst
  %last = icmp eq i64 %users, 1
  %threads = load i32, ptr @before
  %many = icmp ne i32 %threads, 1
  %both = and i1 %last, %many
  br i1 %both, label %set, label %return
set:
  call void @cr_set_threads(i32 %threads)
  br label %return
return:
  ret void
}
""",
}


@dataclass(frozen=True)
class Operands:
    """The operands of a product, as it is asked for: with columns first, it is Cᵀ = Bᵀ·Aᵀ."""

    matrices: Matrices
    a: Value
    b: Value
    firsts: tuple[int, int]  # of a and b, in elements
    batches: tuple[int, int, int]  # of a, b and c, from one of a batch to the next


def operands_of(value: Value, target: Target, tiled: int | None = None) -> Operands:
    """How a product is asked for; of a tile, 0 says that it has some rows, 1 that it sums some."""
    batch, rows, columns, summed = value.params
    (a, a_access), (b, b_access) = value.args
    in_a, in_b = (None, None) if tiled is None else ((1, None), (2, 1))[tiled]
    at_a = matrix_strides(a, a_access, (batch, rows, summed), in_a)
    at_b = matrix_strides(b, b_access, (batch, summed, columns), in_b)
    assert at_a is not None
    assert at_b is not None
    line = columns
    if value.order is not None:
        a, b, rows, columns = b, a, columns, rows
        at_a, at_b = (*at_b[:2], *at_b[:1:-1]), (*at_a[:2], *at_a[:1:-1])
        line = value.strides[1]
    matrices = Matrices(target, KNOWN[value.dtype], rows, columns, summed, at_a[2:], at_b[2:], line)
    return Operands(matrices, a, b, (at_a[0], at_b[0]), (at_a[1], at_b[1], rows * columns))


def product_function(name: str, step: Product, frame: Frame) -> Code:
    """The code of a function that computes one product, for each of a batch."""
    value, code = step.value, Code()
    given = operands_of(value, frame.target, frame.axis)
    size, batch = value.dtype.itemsize, value.params[0]
    firsts = ((given.a, given.firsts[0]), (given.b, given.firsts[1]), (value, 0))
    pointers = [frame.pointer(code, operand, first * size) for operand, first in firsts]
    begins = frame.begins(code) if value in frame.totals else "true"
    apart = [size * n for n in given.batches]
    if len(step.boxes) > 1:
        _in_boxes(code, step, frame, pointers, begins)
    elif given.matrices.fit:
        _each(
            code, pointers, apart, batch, lambda p: write_product(code, given.matrices, p, begins)
        )
    else:
        _by_blas(code, given.matrices, pointers, begins, (batch, apart))
    code.as_step(name)
    return code


def _each(
    code: Code,
    pointers: list[str],
    apart: list[int],
    batch: int,
    write: Callable[[list[str]], None],
) -> None:
    """The same for each of a batch, whose matrices lie so many bytes apart."""
    if batch == 1:
        write(pointers)
        return

    def body(i: str, names: list[str]) -> list[str]:
        write(_moved(code, pointers, i, apart))
        return []

    code.loop("0", str(batch), [], body)


def _by_blas(
    code: Code, m: Matrices, pointers: list[str], begins: str, batches: tuple[int, list[int]]
) -> None:
    """By BLAS: in one call for each of a batch, or in parts."""
    size = m.itemsize
    batch, apart = batches
    layouts = _layouts(m)
    start = _settings(code, m, layouts, begins)
    along, part = _part(m, layouts[0][0], layouts[1][0]) if batch == 1 else ("", 0)
    if along == "n":
        steps = [m.a[0] * size, 0, m.c * size]
        _in_parts(code, m.kind, pointers, steps, (m.rows, part), along, start)
    elif along == "k":
        steps = [m.a[1] * size, m.b[0] * size, 0]
        _in_parts(code, m.kind, pointers, steps, (m.summed, part), along, start)
    else:
        _each(code, pointers, apart, batch, lambda p: _call(code, m.kind, *p))


def _in_boxes(code: Code, step: Product, frame: Frame, pointers: list[str], begins: str) -> None:
    """The parts of a product that are computed, one after the other.

    One that is limited along the axis that is done by tiles is as long as the tile has it to be:
    such a length is known to BLAS alone.
    """
    m, boxes = operands_of(step.value, frame.target, frame.axis).matrices, step.boxes
    tiled = {None: None, 0: 0, 1: 2}[frame.axis]
    if step.value.order is not None:
        boxes = tuple(Box(box.columns, box.rows, box.summed) for box in boxes)
        tiled = 1 if tiled == 0 else tiled
    fixed = tiled is None or all(box[tiled] is None for box in boxes)
    if m.fit and fixed:
        write_boxes(code, m, boxes, pointers, begins)
        return
    layouts = _layouts(m)
    start = _settings(code, m, layouts, begins)
    size, of = m.itemsize, code.type(m.kind, 1)
    apart = ([m.a[0], 0, m.c], [0, m.b[1], 1], [m.a[1], m.b[0], 0])  # in a, b and c
    for box in boxes:
        moved = pointers
        for axis, (limits, extent) in enumerate(zip(box, m.extents, strict=True)):
            first, length = _span(code, limits, extent, axis == tiled)
            code.line(f"store i32 {length}, ptr %{'nmk'[axis]}")
            moved = _moved(code, moved, first, [n * size for n in apart[axis]])
        code.line(f"store {of} {start}, ptr %beta")
        _call(code, m.kind, *moved)


def _span(code: Code, limits: tuple[int, int] | None, extent: int, tiled: bool) -> tuple[str, str]:
    """From where, and how long a part is; of an axis that is done by tiles, in this tile."""
    first, after = limits or (0, extent)
    if not tiled or limits is None:
        return str(first), str(after - first)
    begin, end = code.put(f"sub i64 {first}, %row"), code.put(f"sub i64 {after}, %row")
    begin = code.intrinsic("smax", "i64", 1, begin, "0")
    end = code.intrinsic("smin", "i64", 1, end, str(extent))
    length = code.intrinsic("smax", "i64", 1, code.put(f"sub i64 {end}, {begin}"), "0")
    return begin, code.put(f"trunc i64 {length} to i32")


def _settings(
    code: Code, m: Matrices, layouts: tuple[tuple[str, int], tuple[str, int]], begins: str
) -> str:
    """BLAS takes every argument by its address: sizes, flags, and what to do with the old sum.

    The last, a factor, is returned.
    """
    of_a, of_b = layouts
    of = code.type(m.kind, 1)
    numbers = {
        "m": m.columns, "n": m.rows, "k": m.summed, "lda": of_b[1], "ldb": of_a[1], "ldc": m.c,
    }  # fmt: skip
    for key, number in numbers.items():
        code.line(f"%{key} = alloca i32")
        code.line(f"store i32 {max(number, 1)}, ptr %{key}")
    zero, one = code.constant(0, m.kind, 1), code.constant(1, m.kind, 1)
    if begins != "true":
        zero = code.put(f"select i1 {begins}, {of} {zero}, {of} {one}")
    for key, factor in (("alpha", one), ("beta", zero)):
        code.line(f"%{key} = alloca {of}")
        code.line(f"store {of} {factor}, ptr %{key}")
    for key, flag in (("ta", of_b[0]), ("tb", of_a[0])):
        code.line(f"%{key} = alloca i8")
        code.line(f"store i8 {ord(flag)}, ptr %{key}")
    return zero


def _call(code: Code, kind: str, a: str, b: str, out: str) -> None:
    routine = ROUTINES[kind]
    code.declares.add(CALLS[routine])
    listed = (
        "%ta", "%tb", "%m", "%n", "%k", "%alpha", b, "%lda", a, "%ldb", "%beta", out, "%ldc",
    )  # fmt: skip
    code.line(f"call void @{routine}({', '.join(f'ptr {p}' for p in listed)})")


def _moved(code: Code, pointers: list[str], i: str, apart: list[int]) -> list[str]:
    offsets = [code.put(f"mul i64 {i}, {step}") for step in apart]
    return [
        code.put(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        for pointer, offset in zip(pointers, offsets, strict=True)
    ]


def _part(m: Matrices, of_a: str, of_b: str) -> tuple[str, int]:
    """Along which of BLAS's sizes a product is asked for in parts, if any, and how long they are.

    A transposed second factor is slower without the copy.
    """
    rows, columns, summed = m.rows, m.columns, m.summed
    if rows * columns * summed <= MAX_CALL_SIZE:
        return "", 0
    of_rows, of_summed = MAX_CALL_SIZE // (columns * summed), MAX_CALL_SIZE // (rows * columns)
    if of_b == "N" and of_rows >= MIN_PART_ROWS:
        return "n", of_rows
    if (of_b, of_a) != ("T", "N") and of_summed >= MIN_PART_SUMMED:
        return "k", of_summed
    return "", 0


def _in_parts(
    code: Code,
    kind: str,
    pointers: list[str],
    apart: list[int],
    lengths: tuple[int, int],
    along: str,
    start: str,
) -> None:
    """One part after the other; sums of further parts are added to those that are there."""
    whole, part = lengths
    of = code.type(kind, 1)

    def body(i: str, names: list[str]) -> list[str]:
        at = code.put(f"mul i64 {i}, {part}")
        left = code.put(f"sub i64 {whole}, {at}")
        length = code.put(f"trunc i64 {code.intrinsic('smin', 'i64', 1, left, str(part))} to i32")
        code.line(f"store i32 {length}, ptr %{along}")
        if along == "k":
            first = code.put(f"icmp eq i64 {i}, 0")
            one = code.constant(1, kind, 1)
            factor = code.put(f"select i1 {first}, {of} {start}, {of} {one}")
            code.line(f"store {of} {factor}, ptr %beta")
        _call(code, kind, *_moved(code, pointers, at, apart))
        return []

    code.loop("0", str(-(-whole // part)), [], body)


def _layouts(m: Matrices) -> tuple[tuple[str, int], tuple[str, int]]:
    """Per operand whether BLAS must transpose it, and how far its lines are apart."""
    return _layout(m.a, (m.rows, m.summed)), _layout(m.b, (m.summed, m.columns))


def _layout(at: tuple[int, int], extents: tuple[int, int]) -> tuple[str, int]:
    """As `_layouts` of one operand stored by rows; lines are never shorter than what is in them."""
    (row, column), (rows, columns) = at, extents
    if column == 1 and (row >= columns or rows == 1):
        return "N", max(row, columns)
    return "T", max(column, rows)
