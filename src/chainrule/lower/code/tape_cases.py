"""The code for one run of a tape: a case per kind of instruction, forward and back.

A case comes twice: for one instruction, and for a run of several.  In a run whose
instructions do not need each other, those that call a mathematical function are computed several at
a time as vectors: the same bits, in a fraction of the time.

The last value, or in the reverse pass the last adjoint that was added to, stays in a register
together with the number of its slot: a chain, in which each instruction needs the one before, then
does not wait for memory.

Where a tape is larger than a near cache, the slots that a run will need are fetched ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from chainrule.lower.code.lines import Code
from chainrule.lower.code.scalars import SCALARS, apply
from chainrule.lower.tape.kinds import Kind
from chainrule.lower.values.value import DOUBLE, KNOWN, Value, ordered

AHEAD = 64  # instructions
WORD = 4  # bytes of a number on the tape
STATE = "{double, i64}"  # what the register holds, and its slot (-1: none)
RUN = "ptr %operands, ptr %saved, i64 %first, i64 %count, i1 %apart"
LAST = "double %last, i64 %held"


def forward_cases(k: int, kind: Kind, large: bool, lanes: int) -> list[Code]:
    """`@forward{k}` for a run, `@forward_one{k}` for one instruction: the last value and slot."""

    def body(block: Block, at: str, lanes: int, keeps: bool) -> None:
        one = _Body(kind, at, lanes, block, keeps)
        if large:
            one.fetch_ahead("%values", AHEAD)
        (value,) = one.computed([kind.forward])
        one.known[kind.inputs[len(kind.operands)]] = value
        for i, saved in enumerate(one.computed(kind.saved)):
            one.save(i, saved)
        one.store(value)

    wide = lanes if _worth_vectors(kind, [kind.forward, *kind.saved]) else 1
    return [
        _case(f"forward{k}", f"ptr %values, {RUN}, {LAST}", body, wide, False),
        _single(f"forward_one{k}", f"ptr %values, {RUN}, {LAST}", body),
    ]


def reverse_cases(k: int, kind: Kind, large: bool, lanes: int) -> list[Code]:
    """`@reverse{k}` and `@reverse_one{k}`: they add to the adjoints of the operands.

    They return the last adjoint that was added to, and its slot.
    """
    flowing = [(j, v) for j, v in enumerate(kind.reverse) if v is not None]

    def body(block: Block, at: str, lanes: int, keeps: bool) -> None:
        one = _Body(kind, at, lanes, block, keeps)
        if large:
            one.fetch_ahead("%adjoints", -AHEAD)
        if keeps:
            one.known[kind.inputs[len(kind.operands) + 1]] = one.incoming(block)
        parts = one.computed([v for _, v in flowing])
        for (j, _), part in zip(flowing, parts, strict=True):
            one.add(j, part)

    wide = lanes if _worth_vectors(kind, [v for _, v in flowing]) else 1
    given = f"ptr %values, ptr %adjoints, {RUN}, {LAST}"
    return [
        _case(f"reverse{k}", given, body, wide, True),
        _single(f"reverse_one{k}", given, body),
    ]


def _worth_vectors(kind: Kind, values: Sequence[Value]) -> bool:
    """Whether several are computed at once: loads and stores alone would not be faster."""
    doubles = all(dtype == DOUBLE for dtype in (*kind.operands, kind.dtype))
    maths = (v.kind == "map" and v.params not in SCALARS for v in ordered(list(values)))
    return doubles and any(maths)


class Block:
    """Where code stands: in which block, and what the last value is called, and its slot."""

    def __init__(self, code: Code, last: str = "%last", held: str = "%held"):
        self.code, self.last, self.held = code, last, held
        self.enter("entry")

    def enter(self, label: str) -> None:
        self.code.lines.append(f"{label}:")
        self.label = label

    def either(self, condition: str, yes: str, no: Callable[[], str]) -> str:
        """One number or another, which is only computed where it is needed."""
        code = self.code
        code.count += 1
        other, both = f"other{code.count}", f"both{code.count}"
        before = self.label
        code.line(f"br i1 {condition}, label %{both}, label %{other}")
        self.enter(other)
        found = no()
        code.line(f"br label %{both}")
        self.enter(both)
        return code.put(f"phi double [ {yes}, %{before} ], [ {found}, %{other} ]")

    def finish(self) -> Code:
        code = self.code
        one = code.put(f"insertvalue {STATE} poison, double {self.last}, 0")
        both = code.put(f"insertvalue {STATE} {one}, i64 {self.held}, 1")
        code.lines += [f"  ret {STATE} {both}", "}", ""]
        return code


class _Body:
    """The code for one instruction, or for several side by side, at index `at` of a run.

    If it `keeps`, the last value is used and replaced.
    """

    def __init__(self, kind: Kind, at: str, lanes: int, block: Block, keeps: bool):
        self.code = code = block.code
        self.kind, self.at, self.lanes = kind, at, lanes
        self.block = block if keeps else None
        self.added = False
        self.first = "%first" if at == "0" else code.put(f"add i64 %first, {at}")
        self.places: dict[int, list[str]] = {}  # per operand, the slot of each lane
        self.known: dict[Value, str] = {}

    def slots(self, j: int) -> list[str]:
        """The slots of operand j."""
        if j not in self.places:
            self.places[j] = self._slots(self._place(self.at, j))
        return self.places[j]

    def _place(self, at: str, j: int) -> str:
        """Where the j-th of several numbers stands: all first ones come first."""
        if not j:
            return at
        if at == "0":  # of one
            return str(j)
        return self.code.put(f"add i64 {at}, {self.code.put(f'mul i64 %count, {j}')}")

    def _slots(self, at: str) -> list[str]:
        return [self._slot(at, lane) for lane in range(self.lanes)]

    def _slot(self, at: str, lane: int) -> str:
        code = self.code
        if lane:
            at = code.put(f"add i64 {at}, {lane}")
        address = code.put(f"getelementptr i32, ptr %operands, i64 {at}")
        return code.put(f"zext i32 {code.put(f'load i32, ptr {address}, align {WORD}')} to i64")

    def fetch_ahead(self, base: str, distance: int) -> None:
        """Have memory brought that an instruction of this run will need, some way ahead."""
        if self.at == "0":  # of one
            return
        code = self.code
        code.declares.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        use = int(base == "%adjoints")  # they are written
        far = code.put(f"add i64 {self.at}, {distance}")
        behind = code.put(f"add i64 {far}, {self.lanes}")  # before the first it is negative: huge
        inside = code.put(f"icmp ule i64 {behind}, %count")
        far = code.put(f"select i1 {inside}, i64 {far}, i64 {self.at}")
        for j in range(len(self.kind.operands)):
            for slot in self._slots(self._place(far, j)):
                address = code.put(f"getelementptr double, ptr {base}, i64 {slot}")
                code.line(f"call void @llvm.prefetch.p0(ptr {address}, i32 {use}, i32 3, i32 1)")

    def fetched(self, j: int) -> str:
        """The values of operand j."""
        code, dtype, slots = self.code, self.kind.operands[j], self.slots(j)
        if self.block is not None and dtype == DOUBLE:
            same = code.put(f"icmp eq i64 {slots[0]}, {self.block.held}")
            load = partial(_load, code, "%values", slots[0], "f64")
            return self.block.either(same, self.block.last, load)
        numbers = [_load(code, "%values", slot, KNOWN[dtype]) for slot in slots]
        return numbers[0] if self.lanes == 1 else _vector(code, numbers)

    def incoming(self, block: Block) -> str:
        """The adjoint of the one result."""
        same = self.code.put(f"icmp eq i64 {self.first}, {block.held}")
        return block.either(
            same, block.last, lambda: _load(self.code, "%adjoints", self.first, "f64")
        )

    def own(self, base: str, dtype: Any) -> str:
        """What stands in the slots of the results."""
        return _load(self.code, base, self.first, KNOWN[dtype], self.lanes)

    def read_back(self, i: int) -> str:
        """The i-th of what was saved."""
        dtype = self.kind.saved[i].dtype
        return _load(self.code, "%saved", self._place(self.at, i), KNOWN[dtype], self.lanes)

    def save(self, i: int, value: str) -> None:
        self._write("%saved", self._place(self.at, i), KNOWN[self.kind.saved[i].dtype], value)

    def store(self, value: str) -> None:
        kind = KNOWN[self.kind.dtype]
        if self.block is not None and kind == "f64":
            self.block.last, self.block.held = value, self.first
        self._write("%values", self.first, kind, value)

    def _write(self, base: str, at: str, kind: str, value: str) -> None:
        code = self.code
        address = code.put(f"getelementptr double, ptr {base}, i64 {at}")
        if kind == "i1":
            narrow, kind = code.type("i1", self.lanes), "i64"
            value = code.put(f"zext {narrow} {value} to {code.type('i64', self.lanes)}")
        code.line(f"store {code.type(kind, self.lanes)} {value}, ptr {address}, align 8")

    def add(self, j: int, value: str) -> None:
        """Add to the adjoints of operand j, one after the other."""
        code = self.code
        for lane, slot in enumerate(self.slots(j)):
            term = value
            if self.lanes > 1:
                term = code.put(f"extractelement <{self.lanes} x double> {value}, i64 {lane}")
            address = code.put(f"getelementptr double, ptr %adjoints, i64 {slot}")
            before = code.put(f"load double, ptr {address}, align 8")
            after = code.put(f"fadd double {before}, {term}")
            code.line(f"store double {after}, ptr {address}, align 8")
            if self.block is not None:
                self._remember(slot, after, self.block)

    def _remember(self, slot: str, adjoint: str, block: Block) -> None:
        """Of several, the one that belongs to the next instruction of the reverse pass."""
        code = self.code
        if not self.added:
            self.added, block.last, block.held = True, adjoint, slot
            return
        following = code.put(f"sub i64 {self.first}, 1")
        taken = code.put(f"icmp eq i64 {slot}, {following}")
        again = code.put(f"icmp eq i64 {slot}, {block.held}")  # as in x * x
        taken = code.put(f"or i1 {taken}, {again}")
        block.last = code.put(f"select i1 {taken}, double {adjoint}, double {block.last}")
        block.held = code.put(f"select i1 {taken}, i64 {slot}, i64 {block.held}")

    def computed(self, values: Sequence[Value]) -> list[str]:
        """Text of these values."""
        for v in ordered(list(values)):
            if v.kind == "map":
                kinds = [KNOWN[a.dtype] for a, _ in v.args]
                args = [self._operand(a) for a, _ in v.args]
                result = apply(self.code, v.params, kinds[-1], self.lanes, args, KNOWN[v.dtype])
                self.known[v] = result
        return [self._operand(v) for v in values]

    def _operand(self, v: Value) -> str:
        if v.kind == "constant":
            return self.code.constant(v.params, KNOWN[v.dtype], self.lanes)
        if v not in self.known:
            self.known[v] = self._given(self.kind.inputs.index(v), v.dtype)
        return self.known[v]

    def _given(self, j: int, dtype: Any) -> str:
        count = len(self.kind.operands)
        if j < count:
            return self.fetched(j)
        if j < count + 2:
            return self.own("%values" if j == count else "%adjoints", dtype)
        return self.read_back(j - count - 2)


def _load(code: Code, base: str, slot: str, kind: str, lanes: int = 1) -> str:
    address = code.put(f"getelementptr double, ptr {base}, i64 {slot}")
    if kind == "i1":
        words = code.type("i64", lanes)
        word = code.put(f"load {words}, ptr {address}, align 8")
        return code.put(f"icmp ne {words} {word}, {'zeroinitializer' if lanes > 1 else 0}")
    return code.put(f"load {code.type(kind, lanes)}, ptr {address}, align 8")


def _vector(code: Code, numbers: list[str]) -> str:
    found = "poison"
    for lane, number in enumerate(numbers):
        found = code.put(
            f"insertelement <{len(numbers)} x double> {found}, double {number}, i64 {lane}"
        )
    return found


Write = Callable[[Block, str, int, bool], None]


def _opened(name: str, given: str) -> Block:
    code = Code()
    code.lines = [f"define internal {STATE} @{name}({given}) alwaysinline nounwind {{"]
    return Block(code)


def _single(name: str, given: str, body: Write) -> Code:
    """A run of one instruction."""
    block = _opened(name, given)
    body(block, "0", 1, True)
    return block.finish()


def _case(name: str, given: str, body: Write, lanes: int, backwards: bool) -> Code:
    """One run: those that do not need each other, in vectors if that pays, then one by one.

    Backwards it is the other way round.
    """
    block = _opened(name, given)
    whole = block.code.put(f"and i64 %count, {-lanes}")
    upto = block.code.put(f"select i1 %apart, i64 {whole}, i64 0")
    stretches = [("0", upto, lanes, False), (upto, "%count", 1, True)]
    for begin, end, wide, keeps in reversed(stretches) if backwards else stretches:
        _stretch(block, begin, end, body, wide, keeps, backwards)
    if backwards:  # what was added apart is not in the register
        none = block.code.put(f"icmp ne i64 {upto}, 0")
        block.held = block.code.put(f"select i1 {none}, i64 -1, i64 {block.held}")
    return block.finish()


def _stretch(
    block: Block, begin: str, end: str, body: Write, lanes: int, keeps: bool, backwards: bool
) -> None:
    """A loop from one index to another, or back."""
    code = block.code
    name = "kept" if keeps else "apart"
    if backwards:
        begin, end = end, begin
    before, last, held = block.label, block.last, block.held
    i, following = f"%{name}_i", f"%{name}_next"
    code.line(f"br label %{name}_head")
    block.enter(f"{name}_head")
    place = len(code.lines)  # of the phis, which name what comes later
    if keeps:
        block.last, block.held = "%kept_last", "%kept_held"
    on = code.put(f"icmp {'ugt' if backwards else 'ult'} i64 {i}, {end}")
    code.line(f"br i1 {on}, label %{name}_body, label %{name}_over")
    block.enter(f"{name}_body")
    code.line(f"{following} = {'sub' if backwards else 'add'} i64 {i}, {lanes}")
    body(block, following if backwards else i, lanes, keeps)
    code.line(f"br label %{name}_head")
    ways = f"%{before}", f"%{block.label}"
    phis = [f"  {i} = phi i64 [ {begin}, {ways[0]} ], [ {following}, {ways[1]} ]"]
    if keeps:
        phis += [
            f"  %kept_last = phi double [ {last}, {ways[0]} ], [ {block.last}, {ways[1]} ]",
            f"  %kept_held = phi i64 [ {held}, {ways[0]} ], [ {block.held}, {ways[1]} ]",
        ]
        block.last, block.held = "%kept_last", "%kept_held"
    code.lines[place:place] = phis
    block.enter(f"{name}_over")
