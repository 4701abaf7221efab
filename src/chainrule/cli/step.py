"""`chainrule step`: a formula or function evaluated and differentiated one node at a time."""

from __future__ import annotations

import argparse

from chainrule.cli.output import show, show_json

ORDERS = ("sorted", "data-driven", "recursive")
EXAMPLE = 'chainrule step "3 * (w := x * x) * sin(w)" x=1.3 --order recursive'


def add(parser: argparse.ArgumentParser) -> None:
    from chainrule.cli.subject import add_subject

    add_subject(parser)
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default="sorted",
        help="data-driven: whoever is ready; recursive: the textbook mistake, marked where wrong",
    )


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.nodes import graph_json, heading, scalar_run
    from chainrule.cli.subject import subject_of
    from chainrule.view.steps import step_lines

    with subject_of(options) as subject:
        run = scalar_run(subject)
        graph = run.graph
        steps = graph.steps(*subject.values, order=options.order)
        if options.json:
            show_json(
                {
                    "function": subject.shown,
                    "order": steps.order,
                    "nodes": graph_json(graph),
                    "outputs": [graph.index[o] for o in graph.outputs],
                    "steps": [step.to_dict() for step in steps],
                }
            )
            return 0
        show(options, [*heading(subject, run), *step_lines(steps), []])
    return 0
