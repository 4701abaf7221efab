"""Recording a call for the compiler: a graph that holds for every call alike, and what it rests on.

What Python code reads out of a Variable (`if x > 0`, `x.value`, an index, a loop count) is a
*guard*: the graph holds as long as the value read is the same.  An array that was there before the
call is *live*: it is read anew in every call.  One made inside is a constant.  The call is recorded
twice to tell these apart, and to find what differs though it should not: random numbers, clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.masked import Masked
from chainrule.core.node import Node, make_leaf
from chainrule.core.op import OPS
from chainrule.core.picked import UNKNOWN, OnPicked, Picked, one_mask, picked_operands
from chainrule.core.rule import rule_for
from chainrule.errors import CompileError
from chainrule.record.trace import Trace
from chainrule.record.variable import Variable


@dataclass(frozen=True)
class Guard:
    """A value that Python code has read: while it is the same, so is the path taken.

    One that is there only because the shape of a node depends on it has that node as its `of`.
    """

    node: Node
    value: Any
    of: Node | None = None


@dataclass(frozen=True)
class Recording:
    """A recorded call; `live` and `constants` are leaves of the graph beside its arguments."""

    graph: Graph
    guards: tuple[Guard, ...]
    live: dict[Node, np.ndarray]
    constants: dict[Node, np.ndarray]
    variables: tuple[tuple[Variable, Node], ...]  # of outside, as constants; and their nodes then


@dataclass
class Picks:
    """What one mask has picked: the recorded `count`, the nodes, and whether code has read it."""

    count: Variable
    of: list[Node]
    read: bool = False

    @staticmethod
    def by(mask: Node, at: Node, axis: int) -> Picks:
        """The count of the lanes in a mask that picks `at` along an axis."""
        op, size = OPS["count_nonzero"], np.int64(at.shape[axis])
        count = Node(
            rule_for(op, (False,)), (), (), dict(op.attrs), (), size.dtype, at.code, at.lasti,
            (mask,),
        )  # fmt: skip
        return Picks(Variable(size, count), [])


class GuardedTrace(Trace):
    """A trace that keeps what was read, and arrays from elsewhere as leaves."""

    guarded = True
    inside = False  # float(x) is a guard here, unless a gradient is being taken

    def __init__(self, sweeps: bool = False) -> None:
        super().__init__()
        self.sweeps = sweeps
        self.reads: dict[Node, Any] = {}
        self.arrays: dict[int, tuple[Node, np.ndarray]] = {}
        self.variables: dict[Node, Variable] = {}
        self.counts: dict[Node, Picks] = {}  # by mask

    def read(self, variable: Variable) -> None:
        self.reads.setdefault(self.node_of(variable), np.array(variable._value))

    def noted(self, node: Node, value: Any) -> Node:
        """A node just recorded; where a mask has picked it, its shape says so."""
        rule, met = node.op.picked, picked_operands(node)
        by_mask = isinstance(rule, OnPicked) and rule.mask is not None
        if met or by_mask:
            axis = rule.axis(node) if isinstance(rule, OnPicked) else UNKNOWN
            if axis == UNKNOWN or not one_mask(met):
                self.counted(met)
            elif axis is not None:
                shape = self._picked(node, rule.mask(node), axis) if by_mask else met[0]
                node.shape = node.shape if shape is None else shape.along(node.shape, axis)
        return super().noted(node, value)

    def _picked(self, node: Node, mask: Node, axis: int) -> Picked | None:
        """The shape of what a mask has picked just now; None of one lane or none, which broadcast
        and reduce unlike several."""
        picks = self.counts.get(mask)
        if picks is None:
            picks = self.counts[mask] = Picks.by(mask, node, axis)
        picks.of.append(node)
        if picks.count._value < 2:
            return None
        return Picked.by(node.shape, axis, mask, picks.count)

    def recorded(self, seed: Any) -> Any:
        """A seed as a Variable of no history: what comes of it is recorded, with its shapes."""
        if seed is None or isinstance(seed, (Variable, Masked)):
            return seed
        leaf = Variable(seed, self.operand(np.array(seed)))
        return OPS["stop_gradient"](leaf)

    def counted(self, shapes: Iterable[Picked]) -> None:
        """Code that may act on how many were picked has met arrays of these shapes."""
        for shape in shapes:
            self.counts[shape.mask].read = True

    def leaf_for(self, value: Any, name: str, bare: bool) -> Any:
        """Integers stay what they are: sizes, axes, counts.  They belong to the form of a call."""
        return value if type(value) is int else super().leaf_for(value, name, bare)

    def node_of(self, variable: Variable) -> Node:
        node = super().node_of(variable)
        if node is not variable.node:  # it was there before, and may be assigned to
            self.variables[variable.node] = variable
        return node

    def operand(self, arg: Any) -> Any:
        if type(arg) is Variable:
            return self.node_of(arg)
        if not isinstance(arg, np.ndarray) or arg.dtype.kind not in "fciub":
            return arg
        found = self.arrays.get(id(arg))
        if found is None:
            leaf = make_leaf(arg.shape, arg.dtype, f"array{len(self.arrays)}")
            found = self.arrays[id(arg)] = leaf, arg
            self.values[leaf] = arg
        return found[0]


def specialised(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], sweeps: bool = False
) -> Recording:
    """Record f twice on these arguments, and say what the recording rests on.

    With `sweeps` the gradient of a large scalar graph is recorded as one node.
    """
    first, again = GuardedTrace(sweeps), GuardedTrace(sweeps)
    graph = first.record(f, args, kwargs)
    other = again.record(f, args, kwargs)
    twin = _twins(graph, other)
    live: dict[Node, np.ndarray] = {}
    constants: dict[Node, np.ndarray] = {}
    for leaf, array in first.arrays.values():
        if leaf not in twin:
            continue
        same = again.values[twin[leaf]]
        if _same_memory(same, array):
            live[leaf] = array
        elif np.array_equal(same, array, equal_nan=array.dtype.kind in "fc"):
            constants[leaf] = array
        else:
            raise CompileError(
                "an array made inside the function differs between two recordings of one call.\n"
                f"{_used_at(graph, leaf)}"
                "  random numbers, clocks and counters must be arguments: the compiled function "
                "would repeat the first ones for ever."
            )
    constants |= {n: np.asarray(v) for n, v in first.values.items() if n not in live}
    guards = tuple(
        Guard(node, value) for node, value in first.reads.items() if node not in constants
    )
    for picks in first.counts.values():
        count = picks.count
        whose = [None] if picks.read else picks.of
        guards += tuple(Guard(count.node, np.array(count._value), of) for of in whose)
    variables = tuple((v, node) for node, v in first.variables.items())
    return Recording(graph, guards, live, constants, variables)


def same_recording(a: Recording, b: Recording) -> bool:
    """Whether two recordings do the same with the same constants."""
    try:
        twin = _twins(a.graph, b.graph)
    except CompileError:
        return False
    constants = all(
        twin[leaf] in b.constants and _equal(value, b.constants[twin[leaf]])
        for leaf, value in a.constants.items()
        if leaf in twin
    )
    return constants and [twin.get(g.node) for g in a.guards] == [g.node for g in b.guards]


def _same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """One array, or twice the same view of one that was there before; both are alive."""
    if a is b:
        return True
    alike = a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype
    return alike and a.size > 0 and a.ctypes.data == b.ctypes.data


def _twins(graph: Graph, other: Graph) -> dict[Node, Node]:
    """Node by node the same of two recordings, which must be alike."""
    if len(graph) != len(other):
        raise CompileError(_unlike("they have different numbers of operations"))
    twin: dict[Node, Node] = {}
    for a, b in zip(graph.nodes, other.nodes, strict=True):
        twin[a] = b
        why = _difference(a, b, twin)
        if why:
            where = f"\n  {a.line.shown()}" if a.line and not a.is_leaf else ""
            raise CompileError(why + where)
    return twin


def _difference(a: Node, b: Node, twin: dict[Node, Node]) -> str:
    """How two nodes that should be the same differ; empty if they do not."""
    if a.is_leaf or b.is_leaf:
        alike = a.is_leaf == b.is_leaf and a.shape == b.shape
        return "" if alike else _unlike("they start from different arrays")
    if a.op is not b.op or a.shape != b.shape:
        return _unlike(f"one does {a.op.name}, the other {b.op.name}")
    for x, y in zip(a.args or (), b.args or (), strict=True):
        if isinstance(x, Node):
            if twin[x] is not y:
                return _unlike("they use other operands")
        elif not _equal(x, y):
            return _differs(a.op.name, x, y)
    # What an op keeps for itself, under a name with an underscore, is no part of what it does.
    kept = [name for name in a.attrs if not name.startswith("_")]
    other = next((name for name in kept if not _equal(a.attrs[name], b.attrs[name])), None)
    return (
        "" if other is None else _differs(f"{other} of {a.op.name}", a.attrs[other], b.attrs[other])
    )


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        inexact = getattr(x, "dtype", np.dtype(int)).kind in "fc"
        return bool(np.array_equal(x, y, equal_nan=inexact))
    if isinstance(x, (tuple, list)) and type(x) is type(y):
        return len(x) == len(y) and all(map(_equal, x, y))
    if x is y or x == y or (x != x and y != y):
        return True
    return type(x) is type(y) and repr(x) == repr(y)  # a class without an equality of its own


def _unlike(how: str) -> str:
    return (
        f"two recordings of one call differ: {how}.\n"
        "  a compiled function must do the same thing when it is called twice in the same way: "
        "pass what changes as an argument."
    )


def _differs(what: str, x: Any, y: Any) -> str:
    return (
        f"a constant differs between two recordings of one call: {what}, {x!r} and then {y!r}.\n"
        "  random numbers, clocks and counters must be arguments: the compiled function would "
        "repeat the first one for ever."
    )


def _used_at(graph: Graph, leaf: Node) -> str:
    for node in graph.nodes:
        if not node.is_leaf and any(a is leaf for a in node.args or ()) and node.line:
            return f"  {node.line.shown()}\n"
    return ""
