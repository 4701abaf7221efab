"""Writing where an array of positions says, one element after the other."""

from __future__ import annotations

from chainrule.lower.code.lanes import Frame
from chainrule.lower.code.lines import Code
from chainrule.lower.code.scalars import SCALARS
from chainrule.lower.plan.fuse import Scatter
from chainrule.lower.values.value import KNOWN


def scatter_function(name: str, step: Scatter, frame: Frame) -> Code:
    """Start from the base, or zeros, then write or add every element."""
    value, code = step.value, Code()
    kind = KNOWN[value.dtype]
    of = code.type(kind, 1)
    size = value.dtype.itemsize
    operands = (value, *(a for a, _ in value.args))
    out, elements, positions, *start = (frame.pointer(code, v) for v in operands)
    if start:
        code.copy(out, start[0], value.nbytes)
    else:
        code.clear(out, value.nbytes)
    n = value.args[1][0].size

    def body(i: str, names: list[str]) -> list[str]:
        from_where = code.put(f"getelementptr {of}, ptr {elements}, i64 {i}")
        element = code.put(f"load {of}, ptr {from_where}, align {size}")
        at = code.put(f"getelementptr i64, ptr {positions}, i64 {i}")
        into = code.put(f"getelementptr {of}, ptr {out}, i64 {code.put(f'load i64, ptr {at}')}")
        if value.params == "add":
            before = code.put(f"load {of}, ptr {into}, align {size}")
            element = SCALARS["add"](code, kind, 1, before, element)
        code.line(f"store {of} {element}, ptr {into}, align {size}")
        return []

    if n:
        code.loop("0", str(n), [], body)
    code.as_step(name)
    return code
