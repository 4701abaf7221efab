"""The loops that run a tape, as LLVM text: one case per kind of instruction, forward and back.

Operands are fetched one by one.  Where a kind calls a mathematical function and the instructions of
a run do not need each other, several are computed as one vector: the same bits, in a fraction of
the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from chainrule.lower.fuse import Taped
from chainrule.lower.kinds import Kind
from chainrule.lower.lanes import Locate
from chainrule.lower.scalars import SCALARS, Code
from chainrule.lower.tape import APART, FLAGS, REVERSED, Tape
from chainrule.lower.values import BOOL, DOUBLE, KNOWN, Value, ordered

LANES = 8
WORD = 4  # bytes of a number on the tape


def tape_function(name: str, step: Taped, locate: Locate) -> Code:
    """The step that runs a tape: inputs into their slots, forward, back, results out of theirs."""
    tape: Tape = step.value.params.node.attrs["tape"]
    writer = _StepWriter(tape, locate)
    writer.run(step)
    code = writer.code
    code.as_step(name)
    parts = [_forward_case(k, kind) for k, kind in enumerate(tape.kinds)]
    parts += [_forward_loop(tape.kinds), _collect()]
    if tape.sweeps:
        parts += [_reverse_case(k, kind) for k, kind in enumerate(tape.kinds) if kind.flows]
        parts.append(_reverse_loop(tape.kinds))
    for part in parts:
        code.lines += part.lines
        code.declares |= part.declares
        code.functions |= part.functions
    return code


class _StepWriter:
    """Writes the frame around the loops of a tape."""

    def __init__(self, tape: Tape, locate: Locate):
        self.tape, self.locate = tape, locate
        self.code = Code()

    def run(self, step: Taped) -> None:
        tape, code = self.tape, self.code
        values = code.pointer(*self.locate(step.room))
        self._copy(values, 0, self._held(tape.given), len(tape.given))
        for (first, size, dtype), (given, _) in zip(tape.inputs, step.value.args, strict=True):
            source = code.pointer(*self.locate(given))
            if dtype == BOOL:
                word = code.put(f"zext i8 {code.put(f'load i8, ptr {source}')} to i64")
                code.line(f"store i64 {word}, ptr {self._at(values, first)}, align 8")
            else:
                self._copy(values, first, source, size)
        operands = self._held(tape.operands)
        runs, end = self._stretch(tape.runs)
        given = f"ptr {runs}, ptr {end}, ptr {operands}, i64 {len(tape.given)}"
        code.line(f"call void @forward(ptr {values}, {given})")
        self._results(step, -1, values)
        for k, sweep in enumerate(tape.sweeps):
            adjoints = self._at(values, tape.slots)
            self._clear(adjoints, tape.slots)
            seed = code.constant(sweep.seed, "f64", 1)
            code.line(f"store double {seed}, ptr {self._at(adjoints, sweep.slot)}, align 8")
            runs, end = self._stretch(sweep.runs)
            last = self._at(operands, len(tape.operands), "i32")
            given = f"ptr {runs}, ptr {end}, ptr {last}, i64 {tape.slots}"
            code.line(f"call void @reverse(ptr {values}, ptr {adjoints}, {given})")
            self._results(step, k, adjoints)

    def _held(self, array: np.ndarray) -> str:
        """A pointer to an array that is kept with the code."""
        flat = array.reshape(-1) if array.size else np.zeros(1, array.dtype)
        return self.code.pointer(
            *self.locate(Value("constant", flat.shape, flat.dtype, params=flat))
        )

    def _stretch(self, runs: np.ndarray) -> tuple[str, str]:
        start = self._held(runs)
        return start, self._at(start, runs.size, "i32")

    def _at(self, base: str, index: int, element: str = "double") -> str:
        return self.code.put(f"getelementptr {element}, ptr {base}, i64 {index}") if index else base

    def _copy(self, values: str, first: int, source: str, words: int) -> None:
        self.code.declares.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        into = self._at(values, first)
        given = f"ptr align 8 {into}, ptr align 8 {source}, i64 {8 * words}, i1 false"
        self.code.line(f"call void @llvm.memcpy.p0.p0.i64({given})")

    def _clear(self, memory: str, words: int) -> None:
        self.code.declares.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        given = f"ptr align 8 {memory}, i8 0, i64 {8 * words}, i1 false"
        self.code.line(f"call void @llvm.memset.p0.i64({given})")

    def _results(self, step: Taped, sweep: int, memory: str) -> None:
        """Bring results from their slots to where they belong."""
        code = self.code
        for value in step.results:
            result = self.tape.results[value.params]
            if result.sweep != sweep:
                continue
            slots, into = result.slots, code.pointer(*self.locate(value))
            if result.dtype == BOOL:
                word = code.put(f"load i64, ptr {self._at(memory, int(slots[0]))}, align 8")
                code.line(f"store i8 {code.put(f'trunc i64 {word} to i8')}, ptr {into}")
            elif len(slots) and (np.diff(slots) == 1).all():  # one after the other
                self._copy(into, 0, self._at(memory, int(slots[0])), len(slots))
            elif len(slots):
                given = f"ptr {into}, ptr {memory}, ptr {self._held(slots)}, i64 {len(slots)}"
                code.line(f"call void @collect({given})")


def worth_vectors(kind: Kind, values: Sequence[Value]) -> bool:
    """Whether several are computed at once: loads and stores alone would not be faster."""
    order = ordered(list(values))
    doubles = all(dtype == DOUBLE for dtype in (*kind.operands, kind.dtype))
    return doubles and any(v.kind == "map" and v.params not in SCALARS for v in order)


class _Body:
    """The code for one instruction, or for LANES of them, at index `at` of a run."""

    def __init__(self, code: Code, kind: Kind, at: str, lanes: int):
        self.code, self.kind, self.at, self.lanes = code, kind, at, lanes
        self.places: dict[int, list[str]] = {}  # per operand, the slot of each lane
        self.known: dict[Value, str] = {}

    def slots(self, j: int) -> list[str]:
        """The slots of operand j."""
        if j not in self.places:
            code = self.code
            index = self.at
            if j:
                before = code.put(f"mul i64 %count, {j}")
                index = code.put(f"add i64 {self.at}, {before}")
            found = []
            for lane in range(self.lanes):
                at = code.put(f"add i64 {index}, {lane}") if lane else index
                address = code.put(f"getelementptr i32, ptr %operands, i64 {at}")
                slot = code.put(f"load i32, ptr {address}, align {WORD}")
                found.append(code.put(f"zext i32 {slot} to i64"))
            self.places[j] = found
        return self.places[j]

    def fetched(self, j: int) -> str:
        """The values of operand j."""
        dtype = self.kind.operands[j]
        numbers = [_load(self.code, "%values", slot, KNOWN[dtype]) for slot in self.slots(j)]
        return numbers[0] if self.lanes == 1 else _vector(self.code, numbers)

    def own(self, base: str, dtype: object = DOUBLE) -> str:
        """What stands in the slots of the results."""
        first = self.code.put(f"add i64 %first, {self.at}")
        if self.lanes == 1:
            return _load(self.code, base, first, KNOWN[dtype])
        address = self.code.put(f"getelementptr double, ptr {base}, i64 {first}")
        return self.code.put(f"load <{LANES} x double>, ptr {address}, align 8")

    def store(self, value: str) -> None:
        code = self.code
        first = code.put(f"add i64 %first, {self.at}")
        address = code.put(f"getelementptr double, ptr %values, i64 {first}")
        kind = KNOWN[self.kind.dtype]
        if kind == "i1":
            value, kind = code.put(f"zext i1 {value} to i64"), "i64"
        code.line(f"store {code.type(kind, self.lanes)} {value}, ptr {address}, align 8")

    def add(self, j: int, value: str) -> None:
        """Add to the adjoints of operand j, one after the other."""
        code = self.code
        for lane, slot in enumerate(self.slots(j)):
            term = value
            if self.lanes > 1:
                term = code.put(f"extractelement <{LANES} x double> {value}, i64 {lane}")
            address = code.put(f"getelementptr double, ptr %adjoints, i64 {slot}")
            before = code.put(f"load double, ptr {address}, align 8")
            after = code.put(f"fadd double {before}, {term}")
            code.line(f"store double {after}, ptr {address}, align 8")

    def computed(self, values: Sequence[Value]) -> list[str]:
        """Text of these values."""
        for v in ordered(list(values)):
            if v.kind == "map":
                kinds = [KNOWN[a.dtype] for a, _ in v.args]
                args = [self._operand(a) for a, _ in v.args]
                result = self.code.apply(v.params, kinds[-1], self.lanes, args, KNOWN[v.dtype])
                self.known[v] = result
        return [self._operand(v) for v in values]

    def _operand(self, v: Value) -> str:
        if v.kind == "constant":
            return self.code.constant(v.params, KNOWN[v.dtype], self.lanes)
        if v not in self.known:
            j = self.kind.inputs.index(v)
            count = len(self.kind.operands)
            if j < count:
                self.known[v] = self.fetched(j)
            else:
                base = "%values" if j == count else "%adjoints"
                self.known[v] = self.own(base, v.dtype)
        return self.known[v]


def _load(code: Code, base: str, slot: str, kind: str) -> str:
    address = code.put(f"getelementptr double, ptr {base}, i64 {slot}")
    if kind == "i1":
        word = code.put(f"load i64, ptr {address}, align 8")
        return code.put(f"icmp ne i64 {word}, 0")
    return code.put(f"load {code.type(kind, 1)}, ptr {address}, align 8")


def _vector(code: Code, numbers: list[str]) -> str:
    found = "poison"
    for lane, number in enumerate(numbers):
        found = code.put(f"insertelement <{LANES} x double> {found}, double {number}, i64 {lane}")
    return found


def _forward_case(k: int, kind: Kind) -> Code:
    def body(code: Code, at: str, lanes: int) -> None:
        one = _Body(code, kind, at, lanes)
        (value,) = one.computed([kind.forward])
        one.store(value)

    vectors = worth_vectors(kind, [kind.forward])
    return _case(f"forward{k}", "ptr %values", body, vectors, False)


def _reverse_case(k: int, kind: Kind) -> Code:
    flowing = [(j, v) for j, v in enumerate(kind.reverse) if v is not None]

    def body(code: Code, at: str, lanes: int) -> None:
        one = _Body(code, kind, at, lanes)
        parts = one.computed([v for _, v in flowing])
        for (j, _), part in zip(flowing, parts, strict=True):
            one.add(j, part)

    vectors = worth_vectors(kind, [v for _, v in flowing])
    return _case(f"reverse{k}", "ptr %values, ptr %adjoints", body, vectors, True)


def _case(
    name: str,
    memory: str,
    body: Callable[[Code, str, int], None],
    vectors: bool,
    backwards: bool,
) -> Code:
    """One run: `body` for whole vectors, then for what is left; backwards, the other way round."""
    code = Code()
    rest = "ptr %operands, i64 %first, i64 %count, i1 %apart"
    code.lines = [f"define internal void @{name}({memory}, {rest}) alwaysinline nounwind {{"]
    code.lines.append("entry:")
    upto = "0"
    if vectors:
        whole = code.put(f"and i64 %count, {-LANES}")
        upto = code.put(f"select i1 %apart, i64 {whole}, i64 0")
    stretches = [("0", upto, LANES)] if vectors else []
    stretches.append((upto, "%count", 1))
    before = "entry"
    for start, stop, lanes in reversed(stretches) if backwards else stretches:
        before = _stretch(code, before, start, stop, lanes, body, backwards)
    code.lines += ["  ret void", "}", ""]
    return code


def _stretch(
    code: Code,
    before: str,
    start: str,
    stop: str,
    lanes: int,
    body: Callable[[Code, str, int], None],
    backwards: bool,
) -> str:
    """A loop from start to stop, up or down; the label of the block after it."""
    head, inside, after = f"head{lanes}", f"body{lanes}", f"after{lanes}"
    begin, end = (stop, start) if backwards else (start, stop)
    code.line(f"br label %{head}")
    code.lines.append(f"{head}:")
    i, following = f"%i{lanes}", f"%next{lanes}"
    code.line(f"{i} = phi i64 [ {begin}, %{before} ], [ {following}, %{inside} ]")
    on = code.put(f"icmp {'ugt' if backwards else 'ult'} i64 {i}, {end}")
    code.line(f"br i1 {on}, label %{inside}, label %{after}")
    code.lines.append(f"{inside}:")
    code.line(f"{following} = {'sub' if backwards else 'add'} i64 {i}, {lanes}")
    body(code, following if backwards else i, lanes)
    code.line(f"br label %{head}")
    code.lines.append(f"{after}:")
    return after


def _forward_loop(kinds: Sequence[Kind]) -> Code:
    """`@forward(values, runs, end of them, operands, first slot)`."""
    code = Code()
    cases = " ".join(f"i32 {k}, label %kind{k}" for k in range(len(kinds)))
    code.lines = f"""
define internal void @forward(ptr %values, ptr %runs, ptr %end, ptr %list, i64 %start) nounwind {{
entry:
  br label %next
next:
  %run = phi ptr [ %runs, %entry ], [ %run1, %done ]
  %operands = phi ptr [ %list, %entry ], [ %list1, %done ]
  %first = phi i64 [ %start, %entry ], [ %first1, %done ]
  %more = icmp ult ptr %run, %end
  br i1 %more, label %dispatch, label %over
dispatch:
{_run_header()}
  switch i32 %kind, label %over [ {cases} ]""".splitlines()[1:]
    used = []
    for k, kind in enumerate(kinds):
        code.lines.append(f"kind{k}:")
        given = "ptr %operands, i64 %first, i64 %count, i1 %apart"
        code.line(f"call void @forward{k}(ptr %values, {given})")
        code.line(f"%used{k} = mul i64 %count, {WORD * len(kind.operands)}")
        code.line("br label %done")
        used.append(f"[ %used{k}, %kind{k} ]")
    code.lines += f"""
done:
  %used = phi i64 {", ".join(used)}
  %list1 = getelementptr i8, ptr %operands, i64 %used
  %first1 = add i64 %first, %count
  %run1 = getelementptr i8, ptr %run, i64 8
  br label %next
over:
  ret void
}}
""".splitlines()[1:]
    return code


def _reverse_loop(kinds: Sequence[Kind]) -> Code:
    """`@reverse(values, adjoints, runs, end of them, end of operands, slot after the last)`."""
    code = Code()
    cases = " ".join(f"i32 {k}, label %kind{k}" for k in range(len(kinds)))
    given = "ptr %values, ptr %adjoints, ptr %runs, ptr %end, ptr %list, i64 %stop"
    code.lines = f"""
define internal void @reverse({given}) nounwind {{
entry:
  br label %next
next:
  %run1 = phi ptr [ %end, %entry ], [ %run, %done ]
  %list1 = phi ptr [ %list, %entry ], [ %operands, %done ]
  %first1 = phi i64 [ %stop, %entry ], [ %first, %done ]
  %more = icmp ugt ptr %run1, %runs
  br i1 %more, label %dispatch, label %over
dispatch:
  %run = getelementptr i8, ptr %run1, i64 -8
{_run_header()}
  %flag = and i32 %word, {REVERSED}
  %skipped = icmp eq i32 %flag, 0
  %first = sub i64 %first1, %count
  switch i32 %kind, label %over [ {cases} ]""".splitlines()[1:]
    places = []
    for k, kind in enumerate(kinds):
        code.lines.append(f"kind{k}:")
        code.line(f"%used{k} = mul i64 %count, {-WORD * len(kind.operands)}")
        code.line(f"%at{k} = getelementptr i8, ptr %list1, i64 %used{k}")
        places.append(f"[ %at{k}, %kind{k} ]")
        if kind.flows:
            code.line(f"br i1 %skipped, label %done, label %case{k}")
            code.lines.append(f"case{k}:")
            given = f"ptr %at{k}, i64 %first, i64 %count, i1 %apart"
            code.line(f"call void @reverse{k}(ptr %values, ptr %adjoints, {given})")
            places.append(f"[ %at{k}, %case{k} ]")
        code.line("br label %done")
    code.lines += f"""
done:
  %operands = phi ptr {", ".join(places)}
  br label %next
over:
  ret void
}}
""".splitlines()[1:]
    return code


def _run_header() -> str:
    return f"""\
  %word = load i32, ptr %run, align {WORD}
  %behind = getelementptr i8, ptr %run, i64 {WORD}
  %length = load i32, ptr %behind, align {WORD}
  %count = zext i32 %length to i64
  %kind = lshr i32 %word, {FLAGS}
  %bit = and i32 %word, {APART}
  %apart = icmp ne i32 %bit, 0"""


def _collect() -> Code:
    """`@collect(into, slots of eight bytes, which of them, how many)`."""
    code = Code()
    code.lines = """
define internal void @collect(ptr %into, ptr %memory, ptr %which, i64 %count) nounwind {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
  %at = getelementptr i32, ptr %which, i64 %i
  %short = load i32, ptr %at, align 4
  %slot = zext i32 %short to i64
  %from = getelementptr i64, ptr %memory, i64 %slot
  %word = load i64, ptr %from, align 8
  %to = getelementptr i64, ptr %into, i64 %i
  store i64 %word, ptr %to, align 8
  %following = add i64 %i, 1
  %more = icmp ult i64 %following, %count
  br i1 %more, label %next, label %over
over:
  ret void
}
""".splitlines()[1:]
    return code
