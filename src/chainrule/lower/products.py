"""Products by BLAS, called from machine code.

BLAS counts by columns and we by rows, so C = A·B is asked for as Cᵀ = Bᵀ·Aᵀ; a transposed operand
is a flag.
"""

from __future__ import annotations

from collections.abc import Callable

from chainrule.lower.fuse import Product, matrix_strides
from chainrule.lower.lanes import Locate
from chainrule.lower.scalars import Code
from chainrule.lower.values import KNOWN, Value

ROUTINES = {"f64": "cr_dgemm", "f32": "cr_sgemm"}
ARGUMENTS = ", ".join(["ptr"] * 13)


def product_function(
    name: str,
    step: Product,
    locate: Locate,
    slide: Callable[[Value], int] = lambda value: 0,
    total: bool = False,
) -> Code:
    """The code of a function that computes one product, for each of a batch.

    `slide` and `total` as for kernels: a product over all rows is added up tile by tile.
    """
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
        slot, offset = locate(operand)
        pointers.append(code.pointer(slot, offset + first * size, slide(operand)))
    _settings(code, value, _layout(at_a), _layout(at_b), total)
    if batch == 1:
        _call(code, value, *pointers)
    else:
        _for_each(code, value, pointers, (at_a[1] * size, at_b[1] * size, rows * columns * size))
    code.as_step(name)
    return code


def _settings(
    code: Code, value: Value, of_a: tuple[str, int], of_b: tuple[str, int], total: bool
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
    if total:
        first = code.put("icmp eq i64 %row, 0")
        zero = code.put(f"select i1 {first}, {of} {zero}, {of} {one}")
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
