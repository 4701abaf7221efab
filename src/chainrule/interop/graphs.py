"""A chainrule graph as a NetworkX graph."""

from __future__ import annotations

from typing import Any

from chainrule.core.graph import Graph
from chainrule.errors import UnsupportedError


def to_networkx(graph: Graph) -> Any:
    """A `networkx.DiGraph` of positions in `graph.nodes`, with op, shape, dtype and line."""
    try:
        import networkx
    except ImportError:
        raise UnsupportedError("to_networkx needs NetworkX: pip install networkx") from None
    made = networkx.DiGraph(name=graph.name)
    for i, node in enumerate(graph.nodes):
        made.add_node(
            i,
            op=None if node.is_leaf else node.op.name,
            name=node.name,
            shape=node.shape,
            dtype=node.dtype.name,
            line=str(node.line) if node.line else None,
            output=node in graph.outputs,
        )
    made.add_edges_from((graph.index[p], graph.index[c]) for p, c in graph.edges)
    return made
