"""Products by BLAS, called from machine code.

BLAS counts by columns and we by rows, so C = A·B is asked for as Cᵀ = Bᵀ·Aᵀ; a transposed operand
is a flag.
"""

from __future__ import annotations

from chainrule.lower.fuse import Product, matrix_strides
from chainrule.lower.lanes import Frame
from chainrule.lower.scalars import Code
from chainrule.lower.values import KNOWN, Value

ROUTINES = {"f64": "cr_dgemm", "f32": "cr_sgemm"}
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


def product_function(
    name: str,
    step: Product,
    frame: Frame,
) -> Code:
    """The code of a function that computes one product, for each of a batch."""
    value = step.value
    batch, rows, columns, summed = value.params
    (a, a_access), (b, b_access) = value.args
    at_a = matrix_strides(a, a_access, (batch, rows, summed))
    at_b = matrix_strides(b, b_access, (batch, summed, columns))
    assert at_a is not None
    assert at_b is not None
    code, size = Code(), value.dtype.itemsize
    pointers = []
    for operand, first in ((a, at_a[0]), (b, at_b[0]), (value, 0)):
        pointers.append(frame.pointer(code, operand, first * size))
    begins = frame.begins(code) if value in frame.totals else "true"
    _settings(code, value, _layout(at_a), _layout(at_b), begins)
    if batch == 1:
        _call(code, value, *pointers)
    else:
        _for_each(code, value, pointers, (at_a[1] * size, at_b[1] * size, rows * columns * size))
    code.as_step(name)
    return code


def _settings(
    code: Code, value: Value, of_a: tuple[str, int], of_b: tuple[str, int], begins: str
) -> None:
    """BLAS takes every argument by its address: sizes, flags, and what to do with the old sum."""
    _, rows, columns, summed = value.params
    kind = KNOWN[value.dtype]
    of = code.type(kind, 1)
    numbers = {"m": columns, "n": rows, "k": summed, "lda": of_b[1], "ldb": of_a[1], "ldc": columns}
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


def _layout(at: tuple[int, int, int, int]) -> tuple[str, int]:
    """Whether BLAS must transpose an operand stored by rows, and how far its lines are apart."""
    _, _, row, column = at
    return ("N", row) if column == 1 else ("T", column)
