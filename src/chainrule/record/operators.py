"""The arithmetic operators of Variable: the hottest path of the engine, one flat method each.

Recording `x * y` must cost little more than NumPy's own multiplication of small arrays, so the
methods are generated per operator as source text, with what the op's rule keeps written out in
place.  They take float64 Variables and Python numbers; everything else goes to `record`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from chainrule.core.node import NO_ATTRS, line_at
from chainrule.core.op import Op
from chainrule.core.rule import Rule, rule_for
from chainrule.errors import ArgumentError, DTypeError
from chainrule.ops import arithmetic, comparison
from chainrule.ops.joining import is_table
from chainrule.ops.sparse_values import with_sparse
from chainrule.record.making import defined, making
from chainrule.record.recorder import record
from chainrule.record.state import current, user_line
from chainrule.record.variable import Variable, members, stores_item

DOUBLE = np.dtype(np.float64)
EXACT_INTEGERS = 2**53
MAX_CONSTANTS = 1024

_constants: dict[float, Any] = {}  # NumPy takes an array in 170 ns less than a Python number


def constant_of(number: float) -> Any:
    """A Python number as the 0-d array that stands for it; zeros and huge ones as they are."""
    if number == 0 or not abs(number) < EXACT_INTEGERS:  # -0.0 equals 0.0, a NaN nothing
        return number
    if len(_constants) >= MAX_CONSTANTS:
        _constants.clear()
    made = np.array(number, np.float64)
    made.flags.writeable = False
    _constants[number] = made
    return made


def operated(variable: type[Variable], op: Op, args: list[Any], attrs: dict[str, Any]) -> Any:
    """`record`, where one of Python's operators was written, which its own numbers may raise in."""
    out = record(variable, op, args, attrs)
    tracing = current.get().tracing
    if tracing is None or op.python is None:
        return out
    return tracing.on_python(op.python, args, out)


METHOD = """
def method(self, other):
    node = self.node
    if node.dtype is DOUBLE and (node.first is not None or node.rule is None) and state().eager:
        kind = type(other)
        if kind is Variable:
            above = other.node
            flows = above.first is not None or above.rule is None
            if flows and above.dtype is DOUBLE and (other is not self or not is_root(node)):
                x, y = self._value, other._value
                try:
                    out = x {symbol} y
                except ValueError:  # shapes that do not fit: say so properly
                    return record(Variable, op, [self, other], NO_ATTRS)
                shape = out.shape
                rule = both if node.shape == shape == above.shape else stretched
                frame = caller(1)
                {make_both}
                return made
        elif (kind is float or kind is int){unless_root}:
            x, y = self._value, {constant}
            if y is None:
                y = constant_of(other)
            out, frame = x {symbol} y, caller(1)
            {make_first}
            return made
    elif type(other) is Variable or type(other) is float:
        return record(Variable, op, [self, other], NO_ATTRS)
    if is_operand(other):
        return record(Variable, op, [self, other], NO_ATTRS)
    return with_sparse(op, self, other)


def reflected(self, other):
    node, kind = self.node, type(other)
    flows = node.first is not None or node.rule is None
    if flows and (kind is float or kind is int) and node.dtype is DOUBLE and state().eager:
        x, y = {constant}, self._value
        if x is None:
            x = constant_of(other)
        out, frame = x {symbol} y, caller(1)
        {make_second}
        return made
    if is_operand(other):
        return record(Variable, op, [other, self], NO_ATTRS)
    return with_sparse(op, other, self)
"""


def arithmetic_operator(op: Op, symbol: str) -> tuple[Any, Any]:
    """The methods `x ∘ y` and `y ∘ x` of one elementwise op."""
    rules = {
        "both": rule_for(op, (True, True), exact=True),
        "stretched": rule_for(op, (True, True)),
        "first": rule_for(op, (True, False), exact=True),
        "second": rule_for(op, (False, True), exact=True),
    }
    is_power = symbol == "**"  # NumPy knows small Python exponents itself
    text = METHOD.format(
        symbol=symbol,
        constant="other" if is_power else "constants(other) if node.shape else other",
        unless_root=" and not (other == 2 and is_root(node))" if is_power else "",
        make_both=making("rule", "above", rules["both"], "shape", 16),
        make_first=making("first", "None", rules["first"], "node.shape", 12),
        make_second=making("second", "None", rules["second"], "node.shape", 8),
    )
    method, reflected = defined(text, "method reflected", Variable, **names_of(op, rules))
    return method, reflected


def names_of(op: Op, rules: dict[str, Rule]) -> dict[str, Any]:
    """What the text of an operator refers to."""
    return {
        **rules,
        "op": op,
        "constant_of": constant_of,
        "constants": _constants.get,
        "is_operand": is_operand,
        "is_root": arithmetic.is_root,
        "record": operated,
        "with_sparse": with_sparse,
    }


def in_place_operator(op: Op) -> Any:
    """The method `x ∘= y`: recorded, and the Variable is from now on the result."""

    def in_place(self: Variable, other: Any) -> Any:
        changed = operated(Variable, op, [self, other], NO_ATTRS)
        if changed._value.shape != self._value.shape:
            raise ArgumentError(
                f"in-place {op.name} of shapes {self.shape} and {np.shape(other)} "
                f"would change the shape to {changed.shape}\n  {line_at(*user_line()).shown()}"
            )
        if changed.dtype != self.dtype:
            if not np.can_cast(changed.dtype, self.dtype, "same_kind"):
                raise DTypeError(
                    f"in-place {op.name} would cast {changed.dtype.name} to {self.dtype.name} and "
                    f"lose a part of it; write `y = y ∘ v`.\n  {line_at(*user_line()).shown()}"
                )
            changed = changed.astype(self.dtype)
        if hasattr(self, "_base") and stores_item(sys._getframe(1)):
            return changed  # `y[1:] += v` goes on to assign it to y[1:]
        return self._rebind(changed, "update in place")

    return in_place


def plain_operator(op: Op) -> tuple[Any, Any]:
    """The methods `x ∘ y` and `y ∘ x` of an op with results other than float64."""

    def method(self: Variable, other: Any) -> Any:
        return (
            operated(Variable, op, [self, other], NO_ATTRS) if is_operand(other) else NotImplemented
        )

    def reflected(self: Variable, other: Any) -> Any:
        return (
            operated(Variable, op, [other, self], NO_ATTRS) if is_operand(other) else NotImplemented
        )

    return method, reflected


def is_operand(value: Any) -> bool:
    return (
        type(value) is np.ndarray
        or isinstance(value, (Variable, np.ndarray, np.generic, float, int, complex, list, tuple))
        or is_table(value)
    )


UNARY = """
def method(self):
    node = self.node
    if node.dtype is DOUBLE and (node.first is not None or node.rule is None) and state().eager:
        x = self._value
        out, frame = {symbol}x, caller(1)
        {make}
        return made
    return record(Variable, op, [self], NO_ATTRS)
"""


def unary_operator(op: Op, symbol: str) -> Any:
    """The method `∘x` of one elementwise op."""
    first = rule_for(op, (True,), exact=True)
    text = UNARY.format(symbol=symbol, make=making("first", "None", first, "node.shape", 8))
    return defined(text, "method", Variable, **names_of(op, {"first": first}))[0]


OPERATORS: dict[str, tuple[Op, str]] = {
    "add": (arithmetic.add, "+"),
    "sub": (arithmetic.subtract, "-"),
    "mul": (arithmetic.multiply, "*"),
    "truediv": (arithmetic.divide, "/"),
    "mod": (arithmetic.remainder, "%"),
    "pow": (arithmetic.power, "**"),
}


def install(name: str) -> None:
    """Give Variable the methods of one operator; the fast ones are built when first used."""
    op, symbol = OPERATORS[name]

    def build() -> None:
        for prefix, built in zip(("", "r"), arithmetic_operator(op, symbol), strict=True):
            setattr(Variable, f"__{prefix}{name}__", built)

    def method(self: Variable, other: Any) -> Any:
        build()
        if is_operand(other):
            return operated(Variable, op, [self, other], NO_ATTRS)
        return with_sparse(op, self, other)

    def reflected(self: Variable, other: Any) -> Any:
        build()
        if is_operand(other):
            return operated(Variable, op, [other, self], NO_ATTRS)
        return with_sparse(op, other, self)

    setattr(Variable, f"__{name}__", method)
    setattr(Variable, f"__r{name}__", reflected)
    setattr(Variable, f"__i{name}__", in_place_operator(op))


for _name in OPERATORS:
    install(_name)
# Without a derivative, and so without parents: not for the fast form.
_method, _reflected = plain_operator(arithmetic.floor_divide)
members(
    __floordiv__=_method,
    __rfloordiv__=_reflected,
    __ifloordiv__=in_place_operator(arithmetic.floor_divide),
)
for _name, _op in comparison.BY_OPERATOR.items():
    _method, _reflected = plain_operator(_op)
    setattr(Variable, f"__{_name}__", _method)
    if _name in ("and", "or", "xor"):
        setattr(Variable, f"__r{_name}__", _reflected)


def _invert(self: Variable) -> Any:
    return operated(Variable, comparison.invert, [self], NO_ATTRS)


members(
    __neg__=unary_operator(arithmetic.negative, "-"),
    __pos__=unary_operator(arithmetic.positive, "+"),
    __invert__=_invert,
)
