"""NumPy's own protocols: which op a NumPy function called on a Variable stands for."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.node import Line
from chainrule.core.op import OPS, Op, Partials
from chainrule.core.rule import Rule, rule_for
from chainrule.errors import DetachError, UnsupportedError
from chainrule.record.recorder import LinePlace, call
from chainrule.record.state import user_line

if TYPE_CHECKING:
    from chainrule.record.variable import Variable

_by_numpy: dict[Any, Op] = {}
_parameters: dict[Any, list[str]] = {}
unary_rules: dict[
    np.ufunc, Rule
] = {}  # elementwise ops of one input met so far: their float64 rule
REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
    "logical_and": "all", "logical_or": "any", "logaddexp": "logsumexp",
}  # fmt: skip
ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}


# Questions about an array whose answer is not an array to differentiate.
INQUIRIES = frozenset({
    np.shape, np.size, np.ndim, np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast,
    np.common_type, np.allclose, np.isclose, np.array_equal, np.array_equiv, np.shares_memory,
    np.may_share_memory, np.array_repr, np.array_str, np.array2string, np.iscomplex, np.isreal,
    np.min_scalar_type,
})  # fmt: skip


def values_of(variable: type[Variable], arg: Any) -> Any:
    """An argument with the values in place of its Variables, one list deep."""
    if isinstance(arg, (list, tuple)):
        return type(arg)(values_of(variable, a) for a in arg)
    return arg._value if isinstance(arg, variable) else arg


def op_of(function: Any) -> Op | None:
    """The op that a NumPy (or SciPy) function stands for."""
    found = _by_numpy.get(function)
    if found is not None:
        return found
    for op in OPS.values():  # filled on first use; again when an op may have been added
        _by_numpy.update(dict.fromkeys(op.numpy, op))
    if type(function) is np.ufunc and function not in _by_numpy:
        named = OPS.get(function.__name__) or _by_numpy.get(function.__name__)
        if named is not None:  # SciPy's ufuncs are known by name
            _by_numpy[function] = named
    return _by_numpy.get(function)


def array_ufunc(
    variable: type[Variable],
    ufunc: np.ufunc,
    method: str,
    inputs: Sequence[Any],
    kwargs: dict[str, Any],
    line: LinePlace,
) -> Any:
    """`np.sin(x)`, `np.add.reduce(x)`, `array + x`: the entry of every ufunc."""
    op = op_of(ufunc)
    if op is None:
        raise unsupported(ufunc.__name__)
    _refuse_destination(ufunc, kwargs)
    if method == "__call__":
        if kwargs:
            return with_keywords(variable, op, inputs, kwargs, line)
        simple = len(op.inputs) == 1 and type(op.derivative) is Partials and op.variant is None
        if simple and op.forward is ufunc:  # SciPy's log1p is not NumPy's to the last bit
            unary_rules[ufunc] = rule_for(op, (True,), exact=True)
        return call(variable, op, inputs, {}, line)
    name = {"reduce": REDUCTIONS, "accumulate": ACCUMULATIONS}.get(method, {}).get(ufunc.__name__)
    if name is not None:
        return call(variable, OPS[name], inputs, {"axis": 0, **kwargs}, line)
    if method == "at" and ufunc in (np.add, np.subtract):
        x, indices, values = inputs
        x._rebind(OPS["add_at"](x, indices, values if ufunc is np.add else -values), "add to")
        return None
    if method == "outer":
        x, y = inputs
        wide = np.reshape(x, np.shape(x) + (1,) * np.ndim(y))
        return array_ufunc(variable, ufunc, "__call__", (wide, y), kwargs, line)
    raise unsupported(f"{ufunc.__name__}.{method}")


def _refuse_destination(ufunc: np.ufunc, kwargs: dict[str, Any]) -> None:
    """A result written into part of an existing array cannot be recorded as a new value."""
    if kwargs.pop("where", True) is not True:
        raise UnsupportedError(
            f"np.{ufunc.__name__} on a Variable does not take where=…: the other lanes would hold "
            f"nothing.\n  {Line(*user_line()).shown()}\n"
            f"  use np.where(mask, np.{ufunc.__name__}(x), otherwise)."
        )
    if "out" in kwargs:
        raise DetachError(
            f"np.{ufunc.__name__} cannot write its result into an existing array: a gradient would "
            f"be lost.\n  {Line(*user_line()).shown()}\n"
            "  assign the result instead: `a += x` on an ndarray becomes `a = a + x`."
        )


def with_keywords(
    variable: type[Variable], op: Op, inputs: Sequence[Any], kwargs: dict[str, Any], line: LinePlace
) -> Any:
    """A ufunc with dtype= and the like; what changes no value is let pass."""
    dtype = kwargs.pop("dtype", None)
    known = {k: v for k, v in kwargs.items() if k not in ("casting", "order", "subok", "signature")}
    result = call(variable, op, inputs, known, line)
    return result if dtype is None else result.astype(dtype)


def array_function(
    variable: type[Variable],
    func: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    line: LinePlace,
) -> Any:
    """`np.sum(x, axis=0)`, `np.linalg.solve(A, b)`: the entry of every other NumPy function."""
    op = op_of(func)
    if op is None:
        if func in INQUIRIES:
            return func(*(values_of(variable, a) for a in args), **kwargs)
        raise unsupported(_qualified(func))
    if len(args) > 1 or kwargs:
        args, kwargs = as_our_call(op, func, args, kwargs)
    return call(variable, op, args, kwargs, line)


def as_our_call(
    op: Op, func: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """A call in NumPy's parameter names as a call in the op's; defaults are left out."""
    names = _parameters.get(func)
    if names is None:
        try:
            parameters = inspect.signature(func).parameters.values()
            names = (
                []
                if any(p.kind is p.VAR_POSITIONAL for p in parameters)
                else [p.name for p in parameters]
            )
        except ValueError:
            names = []
        _parameters[func] = names
    count = 1 if op.variadic else len(op.inputs)
    if not names or (op.variadic and not isinstance(args[:1][0] if args else None, (list, tuple))):
        return args, kwargs
    inputs: list[Any] = list(args[:count])
    given = dict(zip(names[count:], args[count:], strict=False))
    for name, value in kwargs.items():
        if name in names[:count] and name not in op.inputs:
            inputs.insert(names.index(name), value)  # np.sum(a=x)
        else:
            given[name] = value
    ours = {}
    for name, value in given.items():
        if name in op.attrs or name in op.inputs:
            if value is not np._NoValue:
                ours[name] = value
        elif value is not None and value is not np._NoValue and not _is_default(func, name, value):
            accepted = ", ".join(sorted(op.attrs)) or "no keyword"
            raise UnsupportedError(
                f"{_qualified(func)} on a Variable does not take {name}={value!r} "
                f"(it takes {accepted}).\n"
                f"  {Line(*user_line()).shown()}"
            )
    return inputs, ours


def _is_default(func: Any, name: str, value: Any) -> bool:
    default = (
        inspect.signature(func).parameters[name].default if name in _parameters[func] else None
    )
    return default is value or (isinstance(value, (str, int, float, bool)) and default == value)


def _qualified(func: Any) -> str:
    module = getattr(func, "__module__", "") or ""
    return (
        f"{module.replace('numpy', 'np')}.{func.__name__}"
        if module.startswith("numpy")
        else func.__name__
    )


def unsupported(name: str) -> UnsupportedError:
    """The error for a function we do not have: its name, the nearest one we have, the line."""
    from difflib import get_close_matches

    known = sorted({op.name for op in OPS.values()})
    close = get_close_matches(name.rsplit(".", 1)[-1], known, n=1, cutoff=0.4)
    nearest = f"; the nearest supported function is {close[0]}" if close else ""
    return UnsupportedError(
        f"{name} is not supported on a Variable{nearest}.\n  {Line(*user_line()).shown()}\n"
        "  cr.OPS lists every supported function; cr.Function makes your own; x.value computes\n"
        "  without a gradient."
    )
