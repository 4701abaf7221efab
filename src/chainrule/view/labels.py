"""Short names for nodes: the user's own variable names where the source gives them away."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from chainrule.core.graph import Graph
from chainrule.core.node import Line, Node

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def labels_of(graph: Graph) -> dict[Node, str]:
    """A label per node, all different: leaf names, assigned names (`q = x + y`), else letters."""
    labels: dict[Node, str] = {}
    taken: set[str] = set()
    next_number: dict[str, int] = {}

    def give(node: Node, wanted: str) -> None:
        label, n = wanted, next_number.get(wanted, 2)
        while label in taken:
            label, n = f"{wanted}{n}", n + 1
        next_number[wanted] = n
        labels[node] = label
        taken.add(label)

    for node in graph.nodes:
        if node.name is not None:
            give(node, str(node.name))
    assigned = {node: assigned_name(node) for node in graph.nodes if node not in labels}
    outputs = set(graph.outputs)
    spare = _spare_names({*taken, graph.name, *(a for a in assigned.values() if a)})
    for node, name in assigned.items():
        if name is None and node in outputs and graph.name.isidentifier():
            name = graph.name
        give(node, name or next(spare))
    return labels


def _spare_names(taken: set[str]) -> Iterator[str]:
    free = [c for c in LETTERS if c not in taken]
    yield from free
    n = 1
    while True:
        yield from (f"{c}{n}" for c in LETTERS)
        n += 1


def assigned_name(node: Node) -> str | None:
    """The name to the left of `=` when this node is the whole right-hand side of an assignment."""
    if isinstance(node.code, CodeType):
        return _assigned(node.code, node.lasti)
    return getattr(node.line, "assigned", None)  # a part of a formula knows it


@lru_cache(maxsize=4096)  # a loop records one line many times
def _assigned(code: CodeType, lasti: int) -> str | None:
    line = Line(code, lasti)
    first, last, start, end = line.positions
    raw = linecache.getline(line.file, line.number).encode()
    text = raw.strip()
    if first is None or first != last or start is None or end is None or not text:
        return None
    indent = raw.index(text)
    try:
        statements = ast.parse(text.decode()).body
    except SyntaxError:
        return None
    for statement in statements:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        place = value.col_offset + indent, (value.end_col_offset or 0) + indent
        if isinstance(target, ast.Name) and place == (start, end):
            return target.id
    return None


@lru_cache(maxsize=4096)
def operand_source(source: str, count: int, position: int) -> str | None:
    """The text of one of `count` operands in the expression that applied the op: `b` of `a * b`.

    None for a bare number, and where the text does not tell.
    """
    try:
        (statement,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return None
    parts = _operands(statement)
    if len(parts) != count or any(isinstance(p, ast.Starred) for p in parts):
        return None
    part = parts[position]
    bare = part.operand if isinstance(part, ast.UnaryOp) else part
    return None if isinstance(bare, ast.Constant) else ast.get_source_segment(source, part)


def _operands(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.AugAssign):
        return [statement.target, statement.value]
    expression = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(expression, ast.BinOp):
        return [expression.left, expression.right]
    if isinstance(expression, ast.Compare) and len(expression.comparators) == 1:
        return [expression.left, *expression.comparators]
    if isinstance(expression, ast.Call):
        return expression.args
    return []
