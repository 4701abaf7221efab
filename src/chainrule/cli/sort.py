"""`chainrule sort`: dependencies first, or the cycle that forbids it."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from chainrule.cli.mistake import InputError, lines_of, printable
from chainrule.cli.output import columns, show, show_json

if TYPE_CHECKING:
    from chainrule.view.styled import Styled

EXAMPLE = 'chainrule sort "app: db web; web: http; db: log; http: log" --method kahn'
WHAT = """"a: b c; b: c", where a depends on b and c; or a file: JSON {"a": ["b", "c"]}, or
lines as in a Makefile; or - for standard input"""
ASSIGNMENT = re.compile(r"\s*[\w.-]+\s*(?:::?:?|\?|\+|!)?=")
SHOWN = 12  # nodes of a stack or an order shown per step


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="dependencies", help=WHAT)
    parser.add_argument("--method", choices=("dfs", "kahn"), default="dfs", help="dfs if not given")
    parser.add_argument("--steps", action="store_true", help="every push, visit and placement")


def run(options: argparse.Namespace) -> int:
    from chainrule.core.order import topological_sort
    from chainrule.errors import CycleError

    mapping = dependencies_of(options.what)
    steps: list[Any] = []
    try:
        if options.steps:
            for step in topological_sort(mapping, options.method, steps=True):
                steps.append((step.kind, step.node, step.stack, step.order))
        order = topological_sort(mapping, options.method)
    except CycleError as error:
        return _cycle(options, error, steps)
    if options.json:
        show_json(
            {"order": order, "method": options.method, "cycle": None, **_steps_json(options, steps)}
        )
        return 0
    show(options, _lines(options, steps, order))
    return 0


def _cycle(options: argparse.Namespace, error: Any, steps: list[Any]) -> int:
    """The answer is no: with status 1, the steps up to it if asked for."""
    if options.json:
        found = {"order": None, "method": options.method, "cycle": error.cycle}
        show_json({**found, **_steps_json(options, steps)})
        return 1
    if steps:
        show(options, _step_lines(options, steps))
    sys.stderr.write("".join(f"{line}\n" for line in lines_of(error)))
    return 1


def _steps_json(options: argparse.Namespace, steps: list[Any]) -> dict[str, Any]:
    if not options.steps:
        return {}
    keys = ("kind", "node", "stack", "order")
    return {"steps": [dict(zip(keys, step, strict=True)) for step in steps]}


def _lines(options: argparse.Namespace, steps: list[Any], order: list[str]) -> Iterator[Styled]:
    if options.steps:
        yield from _step_lines(options, steps)
        yield []
    for node in order:
        yield [(printable(node), "")]


def _step_lines(options: argparse.Namespace, steps: list[Any]) -> Iterator[Styled]:
    held = "stack" if options.method == "dfs" else "queue"
    rows = [("step", "node", held, "order")]
    rows += [
        (kind, printable(node), _short(stack), _short(order)) for kind, node, stack, order in steps
    ]
    yield from columns(rows, ("heading", "", "dim", "value"))


def _short(nodes: tuple[str, ...]) -> str:
    more = len(nodes) - SHOWN
    return printable(" ".join(nodes[:SHOWN]) + (f" … {more} more" if more > 0 else ""))


# -- reading ---------------------------------------------------------------------------------------


def dependencies_of(what: str) -> dict[str, list[str]]:
    """The mapping that was typed, or that a file holds."""
    from chainrule.cli.files import read_text

    if what == "-" or (":" not in what and "{" not in what) or _is_file(what):
        text = read_text(what)
        if text.lstrip().startswith("{"):
            return _from_json(text, what)
        return _from_rules(text)
    if what.lstrip().startswith("{"):
        return _from_json(what, "the text")
    return _from_rules(what.replace(";", "\n"))


def _is_file(what: str) -> bool:
    try:
        return os.path.isfile(what)
    except ValueError:  # a NUL
        return False


def _from_json(text: str, name: str) -> dict[str, list[str]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not readable as JSON: {error}") from None
    if isinstance(found, dict):
        for node, needs in found.items():
            if not isinstance(needs, list) or not all(isinstance(n, (str, int)) for n in needs):
                raise InputError(f"{name}: what {node} depends on must be a list of names")
        return {node: [str(n) for n in needs] for node, needs in found.items()}
    raise InputError(f"{name}: not a JSON object")


def _from_rules(text: str) -> dict[str, list[str]]:
    """Lines "a b: c d" as in a Makefile; recipes, assignments, comments and .PHONY are left out."""
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text.replace("\\\n", " ").split("\n"), 1):
        rule = line.partition("#")[0]
        if line.startswith("\t") or not rule.strip() or ASSIGNMENT.match(rule):
            continue
        targets, colon, rest = rule.partition(":")
        if not colon or not targets.strip():
            raise InputError(
                f"line {number}: write a node, a colon and what it depends on", rule, 0, len(rule)
            )
        needs = rest.lstrip(":").partition(";")[0].replace("|", " ").split()
        for target in targets.split():
            if not target.startswith(".") or "/" in target:
                known = found.setdefault(target, [])
                known += [n for n in needs if n not in known]
    if not found:
        raise InputError("no dependencies in it; write a: b c")
    return found
