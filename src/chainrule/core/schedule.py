"""Which stages of a computation are kept for its reverse pass, and which run again.

A computation is a chain of stages.  To reverse a stage, what it has saved must be there: either it
was run so that this is kept, or it is run again from the values that crossed into it.  Over all
choices of what is kept when, dynamic programming finds the one that takes the least time; a larger
budget allows every choice that a smaller one does, so it never takes more time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

UNITS = 300  # in how many parts of the natural peak memory is counted

Array = np.ndarray


@dataclass(frozen=True)
class Stage:
    """The cost of one stage: bytes, and time in any unit.

    `entering` and `leaving` are what crosses its two ends, the latter `saved` holds too; the peaks
    are of all that lives in it while it runs, but for `first_peak`, what enters it.
    """

    entering: int
    leaving: int
    saved: int
    first_peak: int  # run for its results alone, what enters being held by others
    later_peak: int  # the same, what enters being its own
    saving_peak: int
    adjoints_after: int  # of what leaves it and was there before, while it is run again
    reverse_peak: int  # beside what is saved
    seconds: float
    reverse_seconds: float


Step = tuple[str, int, int]  # "forward" from stage i to before stage j; "save" i; "reverse" i


@dataclass
class Schedule:
    """The choices for all budgets at once."""

    stages: Sequence[Stage]
    held: int = 0  # bytes that live all through

    @cached_property
    def unit(self) -> float:
        """The bytes of one part."""
        return max(self.natural_peak - self.held, 1) / (UNITS - len(self.stages) - 2)

    @cached_property
    def natural_peak(self) -> int:
        """With everything kept."""
        peak = held = 0
        for s in self.stages:
            peak = max(peak, held + s.saving_peak + s.adjoints_after)
            held += s.saved
        for s in reversed(self.stages):
            peak = max(peak, held + s.reverse_peak)
            held -= s.saved
        return self.held + peak

    @cached_property
    def natural_seconds(self) -> float:
        return sum(s.seconds + s.reverse_seconds for s in self.stages)

    def _units(self, count: int) -> int:
        return int(np.ceil(count / self.unit))

    @cached_property
    def _table(self) -> tuple[dict[tuple[int, int], Array], dict[tuple[int, int], Array]]:
        """Per range of stages and budget: the time, and the stage up to which it runs ahead."""
        n, size = len(self.stages), UNITS + 1
        times: dict[tuple[int, int], Array] = {}
        choices: dict[tuple[int, int], Array] = {}
        needs = [
            (
                self._units(s.first_peak), self._units(s.later_peak), self._units(s.entering),
                self._units(s.saved),
            )
            for s in self.stages
        ]  # fmt: skip
        for length in range(n):
            for s in range(n - length):
                t = s + length
                first, last = self.stages[s], self.stages[t]
                after = last.adjoints_after
                saving = self._units(
                    max(first.saving_peak + after, first.saved + first.reverse_peak)
                )
                rest = (
                    self._shifted(times[s + 1, t], needs[s][3]) if length else np.zeros(size, "f4")
                )
                best = rest + np.float32(first.seconds + first.reverse_seconds)
                best[:saving] = np.inf
                choice = np.zeros(size, np.int8)
                most, spent, after_units = 0, 0.0, self._units(after)
                for k in range(s + 1, t + 1):
                    most = max(most, needs[k - 1][0] if k - 1 == s else needs[k - 1][1])
                    spent += self.stages[k - 1].seconds
                    ahead = self._shifted(times[k, t], needs[k][2]) + times[s, k - 1]
                    ahead += np.float32(spent)
                    ahead[: most + after_units] = np.inf
                    better = ahead < best
                    best[better] = ahead[better]
                    choice[better] = k - s
                times[s, t], choices[s, t] = best, choice
        return times, choices

    @staticmethod
    def _shifted(times: Array, units: int) -> Array:
        """The time where so much of the budget is taken."""
        found = np.full(times.shape, np.inf, "f4")
        found[units:] = times[: len(times) - units] if units else times
        return found

    @cached_property
    def least(self) -> int:
        """The smallest budget for which there is a choice; 0 where there is none for any."""
        possible = np.isfinite(self._table[0][0, len(self.stages) - 1])
        if not possible.any():
            return 0
        return self.held + int(np.ceil((int(np.argmax(possible)) + 1) * self.unit))

    def seconds(self, budget: int) -> float:
        """The least time within the budget; infinite where it cannot be done."""
        if budget >= self.natural_peak:
            return self.natural_seconds
        return float(self._table[0][0, len(self.stages) - 1][self._capacity(budget)])

    def spent(self, steps: Sequence[Step]) -> float:
        """The time that these steps take."""
        total = 0.0
        for kind, i, j in steps:
            if kind == "reverse":
                total += self.stages[i].reverse_seconds
            else:
                total += sum(s.seconds for s in self.stages[i : max(j, i + 1)])
        return total

    def forget(self) -> None:
        """Drop the table of all choices, which takes some 300 kB; what was read of it stays."""
        self.__dict__.pop("_table", None)

    def _capacity(self, budget: int) -> int:
        return min(max(int((budget - self.held) // self.unit), 0), UNITS)

    def steps(self, budget: int) -> list[Step]:
        """What is run in which order, within a budget for which it can be done."""
        n = len(self.stages)
        if budget >= self.natural_peak:
            return [
                *(("save", i, i) for i in range(n)),
                *(("reverse", i, i) for i in range(n - 1, -1, -1)),
            ]
        choices = self._table[1]
        found: list[Step] = []
        pending: list[tuple[str, int, int, int]] = [("range", 0, n - 1, self._capacity(budget))]
        while pending:
            kind, s, t, units = pending.pop()
            if kind != "range":
                found.append((kind, s, t))
                continue
            ahead = int(choices[s, t][units])
            if ahead:
                k = s + ahead
                found.append(("forward", s, k))
                pending.append(("range", s, k - 1, units))
                pending.append(("range", k, t, units - self._units(self.stages[k].entering)))
                continue
            found.append(("save", s, s))
            pending.append(("reverse", s, s, 0))
            if s < t:
                pending.append(("range", s + 1, t, units - self._units(self.stages[s].saved)))
        return found

    def peak(self, steps: Sequence[Step]) -> int:
        """The bytes that these steps need at most."""
        held: list[tuple[int, int]] = []  # stage in front of which something is held, and how much
        saved = peak = 0
        last = len(self.stages) - 1
        for kind, i, j in steps:
            while held and held[-1][0] > last:
                held.pop()
            base = saved + sum(bytes_ for _, bytes_ in held)
            after = self.stages[last].adjoints_after
            if kind == "forward":
                for k in range(i, j):
                    s = self.stages[k]
                    peak = max(peak, base + after + (s.first_peak if k == i else s.later_peak))
                held.append((j, self.stages[j].entering))
            elif kind == "save":
                peak = max(peak, base + after + self.stages[i].saving_peak)
                saved += self.stages[i].saved
            else:
                peak = max(peak, base + self.stages[i].reverse_peak)
                saved -= self.stages[i].saved
                last = i - 1
        return self.held + peak
