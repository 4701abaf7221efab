"""The formal computational graph: numbered vertices, edges, local functions, Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import NO_ATTRS, Node, make_leaf
from chainrule.core.op import Op
from chainrule.core.rule import rule_for
from chainrule.core.verify import verify
from chainrule.diff.custom import private_op
from chainrule.diff.gradient import jvp, vjp
from chainrule.errors import GraphError, ShapeError
from chainrule.record.creation import array

Edge = tuple[int, int]
DOUBLE = np.dtype(np.float64)


class NamedNode(Node):
    """A node that carries its vertex number as its name."""

    def __init__(self, name: int, *fields: Any, **named: Any):
        super().__init__(*fields, **named)
        self.name = name


def define(
    dims: Sequence[int] | Mapping[int, int],
    edges: Iterable[Edge],
    functions: Mapping[int, Callable[..., Any]],
    jacobians: Mapping[Edge, Any] | None = None,
) -> Graph:
    """A graph of n vertices u¹ … uⁿ, leaves first, the output last.

    `dims` are their dimensions d_i (1 means a scalar).  `edges` are pairs (j, i) with j < i: uʲ is
    an argument of uⁱ.  `functions[i]` takes the values of its parents in ascending j.
    `jacobians[(j, i)]`, a d_i × d_j matrix or a function of the same arguments that returns one,
    replaces the derivative that is otherwise derived by recording the function.
    """
    sizes = _checked_sizes(dims)
    n = len(sizes)
    parents = _checked_edges(edges, n)
    given = dict(jacobians or {})
    _check_functions(parents, functions, given)
    nodes: list[Node] = []
    for i, size in enumerate(sizes, 1):
        shape = () if size == 1 else (size,)
        if not parents[i]:
            nodes.append(make_leaf(shape, DOUBLE, i))
            continue
        op = _vertex_op(i, parents[i], functions[i], shape, given)
        args = tuple(nodes[j - 1] for j in parents[i])
        rule = rule_for(op, (True,) * len(args))
        line = _line_of(functions[i])
        nodes.append(NamedNode(i, rule, args, (), NO_ATTRS, shape, DOUBLE, line, args=args))
    leaves = tuple(node for node in nodes if node.is_leaf)
    return verify(Graph(tuple(nodes), leaves, (nodes[-1],), name="formal graph"))


def _line_of(function: Callable[..., Any]) -> Any:
    return getattr(function, "__code__", None)


def _checked_sizes(dims: Sequence[int] | Mapping[int, int]) -> list[int]:
    """The dimensions of vertices 1 … n as a list."""
    given = dict(dims) if isinstance(dims, Mapping) else dict(enumerate(dims, 1))
    if not given or sorted(given) != list(range(1, len(given) + 1)):
        raise GraphError(f"the vertices are numbered 1 … n; dimensions are given for {list(given)}")
    for i, size in given.items():
        if not isinstance(size, (int, np.integer)) or size < 1:
            raise GraphError(
                f"vertex {i} has the dimension {size!r}; it must be a positive integer"
            )
    return [int(given[i]) for i in range(1, len(given) + 1)]


def _checked_edges(edges: Iterable[Edge], n: int) -> dict[int, list[int]]:
    """Parents of each vertex, ascending."""
    parents: dict[int, list[int]] = {i: [] for i in range(1, n + 1)}
    listed = [edge if isinstance(edge, tuple) else (edge,) for edge in edges]
    for edge in listed:
        if len(edge) != 2 or not all(isinstance(k, (int, np.integer)) for k in edge):
            raise GraphError(f"edge {edge}: an edge is a pair (j, i) of vertex numbers")
    for j, i in sorted(set(listed)):
        if not (1 <= j <= n and 1 <= i <= n):
            raise GraphError(f"edge ({j}, {i}): the vertices are numbered 1 to {n}")
        if j >= i:
            raise GraphError(f"edge ({j}, {i}): an edge goes from a smaller number to a larger one")
        parents[i].append(j)
    leaves = [i for i in parents if not parents[i]]
    if leaves != list(range(1, len(leaves) + 1)):
        raise GraphError(
            f"the leaves come first: {leaves} have no parents, so they should be 1 … {len(leaves)}"
        )
    return parents


def _check_functions(
    parents: Mapping[int, list[int]], functions: Mapping[int, Any], jacobians: Mapping[Edge, Any]
) -> None:
    inner = {i for i in parents if parents[i]}
    if set(functions) != inner:
        missing, extra = sorted(inner - set(functions)), sorted(set(functions) - inner)
        raise GraphError(
            f"one function per vertex with parents: missing for {missing}, not needed for {extra}"
        )
    for j, i in jacobians:
        if j not in parents.get(i, ()):
            raise GraphError(f"a Jacobian is given for ({j}, {i}), which is not an edge")


def _vertex_op(
    i: int,
    parents: list[int],
    f: Callable[..., Any],
    shape: tuple[int, ...],
    jacobians: Mapping[Edge, Any],
) -> Op:
    """The op of one vertex; its rules use the Jacobians given and derive the others."""
    size = int(np.prod(shape))

    def forward(*xs: Any) -> Any:
        out = f(*xs)
        if np.size(out) != size:
            raise ShapeError(
                f"f^{i} returned {np.size(out)} numbers; vertex {i} has dimension {size}"
            )
        return np.reshape(out, shape)

    def given(xs: Any) -> list[Any]:
        """Per parent the Jacobian given for its edge, at these values, or None."""
        return [_matrix((j, i), jacobians, xs, x, size) for j, x in zip(parents, xs, strict=True)]

    def pull(g: Any, xs: Any) -> list[Any]:
        matrices = given(xs)
        missing = any(m is None for m in matrices)
        derived = vjp(forward, *xs)[1](g) if missing else [None] * len(xs)
        row = np.reshape(g, (1, size))
        return [
            c if m is None else np.reshape(row @ m, x.shape)
            for m, c, x in zip(matrices, derived, xs, strict=True)
        ]

    def push(ts: Any, xs: Any) -> Any:
        matrices = given(xs)
        rest = [t if m is None else np.zeros_like(t) for m, t in zip(matrices, ts, strict=True)]
        total = jvp(forward, xs, rest)[1]
        for m, t in zip(matrices, ts, strict=True):
            if m is not None:
                total = total + np.reshape(m @ np.reshape(t, (-1, 1)), shape)
        return total

    return private_op(f"f{i}", forward, pull, push, f"the local function of vertex {i}")


def _matrix(edge: Edge, jacobians: Mapping[Edge, Any], xs: Any, x: Any, rows: int) -> Any:
    """The Jacobian given for an edge at these values, rows × size of x; None if none is given."""
    matrix = jacobians.get(edge)
    if callable(matrix):
        matrix = matrix(*xs)
    if matrix is None:
        return None
    columns = int(np.size(x))
    matrix = array(matrix)
    if matrix.shape not in ((rows, columns), (rows * columns,) if 1 in (rows, columns) else (), ()):
        raise ShapeError(
            f"the Jacobian of edge {edge} must be {rows} × {columns}, not {matrix.shape}"
        )
    if matrix.size != rows * columns:
        raise ShapeError(f"the Jacobian of edge {edge} must be {rows} × {columns}")
    return np.reshape(matrix, (rows, columns))
