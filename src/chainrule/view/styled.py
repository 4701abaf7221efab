"""Lines of styled pieces, for a terminal (rich, where it is installed), a notebook or plain text.

A style says what a piece *is*: value, adjoint, wrong, dim or heading; "" for the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from html import escape
from typing import Any

Piece = tuple[str, str]
Styled = list[Piece]

RICH = {"value": "cyan", "adjoint": "yellow", "wrong": "bold red", "dim": "dim", "heading": "bold"}
CSS = {
    "value": "color:#0b6e99",
    "adjoint": "color:#b35900",
    "wrong": "color:#c00000;font-weight:bold",
    "dim": "opacity:0.6",
    "heading": "font-weight:bold",
}


def plain_of(line: Styled) -> str:
    return "".join(text for text, _ in line).rstrip()


def html_of(lines: Iterable[Styled]) -> str:
    """The lines as one block of preformatted HTML."""
    body = "\n".join("".join(_span(*piece) for piece in line) for line in lines)
    return f'<pre style="line-height:1.35">{body}</pre>'


def _span(text: str, style: str) -> str:
    text = escape(text)
    return f'<span style="{CSS[style]}">{text}</span>' if style else text


def rich_of(lines: Iterable[Styled]) -> Any:
    """The lines as a text that rich prints."""
    from rich.text import Text

    return Text("\n").join(
        Text.assemble(*((text, RICH.get(style, "")) for text, style in line)) for line in lines
    )


# A report says by `lines` how it is shown, and is shown in one of these ways.


def report_text(report: Any) -> str:
    """A report as plain text."""
    return "\n".join(plain_of(line) for line in report.lines())


def report_html(report: Any) -> str:
    """A report for a notebook."""
    return html_of(report.lines())


def report_rich(report: Any) -> Any:
    """A report for `rich.print`."""
    return rich_of(report.lines())


def say(lines: Iterable[Styled], colour: bool = True) -> None:
    """Print to standard output: in colour with rich in a terminal, else as plain text."""
    if colour and sys.stdout.isatty():
        try:
            from rich.console import Console
        except ImportError:
            pass
        else:
            Console(highlight=False, soft_wrap=True).print(rich_of(lines))
            return
    for line in lines:
        sys.stdout.write(f"{plain_of(line)}\n")
