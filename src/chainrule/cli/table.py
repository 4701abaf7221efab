"""`chainrule table`: one forward and one backward pass, a row per node."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from chainrule.cli.output import show, show_json, value_json

if TYPE_CHECKING:
    from chainrule.cli.subject import Subject
    from chainrule.diff.run import Run
    from chainrule.view.styled import Styled

EXAMPLE = 'chainrule table "x * sin(x)" x=[1,2] --seed [1,0]'


def add(parser: argparse.ArgumentParser) -> None:
    from chainrule.cli.subject import add_subject

    add_subject(parser)
    parser.add_argument(
        "--seed", metavar="value", help="the adjoint of the result; ones where it is not given"
    )


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.nodes import nodes_json
    from chainrule.cli.subject import subject_of
    from chainrule.diff.run import recorded_run

    with subject_of(options) as subject:
        run = recorded_run(subject.function, *subject.values)
        run.backward(_seed(run, options.seed))
        if options.json:
            value = value_json(run.value(run.graph.outputs[0]))
            document = {"function": subject.shown, "value": value, "nodes": nodes_json(run)}
            show_json(document)
        else:
            show(options, _lines(subject, run))
    return 0


def _seed(run: Run, typed: str | None) -> Any:
    import numpy as np

    from chainrule.cli.mistake import InputError
    from chainrule.cli.subject import value_of

    outputs = run.graph.outputs
    if len(outputs) != 1 or outputs[0].dtype.kind not in "fc":
        what = f"{len(outputs)} results" if len(outputs) > 1 else outputs[0].dtype.name
        raise InputError(f"the function gives {what}; a backward pass needs one array of numbers")
    if typed is None:
        return np.ones(outputs[0].shape, outputs[0].dtype)[()]
    return np.broadcast_to(value_of(typed), outputs[0].shape)[()]


def _lines(subject: Subject, run: Run) -> Iterator[Styled]:
    from chainrule.cli.nodes import heading
    from chainrule.view.table import table_lines

    yield from heading(subject, run)
    yield from table_lines(run)
    yield []
