"""Recording a call for the compiler: a graph that holds for every call alike, and what it rests on.

What Python code reads out of a Variable (`if x > 0`, `x.value`, an index, a loop count), the shapes
that depend on values and the errors that were raised are *guards*: the graph holds as long as they
come out the same.  An array that was there before the call is *external*: it is read anew in every
call.  One made inside is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chainrule.core.containers import Structure
from chainrule.core.graph import Graph, inputs_of
from chainrule.core.loop import Body
from chainrule.core.masked import Masked
from chainrule.core.node import Line, Node, StoredLine, make_leaf
from chainrule.core.op import OPS, Op
from chainrule.core.order import dfs_order
from chainrule.core.picked import UNKNOWN, OnPicked, Picked, one_mask, picked_operands
from chainrule.core.python_numbers import OnPython
from chainrule.core.rule import rule_for
from chainrule.ops.outcomes import RETURNED, outcome
from chainrule.record.state import INTERNAL, user_frame
from chainrule.record.trace import Trace
from chainrule.record.variable import Variable

NUMERIC = "fciub"
PYTHON = (int, float, complex, bool)  # the types of Python's own numbers
ASKED_THROUGH = ("chainrule.record.", "numpy.")  # by whom a question comes


@dataclass(frozen=True)
class Guard:
    """A value that Python code was given: while it is the same, so is the branch taken.

    One that is there only because the shape of a node depends on values names that node.  A `firm`
    one holds in the call that was recorded too: rounding does not excuse it.
    """

    node: Node
    value: Any
    of: Node | None = None
    firm: bool = False


@dataclass(frozen=True)
class Repeated:
    """A loop of Python's: how often it went round, how often as a loop of ours, and why not.

    `unlike` names what most iterations do otherwise than those that became the loop.
    """

    line: Line | StoredLine | None
    count: int
    rolled: int
    steps: int
    unlike: str | None


@dataclass(frozen=True)
class Recording:
    """A recorded call; `external` and `constants` are leaves of the graph beside its arguments."""

    graph: Graph
    guards: tuple[Guard, ...]
    external: dict[Node, np.ndarray]
    constants: dict[Node, np.ndarray]
    variables: tuple[tuple[Variable, Node], ...]  # of outside, as constants; and their nodes then
    sequence: tuple[Node, ...] = ()  # the nodes in the order in which they were recorded
    repeated: tuple[Repeated, ...] = ()  # loops of Python's that were found in it


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
        self.counts: dict[Node, Picks] = {}  # by mask
        self.fallible: list[Node] = []  # nodes of ops that may raise
        self.sequence: list[Node] = []  # every node, as they were recorded
        self.python_ids: set[int] = set()  # of arguments that are Python's own numbers
        self.python: set[Node] = set()  # nodes that are Python's own numbers
        self.zeros: Variable | None = None  # 0 while all of them are finite that must be

    # ---- what Python code is given ---------------------------------------------------------------

    def read(self, variable: Variable) -> None:
        node = self.node_of(variable)
        if node not in self.reads:
            self.reads[node] = Guard(node, np.array(variable._value))

    def demand(self, truth: Variable) -> None:
        """This holds for the lanes of a vmap inside, or what is recorded is of no use to them."""
        self.read(truth)
        node = self.node_of(truth)
        if node in self.reads:
            self.reads[node] = replace(self.reads[node], firm=True)

    def read_shape(self, variable: Variable) -> None:
        """Python code has read a shape: where a mask decides it, the count is read."""
        shape = variable.node.shape
        if type(shape) is Picked and not asked_by_rules():
            self.counted([shape])

    def text_of(self, variable: Variable) -> None:
        self.refuse("makes a text or a key of a number that it computes")

    def layout_of(self, variable: Variable) -> None:
        self.refuse("asks in which order an array lies in memory")

    def written(self, variable: Variable) -> None:
        """A Variable is about to be assigned to, in place."""
        node = variable.node
        if node in self.leaves and variable.shape:
            self.refuse(f"writes into its argument `{node.name}`")
        elif node in self.variables:
            self.refuse("assigns to a Variable from outside")

    def shapes(self, node: Node, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        """The shape of this node depends on values: the numbers that decide it are guards."""
        if any(node in picks.of for picks in self.counts.values()):
            return
        operands = self.as_variables(args)
        again = [outcome(*operands, op=op.name, settings=attrs)] if op.sizes is None else ()
        for number in again or op.sizes(*operands, **attrs):  # type: ignore[misc]
            if isinstance(number, Variable):
                self.read(number)

    def raised(self, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        """This op has raised, and Python code may go on: that it raises is a guard."""
        operands = self.as_variables(args)
        if any(isinstance(a, Variable) for a in operands):
            self.read(outcome(*operands, op=op.name, settings=attrs))

    def keep_errors(self, graph: Graph) -> None:
        """An op whose result nobody uses must not raise in a later call either."""
        if not self.fallible:
            return
        used = set(dfs_order([*graph.outputs, *self.reads], inputs_of))
        for node in self.fallible:
            if node not in used:
                settings = {"op": node.op.name, "settings": node.attrs, "errors": True}
                spec, args = np.dtype(np.int64), node.args or ()
                rule = rule_for(outcome, (False,) * len(args))
                made = Node(rule, (), (), settings, (), spec, node.code, node.lasti, args)
                self.reads[made] = Guard(made, np.array(RETURNED))

    def as_variables(self, args: Sequence[Any]) -> list[Any]:
        """Arguments of an op, the arrays among them as Variables of their leaves."""
        return [Variable(a, self.operand(a)) if isinstance(a, np.ndarray) else a for a in args]

    def graph(
        self,
        f: Callable[..., Any],
        outputs: Sequence[Node],
        inputs: tuple[Structure, ...] | None = None,
        result: Structure | None = None,
    ) -> Graph:
        for node in dfs_order([*outputs, *self.reads], inputs_of):
            # The reverse passes inside the call are over, and arrays are as large as its batch.
            # A tape reads the numbers, to see what a rule makes of them.
            if any(isinstance(v, np.ndarray) and v.ndim for v in node.saved):
                node.release()
        return super().graph(f, outputs, inputs, result)

    # ---- nodes -----------------------------------------------------------------------------------

    def is_active(self, node: Node) -> bool:
        """An argument of a compiled function is a constant, unless a transform wants it."""
        return node in self.wanted

    def want(self, variable: Variable) -> Variable:
        self.wanted.add(variable.node)
        return variable

    def noted(self, node: Node, value: Any) -> Node:
        """A node just recorded; where a mask has picked it, its shape says so."""
        self.sequence.append(node)
        raises, rule = node.op.raises, node.op.picked
        if raises and (raises is True or raises(*(node.args or ()))):
            self.fallible.append(node)
        on_picked = rule if isinstance(rule, OnPicked) else None
        mask = on_picked.mask(node) if on_picked is not None and on_picked.mask else None
        met = picked_operands(node) if self.counts else []
        if met or mask is not None:
            axis = UNKNOWN if on_picked is None else on_picked.axis(node)
            if axis == UNKNOWN or not one_mask(met):
                self.counted(met)
            elif axis is not None:
                shape = met[0] if mask is None else self._picked(node, mask, axis)
                node.shape = node.shape if shape is None else shape.along(node.shape, axis)
        return node

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
        """Integers stay what they are: sizes, axes, counts.  They belong to the signature."""
        fixed = type(value) is int or (type(value) is float and self.fixed_floats)
        if fixed:
            return value
        made = super().leaf_for(value, name, bare)
        if type(made) is Variable and (type(value) in PYTHON or id(value) in self.python_ids):
            self.python.add(made.node)
        return made

    def is_python(self, value: Any) -> bool:
        """Whether a value is one of Python's own numbers, and not one of NumPy's."""
        return value.node in self.python if type(value) is Variable else type(value) in PYTHON

    def on_python(self, python: OnPython, args: Sequence[Any], out: Variable) -> Any:
        """Of Python's own numbers Python's operator is meant: where it raises, so does this."""
        if not all(map(self.is_python, args)):
            return out
        if out.dtype.kind != "b" and any(map(_is_truth, args)):  # Python counts with truths
            return python.operator(*(bool(a) if _is_truth(a) else a for a in args))
        self.python.add(out.node)
        if python.may_raise:
            self._as_python(python, args, out)
        return out

    def _as_python(self, python: OnPython, args: Sequence[Any], out: Variable) -> None:
        """Raise what Python raises, and guard that it does, or that it does not."""
        exact = python.cause is not None or out.dtype.kind != "c"  # 0.0 ** 1j raises, and is 0
        if exact and np.isfinite(out._value):
            self._stays_finite(out)
        elif python.cause is not None:
            bool(python.cause(*args))  # a truth that is read is a guard
        else:
            for arg in args:
                if type(arg) is Variable:
                    self.read(arg)
        found = python.operator(*(a._value.item() if type(a) is Variable else a for a in args))
        if isinstance(found, complex) and out.dtype.kind != "c":
            self.refuse("raises a negative number to a power that is not whole")

    def _stays_finite(self, out: Variable) -> None:
        """Guard that this number is finite, by one guard for all such: of their differences with
        themselves, which are 0 then and NaN otherwise."""
        zero: Any = np.subtract(out, out)
        if self.zeros is not None:
            self.reads.pop(self.zeros.node, None)
            zero = self.zeros + zero
        self.zeros = zero
        self.read(zero)

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


def asked_by_rules() -> bool:
    """Whether code of ours asks, which says by `Op.picked` what it makes of a picked array."""
    return user_frame(2, ASKED_THROUGH).f_globals.get("__name__", "").startswith(INTERNAL)


def _is_truth(value: Any) -> bool:
    return type(value) is Variable and value.dtype.kind == "b"


def specialised(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    sweeps: bool = False,
    trace: GuardedTrace | None = None,
) -> Recording:
    """Record f on these arguments, and say what the recording rests on.

    With `sweeps` the gradient of a large scalar graph is recorded as one node.  Without a `trace`
    that knows which arrays were there before, all are taken as constants.
    """
    trace = trace or GuardedTrace(holds=lambda array: False, sweeps=sweeps)
    graph = trace.record(f, args, kwargs)
    external = {leaf: a for leaf, a in trace.arrays.values() if trace.holds(a)}
    constants = {n: np.asarray(v) for n, v in trace.values.items() if n not in external}
    trace.keep_errors(graph)
    guards = tuple(guard for node, guard in trace.reads.items() if node not in constants)
    for picks in trace.counts.values():
        count = picks.count
        whose = [None] if picks.read else picks.of
        guards += tuple(Guard(count.node, np.array(count._value), of) for of in whose)
    variables = tuple((v, node) for node, v in trace.variables.items())
    used = set(with_guards(graph, guards))
    sequence = tuple([n for n in trace.sequence if n in used])
    return Recording(graph, guards, external, constants, variables, sequence)


def with_guards(graph: Graph, guards: Sequence[Guard]) -> list[Node]:
    """The nodes of a graph, and behind them those that only guards need."""
    nodes = list(graph.nodes)
    known = set(nodes)
    asked = [g.node for g in guards if g.node not in known]
    if asked:
        order = dfs_order(asked, lambda n: () if n in known else inputs_of(n))
        nodes += [n for n in order if n not in known]
    return nodes


def same_recording(a: Recording, b: Recording) -> bool:
    """Whether two recordings do the same with the same constants."""
    twin = _twins(a.graph, b.graph)
    if twin is None:
        return False
    constants = all(
        twin[leaf] in b.constants and equal(value, b.constants[twin[leaf]])
        for leaf, value in a.constants.items()
        if leaf in twin
    )
    return constants and [twin.get(g.node) for g in a.guards] == [g.node for g in b.guards]


def alike_graphs(graph: Graph, other: Graph) -> bool:
    """Whether two graphs do the same, node by node."""
    return _twins(graph, other) is not None


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
        if twin[x] is not y if isinstance(x, Node) else not equal(x, y):
            return False
    # What an op keeps for itself, under a name with an underscore, is no part of what it does.
    kept = [name for name in a.attrs if not name.startswith("_")]
    return all(equal(a.attrs[name], b.attrs[name]) for name in kept)


def equal(x: Any, y: Any) -> bool:
    if isinstance(x, Body) and isinstance(y, Body):
        return x.signature == y.signature and alike_graphs(x.graph, y.graph)
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        inexact = getattr(x, "dtype", np.dtype(int)).kind in "fc"
        return bool(np.array_equal(x, y, equal_nan=inexact))
    if isinstance(x, (tuple, list)) and type(x) is type(y):
        return len(x) == len(y) and all(map(equal, x, y))
    if x is y or x == y or (x != x and y != y):
        return True
    return type(x) is type(y) and repr(x) == repr(y)  # a class without an equality of its own
