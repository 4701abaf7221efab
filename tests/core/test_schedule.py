"""The cheapest choice of what is kept: within the budget, monotone, and the best there is."""

import numpy as np
import pytest

from chainrule.core.schedule import Schedule, Stage


def chain(n, size=1000, seed=None):
    draw = np.random.default_rng(seed)
    stages = []
    entering = 0
    for _ in range(n):
        part = size if seed is None else int(draw.integers(100, 2000))
        stages.append(
            Stage(entering, part, part, part, part + entering, part, part, 2 * part, 1.0, 2.0)
        )
        entering = part
    return Schedule(stages)


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_within_the_budget_and_monotone(seed):
    schedule = chain(16, seed=seed)
    least, natural = schedule.least, schedule.natural_peak
    assert 0 < least < natural
    times = []
    for budget in np.linspace(least, natural * 1.1, 40).astype(int):
        steps = schedule.steps(int(budget))
        assert schedule.peak(steps) <= budget
        assert sum(kind == "reverse" for kind, _, _ in steps) == 16
        assert [i for kind, i, _ in steps if kind == "reverse"] == [*range(15, -1, -1)]
        times.append(schedule.seconds(int(budget)))
    assert times == sorted(times, reverse=True)
    assert times[-1] == schedule.natural_seconds
    assert not np.isfinite(schedule.seconds(least - 2 * int(schedule.unit) - 2))


def test_what_is_saved_is_there_when_it_is_reversed():
    schedule = chain(12)
    for budget in range(schedule.least, schedule.natural_peak, 700):
        entering, saved = {0}, set()
        for kind, i, j in schedule.steps(budget):
            assert kind == "reverse" or i in entering
            if kind == "forward":
                entering.add(j)
            elif kind == "save":
                saved.add(i)
                entering.add(i + 1)
            else:
                assert i in saved
                saved.remove(i)
                entering = {k for k in entering if k < i + 1}


def test_time_grows_slowly():
    """Half of the memory costs less than one more run of a chain."""
    schedule = chain(20)
    assert schedule.seconds(schedule.natural_peak // 2) <= 1.25 * schedule.natural_seconds
