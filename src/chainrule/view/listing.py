"""The source of the functions that made a graph, as it is shown beside it."""

from __future__ import annotations

import linecache
import os
from types import CodeType
from typing import Any

from chainrule.core.graph import Graph
from chainrule.view.model import shortened

MAX_FUNCTION_LINES = 120  # lines of one function
MAX_LINES = 400  # lines in all


def listings(graph: Graph) -> list[dict[str, Any]]:
    """Each function with a line that made a node: {"file", "first" (line), "text" (lines)}."""
    made = (n.code for n in graph.nodes if not n.is_leaf)
    codes = dict.fromkeys(code for code in made if isinstance(code, CodeType))
    found: list[dict[str, Any]] = []
    room = MAX_LINES
    for path, first, last in _joined([_extent(code) for code in codes]):
        if last - first >= min(MAX_FUNCTION_LINES, room):
            continue
        text = [linecache.getline(path, k).rstrip() for k in range(first, last + 1)]
        if any(text):
            room -= len(text)
            file = shortened(os.path.basename(path.replace("\\", "/")))
            text = [shortened(line) for line in _dedented(text)]
            found.append({"file": file, "first": first, "text": text})
    return found


def _extent(code: CodeType) -> tuple[str, int, int]:
    """The file, the first and the last line of a function."""
    numbers = [line for _, _, line in code.co_lines() if line]
    return code.co_filename, code.co_firstlineno, max(numbers, default=code.co_firstlineno)


def _joined(extents: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Those that overlap or follow each other as one: an inner function stands in its outer one."""
    joined: list[tuple[str, int, int]] = []
    for path, first, last in sorted(set(extents)):
        if joined and joined[-1][0] == path and first <= joined[-1][2] + 1:
            joined[-1] = path, joined[-1][1], max(last, joined[-1][2])
        else:
            joined.append((path, first, last))
    return joined


def _dedented(text: list[str]) -> list[str]:
    indent = min((len(line) - len(line.lstrip()) for line in text if line), default=0)
    return [line[indent:] for line in text]
