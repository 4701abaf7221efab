"""Writing where an array of positions says, one element after the other."""

from __future__ import annotations

from chainrule.lower.fuse import Scatter
from chainrule.lower.lanes import Frame
from chainrule.lower.scalars import SCALARS, Code
from chainrule.lower.values import KNOWN


def scatter_function(name: str, step: Scatter, frame: Frame) -> Code:
    """Start from the base, or zeros, then write or add every element."""
    value, code = step.value, Code()
    kind = KNOWN[value.dtype]
    of = code.type(kind, 1)
    size = value.dtype.itemsize
    operands = (value, *(a for a, _ in value.args))
    out, elements, positions, *start = (frame.pointer(code, v) for v in operands)
    count = value.nbytes
    if start:
        code.declares.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        code.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {out}, ptr {start[0]}, i64 {count}, i1 false)"
        )
    else:
        code.declares.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        code.line(f"call void @llvm.memset.p0.i64(ptr {out}, i8 0, i64 {count}, i1 false)")
    n = value.args[1][0].size
    if n:
        code.line("br label %loop")
        code.lines.append("loop:")
        code.line("%i = phi i64 [ 0, %entry ], [ %next, %loop ]")
        from_where = code.put(f"getelementptr {of}, ptr {elements}, i64 %i")
        element = code.put(f"load {of}, ptr {from_where}, align {size}")
        place = code.put(f"load i64, ptr {code.put(f'getelementptr i64, ptr {positions}, i64 %i')}")
        into = code.put(f"getelementptr {of}, ptr {out}, i64 {place}")
        if value.params == "add":
            before = code.put(f"load {of}, ptr {into}, align {size}")
            element = SCALARS["add"](code, kind, 1, before, element)
        code.line(f"store {of} {element}, ptr {into}, align {size}")
        code.line("%next = add i64 %i, 1")
        code.line(f"%more = icmp slt i64 %next, {n}")
        code.line("br i1 %more, label %loop, label %done")
        code.lines.append("done:")
    code.as_step(name)
    return code
