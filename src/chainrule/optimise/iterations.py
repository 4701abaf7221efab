"""What the steps of an iteration read: how each operand goes on from one iteration to the next.

    Same        a constant, the same in every iteration
    Table       constants that differ
    Fixed       one node from outside
    Local       a step of the same iteration
    Carried     a step of the iteration before, or of an earlier one
    Rows        a step of another run, in iterations that follow each other there as here
    Each        nodes from outside that follow no rule

An iteration at an end of a run that reads otherwise than the others is left out of it; a run in
which too few read alike is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.parts import OBJECT
from chainrule.optimise.indices import Numbers, can_be_arrays, numbers_in
from chainrule.optimise.repeats import MIN_COUNT, Stretch
from chainrule.optimise.share import constant_key

MAX_TURNS = 4  # iterations after which a body is wired as before
MAX_DISTANCE = 32  # iterations back that a step may read
MAX_PHASES = 2048  # steps at which an iteration may be said to begin
MAX_ROUNDS = 64
MAX_LEFT_OUT = 4  # iterations that may be left out for reading another node than all others
CONSTANT = -1  # in place of an operand's number; nodes from outside are numbered below
NUMBER = (int, float, complex, np.generic)
Truths = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Run:
    """`count` iterations of `period` steps, from `start` on; each is `turns` rounds of a loop."""

    start: int
    period: int
    count: int
    turns: int = 1

    @property
    def length(self) -> int:
        return self.period * self.count

    @property
    def stop(self) -> int:
        return self.start + self.length

    def part(self, first: int, last: int) -> Run:
        """The iterations from `first` up to, but not including, `last`."""
        return Run(self.start + first * self.period, self.period, last - first, self.turns)

    def place(self, position: int) -> tuple[int, int]:
        """The iteration and the step at a position of the sequence."""
        return divmod(position - self.start, self.period)


@dataclass(frozen=True)
class Same:
    value: Any


@dataclass(frozen=True)
class Table:
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Fixed:
    node: Node


@dataclass(frozen=True)
class Local:
    step: int


@dataclass(frozen=True)
class Carried:
    """A step, `distance` iterations before; in the first iterations `inits` stand for it."""

    step: int
    distance: int
    inits: tuple[Node, ...]


@dataclass(frozen=True)
class Rows:
    """A step of run number `run`: in iteration i that of its iteration first + i * stride."""

    run: int
    step: int
    first: int
    stride: int


@dataclass(frozen=True)
class Each:
    nodes: tuple[Node, ...]


Operand = Same | Table | Fixed | Local | Carried | Rows | Each


@dataclass
class Iterations:
    """A run, with the operands of its steps, and the numbers in their indices by iteration."""

    run: Run
    operands: list[list[Operand]] = field(default_factory=list)
    indices: dict[int, Numbers] = field(default_factory=dict)

    @property
    def saved(self) -> int:
        """How many nodes a loop saves; a single number that must be joined to a row costs two."""
        operands = {o for some in self.operands for o in some if isinstance(o, Each)}
        joined = sum(2 for o in operands if not o.nodes[0].ndim)
        return (self.run.period - joined) * (self.run.count - 1)

    @property
    def handed_on(self) -> int:
        """How many values an iteration is given that are not those of the next."""
        moving = (Table, Carried, Rows, Each)
        operands = (o for some in self.operands for o in some if isinstance(o, moving))
        return len(set(operands)) + len(self.indices)


class Wiring:
    """The nodes in the order in which they were recorded, and their operands as numbers.

    An operand is the position of a node, `CONSTANT`, or below it the number of a node outside.
    """

    def __init__(self, nodes: Sequence[Node], numbers: Numbers):
        self.nodes = nodes
        self.position = {node: i for i, node in enumerate(nodes)}
        self.outside: list[Node] = []
        known: dict[Node, int] = {}
        steps = [i for i, number in enumerate(numbers.tolist()) if number >= 0]
        widest = max((len(nodes[i].args or ()) for i in steps), default=0)
        self.operands = np.full((len(nodes), widest), CONSTANT, np.int64)
        for i in steps:
            for q, argument in enumerate(nodes[i].args or ()):
                if isinstance(argument, Node):
                    at = self.position.get(argument)
                    if at is None:
                        at = known.get(argument)
                        if at is None:
                            at = known[argument] = -2 - len(self.outside)
                            self.outside.append(argument)
                    self.operands[i, q] = at

    def node(self, number: int) -> Node:
        return self.nodes[number] if number >= 0 else self.outside[-2 - number]

    def run_of(self, stretch: Stretch) -> Run:
        """The stretch cut into iterations where the least memory is carried on."""
        start, period, length = stretch.start, stretch.period, stretch.length
        middle = start + length // period // 2 * period
        read = self.operands[middle : middle + period]
        at, q = np.nonzero((read >= start) & (read < start + length))
        x, y = at + middle - start, read[at, q] - start
        weights = np.array([_weight(self.nodes[middle + j]) for j in range(period)])
        weights = np.roll(weights, (middle - start) % period)
        spare = length - max(MIN_COUNT, length // period - 1) * period
        best = np.inf, 0, 0
        for phase in range(min(period, spare + 1, MAX_PHASES)):
            across = (x - phase) // period != (y - phase) // period
            cost = weights[np.unique(y[across] % period)].sum()
            best = min(best, (cost, -((length - phase) // period), phase))
        return Run(start + best[2], period, -best[1])


def _weight(node: Node) -> float:
    return np.inf if node.dtype == OBJECT else 8.0 + node.size * node.dtype.itemsize


def settled(
    wiring: Wiring, runs: Sequence[Run], unlike: dict[int, Node] | None = None
) -> list[Iterations]:
    """The runs, cut down until all iterations of each read alike, and what they read.

    `unlike` is given the step, by where the run starts, at which most iterations read otherwise.
    """
    runs = list(runs)
    for _ in range(MAX_ROUNDS):
        owner = np.full(len(wiring.nodes), -1)
        for number, run in enumerate(runs):
            owner[run.start : run.stop] = number
        read = [_Reading(wiring, runs, owner, number) for number in range(len(runs))]
        if all(one.alike.all() for one in read):
            return [one.iterations for one in read]
        if unlike is not None:
            unlike.update({one.run.start: one.unlike for one in read if one.unlike is not None})
        runs = [smaller for one in read for smaller in _cut(one.iterations.run, one.alike)]
    return []


def _cut(run: Run, alike: Truths) -> list[Run]:
    """What is left of a run whose iterations are not all alike."""
    if alike.all():
        return [run]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], alike.astype(np.int8), [0]])))
    first, last = max(edges.reshape(-1, 2).tolist(), key=lambda e: e[1] - e[0], default=(0, 0))
    if last - first < max(MIN_COUNT, run.count // 2) and run.turns < MAX_TURNS:
        turns = run.turns + 1
        period, rounds = run.period // run.turns, run.count * run.turns
        longer = Run(run.start, period * turns, rounds // turns, turns)
        return [longer] if longer.count >= MIN_COUNT else []
    if last - first < MIN_COUNT:
        return []
    parts = run.part(0, first), run.part(first, last), run.part(last, run.count)
    return [part for part in parts if part.count >= MIN_COUNT]


class _Reading:
    """The operands of a run, and which iterations read as the middle one does."""

    def __init__(self, wiring: Wiring, runs: Sequence[Run], owner: Any, number: int):
        self.wiring, self.runs, self.owner, self.number = wiring, runs, owner, number
        run = self.run = runs[number]
        self.rounds, self.middle = np.arange(run.count), run.count // 2
        self.alike: Truths = np.ones(run.count, bool)
        self.unlike: Node | None = None
        fewest: Any = run.count - 1
        self.iterations = Iterations(run)
        read = wiring.operands[run.start : run.stop].reshape(run.count, run.period, -1)
        for step in range(run.period):
            nodes = wiring.nodes[run.start + step : run.stop : run.period]
            count = len(nodes[0].args or ())
            operands = [self._operand(read[:, step, q], nodes, q) for q in range(count)]
            self.iterations.operands.append(operands)
            if nodes[0].op.by_arrays:
                numbers = np.array([numbers_in(n.attrs["template"]) for n in nodes], np.int64)
                if (numbers != numbers[0]).any():
                    self.iterations.indices[step] = numbers
                    if not can_be_arrays(nodes[0].attrs["template"], numbers):
                        self.alike &= (numbers == numbers[self.middle]).all(axis=1)
            left = np.count_nonzero(self.alike)
            if left < fewest:
                fewest, self.unlike = left, nodes[self.middle]

    def _operand(self, column: Numbers, nodes: Sequence[Node], q: int) -> Operand:
        number = int(column[self.middle])
        if number == CONSTANT:
            return self._constant([n.args[q] for n in nodes])
        same = column == number
        if same.all():
            return Fixed(self.wiring.node(number))
        alike, operand = self._moving(column, number)
        if operand is None:
            if np.count_nonzero(same) >= self.run.count - MAX_LEFT_OUT:
                alike, operand = same, Fixed(self.wiring.node(number))
            else:
                inside = (column >= self.run.start) & (column < self.run.stop)
                alike, operand = ~inside, Each(tuple(map(self.wiring.node, column.tolist())))
        if self.wiring.node(number).dtype == OBJECT and type(operand) not in (Local, Fixed):
            alike = np.zeros(self.run.count, bool)
        self.alike &= alike
        return operand

    def _constant(self, values: list[Any]) -> Operand:
        first = values[self.middle]
        key = constant_key(first)
        same = np.array([v is first or constant_key(v) == key for v in values])
        if same.all() or not isinstance(first, NUMBER):
            self.alike &= same
            return Same(first)
        return Table(tuple(values))

    def _moving(self, column: Numbers, number: int) -> tuple[Truths, Operand | None]:
        """An operand that stands in a run, and moves on there by the iteration."""
        number_of_run = self.owner[number] if number >= 0 else -1
        if number_of_run < 0:
            return self.alike, None
        run: Run = self.runs[number_of_run]
        iteration, step = run.place(number)
        if number_of_run == self.number:
            distance = self.middle - iteration
            alike = column == run.start + (self.rounds - distance) * run.period + step
            if not distance:
                return alike, Local(step)
            head = column[:distance]
            alike[:distance] = (head < run.start) | (head >= run.stop)
            if distance > min(MAX_DISTANCE, run.count // 2):
                alike[:] = False
            inits = tuple(map(self.wiring.node, head.tolist()))
            return alike, Carried(step, distance, inits)
        after, _ = run.place(int(column[self.middle + 1]))
        stride = after - iteration
        first = iteration - stride * self.middle
        iterations = first + stride * self.rounds
        alike = column == run.start + iterations * run.period + step
        alike &= (iterations >= 0) & (iterations < run.count)
        if not stride or np.count_nonzero(alike) < MIN_COUNT:
            return alike, None
        return alike, Rows(number_of_run, step, first, stride)
