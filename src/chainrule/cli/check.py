"""`chainrule check`: every gradient against central differences, rule by rule."""

from __future__ import annotations

import argparse

from chainrule.cli.output import show, show_json, value_json

EXAMPLE = 'chainrule check "sum(tanh(W @ x))" W=[[1,2],[3,4]] x=[0.1,0.2] --order 2'


def add(parser: argparse.ArgumentParser) -> None:
    from chainrule.cli.subject import add_subject

    add_subject(parser)
    parser.add_argument("--order", type=int, default=2, help="derivatives up to this one (2)")
    parser.add_argument(
        "--modes",
        default="reverse,forward",
        metavar="mode[,mode]",
        help="reverse, forward, or both, which is the default",
    )
    parser.add_argument("--rtol", type=float, default=1e-6, help="relative tolerance (1e-6)")


def run(options: argparse.Namespace) -> int:
    from chainrule.cli.subject import subject_of
    from chainrule.errors import GradientCheckError
    from chainrule.explain.check import Check, check_grads

    modes = tuple(options.modes.replace(" ", "").split(","))
    check, wrong = Check(options.order, modes), ""
    with subject_of(options) as subject:
        try:
            check = check_grads(
                subject.function,
                *subject.values,
                order=options.order,
                modes=modes,
                rtol=options.rtol,
            )
        except GradientCheckError as error:
            wrong = str(error)
    if options.json:
        document = {"function": subject.shown, "right": not wrong, "wrong": wrong or None}
        found = {"largest": value_json(check.largest), "modes": list(check.modes)}
        show_json({**document, **(vars(check) | found)})
    elif wrong:
        first, *rest = wrong.split("\n")
        show(options, [[(first, "wrong")], *([(line, "")] for line in rest)])
    else:
        show(options, [[(str(check), "")]])
    return 1 if wrong else 0
