"""Recording what is run again and again: one iteration of a loop, or a call that is made twice.

It is recorded on leaves of its own.  What it reads of outside (Variables it closes over, arrays)
becomes an input of the loop; what Python code is given of a Variable (`if c > 0`) is noted, since
the record stands for another iteration only where that is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.loop import BodyLeaf, body_graph
from chainrule.core.node import Node, line_at, make_leaf
from chainrule.core.op import Op
from chainrule.core.order import dfs_order
from chainrule.errors import DetachError
from chainrule.ops.structure import constant_node
from chainrule.record.recorder import as_operand
from chainrule.record.specialise import GuardedTrace, alike_graphs
from chainrule.record.state import current, recording, user_line
from chainrule.record.variable import Variable


class BodyTrace(GuardedTrace):
    """A trace inside of another recording, or of none, which notes what must be the same again."""

    nested = True  # nodes of the recording around it are not its own

    def __init__(self) -> None:
        state = current.get()
        outer = state.tracing
        guarded = outer is not None and outer.guarded
        super().__init__(outer.holds if guarded else lambda array: False)
        if guarded:
            self.refuse = outer.refuse
        self.inside = state.inside
        self.own: set[Node] = set()
        self.sources: dict[Node, Any] = {}  # what of outside a leaf stands for
        self.irregular = ""  # why the record cannot stand for another iteration

    def is_active(self, node: Node) -> bool:
        return node.rule is None

    def noted(self, node: Node, value: Any) -> Node:
        self.own.add(node)
        raises = node.op.raises
        if raises and (raises is True or raises(*(node.args or ()))):
            self.fallible.append(node)
        return node

    def node_of(self, variable: Variable) -> Node:
        node = variable.node
        if self._knows(node) or self._is_made_of_own(node):
            return node
        if node not in self.captured:
            leaf = self._leaf(node.shape, node.dtype, node.name)
            self.captured[node] = leaf
            self.values[leaf] = variable._value
            self.sources[leaf] = Variable(variable._value, node)
        return self.captured[node]

    def _knows(self, node: Node) -> bool:
        return node in self.own or node in self.leaves or node in self.values

    def _is_made_of_own(self, node: Node) -> bool:
        """Whether it is a result of a node of this trace, of which rules make a node of its own."""
        read = [a for a in node.args or () if isinstance(a, Node)]
        if not read or not all(map(self._knows, read)):
            return False
        self.own.add(node)
        return True

    def _leaf(self, shape: Any, dtype: Any, name: Any) -> Node:
        leaf = make_leaf(shape, dtype, name or f"captured{len(self.sources)}")
        leaf.__class__ = BodyLeaf
        return leaf

    def operand(self, arg: Any) -> Any:
        found = super().operand(arg)
        if isinstance(found, Node) and isinstance(arg, np.ndarray):
            self.sources.setdefault(found, self.arrays[id(self._kept(arg))][1])
        return found

    def _kept(self, array: np.ndarray) -> np.ndarray:
        """The array itself, or the copy that was made of it because it may be changed."""
        known = self.copies.get(id(array))
        return array if known is None or known[0] is not array else known[2]

    def adopt(self, variable: Variable) -> Variable:
        self.sources[variable.node] = variable._value
        return super().adopt(variable)

    def written(self, variable: Variable) -> None:
        node = variable.node
        if not (node in self.own or node in self.leaves):
            raise DetachError(
                "a loop's body assigns to a Variable of outside, which only one iteration would "
                f"see.\n  {line_at(*user_line()).shown()}\n  carry it from iteration to iteration."
            )

    def shapes(self, node: Node, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        self.irregular = f"the shape of {op.name} depends on values"

    def raised(self, op: Op, args: Sequence[Any], attrs: dict[str, Any]) -> None:
        self.irregular = f"{op.name} has raised an error"


@dataclass
class Recorded:
    """One recorded call: its leaves are `sources`, what it reads of outside, and its arguments.

    The outputs of the graph are what it returned, then what Python code was given: `reads`.
    """

    graph: Graph
    sources: list[Any]
    reads: tuple[np.ndarray, ...]
    values: list[Any]  # of what it returned
    irregular: str


def recorded(
    f: Callable[..., list[Any]],
    values: Sequence[Any],
    errors: bool = True,
    names: Sequence[str] = (),
) -> Recorded:
    """The call f(*Variables of these values), which returns a list of results.

    With `errors` what raises must not do so in another iteration, be its result used or not.
    `names` are what the user's code calls the values, where that is known.
    """
    trace = BodyTrace()
    given: list[Variable] = []
    for k, value in enumerate(values):
        leaf = make_leaf(value.shape, value.dtype, names[k] if names else f"x{k}")
        leaf.__class__ = BodyLeaf
        trace.leaves[leaf] = value
        given.append(Variable(value, leaf))
    with recording(tracing=trace, inside=trace.inside, line=None, debug=None):
        results = [_result(r) for r in f(*given)]
        nodes = [trace.node_of(r) if isinstance(r, Variable) else constant_node(r) for r in results]
    for node in dfs_order([*nodes, *trace.reads], inputs_of):
        if node.rule is not None:
            node.release()  # the body is run again for what a derivative reads
    leaves = [*trace.values, *trace.leaves]
    graph = body_graph(leaves, nodes)
    if errors:
        trace.keep_errors(graph)
    guards = list(trace.reads.values())
    for own in trace.leaves:
        own.open = False  # type: ignore[attr-defined]  # the leaves of a trace
    graph = body_graph(leaves, [*nodes, *(g.node for g in guards)])
    return Recorded(
        graph,
        [trace.sources[leaf] for leaf in trace.values],
        tuple(np.asarray(g.value) for g in guards),
        [r._value if isinstance(r, Variable) else r for r in results],
        trace.irregular,
    )


def _result(value: Any) -> Any:
    found = value if isinstance(value, Variable) else as_operand(value, Variable)
    return found if isinstance(found, Variable) else np.asarray(found)[()]


def same_record(a: Recorded, b: Recorded) -> bool:
    """Whether two recorded calls do the same, with the same of outside."""
    return alike_graphs(a.graph, b.graph) and all(map(_same_source, a.sources, b.sources))


def _same_source(a: Any, b: Any) -> bool:
    if isinstance(a, Variable) or isinstance(b, Variable):
        return isinstance(a, Variable) and isinstance(b, Variable) and a.node is b.node
    return a is b or bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc"))
