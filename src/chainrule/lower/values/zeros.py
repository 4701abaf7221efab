"""Which elements of a value are zero whatever the inputs are.

Only what is sure counts: a piece of constant zeros, the part of a `where` that a constant condition
selects, what a constant index leaves out.  A product with zero is not: it is NaN of an infinity.
None says that nothing is known to be zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.lower.values.value import BOOL, LONG, Access, Value, pointwise

MAX_VALUES, MAX_ELEMENTS = 100, 2**22  # that are looked at for one answer
SAME_ZEROS = frozenset({"copy", "negative", "to_f64", "to_f32", "add", "subtract"})
# Indices and conditions of constants, which are not computed before the program runs.
FOLDED: dict[str, Callable[..., Any]] = {
    "copy": lambda x: x, "add": np.add, "subtract": np.subtract, "multiply": np.multiply,
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "equal": np.equal,
    "greater_equal": np.greater_equal, "not_equal": np.not_equal, "logical_not": np.logical_not,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "where": np.where,
}  # fmt: skip
Truth = np.ndarray | None


def indices(access: Access, dims: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Per axis of an operand, the index at which each element of `dims` reads it."""
    found = []
    for d in access:
        index = np.full((1,) * len(dims), d.start)
        for axis, step in d.terms:
            shape = [1] * len(dims)
            shape[axis] = dims[axis]
            index = index + step * np.arange(dims[axis]).reshape(shape)
        found.append(index)
    return tuple(found)


def read(array: np.ndarray, access: Access, dims: tuple[int, ...]) -> np.ndarray:
    """The array as it is read over `dims`."""
    if access == pointwise(len(dims)) and array.shape == dims:
        return array
    seen = array[indices(access, dims)] if access else array.reshape(-1)[0]
    return np.broadcast_to(seen, dims)


class Zeros:
    """Answers about the values of one program, each found once."""

    def __init__(self) -> None:
        self._known: dict[Value, np.ndarray | None] = {}
        self._zero: dict[Value, Truth] = {}

    def of(self, value: Value) -> Truth:
        """Where a value is zero in every call."""
        above = self._above(value)
        if above is None:
            return None
        for v in above:
            self._note(v)
        return self._zero[value]

    def known(self, value: Value) -> np.ndarray | None:
        """The value itself, if it is one of constants."""
        self.of(value)
        return self._known.get(value)

    def _above(self, value: Value) -> list[Value] | None:
        """The values that an answer depends on, operands first; None if they are too many."""
        entered: set[Value] = set()
        order: list[Value] = []
        stack = [(value, False)]
        while stack:
            v, done = stack.pop()
            if done:
                order.append(v)
            elif v not in entered and v not in self._zero:
                entered.add(v)
                if len(entered) > MAX_VALUES or v.size > MAX_ELEMENTS:
                    return None
                stack.append((v, True))
                stack += [(a, False) for a, _ in v.args if _transparent(v)]
        return order

    def _note(self, v: Value) -> None:
        self._known[v] = self._constant(v)
        self._zero[v] = self._zeros(v) if _transparent(v) else None

    def _constant(self, v: Value) -> np.ndarray | None:
        if v.kind == "constant":
            return np.asarray(v.params, v.dtype).reshape(v.dims)
        if v.dtype not in (BOOL, LONG) or v.kind not in ("map", "reshape"):
            return None
        operands = [self._known.get(a) for a, _ in v.args]
        if v.kind == "map" and v.params not in FOLDED:
            return None
        given = [a for a in operands if a is not None]
        if len(given) < len(operands):
            return None
        if v.kind == "reshape":
            return given[0].reshape(v.dims)
        seen = [read(a, way, v.dims) for a, (_, way) in zip(given, v.args, strict=True)]
        return np.asarray(FOLDED[v.params](*seen), v.dtype)

    def _zeros(self, v: Value) -> Truth:
        known = self._known[v]
        if known is not None:
            return known == 0 if not known.all() else None
        zero = [self._zero[a] for a, _ in v.args]
        if v.kind == "reshape":
            return None if zero[0] is None else zero[0].reshape(v.dims)
        if v.kind == "join":
            return self._joined(v, zero)
        if v.kind == "scatter":
            return self._scattered(v, zero)
        seen = [
            None if z is None else read(z, way, v.dims)
            for z, (_, way) in zip(zero, v.args, strict=True)
            if v.params != "take"
        ]
        if v.params == "take":
            positions = self._known[v.args[1][0]]
            if zero[0] is None or positions is None:
                return None
            return zero[0].reshape(-1)[read(positions, v.args[1][1], v.dims)]
        if v.params == "where":
            condition = self._known[v.args[0][0]]
            if condition is None or (seen[1] is None and seen[2] is None):
                return None
            yes, no = (np.zeros(v.dims, bool) if z is None else z for z in seen[1:])
            return np.where(read(condition, v.args[0][1], v.dims), yes, no)
        sure = [z for z in seen if z is not None and v.params in SAME_ZEROS]
        return np.logical_and.reduce(sure) if len(sure) == len(seen) else None

    @staticmethod
    def _joined(v: Value, zero: Sequence[Truth]) -> Truth:
        has_base, regions, added = v.params
        found = np.ones(v.dims, bool)
        pieces = list(zip(zero, v.args, strict=True))
        if has_base:
            below, (_, access) = pieces.pop(0)
            found[...] = False if below is None else read(below, access, v.dims)
        for (z, (_, access)), (dims, region) in zip(pieces, regions, strict=True):
            at = indices(region, dims)
            seen = False if z is None else read(z, access, dims)
            found[at] = found[at] & seen if added else seen
        return found if found.any() else None

    def _scattered(self, v: Value, zero: Sequence[Truth]) -> Truth:
        """Zero where only zeros are written; of several writes any may be the last."""
        positions = self._known[v.args[1][0]]
        base = np.ones(v.dims, bool) if len(v.args) == 2 else zero[2]
        if positions is None:
            return None
        found = np.zeros(v.size, bool) if base is None else base.reshape(-1).copy()
        at = positions.reshape(-1)
        if v.params == "copy":
            found[at] = True
        found[at if zero[0] is None else at[~zero[0].reshape(-1)]] = False
        return found.reshape(v.dims) if found.any() else None


def _transparent(v: Value) -> bool:
    """Whether zeros can be seen through a value."""
    if v.kind == "map":
        return v.params in SAME_ZEROS or v.params in FOLDED or v.params == "take"
    return v.kind in ("constant", "reshape", "join", "scatter")
