"""`chainrule step`: a formula evaluated and differentiated one node at a time."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.errors import ShapeError

ORDERS = ("sorted", "data-driven", "recursive")


def add_step(commands: Any) -> None:
    """The parser of this command; what it needs is imported when it runs."""
    parser = commands.add_parser("step", help="the same, one step at a time, with the reasons")
    parser.add_argument("formula", help='for example "(x + y) * z"')
    parser.add_argument("values", nargs="+", metavar="name=value", help="x=-2 or x=[1,2,3]")
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default="sorted",
        help="data-driven: whoever is ready; recursive: the textbook mistake, marked where wrong",
    )
    parser.add_argument("--json", action="store_true", help="the steps as one JSON document")


def run_step(options: argparse.Namespace) -> int:
    from chainrule.cli.expression import function_of, named_values
    from chainrule.record.trace import trace
    from chainrule.view.steps import step_lines
    from chainrule.view.styled import say
    from chainrule.view.values import shown

    formula = options.formula.strip()
    names, values = named_values(options.values)
    with np.errstate(all="ignore"):  # an infinity or a NaN is there to be seen
        graph = trace(function_of(formula, names), *values)
        out = graph.outputs[0]
        if len(graph.outputs) != 1 or out.shape != ():
            raise ShapeError(
                f"{formula} has the shape {out.shape}; a gradient needs one number, so take "
                "its sum(…)"
            )
        steps = graph.steps(*values, order=options.order)
        if options.json:
            print(json.dumps(document(graph, formula, steps), allow_nan=False))
            return 0
        value = shown(steps.run().value(out))
        say([[], [(f"  f = {formula} = {value}", "")], []])
        say(step_lines(steps))
        say([[]])
    return 0


def document(graph: Graph, formula: str, steps: Any) -> dict[str, Any]:
    """The nodes once, then every step, which names them by their place in that list."""
    from chainrule.view.labels import labels_of

    labels = labels_of(graph)
    return {
        "formula": formula,
        "order": steps.order,
        "nodes": [
            {
                "label": labels[node],
                "op": None if node.is_leaf else node.op.name,
                "parents": [graph.index[p] for p in graph.parents(node)],
                "shape": list(node.shape),
                "dtype": node.dtype.name,
            }
            for node in graph.nodes
        ],
        "outputs": [graph.index[o] for o in graph.outputs],
        "steps": [step.to_dict() for step in steps],
    }
