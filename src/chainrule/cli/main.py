"""Reading the command line and calling what it asks for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from chainrule.cli.step import add_step, run_step
from chainrule.core.node import Line
from chainrule.errors import ChainruleError

FAILURES = (
    *(ChainruleError, ArithmeticError, TypeError, ValueError, LookupError),
    *(MemoryError, RecursionError),
)


def main(argv: Sequence[str] | None = None) -> int:
    """The `chainrule` command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="chainrule", description="Automatic differentiation that shows its work."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    grad = commands.add_parser("grad", help="the gradient of a formula, node by node")
    grad.add_argument("formula", help='for example "(x + y) * z"')
    grad.add_argument("values", nargs="+", metavar="name=value", help="x=-2 or x=[1,2,3]")
    add_step(commands)
    commands.add_parser("demo", help="a gradient, its graph, and a gradient check")
    commands.add_parser("ops", help="every operation, one a line")
    options = parser.parse_args(_with_formula_first(argv))
    try:
        return COMMANDS[options.command](options)
    except FAILURES as error:
        print(f"chainrule: {_in_one_line(error)}", file=sys.stderr)
        return 2


def _in_one_line(error: BaseException) -> str:
    """What went wrong, and at which column of the formula."""
    said = (str(error) or type(error).__name__).splitlines()[0]
    if isinstance(error, OverflowError):
        said = "a number too large for floating point"
    column, at = None, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == "<formula>":
            column = Line(at.tb_frame.f_code, at.tb_lasti).positions[2]
        at = at.tb_next
    return said if column is None or "(column " in said else f"{said} (column {column + 1})"


def _with_formula_first(argv: Sequence[str] | None) -> Sequence[str]:
    """A formula may begin with a minus, which argparse would take for an option."""
    words = list(sys.argv[1:] if argv is None else argv)
    if (
        words[:1] == ["grad"]
        and len(words) > 1
        and words[1].startswith("-")
        and words[1] not in ("-h", "--help")
    ):
        words.insert(1, "--")
    if words[:1] == ["step"] and len(words) > 1 and _looks_like_formula(words[1]):
        words[1] = f" {words[1]}"  # not "--": options may follow
    return words


def _looks_like_formula(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and word != "-h"


def _grad(options: argparse.Namespace) -> int:
    from chainrule.cli.expression import function_of, named_values
    from chainrule.cli.report import gradient_report

    names, values = named_values(options.values)
    f = function_of(options.formula, names)
    _say(gradient_report(f, options.formula, values))
    return 0


def _demo(options: argparse.Namespace) -> int:
    from chainrule.cli.report import demo_report

    for part in demo_report():
        _say(part)
    return 0


def _ops(options: argparse.Namespace) -> int:
    from chainrule.core.op import OPS

    for name in sorted(OPS):
        _say(f"{name:24} {(OPS[name].__doc__ or name).splitlines()[0]}")
    return 0


def _say(text: str) -> None:
    print(text)


COMMANDS = {"grad": _grad, "step": run_step, "demo": _demo, "ops": _ops}
