"""A run as a table: each node's value, adjoint, and the contributions the adjoint is the sum of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import Node
from chainrule.core.op import Gate, Multilinear, Op, Partials
from chainrule.core.rule import parameters_of
from chainrule.diff.run import Run
from chainrule.view.labels import labels_of
from chainrule.view.styled import Styled, plain_of


@dataclass(frozen=True)
class Row:
    """One node as it is shown."""

    order: str
    node: str
    op: str
    parents: str
    value: str
    adjoint: str
    terms: str
    gate: str


STYLES = {"order": "dim", "value": "value", "adjoint": "adjoint", "gate": "dim"}
HEADINGS = Row(
    "order",
    "node",
    "op",
    "parents",
    "value",
    "adjoint",
    "sum of (adjoint of child × local derivative)",
    "gate",
)


def rows_of(run: Run) -> list[Row]:
    """The rows of a run on which `backward` has been called, in topological order."""
    graph, labels = run.graph, labels_of(run.graph)
    return [
        Row(
            order=str(i),
            node=labels[node],
            op="" if node.is_leaf else node.op.name,
            parents=" ".join(labels[p] for p in graph.parents(node)),
            value=shown(run.value(node)),
            adjoint=shown(run.adjoint(node)),
            terms=_terms(run, graph, node, labels),
            gate="" if node.is_leaf else gate_of(node.op),
        )
        for i, node in enumerate(graph.nodes, 1)
    ]


def _terms(run: Run, graph: Graph, node: Node, labels: dict[Node, str]) -> str:
    """ "q: -4 × 1" per child; for arrays the shapes speak, so only the contribution is shown."""
    terms = ["seed"] if node in graph.outputs else []
    for child in graph.children(node):
        if child.dtype == object or node.dtype == object:
            terms.append(labels[child])
        elif node.size == 1 and child.size == 1:
            local = run.local_jacobian(node, child)[0, 0]
            terms.append(f"{labels[child]}: {shown(run.adjoint(child))} × {shown(local)}")
        else:
            terms.append(f"{labels[child]}: {shown(run.contribution(node, child))}")
    return "  +  ".join(terms)


def shown(value: Any) -> str:
    """A number to six digits; a small array in full; a large one by shape and size."""
    if isinstance(value, tuple):
        return f"{len(value)} results"
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array[()]:.6g}" if array.dtype.kind in "fc" else str(array[()])
    if array.size <= 4:
        with np.printoptions(precision=4, suppress=True):
            return np.array2string(array, separator=" ").replace("\n", "")
    sizes = np.abs(array.astype(complex if array.dtype.kind == "c" else float))
    largest = sizes.max()
    scaled = np.sum((sizes / largest) ** 2) if 0 < largest < np.inf else np.nan  # no overflow
    norm = largest * np.sqrt(scaled) if scaled == scaled else largest
    return f"{'×'.join(map(str, array.shape))}, norm {norm:.4g}"


def gate_of(op: Op) -> str:
    """What the op does to a gradient passing back: distributes it, swaps factors, or routes it."""
    derivative = op.derivative
    if isinstance(derivative, Multilinear):
        return "swaps"
    if isinstance(derivative, Partials):
        factors = [f for f in derivative.factors if f is not None]
        if any(isinstance(f, Gate) for f in factors):
            return "routes"
        if all(isinstance(f, int) for f in factors):
            return "distributes"
        if len(factors) == 2 and [parameters_of(f) for f in factors] == [["y"], ["x"]]:
            return "swaps"
    return ""


def table_text(run: Run) -> str:
    """The table as plain text, aligned, numbers to the right."""
    return "\n".join(plain_of(line) for line in table_lines(run))


def table_lines(run: Run) -> Iterator[Styled]:
    """The table in styled pieces, a heading first."""
    rows = [HEADINGS, *rows_of(run)]
    names = [n for n in Row.__dataclass_fields__ if n != "gate" or any(r.gate for r in rows[1:])]
    width = {n: max(len(getattr(r, n)) for r in rows) for n in names}
    for row in rows:
        line: Styled = [("  ", "")]
        for n in names:
            text, style = getattr(row, n), STYLES.get(n, "")
            text = text.rjust(width[n]) if n in ("value", "adjoint") else text.ljust(width[n])
            line += [(text, "heading" if row is HEADINGS else style), ("   ", "")]
        yield line
