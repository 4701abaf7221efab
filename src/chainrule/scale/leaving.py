"""How a rank leaves an MPI job: by a goodbye, which the others hear where they meet next.

Without it, ranks that still compute would wait for ever for one that has come to its end.  Where
all ranks say goodbye, the job ends as any program does.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, sleep
from types import TracebackType
from typing import Any, Protocol

from chainrule.scale.failing import line_here, line_of, told

GRACE = 3.0  # seconds in which all ranks may fail alike, before one that has failed ends the job


@dataclass(frozen=True)
class Goodbye:
    """What a rank that leaves says to those that go on."""

    where: str  # "rank 1 of 3"
    why: str  # "called sys.exit(3) at fit.py:14 in main: sys.exit(3)"
    last: str  # the user's line that used the engine last

    def __str__(self) -> str:
        last = f"it last used the engine at {self.last}" if self.last else "it never used it"
        return (
            f"{self.where} has left while others still compute: it {self.why}; {last}.  "
            "All ranks must make the same calls, as often"
        )


@dataclass
class Exit:
    """The exit that was asked for, if any: with which status, and by which line."""

    status: int = 0
    why: str = ""


class Leaves(Protocol):
    """What this file asks of an engine."""

    where: str

    def end_job(self, status: int = 1, why: str = "") -> None: ...
    def say_goodbye(self, why: str) -> None: ...
    def is_heard(self) -> bool: ...


class Departure:
    """Which engines this process still has to say goodbye for, and what it is ended by."""

    def __init__(self) -> None:
        self.process = 0  # that watches; one forked from it has no part in the job
        self.engines: dict[int, Leaves] = {}  # by identity
        self.postponed: dict[int, str] = {}  # why engines were left that have said no goodbye yet
        self.unheard: list[Leaves] = []  # whose goodbyes are on their way
        self.exit = Exit()

    def watch(self, engine: Leaves) -> None:
        """From now on, whatever ends this process says goodbye for the engine."""
        self.engines[id(engine)] = engine
        if self.process:
            return
        self.process = os.getpid()
        atexit.register(self._at_exit)
        _note_exits(self)
        _end_all_on_errors(self)

    def is_here(self) -> bool:
        return self.process == os.getpid()

    def postpone(self, engine: Leaves, error: BaseException) -> None:
        """Say goodbye later: after an error on this rank alone, waiting here might be for ever."""
        if isinstance(error, SystemExit):
            self.note_exit(error.code, line_of(error))
            why = self.exit.why
        else:
            why = f"left its engine by {type(error).__name__}: {error}{_at(line_of(error))}"
        self.postponed[id(engine)] = why

    def leave(self, engine: Leaves, why: str) -> None:
        """Say goodbye; whoever computes on hears it while this process waits or ends."""
        del self.engines[id(engine)]
        engine.say_goodbye(why)
        self.unheard.append(engine)
        self.heard()

    def heard(self) -> bool:
        """Whether the others have heard all goodbyes; this is also what moves them on."""
        self.unheard = [engine for engine in self.unheard if not engine.is_heard()]
        return not self.unheard

    def wait(self, request: Any, seconds: float | None = None) -> bool:
        """Whether a message has gone through in so many seconds, while goodbyes go on."""
        if seconds is None and not self.unheard:
            request.Wait()
            return True

        def is_through() -> bool:
            self.heard()
            return bool(request.Test())

        return patient(is_through, seconds)

    def note_exit(self, code: Any, line: str) -> None:
        status = 0 if code is None else code if isinstance(code, int) else 1
        said = "" if code is None else repr(code)
        self.exit = Exit(status, f"called sys.exit({said}){_at(line)}")

    def goes_on(self) -> None:
        """The exit that was asked for has been caught."""
        self.exit = Exit()

    def settle(self) -> None:
        """Say the goodbyes that were postponed, before all ranks meet in another engine."""
        for identity, why in list(self.postponed.items()):
            del self.postponed[identity]
            self.leave(self.engines[identity], why)

    def _at_exit(self) -> None:
        if not self.is_here():
            return
        self.settle()
        status, why = self.exit.status, self.exit.why or "came to the end of its program"
        for engine in list(self.engines.values()):
            self.leave(engine, why)
        if not patient(self.heard, GRACE if status else None):
            self.unheard[0].end_job(status, why)


departure = Departure()


def patient(is_through: Callable[[], bool], seconds: float | None = None) -> bool:
    """Whether something comes true in so many seconds; the core is left to others meanwhile."""
    pause, began = 0.001, perf_counter()
    while not is_through():
        if seconds is not None and perf_counter() - began > seconds:
            return False
        sleep(pause)
        pause = min(2 * pause, 0.05)
    return True


def _at(line: str) -> str:
    return f" at {line}" if line else ""


def _note_exits(departure: Departure) -> None:
    """Python tells nobody which exit was asked for, once it is on its way out."""
    leave = sys.exit

    def noted(status: Any = None, /) -> Any:
        if departure.is_here() and threading.current_thread() is threading.main_thread():
            departure.note_exit(status, told(line_here()))
        leave(status)

    sys.exit = noted


def _end_all_on_errors(departure: Departure) -> None:
    """Let an exception that ends this rank end the job: the others would wait for ever."""
    before = sys.excepthook

    def ended(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        engines = list(departure.engines.values())
        if not departure.is_here() or not engines:
            before(kind, error, at)
            return
        try:
            sys.stderr.write(f"{engines[0].where} has failed, which ends the job:\n")
            if before is sys.__excepthook__:
                traceback.print_exception(kind, error, at)
            else:
                before(kind, error, at)
            sys.stderr.flush()
        finally:
            engines[0].end_job()

    sys.excepthook = ended
