"""Calling a handler before each instruction of watched frames: `sys.settrace` in Python 3.11,
`sys.monitoring` since 3.12."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, Protocol

from chainrule.run.reads.stack import Slots, slots_of

Handler = Callable[[FrameType, Slots], None]
Table = dict[int, Handler]


class Watcher(Protocol):
    """What is told of frames: which are watched, and what happens before which instruction."""

    def watches(self, frame: FrameType) -> bool: ...

    def enter(self, frame: FrameType, slots: Slots) -> None: ...

    def table(self, code: CodeType) -> Table: ...


def hooked(watcher: Watcher, f: Callable[[], Any]) -> Any:
    """The result of f(), each watched instruction of which is told to the watcher first."""
    return _traced(watcher, f) if sys.version_info < (3, 12) else _monitored(watcher, f)


def _traced(watcher: Watcher, f: Callable[[], Any]) -> Any:
    """By `sys.settrace`; a debugger or a coverage tool that was there goes on seeing its events."""
    other = sys.gettrace()

    def start(frame: FrameType, event: str, arg: Any) -> Any:
        inner = None if other is None else other(frame, event, arg)
        if not watcher.watches(frame):
            return inner
        slots, table = slots_of(frame), watcher.table(frame.f_code)
        watcher.enter(frame, slots)
        frame.f_trace_opcodes = True
        if inner is None:
            frame.f_trace_lines = False

        def step(frame: FrameType, event: str, arg: Any) -> Any:
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


def _monitored(watcher: Watcher, f: Callable[[], Any]) -> Any:
    """By `sys.monitoring`, which tells of every thread: events of others are left alone."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    events, tool = monitoring.events, _free_tool(monitoring)
    thread, tables = get_ident(), {}
    last: FrameType | None = None
    slots: Slots | None = None

    def start(code: CodeType, offset: int) -> Any:
        nonlocal last, slots
        frame = sys._getframe(1)
        if get_ident() != thread or not watcher.watches(frame):
            return
        last, slots = frame, slots_of(frame)
        if code not in tables:
            tables[code] = watcher.table(code)
            monitoring.set_local_events(tool, code, events.INSTRUCTION)
        watcher.enter(frame, slots)

    def step(code: CodeType, offset: int) -> Any:
        nonlocal last, slots
        handler = tables[code].get(offset)
        if handler is None:
            return monitoring.DISABLE
        frame = sys._getframe(1)
        if get_ident() != thread:
            return None
        if frame is not last:
            last, slots = frame, slots_of(frame) if watcher.watches(frame) else None
        if slots is not None:
            handler(frame, slots)
        return None

    monitoring.use_tool_id(tool, "chainrule")
    try:
        monitoring.register_callback(tool, events.PY_START, start)
        monitoring.register_callback(tool, events.PY_RESUME, start)
        monitoring.register_callback(tool, events.INSTRUCTION, step)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME)
        monitoring.restart_events()
        return f()
    finally:
        monitoring.set_events(tool, 0)
        for code in tables:
            monitoring.set_local_events(tool, code, 0)
        for event in (events.PY_START, events.PY_RESUME, events.INSTRUCTION):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


def _free_tool(monitoring: Any) -> int:
    """A tool id nobody uses; debuggers, coverage and profilers have ids 0 to 2 of their own."""
    return next(n for n in (3, 4, 0, 1, 2, 5) if monitoring.get_tool(n) is None)
