"""A formula typed on the command line, as a function of named numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

import chainrule.numpy as cnp
from chainrule.core.op import OPS
from chainrule.errors import ArgumentError
from chainrule.record.protocol import op_of

ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.BoolOp, ast.Call, ast.Name,
    ast.Constant, ast.List, ast.Tuple, ast.Subscript, ast.Slice, ast.operator, ast.unaryop,
    ast.cmpop, ast.boolop, ast.expr_context, ast.keyword,
)  # fmt: skip
CONSTANTS = {"pi": np.pi, "e": np.e, "inf": np.inf}


def function_of(text: str, names: list[str]) -> Callable[..., Any]:
    """The formula as a function of these names, made of operators, numbers and chainrule's ops."""
    try:
        tree = ast.parse(text, "<formula>", "eval")
    except SyntaxError as error:
        raise ArgumentError(
            f"cannot read the formula {text!r}: {error.msg} (column {error.offset})"
        ) from None
    for part in ast.walk(tree):
        if not isinstance(part, ALLOWED):
            raise ArgumentError(f"a formula has no {type(part).__name__}: {ast.unparse(part)!r}")
    used = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}
    ops = {
        n: op
        for n in used - set(names)
        if not n.startswith("_") and (op := OPS.get(n) or _numpy_op(n))
    }
    unknown = sorted(
        n for n in used if n not in names and n not in ops and n not in CONSTANTS and n != "array"
    )
    if unknown:
        raise ArgumentError(
            f"{', '.join(unknown)}: neither given a value nor a known function; "
            f"write e.g. {unknown[0]}=1.5"
        )
    code = compile(tree, "<formula>", "eval")
    scope = {
        "__builtins__": {},
        "array": cnp.array,
        **CONSTANTS,
        **ops,
    }

    def f(*values: Any) -> Any:
        # Only names, numbers, operators and calls of ops passed the check above.
        return eval(code, {**scope, **dict(zip(names, values, strict=True))})  # noqa: S307

    return f


def _numpy_op(name: str) -> Any:
    """The op NumPy has another name for, as `abs` is `absolute`."""
    found = getattr(np, name, None)
    return op_of(found) if callable(found) else None


def value_of(text: str) -> Any:
    """A number, or a nested list of numbers, typed as `x=-2` or `x=[1,2,3]`."""
    try:
        found = ast.literal_eval(text)
        return np.asarray(found, complex if _has_complex(found) else float)[()]
    except (ValueError, SyntaxError, TypeError):
        raise ArgumentError(f"{text!r} is not a number or a list of numbers") from None


def _has_complex(found: Any) -> bool:
    return bool(np.iscomplexobj(np.asarray(found)))
