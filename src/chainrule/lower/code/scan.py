"""Running along an axis: each element is made of the one before it."""

from __future__ import annotations

from math import prod

from chainrule.lower.code.lanes import Frame
from chainrule.lower.code.lines import Code
from chainrule.lower.code.scalars import SCALARS
from chainrule.lower.plan.fuse import Scan
from chainrule.lower.values.value import KNOWN


def scan_function(name: str, step: Scan, frame: Frame) -> Code:
    """The first element as it is, then one after the other; neighbours of other axes together."""
    value, code = step.value, Code()
    function, axis = value.params
    n, inside = value.dims[axis], prod(value.dims[axis + 1 :])
    lanes = frame.target.lanes(value.dtype.itemsize)
    while inside % lanes:
        lanes //= 2
    kind, align = KNOWN[value.dtype], value.dtype.itemsize
    of, element = code.type(kind, lanes), code.type(kind, 1)
    out, *given = (frame.pointer(code, v) for v in (value, *(a for a, _ in value.args)))

    def loaded(index: str) -> list[str]:
        at = [code.put(f"getelementptr {element}, ptr {p}, i64 {index}") for p in given]
        return [code.put(f"load {of}, ptr {p}, align {align}") for p in at]

    def stored(number: str, index: str) -> None:
        at = code.put(f"getelementptr {element}, ptr {out}, i64 {index}")
        code.line(f"store {of} {number}, ptr {at}, align {align}")

    if value.size:
        blocks = inside // lanes
        code.line("br label %lane")
        code.lines.append("lane:")
        code.line("%i = phi i64 [ 0, %entry ], [ %beside, %done ]")
        row, place = code.put(f"udiv i64 %i, {blocks}"), code.put(f"urem i64 %i, {blocks}")
        base = code.put(f"mul i64 {row}, {n * inside}")
        first = code.put(f"add i64 {base}, {code.put(f'mul i64 {place}, {lanes}')}")
        *_, start = loaded(first)
        stored(start, first)
        code.line(f"br label %{'along' if n > 1 else 'done'}")
        if n > 1:
            code.lines.append("along:")
            head = len(code.lines)
            index = code.put(f"add i64 {first}, {code.put(f'mul i64 %k, {inside}')}")
            found = _continued(code, function, kind, lanes, loaded(index))
            code.lines[head:head] = [
                "  %k = phi i64 [ 1, %lane ], [ %next, %along ]",
                f"  %before = phi {of} [ {start}, %lane ], [ {found}, %along ]",
            ]
            stored(found, index)
            code.line("%next = add i64 %k, 1")
            code.line(f"%more = icmp slt i64 %next, {n}")
            code.line("br i1 %more, label %along, label %done")
        code.lines.append("done:")
        code.line("%beside = add i64 %i, 1")
        code.line(f"%others = icmp slt i64 %beside, {value.size // (n * lanes)}")
        code.line("br i1 %others, label %lane, label %end")
        code.lines.append("end:")
    code.as_step(name)
    return code


def _continued(code: Code, function: str, kind: str, lanes: int, read: list[str]) -> str:
    """The element after `%before`: factor·before + term, or a function of it and what is read."""
    if function == "recurrence":
        factor, term = read
        product = SCALARS["multiply"](code, kind, lanes, factor, "%before")
        return SCALARS["add"](code, kind, lanes, product, term)
    return SCALARS[function](code, kind, lanes, "%before", read[0])
