"""Applying an op to Variables: compute the value, note the node, name the user's line in errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.node import Node, line_at
from chainrule.core.op import Op, Partials
from chainrule.core.parts import OBJECT
from chainrule.core.picked import picked_among
from chainrule.core.rule import rule_for
from chainrule.core.spec import Spec
from chainrule.errors import (
    ArgumentError,
    ChainruleError,
    DTypeError,
    LinearAlgebraError,
    OutOfRangeError,
    ShapeError,
)
from chainrule.ops.joining import NUMERIC, as_array
from chainrule.ops.structure import item
from chainrule.record.state import State, current, user_line
from chainrule.record.watch import Kept, watch_saved

if TYPE_CHECKING:
    from chainrule.record.variable import Variable

SCALARS = (float, int, complex, bool)
NUMBERS = frozenset((*SCALARS, np.ndarray, np.float64))
FOREIGN = (ValueError, TypeError, LookupError, ArithmeticError)  # what NumPy raises
DOUBLE = np.dtype(np.float64)


LinePlace = tuple[Any, int]


def call(
    variable: type[Variable], op: Op, args: Sequence[Any], kwargs: dict[str, Any], line: LinePlace
) -> Any:
    """Call an op, primitive or composite, with arguments as the user wrote them."""
    if op.expand is not None:
        return expand(op, args, kwargs, line)
    try:
        inputs, attrs = op.bind(args, kwargs)
    except ChainruleError as error:
        raise located(error, op, args, line) from None
    except FOREIGN as error:
        raise translated(error, op, args, kwargs, line) from None
    return record(variable, op, inputs, attrs, line)


def record(
    variable: type[Variable],
    op: Op,
    args: Sequence[Any],
    attrs: dict[str, Any],
    line: LinePlace | None = None,
) -> Any:
    """Apply `op` to `args`, of which at least one is a Variable, and return the recorded result."""
    state = current.get()
    hook = sys.gettrace() if state.watched and op.registered else None
    if hook is None:
        return _applied(variable, op, args, attrs, line or user_line(3), state)
    # No code of the user's runs on numbers, and Python takes three times as long while traced.
    sys.settrace(None)
    try:
        line = line or user_line(3)
        if _are_numbers(args, variable):
            return _applied(variable, op, args, attrs, line, state)
    finally:
        sys.settrace(hook)
    return _applied(variable, op, args, attrs, line, state)


def _are_numbers(args: Sequence[Any], variable: type[Variable]) -> bool:
    for arg in args:  # noqa: SIM110 - `all` takes twice as long
        if type(arg) is not variable and type(arg) not in NUMBERS:
            return False
    return True


def _applied(
    variable: type[Variable],
    op: Op,
    args: Sequence[Any],
    attrs: dict[str, Any],
    line: LinePlace,
    state: State,
) -> Any:
    try:
        args, values = operands(args, variable)
        if op.variant is not None and (other := op.variant(*args, **attrs)) is not None:
            op, args = other
            values = [a._value if type(a) is variable else a for a in args]
    except Exception as error:  # noqa: BLE001 - whatever NumPy raises, the user gets their line
        raise _ours(error, op, args, attrs, line) from None
    try:
        out = op.forward(*values, **attrs)
    except Exception as error:  # noqa: BLE001 - as above
        if state.tracing is not None:
            state.tracing.raised(op, args, attrs)
        raise _ours(error, op, args, attrs, line) from None
    several = type(out) is tuple
    if not several and not hasattr(out, "dtype"):
        out = np.asarray(out)[()]
    node = node_of(variable, op, args, values, out, attrs, line, state)
    if op.by_value is not None and state.tracing is not None and op.value_shaped(args, attrs):
        state.tracing.shapes(node, op, args, attrs)
    if several:
        return tuple(_component(variable, node, part, i, len(out)) for i, part in enumerate(out))
    result = variable(out, node)
    if op.view and type(out) is np.ndarray and type(args[0]) is variable:
        args[0].note_view(result, op, attrs)
    return result


def _ours(
    error: Exception, op: Op, args: Sequence[Any], attrs: dict[str, Any], line: LinePlace
) -> Exception:
    """An error as one of ours, with the user's line."""
    if isinstance(error, ChainruleError):
        return located(error, op, args, line)
    return translated(error, op, args, attrs, line)


def operands(args: Sequence[Any], variable: type[Variable]) -> tuple[Sequence[Any], list[Any]]:
    """The arguments as an op takes them, and their values."""
    values = []
    for arg in args:
        kind = type(arg)
        if kind is variable:
            arg = arg._value
        elif not (kind is np.ndarray and arg.dtype.kind in NUMERIC) and kind not in SCALARS:
            args = [as_operand(a, variable) for a in args]
            return args, [a._value if type(a) is variable else a for a in args]
        values.append(arg)
    return args, values


def node_of(
    variable: type[Variable],
    op: Op,
    args: Sequence[Any],
    values: Sequence[Any],
    out: Any,
    attrs: dict[str, Any],
    line: LinePlace,
    state: State,
) -> Node:
    """The node of a value already computed."""
    shape, dtype = ((), OBJECT) if type(out) is tuple else (out.shape, out.dtype)
    flows = dtype is DOUBLE or dtype.kind in "fcO"
    exact = dtype is DOUBLE and type(op.derivative) is Partials
    active: list[bool] = []
    operands: list[Any] = []
    tracing = state.tracing
    foreign = False
    for arg in args:
        on = False
        if type(arg) is variable:
            node = arg.node
            # Without parents it is a constant that happens to be a Variable.
            if flows and (
                node.first is not None
                or (node.rule is None if tracing is None else tracing.is_active(node))
            ):
                on = node.dtype is DOUBLE or node.dtype.kind in "fc"
            if exact and (node.shape != shape or node.dtype is not DOUBLE):
                exact = False
            if tracing is not None and (node.args is None or node.rule is None or tracing.encloses):
                node = tracing.node_of(arg)
            operands.append(node)
        elif type(arg) is np.ndarray:
            foreign = True
            operands.append(arg if tracing is None else tracing.operand(arg))
        else:
            operands.append(arg)
        active.append(on)
    key = tuple(active), dtype.kind == "c", exact
    rule = op.rules.get(key) or rule_for(op, *key)
    saved = rule.keep(*values, out)
    parents = tuple([operands[i] for i in rule.positions])
    if tracing is not None:
        node = Node(
            rule, parents, saved, attrs, shape, dtype, line[0], line[1], tuple(operands)
        )  # fmt: skip
        return tracing.noted(node, out)
    watch: Any = None
    if foreign and saved:
        arrays = [a for a in args if type(a) is np.ndarray]
        watch = watch_saved(rule.saved_names, saved, arrays)
    if state.debug is not None:
        nodes = [a if isinstance(a, Node) else None for a in operands]
        watch = Kept(tuple(zip(nodes, values, strict=True)), out, watch)
    return Node(rule, parents, saved, attrs, shape, dtype, line[0], line[1], None, watch)


def expand(op: Op, args: Sequence[Any], kwargs: dict[str, Any], line: LinePlace) -> Any:
    """Call a composite op: what it records has the line of the call, and so do its errors."""
    state = current.get()
    if not op.picked and state.tracing is not None and state.tracing.guarded:
        state.tracing.counted(picked_among([*args, *kwargs.values()]))
    token = current.set(state.changed(line=line))
    try:
        op.check_names(kwargs)
        return op.expand(*args, **kwargs)  # type: ignore[misc]
    except ChainruleError as error:
        raise located(error, op, args, line) from None
    except FOREIGN as error:
        raise translated(error, op, args, kwargs, line) from None
    finally:
        current.reset(token)


def _component(
    variable: type[Variable], whole: Node, part: Any, index: int, count: int
) -> Variable:
    """The Variable of one result of an op that has several."""
    part = part if hasattr(part, "dtype") else np.asarray(part)[()]
    rule = rule_for(item, (bool(whole.rule.positions) and part.dtype.kind in "fc",))
    parents = (whole,) if rule.positions else ()
    attrs = {"index": index, "count": count}
    tracing = current.get().tracing
    every = (whole,) if tracing is not None else None
    node = Node(
        rule, parents, (), attrs, part.shape, part.dtype, whole.code, whole.lasti, every
    )  # fmt: skip
    return variable(part, node if tracing is None else tracing.noted(node, part))


def as_operand(value: Any, variable: type[Variable]) -> Any:
    """What the user passed, as an op takes it: nested lists become arrays or stacks."""
    if isinstance(value, (variable, SCALARS)):
        return value
    return as_array(value)


def described(arg: Any) -> str:
    """One operand, for an error message."""
    if not hasattr(arg, "node"):
        return f"an array of shape {np.shape(arg)}" if np.ndim(arg) else f"the constant {arg!r}"
    node = arg.node
    if node.is_leaf:
        return f"{f'`{node.name}`' if node.name else 'a leaf'} of shape {node.shape}"
    return f"{node.op.name} of shape {node.shape}" + (f" ({node.line})" if node.line else "")


def located(
    error: ChainruleError, op: Op, args: Sequence[Any], line: tuple[Any, int]
) -> ChainruleError:
    """The same error with the user's line and the operands added to its message."""
    shown = line_at(*line).shown()
    if shown in str(error):
        return error
    what = "" if str(error).startswith(op.name) else f"{op.name}: "
    operands = "; ".join(described(a) for a in args if not isinstance(a, (list, tuple, str)))
    error.args = (f"{what}{error}\n  {shown}\n  operands: {operands}", *error.args[1:])
    return error


def translated(
    error: Exception, op: Op, args: Sequence[Any], attrs: dict[str, Any], line: tuple[Any, int]
) -> Exception:
    """A NumPy error as ours: the op, the shapes, the user's line, and NumPy's reason."""
    if isinstance(error, FloatingPointError):  # asked for by np.errstate, and to be caught as such
        error.add_note(f"{op.name} at {line_at(*line).shown()}")
        return error
    try:
        if op.expand is not None:
            raise ValueError("a composite has no spec of its own")
        op.spec(*(Spec(a.shape, a.dtype) if hasattr(a, "dtype") else a for a in args), **attrs)
    except ChainruleError as better:
        return located(better, op, args, line)
    except Exception:  # noqa: BLE001 - the spec knows no more than the op did
        pass
    kinds = {
        np.linalg.LinAlgError: LinearAlgebraError,
        IndexError: OutOfRangeError,
        TypeError: DTypeError,
    }
    kind = next((k for base, k in kinds.items() if isinstance(error, base)), None)
    if kind is None:
        shapes = isinstance(error, ValueError) and any(
            w in str(error) for w in ("shape", "broadcast", "dimension", "size")
        )
        kind = ShapeError if shapes else ArgumentError
    listed = " and ".join(str(a.shape) for a in args if hasattr(a, "shape")) or "its arguments"
    return located(kind(f"{op.name} of {listed}: {error}"), op, args, line)
