"""A parsed formula as a function: its instructions, run on numbers, arrays or Variables."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from inspect import Parameter, Signature
from typing import Any

import numpy as np

import chainrule.numpy as cnp
from chainrule.cli.expression import Formula, Instruction, parsed
from chainrule.cli.mistake import InputError
from chainrule.cli.tokens import Token
from chainrule.core.node import StoredLine
from chainrule.core.op import OPS, Op
from chainrule.core.spec import Spec
from chainrule.record.protocol import op_of
from chainrule.record.state import current, recording

CONSTANTS = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan}
NUMBERS = (int, float, complex)
EXACT = 2.0**63  # from here on whole numbers are computed in floating point
MOST = 10**6  # numbers a value in a formula may hold, unless those given are larger
FAILURES = (ArithmeticError, TypeError, ValueError, LookupError, MemoryError, AttributeError)
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "@": operator.matmul, "**": operator.pow,
    "&": operator.and_, "|": operator.or_,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
}  # fmt: skip


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
        return Machine(formula, functions, given, parts).run()

    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    f.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # names the leaves
    return f


def number_of(text: str, longest: int) -> Any:
    """What a text of numbers, lists and operators comes to; names other than pi, e … have none."""
    formula = parsed(text, longest)
    functions = _functions(formula, ())
    for name, token in formula.names.items():
        if name not in CONSTANTS and name not in formula.assigned:
            raise _wrong(formula, f"{name} is not a number", token)
    return Machine(formula, functions, {}, _parts(formula)).run()


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
    for name, token in formula.called.items():
        if name in names or name in formula.assigned:
            raise _wrong(formula, f"{name} is a value, not a function; write {name} * (…)", token)
        found[name] = function_named(name)
        if found[name] is None:
            raise _wrong(formula, f"{name} is no known function{_nearest(name, OPS)}", token)
    return found


def _check_names(formula: Formula, names: Sequence[str]) -> None:
    for name, token in formula.assigned.items():
        if name in names or name in CONSTANTS or function_named(name) is not None:
            raise _wrong(formula, f"{name} has a meaning already; choose another name", token)
    known = {*names, *formula.assigned, *CONSTANTS}
    for name, token in formula.names.items():
        if name in known:
            continue
        if function_named(name) is not None:
            raise _wrong(formula, f"{name} is a function; write {name}(…)", token)
        near = _nearest(name, known) or f"; give it one: {name}=1.5"
        raise _wrong(formula, f"{name} has no value{near}", token)


def _nearest(name: str, known: Any) -> str:
    found = get_close_matches(name, [str(k) for k in known], n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def _wrong(formula: Formula, message: str, token: Token) -> InputError:
    return InputError(message, formula.text, token.start, token.end)


def _parts(formula: Formula) -> list[Part]:
    """What each instruction is shown as: its text, under the name it is assigned to."""
    after = (*formula.code[1:], None)
    return [
        Part(
            formula.text[i.start : i.end],
            i.start,
            next.argument if next is not None and next.action == "assign" else None,
        )
        for i, next in zip(formula.code, after, strict=True)
    ]


class Machine:
    """One evaluation: a stack of values, and a place in the code."""

    def __init__(
        self,
        formula: Formula,
        functions: Mapping[str, Any],
        given: Mapping[str, Any],
        parts: Sequence[Part],
    ):
        self.formula, self.functions, self.parts = formula, functions, parts
        self.names = {**CONSTANTS, **given}
        self.most = max(MOST, 4 * sum(v.size for v in given.values() if _is_array(v)))
        self.stack: list[Any] = []
        self.at = 0

    def run(self) -> Any:
        code = self.formula.code
        with np.errstate(all="ignore"):  # an infinity or a NaN is there to be seen
            while self.at < len(code):
                instruction = code[self.at]
                try:
                    with self._named():
                        getattr(self, instruction.action)(instruction.argument)
                except FAILURES as error:
                    raise self._blamed(error, instruction) from None
                self.at += 1
        return self.stack.pop()

    def _named(self) -> Any:
        """While nodes are kept to be shown, each knows its part of the formula."""
        shown = current.get().tracing is not None
        return recording(line=(self.parts[self.at], 0)) if shown else nullcontext()

    def _blamed(self, error: Exception, instruction: Instruction) -> Exception:
        """The error, with the columns it comes from."""
        if isinstance(error, InputError) and error.start is not None:
            return error
        said = (str(error) or type(error).__name__).splitlines()[0]
        if isinstance(error, OverflowError):
            said = "a number too large for floating point"
        return InputError(said, self.formula.text, instruction.start, instruction.end)

    def _popped(self, count: int) -> list[Any]:
        if not count:
            return []
        found = self.stack[-count:]
        del self.stack[-count:]
        return found

    def _push(self, value: Any) -> None:
        if _is_array(value):
            self._check_size(value.size)
        self.stack.append(value)

    def _check_size(self, size: int) -> None:
        if size > self.most:
            raise InputError(f"{size:,} numbers, where {self.most:,} may be held")

    # -- one method per action -----------------------------------------------------------------

    def constant(self, value: Any) -> None:
        self.stack.append(value)

    def name(self, name: str) -> None:
        if name not in self.names:
            raise InputError(f"{name} is used before (… := …) gives it a value")
        self.stack.append(self.names[name])

    def assign(self, name: str) -> None:
        self.names[name] = self.stack[-1]

    def unary(self, sign: str) -> None:
        self._push(UNARY[sign](_operand(self.stack.pop())))

    def binary(self, sign: str) -> None:
        x, y = map(_operand, self._popped(2))
        compute = BINARY[sign]
        if isinstance(x, NUMBERS) and isinstance(y, NUMBERS):
            self._push(_exact(compute, x, y))
        else:
            self._push(compute(x, y))

    def make_list(self, count: int) -> None:
        self.stack.append(self._popped(count))

    def make_tuple(self, count: int) -> None:
        self.stack.append(tuple(self._popped(count)))

    def make_slice(self, given: tuple[bool, ...]) -> None:
        values = iter(self._popped(sum(given)))
        self.stack.append(slice(*(next(values) if present else None for present in given)))

    def index(self, _: None) -> None:
        x, index = self._popped(2)
        self._push(x[index] if isinstance(x, tuple) else _operand(x)[index])

    def call(self, what: tuple[str, int, tuple[str, ...]]) -> None:
        name, count, keywords = what
        named = dict(zip(keywords, map(self._setting, self._popped(len(keywords))), strict=True))
        given = [self._setting(value) for value in self._popped(count)]
        self._check_size(_foreseen(self.functions[name], given, named))
        found = self.functions[name](*given, **named)
        if not (_is_array(found) or isinstance(found, (tuple, list, *NUMBERS))):
            raise InputError(f"{name} gives no number")
        self._push(found)

    def _setting(self, value: Any) -> Any:
        """An argument; a whole number too large to be a size is made none: repeat(x, 10**9)."""
        if isinstance(value, tuple):
            return tuple(map(self._setting, value))
        return float(value) if type(value) is int and abs(value) > self.most else value

    # -- choices -------------------------------------------------------------------------------

    def jump(self, by: int) -> None:
        self.at += by

    def jump_unless(self, by: int) -> None:
        if not self.stack.pop():
            self.at += by

    def jump_unless_or_drop(self, by: int) -> None:
        if self.stack[-1]:
            self.stack.pop()
        else:
            self.at += by

    def jump_if_or_drop(self, by: int) -> None:
        if self.stack[-1]:
            self.at += by
        else:
            self.stack.pop()


def _foreseen(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> int:
    """How many numbers a call will give, as the op's spec says without computing; 0 if unknown."""
    if not isinstance(function, Op) or function.expand is not None:
        return 0
    try:
        inputs, attrs = function.bind(args, named)
        specs = [Spec(a.shape, a.dtype) if _is_array(a) else a for a in inputs]
        found = function.spec(*specs, **attrs)
        return found.size if isinstance(found, Spec) else sum(part.size for part in found)
    except Exception:  # noqa: BLE001 - the op itself says best what is wrong
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
