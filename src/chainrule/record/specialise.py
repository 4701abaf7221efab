"""Recording a call for the compiler: a graph that holds for every call alike, and what it rests on.

What Python code reads out of a Variable (`if x > 0`, `x.value`, an index, a loop count), the shapes
that depend on values and the errors that were raised are *guards*: the graph holds as long as they
come out the same.  An array that was there before the call is *external*: it is read anew in every
call.  One made inside is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import Node, make_leaf
from chainrule.core.op import Op
from chainrule.ops.outcomes import outcome
from chainrule.record.trace import Trace
from chainrule.record.variable import Variable

NUMERIC = "fciub"


@dataclass(frozen=True)
class Guard:
    """A value that Python code was given: while it is the same, so is the branch taken.

    One that is there only because the shape of a node depends on values names that node.
    """

    node: Node
    value: Any
    of: Node | None = None


@dataclass(frozen=True)
class Recording:
    """A recorded call; `external` and `constants` are leaves of the graph beside its arguments."""

    graph: Graph
    guards: tuple[Guard, ...]
    external: dict[Node, np.ndarray]
    constants: dict[Node, np.ndarray]
    variables: tuple[tuple[Variable, Node], ...]  # of outside, as constants; and their nodes then


class GuardedTrace(Trace):
    """A trace that keeps what was read, and arrays from elsewhere as leaves.

    `holds(array)` tells whether an array was there before the call; `refuse(what)` is told of
    what a compiled function cannot do, and may leave the call.
    """

    guarded = True
    inside = False  # float(x) is a guard here, unless a gradient is being taken

    def __init__(
        self,
        holds: Callable[[np.ndarray], bool] = lambda array: True,
        refuse: Callable[[str], None] = lambda what: None,
        sweeps: bool = False,
    ) -> None:
        super().__init__()
        self.holds, self.refuse, self.sweeps = holds, refuse, sweeps
        self.fixed_floats = False  # whether Python's floats are constants
        self.reads: dict[Node, Guard] = {}
        self.arrays: dict[int, tuple[Node, np.ndarray]] = {}
        self.variables: dict[Node, Variable] = {}
        self.wanted: set[Node] = set()  # differentiated by a transform inside
        self.shaped: dict[Node, frozenset[Node]] = {}  # by which guards a node's shape is held

    # ---- what Python code is given ---------------------------------------------------------------

    def read(self, variable: Variable) -> None:
        node = self.node_of(variable)
        known = self.reads.get(node)
        if known is None or known.of is not None:
            self.reads[node] = Guard(node, np.array(variable._value))

    def read_shape(self, variable: Variable) -> None:
        """Python code has read a shape: where it depends on values, these are read."""
        for node in self.shaped.get(variable.node, ()):
            guard = self.reads[node]
            self.reads[node] = Guard(node, guard.value)

    def text_of(self, variable: Variable) -> None:
        self.refuse("makes a text or a key of a number that it computes")

    def written(self, variable: Variable) -> None:
        """A Variable is about to be assigned to, in place."""
        node = variable.node
        if node in self.leaves and variable.shape:
            self.refuse(f"writes into its argument `{node.name}`")
        elif node in self.variables:
            self.refuse("assigns to a Variable from outside")

    def shapes(self, node: Node, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        """The shape of this node depends on values: the numbers that decide it are guards."""
        operands = self.recorded(args)
        again = [outcome(*operands, op=op.name, settings=attrs)] if op.sizes is None else ()
        held = set()
        for number in again or op.sizes(*operands, **attrs):
            if isinstance(number, Variable):
                guard = Guard(number.node, np.array(number._value), node)
                self.reads.setdefault(number.node, guard)
                held.add(number.node)
        self.shaped[node] = frozenset(held)

    def raised(self, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        """This op has raised, and Python code may go on: that it raises is a guard."""
        operands = self.recorded(args)
        if any(isinstance(a, Variable) for a in operands):
            self.read(outcome(*operands, op=op.name, settings=attrs))

    def recorded(self, args: Sequence[Any]) -> list[Any]:
        """Arguments of an op, the arrays among them as Variables of their leaves."""
        return [Variable(a, self.operand(a)) if isinstance(a, np.ndarray) else a for a in args]

    # ---- nodes -----------------------------------------------------------------------------------

    def is_active(self, node: Node) -> bool:
        """An argument of a compiled function is a constant, unless a transform differentiates it."""
        return node in self.wanted

    def want(self, variable: Variable) -> Variable:
        self.wanted.add(variable.node)
        return variable

    def noted(self, node: Node, value: Any) -> Node:
        if self.shaped and node.shape != ():
            held = [self.shaped[a] for a in node.args or () if a in self.shaped]
            if held:
                self.shaped[node] = frozenset().union(*held)
        return super().noted(node, value)

    def leaf_for(self, value: Any, name: str, bare: bool) -> Any:
        """Integers stay what they are: sizes, axes, counts.  They belong to the signature."""
        fixed = type(value) is int or (type(value) is float and self.fixed_floats)
        return value if fixed else super().leaf_for(value, name, bare)

    def node_of(self, variable: Variable) -> Node:
        node = super().node_of(variable)
        if node is not variable.node:  # it was there before, and may be assigned to
            self.variables[variable.node] = variable
        return node

    def operand(self, arg: Any) -> Any:
        if type(arg) is Variable:
            return self.node_of(arg)
        if not isinstance(arg, np.ndarray) or arg.dtype.kind not in NUMERIC:
            return arg
        if arg.flags.writeable and not self.holds(arg):
            arg = self.copied(arg)  # made inside, where it may be changed before it is used again
        known = self.arrays.get(id(arg))
        if known is None:
            leaf = make_leaf(arg.shape, arg.dtype, f"array{len(self.arrays)}")
            known = self.arrays[id(arg)] = leaf, arg
            self.values[leaf] = arg
        return known[0]


def specialised(
    trace: GuardedTrace, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> Recording:
    """Record f on these arguments, and say what the recording rests on."""
    graph = trace.record(f, args, kwargs)
    external = {leaf: a for leaf, a in trace.arrays.values() if trace.holds(a)}
    constants = {n: np.asarray(v) for n, v in trace.values.items() if n not in external}
    guards = tuple(guard for node, guard in trace.reads.items() if node not in constants)
    variables = tuple((v, node) for node, v in trace.variables.items())
    return Recording(graph, guards, external, constants, variables)


def same_recording(a: Recording, b: Recording) -> bool:
    """Whether two recordings do the same with the same constants."""
    twin = _twins(a.graph, b.graph)
    if twin is None:
        return False
    constants = all(
        twin[leaf] in b.constants and _equal(value, b.constants[twin[leaf]])
        for leaf, value in a.constants.items()
        if leaf in twin
    )
    return constants and [twin.get(g.node) for g in a.guards] == [g.node for g in b.guards]


def _twins(graph: Graph, other: Graph) -> dict[Node, Node] | None:
    """Node by node the same of two recordings; None where they are not alike."""
    if len(graph) != len(other):
        return None
    twin: dict[Node, Node] = {}
    for a, b in zip(graph.nodes, other.nodes, strict=True):
        twin[a] = b
        if not _alike(a, b, twin):
            return None
    return twin


def _alike(a: Node, b: Node, twin: dict[Node, Node]) -> bool:
    """Whether two nodes do the same with the same operands."""
    if a.is_leaf or b.is_leaf:
        return a.is_leaf == b.is_leaf and a.shape == b.shape
    if a.op is not b.op or a.shape != b.shape:
        return False
    for x, y in zip(a.args or (), b.args or (), strict=True):
        if twin[x] is not y if isinstance(x, Node) else not _equal(x, y):
            return False
    # What an op keeps for itself, under a name with an underscore, is no part of what it does.
    kept = [name for name in a.attrs if not name.startswith("_")]
    return all(_equal(a.attrs[name], b.attrs[name]) for name in kept)


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        inexact = getattr(x, "dtype", np.dtype(int)).kind in "fc"
        return bool(np.array_equal(x, y, equal_nan=inexact))
    if isinstance(x, (tuple, list)) and type(x) is type(y):
        return len(x) == len(y) and all(map(_equal, x, y))
    if x is y or x == y or (x != x and y != y):
        return True
    return type(x) is type(y) and repr(x) == repr(y)  # a class without an equality of its own
