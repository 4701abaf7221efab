"""A tape as a step of the program: the loops over its runs, and how data gets in and out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from chainrule.lower.code.lanes import Frame
from chainrule.lower.code.lines import Code
from chainrule.lower.code.tape_cases import LAST, RUN, STATE, WORD, forward_cases, reverse_cases
from chainrule.lower.plan.fuse import Taped
from chainrule.lower.tape.kinds import Kind
from chainrule.lower.tape.tape import APART, KIND, LENGTH, ONE, REVERSED, Tape
from chainrule.lower.values.value import BOOL, Value

MAX_WORDS_ALONE = 16  # numbers with a line of code each; more of them are moved by a loop


def tape_function(name: str, step: Taped, frame: Frame) -> Code:
    """The step that runs a tape: inputs into their slots, forward, back, results out of theirs."""
    tape = step.tape
    writer = _StepWriter(tape, frame)
    writer.run(step)
    code = writer.code
    code.as_step(name)
    large, lanes = 8 * tape.slots > frame.target.cache_bytes, frame.target.lanes(8)
    parts = [
        part for k, kind in enumerate(tape.kinds) for part in forward_cases(k, kind, large, lanes)
    ]
    parts += [_forward_loop(tape.kinds), _collect("i8"), _collect("i64")]
    parts += [_move_words("in"), _move_words("out")]
    if tape.sweeps:
        flowing = [(k, kind) for k, kind in enumerate(tape.kinds) if kind.flows]
        parts += [part for k, kind in flowing for part in reverse_cases(k, kind, large, lanes)]
        parts.append(_reverse_loop(tape.kinds))
    for part in parts:
        code.lines += part.lines
        code.declares |= part.declares
        code.functions |= part.functions
    return code


class _StepWriter:
    """Writes the frame around the loops of a tape."""

    def __init__(self, tape: Tape, frame: Frame):
        self.tape, self.frame = tape, frame
        self.code = Code()

    def run(self, step: Taped) -> None:
        tape, code = self.tape, self.code
        values = self.frame.pointer(code, step.buffer)
        self._copy(values, 0, self._held(tape.given), len(tape.given))
        words: list[tuple[Value, int]] = []
        for (first, size, dtype), (given, _) in zip(tape.inputs, step.value.args, strict=True):
            if dtype != BOOL and size == 1:
                words.append((given, first))
                continue
            source = self.frame.pointer(code, given)
            if dtype == BOOL:
                word = code.put(f"zext i8 {code.put(f'load i8, ptr {source}')} to i64")
                code.line(f"store i64 {word}, ptr {self._at(values, first)}, align 8")
            else:
                self._copy(values, first, source, size)
        self._move_words(words, values, "in")
        operands = self._held(tape.operands)
        runs, end = self._stretch(tape.runs)
        saved = self._at(values, 2 * tape.slots) if tape.sweeps else values
        handed = f"ptr {runs}, ptr {end}, ptr {operands}, ptr {saved}, i64 {len(tape.given)}"
        code.line(f"call void @forward(ptr {values}, {handed})")
        self._results(step, -1, values)
        for k, sweep in enumerate(tape.sweeps):
            adjoints = self._at(values, tape.slots)
            code.clear(adjoints, 8 * tape.slots, "align 8 ")
            seed = code.constant(sweep.seed, "f64", 1)
            code.line(f"store double {seed}, ptr {self._at(adjoints, sweep.slot)}, align 8")
            runs, end = self._stretch(sweep.runs)
            last = self._at(operands, len(tape.operands), "i32")
            behind = self._at(saved, tape.saved)
            handed = f"ptr {runs}, ptr {end}, ptr {last}, ptr {behind}, i64 {tape.slots}"
            code.line(f"call void @reverse(ptr {values}, ptr {adjoints}, {handed})")
            self._results(step, k, adjoints)

    def _held(self, array: np.ndarray) -> str:
        """A pointer to an array that is kept with the code."""
        flat = array.reshape(-1) if array.size else np.zeros(1, array.dtype)
        kept = Value("constant", flat.shape, flat.dtype, params=flat)
        return self.frame.pointer(self.code, kept)

    def _stretch(self, runs: np.ndarray) -> tuple[str, str]:
        start = self._held(runs)
        return start, self._at(start, runs.size, "i32")

    def _at(self, base: str, index: int, element: str = "double") -> str:
        return self.code.put(f"getelementptr {element}, ptr {base}, i64 {index}") if index else base

    def _copy(self, values: str, first: int, source: str, words: int) -> None:
        self.code.copy(self._at(values, first), source, 8 * words, "align 8 ")

    def _results(self, step: Taped, sweep: int, memory: str) -> None:
        """Bring results from their slots to where they belong."""
        code = self.code
        words: list[tuple[Value, int]] = []
        for value in step.results:
            result = self.tape.results[value.params]
            if result.sweep != sweep:
                continue
            slots = result.slots
            if result.dtype != BOOL and len(slots) == 1:
                words.append((value, int(slots[0])))
                continue
            into = self.frame.pointer(code, value)
            in_line = result.dtype != BOOL and (np.diff(slots) == 1).all()
            if len(slots) and in_line:
                self._copy(into, 0, self._at(memory, int(slots[0])), len(slots))
            elif len(slots):
                given = f"ptr {into}, ptr {memory}, ptr {self._held(slots)}, i64 {len(slots)}"
                code.line(f"call void @collect_{'i8' if result.dtype == BOOL else 'i64'}({given})")
        self._move_words(words, memory, "out")

    def _move_words(self, words: list[tuple[Value, int]], memory: str, way: str) -> None:
        """Numbers of eight bytes between where each lies and its slot of `memory`."""
        if len(words) > MAX_WORDS_ALONE:
            places = [(*self.frame.locate(value)[:2], slot) for value, slot in words]
            given = f"ptr {memory}, ptr {self._held(np.array(places, np.int64))}, i64 {len(words)}"
            self.code.line(f"call void @words_{way}(ptr {self.code.table()}, {given})")
            return
        for value, slot in words:
            there, here = self.frame.pointer(self.code, value), self._at(memory, slot)
            self._copy(*((here, 0, there) if way == "in" else (there, 0, here)), 1)


def _cases(kinds: Sequence[Kind], word: str) -> str:
    """The switch: per kind a run, and one instruction alone."""
    numbers = " ".join(
        f"i32 {2 * k + one}, label %{'one' if one else 'kind'}{k}"
        for k in range(len(kinds))
        for one in (0, 1)
    )
    return f"  switch i32 {word}, label %over [ {numbers} ]"


def _both(kinds: Sequence[Kind], way: str) -> Iterator[tuple[Kind, str, str, str]]:
    """The labels of the switch, the functions that they call, and for how many instructions."""
    for k, kind in enumerate(kinds):
        yield kind, f"kind{k}", f"{way}{k}", "%count"
        yield kind, f"one{k}", f"{way}_one{k}", "1"


def _forward_loop(kinds: Sequence[Kind]) -> Code:
    """`@forward(values, runs, end of them, operands, buffer for what is saved, first slot)`."""
    code = Code()
    given = "ptr %values, ptr %runs, ptr %end, ptr %list, ptr %buffer, i64 %start"
    code.lines = f"""
define internal void @forward({given}) nounwind {{
entry:
  br label %next
next:
  %run = phi ptr [ %runs, %entry ], [ %run1, %done ]
  %operands = phi ptr [ %list, %entry ], [ %list1, %done ]
  %saved = phi ptr [ %buffer, %entry ], [ %saved1, %done ]
  %first = phi i64 [ %start, %entry ], [ %first1, %done ]
  %last = phi double [ 0.0, %entry ], [ %last1, %done ]
  %held = phi i64 [ -1, %entry ], [ %held1, %done ]
  %more = icmp ult ptr %run, %end
  br i1 %more, label %dispatch, label %over
dispatch:
{_run_header()}
{_cases(kinds, "%kind")}""".splitlines()[1:]
    used, filled, slots, states = [], [], [], []
    for kind, label, name, count in _both(kinds, "forward"):
        given = RUN.replace("%count", count)
        code.lines.append(f"{label}:")
        code.line(f"%state_{label} = call {STATE} @{name}(ptr %values, {given}, {LAST})")
        code.line(f"%used_{label} = mul i64 {count}, {WORD * len(kind.operands)}")
        code.line(f"%filled_{label} = mul i64 {count}, {8 * len(kind.saved)}")
        code.line(f"%after_{label} = add i64 %first, {count}")
        code.line("br label %done")
        used.append(f"[ %used_{label}, %{label} ]")
        filled.append(f"[ %filled_{label}, %{label} ]")
        slots.append(f"[ %after_{label}, %{label} ]")
        states.append(f"[ %state_{label}, %{label} ]")
    code.lines += f"""
done:
  %used = phi i64 {", ".join(used)}
  %filled = phi i64 {", ".join(filled)}
  %first1 = phi i64 {", ".join(slots)}
  %state = phi {STATE} {", ".join(states)}
  %last1 = extractvalue {STATE} %state, 0
  %held1 = extractvalue {STATE} %state, 1
  %list1 = getelementptr i8, ptr %operands, i64 %used
  %saved1 = getelementptr i8, ptr %saved, i64 %filled
  %run1 = getelementptr i8, ptr %run, i64 {WORD}
  br label %next
over:
  ret void
}}
""".splitlines()[1:]
    return code


def _reverse_loop(kinds: Sequence[Kind]) -> Code:
    """`@reverse(values, adjoints, runs, end of them, of operands, of what was saved, of slots)`."""
    code = Code()
    given = "ptr %values, ptr %adjoints, ptr %runs, ptr %end, ptr %list, ptr %buffer, i64 %stop"
    code.lines = f"""
define internal void @reverse({given}) nounwind {{
entry:
  br label %next
next:
  %run1 = phi ptr [ %end, %entry ], [ %run, %done ]
  %list1 = phi ptr [ %list, %entry ], [ %list2, %done ]
  %saved1 = phi ptr [ %buffer, %entry ], [ %saved2, %done ]
  %first1 = phi i64 [ %stop, %entry ], [ %first, %done ]
  %last = phi double [ 0.0, %entry ], [ %last1, %done ]
  %held = phi i64 [ -1, %entry ], [ %held1, %done ]
  %more = icmp ugt ptr %run1, %runs
  br i1 %more, label %dispatch, label %over
dispatch:
  %run = getelementptr i8, ptr %run1, i64 {-WORD}
{_run_header()}
  %flag = and i32 %word, {REVERSED}
  %skipped = icmp eq i32 %flag, 0
  %first = sub i64 %first1, %count
{_cases(kinds, "%kind")}""".splitlines()[1:]
    places, kept, lasts, helds = [], [], [], []
    for kind, label, name, count in _both(kinds, "reverse"):
        code.lines.append(f"{label}:")
        code.line(f"%used_{label} = mul i64 {count}, {-WORD * len(kind.operands)}")
        code.line(f"%at_{label} = getelementptr i8, ptr %list1, i64 %used_{label}")
        code.line(f"%filled_{label} = mul i64 {count}, {-8 * len(kind.saved)}")
        code.line(f"%saved_{label} = getelementptr i8, ptr %saved1, i64 %filled_{label}")
        kept.append(f"[ %saved_{label}, %{label} ]")
        places.append(f"[ %at_{label}, %{label} ]")
        lasts.append(f"[ %last, %{label} ]")
        helds.append(f"[ %held, %{label} ]")
        if kind.flows:
            given = RUN.replace("%operands", f"%at_{label}").replace("%count", count)
            given = given.replace("%saved", f"%saved_{label}")
            given = f"ptr %values, ptr %adjoints, {given}, {LAST}"
            code.line(f"br i1 %skipped, label %done, label %back_{label}")
            code.lines.append(f"back_{label}:")
            code.line(f"%state_{label} = call {STATE} @{name}({given})")
            code.line(f"%last_{label} = extractvalue {STATE} %state_{label}, 0")
            code.line(f"%held_{label} = extractvalue {STATE} %state_{label}, 1")
            places.append(f"[ %at_{label}, %back_{label} ]")
            kept.append(f"[ %saved_{label}, %back_{label} ]")
            lasts.append(f"[ %last_{label}, %back_{label} ]")
            helds.append(f"[ %held_{label}, %back_{label} ]")
        code.line("br label %done")
    code.lines += f"""
done:
  %list2 = phi ptr {", ".join(places)}
  %saved2 = phi ptr {", ".join(kept)}
  %last1 = phi double {", ".join(lasts)}
  %held1 = phi i64 {", ".join(helds)}
  br label %next
over:
  ret void
}}
""".splitlines()[1:]
    return code


def _run_header() -> str:
    return f"""\
  %word = load i32, ptr %run, align {WORD}
  %lower = and i32 %word, {ONE - 1}
  %length = lshr i32 %lower, {LENGTH}
  %count = zext i32 %length to i64
  %kind = lshr i32 %word, {KIND - 1}
  %bit = and i32 %word, {APART}
  %apart = icmp ne i32 %bit, 0"""


def _collect(element: str) -> Code:
    """`@collect_…(into, slots of eight bytes, which of them, how many)`.

    A truth takes one byte, the lowest of its slot: the first.
    """
    return _each(
        f"collect_{element}(ptr %into, ptr %memory, ptr %which, i64 %count)",
        f"""\
  %at = getelementptr i32, ptr %which, i64 %i
  %short = load i32, ptr %at, align 4
  %slot = zext i32 %short to i64
  %from = getelementptr i64, ptr %memory, i64 %slot
  %number = load {element}, ptr %from, align 8
  %to = getelementptr {element}, ptr %into, i64 %i
  store {element} %number, ptr %to""",
    )


def _move_words(way: str) -> Code:
    """`@words_…(table, memory, places, how many)`, of which each has three numbers: a slot of the
    table, the bytes behind what that points to, and the slot of the memory."""
    there, here = ("from", "to") if way == "in" else ("to", "from")
    return _each(
        f"words_{way}(ptr %table, ptr %memory, ptr %places, i64 %count)",
        f"""\
  %place = getelementptr [3 x i64], ptr %places, i64 %i
  %pointer = load i64, ptr %place, align 8
  %behind = getelementptr i64, ptr %place, i64 1
  %bytes = load i64, ptr %behind, align 8
  %last = getelementptr i64, ptr %place, i64 2
  %slot = load i64, ptr %last, align 8
  %base_at = getelementptr ptr, ptr %table, i64 %pointer
  %base = load ptr, ptr %base_at, align 8
  %{there} = getelementptr i8, ptr %base, i64 %bytes
  %{here} = getelementptr i64, ptr %memory, i64 %slot
  %number = load i64, ptr %from, align 8
  store i64 %number, ptr %to, align 8""",
    )


def _each(head: str, body: str) -> Code:
    """A function that does something for every %i below its %count, which is not zero."""
    code = Code()
    code.lines = f"""
define internal void @{head} nounwind {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %next ]
{body}
  %following = add i64 %i, 1
  %more = icmp ult i64 %following, %count
  br i1 %more, label %next, label %over
over:
  ret void
}}
""".splitlines()[1:]
    return code
