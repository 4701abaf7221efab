"""What no output needs is left out: nodes, and constants that are read no more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import Node


def cleaned(
    graph: Graph, constants: Mapping[Node, np.ndarray]
) -> tuple[Graph, dict[Node, np.ndarray]]:
    """The graph of what its outputs need, in the same order; leaves stay that the caller fills."""
    needed = {id(n) for n in graph.outputs}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if id(node) in needed:
            needed.update(map(id, node.args or ()))
        elif not node.is_leaf or node in constants:
            continue
        kept.append(node)
    if len(kept) == len(graph.nodes):
        return graph, dict(constants)
    alive = set(kept)
    captured = {n: v for n, v in graph.captured.items() if n in alive}
    nodes = tuple(reversed(kept))
    found = Graph(
        nodes, graph.leaves, graph.outputs, graph.name, captured, graph.inputs, graph.result
    )
    return found, {n: v for n, v in constants.items() if n in alive}
