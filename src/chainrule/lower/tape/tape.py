"""A large scalar graph as a tape: arrays of instructions that one small compiled loop runs.

Values stand in slots of eight bytes: first what is given (inputs, constants), then one per
instruction.  Instructions are sorted by level (how many steps lie before them) and kind, and follow
each other in *runs* of one kind, so that the loop asks once per run what to do, and computes
neighbours together.  A run is its kind, length and flags; its results are the next slots, and its
operands stand in a list of slots: all first operands, then all second ones, …  What the reverse
pass will need of the operands is saved in the same order, in a buffer of its own.  So an
instruction takes 4 bytes per operand, 16 for its value and its adjoint, and 8 for each number
saved; a run takes 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.lower.tape.kinds import Kind

# The word of a run: its instructions do not need each other; it hands adjoints on; its length, a
# bit where that is one, and its kind.
APART, REVERSED, LENGTH, ONE, KIND = 1, 2, 2, 2**15, 16
MAX_RUN = 8184  # instructions of a run: the most in 13 bits that fill whole vectors
MAX_KINDS = 2**15
SHORT_GROUP = 16  # groups of fewer instructions of one kind are put together, one by one


@dataclass(frozen=True)
class TapeResult:
    """Where a result is read: of the values, or of the adjoints of a sweep, which slots."""

    sweep: int  # -1: of the values
    slots: np.ndarray
    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class ReverseSweep:
    """A reverse pass: the slot it starts from, its adjoint, and the runs that hand theirs on."""

    slot: int
    seed: float
    runs: np.ndarray


@dataclass(frozen=True, eq=False)
class Tape:
    """Instructions, what they start from, and what is read of them."""

    kinds: tuple[Kind, ...]
    runs: np.ndarray  # a word each
    operands: np.ndarray
    given: np.ndarray  # the first slots: constants, and places for the inputs
    inputs: tuple[tuple[int, int, Any], ...]  # first slot, size, type
    instructions: int
    sweeps: tuple[ReverseSweep, ...]
    results: tuple[TapeResult, ...]

    @property
    def slots(self) -> int:
        return len(self.given) + self.instructions

    @property
    def saved(self) -> int:
        """How many numbers are kept for the reverse pass, beside values."""
        return sum(n * len(kind.saved) for n, kind in zip(self.counts, self.kinds, strict=True))

    @property
    def counts(self) -> list[int]:
        """How many instructions there are of each kind."""
        kinds, lengths = kinds_and_lengths(self.runs)
        return np.bincount(kinds, lengths, len(self.kinds)).astype(int).tolist()

    @property
    def words(self) -> int:
        """Numbers of eight bytes that a call needs memory for."""
        return self.slots + (self.slots + self.saved if self.sweeps else 0)

    @property
    def names(self) -> list[str]:
        return [kind.name for kind in self.kinds]

    @property
    def nbytes(self) -> int:
        """The tape, and per call the values, the adjoints and what is saved for them."""
        runs = self.runs.nbytes * max(1, len(self.sweeps))
        return int(runs + self.operands.nbytes + 8 * self.words)

    def __eq__(self, other: object) -> bool:
        """Whether the same is computed from the same constants."""
        if not isinstance(other, Tape):
            return NotImplemented
        arrays = [[t.runs, t.operands, t.given, *(s.runs for s in t.sweeps)] for t in (self, other)]
        arrays = [
            a + [r.slots for r in t.results] for a, t in zip(arrays, (self, other), strict=True)
        ]
        meanings = [
            (
                [k.meaning for k in t.kinds], [r.sweep for r in t.results], t.inputs,
                [(s.slot, s.seed) for s in t.sweeps],
            )
            for t in (self, other)
        ]  # fmt: skip
        return meanings[0] == meanings[1] and all(
            np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            for a, b in zip(*arrays, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Schedule:
    """Instructions in the order they run."""

    runs: np.ndarray
    back: np.ndarray  # per run, by the bits of a number, which sweeps it takes part in
    operands: np.ndarray
    slot: np.ndarray  # per number of appearance

    def runs_back(self, sweep: int) -> np.ndarray:
        """The runs as one sweep sees them."""
        return self.runs | np.where(self.back >> sweep & 1, REVERSED, 0).astype(np.int32)


def kinds_and_lengths(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the words of runs say."""
    return runs >> KIND, (runs & ONE - 1) >> LENGTH


def scheduled(
    kind: np.ndarray, level: np.ndarray, back: np.ndarray, operands: np.ndarray, arity: Any
) -> Schedule:
    """Sort by level and kind (-1: given, comes first), and write down the runs.

    `operands` are those of all instructions in a row, `arity` how many each kind has.
    """
    arity = np.array([*arity, 0], np.int64)  # the last is that of -1
    each = arity[kind]
    first_operand = np.cumsum(each) - each
    order = np.lexsort((back, kind, level)).astype(np.int32)
    slot = np.empty_like(order)
    slot[order] = np.arange(len(order), dtype=np.int32)
    order = order[np.count_nonzero(kind < 0) :]
    starts, apart = _short_enough(*_runs(kind[order], level[order], back[order]), len(order))
    lengths = np.diff(starts, append=len(order))
    kinds = kind[order[starts]]
    words = (kinds << KIND) + ONE * (lengths == 1) + (lengths << LENGTH) + APART * apart
    begins = np.cumsum(arity[kinds] * lengths) - arity[kinds] * lengths
    of = np.repeat(np.arange(len(starts)), lengths)
    inside = np.arange(len(order)) - starts[of]
    slots = np.empty(len(operands), np.int32)
    for j in range(int(arity.max())):
        has = arity[kind[order]] > j
        at = (begins[of] + j * lengths[of] + inside)[has]
        slots[at] = slot[operands[first_operand[order[has]] + j]]
    return Schedule(words.astype(np.int32), back[order[starts]], slots, slot)


def _runs(kind: np.ndarray, level: np.ndarray, back: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each run starts, and whether its instructions do not need each other."""
    other = (np.diff(kind) != 0) | (np.diff(back) != 0)
    starts = np.flatnonzero(np.r_[len(kind) > 0, other | (np.diff(level) != 0)])  # of groups
    short = np.diff(starts, append=len(kind)) < SHORT_GROUP
    joined = np.r_[starts[:0] > 0, starts[:1] < 0, ~other[starts[1:] - 1] & short[1:] & short[:-1]]
    alone = ~joined & ~np.r_[joined[1:], joined[:1]]
    return starts[~joined], alone[~joined] & ~short[~joined]


def _short_enough(
    starts: np.ndarray, apart: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same with long runs cut in pieces."""
    pieces = -(-np.diff(starts, append=count) // MAX_RUN)
    inside = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.repeat(starts, pieces) + MAX_RUN * inside, np.repeat(apart, pieces)
