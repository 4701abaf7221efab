"""Whether an exception raised in a frame would run the user's handlers on its way out."""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from chainrule.run.reads.origin import watched

# A handler that begins with these only asks whether the exception is its own, or leaves a `with`.
ASKS = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH", "WITH_EXCEPT_START", "RERAISE")
BEFORE = ("PUSH_EXC_INFO", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST",
          "BUILD_TUPLE", "COPY", "POP_EXCEPT", "CALL_INTRINSIC_1", "CALL_INTRINSIC_2")  # fmt: skip
CATCHES_ALL = "BaseException"


def unwinds_quietly(frame: FrameType, bottom: FrameType | None) -> bool:
    """Whether no `finally` and no `except` that takes everything stands between here and bottom."""
    running: FrameType | None = frame
    while running is not None and running is not bottom:
        if watched(running) and any(
            start <= running.f_lasti < end for start, end in _loud_ranges(running.f_code)
        ):
            return False
        running = running.f_back
    return True


@lru_cache(maxsize=1024)
def _loud_ranges(code: CodeType) -> tuple[tuple[int, int], ...]:
    """The instructions from which an exception goes on in a handler that does something."""
    if not code.co_exceptiontable:
        return ()
    listed = list(dis.get_instructions(code))
    place = {i.offset: n for n, i in enumerate(listed)}
    entries: Any = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return tuple((e.start, e.end) for e in entries if not _is_quiet(listed[place[e.target] :]))


def _is_quiet(handler: list[dis.Instruction]) -> bool:
    for instruction in handler:
        if instruction.opname in ASKS:
            return True
        if instruction.opname not in BEFORE or instruction.argval == CATCHES_ALL:
            return False
    return True
