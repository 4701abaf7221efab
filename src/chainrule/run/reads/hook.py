"""Calling a handler before each instruction of watched frames.

Python 3.11 has `sys.settrace` for it, later ones `sys.monitoring`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from threading import RLock, get_ident
from types import CodeType, FrameType
from typing import Any, Protocol

from chainrule.run.reads.stack import Slots, slots_of

Handler = Callable[[FrameType, Slots], None]
Table = dict[int, Handler]


PATIENCE_SECONDS = 1.0  # for a call that another thread makes
ONE_AT_A_TIME = RLock()  # there are six ids for tools; a thread may watch inside what it watches


class Watcher(Protocol):
    """What is told of frames: which are watched, and what happens before which instruction."""

    sealed: set[CodeType]

    def watches(self, frame: FrameType) -> bool: ...

    def enter(self, frame: FrameType, slots: Slots) -> None: ...

    def table(self, code: CodeType) -> Table: ...

    def cannot_watch(self) -> None: ...


def hooked(watcher: Watcher, f: Callable[[], Any]) -> Any:
    """The result of f(), each watched instruction of which is told to the watcher first.

    No garbage is collected meanwhile: what others do then is not what f does.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(0)
    try:
        if sys.version_info < (3, 12):
            return _traced(watcher, f)
        if not ONE_AT_A_TIME.acquire(timeout=PATIENCE_SECONDS):  # it may wait for us, we for it
            watcher.cannot_watch()
            return f()
        try:
            return Monitor(watcher).run(f)
        finally:
            ONE_AT_A_TIME.release()
    finally:
        gc.set_threshold(*thresholds)


def _traced(watcher: Watcher, f: Callable[[], Any]) -> Any:
    """By `sys.settrace`; a debugger or a coverage tool that was there goes on seeing its events."""
    other, sealed = sys.gettrace(), watcher.sealed

    def start(frame: FrameType, event: Any, arg: Any) -> Any:
        inner = None if other is None else other(frame, event, arg)
        if frame.f_code in sealed or not watcher.watches(frame):
            return inner
        slots, table = slots_of(frame), watcher.table(frame.f_code)
        watcher.enter(frame, slots)
        frame.f_trace_opcodes = True
        if inner is None:
            frame.f_trace_lines = False

        def step(frame: FrameType, event: Any, arg: Any) -> Any:
            nonlocal inner
            if event == "opcode":
                handler = table.get(frame.f_lasti)
                if handler is not None:
                    handler(frame, slots)
            elif inner is not None:
                inner = inner(frame, event, arg)
            return step

        return step

    sys.settrace(start)
    try:
        return f()
    finally:
        sys.settrace(other)


class Monitor:
    """Events of `sys.monitoring`, which tells of every thread: those of others are left alone."""

    def __init__(self, watcher: Watcher):
        self.api: Any = sys.monitoring  # type: ignore[attr-defined]
        self.tool = _free_tool(self.api)
        self.watcher, self.thread = watcher, get_ident()
        self.tables: dict[CodeType, Table] = {}
        self.frame: FrameType | None = None  # whose instruction was told last, and its slots
        self.slots: Slots | None = None

    def run(self, f: Callable[[], Any]) -> Any:
        api, tool, events = self.api, self.tool, self.api.events
        handlers = {
            events.PY_START: self.start,
            events.PY_RESUME: self.start,
            events.INSTRUCTION: self.step,
        }
        api.use_tool_id(tool, "chainrule")
        try:
            for event, handler in handlers.items():
                api.register_callback(tool, event, handler)
            api.set_events(tool, events.PY_START | events.PY_RESUME)
            api.restart_events()
            return f()
        finally:
            api.set_events(tool, 0)
            for code in self.tables:
                api.set_local_events(tool, code, 0)
            for event in handlers:
                api.register_callback(tool, event, None)
            api.free_tool_id(tool)
            self.frame = self.slots = None  # which hold the arrays of the call

    def start(self, code: CodeType, offset: int) -> Any:
        frame = sys._getframe(1)
        if get_ident() != self.thread:
            return None
        if not self.watcher.watches(frame):
            return self.api.DISABLE if code in self.watcher.sealed else None
        self.frame, self.slots = frame, slots_of(frame)
        if code not in self.tables:
            self.tables[code] = self.watcher.table(code)
            self.api.set_local_events(self.tool, code, self.api.events.INSTRUCTION)
        self.watcher.enter(frame, self.slots)
        return None

    def step(self, code: CodeType, offset: int) -> Any:
        handler = self.tables[code].get(offset)
        if handler is None:
            return self.api.DISABLE
        if get_ident() != self.thread:
            return None
        frame = sys._getframe(1)
        if frame is not self.frame:
            self.frame = frame
            self.slots = slots_of(frame) if self.watcher.watches(frame) else None
        if self.slots is not None:
            handler(frame, self.slots)
        return None


def _free_tool(monitoring: Any) -> int:
    """A tool id nobody uses; debuggers, coverage and profilers have ids 0 to 2 of their own."""
    return next(n for n in (3, 4, 0, 1, 2, 5) if monitoring.get_tool(n) is None)
