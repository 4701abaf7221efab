"""The fuzzer finds nothing in a fixed slice of programs, and sees what it is there to see."""

import ast

import numpy as np
import pytest

from chainrule.optimise import found, iterations, repeats, roll
from tests.run.differential import failure_of, fuzz, short_loops
from tests.run.random_source import Writer
from tests.run.shrink import candidates, shrunk

pytest.importorskip("llvmlite")

TEXT = """
import numpy as np
state = {"scale": 1.0}

def f(x, y, t, *, n=2):
    w = x * 2.0
    if n > 1:
        w = w + y
    return w * state["scale"]

def change(k):
    state["scale"] = 1.0 + k

POINTS = [((np.ones(4), np.ones(4), 0.5), {"n": 2}), ((np.ones(4), np.zeros(4), 0.5), {"n": 1})]
"""
BROKEN = TEXT.replace("w = w + y", 'w = w + y\n        raise KeyError("never caught")')


@pytest.mark.parametrize("first", range(0, 80, 40))
def test_no_program_of_the_slice_comes_out_otherwise(first):
    tally = fuzz(seed=7, numbers=range(first, first + 40), seconds=np.inf, shrink=False)
    assert not tally.failures, str(tally)
    assert tally.programs == 40
    assert sum(tally.refusals.values()) <= 2, str(tally)
    assert tally.machine_code >= 34, str(tally)


def test_nor_where_every_repetition_is_a_loop(monkeypatch):
    for module in (repeats, iterations, found, roll):
        for name in ("MIN_COUNT", "MIN_SAVED_NODES"):
            monkeypatch.setattr(module, name, getattr(module, name, 0), raising=False)
    short_loops()
    tally = fuzz(seed=77, numbers=range(290, 310), seconds=np.inf, shrink=False)
    assert not tally.failures, str(tally)


def test_programs_are_the_same_for_the_same_seed_and_have_every_feature():
    assert Writer(7, 3).text() == Writer(7, 3).text() != Writer(8, 3).text()
    seen = set()
    for number in range(150):
        writer = Writer(7, number)
        ast.parse(writer.text())
        seen |= set(writer.features)
    assert seen >= {"branch", "mask", "loop", "while", "try", "state", "write", "tie", "float32"}
    assert seen >= {
        "container argument",
        "further keywords",
        "int64",
        "container",
        "closure",
        "conversion",
        "inquiry",
        "sort",
        "tie point",
    }


def test_what_the_compiled_function_does_otherwise_is_seen(monkeypatch):
    """A compiler that keeps the first value of the state for ever."""

    class Frozen:
        variants = ()

        def __init__(self, f):
            self.f, self.results = f, []

        def __call__(self, *args, **kwargs):
            self.results.append(self.f(*args, **kwargs))
            return self.results[0]

    assert failure_of(TEXT) is None
    monkeypatch.setattr("tests.run.differential.compiled", Frozen)
    failure = failure_of(TEXT)
    assert (failure.kind, failure.what, failure.call) == ("different", "value", 1)


def test_an_error_of_the_program_is_no_failure():
    assert failure_of(BROKEN) is None


def test_a_failing_program_is_made_small():
    small = shrunk(Writer(7, 1).text(), lambda text: "np.tanh" in text)
    assert "np.tanh" in small
    assert "    if" not in small
    assert len(small) < 0.6 * len(Writer(7, 1).text())


def test_the_arguments_are_left_as_they_are():
    points = TEXT.strip().splitlines()[-1]
    assert all(ast.unparse(ast.parse(points)) in c or "POINTS" not in c for c in candidates(TEXT))
