"""Making values: numbers, scalar functions at each index, and folds of them; equal ones once."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.spec import Shape
from chainrule.lower.values.array import Array, NotLoweredError, axes_of, folded_axes, through_views
from chainrule.lower.values.functions import COMPARISONS, LOGICAL, kinds_of
from chainrule.lower.values.layout import common_order, in_memory_order, renumbered
from chainrule.lower.values.value import BOOL, DOUBLE, KNOWN, Access, Dim, Value, pointwise

TESTS = frozenset({"isnan", "isfinite", "isinf", "signbit", *LOGICAL})
OF_TRUTH = frozenset({*LOGICAL, *COMPARISONS, "where", "copy", "multiply"})


class Maps:
    """The part of a builder that makes numbers, maps and folds."""

    def __init__(self) -> None:
        self.made: dict[Any, Value] = {}

    def made_once(
        self, kind: str, dims: tuple[int, ...], dtype: Any, args: Any, params: Any
    ) -> Value:
        key = kind, dims, dtype, tuple((id(v), access) for v, access in args), params
        value = self.made.get(key)
        if value is None:
            value = self.made[key] = Value(kind, dims, dtype, args, params)
        return value

    def constant(self, number: Any, dtype: Any = DOUBLE, weak: bool = False) -> Array:
        number = np.dtype(dtype).type(number)
        key = "constant", dtype, number.tobytes(), weak
        value = self.made.get(key)
        if value is None:
            value = self.made[key] = Value("constant", (), dtype, params=number.item())
            value.name = "weak" if weak else ""
        return Array(value, ())

    def elementwise(self, function: str, operands: list[Array], node: Node) -> Array | None:
        """A scalar function at each index, on operands promoted as NumPy promotes them."""
        if function in COMPARISONS:
            common = self.common(*operands)
        elif function in LOGICAL:
            common = BOOL
        elif function in ("isnan", "isfinite", "isinf", "signbit"):
            common = operands[0].dtype
        else:
            common = node.dtype
        if common not in KNOWN or KNOWN[common][0] not in kinds_of(function):
            raise NotLoweredError(f"{function} is not written for {common.name}")
        if common == BOOL and function not in OF_TRUTH:
            raise NotLoweredError(f"{function} of truth values is not written")
        if function == "where":
            condition, *rest = operands
            return self.map(
                "where", self.astype(condition, BOOL), *(self.astype(r, common) for r in rest)
            )
        return self.map(function, *(self.astype(a, common) for a in operands))

    def map(self, function: str, *operands: Array, dtype: Any = None) -> Array:
        """`function` at each index of the operands broadcast together."""
        if function == "multiply":  # the graph has no such product, but an op may be lowered to one
            x, y = operands
            for one, other in ((x, y), (y, x)):  # exact, of NaN too
                if one.number == 1 and not one.shape and one.dtype == other.dtype:
                    return other
        shape = np.broadcast_shapes(*(a.shape for a in operands))
        dims, axis_at = axes_of(shape)
        args = tuple(self.reading(a, shape, axis_at) for a in operands)
        if dtype is None:
            dtype = BOOL if function in COMPARISONS or function in TESTS else args[-1][0].dtype
        return Array(self._mapped(function, dims, dtype, args), shape)

    def _mapped(self, function: str, dims: tuple[int, ...], dtype: Any, args: Any) -> Value:
        """A map, in memory in the order of axes in which most of its operands are."""
        order = common_order(args, len(dims))
        if order is None:
            return self.made_once("map", dims, dtype, args, function)
        args = tuple((v, renumbered(access, order)) for v, access in args)
        value = self.made_once("map", tuple(dims[a] for a in order), dtype, args, function)
        return self.reordered(value, order)

    def reordered(self, value: Value, order: tuple[int, ...]) -> Value:
        """A value whose axes are to be the axes `order` of what is seen."""
        if order == tuple(range(len(order))):
            return value
        dims = tuple(value.dims[order.index(i)] for i in range(len(order)))
        access = tuple(map(Dim, order))
        return self.made_once("map", dims, value.dtype, ((value, access),), "copy")

    def common(self, *operands: Array) -> Any:
        """The type NumPy computes with, where a Python number takes that of what it meets."""
        return np.result_type(*(promoting(a) for a in operands))

    def floats(self, *operands: Array) -> list[Array]:
        """The operands in the floating-point type that NumPy computes with."""
        common = self.common(*operands)
        common = DOUBLE if common.kind in "ib" else common
        if common not in KNOWN:
            raise NotLoweredError(f"machine code has no {common.name}")
        return [self.astype(a, common) for a in operands]

    def maths(self, function: str, *operands: Array) -> Array:
        """A mathematical function, which may not be written."""
        if not kinds_of(function):
            raise NotLoweredError(f"{function} is not written as vector code")
        return self.map(function, *operands)

    def reading(self, array: Array, shape: Shape, axis_at: dict[int, int]) -> tuple[Value, Access]:
        skipped = len(shape) - len(array.shape)
        access = tuple(Dim(axis_at[skipped + i]) for i, n in enumerate(array.shape) if n != 1)
        return through_views(array.value, access)

    def astype(self, array: Array, dtype: Any) -> Array:
        dtype = np.dtype(dtype)
        if array.dtype == dtype:
            return array
        number = array.number
        if number is not None:
            made = self.constant(number, dtype)
            return Array(made.value, array.shape)
        dims, axis_at = axes_of(array.shape)
        args = (self.reading(array, array.shape, axis_at),)
        return Array(self._mapped(f"to_{KNOWN[dtype]}", dims, dtype, args), array.shape)

    def reduce(self, function: str, array: Array, axis: Any, keepdims: bool) -> Array:
        """Fold axes by "sum", "prod", "max", "min", "any" or "all"."""
        gone = folded_axes(axis, array.ndim)
        shape = tuple(
            1 if i in gone else n for i, n in enumerate(array.shape) if keepdims or i not in gone
        )
        _, axis_at = axes_of(array.shape)
        axes = tuple(axis_at[i] for i in gone if i in axis_at)
        if not axes:
            return Array(array.value, shape)
        value, order = in_memory_order(array.value)
        folded = tuple(sorted(order.index(a) for a in axes))
        left = [a for a in order if a not in axes]
        args = ((value, pointwise(len(order))),)
        dims = tuple(n for i, n in enumerate(value.dims) if i not in folded)
        made = self.made_once("reduce", dims, array.dtype, args, (function, folded))
        return Array(self.reordered(made, tuple(sorted(left).index(a) for a in left)), shape)


def promoting(array: Array) -> Any:
    return array.number if array.weak else array.dtype
