"""What each instruction of CPython reads or changes, told to the log before it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, GeneratorType
from typing import Any

import numpy as np

from chainrule.record.variable import Variable
from chainrule.run.reads.asking import asked_of_type, asked_which
from chainrule.run.reads.calls import called
from chainrule.run.reads.contents import Reads
from chainrule.run.reads.hook import Handler, Table
from chainrule.run.reads.lookup import NOTHING_INSIDE, found_in, is_iterator, isa
from chainrule.run.reads.origin import Origin, is_below, is_sealed, origin_of_class, watched
from chainrule.run.reads.stack import (
    MISSING,
    Instruction,
    Slots,
    function_id,
    instructions_of,
    peek,
    slot_names,
)

SELF_AFTER = sys.version_info >= (3, 13)  # of a call: the callable, then self; before, self or NULL
Maker = Callable[[Reads, Instruction, CodeType], Handler | None]


IMPORTING = "<frozen importlib"
CATCHES_FLOATS = {"FloatingPointError", "ArithmeticError"}


class Watcher:
    """Tells a log of everything that happens in watched frames."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self.tables: dict[CodeType, Table] = {}
        self.importing: FrameType | None = None
        self.sealed: set[CodeType] = set()  # code that is never watched

    def watches(self, frame: FrameType) -> bool:
        """Whether what happens in a frame counts: modules are imported once, whoever asks first."""
        code = frame.f_code
        if code in self.sealed:
            return False
        if is_sealed(frame) and not code.co_filename.startswith(IMPORTING):
            self.sealed.add(code)
            return False
        if self.importing is not None and not is_below(frame, self.importing):
            self.importing = None
        if self.importing is None and frame.f_code.co_filename.startswith(IMPORTING):
            self.importing = frame
        return self.importing is None and watched(frame)

    def cannot_watch(self) -> None:
        """Another thread is being watched: this call is made as it is, and the next one tries."""
        self.reads.stop(None, "is recorded by another thread at the moment", passing=False)

    def table(self, code: CodeType) -> Table:
        table = self.tables.get(code)
        if table is None:
            table = self.tables[code] = {}
            if CATCHES_FLOATS & set(code.co_names):
                self.reads.error_state()
            for offset, instruction in instructions_of(code).items():
                make = MAKERS.get(instruction.name)
                handler = make(self.reads, instruction, code) if make is not None else None
                if handler is not None:
                    table[offset] = handler
        return table

    def enter(self, frame: FrameType, slots: Slots) -> None:
        """A function begins: its own cells are of this call; a special method was asked for."""
        code, reads = frame.f_code, self.reads
        names = slot_names(code)
        for name in code.co_cellvars:
            held = peek(slots, names.index(name))
            reads.own_cells[id(held)] = held
        special = code.co_name.startswith("__") and code.co_name.endswith("__")
        if special and code.co_argcount:
            owner = peek(slots, 0)
            cls = type(owner)
            if owner is not MISSING and origin_of_class(cls) is not Origin.SEALED:
                base, raw = found_in(cls, code.co_name)
                if base is not None:
                    reads.class_item(cls, code.co_name, base, raw)
        function = reads.outside.get(function_id(frame) or 0)
        if type(function) is FunctionType:  # called by an instruction or not, as `__init__` is
            reads.function(function)


def _global(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    """A global cannot change while recording, so it is noted once for each globals()."""
    name, seen = i.argument, set()

    def before(frame: FrameType, slots: Slots) -> None:
        if id(frame.f_globals) not in seen:
            seen.add(id(frame.f_globals))
            reads.global_name(frame, name)

    return before


def _name(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    """In the body of a class: its own names come first."""

    def before(frame: FrameType, slots: Slots) -> None:
        if i.argument not in frame.f_locals:
            reads.global_name(frame, i.argument)

    return before


def _slot_of_cell(i: Instruction, code: CodeType) -> int | None:
    return slot_names(code).index(i.argument) if i.argument in code.co_freevars else None


def _cell(reads: Reads, i: Instruction, code: CodeType) -> Handler | None:
    slot = _slot_of_cell(i, code)
    if slot is None:
        return None
    return lambda frame, slots: reads.cell(peek(slots, slot), i.argument)


def _store_cell(reads: Reads, i: Instruction, code: CodeType) -> Handler | None:
    slot = _slot_of_cell(i, code)

    def before(frame: FrameType, slots: Slots) -> None:
        if id(peek(slots, slot)) not in reads.own_cells:  # type: ignore[arg-type]
            reads.stop(frame, f"assigns to the variable `{i.argument}` of an outer function")

    return before if slot is not None else None


def _attribute(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    top, name = i.top, i.argument

    def before(frame: FrameType, slots: Slots) -> None:
        reads.attribute(frame, slots[top], name)

    return before


def _super_attribute(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    """From 3.12 on `super().name` is one instruction."""

    def before(frame: FrameType, slots: Slots) -> None:
        owner, cls = slots[i.top], slots[i.top - 1]
        reads.super_attribute(super(cls, owner), i.argument)

    return before


def _item(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    top = i.top

    def before(frame: FrameType, slots: Slots) -> None:
        owner = slots[top - 1]
        if type(owner) is not Variable:
            reads.item(frame, owner, slots[top])

    return before


def _slice(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    top = i.top

    def before(frame: FrameType, slots: Slots) -> None:
        owner = slots[top - 2]
        if type(owner) is not Variable:
            reads.item(frame, owner, slice(slots[top - 1], slots[top]))

    return before


def _operands(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    """Two operands: an array beside a Variable is an input; one beside a number is read here."""
    top = i.top
    in_place = i.name == "BINARY_OP" and i.number >= 13  # NB_INPLACE_ADD and those after it

    def before(frame: FrameType, slots: Slots) -> None:
        y, x = slots[top], slots[top - 1]
        if id(type(x)) in NOTHING_INSIDE and id(type(y)) in NOTHING_INSIDE:
            return
        if type(x) is Variable or type(y) is Variable:
            reads.beside_variables(x)
            reads.beside_variables(y)
            return
        for operand in (x, y):
            if id(type(operand)) not in NOTHING_INSIDE:
                reads.whole(operand, frame)
                if type(operand).__module__ == "decimal":
                    reads.stop(frame, "computes with decimal's context, which cannot be watched")
        if in_place and _is_changed(reads, x):
            reads.stop(frame, f"changes a {type(x).__name__} from outside in place")

    return before


def _is_changed(reads: Reads, owner: Any) -> bool:
    if isa(owner, np.ndarray):
        return reads.holds(owner)
    return id(owner) in reads.outside and isa(owner, (list, dict, set, bytearray))


def _identity(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    def before(frame: FrameType, slots: Slots) -> None:
        asked_which(reads, frame, [slots[i.top], slots[i.top - 1]])

    return before


def _contains(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    top = i.top

    def before(frame: FrameType, slots: Slots) -> None:
        owner = slots[top]
        if id(type(owner)) in NOTHING_INSIDE:
            return
        reads.looked_into(type(slots[top - 1]))
        plain = isa(owner, dict) and id(owner) in reads.outside
        if plain and id(type(slots[top - 1])) in NOTHING_INSIDE:
            if type(slots[top - 1]) is not Variable:
                reads.contains(owner, slots[top - 1])
        else:
            reads.whole(owner)

    return before


def _whole(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    """What is on top is taken apart, or its truth is asked."""
    top = i.top

    def before(frame: FrameType, slots: Slots) -> None:
        value = slots[top]
        if id(type(value)) in NOTHING_INSIDE:
            return
        if i.name in TAKES and id(value) in reads.outside and is_iterator(value):
            reads.stop(frame, "takes from an iterator from outside")
        elif i.name in TAKES or i.name == "GET_LEN":
            reads.taken(value, frame)
        else:
            reads.whole(value, frame, numbers=isa(value, np.ndarray))

    return before


def _format(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    slot = i.top - (1 if i.name == "FORMAT_WITH_SPEC" or i.number & 4 else 0)

    def before(frame: FrameType, slots: Slots) -> None:
        value = slots[slot]
        if isa(value, np.ndarray):
            reads.stop(frame, "prints an array, which depends on np.printoptions")
        elif id(type(value)) not in NOTHING_INSIDE:
            reads.whole(value)

    return before


def _call(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    count = i.number
    names_on_top = i.name == "CALL_KW"
    last = i.top - names_on_top
    first, head = last - count - 1, last - count
    if SELF_AFTER:
        first, head = head, first

    def before(frame: FrameType, slots: Slots) -> None:
        args = [slots[k] for k in range(last - count + 1, last + 1)]
        names = slots[i.top] if names_on_top else i.keywords
        f, bound = peek(slots, head), peek(slots, first)
        if np.ufunc in (type(f), type(bound)) and holds_nothing(args):
            return
        if bound is not MISSING:
            f, args = (f, [bound, *args]) if SELF_AFTER else (bound, [f, *args])
        called(reads, frame, f, args, names)

    return before


def holds_nothing(args: list[Any]) -> bool:
    return all([id(type(a)) in NOTHING_INSIDE for a in args])  # noqa: C419 - twice as fast


def _call_spread(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    named = i.number & 1
    place = i.top - named - (2 if SELF_AFTER else 1)

    def before(frame: FrameType, slots: Slots) -> None:
        spread, f = slots[i.top - named], peek(slots, place)
        reads.taken(spread, frame)
        if id(spread) in reads.outside and is_iterator(spread):
            reads.stop(frame, "takes from an iterator from outside")
        keywords = slots[i.top] if named else {}
        args = list(spread) if isa(spread, (tuple, list)) else []
        if isa(keywords, dict):
            called(reads, frame, f, [*args, *keywords.values()], tuple(keywords))

    return before


def _store_attribute(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    def before(frame: FrameType, slots: Slots) -> None:
        owner = slots[i.top]
        changed = reads.holds(owner) if isa(owner, np.ndarray) else id(owner) in reads.outside
        if changed and type(owner) is not Variable:
            reads.stop(frame, f"assigns to `{i.argument}` of a {type(owner).__name__} from outside")
        reads.attribute_inside(owner, i.argument)

    return before


def _store_item(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    slot = i.top - (1 if "SUBSCR" in i.name else 2)

    def before(frame: FrameType, slots: Slots) -> None:
        owner = slots[slot]
        if isa(owner, np.flatiter):
            owner = owner.base
        if reads.is_outside(owner) and type(owner) is not Variable:
            what = f"an item of a {type(owner).__name__}"
            reads.stop(frame, f"assigns to {what} from outside")

    return before


def _store_global(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    return lambda frame, slots: reads.stop(frame, f"assigns to the global `{i.argument}`")


def _import(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    def before(frame: FrameType, slots: Slots) -> None:
        level = slots[i.top - 1]
        package = frame.f_globals.get("__package__") or ""
        base = package.rsplit(".", level - 1)[0] if level else ""
        name = f"{base}.{i.argument}".strip(".") if level else i.argument
        if name not in sys.modules:
            reads.stop(frame, f"imports `{name}` for the first time", passing=True)
            return
        reads.mark(sys.modules)
        parts = name.split(".")
        for n in range(1, len(parts) + 1):
            reads.item(frame, sys.modules, ".".join(parts[:n]))

    return before


def _match_class(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    def before(frame: FrameType, slots: Slots) -> None:
        subject, cls, names = slots[i.top - 2], slots[i.top - 1], slots[i.top]
        asked_of_type(reads, frame, isinstance, [subject, cls])
        positional = getattr(cls, "__match_args__", ())[: i.number]
        for name in (*positional, *names):
            reads.attribute(frame, subject, name)

    return before


def _match(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    slot = i.top - (i.name == "MATCH_KEYS")
    return lambda frame, slots: reads.whole(slots[slot])


def _with(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    def before(frame: FrameType, slots: Slots) -> None:
        manager = slots[i.top]
        cls = type(manager)
        reads.looked_into(cls)
        if isa(manager, np.errstate):
            reads.stop_if_raising(frame, manager)
        python = type(found_in(cls, "__enter__")[1]) is FunctionType
        sealed = origin_of_class(cls) is Origin.SEALED
        if id(manager) in reads.outside and (not python or sealed):
            reads.stop(frame, f"enters a {cls.__name__} from outside")

    return before


def _send(reads: Reads, i: Instruction, code: CodeType) -> Handler:
    def before(frame: FrameType, slots: Slots) -> None:
        inner = slots[i.top - 1]
        if isa(inner, GeneratorType) and id(inner) in reads.outside:
            reads.stop(frame, "takes from a generator from outside")

    return before


TAKES = frozenset(("GET_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE",
                   "DICT_UPDATE", "DICT_MERGE", "GET_YIELD_FROM_ITER"))  # fmt: skip
TRUTHS = ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE",
          "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE",
          "JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP", "TO_BOOL", "UNARY_NOT", "UNARY_NEGATIVE",
          "UNARY_POSITIVE", "UNARY_INVERT", "GET_LEN")  # fmt: skip
MAKERS: dict[str, Maker] = {
    "LOAD_GLOBAL": _global, "LOAD_NAME": _name, "LOAD_FROM_DICT_OR_GLOBALS": _name,
    "LOAD_DEREF": _cell, "LOAD_CLASSDEREF": _cell, "LOAD_FROM_DICT_OR_DEREF": _cell,
    "LOAD_ATTR": _attribute, "LOAD_METHOD": _attribute, "IMPORT_FROM": _attribute,
    "LOAD_SUPER_ATTR": _super_attribute, "BINARY_SUBSCR": _item, "BINARY_SLICE": _slice,
    "BINARY_OP": _operands, "COMPARE_OP": _operands, "CONTAINS_OP": _contains, "IS_OP": _identity,
    "FORMAT_VALUE": _format, "FORMAT_SIMPLE": _format, "FORMAT_WITH_SPEC": _format,
    "CALL": _call, "CALL_KW": _call, "CALL_FUNCTION_EX": _call_spread,
    "STORE_ATTR": _store_attribute, "DELETE_ATTR": _store_attribute,
    "STORE_SUBSCR": _store_item, "DELETE_SUBSCR": _store_item, "STORE_SLICE": _store_item,
    "STORE_GLOBAL": _store_global, "DELETE_GLOBAL": _store_global,
    "STORE_DEREF": _store_cell, "DELETE_DEREF": _store_cell,
    "IMPORT_NAME": _import, "MATCH_CLASS": _match_class, "MATCH_KEYS": _match,
    "MATCH_SEQUENCE": _match, "MATCH_MAPPING": _match, "BEFORE_WITH": _with, "SEND": _send,
    **dict.fromkeys((*TAKES, *TRUTHS), _whole),
}  # fmt: skip
