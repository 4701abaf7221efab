"""Vectors of one kind of number: how they are loaded, stored and turned."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chainrule.lower.code.lines import Code
from chainrule.lower.plan.loops import REGISTER


def lanes_of(kind: str) -> int:
    """How many numbers of a kind a register holds."""
    return REGISTER // (8 if kind == "f64" else 4)


class Vectors:
    """Writes loads and stores of whole registers, and of parts of them."""

    def __init__(self, code: Code, kind: str):
        self.code, self.kind, self.lanes = code, kind, lanes_of(kind)
        self.size = 8 if kind == "f64" else 4
        self.of = code.type(kind, self.lanes)
        self.element = code.type(kind, 1)

    def on(self, base: str, elements: int) -> str:
        return self.at(base, str(elements), 1)

    def at(self, base: str, index: str, apart: int) -> str:
        offset = index if apart == 1 else self.code.put(f"mul i64 {index}, {apart}")
        return self.code.put(f"getelementptr {self.element}, ptr {base}, i64 {offset}")

    def mask(self, left: int) -> str | None:
        lanes = self.lanes
        if left >= lanes:
            return None
        bits = ", ".join(f"i1 {'true' if i < left else 'false'}" for i in range(lanes))
        return f"<{bits}>"

    def load(self, address: str, mask: str | None, apart: int = 1) -> str:
        code, lanes = self.code, self.lanes
        if apart != 1:
            name = f"llvm.masked.gather.v{lanes}{self.kind}.v{lanes}p0"
            takes = f"<{lanes} x ptr>, <{lanes} x i1>, {self.of}"
            code.declares.add(f"declare {self.of} @{name}({takes})")
            return code.put(
                f"call {self.of} @{name}({self._lanes_at(address, mask, apart)}, "
                f"{self.of} zeroinitializer)"
            )
        if mask is None:
            return code.put(f"load {self.of}, ptr {address}, align {self.size}")
        name = f"llvm.masked.load.v{lanes}{self.kind}.p0"
        code.declares.add(f"declare {self.of} @{name}(ptr, <{lanes} x i1>, {self.of})")
        return code.put(
            f"call {self.of} @{name}(ptr align {self.size} {address}, <{lanes} x i1> {mask}, "
            f"{self.of} zeroinitializer)"
        )

    def _lanes_at(self, address: str, mask: str | None, apart: int) -> str:
        """Where the lanes of a vector stand that is not dense, and which of them there are."""
        lanes = self.lanes
        offsets = ", ".join(f"i64 {apart * i}" for i in range(lanes))
        of = f"<{lanes} x i64>"
        at = self.code.put(f"getelementptr {self.element}, ptr {address}, {of} <{offsets}>")
        given = mask or self.code.constant(True, "i1", lanes)
        return f"<{lanes} x ptr> align {self.size} {at}, <{lanes} x i1> {given}"

    def store(self, number: str, address: str, mask: str | None, apart: int = 1) -> None:
        code, lanes = self.code, self.lanes
        if apart != 1:
            name = f"llvm.masked.scatter.v{lanes}{self.kind}.v{lanes}p0"
            code.declares.add(f"declare void @{name}({self.of}, <{lanes} x ptr>, <{lanes} x i1>)")
            at = self._lanes_at(address, mask, apart)
            code.line(f"call void @{name}({self.of} {number}, {at})")
            return
        if mask is None:
            code.line(f"store {self.of} {number}, ptr {address}, align {self.size}")
            return
        name = f"llvm.masked.store.v{lanes}{self.kind}.p0"
        code.declares.add(f"declare void @{name}({self.of}, ptr, <{lanes} x i1>)")
        code.line(
            f"call void @{name}({self.of} {number}, ptr align {self.size} {address}, "
            f"<{lanes} x i1> {mask})"
        )

    def fetch(self, address: str) -> None:
        """Ask for memory in time; what is no memory is not asked for."""
        self.code.declares.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.code.line(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 2, i32 1)")

    def spread(self, address: str) -> str:
        number = self.code.put(f"load {self.element}, ptr {address}, align {self.size}")
        return self.vector(number, self.element)

    def vector(self, number: str, element: str) -> str:
        code, lanes = self.code, self.lanes
        of = f"<{lanes} x {element}>"
        one = code.put(f"insertelement {of} poison, {element} {number}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return code.put(f"shufflevector {of} {one}, {of} poison, {zeros}")


def transposed(code: Code, lines: list[str], of: str, lanes: int) -> list[str]:
    """The columns of a square of vectors: neighbours are interleaved as often as it takes."""
    half = lanes // 2
    for _ in range(lanes.bit_length() - 1):
        found = []
        for a, b in zip(lines[:half], lines[half:], strict=True):
            for first in (0, half):
                picks = [p for i in range(first, first + half) for p in (i, i + lanes)]
                mask = ", ".join(f"i32 {p}" for p in picks)
                found.append(
                    code.put(f"shufflevector {of} {a}, {of} {b}, <{lanes} x i32> <{mask}>")
                )
        lines = found
    return lines


def folded_lanes(
    code: Code, of: str, lanes: int, vectors: Sequence[str], combine: Callable[[str, str], str]
) -> str:
    """A vector whose first lanes are, one each, what all lanes of these vectors come to."""
    found, bit = list(vectors), 1
    while bit < lanes:
        pairs = zip(found[::2], [*found[1::2], ""], strict=False)
        found = [combine(*_halves(code, of, lanes, a, b, bit)) for a, b in pairs]
        bit *= 2
    return found[0]


def _halves(code: Code, of: str, lanes: int, a: str, b: str, bit: int) -> list[str]:
    """Lanes whose numbers differ in a bit, to be combined: where it is 0 of a, where it is 1 of b.

    Of a alone, both are the same.
    """
    first = [i if not i & bit else lanes + i - bit for i in range(lanes)]
    second = [i + bit if not i & bit else lanes + i for i in range(lanes)]
    if not b:
        first, second, b = [i & ~bit for i in range(lanes)], [i | bit for i in range(lanes)], a
    return [
        code.put(
            f"shufflevector {of} {a}, {of} {b}, "
            f"<{lanes} x i32> <{', '.join(f'i32 {p}' for p in picks)}>"
        )
        for picks in (first, second)
    ]
