"""The nodes of a run as the commands show them, and the run itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chainrule.cli.output import value_json
from chainrule.cli.subject import Subject
from chainrule.core.graph import Graph
from chainrule.diff.run import Run, recorded_run
from chainrule.errors import DerivativeError, ShapeError
from chainrule.view.labels import labels_of
from chainrule.view.styled import Styled
from chainrule.view.values import shown


def scalar_run(subject: Subject) -> Run:
    """The subject run once, its result one number that has a derivative."""
    run = recorded_run(subject.function, *subject.values)
    out = run.graph.outputs[0]
    if len(run.graph.outputs) != 1 or out.shape != ():
        count = len(run.graph.outputs)
        what = f"the shape {out.shape}" if count == 1 else f"{count} results"
        fix = "a gradient needs one number: take its sum(…)"
        raise ShapeError(f"{subject.shown} has {what}; {fix}")
    if out.dtype.kind != "f":
        raise DerivativeError(f"{subject.shown} is of type {out.dtype.name} and has no derivative")
    return run


def heading(subject: Subject, run: Run) -> Iterator[Styled]:
    """ "f = (x + y) * z = -12", between empty lines."""
    value = shown(run.value(run.graph.outputs[0]))
    name = f"f = {subject.shown}" if subject.is_formula else subject.shown
    yield []
    yield [(f"  {name} = ", ""), (value, "value")]
    yield []


def graph_json(graph: Graph) -> list[dict[str, Any]]:
    """What is known of every node without a value; parents by their place in the list."""
    labels = labels_of(graph)
    return [
        {
            "label": labels[node],
            "op": None if node.is_leaf else node.op.name,
            "parents": [graph.index[p] for p in graph.parents(node)],
            "shape": list(node.shape),
            "dtype": node.dtype.name,
            "line": node.line.shown() if node.line and not node.is_leaf else None,
        }
        for node in graph.nodes
    ]


def nodes_json(run: Run) -> list[dict[str, Any]]:
    """Every node with its value, its adjoint, and what each child adds to it."""
    graph = run.graph
    return [
        {
            **known,
            "value": value_json(run.value(node)),
            "adjoint": value_json(run.adjoint(node)),
            "contributions": [
                {
                    "child": graph.index[child],
                    "contribution": value_json(run.contribution(node, child)),
                }
                for child in graph.children(node)
            ],
        }
        for node, known in zip(graph.nodes, graph_json(graph), strict=True)
    ]
