"""Recording one lane of a batch: what happened, in the order of time, with what Python code read.

Whoever replays it on many lanes at once compares each read where it was made: lanes for which it
comes out differently took another way from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.containers import Structure
from chainrule.core.node import Node, make_leaf
from chainrule.core.op import ZERO, Op
from chainrule.core.python_numbers import OnPython
from chainrule.errors import DetachError
from chainrule.ops.joining import refuse_twist
from chainrule.ops.structure import constant_node
from chainrule.record.specialise import Guard, GuardedTrace, equal
from chainrule.record.state import current, user_line
from chainrule.record.variable import Variable, leaf

# NumPy's own context variable, which tells in 20 ns that nothing was set; np.geterr takes 3 µs.
_settings = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Read:
    """Python code was given the value of this node, on this line."""

    node: Node
    value: np.ndarray
    line: tuple[Any, int]

    @property
    def reads_sign(self) -> bool:
        """Whether a zero was read: Python tells -0.0 from 0.0, and == does not."""
        return self.value.dtype.kind == "f" and not self.value.all()

    def is_alike(self, other: Read) -> bool:
        if not equal(self.value, other.value):
            return False
        signs = np.signbit(self.value) == np.signbit(other.value) if self.reads_sign else True
        return bool(np.all(signs))


class LaneTrace(GuardedTrace):
    """A trace of one lane.  It knows its own nodes: those of a trace around it are captured."""

    nested = True

    def __init__(self, pure: bool = False) -> None:
        """`pure`: no array is changed while it is recorded."""
        super().__init__(holds=lambda array: pure)
        self.inside, self.outer = current.get().inside, current.get().tracing
        self.flowing: set[Node] = set()  # what is differentiated outside leads through these
        self.events: list[Node | Read] = []
        self.own: set[Node] = set()
        self.raising: dict[Node, dict[str, Any]] = {}  # np.errstate, where it asks for errors
        self._errors: Any = None
        self._asks: dict[str, Any] | None = None

    def noted(self, node: Node, value: Any) -> Node:
        raises, asks = node.op.raises, self._asked_errors()
        if asks or (raises and (raises is True or raises(*(node.args or ())))):
            self.fallible.append(node)
        if asks:
            self.raising[node] = asks
        self.events.append(node)
        self.own.add(node)
        if self.flowing and node.op.derivative is not ZERO:
            operands = [a for a in node.args or () if isinstance(a, Node)]
            self.flowing.update((node,) if any(a in self.flowing for a in operands) else ())
        if self.kept is not None:
            self.kept[node] = value
        return node

    def _asked_errors(self) -> dict[str, Any] | None:
        """The settings of np.errstate, where it asks for errors; they are looked at anew if set."""
        errors = _settings.get() if _settings is not None else None
        if errors is None or errors is not self._errors:
            self._errors, settings = errors, dict(np.geterr())
            self._asks = settings if "raise" in settings.values() else None
        return self._asks

    def on_python(self, python: OnPython, args: Sequence[Any], out: Variable) -> Any:
        """The lanes of an array are NumPy's numbers."""
        return out

    def node_of(self, variable: Variable) -> Node:
        node = variable.node
        if node in self.own or node in self.leaves or node in self.values:
            return node
        if node.args and not node.is_leaf and all(map(self._is_own, node.args)):
            return self.noted(node, None)  # one result of several, as a rule reads it
        if node not in self.captured:
            stand_in = make_leaf(node.shape, node.dtype, node.name)
            self.captured[node] = stand_in
            if self._carries_outside(node):
                self.flowing.add(stand_in)
            self.values[stand_in] = variable._value
            self.variables[stand_in] = variable
        return self.captured[node]

    def carries(self, node: Node) -> bool:
        if node.first is not None or node in self.wanted or node in self.flowing:
            return True
        own = node in self.own or node in self.leaves or node in self.values
        return not own and self._carries_outside(node)

    def _carries_outside(self, node: Node) -> bool:
        outer = self.outer
        if node.first is not None or (outer is not None and outer.nested and outer.carries(node)):
            return True
        return node.rule is None and (outer is None or bool(outer.is_active(node)))

    def _is_own(self, arg: Any) -> bool:
        if not isinstance(arg, Node):
            return True
        return arg in self.own or arg in self.leaves or arg in self.values

    def record_lane(
        self, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Node], Structure]:
        """Call f on Variables of `lane_input`; the nodes of its results, and their container."""
        self.log = None
        return self.called(f, args, kwargs)

    def lane_input(self, value: Any, of: Any) -> Variable:
        """A leaf for a number or an array that differs by lane, as `of` says; it is not copied."""
        refuse_twist(value)
        made = leaf(value)
        self.leaves[made.node] = value
        if isinstance(of, Variable) and self._carries_outside(of.node):
            self.flowing.add(made.node)
        return made

    def constant(self, arg: Any) -> Any:
        """The number or array that an argument of a node stands for; None if it was computed."""
        return self.values.get(arg) if isinstance(arg, Node) else arg

    def original(self, node: Node) -> Any:
        """The array that code handed over, of which `node` is the leaf; None if it is another."""
        copy = self.values.get(node)
        pairs = ((original, kept) for original, _, kept in self.copies.values())
        return next((original for original, kept in pairs if kept is copy), copy)

    # ---- what Python code is given: a read, at its place in time ------------------------------

    def read(self, variable: Variable) -> None:
        node = self.node_of(variable)
        if node not in self.reads:
            value = np.array(variable._value)
            self.reads[node] = Guard(node, value)
            self.events.append(Read(node, value, user_line(3)))

    def read_shape(self, variable: Variable) -> None:
        """Shapes that depend on values are read where they are made: see `shapes`."""

    def text_of(self, variable: Variable) -> None:
        self.read(variable)

    def written(self, variable: Variable) -> None:
        if variable.node in self.captured:
            raise DetachError(
                "a function under vmap assigns to a Variable from outside, which its lanes share: "
                "pass it as an argument with in_axes=None, and return it."
            )

    def shapes(self, node: Node, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        """The numbers that decide a shape are read before the op runs on lanes that differ."""
        last = self.events.pop()
        super().shapes(node, op, args, attrs)
        self.events.append(last)


def as_constant(value: Any) -> Any:
    """A number or an array as f knows it from other lanes: a Variable, of no history."""
    if isinstance(value, Variable):
        return value
    return Variable(value, constant_node(value))


def common(one: LaneTrace, other: Sequence[Node | Read], of: LaneTrace) -> int:
    """How many events of `one` are those of `other`, a part of what `of` has recorded.

    Two lanes that branch alike so far do the same with the same operands.  To compare less would
    not do: branches of a vmap inside are recorded in the order in which a lane meets them, and
    loops of other lengths are the same operation.
    """
    twins: dict[Node, Node] = dict(zip(one.leaves, of.leaves, strict=False))
    count = 0
    for mine, theirs in zip(one.events, other, strict=False):
        if isinstance(mine, Read) or isinstance(theirs, Read):
            if type(mine) is not type(theirs) or not _same_read(mine, theirs, twins):
                break
        elif not _same_node(mine, theirs, twins, one, of):
            break
        count += 1
    return count


def _same_read(a: Any, b: Any, twins: dict[Node, Node]) -> bool:
    return twins.get(a.node, b.node) is b.node and a.is_alike(b)


def _same_node(a: Node, b: Node, twins: dict[Node, Node], one: LaneTrace, other: LaneTrace) -> bool:
    if a.op is not b.op or a.shape != b.shape:
        return False
    for x, y in zip(a.args or (), b.args or (), strict=True):
        if not isinstance(x, Node) or not isinstance(y, Node):
            if x is not y and (isinstance(x, Node) or isinstance(y, Node) or not equal(x, y)):
                return False
        elif twins.get(x) is not y and not _same_from_outside(x, y, twins, one, other):
            return False
    if a.attrs is not b.attrs and not _same_attrs(a.attrs, b.attrs):
        return False
    twins[a] = b
    return True


def _same_attrs(a: Any, b: Any) -> bool:
    names = [name for name in a if not name.startswith("_")]
    return all(name in b and (a[name] is b[name] or equal(a[name], b[name])) for name in names)


def _same_from_outside(
    a: Node, b: Node, twins: dict[Node, Node], one: LaneTrace, other: LaneTrace
) -> bool:
    """Whether two leaves stand for one Variable of outside, or for equal arrays."""
    if a in twins or a not in one.values or b not in other.values:
        return False
    x, y = one.variables.get(a), other.variables.get(b)
    if x is not None or y is not None:
        same = x is not None and y is not None and x.node is y.node
    else:
        same = one.values[a] is other.values[b] or equal(one.values[a], other.values[b])
    if same:
        twins[a] = b
    return same
