"""A formula as a function: its tree, walked with numbers, arrays or Variables."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

import chainrule.numpy as cnp
from chainrule.cli.expression import BINARY, UNARY, Formula, parsed
from chainrule.cli.mistake import InputError
from chainrule.core.node import StoredLine
from chainrule.core.op import OPS, Op
from chainrule.core.spec import Spec
from chainrule.errors import ChainruleError
from chainrule.record.protocol import op_of
from chainrule.record.state import current, recording

CONSTANTS = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan}
NUMBERS = (int, float, complex)
EXACT = 2**63  # from here on whole numbers are computed in floating point
MAX_NUMBERS = 10**6  # that a value in a formula holds, unless those given are larger
FAILURES = (ArithmeticError, TypeError, ValueError, LookupError, MemoryError, AttributeError)
Steps = Generator[ast.expr, Any, Any]  # asks for the values of parts, returns that of the whole


class Part(StoredLine):
    """A part of a formula, in place of a line of code: `assigned` is the name it was given."""

    __slots__ = ("assigned",)

    def __init__(self, text: str, start: int, assigned: str | None):
        super().__init__("formula", start + 1, text)
        self.assigned = assigned

    def __str__(self) -> str:
        return f"column {self.number}"


def function_of(text: str, names: Sequence[str]) -> Callable[..., Any]:
    """The formula as a function of these names, made of operators, numbers and chainrule's ops."""
    formula = parsed(text)
    functions = _functions(formula, names)
    _check_names(formula, names)
    parts = _parts(formula)

    def f(*values: Any) -> Any:
        given = dict(zip(names, values, strict=True))
        size = sum(value.size for value in values if _is_array(value))
        known, limit = {**CONSTANTS, **given}, max(MAX_NUMBERS, 4 * size)
        return _Evaluation(formula, functions, known, parts, limit).run()

    return f


def number_of(text: str, limit: int) -> Any:
    """What a text of numbers, lists and operators comes to; names other than pi, e … have none."""
    formula = parsed(text, limit)
    functions = _functions(formula, ())
    for name, node in formula.names.items():
        if name not in CONSTANTS and name not in formula.assigned:
            raise formula.mistake(f"{name} is not a number", node)
    return _Evaluation(formula, functions, {**CONSTANTS}, {}).run()


def function_named(name: str) -> Any:
    """The op of this name, or the one NumPy has this name for, as `abs` is `absolute`."""
    if name == "array":
        return cnp.array
    if name in OPS:
        return OPS[name]
    found = vars(np).get(name)  # getattr would import modules of NumPy's
    return op_of(found) if callable(found) else None


def _functions(formula: Formula, names: Sequence[str]) -> dict[str, Any]:
    found = {}
    for name, node in formula.called.items():
        if name in names or name in formula.assigned:
            raise formula.mistake(f"{name} is a value, not a function; write {name} * (…)", node)
        found[name] = function_named(name)
        if found[name] is None:
            raise formula.mistake(f"{name} is no known function{_nearest(name, OPS)}", node)
    return found


def _check_names(formula: Formula, names: Sequence[str]) -> None:
    for name, node in formula.assigned.items():
        if name in names or name in CONSTANTS or function_named(name) is not None:
            raise formula.mistake(f"{name} has a meaning already; choose another name", node)
    known = {*names, *formula.assigned, *CONSTANTS}
    for name, node in formula.names.items():
        if name in known:
            continue
        if function_named(name) is not None:
            raise formula.mistake(f"{name} is a function; write {name}(…)", node)
        near = _nearest(name, known) or f"; give it one: {name}=1.5"
        raise formula.mistake(f"{name} has no value{near}", node)


def _nearest(name: str, known: Any) -> str:
    found = get_close_matches(name, [str(k) for k in known], n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def _parts(formula: Formula) -> dict[ast.expr, Part]:
    """What each node of the tree is shown as: its text, under the name it is assigned to."""
    nodes = list(ast.walk(formula.tree))
    named = {n.value: formula.source(n.target) for n in nodes if isinstance(n, ast.NamedExpr)}
    return {
        node: Part(formula.source(node), formula.place(node)[0], named.get(node))
        for node in nodes
        if isinstance(node, ast.expr)
    }


@dataclass(frozen=True)
class _Evaluation:
    """One walk over the tree, without recursion: a method asks for a part by yielding its node."""

    formula: Formula
    functions: Mapping[str, Any]
    names: dict[str, Any]
    parts: Mapping[ast.expr, Part]
    limit: int = MAX_NUMBERS

    def run(self) -> Any:
        node, value = self.formula.tree, None
        waiting = [(node, self._whole())]
        with np.errstate(all="ignore"):  # an infinity or a NaN is there to be seen
            while waiting:
                node, steps = waiting[-1]
                try:
                    with self._named(node):
                        node = steps.send(value)
                    if isinstance(node, (ast.Constant, ast.Name)):
                        value = self._leaf(node)
                    else:
                        waiting.append((node, STEPS[type(node)](self, node)))
                        value = None
                except StopIteration as done:
                    value = done.value
                    waiting.pop()
                except FAILURES as error:
                    raise self._blamed(error, node) from None
        return value

    def _whole(self) -> Steps:
        return (yield self.formula.tree)

    def _leaf(self, node: ast.Constant | ast.Name) -> Any:
        """A name's value, or a number, which is floating-point if too large to be an index."""
        if isinstance(node, ast.Constant):
            value = node.value
            return float(value) if isinstance(value, int) and value >= EXACT else value
        name = self.formula.source(node)
        if name not in self.names:
            raise InputError(f"{name} is used before (… := …) gives it a value")
        return self.names[name]

    def _named(self, node: ast.expr) -> Any:
        """While nodes are kept to be shown, each knows its part of the formula."""
        shown = current.get().tracing is not None
        return recording(line=(self.parts[node], 0)) if shown else nullcontext()

    def _blamed(self, error: Exception, node: ast.expr) -> InputError:
        """The error, with the columns it comes from."""
        said = (str(error) or type(error).__name__).splitlines()[0]
        if isinstance(error, OverflowError):
            said = "a number too large for floating point"
        return self.formula.mistake(said, node)

    def _bounded(self, value: Any) -> Any:
        if _is_array(value):
            self._check_size(value.size)
        return value

    def _check_size(self, size: int) -> None:
        if size > self.limit:
            raise InputError(f"{size:,} numbers, where {self.limit:,} may be held")

    # -- one method per kind of node -----------------------------------------------------------

    def assign(self, node: ast.NamedExpr) -> Steps:
        value = self.names[self.formula.source(node.target)] = yield node.value
        return value

    def unary(self, node: ast.UnaryOp) -> Steps:
        return self._bounded(UNARY[type(node.op)](_operand((yield node.operand))))

    def binary(self, node: ast.BinOp | ast.Compare) -> Steps:
        sign: ast.AST = node.op if isinstance(node, ast.BinOp) else node.ops[0]
        right = node.right if isinstance(node, ast.BinOp) else node.comparators[0]
        x, y = (yield node.left), (yield right)
        x, y, compute = _operand(x), _operand(y), BINARY[type(sign)]
        if isinstance(x, NUMBERS) and isinstance(y, NUMBERS):
            return _exact(compute, x, y)
        return self._bounded(compute(x, y))

    def logical(self, node: ast.BoolOp) -> Steps:
        *parts, last = node.values
        for part in parts:
            value = yield part
            if bool(value) is isinstance(node.op, ast.Or):
                return value
        return (yield last)

    def choice(self, node: ast.IfExp) -> Steps:
        return (yield node.body if (yield node.test) else node.orelse)

    def sequence(self, node: ast.List | ast.Tuple) -> Steps:
        values = []
        for part in node.elts:
            values.append((yield part))
        return values if isinstance(node, ast.List) else tuple(values)

    def slice(self, node: ast.Slice) -> Steps:
        bounds = []
        for part in (node.lower, node.upper, node.step):
            bounds.append((yield part) if part else None)
        return slice(*bounds)

    def index(self, node: ast.Subscript) -> Steps:
        x, index = (yield node.value), (yield node.slice)
        return self._bounded(x[index] if isinstance(x, tuple) else _operand(x)[index])

    def call(self, node: ast.Call) -> Steps:
        name = self.formula.source(node.func)
        function, given, named = self.functions[name], [], {}
        for part in node.args:
            given.append(self._setting((yield part)))
        for keyword in node.keywords:
            named[str(keyword.arg)] = self._setting((yield keyword.value))
        self._check_size(_foreseen(function, given, named))
        found = function(*given, **named)
        if not (_is_array(found) or isinstance(found, (tuple, list, *NUMBERS))):
            raise InputError(f"{name} gives no number")
        return self._bounded(found)

    def _setting(self, value: Any) -> Any:
        """An argument; a whole number too large to be a size is made none: repeat(x, 10**9)."""
        if isinstance(value, tuple):
            return tuple(map(self._setting, value))
        return float(value) if type(value) is int and abs(value) > self.limit else value


STEPS: dict[type[ast.expr], Callable[[_Evaluation, Any], Steps]] = {
    ast.NamedExpr: _Evaluation.assign, ast.UnaryOp: _Evaluation.unary,
    ast.BinOp: _Evaluation.binary, ast.Compare: _Evaluation.binary,
    ast.BoolOp: _Evaluation.logical, ast.IfExp: _Evaluation.choice,
    ast.List: _Evaluation.sequence, ast.Tuple: _Evaluation.sequence,
    ast.Slice: _Evaluation.slice, ast.Subscript: _Evaluation.index, ast.Call: _Evaluation.call,
}  # fmt: skip


def _foreseen(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> int:
    """How many numbers a call will give, as the op's spec says without computing; 0 if unknown."""
    if not isinstance(function, Op) or function.expand is not None:
        return 0
    try:
        inputs, attrs = function.bind(args, named)
        specs = [Spec(a.shape, a.dtype) if _is_array(a) else a for a in inputs]
        found = function.spec(*specs, **attrs)
        return found.size if isinstance(found, Spec) else sum(part.size for part in found)
    except (*FAILURES, ChainruleError):  # the op itself says best what is wrong
        return 0


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype")


def _operand(value: Any) -> Any:
    """A number or an array; a list becomes one, so that [0] * 10**9 is no list of 10**9 zeros."""
    if isinstance(value, list):
        return cnp.array(value)
    if value is None or isinstance(value, (tuple, str, slice)) or value is ...:
        raise InputError(f"a {type(value).__name__} is not a number")
    return value


def _exact(compute: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Whole numbers stay whole up to 2**63; above, 9**9**9 would never be ready."""
    if not (isinstance(x, int) and isinstance(y, int)):
        return compute(x, y)
    if compute in (operator.and_, operator.or_):
        return compute(x, y)
    rough = compute(float(x), float(y))
    return compute(x, y) if abs(rough) < EXACT else rough
