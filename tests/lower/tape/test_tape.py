"""Scalar graphs as tapes (`kinds.py`, `taping.py`): schedule, kinds, and what stays outside."""

from typing import Any

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import OPS
from chainrule.diff import sweep
from chainrule.diff.sweep import moves_lanes
from chainrule.lower.tape import taping
from chainrule.lower.tape.tape import (
    APART,
    KIND,
    LENGTH,
    MAX_RUN,
    ONE,
    REVERSED,
    Tape,
    kinds_and_lengths,
    scheduled,
)
from chainrule.lower.tape.taping import taped
from chainrule.lower.values.value import ordered
from chainrule.record.specialise import GuardedTrace, specialised


def tape_of(f: Any, *args: Any) -> Tape:
    recording = taped(specialised(f, args, {}, trace=GuardedTrace(sweeps=True)))
    (tape,) = [n.attrs["tape"] for n in recording.graph if "tape" in n.attrs]
    return tape


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MIN_NODES", 0)


def run_of(kind: int, length: int, flags: int = 0) -> int:
    return (kind << KIND) + (length << LENGTH) + flags


def test_runs_are_of_one_kind_and_level():
    # Given: two numbers.  Then, as they appeared: f(0), f(1), h(2, 3), f(4).
    kind = np.array([-1, -1, 0, 0, 1, 0])
    level = np.array([0, 0, 1, 1, 2, 3])
    found = scheduled(kind, level, np.zeros(6, int), np.array([0, 1, 2, 3, 4]), [1, 2])
    assert found.runs.tolist() == [run_of(0, 2), run_of(1, 1, ONE), run_of(0, 1, ONE)]
    assert found.operands.tolist() == [0, 1, 2, 3, 4]
    assert found.slot.tolist() == [0, 1, 2, 3, 4, 5]


def test_short_groups_of_one_kind_are_one_run_in_order():
    count = 50  # a chain
    kind = np.array([-1] + [0] * count)
    back = np.where(kind == 0, 2, 0)
    found = scheduled(kind, np.arange(count + 1), back, np.arange(count), [1])
    assert found.runs.tolist() == [run_of(0, count)]
    assert [found.runs_back(i)[0] & REVERSED for i in range(2)] == [0, REVERSED]


def test_wide_levels_stay_apart():
    kind = np.array([-1] + [0] * 200)
    level = np.array([0] + [1] * 100 + [2] * 100)
    operands = np.array([0] * 100 + list(range(1, 101)))
    found = scheduled(kind, level, np.zeros(201, int), operands, [1])
    assert found.runs.tolist() == [run_of(0, 100, APART)] * 2


def test_a_long_run_is_cut_into_pieces():
    count = 2 * MAX_RUN + 5
    kind = np.array([-1] + [3] * count)
    level = np.array([0] + [1] * count)
    found = scheduled(kind, level, np.zeros(count + 1, int), np.zeros(count, int), [0, 0, 0, 1])
    kinds, lengths = kinds_and_lengths(found.runs)
    assert kinds.tolist() == [3] * 3
    assert lengths.tolist() == [MAX_RUN, MAX_RUN, 5]
    assert found.runs.tolist() == [run_of(3, int(n), APART) for n in lengths]


def test_operands_of_a_run_stand_column_by_column():
    kind = np.array([-1, -1, 0, 0])
    found = scheduled(kind, np.array([0, 0, 1, 1]), np.zeros(4, int), np.array([0, 1, 1, 0]), [2])
    assert found.operands.tolist() == [0, 1, 1, 0]
    assert found.runs.tolist() == [run_of(0, 2)]


def test_a_gradient_adds_no_instructions():
    def f(x):
        for _ in range(100):
            x = np.sin(x) * 0.5
        return x

    forward, both = tape_of(f, 1.0), tape_of(cr.grad(f), 1.0)
    assert forward.instructions == 200
    assert both.instructions == 201  # and a copy of the input, whose adjoint is asked for
    assert [len(t.sweeps) for t in (forward, both)] == [0, 1]


def test_what_the_way_back_needs_of_operands_is_saved():
    def f(x, y):
        return np.sin(x) * np.maximum(y, 0.0) + np.exp(x) / y

    tape = tape_of(cr.grad(f, argnums=(0, 1)), 1.0, 2.0)
    kept = {kind.name: len(kind.saved) for kind in tape.kinds}
    assert kept["sin"] == 1
    assert kept["multiply"] == kept["divide"] == 2
    assert kept["exp"] == kept["add"] == 0
    assert tape.saved == sum(kept.values())
    for kind in tape.kinds:
        operands = kind.inputs[: len(kind.operands)]
        assert not {*operands} & {*ordered([v for v in kind.reverse if v is not None])}


def test_where_no_adjoint_comes_nothing_is_saved():
    def f(x, y):
        return x * np.sin(y)

    tape = tape_of(cr.value_and_grad(lambda x, y: np.sin(f(x, y))), 1.0, 2.0)
    assert sorted((k.name, len(k.saved)) for k in tape.kinds if k.name == "sin") == [
        ("sin", 0), ("sin", 1)
    ]  # fmt: skip
    assert tape_of(f, 1.0, 2.0).saved == 0


def test_work_grows_with_the_graph():
    def f(count):
        def program(x):
            y = x
            for _ in range(count // 2):
                y = np.sin(y) + x
            return y

        return program

    small, large = tape_of(cr.grad(f(1000)), 1.0), tape_of(cr.grad(f(10_000)), 1.0)
    assert len(large.kinds) == len(small.kinds)
    assert large.nbytes <= 10.1 * small.nbytes
    assert large.nbytes <= 40 * large.instructions


def test_constants_are_written_into_the_code_or_take_slots():
    def scaled(x, factors):
        for k in factors:
            x = x * k
        return x

    few = tape_of(lambda x: scaled(x, [2.0, 3.0] * 10), 1.0)
    many = tape_of(lambda x: scaled(x, [1.0 + k / 100 for k in range(50)]), 1.0)
    assert len(few.kinds) == 2
    assert len(few.given) == 1
    assert len(many.kinds) == 5
    assert len(many.given) == 1 + 46


def test_zeros_of_either_sign_are_two_constants():
    tape = tape_of(lambda x: (x * 0.0, x * -0.0), 1.0)
    assert len(tape.kinds) == 2


def test_what_is_of_too_many_kinds_stays_outside(monkeypatch):
    monkeypatch.setattr(taping, "MAX_KINDS", 4)

    def f(x):
        return np.exp(np.cos(np.sin(x) * x)) + x

    recording = taped(specialised(f, (1.0,), {}, trace=GuardedTrace()))
    names = [n.op.name for n in recording.graph if not n.is_leaf]
    assert names == ["tape", "item", "cos", "exp", "add"]


def test_elements_and_views_are_no_instructions():
    tape = tape_of(lambda x: x[1] + x[::2][0] * x.reshape(3, 1)[2, 0], np.arange(3.0))
    assert tape.names == ["multiply", "add"]


def test_what_is_no_scalar_reads_the_results():
    def f(x, a):
        y = np.sin(x) * 2.0
        return a * y

    recording = taped(specialised(f, (1.0, np.ones(3)), {}, trace=GuardedTrace()))
    names = [n.op.name for n in recording.graph if not n.is_leaf]
    assert names == ["tape", "item", "multiply"]


def test_two_recordings_of_one_graph_are_equal():
    def f(x):
        return np.sin(x) * 2.0

    assert tape_of(f, 1.0) == tape_of(f, 1.0)
    assert tape_of(f, 1.0) != tape_of(lambda x: np.sin(x) * 3.0, 1.0)


VIEWS = [op for op in OPS.values() if moves_lanes(op)]


@pytest.mark.parametrize("op", VIEWS, ids=lambda op: op.name)
def test_views_are_no_instructions_and_sums_of_lanes_no_views(op):
    for sample in op.samples():
        x = np.asarray(sample.args[0])
        if x.dtype != np.float64 or not x.size:
            continue
        slots = np.arange(x.size).reshape(x.shape)
        found, shifted = (op.forward(slots + by, **sample.attrs) for by in (0, 10**6))
        moved = np.array_equal(shifted, found + 10**6)

        def f(x, attrs=sample.attrs):
            return np.sin(x.reshape(-1)[0]), op(x, **attrs)

        recording = specialised(f, (x,), {}, trace=GuardedTrace())
        names = [n.op.name for n in taped(recording).graph if not n.is_leaf]
        assert (op.name in names) != moved
