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
    kind = KNOWN[value.dtype]
    code = Code()
    (a, a_access), (b, b_access) = value.args
    at_a = matrix_strides(a, a_access, (batch, rows, summed))
    at_b = matrix_strides(b, b_access, (batch, summed, columns))
    assert at_a is not None
    assert at_b is not None
    a_flag, a_lead = _layout(at_a)
    b_flag, b_lead = _layout(at_b)
    size = value.dtype.itemsize
    pointers = []
    for operand, offset in ((a, at_a[0]), (b, at_b[0]), (value, 0)):
        slot, where = locate(operand)
        base = code.put(
            f"load ptr, ptr {code.put(f'getelementptr i8, ptr %table, i64 {8 * slot}')}"
        )
        at = code.put(f"getelementptr i8, ptr {base}, i64 {where + offset * size}")
        if slide(operand):
            rows_before = code.put(f"mul i64 %row, {slide(operand)}")
            at = code.put(f"getelementptr i8, ptr {at}, i64 {rows_before}")
        pointers.append(at)
    numbers = {"m": columns, "n": rows, "k": summed, "lda": b_lead, "ldb": a_lead, "ldc": columns}
    for key, number in numbers.items():
        code.line(f"%{key} = alloca i32")
        code.line(f"store i32 {max(number, 1)}, ptr %{key}")
    of = code.type(kind, 1)
    for key, number in (("alpha", 1.0), ("beta", 0.0)):
        code.line(f"%{key} = alloca {of}")
        code.line(f"store {of} {code.constant(number, kind, 1)}, ptr %{key}")
    if total:
        first = code.put("icmp eq i64 %row, 0")
        zero, one = code.constant(0, kind, 1), code.constant(1, kind, 1)
        goes_on = code.put(f"select i1 {first}, {of} {zero}, {of} {one}")
        code.line(f"store {of} {goes_on}, ptr %beta")
    for key, flag in (("ta", b_flag), ("tb", a_flag)):
        code.line(f"%{key} = alloca i8")
        code.line(f"store i8 {ord(flag)}, ptr %{key}")
    code.declares.add(f"declare void @{ROUTINES[kind]}({ARGUMENTS})")

    def call(x: str, y: str, out: str) -> None:
        listed = [
            "%ta",
            "%tb",
            "%m",
            "%n",
            "%k",
            "%alpha",
            y,
            "%lda",
            x,
            "%ldb",
            "%beta",
            out,
            "%ldc",
        ]
        code.line(f"call void @{ROUTINES[kind]}({', '.join(f'ptr {p}' for p in listed)})")

    if batch == 1:
        call(*pointers)
    else:
        steps = (at_a[1] * size, at_b[1] * size, rows * columns * size)
        code.line("br label %loop")
        code.lines.append("loop:")
        code.line("%i = phi i64 [ 0, %entry ], [ %next, %loop ]")
        moved = []
        for pointer, step_bytes in zip(pointers, steps, strict=True):
            off = code.put(f"mul i64 %i, {step_bytes}")
            moved.append(code.put(f"getelementptr i8, ptr {pointer}, i64 {off}"))
        call(*moved)
        code.line("%next = add i64 %i, 1")
        code.line(f"%more = icmp slt i64 %next, {batch}")
        code.line("br i1 %more, label %loop, label %done")
        code.lines.append("done:")
    code.as_step(name)
    return code


def _layout(at: tuple[int, int, int, int]) -> tuple[str, int]:
    """Whether BLAS must transpose an operand stored by rows, and how far its lines are apart."""
    _, _, row, column = at
    return ("N", row) if column == 1 else ("T", column)
