"""Reading and writing memory in one lane or many, at fixed strides or at given positions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from chainrule.lower.code.access import load, store
from chainrule.lower.code.lines import Code
from chainrule.lower.plan.loops import Place
from chainrule.lower.target import Target
from chainrule.lower.values.value import KNOWN, Value


@dataclass(frozen=True)
class Frame:
    """Where the code of a step finds its values, and which part of all rows it is about.

    `locate` gives the slot of the table, the offset in bytes, and the bytes from one row and from
    one chunk of a value to the next.  `totals` are the sums that go on from tile to tile, and
    `axis` is what the region says of the step.
    """

    target: Target
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
        element, align = in_memory(kind), place.value.dtype.itemsize
        stride = place.strides[-1] if place.strides and lanes > 1 else 1
        address = self._address(place, at)
        number = load(code, element, lanes, address, align, mask, stride)
        return self._as_truth(number, kind, lanes)

    def _as_truth(self, number: str, kind: str, lanes: int) -> str:
        """A truth has a byte in memory, and a bit in a register."""
        if kind != "i1":
            return number
        zero = "0" if lanes == 1 else "zeroinitializer"
        of = self.code.type(in_memory(kind), lanes)
        return self.code.put(f"icmp ne {of} {number}, {zero}")

    def _store(self, place: Place, value: str, at: str, lanes: int, mask: str | None) -> None:
        code, kind = self.code, KNOWN[place.value.dtype]
        element, align = in_memory(kind), place.value.dtype.itemsize
        if kind == "i1":
            narrow, wide = code.type("i1", lanes), code.type(element, lanes)
            value = code.put(f"zext {narrow} {value} to {wide}")
        stride = place.strides[-1] if place.strides and lanes > 1 else 1
        address = self._address(place, at)
        store(code, element, lanes, value, address, align, mask, stride)


def in_memory(kind: str) -> str:
    """The type in memory: a boolean takes a byte."""
    return {"i1": "i8", "f64": "double", "f32": "float"}.get(kind, kind)
