"""What one lane has recorded, replayed on all lanes that went the same way.

The replay follows the recording in the order of time.  At a read it compares, lane by lane, what
Python code would have been given: lanes for which that differs leave, with the values computed so
far, and become a group of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, Lanes, batched
from chainrule.core.node import Node
from chainrule.core.op import Op
from chainrule.core.order import dfs_order
from chainrule.core.replay import computed
from chainrule.diff.applied import applied
from chainrule.errors import ChainruleError
from chainrule.record.lanes import LaneTrace, Read, common
from chainrule.record.recorder import translated
from chainrule.record.variable import Variable

NOTHING = nullcontext()
Values = dict[Node, Any]  # `Lanes` where lanes differ


def value_of(x: Any) -> Any:
    return x._value if isinstance(x, Variable) else x


@dataclass
class Group:
    """Lanes that have gone the same way so far; `parted` is where they left another group."""

    lanes: np.ndarray
    parted: Parting | None = None


@dataclass
class Parting:
    """A group that was left: its events before that place, its values there, and who left."""

    trace: LaneTrace
    events: Sequence[Node | Read]
    values: Values
    places: np.ndarray
    line: Any


@dataclass
class Replay:
    """One recording, replayed on `lanes`: the lanes that stay, and those that go another way."""

    trace: LaneTrace
    outputs: Sequence[Node]
    lanes: np.ndarray
    known: Values
    looped: dict[str, Any] = field(default_factory=dict)  # ops without a rule, and a line of each
    left: list[Group] = field(default_factory=list)
    line: Any = None

    def run(self, parted: Parting | None) -> list[Any]:
        """The results with lanes in front, for the lanes that are left in `lanes`."""
        events = self.trace.events
        start = 0 if parted is None else self._resumed(parted)
        ends = self._last_uses(start)
        for i, event in enumerate(events):
            if type(event) is Read:
                if i >= start:
                    self._compare(i, event)
            elif event in self.needed and event not in self.known:
                self.known[event] = self._applied(i, event)
            for node in ends.get(i, ()):
                self.known.pop(node, None)
        return [self._output(node) for node in self.outputs]

    # ---- what is computed --------------------------------------------------------------------

    def _last_uses(self, start: int) -> dict[int, list[Node]]:
        """Which values nobody needs after which event; `needed` are the nodes to compute."""
        events = self.trace.events
        reads = [e.node for e in events[start:] if type(e) is Read]
        fallible = [n for n in self.trace.fallible if n not in self.known]

        def below(node: Node) -> list[Node]:
            known = node in self.known
            return [] if known else [a for a in node.args or () if isinstance(a, Node)]

        self.needed = set(dfs_order([*self.outputs, *reads, *fallible], below))
        last: dict[Node, int] = {}
        for i, event in enumerate(events):
            if type(event) is Read:
                last[event.node] = i
            elif event in self.needed:
                last.update((a, i) for a in event.args or () if isinstance(a, Node))
        for node in self.outputs:
            last.pop(node, None)
        ends: dict[int, list[Node]] = {}
        for node, i in last.items():
            ends.setdefault(i, []).append(node)
        return ends

    def _applied(self, at: int, node: Node) -> Any:
        """The value of a node in every lane; a lane in which it raises goes its own way."""
        self.line = node.code, node.lasti
        while True:
            args = self._operands(at, node)
            if not any(type(a) is Lanes for a in args):
                return self.apply(node.op, args, node.attrs)
            call = BatchCall(node.op, args, node.attrs, len(self.lanes), node.shape, self.apply)
            try:
                with self._errors(node):
                    value, one_by_one = batched(call)
            except Exception as error:  # whatever the op raises for some lanes
                with self._errors(node):
                    stays = np.array([_works(node, args, k) for k in range(len(self.lanes))])
                stays[0] = True  # it has been recorded
                if stays.all():
                    raise _ours(error, node, args) from error
                self._part(at, stays, self.line)
                continue
            if one_by_one:
                self.looped.setdefault(node.op.name, node.line)
            return Lanes(value)

    def _errors(self, node: Node) -> AbstractContextManager[Any]:
        """Floating-point errors raise where np.errstate asked for it when the lane was recorded."""
        settings = self.trace.raising.get(node)
        return NOTHING if settings is None else np.errstate(**settings)

    def _operands(self, at: int, node: Node) -> list[Any]:
        return [self.known[a] if isinstance(a, Node) else a for a in node.args or ()]

    def apply(self, op: Op, args: Sequence[Any], attrs: Any) -> Any:
        """An op on arrays, or on Variables, recorded at the line of the lane's node."""
        return applied(op, args, attrs, self.line)

    def _output(self, node: Node) -> Any:
        value = self.known.get(node)
        if value is None:  # a constant that f returned
            value = node.attrs["value"]
        return value

    # ---- who goes another way ----------------------------------------------------------------

    def _compare(self, at: int, read: Read) -> None:
        found = self.known[read.node]
        if type(found) is not Lanes:
            if type(found) is Variable:
                found._note_read()  # a trace around this one guards it
            return
        values = found.value.value if type(found.value) is Variable else found.value
        same = values == read.value
        if read.value.dtype.kind in "fc":
            same |= (values != values) & (read.value != read.value)
        if read.reads_sign:
            same &= np.signbit(values) == np.signbit(read.value)
        same = same.reshape(len(self.lanes), -1).all(axis=1)
        same[0] = True  # its own recording; lanes at once may round in another way
        if not same.all():
            self._part(at, same, read.line)

    def _part(self, at: int, stays: np.ndarray, line: Any) -> None:
        gone = np.flatnonzero(~stays)
        values = dict(self.known)
        self.left.append(
            Group(self.lanes[gone], Parting(self.trace, self.trace.events[:at], values, gone, line))
        )
        keep = np.flatnonzero(stays)
        self.lanes = self.lanes[keep]
        for node, value in values.items():
            if type(value) is Lanes:
                self.known[node] = value.picked(keep)

    def _resumed(self, parted: Parting) -> int:
        """Take over what was computed before this group left: it has done the same until there.

        Returns how many events need not be looked at again.
        """
        count = common(self.trace, parted.events, parted.trace)
        for mine, theirs in zip(self.trace.events[:count], parted.events[:count], strict=True):
            if isinstance(mine, Node) and isinstance(theirs, Node) and theirs in parted.values:
                value = parted.values[theirs]
                moved = type(value) is Lanes
                self.known[mine] = value.picked(parted.places) if moved else value
        return count


def _works(node: Node, args: Sequence[Any], k: int) -> bool:
    """Whether the op raises nothing in lane k alone."""
    lane = [_plain(a[k] if type(a) is Lanes else a) for a in args]
    try:
        computed(node, lane)
    except Exception:  # noqa: BLE001 - whatever it is, the lane will raise it when it is recorded
        return False
    return True


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value._value if type(value) is Variable else value


def _ours(error: Exception, node: Node, args: Sequence[Any]) -> Exception:
    if isinstance(error, ChainruleError):
        return error
    values = [a.value if type(a) is Lanes else a for a in args]
    return translated(error, node.op, values, node.attrs, (node.code, node.lasti))
