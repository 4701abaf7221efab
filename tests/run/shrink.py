"""Makes a failing program smaller: statements go, branches straighten, expressions become parts."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

BODIES = ("body", "orelse", "finalbody", "handlers")
TRIES = 400  # candidates that are run


def shrunk(text: str, fails: Callable[[str], bool]) -> str:
    """The smallest text found that still fails; one change at a time, until none helps."""
    left, size = TRIES, len(text)
    while True:
        for candidate in sorted(set(candidates(text)), key=len):
            if left == 0:
                return text
            if len(candidate) >= len(text):
                continue
            left -= 1
            if fails(candidate):
                text = candidate
                break
        if len(text) == size:
            return text
        size = len(text)


def candidates(text: str) -> Iterator[str]:
    """Texts with one thing less; the arguments of the calls are left as they are."""
    tree = ast.parse(text)
    kept = {n for top in tree.body if isinstance(top, ast.Assign) for n in ast.walk(top)}
    for number, node in enumerate(ast.walk(tree)):
        if node in kept:
            continue
        for edit in _edits(node):
            altered = copy.deepcopy(tree)
            twin = next(n for k, n in enumerate(ast.walk(altered)) if k == number)
            edit(twin)
            yield ast.unparse(ast.fix_missing_locations(altered))


def _edits(node: ast.AST) -> Iterator[Callable[[ast.AST], None]]:
    for field in BODIES:
        statements = getattr(node, field, None)
        if isinstance(statements, list):
            yield from _without(field, len(statements))
            yield from _straightened(field, statements)
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr) and field not in ("func", "target", "slice", "annotation"):
            yield from _replaced(field, None, value)
        elif isinstance(value, list) and field in ("args", "elts", "values", "comparators"):
            for k, item in enumerate(value):
                if isinstance(item, ast.expr):
                    yield from _replaced(field, k, item)


def _without(field: str, count: int) -> Iterator[Callable[[ast.AST], None]]:
    for k in range(count):

        def drop(node: ast.AST, k: int = k) -> None:
            statements = getattr(node, field)
            del statements[k]
            if not statements and field == "body":
                statements.append(ast.Pass())

        yield drop


def _straightened(field: str, statements: list[ast.AST]) -> Iterator[Callable[[ast.AST], None]]:
    """A compound statement in whose place its own statements stand."""
    for k, statement in enumerate(statements):
        for inner in ("body", "orelse"):
            if getattr(statement, inner, None) and not isinstance(
                statement, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)
            ):

                def lift(node: ast.AST, k: int = k, inner: str = inner) -> None:
                    outer = getattr(node, field)
                    outer[k : k + 1] = getattr(outer[k], inner)

                yield lift


def _replaced(field: str, at: int | None, value: ast.expr) -> Iterator[Callable[[ast.AST], None]]:
    """An expression in whose place one of its parts stands."""
    parts = [n for n in ast.iter_child_nodes(value) if isinstance(n, ast.expr)]
    for part in parts:
        if isinstance(part, ast.Name) and part.id == "np":
            continue

        def put(node: ast.AST, part: ast.expr = part) -> None:
            if at is None:
                setattr(node, field, copy.deepcopy(part))
            else:
                getattr(node, field)[at] = copy.deepcopy(part)

        yield put
