"""Calls: which call of user code made each node, known by its own frame."""

import contextvars
import threading
import weakref

import numpy as np
import pytest

import chainrule as cr
from chainrule.record.specialise import GuardedTrace, specialised


def step(h, w):
    return np.tanh(h * w)


def loop(h, w):
    for _ in range(3):
        h = step(h, w) + 1.0
    return h


def paths(graph):
    """Per recorded node its op and the functions it was made in, the outermost first."""
    calls = graph.calls
    found = []
    for node, call in zip(calls.nodes, calls.call, strict=True):
        names = []
        while call >= 0:
            names.append(calls.code[call].co_name)
            call = calls.parent[call]
        found.append((node.op.name, *reversed(names)))
    return found


def test_nodes_are_noted_as_they_come_with_who_called_whom():
    graph = cr.trace(loop, 0.5, 0.3)
    turn = [("multiply", "loop", "step"), ("tanh", "loop", "step"), ("add", "loop")]
    assert paths(graph) == turn * 3


def test_two_calls_from_one_line_are_two():
    calls = cr.trace(loop, 0.5, 0.3).calls
    assert [code.co_name for code in calls.code] == ["loop", "step", "step", "step"]
    assert calls.parent == (-1, 0, 0, 0)
    assert len(set(calls.site[1:])) == 1


def test_nodes_that_lead_nowhere_are_left_out():
    def f(x):
        np.sin(x)
        return np.cos(x)

    assert paths(cr.trace(f, 1.0)) == [("cos", "f")]


def test_frames_of_numpy_and_of_the_library_are_no_calls():
    def f(x):
        return np.mean(x, axis=0) + cr.logsumexp(x) + np.linalg.norm(x)

    graph = cr.trace(f, np.arange(1.0, 4.0))
    assert {code.co_name for code in graph.calls.code} == {"f"}
    assert len(graph.calls.nodes) == len(graph) - 1


def test_a_function_that_is_no_user_code_has_no_call():
    graph = cr.trace(np.sin, 1.0)
    assert graph.calls.call == (-1,)


def test_in_another_thread_there_is_no_caller():
    def f(x):
        y = np.sin(np.linalg.norm(x))
        made = []
        here = contextvars.copy_context()
        thread = threading.Thread(target=here.run, args=(lambda: made.append(np.cos(y)),))
        thread.start()
        thread.join()
        return made[0] * 2.0

    found = paths(cr.trace(f, np.array([1.0, 2.0])))
    assert found[-3:] == [("sin", "f"), ("cos",), ("multiply", "f")]


class Held:
    """Something whose life can be watched."""


@pytest.mark.parametrize("fails", [False, True])
def test_no_frame_outlives_the_trace(fails):
    seen = []

    def inner(x):
        held = Held()
        seen.append(weakref.ref(held))
        y = x * 2.0
        if fails:
            raise ValueError("on purpose")
        return y

    if fails:
        with pytest.raises(ValueError, match="on purpose"):
            cr.trace(lambda x: inner(x) + 1.0, 1.0)
    else:
        cr.trace(lambda x: inner(x) + 1.0, 1.0)
    assert seen[0]() is None


def test_what_is_compiled_has_no_calls():
    assert specialised(loop, (0.5, 0.3), {}, trace=GuardedTrace()).graph.calls is None
