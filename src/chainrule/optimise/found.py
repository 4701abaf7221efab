"""The stretches of a recording that become loops, and what is read of each elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.depends import COPIES
from chainrule.core.node import Node
from chainrule.core.parts import OBJECT
from chainrule.core.picked import picked_shapes
from chainrule.optimise.indices import place_of_number, spelled_out
from chainrule.optimise.iterations import (
    Carried,
    Each,
    Fixed,
    Iterations,
    Local,
    Operand,
    Rows,
    Same,
    Wiring,
    settled,
)
from chainrule.optimise.repeats import MIN_COUNT, Numbering, Stretch, stretches_in
from chainrule.record.specialise import Repeated

At = tuple[int, int, int]  # a run, an iteration, a step


@dataclass
class Part:
    """A run, and what is read of it elsewhere."""

    iterations: Iterations
    backwards: bool = False
    hoisted: dict[int, Hoisted] = field(default_factory=dict)
    stacks: dict[int, Node] = field(default_factory=dict)  # the array of each, once it is made
    lasts: dict[int, Node] = field(default_factory=dict)
    objects: bool = False  # several results of one step are read outside: it cannot be a loop
    within: tuple[Repeated, ...] = ()  # loops in the body of the loop

    @property
    def count(self) -> int:
        return self.iterations.run.count

    def row(self, iteration: int) -> int:
        return self.count - 1 - iteration if self.backwards else iteration


@dataclass(frozen=True)
class Hoisted:
    """A step x[…, i, …] of a fixed x, where i goes on evenly: row i of an array outside."""

    template: tuple[Any, ...]
    place: int  # of the number in the template
    first: int
    stride: int


@dataclass(frozen=True)
class Stack:
    """Values of a step of a run, in iterations that follow each other evenly."""

    at: tuple[int, int]
    first: int
    stride: int
    count: int


class Found:
    """The runs of a sequence that become loops."""

    def __init__(self, sequence: Sequence[Node], outputs: Sequence[Node], least: int):
        """They `pay` if they save at least so many nodes."""
        self.sequence, self.outputs, self.least = sequence, outputs, least
        self.parts: list[Part] = []
        self.owner = np.zeros(0, np.int64)
        self.unlike: dict[int, Node] = {}
        numbers = Numbering().of(sequence) if len(sequence) > least else np.zeros(0, int)
        self.stretches = stretches_in(numbers) if len(numbers) else []
        self.pays = sum(s.length - s.period for s in self.stretches) >= least
        if self.pays:
            self.wiring = Wiring(sequence, numbers)
            self._settle([self.wiring.run_of(s) for s in self.stretches])

    def _settle(self, runs: Sequence[Any]) -> None:
        """Parts of the runs that can be loops, with all that is read of them."""
        while True:
            self.parts = [Part(one) for one in settled(self.wiring, runs, self.unlike)]
            self.owner = np.full(len(self.sequence), -1)
            for number, part in enumerate(self.parts):
                run = part.iterations.run
                self.owner[run.start : run.stop] = number
                part.hoisted = dict(self._hoisted(part))
                part.backwards = _runs_back(part)
            self._demand()
            kept = [p for p in self.parts if not p.objects and p.iterations.saved > 0]
            if len(kept) == len(self.parts):
                break
            runs = [part.iterations.run for part in kept]
        self.pays = sum(p.iterations.saved for p in self.parts) >= self.least

    def repeated(self) -> tuple[Repeated, ...]:
        """Every stretch in which the recording repeats itself, and what became of it."""
        within = [each for part in self.parts for each in part.within]
        return (*map(self._repeated, self.stretches), *within)

    def _repeated(self, stretch: Stretch) -> Repeated:
        first, last = stretch.start, stretch.start + stretch.length
        runs = [part.iterations.run for part in self.parts if self.pays]
        runs = [run for run in runs if first <= run.start < last]
        unlike = [node for start, node in self.unlike.items() if first <= start < last]
        return Repeated(
            self.sequence[first].line,
            stretch.length // stretch.period,
            sum(run.count * run.turns for run in runs),
            max((run.period for run in runs), default=stretch.period),
            _named(unlike[-1]) if unlike else None,
        )

    # -- where things stand ------------------------------------------------------------------------

    def at(self, node: Node) -> At | None:
        """The place of a node in a run; None of one that stands in none."""
        position = self.wiring.position.get(node, -1)
        number = int(self.owner[position]) if position >= 0 else -1
        if number < 0:
            return None
        return number, *self.parts[number].iterations.run.place(position)

    def step(self, number: int, step: int) -> Node:
        """A step of a run, in the iteration that stands for all."""
        run = self.parts[number].iterations.run
        return self.sequence[run.start + run.count // 2 * run.period + step]

    def _hoisted(self, part: Part) -> Iterator[tuple[int, Hoisted]]:
        for step, numbers in part.iterations.indices.items():
            node = self.sequence[part.iterations.run.start + step]
            x = part.iterations.operands[step][0]
            differ = np.flatnonzero((numbers != numbers[0]).any(axis=0))
            if node.op.depends is not COPIES or type(x) is not Fixed or len(differ) != 1:
                continue
            template = spelled_out(node.attrs["template"], x.node.ndim)
            place = place_of_number(template, int(differ[0]))
            if place is None:
                continue
            length = x.node.shape[sum(p is not None for p in template[:place])]
            column = numbers[:, differ[0]] % length
            stride = int(column[1] - column[0])
            if stride and (np.diff(column) == stride).all():
                yield step, Hoisted(template, place, int(column[0]), stride)

    # -- what is read of runs ----------------------------------------------------------------------

    def _demand(self) -> None:
        for number, part in enumerate(self.parts):
            for operands in part.iterations.operands:
                for operand in operands:
                    self._demand_operand(operand, number)
        for position, node in enumerate(self.sequence):
            if self.owner[position] < 0:
                self._demand_outside(node)
        for node in self.outputs:
            self._read(node)
        for part in self.parts:
            operands = [o for some in part.iterations.operands for o in some]
            carried = {o.step for o in operands if isinstance(o, Carried)}
            for step in set(part.lasts) & set(part.stacks) - carried:
                del part.lasts[step]  # the last row of the stack

    def _demand_outside(self, node: Node) -> None:
        for one in self.joined(node):
            self._stack(*one.at) if isinstance(one, Stack) else self._read(one)
        for shape in picked_shapes(node):
            self._read(shape.mask)

    def _demand_operand(self, operand: Operand, number: int) -> None:
        match operand:
            case Fixed(node):
                self._read(node)
            case Carried(_, _, nodes) | Each(nodes):
                for node in nodes:
                    self._read(node)
            case Rows(run, step):
                while (within := self.view_of(run, step)) is not None:
                    step = within
                self._stack(run, step)

    def _read(self, node: Any) -> None:
        """A value of one iteration is read."""
        at = self.at(node) if isinstance(node, Node) else None
        if at is None:
            return
        number, iteration, step = at
        part = self.parts[number]
        part.objects |= node.dtype == OBJECT
        if step in part.hoisted:
            return
        read = part.lasts if iteration == part.count - 1 else part.stacks
        read.setdefault(step, node)

    def _stack(self, number: int, step: int) -> None:
        """The values of all iterations are read."""
        if step not in self.parts[number].hoisted:
            self.parts[number].stacks.setdefault(step, self.step(number, step))

    def view_of(self, number: int, step: int) -> int | None:
        """The step of which this one is a view, which whoever reads it can take again."""
        iterations, node = self.parts[number].iterations, self.step(number, step)
        if not node.op.view or step in iterations.indices:
            return None
        x, *rest = iterations.operands[step]
        if type(x) is Local and all(type(r) is Same for r in rest):
            return x.step
        return None

    def joined(self, node: Node) -> Iterator[Any]:
        """The arguments of a node outside; of one that joins rows, those of one run together."""
        args = node.args or ()
        if node.op.of_rows is None or len(args) < MIN_COUNT:
            yield from args
            return
        k = 0
        while k < len(args):
            at = self.at(args[k]) if isinstance(args[k], Node) else None
            stop, stride = k + 1, 0
            while at is not None and stop < len(args):
                after = self.at(args[stop]) if isinstance(args[stop], Node) else None
                if after is None or after[::2] != at[::2]:
                    break
                apart = after[1] - at[1]
                stride = stride or apart
                if not stride or apart != stride * (stop - k):
                    break
                stop += 1
            if at is not None and stop - k >= MIN_COUNT:
                yield Stack((at[0], at[2]), at[1], stride, stop - k)
            else:
                yield from args[k:stop]
            k = stop


def _runs_back(part: Part) -> bool:
    """Whether most of what it reads row by row stands there the last row first."""
    ways: Counter[bool] = Counter()
    for operands in part.iterations.operands:
        ways.update(o.stride < 0 for o in operands if isinstance(o, Rows))
    ways.update(h.stride < 0 for h in part.hoisted.values())
    return ways[True] > ways[False]


def _named(node: Node) -> str:
    return f"{node.op.name} ({node.line})" if node.line else node.op.name
