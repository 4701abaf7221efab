"""Schedules are the formulas that their docstrings give, of numbers, arrays and compiled."""

import math

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn

SCHEDULES = [
    (learn.constant(0.3), lambda t: 0.3),
    (learn.inverse_time(0.3, 0.1), lambda t: 0.3 / (1 + 0.1 * t)),
    (learn.exponential(0.3, 0.9), lambda t: 0.3 * 0.9**t),
    (learn.step_decay(0.3, 4, 0.5), lambda t: 0.3 * 0.5 ** (t // 4)),
    (
        learn.cosine(0.3, 10),
        lambda t: 0.15 * (1 + math.cos(math.pi * t / 10)) if t < 10 else 0.0,
    ),
    (
        learn.cosine(0.3, 10, warmup=4),
        lambda t: (
            0.3 * (t + 1) / 4
            if t < 4
            else 0.15 * (1 + math.cos(math.pi * (t - 4) / 6)) if t < 10 else 0.0
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schedule", "formula"), SCHEDULES)
def test_formula(schedule, formula):
    for t in range(15):
        assert float(schedule(np.float64(t))) == pytest.approx(formula(t), rel=1e-14, abs=1e-16)


@pytest.mark.parametrize(("schedule", "formula"), SCHEDULES[1:])
def test_compiled_once(schedule, formula):
    fast = cr.compile(schedule)
    found = [fast(np.array(float(t))) for t in range(15)]
    np.testing.assert_allclose(found, [formula(t) for t in range(15)], rtol=1e-13, atol=1e-16)
    assert fast.recordings == 1
    assert "interpreted" not in fast.report()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: learn.constant(-1.0), r"constant\(rate=-1.0\)"),
        (lambda: learn.inverse_time(0.1, float("nan")), r"inverse_time\(decay=nan\)"),
        (lambda: learn.exponential("fast", 0.9), r"exponential\(rate='fast'\)"),
        (lambda: learn.step_decay(0.1, 0), r"step_decay\(every=0\)"),
        (lambda: learn.cosine(0.1, 10, warmup=10), r"warmup=10"),
    ],
)
def test_bad_settings_are_named(make, named):
    with pytest.raises(cr.ArgumentError, match=named):
        make()
