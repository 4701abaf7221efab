"""The log of one recording: which objects are outside, and how what was read of them is bound."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from operator import attrgetter
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from chainrule.core.node import Line
from chainrule.run.bindings import (
    ABSENT,
    Binding,
    cell,
    code,
    item,
    quietly,
    read,
    unbound,
    value_of,
)
from chainrule.run.reads.lookup import NOTHING_INSIDE, error_state, isa, wrapped_in
from chainrule.run.reads.origin import is_users, own_names, watched

RAISING = {"raise", "call"}  # what NumPy may be asked to do where it computes no number


class Stop(BaseException):
    """Raised before an instruction that no compiled function can repeat."""

    def __init__(self, what: str, line: Line, passing: bool = False):
        super().__init__(what)
        self.what, self.line = what, line
        self.passing = passing  # whether it will not happen again


class Log:
    """What one call has read; `outside` holds every object met that was there before the call.

    A `probe` only looks for what keeps the function from being compiled: it notes the first such
    thing, lets the call go on, and binds nothing.
    """

    def __init__(self, roots: Iterable[Any], probe: bool = False) -> None:
        self.probe = probe
        self.bindings: dict[Any, Binding] = {}
        self.outside: dict[int, Any] = {}
        self.own_cells: dict[int, Any] = {}  # made by this call
        self.beside: dict[int, np.ndarray] = {}  # arrays passed to NumPy together with Variables
        # By id: a metaclass may have an equality and a hash of the user's.
        self.known_classes: dict[int, type] = {}
        self.handed_classes: dict[int, type] = {}
        self.class_names: dict[int, tuple[type, Mapping[str, Any]]] = {}
        self.gave_up: Stop | None = None
        for root in roots:
            self.mark(root)

    # ---- what is outside -------------------------------------------------------------------------

    def mark(self, value: Any) -> None:
        """This object was there before the call, and so was what it only wraps."""
        pending = [value]
        while pending:
            met = pending.pop()
            if id(type(met)) not in NOTHING_INSIDE and id(met) not in self.outside:
                self.outside[id(met)] = met
                pending += wrapped_in(met)

    def is_outside(self, value: Any) -> bool:
        return self.holds(value) if isa(value, np.ndarray) else id(value) in self.outside

    def holds(self, array: np.ndarray) -> bool:
        """Whether an array's memory was there before the call: its own, or that of its base."""
        base: Any = array
        while base is not None:
            if id(base) in self.outside:
                return True
            base = base.base if isa(base, np.ndarray) else getattr(base, "obj", None)
        return False

    def bind(
        self, how: Any, owner: Any, key: Any, value: Any, words: str, label: Any = None
    ) -> None:
        """Expect the same when the compiled function is called."""
        name = (how, id(owner), key if label is None else label)
        if name not in self.bindings and not self.probe:
            self.bindings[name] = Binding(how, owner, key, value, words)
        self.mark(value)

    def names_in(self, cls: type) -> Mapping[str, Any]:
        """The attributes of a class itself: one view of them, whatever is read of it."""
        _, names = self.class_names.setdefault(id(cls), (cls, own_names(cls)))
        return names

    def stop(self, frame: FrameType | None, what: str, passing: bool = False) -> None:
        """This instruction has an effect, or reads what cannot be watched: leave the call.

        In a probe the call goes on: it is the user's own, and has its effects once.
        """
        user = _users_frame(frame or _running_frame())
        if self.gave_up is None or self.gave_up.passing:
            self.gave_up = Stop(what, Line(user.f_code, user.f_lasti), passing)
        if not self.probe:
            raise self.gave_up

    # ---- names -----------------------------------------------------------------------------------

    def global_name(self, frame: FrameType, name: str) -> None:
        scope = frame.f_globals
        if name in scope:
            self.bind(item, scope, name, scope[name], f"global `{name}`")
            return
        self.bind(unbound, scope, name, ABSENT, f"global `{name}`")
        builtin = frame.f_builtins
        if name in builtin:
            self.bind(item, builtin, name, builtin[name], f"builtin `{name}`")
        else:
            self.bind(unbound, builtin, name, ABSENT, f"builtin `{name}`")

    def cell(self, held: Any, name: str) -> None:
        if id(held) in self.own_cells:
            return
        value = quietly(attrgetter("cell_contents"), held)
        if value is not ABSENT:
            self.bind(cell, held, None, value, f"the closure variable `{name}`")

    def function(self, f: FunctionType) -> None:
        """A function is entered: its code and the defaults of its parameters."""
        self.bind(code, f, None, f.__code__, f"the code of `{f.__name__}`")
        for name in ("__defaults__", "__kwdefaults__"):
            words = f"the default arguments of `{f.__name__}`"
            if getattr(f, name) is not None:  # called without, it was given all
                self.bind(read, f, attrgetter(name), getattr(f, name), words, name)
        for name, value in (f.__kwdefaults__ or {}).items():
            words = f"the default argument `{name}` of `{f.__name__}`"
            self.bind(item, f.__kwdefaults__, name, value, words)
        for value in f.__defaults__ or ():
            self.mark(value)

    def partial(self, f: partial[Any]) -> None:
        for name in ("func", "args", "keywords"):
            words = f"`{name}` of a partial"
            self.bind(read, f, attrgetter(name), attrgetter(name)(f), words, name)
        for name, value in f.keywords.items():
            self.bind(item, f.keywords, name, value, f"the argument `{name}` of a partial")
        for arg in f.args:
            self.mark(arg)

    # ---- whether NumPy raises --------------------------------------------------------------------

    def error_state(self) -> None:
        """Code that catches a FloatingPointError depends on whether NumPy raises it."""
        self.bind(value_of, np, error_state, error_state(np), "np.geterr()")

    def stop_if_raising(self, frame: FrameType, state: Any) -> None:
        """Machine code raises no FloatingPointError."""
        kinds = ("_all", "_divide", "_over", "_under", "_invalid")
        if RAISING & {getattr(state, kind, "raise") for kind in kinds}:
            self.stop(frame, "has NumPy raise errors by np.errstate")


def _running_frame() -> FrameType:
    """The watched frame that is running now."""
    frame = sys._getframe(1)
    while not watched(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _users_frame(frame: FrameType) -> FrameType:
    """The frame of the user's own that called this one of the standard library's."""
    calling: FrameType | None = frame
    while calling is not None and not is_users(calling):
        calling = calling.f_back
    return calling or frame
