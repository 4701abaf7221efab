"""NumPy's creation functions where they meet Variables: what `chainrule.numpy` replaces."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from chainrule.core.node import line_at
from chainrule.core.op import OPS
from chainrule.errors import ArgumentError, ChainruleError, UnsupportedError
from chainrule.ops.joining import NUMERIC, holds_variable
from chainrule.ops.structure import cast_into, constant_node, only_device
from chainrule.record.protocol import array_function
from chainrule.record.recorder import as_operand, record
from chainrule.record.state import current, user_line
from chainrule.record.variable import Variable


def with_line(create: Callable[..., Any]) -> Callable[..., Any]:
    """A creation function whose errors name the user's line."""

    @wraps(create)
    def created(*args: Any, **kwargs: Any) -> Any:
        try:
            return create(*args, **kwargs)
        except ChainruleError as error:
            shown = line_at(*user_line()).shown()
            if shown not in str(error):
                error.args = (f"{create.__name__}: {error}\n  {shown}", *error.args[1:])
            raise

    return created


@with_line
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    ndmin: int = 0,
    like: Any = None,
    **options: Any,
) -> Any:
    """As `np.array`; nested lists that hold Variables become one Variable."""
    if not holds_variable(object):
        if like is not None:
            options["like"] = like
        made = np.array(object, dtype, copy=copy, order=order, ndmin=ndmin, **options)
        return made if made is object else assignable(made, of=object)
    _refuse(like=like, **{k: v for k, v in options.items() if k != "subok"})
    operand = as_operand(object, Variable)
    if dtype is not None and operand.dtype != np.dtype(dtype):
        operand = operand.astype(dtype)
    flags = operand._value.flags
    layout = (order == "C" and not flags.c_contiguous) or (order == "F" and not flags.f_contiguous)
    if copy is False and (operand is not object or layout):
        raise ArgumentError("copy=False, but this array cannot be had without copying")
    if layout or (copy and operand is object):
        operand = OPS["copy"](operand, order=order)
    return (
        operand
        if operand.ndim >= ndmin
        else operand.reshape((1,) * (ndmin - operand.ndim) + operand.shape)
    )


def _refuse(**options: Any) -> None:
    """What NumPy takes and a Variable cannot: said aloud, not dropped."""
    for option, value in options.items():
        if value is not None and not isinstance(value, Variable):
            raise UnsupportedError(f"Variables do not go with {option}={value!r}")


def _conversion(function: Any) -> Any:
    """`np.asarray` or `np.asanyarray`; a Variable is returned as it is."""

    @with_line
    @wraps(function)
    def convert(
        a: Any,
        dtype: Any = None,
        order: Any = None,
        *,
        device: Any = None,
        copy: Any = None,
        **options: Any,
    ) -> Any:
        if not holds_variable(a):
            return function(a, dtype, order, device=device, copy=copy, **options)
        only_device(device)
        return array(a, dtype, order=order or "K", copy=copy, **options)

    return convert


asarray = _conversion(np.asarray)
asanyarray = _conversion(np.asanyarray)


def ascontiguousarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    """As `np.ascontiguousarray`, of Variables, too."""
    if not holds_variable(a):
        return np.ascontiguousarray(a, dtype, **options)
    return array(a, dtype, copy=None, order="C", ndmin=1, **options)


def asfortranarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    """As `np.asfortranarray`, of Variables, too."""
    if not holds_variable(a):
        return np.asfortranarray(a, dtype, **options)
    return array(a, dtype, copy=None, order="F", **options)


def looking_into_lists(function: Any) -> Any:
    """A NumPy function that also finds the Variables inside of lists."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if any(type(a) in (list, tuple, np.ndarray) and holds_variable(a) for a in given):
            return array_function(Variable, function, args, kwargs, user_line())
        return function(*args, **kwargs)

    return call


# -- new arrays --------------------------------------------------------------------------------


def assignable(value: np.ndarray, of: Any = None) -> Any:
    """A new array; inside a differentiated function a Variable, so that `a[i] = x` is recorded.

    One made `of` an array that was there before is a copy of it, which a compiled function makes
    anew in each call.
    """
    state = current.get()
    recorded = state.inside or state.tracing is not None
    if not recorded or value.dtype.kind not in "fc" or type(value) is not np.ndarray:
        return value
    if type(of) is np.ndarray and of.dtype.kind in NUMERIC:
        copied = record(Variable, OPS["copy"], [of], {"order": "K"}, user_line())
        if copied.dtype != value.dtype:
            copied = copied.astype(value.dtype)
        return copied if copied.shape == value.shape else copied.reshape(value.shape)
    args = () if state.tracing is not None else None
    node = constant_node(value, user_line(), args)
    return Variable(value, node if state.tracing is None else state.tracing.noted(node, value))


def zeros(shape: Any, dtype: Any = None, order: Any = "C", **options: Any) -> Any:
    """As `np.zeros`; inside a differentiated function the result can be assigned Variables."""
    return assignable(np.zeros(shape, dtype, order, **options))


def ones(shape: Any, dtype: Any = None, order: Any = "C", **options: Any) -> Any:
    """As `np.ones`; see `zeros`."""
    return assignable(np.ones(shape, dtype, order, **options))


def empty(shape: Any, dtype: Any = None, order: Any = "C", **options: Any) -> Any:
    """As `np.empty`, but filled with zeros: a recorded value must be the same on every run."""
    return assignable(np.zeros(shape, dtype, order, **options))


@with_line
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    """As `np.full`; a Variable to fill with keeps its gradient."""
    if not holds_variable(fill_value):
        return assignable(np.full(shape, fill_value, dtype, order, device=device, like=like))
    only_device(device)
    _refuse(like=like)
    value = as_operand(fill_value, Variable)
    value = value if dtype is None else cast_into(value, np.dtype(dtype))
    filled = np.broadcast_to(value, (shape,) if np.ndim(shape) == 0 else tuple(shape))
    return OPS["copy"](filled, order=order)


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """As `np.copy`; inside a differentiated function the result can be assigned Variables."""
    if holds_variable(a):
        return array(a, order=order)
    return assignable(np.copy(a, order, subok), of=a)  # type: ignore[call-overload]


def _assigned_to(function: Any) -> Any:
    """A NumPy function that makes an array of numbers, whose result can be assigned Variables."""

    @wraps(function)
    def create(*args: Any, **options: Any) -> Any:
        if any(holds_variable(a) for a in (*args, *options.values())):
            return array_function(Variable, function, args, options, user_line())
        made = function(*args, **options)
        return assignable(made) if type(made) is np.ndarray else made

    return create


eye = _assigned_to(np.eye)
identity = _assigned_to(np.identity)
linspace = _assigned_to(np.linspace)


# -- as another array --------------------------------------------------------------------------


def zeros_like(a: Any, *args: Any, **options: Any) -> Any:
    """As `np.zeros_like`; see `zeros`."""
    return assignable(OPS["zeros_like"](a, *args, **options))


def ones_like(a: Any, *args: Any, **options: Any) -> Any:
    """As `np.ones_like`; see `zeros`."""
    return assignable(OPS["ones_like"](a, *args, **options))


def empty_like(a: Any, *args: Any, **options: Any) -> Any:
    """As `np.empty_like`, filled with zeros; see `empty`."""
    return assignable(OPS["empty_like"](a, *args, **options))


def full_like(a: Any, fill_value: Any, *args: Any, **options: Any) -> Any:
    """As `np.full_like`; a Variable to fill with keeps its gradient."""
    filled = OPS["full_like"](a, fill_value, *args, **options)
    return filled if isinstance(filled, Variable) else assignable(filled)
