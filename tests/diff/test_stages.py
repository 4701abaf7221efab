"""A recorded computation cut into stages."""

import numpy as np

import chainrule as cr
from chainrule.core.schedule import Schedule
from chainrule.diff.stages import MAX_STAGES, Chain


def chain(f, x, as_recorded=False):
    graph = cr.trace(f, x)
    nodes = [n for n in graph.nodes if not n.is_leaf]
    sizes = {n: n.size * 8 for n in nodes}
    owners = {n: n for n in nodes}
    none = dict.fromkeys(nodes, 0)
    order = nodes if as_recorded else ()
    return Chain(nodes, graph.outputs, sizes, owners, none, none, as_recorded=order)


def deep(x):
    first = np.sin(x)
    for _ in range(30):
        x = np.cos(x) * 0.9
    return np.sum(first + x)


def test_all_is_reversed_once_in_order():
    for as_recorded in (False, True):
        work = chain(deep, np.ones(100), as_recorded)
        ends = work.cuts()
        assert len(ends) <= MAX_STAGES
        assert ends[-1] == len(work.order)
        parts = work.parts(ends, set())
        assert [n for p in parts for n in p.reverse] == work.reverse
        assert [n for p in parts for n in p.forward] == work.order


def test_what_is_read_late_crosses_or_is_pinned():
    work = chain(deep, np.ones(100), as_recorded=True)
    ends = work.cuts()
    (first,) = work.pinned(ends, 4)
    assert first.op.name == "sin"
    crossed = [first in p.enters for p in work.parts(ends, set())]
    assert sum(crossed) > MAX_STAGES // 2
    assert not any(first in p.enters for p in work.parts(ends, {first}))


def test_less_memory_for_a_chain():
    work = chain(lambda x: deep(x), np.ones(1000))
    ends = work.cuts()
    pinned = work.pinned(ends, 4)
    schedule = Schedule(work.stages(work.parts(ends, pinned), pinned), work.size(pinned))
    assert schedule.least < 0.35 * schedule.natural_peak
