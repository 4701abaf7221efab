"""What no output needs is left out: nodes, and constants that are read no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import Node

Arrays = Mapping[Node, np.ndarray]


def needed(
    graph: Graph,
    nodes: Sequence[Node],
    outputs: tuple[Node, ...],
    captured: Mapping[Node, Any],
    constants: Arrays,
) -> tuple[Graph, Arrays]:
    """The graph, made of those of these nodes that its outputs need, and its constants.

    Leaves that are no constants stay: the caller fills them.
    """
    read = set(map(id, outputs))
    kept: list[Node] = []
    for node in reversed(nodes):
        if id(node) in read:
            read.update(map(id, node.args or ()))
        elif not node.is_leaf or node in constants:
            continue
        kept.append(node)
    if len(kept) < len(nodes):
        captured, constants = (
            {n: v for n, v in some.items() if id(n) in read or n not in constants}
            for some in (captured, constants)
        )
    smaller = Graph(
        tuple(reversed(kept)),
        graph.leaves,
        outputs,
        graph.name,
        captured,
        graph.inputs,
        graph.result,
    )
    return smaller, constants
