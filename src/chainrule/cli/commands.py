"""Every command: its name, what it does in one line, and the module it lives in.

A module has `EXAMPLE`, what its help shows and the tests run; `add(parser)`, its arguments; and
`run(options)`, which returns the exit status.  It is imported when the command is called.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from chainrule.cli.mistake import printable
from chainrule.cli.output import add_output

WIDEST = 120  # characters of an error of usage


class Command(NamedTuple):
    """One command of the table."""

    name: str
    does: str

    @property
    def module(self) -> Any:
        return import_module(f"chainrule.cli.{self.name}")


COMMANDS = {
    name: Command(name, does)
    for name, does in {
        "grad": "the gradient of a formula or function, node by node, checked",
        "table": "every value and adjoint of one forward and backward pass",
        "step": "the same, one step at a time, with the reasons",
        "explore": "a page in which the graph computes and differentiates",
        "explain": "why a gradient is what it is: paths, lines, kinks",
        "check": "compare gradients with central differences, rule by rule",
        "sort": "put dependencies first: a topological sort, or the cycle",
        "compile": "what a gradient becomes as machine code",
        "bench": "time it interpreted and compiled, on this machine",
        "train": "train a classifier or a regression on data, with checkpoints",
        "ops": "every operation, one a line",
        "info": "versions, processor, threads, cache, and what is missing",
        "doctor": "try what chainrule rests on, and say how to mend what is broken",
        "demo": "a gradient, its graph, and a gradient check",
        "completion": "a completion script for bash, zsh or fish",
    }.items()
}


EXAMPLES = """  chainrule grad "(x + y) * z" x=-2 y=5 z=-4
  chainrule grad model.py:loss W=@weights.npy x=1.5
  chainrule explore "exp(x) * sin(y)" x=1 y=2 --output page.html
  chainrule train digits"""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        short = printable(message if len(message) <= WIDEST else f"{message[:WIDEST]}…")
        self.exit(2, f"{self.prog}: {short} (see {self.prog} --help)\n")


def parser_of(command: Command) -> Parser:
    """The parser of one command, with an example that runs."""
    module = command.module
    parser = Parser(
        prog=f"chainrule {command.name}",
        description=f"{command.does[0].upper()}{command.does[1:]}.",
        epilog=f"example:\n  {module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add(parser)
    add_output(parser)
    return parser


def top_parser() -> Parser:
    """The parser of `chainrule` alone, which lists the commands."""
    listed = "\n".join(f"  {c.name:<12}{c.does}" for c in COMMANDS.values())
    return Parser(
        prog="chainrule",
        usage="chainrule [-h] [--version] command …",
        description="Automatic differentiation that shows its work.",
        epilog=f"commands:\n{listed}\n\nexamples:\n{EXAMPLES}\n\n"
        "chainrule command --help says more, with an example.\n"
        "Exit status: 0 fine, 1 the answer is no (a wrong gradient, a cycle), 2 bad input.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
