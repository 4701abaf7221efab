"""Routines of LAPACK, and triangular solves of BLAS, called from machine code for each of a stack.

A routine takes every argument by its address, counts by columns, and works in the memory that it
is given: a result may begin as a copy of an operand, which is left out where they share memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrule.lower.code.lanes import Frame
from chainrule.lower.code.lines import Code
from chainrule.lower.plan.fuse import Factored
from chainrule.lower.values.routine import ARGUMENTS, INFO, ONE, Asked, Given, Made, letter

FACTORING = {
    f"cr_{letter}{name}": f"declare void @cr_{letter}{name}({', '.join(['ptr'] * count)})"
    for name, count in ARGUMENTS.items()
    for letter in "ds"
}


def routine_function(name: str, step: Factored, frame: Frame) -> Code:
    """The code of a function that calls a routine for each of a stack."""
    code, asked = Code(), step.value.params
    operands = [a for a, _ in step.value.args]
    results = step.results
    given = [frame.pointer(code, v) for v in operands]
    made = [frame.pointer(code, v) for v in results]
    stacked = [not s for s in asked.shared] + [r.each for r in asked.results]
    every = zip((*operands, *results), stacked, strict=True)
    many = step.stack > 1
    apart = [v.nbytes // (v.dims[0] if many else 1) if each else 0 for v, each in every]
    copied = [
        (k, j, apart[j] or operands[j].nbytes)
        for k, j in asked.starts
        if frame.locate(results[k]) != frame.locate(operands[j])
    ]
    writer = _Writer(code, letter(asked.results[0].dtype))
    writer.prepare(asked.calls)

    def body(i: str, names: list[str]) -> list[str]:
        here = [
            code.put(f"getelementptr i8, ptr {p}, i64 {code.put(f'mul i64 {i}, {n}')}") if n else p
            for p, n in zip((*given, *made), apart, strict=True)
        ]
        mine, out = here[: len(given)], here[len(given) :]
        for k, j, count in copied:
            code.copy(out[k], mine[j], count)
        writer.write(asked.calls, mine, out)
        return []

    if asked.batch == 1:
        body("0", [])
    else:
        code.loop("0", str(asked.batch), [], body)
    code.as_step(name)
    return code


class _Writer:
    """Writes the calls for one matrix; what they have in common is put on the stack before."""

    def __init__(self, code: Code, letter: str):
        self.code, self.letter = code, letter
        self.number = "double" if letter == "d" else "float"
        self.held: dict[Any, str] = {}

    def prepare(self, calls: tuple[Asked, ...]) -> None:
        for _, arguments in calls:
            for a in arguments:
                if not isinstance(a, (Given, Made)) and a not in self.held:
                    self.held[a] = self._held(a)

    def _held(self, argument: Any) -> str:
        if argument == INFO:
            return self.code.buffer(1, "i32")
        if argument == ONE:
            kind, text = self.number, "1.0"
        elif isinstance(argument, int):
            kind, text = "i32", str(argument)
        else:
            kind, text = "i8", str(ord(argument))
        where = self.code.buffer(1, kind)
        self.code.line(f"store {kind} {text}, ptr {where}")
        return where

    def write(self, calls: tuple[Asked, ...], given: list[str], made: list[str]) -> None:
        code, failed = self.code, "false"
        for name, arguments in calls:
            pointers = [
                given[a.number]
                if isinstance(a, Given)
                else made[a.number]
                if isinstance(a, Made)
                else self.held[a]
                for a in arguments
            ]
            if name in WRITTEN:
                WRITTEN[name](code, self.number, arguments, pointers)
                continue
            routine = f"cr_{self.letter}{name}"
            code.declares.add(FACTORING[routine])
            if INFO in arguments:
                code.line(f"store i32 0, ptr {self.held[INFO]}")
            code.line(f"call void @{routine}({', '.join(f'ptr {p}' for p in pointers)})")
            if INFO in arguments:
                info = code.put(f"load i32, ptr {self.held[INFO]}")
                bad = code.put(f"icmp ne i32 {info}, 0")
                failed = bad if failed == "false" else code.put(f"or i1 {failed}, {bad}")
        code.line(f"store i8 {code.put(f'zext i1 {failed} to i8')}, ptr {made[-1]}")


def _parity(code: Code, number: str, arguments: Any, pointers: list[str]) -> None:
    """The determinant of a permutation: pivot k, counted from 1, is the row swapped with row k."""
    count, pivots, sign = arguments[0], *pointers[1:]

    def body(i: str, names: list[str]) -> list[str]:
        at = code.put(f"getelementptr i32, ptr {pivots}, i64 {i}")
        pivot = code.put(f"sext i32 {code.put(f'load i32, ptr {at}')} to i64")
        stays = code.put(f"icmp eq i64 {pivot}, {code.put(f'add i64 {i}, 1')}")
        turned = code.put(f"fneg {number} {names[0]}")
        return [code.put(f"select i1 {stays}, {number} {names[0]}, {number} {turned}")]

    (found,) = code.loop("0", str(count), [(number, "1.0")], body)
    code.line(f"store {number} {found}, ptr {sign}")


WRITTEN: dict[str, Callable[[Code, str, Any, list[str]], None]] = {"parity": _parity}
