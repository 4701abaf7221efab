"""Graph: what a function did, as a value that can be ordered, run, printed and saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from chainrule.core.calls import Calls
from chainrule.core.containers import Structure
from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import GraphLeaf, GraphNode, Leaf, Node
from chainrule.core.order import dfs_order, kahn_order
from chainrule.errors import ArgumentError, GraphError

Key = Node | str | int


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in topological order, leaves first.  Immutable: every transform makes another graph.

    `captured` holds the values of leaves that were not arguments of the recorded function but
    Variables it found elsewhere; `point` those of its arguments when it was recorded, if kept, and
    `calls` which call of user code made each node.
    """

    nodes: tuple[Node, ...]
    leaves: tuple[Node, ...]
    outputs: tuple[Node, ...]
    name: str = "graph"
    captured: Mapping[Node, Any] = field(default_factory=dict)
    inputs: tuple[Structure, ...] | None = None
    result: Structure | None = None
    point: Mapping[Node, Any] | None = None
    calls: Calls | None = None

    def __post_init__(self) -> None:
        for node in self.nodes:  # from now on their fields cannot be set
            if type(node) is Node:
                node.__class__ = GraphNode
            elif type(node) is Leaf:
                node.__class__ = GraphLeaf

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.index

    @cached_property
    def index(self) -> dict[Node, int]:
        """Position of each node in `nodes`."""
        return {node: i for i, node in enumerate(self.nodes)}

    @cached_property
    def _named(self) -> dict[Any, list[Node]]:
        named: dict[Any, list[Node]] = {}
        for node in self.nodes:
            if node.name is not None:
                named.setdefault(node.name, []).append(node)
        return named

    def node(self, key: Key) -> Node:
        """A node by itself, by the name of a leaf, or by its number in a formal graph."""
        if isinstance(key, Node):
            if key in self.index:
                return key
            raise GraphError(f"{key!r} is not a node of this graph")
        if hasattr(key, "node") and key.node in self.index:
            return key.node
        try:
            nodes = self._named[key]
        except (KeyError, TypeError):  # also what no dict takes as a key
            nodes = []
        if len(nodes) == 1:
            return nodes[0]
        if nodes:
            raise GraphError(f"{len(nodes)} nodes are called {key!r}; pass the node itself")
        names = ", ".join(map(str, self._named)) or "none is named"
        raise GraphError(f"no node is called {key!r}; the named ones: {names}")

    def parents(self, node: Key) -> tuple[Node, ...]:
        """The nodes this one was computed from, each once."""
        return tuple(dict.fromkeys(inputs_of(self.node(node))))

    @cached_property
    def _children(self) -> dict[Node, tuple[Node, ...]]:
        children_of: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for parent in dict.fromkeys(inputs_of(node)):
                children_of[parent].append(node)
        return {node: tuple(children) for node, children in children_of.items()}

    def children(self, node: Key) -> tuple[Node, ...]:
        """The nodes that use this one."""
        return self._children[self.node(node)]

    @cached_property
    def edges(self) -> tuple[tuple[Node, Node], ...]:
        """Every edge (parent, child), in the order of the children."""
        return tuple((p, n) for n in self.nodes for p in dict.fromkeys(inputs_of(n)))

    def order(self, method: str = "dfs") -> list[Node]:
        """A topological order, parents first, by depth-first search or by Kahn's counting."""
        methods = {"dfs": dfs_order, "kahn": kahn_order}
        if method not in methods:
            raise ArgumentError(f"order method {method!r}: choose one of {', '.join(methods)}")
        used = {*self.outputs, *(leaf for leaf in self.leaves if self._children[leaf])}
        unused = [leaf for leaf in self.leaves if leaf not in used]
        return [*unused, *methods[method](self.outputs, inputs_of)]

    def levels(self) -> list[list[Node]]:
        """Nodes by their longest distance from a leaf: all of one level can be computed at once."""
        depth: dict[Node, int] = {}
        for node in self.nodes:
            depth[node] = max((depth[p] + 1 for p in inputs_of(node)), default=0)
        levels: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for node, level in depth.items():
            levels[level].append(node)
        return levels

    def __repr__(self) -> str:
        counts = f"{len(self.leaves)} leaves, {len(self)} nodes, {len(self.edges)} edges"
        return f"<Graph {self.name}: {counts}>"

    # The rest of the public face of a graph; each name says where it lives.
    __str__ = lazy_method("chainrule.core.text", "graph_text")
    verify = lazy_method("chainrule.core.verify", "verify")
    to_json = lazy_method("chainrule.core.serial", "to_json")
    from_json = lazy_method("chainrule.core.serial", "from_json", static=True)
    to_dot = lazy_method("chainrule.core.dot", "to_dot")
    to_networkx = lazy_method("chainrule.interop.graphs", "to_networkx")
    forward = lazy_method("chainrule.diff.run", "forward_run")
    steps = lazy_method("chainrule.explain.steps", "steps")
    to_svg = lazy_method("chainrule.view.svg", "to_svg")
    explore = lazy_method("chainrule.view.explore", "explore")
    _repr_svg_ = lazy_method("chainrule.view.svg", "notebook_svg")
    _repr_html_ = lazy_method("chainrule.view.svg", "notebook_html")
    define = lazy_method("chainrule.diff.formal", "define", static=True)


def inputs_of(node: Node) -> Sequence[Node]:
    """Every node among the arguments of a traced node, in order, repeats included."""
    return [a for a in node.args or () if isinstance(a, Node)]
