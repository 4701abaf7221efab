"""A formula typed on the command line, as a function of named numbers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any

import numpy as np

import chainrule.numpy as cnp
from chainrule.core.op import OPS
from chainrule.errors import ArgumentError
from chainrule.record.protocol import op_of

ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.BoolOp, ast.Call, ast.Name,
    ast.Constant, ast.List, ast.Tuple, ast.Subscript, ast.Slice, ast.operator, ast.unaryop,
    ast.cmpop, ast.boolop, ast.expr_context, ast.keyword, ast.NamedExpr,
)  # fmt: skip
FORMULA = "<formula>"
NUMBER = " number"  # cannot be typed
LARGEST = 2.0**64
TOO_DEEP = "the formula is nested too deeply; shorten it, or write it as a Python function"
CONSTANTS = {"pi": np.pi, "e": np.e, "inf": np.inf}


def function_of(text: str, names: list[str]) -> Callable[..., Any]:
    """The formula as a function of these names, made of operators, numbers and chainrule's ops."""
    tree = _parsed(text)
    places = {p.id: p.col_offset for p in ast.walk(tree) if isinstance(p, ast.Name)}
    used = set(places) - _assigned(tree, names)
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
            f"write e.g. {unknown[0]}=1.5 (column {places[unknown[0]] + 1})"
        )
    try:
        tree = ast.fix_missing_locations(_BoundedIntegers().visit(tree))
        code = compile(tree, FORMULA, "eval")
    except (RecursionError, MemoryError):
        raise ArgumentError(TOO_DEEP) from None
    scope = {
        "__builtins__": {},
        "array": cnp.array,
        NUMBER: _number,
        **CONSTANTS,
        **ops,
    }

    def f(*values: Any) -> Any:
        # Only names, numbers, operators and calls of ops passed the check above.
        try:
            return eval(code, {**scope, **dict(zip(names, values, strict=True))})  # noqa: S307
        except NameError as error:
            raise ArgumentError(f"{error.name} is used before (… := …) gives it a value") from None

    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    f.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # names the leaves
    return f


def _assigned(tree: ast.Expression, names: list[str]) -> set[str]:
    """The names a formula gives to parts of itself, as in `(w := x * x) * sin(w)`."""
    found = {p.target.id for p in ast.walk(tree) if isinstance(p, ast.NamedExpr)}
    for name in sorted(found):
        if name in (*names, *CONSTANTS, "array") or name in OPS or name.startswith("_"):
            raise ArgumentError(f"{name} has a meaning already; choose another name")
    return found


def _parsed(text: str) -> ast.Expression:
    """The syntax tree of a formula, in which nothing stands but what a formula has."""
    try:
        tree = ast.parse(text, FORMULA, "eval")
    except SyntaxError as error:
        raise ArgumentError(
            f"cannot read the formula {_short(text)}: {error.msg} (column {error.offset})"
        ) from None
    except ValueError as error:  # a NUL, half of a surrogate pair
        raise ArgumentError(f"cannot read the formula {_short(text)}: {error}") from None
    except (RecursionError, MemoryError):
        raise ArgumentError(TOO_DEEP) from None
    for part in ast.walk(tree):
        if not isinstance(part, ALLOWED):
            where = f" (column {part.col_offset + 1})" if hasattr(part, "col_offset") else ""
            raise ArgumentError(f"a formula has no {type(part).__name__}{where}")
    return tree


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


class _BoundedIntegers(ast.NodeTransformer):
    """Arithmetic of whole numbers is done here, in floating point above 2**64.

    Python's own integers grow without end: `9**9**9**9` would never be ready.
    """

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if _is_integer(left) and _is_integer(right) and type(node.op) in BOUNDED:
            try:
                value = BOUNDED[type(node.op)](left.value, right.value)
            except ArithmeticError:
                where = f"(column {node.col_offset + 1})"
                raise ArgumentError(f"a number too large for floating point {where}") from None
            return ast.copy_location(ast.Constant(value), node)
        if type(node.op) in (ast.Pow, ast.LShift, ast.Mult):
            left, right = _guarded(left), _guarded(right)
        return ast.copy_location(ast.BinOp(left, node.op, right), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if _is_integer(operand) and isinstance(node.op, ast.USub):
            return ast.copy_location(ast.Constant(-operand.value), node)
        return ast.copy_location(ast.UnaryOp(node.op, operand), node)


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _guarded(node: ast.expr) -> ast.expr:
    """The operand of a power or a product, passed through `_number` unless it is one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex)):
        return node
    return ast.copy_location(ast.Call(ast.Name(NUMBER, ast.Load()), [node], []), node)


def _number(value: Any) -> Any:
    """What a formula may multiply: `[0] * 10` is no array, and size(x) ** 9 no whole number."""
    if isinstance(value, (list, tuple, str, bytes)):
        raise ArgumentError(f"a {type(value).__name__} is not a number; write array([…])")
    return float(value) if type(value) is int else value


def _bounded(compute: Callable[[Any, Any], Any]) -> Callable[[int, int], Any]:
    def result(a: int, b: int) -> Any:
        rough = compute(float(a), float(b))
        return compute(a, b) if abs(rough) < LARGEST and rough == rough else rough

    return result


BOUNDED: dict[type, Callable[[int, int], Any]] = {
    ast.Add: _bounded(operator.add),
    ast.Sub: _bounded(operator.sub),
    ast.Mult: _bounded(operator.mul),
    ast.Pow: _bounded(operator.pow),
    ast.LShift: lambda a, b: a << b if 0 <= b < 64 else a * 2.0**b,
}


def _numpy_op(name: str) -> Any:
    """The op NumPy has another name for, as `abs` is `absolute`."""
    found = getattr(np, name, None)
    return op_of(found) if callable(found) else None


def named_values(words: list[str]) -> tuple[list[str], list[Any]]:
    """The names and the values of `x=-2 y=[1,2]`."""
    pairs = [word.partition("=") for word in words]
    for name, equals, _ in pairs:
        if not equals or not name.isidentifier() or iskeyword(name):
            raise ArgumentError(f"write a value as name=number, not {name + equals!r}")
    names = [name for name, _, _ in pairs]
    for name in names:
        if names.count(name) > 1 or name in OPS:
            why = "given twice" if names.count(name) > 1 else "the name of a function"
            raise ArgumentError(f"{name} is {why}; choose another name")
    return names, [value_of(text) for _, _, text in pairs]


def value_of(text: str) -> Any:
    """A number, or a nested list of numbers, typed as `x=-2` or `x=[1,2,3]`."""
    try:
        found = ast.literal_eval(text)
        return np.asarray(found, complex if _has_complex(found) else float)[()]
    except (ValueError, SyntaxError, TypeError, OverflowError, RecursionError, MemoryError):
        raise ArgumentError(f"{_short(text)} is not a number or a list of numbers") from None


def _has_complex(found: Any) -> bool:
    return bool(np.iscomplexobj(np.asarray(found)))
