"""The one way to print a graph: stable, diff-able, the same in errors, golden files and the view.

graph f(x: float64[], y: float64[3])
  %0 = leaf x                      float64[]
  %2 = multiply %0 %1              float64[3]    model.py:12
  %3 = sum %2 axis=0               float64[]     model.py:13
  return %3

The iteration of a loop stands below its node; its leaves are the arguments of the node, in order:

  %2 = loop %0 %1 <float64[9]> body=<1 nodes × 9> (several)        model.py:20
       × 9: w: float64[] fixed, h: float64[] carried, x: float64[] row
         %3 = multiply %0 %1           float64[]        model.py:18
         carries %3
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.loop import Body
from chainrule.core.node import Node
from chainrule.core.op import OPS

WIDTH = 40
INSIDE = " " * 7  # before what an iteration does
# Every option there is, so that the text does not depend on what the user set.
PRINTED: dict[str, Any] = {
    "precision": 6, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False,
    "nanstr": "nan", "infstr": "inf", "sign": "-", "formatter": None, "floatmode": "maxprec",
    "legacy": False,
}  # fmt: skip


def graph_text(graph: Graph, lines: bool = True) -> str:
    """The text form; `lines=False` leaves out the user's source lines."""
    arguments = ", ".join(f"{leaf_name(graph, leaf)}: {leaf.spec}" for leaf in graph.leaves)
    rows = [f"graph {graph.name}({arguments})", *_rows(graph, range(len(graph)), lines)]
    rows.append(f"  return {_numbers(graph, graph.outputs)}")
    return "\n".join(rows)


def _rows(graph: Graph, which: Iterable[int], lines: bool) -> Iterator[str]:
    """A row for each of these nodes; below a loop what an iteration of it does."""
    for i in which:
        node = graph.nodes[i]
        head = f"  %{i} = {node_text(graph, node)}"
        where = str(node.line) if lines and node.line and not node.is_leaf else ""
        yield f"{head:<{WIDTH}} {spec_text(node):<16} {where}".rstrip()
        for body in node.attrs.values():
            if isinstance(body, Body):
                yield from (INSIDE + row for row in _body_rows(body, lines))


def _body_rows(body: Body, lines: bool) -> Iterator[str]:
    graph = body.graph
    kinds = zip(("fixed", "carried", "row"), body.parts(graph.leaves), strict=True)
    leaves = [f"{leaf_name(graph, n)}: {n.spec} {kind}" for kind, part in kinds for n in part]
    way = ", the last row first" if body.backwards else ""
    yield f"× {body.count:,}{way}: {', '.join(leaves)}"
    yield from _rows(graph, range(len(graph.leaves), len(graph)), lines)
    carried, stacked = graph.outputs[: body.carried], graph.outputs[body.carried :]
    said = (("carries", carried), ("stacks", stacked))
    yield "  " + ", ".join(f"{verb} {_numbers(graph, nodes)}" for verb, nodes in said if nodes)


def _numbers(graph: Graph, nodes: Iterable[Node]) -> str:
    return " ".join(f"%{graph.index[node]}" for node in nodes)


def node_text(graph: Graph, node: Node) -> str:
    """One node without its number: the op, its arguments, the attrs not at their default."""
    if node.is_leaf:
        return f"leaf {leaf_name(graph, node)}"
    arguments = [
        f"%{graph.index[a]}" if isinstance(a, Node) else value_text(a) for a in node.args or ()
    ]
    return " ".join([node.op.name, *arguments, *attr_texts(node)])


def attr_texts(node: Node) -> list[str]:
    """The attrs of a node that are not at their default, as `axis=0`."""
    defaults = OPS[node.op.name].attrs if node.op.name in OPS else node.op.attrs
    return [
        f"{k}={value_text(v)}"
        for k, v in node.attrs.items()
        if not (k[0] == "_" or _same(defaults.get(k), v))
    ]


def spec_text(node: Node) -> str:
    return "(several)" if node.dtype == object else str(node.spec)


def leaf_name(graph: Graph, leaf: Node) -> str:
    return str(leaf.name) if leaf.name is not None else f"leaf{graph.index[leaf]}"


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b))


def value_text(value: Any) -> str:
    """A constant or attr in a few characters."""
    if isinstance(value, np.ndarray):
        if value.size <= 4:
            with np.printoptions(**PRINTED):
                return np.array2string(value, separator=", ").replace("\n", "")
        return f"<{value.dtype.name}[{', '.join(map(str, value.shape))}]>"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.dtype) or (
        isinstance(value, type) and issubclass(value, (np.generic, float, int, complex))
    ):
        return np.dtype(value).name
    if isinstance(value, slice):
        parts = ["" if p is None else str(p) for p in (value.start, value.stop)]
        return ":".join(parts) + ("" if value.step is None else f":{value.step}")
    if isinstance(value, tuple):
        return "(" + ", ".join(value_text(v) for v in value) + ")"
    return "…" if value is Ellipsis else repr(value)
