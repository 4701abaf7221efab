"""Checking a graph: every pass that makes one runs this, and so does reading one from a file."""

from __future__ import annotations

from typing import Any

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.node import Node
from chainrule.core.spec import Spec
from chainrule.errors import ChainruleError, GraphError


def verify(graph: Graph) -> Graph:
    """The graph itself, if it is well formed; else a GraphError that says which node is not."""
    seen: set[Node] = set()
    known: dict[Any, Any] = {}  # specs worked out so far: a loop asks for one a million times
    for i, node in enumerate(graph.nodes):
        if node in seen:
            raise GraphError(f"node %{i} is listed twice")
        for parent in inputs_of(node):
            if parent not in seen:
                raise GraphError(
                    f"node %{i} ({_label(node)}) comes before its parent {_label(parent)}"
                )
        if node.is_leaf:
            if node.args:
                raise GraphError(f"leaf %{i} has arguments")
        else:
            _verify_spec(i, node, known)
        seen.add(node)
    for kind, listed in (("leaf", graph.leaves), ("output", graph.outputs)):
        for node in listed:
            if node not in seen:
                raise GraphError(f"{kind} {_label(node)} is not among the nodes")
    return graph


def _verify_spec(i: int, node: Node, known: dict[Any, Any]) -> None:
    """The op's own spec rule, on the specs of its arguments, gives what the node says."""
    if node.args is None:
        raise GraphError(f"node %{i} ({_label(node)}) was recorded without its arguments")
    op = node.op
    if not op.variadic and len(node.args) != len(op.inputs):
        raise GraphError(
            f"node %{i}: {op.name} takes {len(op.inputs)} inputs, not {len(node.args)}"
        )
    if op.spec is None or any(isinstance(a, Node) and a.dtype == object for a in node.args):
        return  # a user function, or one of several results: no rule to hold it against
    arguments: list[Any] = [Spec(a.shape, a.dtype) if hasattr(a, "dtype") else a for a in node.args]
    key = None if node.attrs else (op, *(a if isinstance(a, Spec) else type(a) for a in arguments))
    expected = known.get(key)
    if expected is None:
        try:
            expected = op.spec(*arguments, **node.attrs)
        except ChainruleError as error:
            raise GraphError(f"node %{i}: {op.name} does not take its arguments: {error}") from None
        if key is not None:
            known[key] = expected
    if isinstance(expected, Spec) and expected != node.spec:
        raise GraphError(f"node %{i}: {op.name} gives {expected}, the node says {node.spec}")


def _label(node: Node) -> str:
    return str(node.name) if node.is_leaf else node.op.name
