"""Loads and stores of one lane or many: side by side, so far apart, or each where it lies.

`element` is the type in memory, "double" or "i8"; a mask says which lanes there are.
"""

from __future__ import annotations

from chainrule.lower.code.lines import Code


def load(
    code: Code,
    element: str,
    lanes: int,
    address: str,
    align: int,
    mask: str | None = None,
    stride: int = 1,
) -> str:
    """Numbers that lie so many elements apart; with none between them, one in every lane."""
    if stride == 0:
        return spread(code, element, lanes, load(code, element, 1, address, align))
    if stride != 1:
        pointers = _apart(code, element, lanes, address, stride)
        return gather(code, element, lanes, pointers, align, mask)
    of = code.type(element, lanes)
    if mask is None or lanes == 1:
        return code.put(f"load {of}, ptr {address}, align {align}")
    name = f"llvm.masked.load.v{lanes}{_suffix(element)}.p0"
    code.declares.add(f"declare {of} @{name}(ptr, <{lanes} x i1>, {of})")
    return code.put(
        f"call {of} @{name}(ptr align {align} {address}, <{lanes} x i1> {mask}, "
        f"{of} zeroinitializer)"
    )


def store(
    code: Code,
    element: str,
    lanes: int,
    number: str,
    address: str,
    align: int,
    mask: str | None,
    stride: int = 1,
) -> None:
    """Write numbers so many elements apart."""
    of = code.type(element, lanes)
    if stride == 1 and (mask is None or lanes == 1):
        code.line(f"store {of} {number}, ptr {address}, align {align}")
        return
    way, pointer, suffix = "store", "ptr", "p0"
    if stride != 1:
        address = _apart(code, element, lanes, address, stride)
        way, pointer, suffix = "scatter", f"<{lanes} x ptr>", f"v{lanes}p0"
    name = f"llvm.masked.{way}.v{lanes}{_suffix(element)}.{suffix}"
    code.declares.add(f"declare void @{name}({of}, {pointer}, <{lanes} x i1>)")
    alive = mask or code.constant(True, "i1", lanes)
    code.line(
        f"call void @{name}({of} {number}, {pointer} align {align} {address}, "
        f"<{lanes} x i1> {alive})"
    )


def _apart(code: Code, element: str, lanes: int, address: str, stride: int) -> str:
    """The addresses of lanes that lie so many elements apart."""
    offsets = ", ".join(f"i64 {stride * i}" for i in range(lanes))
    return code.put(f"getelementptr {element}, ptr {address}, <{lanes} x i64> <{offsets}>")


def gather(
    code: Code, element: str, lanes: int, pointers: str, align: int, mask: str | None = None
) -> str:
    """Numbers of which each has an address of its own."""
    of = code.type(element, lanes)
    name = f"llvm.masked.gather.v{lanes}{_suffix(element)}.v{lanes}p0"
    code.declares.add(f"declare {of} @{name}(<{lanes} x ptr>, <{lanes} x i1>, {of})")
    alive = mask or code.constant(True, "i1", lanes)
    return code.put(
        f"call {of} @{name}(<{lanes} x ptr> align {align} {pointers}, "
        f"<{lanes} x i1> {alive}, {of} zeroinitializer)"
    )


def spread(code: Code, element: str, lanes: int, number: str) -> str:
    """A number in every lane."""
    if lanes == 1:
        return number
    of = code.type(element, lanes)
    single = code.put(f"insertelement {of} poison, {code.type(element, 1)} {number}, i64 0")
    zeros = f"<{lanes} x i32> zeroinitializer"
    return code.put(f"shufflevector {of} {single}, {of} poison, {zeros}")


def _suffix(element: str) -> str:
    return {"double": "f64", "float": "f32"}.get(element, element)
