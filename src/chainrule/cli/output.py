"""What a command says: styled lines for a person, or one JSON document for a program."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from chainrule.view.styled import Styled, say

ARRAY = 10_000  # numbers of an array that JSON spells out; above, its norm stands for it


def add_output(parser: argparse.ArgumentParser) -> None:
    """The options that every command has."""
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="one JSON document (keys: see the docs)")
    group.add_argument("--no-color", action="store_true", help="no colour, in a terminal too")


def show(options: argparse.Namespace, lines: Iterable[Styled]) -> None:
    """Print lines: in colour where the output is a terminal and nobody said no."""
    no = options.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    say(lines, colour=not no)


def show_text(options: argparse.Namespace, text: str) -> None:
    show(options, ([(line, "")] for line in text.split("\n")))


def show_json(document: dict[str, Any]) -> None:
    """Print one JSON document; numbers that are not finite are the words "nan", "inf", "-inf"."""
    sys.stdout.write(json.dumps(document, allow_nan=False, ensure_ascii=False) + "\n")


def columns(rows: Sequence[Sequence[str]], styles: Sequence[str] = ()) -> Iterable[Styled]:
    """Rows of words under one another."""
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line: Styled = [("  ", "")]
        for i, (word, w) in enumerate(zip(row, width, strict=True)):
            line.append((f"{word:<{w}}   ", styles[i] if i < len(styles) else ""))
        yield line


def gradients_json(names: Sequence[str], gradients: Sequence[Any]) -> dict[str, Any]:
    """A gradient per argument, by name; one of a container as a list or an object."""
    return {name: value_json(g) for name, g in zip(names, gradients, strict=True)}


def value_json(value: Any) -> Any:
    """A number, an array, or a container of them, as JSON."""
    from chainrule.explain.numbers import as_json

    if isinstance(value, dict):
        return {str(k): value_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [value_json(v) for v in value]
    return as_json(value, ARRAY)
