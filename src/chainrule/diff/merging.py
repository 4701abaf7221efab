"""Lanes that branch, recorded as one program: every branch on all lanes, and of each lane its own.

While a program is recorded for the compiler, or for the lanes of a vmap around this one, which
lane goes where must not be fixed.  So every branch is replayed on all lanes, beside it which lanes
take it, and results are chosen by that; what is fixed is that each lane takes one of the branches.
Branches share what they have in common: a loop with many counts costs as much as the longest.

In lanes that do not take a branch an op may meet anything.  Where that could raise or change a
shape, its operands are replaced by those of the lane that was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from chainrule.core.batching import BatchCall, Lanes, batched
from chainrule.core.containers import Structure
from chainrule.core.node import Node
from chainrule.diff.lanes import Replay, value_of
from chainrule.ops.outcomes import RETURNED, outcome
from chainrule.record.lanes import LaneTrace, Read, common
from chainrule.record.variable import Variable

Example = list[Any]  # the leaves of one lane


@dataclass
class Branch(Replay):
    """One branch on all lanes; `taken` is a truth per lane, or None where nothing was asked."""

    outer: Any = None  # the trace in which this is recorded
    asked: dict[int, Any] = field(default_factory=dict)  # by the place of a read: who answers alike
    structure: Structure | None = None
    results: list[Any] = field(default_factory=list)

    @property
    def taken(self) -> Any:
        """Which lanes take this branch, so far."""
        found = None
        for same in self.asked.values():
            found = same if found is None else found & same
        return found

    def share(self, others: Sequence[Branch]) -> None:
        """Take over what a branch replayed before has in common with this one."""
        lengths = [common(self.trace, other.trace.events, other.trace) for other in others]
        longest = max(lengths, default=0)
        if not longest:
            return
        other = others[lengths.index(longest)]
        mine, theirs = self.trace.events[:longest], other.trace.events[:longest]
        for at, (event, twin) in enumerate(zip(mine, theirs, strict=True)):
            if at in other.asked:
                self.asked[at] = other.asked[at]
            if isinstance(event, Node) and isinstance(twin, Node) and twin in other.known:
                self.known[event] = other.known[twin]

    def _last_uses(self, start: int) -> dict[int, list[Node]]:
        super()._last_uses(start)
        return {}  # another branch may share them

    def _compare(self, at: int, read: Read) -> None:
        found = self.known[read.node]
        if type(found) is not Lanes or type(found.value) is not Variable:
            super()._compare(at, read)
            return
        if at in self.asked:
            return
        values = found.value
        self.line = read.line
        same = np.equal(values, read.value)
        if read.value.dtype.kind in "fc" and np.isnan(read.value).any():
            same = same | (np.isnan(values) & np.isnan(read.value))
        if read.reads_sign:
            same = same & (np.signbit(values) == np.signbit(read.value))
        count = len(self.lanes)
        self.asked[at] = same if same.ndim == 1 else np.all(same.reshape((count, -1)), axis=1)

    def _part(self, at: int, stays: np.ndarray, line: Any) -> None:
        """Some lanes raise in an op: that this one does not is part of the branch."""
        node = self.trace.events[at]
        if isinstance(node, Read):
            return  # of plain numbers, which the recording takes as they are
        if at in self.asked or node.op.raises is not True:
            refuse(self.outer, RAISES)
        args = super()._operands(at, node)
        settings = {"op": node.op.name, "settings": node.attrs, "errors": True}
        call = BatchCall(outcome, args, {**outcome.attrs, **settings}, len(stays), (), self.apply)
        self.asked[at] = batched(call)[0] == RETURNED

    def _operands(self, at: int, node: Node) -> list[Any]:
        """Where an op may raise or change its shape, operands that it takes in all lanes."""
        operands = super()._operands(at, node)
        op = node.op
        minds = op.by_value is not None or op.raises or op.fixed_from is not None  # an index
        taken = self.taken if minds else None
        if taken is None:
            return operands
        known = self.trace.known()
        return [
            self._harmless(value, taken, known[a])
            if type(value) is Lanes and isinstance(a, Node) and a in known
            else value
            for a, value in zip(node.args or (), operands, strict=True)
        ]

    def _harmless(self, lanes: Lanes, taken: Any, alone: Any) -> Lanes:
        """The values, those of the recorded lane where a lane goes another way."""
        if isinstance(lanes.value, tuple):
            return lanes
        mask = taken.reshape((len(self.lanes), *(1,) * (lanes.value.ndim - 1)))
        return Lanes(np.where(mask, lanes.value, alone))


# Lanes that have once taken a branch of their own, by the code and the kind of the arguments: tried
# again when the function is recorded again, so that it knows all the branches it ever took.
_examples: WeakKeyDictionary[Any, dict[Any, list[Example]]] = WeakKeyDictionary()


def examples_of(
    f: Callable[..., Any], leaves: Sequence[Any], mapped: Sequence[bool]
) -> list[Example]:
    """The list of lanes kept for this function and these kinds of arguments; it may be added to."""
    code = getattr(f, "__code__", None)
    if code is None:
        return []
    kinds = tuple(
        (v.shape[1:], v.dtype.char) if m else (np.shape(v), type(v))
        for v, m in zip(leaves, mapped, strict=True)
    )
    return _examples.setdefault(code, {}).setdefault(kinds, [])


Record = Callable[[LaneTrace, Example], tuple[dict[int, Node], list[Node], Structure]]


@dataclass
class Merger:
    """Finds the branches that the lanes of a batch take, and puts them together.

    `leaves` have the lanes in front where `mapped`, and `recorded(trace, example)` records one.
    """

    leaves: Sequence[Any]
    mapped: Sequence[bool]
    count: int
    outer: Any  # the trace in which all this is recorded
    recorded: Record
    looped: dict[str, Any]
    branches: list[Branch] = field(default_factory=list)

    def lanes(self) -> Iterator[int]:
        """A lane that takes none of the branches known, as long as there is one."""
        left = np.ones(self.count, bool)
        while left.any():
            yield int(np.argmax(left))
            taken = self.branches[-1].taken
            now = left & ~taken._value if type(taken) is Variable else np.zeros(self.count, bool)
            if now.sum() == left.sum():
                refuse(self.outer, ROUNDED)
            left = now

    def add(self, example: Example) -> bool:
        """Replay on all lanes the branch that this example takes; False if it is known."""
        trace = LaneTrace(pure=True)
        trace.kept = {}
        inputs, outputs, structure = self.recorded(trace, example)
        if any(_alike(trace, known.trace) for known in self.branches):
            return False
        known: dict[Node, Any] = {
            node: trace.variables[node]
            if node in trace.variables
            else self.outer.as_variables([value])[0]
            for node, value in trace.values.items()
        }
        known |= {node: Lanes(self.leaves[place]) for place, node in inputs.items()}
        branch = Branch(trace, outputs, np.arange(self.count), known, self.looped, outer=self.outer)
        branch.structure = structure
        branch.share(self.branches)
        branch.results = branch.run(None)
        self.branches.append(branch)
        return True

    def covered(self) -> None:
        """What is recorded holds while every lane takes one of these branches."""
        if any(branch.asked for branch in self.branches):
            taken = [branch.taken for branch in self.branches]
            covered = taken[0]
            for one in taken[1:]:
                covered = covered | one
            if not np.all(value_of(covered)):
                refuse(self.outer, ROUNDED)
            self.outer.demand(np.all(covered))
            self.outer.merges = True


class Apart(Exception):  # noqa: N818 - it is caught by the vmap whose lanes these are
    """These lanes cannot be one program: each is recorded by itself."""


def refuse(outer: Any, what: str) -> None:
    """Tell the trace around why the branches cannot be put together; a compiler ends here."""
    outer.refuse(what)
    raise Apart(what)


ROUNDED = "has a vmap whose lanes branch by numbers that are rounded otherwise alone"
RAISES = "has a vmap in whose lanes an operation raises"
TOO_MANY = "has a vmap whose lanes go too many different ways"


def _alike(one: LaneTrace, other: LaneTrace) -> bool:
    return len(one.events) == len(other.events) == common(one, other.events, other)


def chosen(branches: Sequence[Branch]) -> list[Any]:
    """Of each result, for every lane that of the branch it takes."""
    found = list(branches[0].results)
    for branch in branches[1:]:
        for at, other in enumerate(branch.results):
            found[at] = _where(branch.taken, other, found[at], len(branch.lanes))
    return found


def _where(taken: Any, value: Any, otherwise: Any, count: int) -> Lanes:
    parts = [
        v.value if type(v) is Lanes else np.broadcast_to(v, (count, *np.shape(v)))
        for v in (value, otherwise)
    ]
    rank = max(p.ndim for p in parts)
    return Lanes(np.where(taken.reshape((count, *(1,) * (rank - 1))), *parts))
