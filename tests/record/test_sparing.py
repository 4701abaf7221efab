"""Recording within a budget: what is alive is counted, what changes is noticed."""

import re

import numpy as np
import pytest

import chainrule as cr
from chainrule.record.sparing import SparingTrace, arrays_of
from chainrule.record.state import recording


def test_where_the_function_itself_holds_too_much_its_line_is_told():
    def hoards(x):
        kept = []
        for _ in range(100):
            kept.append(np.sin(x))
        return sum(np.sum(k) for k in kept)

    with pytest.raises(cr.MemoryBudgetError, match=re.escape("kept.append(np.sin(x))")):
        cr.grad(hoards, memory="3MB")(np.ones(10_000))


def test_the_budget_told_is_the_one_given_and_least_is_more():
    def hoards(x):
        kept = [np.sin(x) for _ in range(100)]
        return sum(np.sum(k) for k in kept)

    for budget, shown in ((100_000, "100 kB"), (500_000, "500 kB"), (3_000_000, "3 MB")):
        with pytest.raises(cr.MemoryBudgetError, match=f"the budget is {shown}") as raised:
            cr.grad(hoards, memory=budget)(np.ones(10_000))
        assert raised.value.least > budget


def test_an_array_that_is_changed_on_the_way_is_noticed():
    def f(x):
        scale = np.ones(5000)
        y = x * scale
        scale[:] = 2.0
        return np.sum(np.sin(y * scale))

    with pytest.raises(cr.MutationError, match="y = x \\* scale"):
        cr.grad(f, memory="10MB")(np.ones(5000))


def test_what_is_alive_is_counted():
    x = cr.variable(np.ones(1000))
    trace = SparingTrace(10**6, len, ())
    with recording(tracing=trace, inside=True):
        y = np.sin(x)
        assert trace.alive == 8000
        z = y.reshape(10, 100)  # a view
        assert trace.alive == 8000
        del y
        assert trace.alive == 8000
        trace.keeps = False
        kept = [np.cos(z) for _ in range(3)]
        assert trace.alive == 32_000
        del kept
        assert trace.alive == 8000
    assert trace.peak == 32_000


def test_arrays_that_were_there_before():
    data, held = np.ones(3), {"w": [np.ones(2)]}

    class Model:
        def __init__(self):
            self.bias = np.ones(4)

        def loss(self, x):
            return x * data

    model = Model()
    found = [a.shape for a in arrays_of((model.loss, held))]
    assert sorted(found) == [(2,), (3,), (4,)]
