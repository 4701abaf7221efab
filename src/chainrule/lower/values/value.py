"""Arrays as a compiler sees them: what is computed at each index, from what, at which index.

A value has `dims`, its extents without those of size one: an axis of size one is a matter of
notation, and broadcasting is a matter of access.  The kinds:

    input     an array that is given              constant  a number, or an array kept with the code
    map       a scalar function at each index     reduce    a map folded over some axes
    product   a sum of products, by BLAS          reshape   the same numbers in the same order
    join      pieces stored side by side          scatter   elements written where positions say
    scan      each element made of the one before it along an axis
    routine   matrices factored or solved with, by LAPACK
    call      an op that the interpreter computes
    loop      an iteration that is a program of its own, run many times
    result    one of several arrays that a routine, a call or a loop gives

A map reads each operand at an `Access`: per axis of the operand, which axis of the result it
follows, from where, and how far apart.  Slices, transposes, broadcasting and sliding windows are
nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

BOOL, DOUBLE, SINGLE, LONG = (np.dtype(t) for t in (np.bool_, np.float64, np.float32, np.int64))
KNOWN = {BOOL: "i1", DOUBLE: "f64", SINGLE: "f32", LONG: "i64"}  # what machine code computes with


class Dim(NamedTuple):
    """One axis of an operand: its index is start + step × (index of the result along `axis`).

    A window slides: there the index is a sum, and `also` are the other (axis, step) of it.
    """

    axis: int | None
    start: int = 0
    step: int = 1
    also: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, start: int, terms: Sequence[tuple[int, int]]) -> Dim:
        """The axis whose index is start + Σ step × (index along axis), by all (axis, step)."""
        return cls(terms[0][0], start, terms[0][1], tuple(terms[1:])) if terms else cls(None, start)

    @property
    def terms(self) -> tuple[tuple[int, int], ...]:
        """Every (axis, step) that the index depends on."""
        return () if self.axis is None else ((self.axis, self.step), *self.also)


Access = tuple[Dim, ...]


class Value:
    """One array of the program; `args` are (value, access) of what it is computed from.

    `line` is the user's, `name` what a reader calls it; `params` depends on the kind:
    map: the function; reduce: (function, axes); product: sizes; scan: (function, axis);
    routine: what is asked for; call: the node; join: whether its first operand lies below the
    pieces, the extents and regions of these, and whether they are added.
    """

    __slots__ = ("args", "dims", "dtype", "kind", "line", "name", "number", "order", "params")

    def __init__(
        self,
        kind: str,
        dims: tuple[int, ...],
        dtype: Any,
        args: tuple[tuple[Value, Access], ...] = (),
        params: Any = None,
    ):
        self.kind, self.dims, self.dtype, self.args, self.params = kind, dims, dtype, args, params
        self.line: Any = None
        self.name = ""
        self.number = -1
        self.order: tuple[int, ...] | None = None  # of the axes in memory, if it is another

    @property
    def strides(self) -> tuple[int, ...]:
        """How many elements apart neighbours along each axis lie in memory."""
        if self.order is None:
            return strides_of(self.dims)
        found = dict(zip(self.order, strides_of([self.dims[a] for a in self.order]), strict=True))
        return tuple(found[a] for a in range(len(self.dims)))

    @property
    def size(self) -> int:
        size = 1
        for n in self.dims:
            size *= n
        return size

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"%{self.number}" if self.number >= 0 else f"<{self.kind} {self.params}>"


@cache
def pointwise(rank: int) -> Access:
    """The access of an operand that has the axes of the result."""
    return tuple(Dim(i) for i in range(rank))


def root(value: Value) -> Value:
    """The value whose memory this one is."""
    while value.kind == "reshape":
        value = value.args[0][0]
    return value


def composed(inner: Access, outer: Access) -> Access:
    """An operand of a view, read where the view is read at `outer`."""
    found = []
    for d in inner:
        start, steps = d.start, dict[int, int]()
        for axis, step in d.terms:
            start += step * outer[axis].start
            for beyond, further in outer[axis].terms:
                steps[beyond] = steps.get(beyond, 0) + step * further
        found.append(Dim.of(start, list(steps.items())))
    return tuple(found)


def strides_of(dims: Sequence[int]) -> tuple[int, ...]:
    """How many elements apart neighbours along each axis lie, rows last."""
    strides, step = [], 1
    for n in reversed(dims):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def program_text(outputs: list[Value]) -> str:
    """Every value the outputs need, one line each."""
    lines = []
    for v in ordered(outputs):
        read = ", ".join(f"%{a.number}{_access_text(a, access, v)}" for a, access in v.args)
        what = v.params[0] if v.kind == "reduce" else v.params if v.kind == "map" else v.kind
        extra = f" over {list(v.params[1])}" if v.kind == "reduce" else ""
        if v.kind == "call":
            what = f"call {v.params.op.name}"
        if v.kind == "routine":
            what = v.params.name
        if v.kind == "constant":
            what = f"constant {v.params}" if v.size == 1 else "constant array"
        lines.append(f"  %{v.number} = {what} {read}{extra}".ljust(48) + _spec_text(v))
    return "\n".join(lines)


def _spec_text(v: Value) -> str:
    return f"  {KNOWN.get(v.dtype, v.dtype.name)}[{', '.join(map(str, v.dims))}]"


def _access_text(a: Value, access: Access, reader: Value) -> str:
    if access == pointwise(len(a.dims)) and len(a.dims) == len(reader.dims):
        return ""
    return f"[{', '.join(map(_dim_text, access))}]"


def _dim_text(d: Dim) -> str:
    terms = [f"{'' if step == 1 else f'{step}·'}i{axis}" for axis, step in d.terms]
    return "+".join([*terms, *[str(d.start)][: d.start != 0 or not terms]])


def ordered(outputs: list[Value]) -> list[Value]:
    """Every value above the outputs, operands first, numbered in that order."""
    order: list[Value] = []
    entered: set[Value] = set()
    stack: list[tuple[Value, bool]] = [(v, False) for v in reversed(outputs)]
    while stack:
        v, done = stack.pop()
        if done:
            v.number = len(order)
            order.append(v)
        elif v not in entered:
            entered.add(v)
            stack.append((v, True))
            stack += [(a, False) for a, _ in reversed(v.args) if a not in entered]
    return order
