"""A function recorded with everything it closes over: its graph, and the Variables of outside.

The graph stops at what was there before the call.  A Variable that the function finds elsewhere, in
a closure, a module or an attribute, is an input of the graph like its arguments; so a derivative
with respect to it exists, and what led to it is not walked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.containers import Structure, flatten
from chainrule.core.graph import Graph
from chainrule.core.node import Node, make_leaf
from chainrule.core.op import Op
from chainrule.core.replay import replay
from chainrule.diff.applied import applied
from chainrule.errors import DerivativeError, MutationError
from chainrule.record.lanes import as_constant
from chainrule.record.recorder import as_operand
from chainrule.record.state import current, recording
from chainrule.record.trace import Trace, _output_node
from chainrule.record.variable import Variable, leaf

Captured = dict[Node, Variable]  # by the node of outside


@dataclass(frozen=True, eq=False)
class Closed:
    """A recorded function of its arguments and of what it `captured`, in this order.

    `guards` are the nodes whose numbers Python code was given, with those numbers: where they are
    others the function may do something else.  With `fixed` it may do so anywhere else.
    """

    graph: Graph
    inputs: tuple[Node, ...]
    captured: tuple[Variable, ...]
    outputs: tuple[Node, ...]
    result: Structure
    guards: dict[Node, Any]
    fixed: bool

    @property
    def branches(self) -> bool:
        """Whether the function may be another one at another point."""
        return bool(self.guards) or self.fixed

    def __call__(self, *values: Any) -> Any:
        """The function evaluated again on arrays, or recorded on Variables."""
        found = self._replayed(values)
        return self.result.unflatten([found[node] for node in self.outputs])

    def holds(self, *values: Any) -> bool:
        """Whether the function takes the branches on these arrays that were recorded."""
        if not self.guards or self.fixed:
            return not self.fixed
        found = self._replayed(values)
        return all(np.array_equal(found[n], was) for n, was in self.guards.items())

    def _replayed(self, values: Sequence[Any]) -> dict[Node, Any]:
        known = dict(self.graph.captured) | dict(zip(self.inputs, values, strict=True))
        return replay(self.graph.nodes, known, _at_its_line)


class ClosedTrace(Trace):
    """A trace that takes in nothing recorded before it, also where that is being traced itself."""

    nested = True
    guarded = True

    def __init__(self, captured: Captured) -> None:
        super().__init__()
        self.outside = captured
        self.made: set[Node] = set()
        self.guards: dict[Node, Any] = {}
        self.fixed = False
        self.counts: dict[Node, Any] = {}  # none: what a mask picks has a fixed shape here

    def read(self, variable: Variable) -> None:
        self.guards.setdefault(self.node_of(variable), np.array(variable._value))

    def shapes(self, node: Node, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        self.fixed = True

    def raised(self, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        self.fixed = True

    def refuse(self, what: str) -> None:
        """A solver inside another's equations is recorded as any op; the outer one is refused."""

    def demand(self, truth: Variable) -> None:
        """This holds for the lanes of a vmap inside."""
        self.read(truth)

    def as_variables(self, args: Sequence[Any]) -> list[Any]:
        """Arrays among the arguments as Variables of outside."""
        return [as_constant(a) if isinstance(a, np.ndarray) else a for a in args]

    def counted(self, shapes: Any) -> None:
        """Arrays that a mask has picked are as any others here."""

    def noted(self, node: Node, value: Any) -> Node:
        self.made.add(node)
        return node

    def node_of(self, variable: Variable) -> Node:
        """The node of a Variable in this trace; one of outside gets a leaf that stands for it."""
        node = variable.node
        if node in self.leaves or node in self.values or node in self.made or self._part(node):
            return node
        if node not in self.captured:
            stand_in = make_leaf(node.shape, node.dtype, node.name)
            self.captured[node] = stand_in
            self.values[stand_in] = variable._value
            self.outside[node] = variable
        return self.captured[node]

    def _part(self, node: Node) -> bool:
        """Whether this is one result of a node made here, which a rule has picked."""
        return any(a in self.made for a in node.args or () if isinstance(a, Node))

    def run(self, f: Callable[..., Any], values: Sequence[Any]) -> Any:
        """f on leaves of these values."""
        given = [leaf(np.array(v)[()]) for v in values]
        self.leaves.update((v.node, v._value) for v in given)
        state = current.get()
        with recording(tracing=self, inside=True, line=None, debug=None, watched=state.watched):
            return f(*given)


def closed(f: Callable[..., Any], *values: Any) -> Closed:
    """Record f on these numbers and arrays, with everything it closes over."""
    trace = ClosedTrace({})
    result = trace.run(f, values)
    found, structure = flatten(result)
    with recording(tracing=trace, inside=True, line=None, debug=None):
        outputs = [_output_node(v, trace) for v in found]
    graph = trace.graph(f, [*outputs, *trace.guards])
    inputs = (*trace.leaves, *(trace.captured[node] for node in trace.outside))
    outside = tuple(trace.outside.values())
    return Closed(graph, inputs, outside, tuple(outputs), structure, trace.guards, trace.fixed)


def detached(f: Callable[..., Any], captured: Captured | None = None) -> Callable[..., Any]:
    """f on plain numbers, for a solver: Variables in what it returns give their values.

    What it closes over is noted in `captured`.  Nothing that happens inside is recorded elsewhere.
    """
    found: Captured = {} if captured is None else captured

    def plain(*args: Any, **kwargs: Any) -> Any:
        with recording(tracing=ClosedTrace(found), inside=True, line=None, debug=None):
            return without_history(f(*args, **kwargs))

    return plain


def _at_its_line(node: Node, args: Sequence[Any]) -> Any:
    return applied(node.op, args, node.attrs, (node.code, node.lasti))


def without_history(tree: Any) -> Any:
    """A container with the value of each Variable in its place."""
    leaves, structure = flatten(tree)
    return structure.unflatten([_value(leaf) for leaf in leaves])


def _value(found: Any) -> Any:
    if isinstance(found, np.ndarray) and found.dtype == object:
        found = as_operand(found, Variable)
    return found._value if isinstance(found, Variable) else found


def opened(f: Callable[..., Any], captured: Sequence[Variable]) -> Callable[..., Any]:
    """f(*args) as a function of (args, inputs), where inputs are values for what it captured.

    It is recorded anew at each call, so that it takes the branches of that point; args and inputs
    may be arrays or Variables.
    """
    place = {v.node: i for i, v in enumerate(captured)}

    def call(args: Sequence[Any], inputs: Sequence[Any]) -> Any:
        if not any(isinstance(v, Variable) for v in (*args, *inputs)) and all(
            x is v._value for x, v in zip(inputs, captured, strict=True)
        ):
            return detached(f)(*args)
        recorded = closed(f, *without_history(list(args)))
        if any(v.node not in place for v in recorded.captured):
            raise MutationError(
                "a function that a solver has called closes over another Variable than it did "
                "then; what it closes over must stay the same until the derivative is taken."
            )
        values = (*args, *(inputs[place[v.node]] for v in recorded.captured))
        if recorded.guards and not recorded.holds(*without_history(list(values))):
            raise DerivativeError(
                "a function that a solver has called takes another branch at other values of the "
                "Variables it closes over.\n  Call the function itself there."
            )
        return recorded(*values)

    return call
