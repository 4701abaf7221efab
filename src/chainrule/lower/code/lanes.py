"""Reading and writing memory in one lane or many, at fixed strides or at given positions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from chainrule.lower.code.lines import Code
from chainrule.lower.plan.loops import Place
from chainrule.lower.values.value import KNOWN, Value


@dataclass(frozen=True)
class Frame:
    """Where the code of a step finds its values, and which part of all rows it is about.

    `locate` gives the slot of the table, the offset in bytes, and the bytes from one row and from
    one chunk of a value to the next.  `totals` are the sums that go on from tile to tile, and
    `axis` is what the region says of the step.
    """

    locate: Callable[[Value], tuple[int, int, int, int]]
    totals: Collection[Value] = ()
    chunk_rows: int = 0
    axis: int | None = None

    def pointer(self, code: Code, value: Value, first: int = 0) -> str:
        """The address of a value, some bytes on."""
        slot, offset, by_row, by_chunk = self.locate(value)
        return code.operand(slot, offset + first, by_row, by_chunk)

    def begins(self, code: Code) -> str:
        """Whether this is the first tile of its chunk."""
        return code.put(f"icmp eq i64 %row, {code.put(f'mul i64 %chunk, {self.chunk_rows}')}")


class Lanes:
    """The part of a kernel's code that moves numbers between memory and registers.

    `index` names the loops that the code stands in.
    """

    def __init__(self, frame: Frame):
        self.frame = frame
        self.code = Code()
        self.pointers: dict[Value, tuple[str, int]] = {}
        self.index: list[str] = []

    def _pointer(self, value: Value, first: int) -> None:
        """The address of an element of a value, from which places in it are counted."""
        bytes_on = first * value.dtype.itemsize
        self.pointers[value] = self.frame.pointer(self.code, value, bytes_on), first

    def _address(self, place: Place, at: str) -> str:
        """The address of the first lane."""
        code = self.code
        pointer, first = self.pointers[place.value]
        total = str(place.offset - first) if place.offset != first else ""
        indices = [*self.index, at][: len(place.strides)]
        for i, stride in zip(indices, place.strides, strict=False):
            if not stride or i == "0":
                continue
            term = i if stride == 1 else code.put(f"mul i64 {i}, {stride}")
            total = term if not total else code.put(f"add i64 {total}, {term}")
        element = in_memory(KNOWN[place.value.dtype])
        return (
            code.put(f"getelementptr {element}, ptr {pointer}, i64 {total}") if total else pointer
        )

    def _load(self, place: Place, at: str, lanes: int, mask: str | None) -> str:
        code, kind = self.code, KNOWN[place.value.dtype]
        element = in_memory(kind)
        of = code.type(element, lanes)
        stride = place.strides[-1] if place.strides and lanes > 1 else 1
        address = self._address(place, at)
        align = place.value.dtype.itemsize
        if stride == 0:
            found = self._spread(
                code.put(f"load {element}, ptr {address}, align {align}"), element, lanes
            )
        elif stride != 1:
            found = self._gather(address, stride, element, lanes, mask, align)
        elif mask is None or lanes == 1:
            found = code.put(f"load {of}, ptr {address}, align {align}")
        else:
            name = f"llvm.masked.load.v{lanes}{_suffix(element)}.p0"
            code.declares.add(f"declare {of} @{name}(ptr, <{lanes} x i1>, {of})")
            found = code.put(
                f"call {of} @{name}(ptr align {align} {address}, <{lanes} x i1> {mask}, "
                f"{of} zeroinitializer)"
            )
        if kind == "i1":
            zero = "0" if lanes == 1 else "zeroinitializer"
            found = code.put(f"icmp ne {of} {found}, {zero}")
        return found

    def _lane_pointers(self, address: str, stride: int, element: str, lanes: int) -> str:
        code = self.code
        offsets = ", ".join(f"i64 {stride * i}" for i in range(lanes))
        return code.put(f"getelementptr {element}, ptr {address}, <{lanes} x i64> <{offsets}>")

    def _gather(
        self, address: str, stride: int, element: str, lanes: int, mask: str | None, align: int
    ) -> str:
        pointers = self._lane_pointers(address, stride, element, lanes)
        return self._gathered(pointers, element, lanes, mask, align)

    def _gathered(
        self, pointers: str, element: str, lanes: int, mask: str | None, align: int
    ) -> str:
        code = self.code
        of = code.type(element, lanes)
        name = f"llvm.masked.gather.v{lanes}{_suffix(element)}.v{lanes}p0"
        code.declares.add(f"declare {of} @{name}(<{lanes} x ptr>, <{lanes} x i1>, {of})")
        given = mask if mask is not None else code.constant(True, "i1", lanes)
        return code.put(
            f"call {of} @{name}(<{lanes} x ptr> align {align} {pointers}, "
            f"<{lanes} x i1> {given}, {of} zeroinitializer)"
        )

    def _store(self, place: Place, value: str, at: str, lanes: int, mask: str | None) -> None:
        code, kind = self.code, KNOWN[place.value.dtype]
        element = in_memory(kind)
        of = code.type(element, lanes)
        if kind == "i1":
            value = code.put(f"zext {code.type('i1', lanes)} {value} to {of}")
        stride = place.strides[-1] if place.strides and lanes > 1 else 1
        address = self._address(place, at)
        align = place.value.dtype.itemsize
        if stride != 1:
            pointers = self._lane_pointers(address, stride, element, lanes)
            name = f"llvm.masked.scatter.v{lanes}{_suffix(element)}.v{lanes}p0"
            code.declares.add(f"declare void @{name}({of}, <{lanes} x ptr>, <{lanes} x i1>)")
            given = mask if mask is not None else code.constant(True, "i1", lanes)
            code.line(
                f"call void @{name}({of} {value}, <{lanes} x ptr> align {align} {pointers}, "
                f"<{lanes} x i1> {given})"
            )
        elif mask is None or lanes == 1:
            code.line(f"store {of} {value}, ptr {address}, align {align}")
        else:
            name = f"llvm.masked.store.v{lanes}{_suffix(element)}.p0"
            code.declares.add(f"declare void @{name}({of}, ptr, <{lanes} x i1>)")
            code.line(
                f"call void @{name}({of} {value}, ptr align {align} {address}, "
                f"<{lanes} x i1> {mask})"
            )

    def _spread(self, name: str, kind: str, lanes: int) -> str:
        """A number in every lane."""
        if lanes == 1:
            return name
        code, of = self.code, self.code.type(kind, lanes)
        single = code.put(f"insertelement {of} poison, {code.type(kind, 1)} {name}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return code.put(f"shufflevector {of} {single}, {of} poison, {zeros}")


def in_memory(kind: str) -> str:
    """The type in memory: a boolean takes a byte."""
    return {"i1": "i8", "f64": "double", "f32": "float"}.get(kind, kind)


def _suffix(element: str) -> str:
    return {"double": "f64", "float": "f32"}.get(element, element)
