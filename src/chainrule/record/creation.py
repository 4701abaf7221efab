"""NumPy's creation functions where they meet Variables: what `chainrule.numpy` replaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.op import OPS
from chainrule.core.rule import rule_for
from chainrule.ops.structure import constant
from chainrule.record.recorder import as_operand
from chainrule.record.state import current, user_line
from chainrule.record.variable import Variable


def array(object: Any, dtype: Any = None, *, copy: bool = True, **options: Any) -> Any:
    """As `np.array`; nested lists that hold Variables become one Variable."""
    found = object
    if isinstance(object, (list, tuple)) or (
        isinstance(object, np.ndarray) and object.dtype == np.dtype("O")
    ):
        found = as_operand(object, Variable)
    if isinstance(found, Variable):
        found = (
            found.astype(dtype) if dtype is not None and found.dtype != np.dtype(dtype) else found
        )
        return found.copy() if copy and found is object else found
    return np.array(object, dtype, copy=copy, **options)


def asarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    """As `np.asarray`; a Variable is returned as it is."""
    if isinstance(a, (list, tuple, Variable, np.ndarray)):
        return array(a, dtype, copy=None, **options)  # type: ignore[arg-type]
    return np.asarray(a, dtype, **options)


def assignable(value: np.ndarray) -> Any:
    """A new array; inside a differentiated function a Variable, so that `a[i] = x` is recorded."""
    state = current.get()
    if not state.inside or value.dtype.kind not in "fc":
        return value
    args = () if state.tracing is not None else None
    node = Node(
        (
            rule_for(constant, ()),
            (),
            (),
            {"value": value},
            value.shape,
            value.dtype,
            *user_line(),
            args,
            None,
        )
    )
    return Variable(value, node)


def zeros(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """As `np.zeros`; inside a differentiated function the result can be assigned Variables."""
    return assignable(np.zeros(shape, dtype, order))  # type: ignore[call-overload]


def ones(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """As `np.ones`; see `zeros`."""
    return assignable(np.ones(shape, dtype, order))  # type: ignore[call-overload]


def empty(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """As `np.empty`, but filled with zeros: a recorded value must be the same on every run."""
    return assignable(np.zeros(shape, dtype, order))  # type: ignore[call-overload]


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Any:
    """As `np.full`; a Variable to fill with keeps its gradient."""
    if isinstance(fill_value, Variable):
        filled = np.broadcast_to(fill_value, (shape,) if np.ndim(shape) == 0 else tuple(shape))  # type: ignore[call-overload]
        return filled.copy() if dtype is None else filled.astype(dtype)
    return assignable(np.full(shape, fill_value, dtype, order))  # type: ignore[arg-type]


def like(a: Any, value: float, dtype: Any, shape: Any) -> Any:
    held = a._value if isinstance(a, Variable) else a
    return assignable(np.full_like(held, value, dtype=dtype, shape=shape))


def zeros_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    """As `np.zeros_like`; see `zeros`."""
    return like(a, 0, dtype, shape)


def ones_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    """As `np.ones_like`; see `zeros`."""
    return like(a, 1, dtype, shape)


def empty_like(a: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    """As `np.empty_like`, filled with zeros; see `empty`."""
    return like(a, 0, dtype, shape)


def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    """As `np.full_like`; a Variable to fill with keeps its gradient."""
    if not isinstance(fill_value, Variable):
        return like(a, fill_value, dtype, shape)
    return full(
        np.shape(a) if shape is None else shape, fill_value, dtype if dtype is not None else a.dtype
    )


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, **options: Any) -> Any:
    """As `np.linspace`; end points may be Variables."""
    if not isinstance(start, Variable) and not isinstance(stop, Variable):
        return np.linspace(start, stop, num, endpoint, **options)
    steps = np.linspace(0.0, 1.0, num, endpoint).reshape(
        (num,) + (1,) * max(np.ndim(start), np.ndim(stop))
    )
    return OPS["add"](OPS["multiply"](start, 1 - steps), OPS["multiply"](stop, steps))


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0) -> Any:
    """As `np.logspace`; end points and base may be Variables."""
    return OPS["power"](base, linspace(start, stop, num, endpoint))


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    """As `np.geomspace` for positive end points, which may be Variables."""
    if not isinstance(start, Variable) and not isinstance(stop, Variable):
        return np.geomspace(start, stop, num, endpoint)
    return np.exp(linspace(np.log(start), np.log(stop), num, endpoint))
