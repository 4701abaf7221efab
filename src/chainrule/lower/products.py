"""Products by BLAS, called from machine code.

BLAS counts by columns and we by rows, so C = A·B is asked for as Cᵀ = Bᵀ·Aᵀ; a transposed operand
is a flag.  OpenBLAS copies the operands of a product of more than 10⁶ multiplications into an
order of its own, and those of a smaller one not: a long and narrow product is asked for in parts.
In float32 (32, 6272)·(6272, 144) takes 0.55 ms so, and 1.05 ms at once.
"""

from __future__ import annotations

from chainrule.lower.fuse import Product, matrix_strides
from chainrule.lower.lanes import Frame
from chainrule.lower.scalars import Code
from chainrule.lower.values import KNOWN, Value

ROUTINES = {"f64": "cr_dgemm", "f32": "cr_sgemm"}
SMALL = 10**6  # multiplications of one call
LEAST_ROWS, LEAST_SUMMED = 32, 128  # of one part
ARGUMENTS = ", ".join(["ptr"] * 13)
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


def product_function(name: str, step: Product, frame: Frame) -> Code:
    """The code of a function that computes one product, for each of a batch."""
    value = step.value
    batch, rows, columns, summed = value.params
    (a, a_access), (b, b_access) = value.args
    at_a = matrix_strides(a, a_access, (batch, rows, summed))
    at_b = matrix_strides(b, b_access, (batch, summed, columns))
    assert at_a is not None
    assert at_b is not None
    code, size = Code(), value.dtype.itemsize
    if value.order is not None:  # columns first: Cᵀ = Bᵀ·Aᵀ
        a, b, rows, columns = b, a, columns, rows
        at_a, at_b = (*at_b[:2], *at_b[:1:-1]), (*at_a[:2], *at_a[:1:-1])
    line = columns if value.order is None else value.strides[1]  # from one row of C to the next
    pointers = []
    for operand, first in ((a, at_a[0]), (b, at_b[0]), (value, 0)):
        pointers.append(frame.pointer(code, operand, first * size))
    begins = frame.begins(code) if value in frame.totals else "true"
    layouts = _layout(at_a), _layout(at_b)
    start = _settings(code, KNOWN[value.dtype], (rows, columns, summed), (*layouts, line), begins)
    along, part = _part((rows, columns, summed), layouts[0][0], layouts[1][0])
    if batch > 1:
        _for_each(code, value, pointers, (at_a[1] * size, at_b[1] * size, rows * columns * size))
    elif along == "n":
        apart = (at_a[2] * size, 0, line * size)
        _in_parts(code, value, pointers, apart, (rows, part), along, start)
    elif along == "k":
        apart = (at_a[3] * size, at_b[2] * size, 0)
        _in_parts(code, value, pointers, apart, (summed, part), along, start)
    else:
        _call(code, value, *pointers)
    code.as_step(name)
    return code


def _settings(
    code: Code,
    kind: str,
    sizes: tuple[int, int, int],
    lines: tuple[tuple[str, int], tuple[str, int], int],
    begins: str,
) -> str:
    """BLAS takes every argument by its address: sizes, flags, and what to do with the old sum.

    The last, a factor, is returned.
    """
    rows, columns, summed = sizes
    of_a, of_b, of_c = lines
    of = code.type(kind, 1)
    numbers = {"m": columns, "n": rows, "k": summed, "lda": of_b[1], "ldb": of_a[1], "ldc": of_c}
    for key, number in numbers.items():
        code.line(f"%{key} = alloca i32")
        code.line(f"store i32 {max(number, 1)}, ptr %{key}")
    zero, one = code.constant(0, kind, 1), code.constant(1, kind, 1)
    if begins != "true":
        zero = code.put(f"select i1 {begins}, {of} {zero}, {of} {one}")
    for key, factor in (("alpha", one), ("beta", zero)):
        code.line(f"%{key} = alloca {of}")
        code.line(f"store {of} {factor}, ptr %{key}")
    for key, flag in (("ta", of_b[0]), ("tb", of_a[0])):
        code.line(f"%{key} = alloca i8")
        code.line(f"store i8 {ord(flag)}, ptr %{key}")
    return zero


def _call(code: Code, value: Value, a: str, b: str, out: str) -> None:
    routine = ROUTINES[KNOWN[value.dtype]]
    code.declares.add(f"declare void @{routine}({ARGUMENTS})")
    listed = (
        "%ta", "%tb", "%m", "%n", "%k", "%alpha", b, "%lda", a, "%ldb", "%beta", out, "%ldc",
    )  # fmt: skip
    code.line(f"call void @{routine}({', '.join(f'ptr {p}' for p in listed)})")


def _for_each(code: Code, value: Value, pointers: list[str], steps: tuple[int, ...]) -> None:
    """The same for each of a batch, whose operands lie so many bytes apart."""
    code.line("br label %loop")
    code.lines.append("loop:")
    code.line("%i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    moved = []
    for pointer, apart in zip(pointers, steps, strict=True):
        offset = code.put(f"mul i64 %i, {apart}")
        moved.append(code.put(f"getelementptr i8, ptr {pointer}, i64 {offset}"))
    _call(code, value, *moved)
    code.line("%next = add i64 %i, 1")
    code.line(f"%more = icmp slt i64 %next, {value.params[0]}")
    code.line("br i1 %more, label %loop, label %done")
    code.lines.append("done:")


def _part(sizes: tuple[int, int, int], of_a: str, of_b: str) -> tuple[str, int]:
    """Along which of BLAS's sizes a product is asked for in parts, if any, and how long they are.

    A transposed second factor is slower without the copy.
    """
    rows, columns, summed = sizes
    if rows * columns * summed <= SMALL:
        return "", 0
    of_rows, of_summed = SMALL // (columns * summed), SMALL // (rows * columns)
    if of_b == "N" and of_rows >= LEAST_ROWS:
        return "n", of_rows
    if (of_b, of_a) != ("T", "N") and of_summed >= LEAST_SUMMED:
        return "k", of_summed
    return "", 0


def _in_parts(
    code: Code,
    value: Value,
    pointers: list[str],
    steps: tuple[int, ...],
    lengths: tuple[int, int],
    along: str,
    start: str,
) -> None:
    """One part after the other; sums of further parts are added to those that are there."""
    whole, part = lengths
    kind = KNOWN[value.dtype]
    of = code.type(kind, 1)
    code.line("br label %loop")
    code.lines.append("loop:")
    code.line("%i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    left = code.put(f"sub i64 {whole}, %i")
    length = code.put(f"trunc i64 {code.intrinsic('smin', 'i64', 1, left, str(part))} to i32")
    code.line(f"store i32 {length}, ptr %{along}")
    if along == "k":
        first = code.put("icmp eq i64 %i, 0")
        one = code.constant(1, kind, 1)
        factor = code.put(f"select i1 {first}, {of} {start}, {of} {one}")
        code.line(f"store {of} {factor}, ptr %beta")
    moved = []
    for pointer, apart in zip(pointers, steps, strict=True):
        offset = code.put(f"mul i64 %i, {apart}")
        moved.append(code.put(f"getelementptr i8, ptr {pointer}, i64 {offset}"))
    _call(code, value, *moved)
    code.line(f"%next = add i64 %i, {part}")
    code.line(f"%more = icmp slt i64 %next, {whole}")
    code.line("br i1 %more, label %loop, label %done")
    code.lines.append("done:")


def _layout(at: tuple[int, int, int, int]) -> tuple[str, int]:
    """Whether BLAS must transpose an operand stored by rows, and how far its lines are apart."""
    _, _, row, column = at
    return ("N", row) if column == 1 else ("T", column)
