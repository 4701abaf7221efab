"""Operands of an instruction about to run: where CPython's frames hold them.

The depth of the value stack before an instruction is the same whenever the instruction runs, so it
is computed from the code once.  Only the address of a frame's slots comes from CPython's layout.
"""

from __future__ import annotations

import ctypes
import dis
import sys
from functools import cache, lru_cache
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeAlias

INNER, SLOTS = 24, 72  # of PyFrameObject.f_frame; of _PyInterpreterFrame.localsplus
FUNCTION = 16 if sys.version_info >= (3, 12) else 0  # of _PyInterpreterFrame.f_funcobj
GENERATORS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


class Missing:
    """Stands for an empty slot of the stack."""


MISSING: Any = Missing()


class Instruction(NamedTuple):
    """One instruction: its name, its argument, and the slot on top of the stack before it."""

    name: str
    argument: Any
    number: int
    top: int
    keywords: tuple[str, ...]


@lru_cache(maxsize=2048)
def instructions_of(code: CodeType) -> dict[int, Instruction]:
    """The instructions of a code object that can run, by offset."""
    listed = list(dis.get_instructions(code))
    depths = _depths(code, listed)
    first = len(slot_names(code))
    by_offset: dict[int, Instruction] = {}
    keywords: tuple[str, ...] = ()
    for i in listed:
        if i.opname == "KW_NAMES":
            keywords = code.co_consts[i.arg or 0]
        if i.offset in depths:
            top = first + depths[i.offset] - 1
            by_offset[i.offset] = Instruction(i.opname, i.argval, i.arg or 0, top, keywords)
        if i.opname == "CALL":
            keywords = ()
    return by_offset


def _depths(code: CodeType, listed: list[dis.Instruction]) -> dict[int, int]:
    """The depth of the stack before each instruction that can be reached."""
    following = {a.offset: b for a, b in pairwise(listed)}
    at = {i.offset: i for i in listed}
    # A generator is resumed with a value on its stack; from 3.13 on the instruction says so itself.
    resumed = bool(code.co_flags & GENERATORS) and sys.version_info < (3, 13)
    depths: dict[int, int] = {}
    pending = [(listed[0].offset, int(resumed))]
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        pending.append((entry.target, entry.depth + 1 + entry.lasti))
    while pending:
        offset, depth = pending.pop()
        if offset in depths:
            continue
        depths[offset] = depth
        i = at[offset]
        argument = i.arg if i.opcode >= dis.HAVE_ARGUMENT else None
        if i.opcode in JUMPS:
            pending.append((i.argval, depth + _effect(i, argument, jump=True)))
        if i.opname not in ENDS and offset in following:
            pending.append((following[offset].offset, depth + _effect(i, argument, jump=False)))
    return depths


def _effect(i: dis.Instruction, argument: int | None, jump: bool) -> int:
    """By how much an instruction changes the depth; in 3.11 `dis` books arguments early."""
    if i.opname == "PRECALL":
        return 0
    taken = -(i.arg or 0) if i.opname == "CALL" and "PRECALL" in dis.opmap else 0
    return dis.stack_effect(i.opcode, argument, jump=jump) + taken


JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
ENDS = frozenset(
    ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
     "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT")
)  # fmt: skip


@lru_cache(maxsize=2048)
def slot_names(code: CodeType) -> tuple[str, ...]:
    """The names of a frame's first slots: locals, cells of its own, cells of outer functions."""
    own = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return (*code.co_varnames, *own, *code.co_freevars)


Slots: TypeAlias = "ctypes.Array[Any]"  # reading an empty one raises ValueError


def _inner_of(frame: FrameType) -> int:
    inner = ctypes.c_void_p.from_address(id(frame) + INNER).value
    assert inner is not None
    return inner


def function_id(frame: FrameType) -> int | None:
    """The id of the function that a running frame is a call of."""
    return ctypes.c_void_p.from_address(_inner_of(frame) + FUNCTION).value


def slots_of(frame: FrameType) -> Slots:
    """The slots of a running frame: its variables, then its stack, each read when asked for."""
    inner = _inner_of(frame)
    count = len(slot_names(frame.f_code)) + frame.f_code.co_stacksize
    return (ctypes.py_object * count).from_address(inner + SLOTS)


def peek(slots: Slots, slot: int) -> Any:
    """What a slot holds, which may be nothing."""
    try:
        return slots[slot]
    except ValueError:
        return MISSING


@cache
def is_readable() -> bool:
    """Whether this interpreter's frames are laid out as described here."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    value = object()

    def probe(first: Any, second: Any = None) -> bool:
        third = [first]
        frame = sys._getframe()
        slots = slots_of(frame)
        held = slots[0] is first and slots[1] is second and slots[2] is third
        return held and function_id(frame) == id(probe)

    return probe(value, [value])
