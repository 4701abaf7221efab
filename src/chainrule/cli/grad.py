"""`chainrule grad`: the gradient of a formula or function, node by node, and checked."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from chainrule.cli.output import gradients_json, show, show_json, value_json

if TYPE_CHECKING:
    from chainrule.cli.subject import Subject
    from chainrule.diff.run import Run
    from chainrule.view.styled import Styled

EXAMPLE = 'chainrule grad "(x + y) * z" x=-2 y=5 z=-4'


def add(parser: argparse.ArgumentParser) -> None:
    from chainrule.cli.subject import add_subject

    add_subject(parser)
    parser.add_argument("--no-check", action="store_true", help="no central differences")


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.nodes import nodes_json, scalar_run
    from chainrule.cli.subject import subject_of
    from chainrule.errors import GradientCheckError
    from chainrule.explain.check import Check, check_grads

    with subject_of(options) as subject:
        run = scalar_run(subject).backward()
        check: Check | None = None
        wrong = unchecked = ""
        if not options.no_check:
            try:
                check = check_grads(subject.function, *subject.values, order=1)
            except GradientCheckError as error:
                wrong = str(error) if error.finite else ""
                unchecked = "" if error.finite else f"nothing was checked: {error}"
        if options.json:
            show_json(
                {
                    "function": subject.shown,
                    "value": value_json(run.value(run.graph.outputs[0])),
                    "gradient": gradients_json(subject.names, _gradients(subject)),
                    "nodes": nodes_json(run),
                    "check": None if check is None else _check_json(check),
                    "wrong": wrong or None,
                }
            )
        else:
            show(options, _lines(subject, run, check, wrong, unchecked))
        return 1 if wrong or unchecked else 0


def _gradients(subject: Subject) -> Any:
    from chainrule.diff.gradient import grad

    if not subject.names:
        return ()
    return grad(subject.function, tuple(range(len(subject.names))))(*subject.values)


def _check_json(check: Any) -> dict[str, Any]:
    return {
        "largest": value_json(check.largest),
        "kinks": check.kinks,
        "jumps": check.jumps,
        "unchecked": check.unchecked,
    }


def _lines(subject: Subject, run: Run, check: Any, wrong: str, unchecked: str) -> Iterator[Styled]:
    from chainrule.cli.nodes import heading
    from chainrule.view.table import table_lines

    if unchecked:  # before the table, where a reader begins
        yield []
        for line in unchecked.splitlines():
            yield [(f"  {line}", "wrong")]
    yield from heading(subject, run)
    yield from table_lines(run)
    yield []
    if check is not None:
        said = f"largest difference {check.largest:.0e}{check.notes}"
        yield [(f"  checked against central differences: {said}", "")]
        yield []
    for line in wrong.splitlines():
        yield [(f"  {line}", "wrong")]
