"""Watching instructions: beside a debugger, through errors, in one thread."""

from __future__ import annotations

import sys
import threading
import weakref

import numpy as np
import pytest

import chainrule as cr
from chainrule.run.reads.hook import hooked
from chainrule.run.reads.stack import instructions_of

X = np.array([0.5, -1.25, 2.0])
monitored = pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no sys.monitoring")


class Names:
    """Notes the instructions of this file's functions, apart from tests."""

    sealed = frozenset()

    def __init__(self, handle=lambda frame, i: None):
        self.handle, self.entered, self.threads = handle, [], set()

    def cannot_watch(self):
        """Another thread is being watched."""

    def watches(self, frame):
        return frame.f_code.co_filename == __file__ and frame.f_code.co_name.startswith("user")

    def enter(self, frame, slots):
        self.entered.append(frame.f_code.co_name)

    def table(self, code):
        def handler(i):
            def before(frame, slots):
                self.threads.add(threading.get_ident())
                self.handle(frame, i)

            return before

        return {offset: handler(i) for offset, i in instructions_of(code).items()}


def user_inner(x):
    return x * 2


def user_outer(x):
    y = user_inner(x)
    z = [user_inner(v) for v in (y, y)]
    return z[0] + z[1]


def user_generator(n):
    for k in range(n):
        yield k + 0


def user_of_generator(x):
    return sum(user_generator(x))


class Debugger:
    """A tracer as debuggers and coverage tools install it."""

    def __init__(self, only=None):
        self.events, self.only = [], only

    def __call__(self, frame, event, arg):
        if frame.f_code.co_filename != __file__ or not frame.f_code.co_name.startswith("user"):
            return None
        self.events.append((frame.f_code.co_name, event, frame.f_lineno))
        return None if self.only == "call" else self

    def of(self, f):
        self.events = []
        before = sys.gettrace()
        sys.settrace(self)
        try:
            f()
            assert sys.gettrace() is self
        finally:
            sys.settrace(before)
        return self.events


def test_watched_frames_and_no_others():
    watcher = Names()
    assert hooked(watcher, lambda: user_outer(3)) == 24
    assert watcher.entered.count("user_outer") == 1
    assert watcher.entered.count("user_inner") == 3
    assert set(watcher.entered) <= {"user_outer", "user_inner"}


@pytest.mark.parametrize("only", [None, "call"])
@pytest.mark.parametrize("f", [user_outer, user_of_generator])
def test_another_tracer_goes_on_seeing_its_events(f, only):
    debugger = Debugger(only)
    alone = debugger.of(lambda: f(3))
    assert {"line", "return"} <= {event for _, event, _ in alone} or only
    watcher = Names()
    assert debugger.of(lambda: hooked(watcher, lambda: f(3))) == alone
    assert f.__name__ in watcher.entered


def test_another_tracer_sees_the_recording_of_a_compiled_function():
    fast = cr.compile(user_outer)
    lines = {line for name, event, line in Debugger().of(lambda: fast(X)) if event == "line"}
    first = user_outer.__code__.co_firstlineno
    assert {first + 1, first + 2, first + 3} <= lines
    assert not fast.interpreted
    np.testing.assert_array_equal(fast(X), X * 8)


@monitored
def test_another_tool_goes_on_seeing_its_events():
    monitoring = sys.monitoring
    tool, seen = monitoring.COVERAGE_ID, []
    monitoring.use_tool_id(tool, "a tool")
    try:
        monitoring.register_callback(
            tool, monitoring.events.LINE, lambda code, line: seen.append((code.co_name, line))
        )
        for code in (user_outer.__code__, user_inner.__code__):
            monitoring.set_local_events(tool, code, monitoring.events.LINE)
        user_outer(3)
        alone, seen[:] = seen[:], []
        hooked(Names(), lambda: user_outer(3))
        assert seen == alone
        seen.clear()
        user_outer(3)
        assert seen == alone
    finally:
        monitoring.free_tool_id(tool)


def test_an_error_of_a_handler_leaves_before_the_instruction():
    class LeftError(Exception):
        pass

    def handle(frame, i):
        if frame.f_code.co_name == "user_inner" and i.name == "BINARY_OP":
            raise LeftError

    before = sys.gettrace()
    for _ in range(3):  # and again: nothing is switched off by an error
        with pytest.raises(LeftError):
            hooked(Names(handle), lambda: user_outer(3))
        assert sys.gettrace() is before
        assert hooked(Names(), lambda: user_outer(3)) == 24


def test_an_error_of_the_users_passes():
    def user_raises(x):
        return 1 // x

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            hooked(Names(), lambda: user_raises(0))
    assert hooked(Names(), lambda: user_raises(1)) == 1


def test_one_within_another():
    outer, inner = Names(), Names()

    def user_nested(x):
        return hooked(inner, lambda: user_inner(x)) + user_inner(x)

    assert hooked(outer, lambda: user_nested(2)) == 8
    assert inner.entered == ["user_inner"]
    assert outer.entered[0] == "user_nested"
    assert "user_inner" in outer.entered


def test_other_threads_are_left_alone():
    watcher, done = Names(), threading.Event()

    def other():
        while not done.is_set():
            user_outer(1)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        for _ in range(200):
            assert hooked(watcher, lambda: user_outer(3)) == 24
    finally:
        done.set()
        thread.join()
    assert watcher.threads == {threading.get_ident()}
    assert len(watcher.entered) == 800


def test_two_threads_watch_at_once():
    ready, wrong = threading.Barrier(3), []

    def work():
        try:
            ready.wait()
            for _ in range(100):
                watcher = Names()
                assert hooked(watcher, lambda: user_outer(3)) == 24
                assert len([n for n in watcher.entered if n == "user_inner"]) == 3
                assert watcher.threads == {threading.get_ident()}
        except BaseException as error:  # noqa: BLE001 - told in the main thread
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_the_call_held_is_released_at_once():
    """Without waiting for the garbage collector: a recording holds arrays as large as a batch."""

    class Held:
        pass

    def user_holds():
        held = Held()
        references.append(weakref.ref(held))
        return user_inner(3)

    references = []
    hooked(Names(), user_holds)
    assert references[0]() is None


def test_a_frame_that_was_running_is_not_watched():
    """Only frames that begin while watching: this test's own is not."""
    watcher = Names()
    value = hooked(watcher, lambda: user_inner(1))
    value = value + 1
    assert watcher.entered == ["user_inner"]


def test_many_threads_watch_at_once():
    """More than there are ids of tools in sys.monitoring."""
    ready, wrong = threading.Barrier(12), []

    def work():
        try:
            ready.wait()
            for _ in range(20):
                watcher = Names()
                assert hooked(watcher, lambda: user_outer(3)) == 24
                assert watcher.entered.count("user_inner") == 3
        except BaseException as error:  # noqa: BLE001 - told in the main thread
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_call_that_is_watched_may_wait_for_another_that_is():
    """As one does that hands its work to a pool of threads."""
    inner = cr.compile(user_inner)
    found = []

    def work():
        found.append(inner(X))

    def waits(x):
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(timeout=30)
        return x * 2

    hooked(Names(), lambda: waits(X))
    assert len(found) == 1
