"""The source of the functions that made a graph, as it is shown beside it."""

from __future__ import annotations

import linecache
import os
from types import CodeType
from typing import Any

from chainrule.core.graph import Graph
from chainrule.view.model import shortened

LONGEST = 120  # lines of one function
MOST = 400  # lines in all


def listings(graph: Graph) -> list[dict[str, Any]]:
    """Each function with a line that made a node: {"file", "first" (line), "text" (lines)}."""
    made = (n.code for n in graph.nodes if not n.is_leaf)
    codes = dict.fromkeys(code for code in made if isinstance(code, CodeType))
    extents = {code: _extent(code) for code in codes}
    found: list[dict[str, Any]] = []
    room = MOST
    for code, (first, last) in extents.items():
        if room < last - first or last - first >= LONGEST or _inside(code, extents):
            continue
        text = [linecache.getline(code.co_filename, k).rstrip() for k in range(first, last + 1)]
        if any(text):
            room -= len(text)
            file = shortened(os.path.basename(code.co_filename.replace("\\", "/")))
            text = [shortened(line) for line in _dedented(text)]
            found.append({"file": file, "first": first, "text": text})
    return found


def _extent(code: CodeType) -> tuple[int, int]:
    """The first and the last line of a function."""
    numbers = [line for _, _, line in code.co_lines() if line]
    return code.co_firstlineno, max(numbers, default=code.co_firstlineno)


def _inside(code: CodeType, extents: dict[CodeType, tuple[int, int]]) -> bool:
    """Whether the lines of a function stand in those of another: a lambda, an inner function."""
    first, last = extents[code]
    return any(
        other is not code
        and other.co_filename == code.co_filename
        and a <= first
        and last <= b
        and (b - a > last - first)
        for other, (a, b) in extents.items()
    )


def _dedented(text: list[str]) -> list[str]:
    indent = min((len(line) - len(line.lstrip()) for line in text if line), default=0)
    return [line[indent:] for line in text]
