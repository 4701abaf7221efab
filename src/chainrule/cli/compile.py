"""`chainrule compile`: what a gradient becomes as machine code."""

from __future__ import annotations

import argparse

from chainrule.cli.output import show_json, show_text

EXAMPLE = 'chainrule compile "sum(tanh(x) ** 2)" x=[0.1,0.2,0.3] --ir loops'
STAGES = ("recorded", "graph", "values", "loops", "llvm", "assembly")


def add(parser: argparse.ArgumentParser) -> None:
    from chainrule.cli.subject import add_subject

    add_subject(parser)
    parser.add_argument("--ir", choices=STAGES, help="print it at this stage, not the report")
    parser.add_argument(
        "--value", action="store_true", help="the function alone, not its value and gradient"
    )


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.mistake import InputError
    from chainrule.cli.subject import subject_of
    from chainrule.diff.gradient import value_and_grad
    from chainrule.run.compiled import compile

    with subject_of(options) as subject:
        if not subject.names:
            raise InputError("no argument to differentiate by: give it one, as in x=1.5")
        function = subject.function
        if not options.value:
            function = value_and_grad(function, tuple(range(len(subject.names))))
        fast = compile(function)
        fast(*subject.values)
        text = fast.report() if options.ir is None else fast.ir(options.ir)
    if options.json:
        found = {"stage": options.ir or "report", "text": text}
        show_json({"function": subject.shown, **found})
    else:
        show_text(options, text)
    return 0
