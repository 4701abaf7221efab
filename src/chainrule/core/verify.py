"""Checking a graph: every pass that makes one runs this, and so does reading one from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.node import Node
from chainrule.core.op import Op
from chainrule.core.parts import OBJECT
from chainrule.core.spec import Spec
from chainrule.errors import DTypeError, GraphError

NUMBERS = (np.ndarray, np.generic, float, int, complex)


def verify(graph: Graph) -> Graph:
    """The graph itself, if it is well formed; else a GraphError that says which node is not."""
    seen: set[Node] = set()
    results = Results()
    for i, node in enumerate(graph.nodes):
        if node in seen:
            raise GraphError(f"node %{i} is listed twice")
        for parent in inputs_of(node):
            if parent not in seen:
                raise GraphError(
                    f"node %{i} ({_label(node)}) comes before its parent {_label(parent)}"
                )
        if not node.is_leaf:
            results.verify(i, node)
        elif node.args:
            raise GraphError(f"leaf %{i} has arguments")
        seen.add(node)
    _verify_ends(graph, seen)
    _verify_leaves(graph)
    return graph


def _verify_ends(graph: Graph, seen: set[Node]) -> None:
    for kind, listed in (
        ("leaf", graph.leaves),
        ("leaf", graph.captured),
        ("output", graph.outputs),
    ):
        for node in listed:
            if node not in seen:
                raise GraphError(f"{kind} {_label(node)} is not among the nodes")
    for node in graph.outputs:
        if node.dtype == OBJECT:
            raise GraphError(f"output {_label(node)} is several results; each is an output alone")


def _verify_leaves(graph: Graph) -> None:
    """Every leaf gets its value from one place: the caller, or `captured`."""
    filled: set[Node] = set()
    for node in (*graph.leaves, *graph.captured):
        if not node.is_leaf:
            raise GraphError(f"{_label(node)} is listed as a leaf, and is none")
        if node in filled:
            raise GraphError(f"leaf {_label(node)} is listed twice")
        filled.add(node)
    for node in graph.nodes:
        if node.is_leaf and node not in filled:
            raise GraphError(f"leaf {_label(node)} is not listed, so nothing would fill it")
    for leaf, value in graph.captured.items():
        if not isinstance(value, NUMBERS) or Spec.of(value) != leaf.spec:
            raise GraphError(f"leaf {_label(leaf)} is {leaf.spec}, its captured value is not")


class Results:
    """What each op's own spec rule says of its result; a rule is asked once per kind of call."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}  # a loop asks for one spec a million times
        self.several: dict[Node, Any] = {}

    def verify(self, i: int, node: Node) -> None:
        """The op's spec, on the specs of its arguments, gives what the node says."""
        if node.args is None:
            raise GraphError(f"node %{i} ({_label(node)}) was recorded without its arguments")
        op = node.op
        if not op.variadic and len(node.args) != len(op.inputs):
            raise GraphError(
                f"node %{i}: {op.name} takes {len(op.inputs)} inputs, not {len(node.args)}"
            )
        if op.inputs and not inputs_of(node):
            raise GraphError(f"node %{i}: {op.name} of constants alone is not recorded")
        if op.spec is None or any(self._is_unknown(a) for a in node.args):
            return  # a function of the user's, or a result of it: no rule to hold it against
        try:
            expected = self._expected(op, [self._argument(a) for a in node.args], node.attrs)
        except Exception as error:  # noqa: BLE001 - whatever NumPy raises, the node is named
            raise GraphError(f"node %{i}: {op.name} does not take its arguments: {error}") from None
        if isinstance(expected, tuple) and not isinstance(expected, Spec):
            self.several[node] = expected
            expected = Spec((), OBJECT)
        if expected is not None and expected != node.spec:
            raise GraphError(f"node %{i}: {op.name} gives {expected}, the node says {node.spec}")

    def _is_unknown(self, argument: Any) -> bool:
        return (
            isinstance(argument, Node) and argument.dtype == OBJECT and argument not in self.several
        )

    def _argument(self, value: Any) -> Any:
        """A spec, the specs of several results, or a plain number."""
        if isinstance(value, Node):
            return value.spec if value.dtype != OBJECT else self.several[value]
        if not isinstance(value, NUMBERS) or np.asarray(value).dtype.kind not in "fciub":
            raise DTypeError(f"a {type(value).__name__} is not a number or an array of numbers")
        return Spec.of(value) if hasattr(value, "dtype") else value

    def _expected(self, op: Op, arguments: list[Any], attrs: dict[str, Any]) -> Any:
        if attrs:
            return op.spec(*arguments, **attrs)
        # An integer counts with its value: it may be too large for the dtype it meets.
        kinds = (type(a) if isinstance(a, (float, complex)) else a for a in arguments)
        key = (op, *kinds)
        if key not in self.known:
            self.known[key] = op.spec(*arguments)
        return self.known[key]


def _label(node: Node) -> str:
    return str(node.name) if node.is_leaf else node.op.name
