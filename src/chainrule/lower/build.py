"""A graph as values of the compiler: each op says in its own record (`lower`) what it becomes.

`lower` is the name of a scalar function (an elementwise op), or a function of a `Builder` and the
operands.  An op without one, and one that returns None for these operands, is called through the
interpreter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.spec import Shape
from chainrule.lower.indices import assigned, gathered, scattered
from chainrule.lower.scalars import COMPARISONS, LOGICAL, kinds_of
from chainrule.lower.values import (
    BOOL,
    DOUBLE,
    KNOWN,
    LONG,
    Access,
    Dim,
    Value,
    composed,
    pointwise,
)


class Array:
    """A value in the shape the user's code gives it, axes of size one included."""

    __slots__ = ("shape", "value")

    def __init__(self, value: Value, shape: Shape):
        self.value, self.shape = value, shape

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def number(self) -> Any:
        """The number it is, where it is a constant; else None."""
        v = self.value
        return v.params if v.kind == "constant" and v.size == 1 else None


class Program:
    """What a graph becomes: its inputs in the order of the leaves, its outputs, and the calls."""

    def __init__(
        self,
        graph: Graph,
        extra: Sequence[Node] = (),
        constants: Mapping[Node, np.ndarray] | None = None,
    ):
        """`extra` are nodes computed beside the outputs; `constants` are leaves of known value."""
        self.graph = graph
        builder = Builder()
        known: dict[Node, Any] = {}
        self.inputs: list[Value] = []
        self.shapes: list[Shape] = []
        for leaf in (*graph.leaves, *graph.captured):
            if constants and leaf in constants:
                known[leaf] = builder.given(constants[leaf]) or builder.held(constants[leaf])
                continue
            value = Value("input", _dims(leaf.shape), leaf.dtype, params=len(self.inputs))
            value.name = str(leaf.name)
            self.inputs.append(value)
            self.shapes.append(leaf.shape)
            known[leaf] = Array(value, leaf.shape)
        for node in dfs_order((*graph.outputs, *extra), inputs_of):
            if node not in known:
                known[node] = builder.lowered(node, known)
        self.results: list[Array] = [known[out] for out in (*graph.outputs, *extra)]
        self.forbidden = builder.forbidden
        self.results += self.forbidden
        self.fallbacks = builder.fallbacks

    @property
    def outputs(self) -> list[Value]:
        return [array.value for array in self.results]


class Builder:
    """Makes values; equal ones are made once."""

    def __init__(self) -> None:
        self.made: dict[Any, Value] = {}
        self.fallbacks: list[tuple[Node, str]] = []
        self.forbidden: list[Array] = []  # truths that must be false for the results to be right

    # -- nodes ---------------------------------------------------------------------------------

    def lowered(self, node: Node, known: dict[Node, Any]) -> Any:
        """The array (or the call, of an op with several results) that a node becomes."""
        if node.op.name == "item":
            call = known[node.args[0]]  # type: ignore[index]
            value = Value(
                "result", _dims(node.shape), node.dtype, ((call, ()),), node.attrs["index"]
            )
            return Array(value, node.shape)
        args = [known[a] if isinstance(a, Node) else a for a in node.args or ()]
        found, why = self._by_record(node, args)
        if found is None:
            self.fallbacks.append((node, why))
            return self._called(node, args)
        if found.value.line is None:
            found.value.line = node.line
        return found

    def _by_record(self, node: Node, args: list[Any]) -> tuple[Any, str]:
        lower = node.op.lower
        if lower is None:
            return None, "no lowering is written"
        if node.dtype not in KNOWN:
            return None, f"machine code has no {node.dtype.name}"
        operands: list[Any] = []
        for arg in args:
            operand = arg if isinstance(arg, Array) else self.given(arg)
            if operand is None or operand.dtype not in KNOWN:
                return None, "an operand is of a type that machine code does not have"
            operands.append(operand)
        try:
            found = (
                self.elementwise(lower, operands, node)
                if isinstance(lower, str)
                else lower(self, *operands, **node.attrs)
            )
        except NotLoweredError as error:
            return None, str(error)
        if found is None:
            return None, "these operands have no lowering"
        if found.shape != node.shape:
            raise AssertionError(f"{node.op.name}: lowered to {found.shape}, not {node.shape}")
        return (found if found.dtype == node.dtype else self.astype(found, node.dtype)), ""

    def _called(self, node: Node, args: list[Any]) -> Any:
        operands = tuple(
            (a.value, pointwise(len(a.value.dims))) for a in args if isinstance(a, Array)
        )
        call = Value("call", _dims(node.shape), node.dtype, operands, node)
        call.line = node.line
        call.name = node.op.name
        # How the interpreter is called: shapes of the operands, constants in their places.
        call.params = Call(node, [a.shape if isinstance(a, Array) else Constant(a) for a in args])
        return call if node.dtype == object else Array(call, node.shape)

    def given(self, value: Any) -> Array | None:
        """A constant of the graph."""
        array = np.asarray(value)
        if array.dtype.kind == "i" and array.dtype != LONG:
            array = array.astype(LONG)
        if array.dtype not in KNOWN:
            return None
        flat = array.reshape(-1)
        if array.size and (array.size == 1 or bool((flat == flat[0]).all())):
            # A Python number takes the type of what it meets.
            weak = isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))
            return self.broadcast_to(self.constant(flat[0], array.dtype, weak), array.shape)
        return self.held(array)

    def held(self, array: np.ndarray) -> Array:
        """An array kept with the code; a single number is written into it."""
        if array.size == 1 and array.dtype in KNOWN:
            return Array(self.constant(array.reshape(())[()], array.dtype).value, array.shape)
        kept = np.ascontiguousarray(array)
        return Array(Value("constant", _dims(array.shape), array.dtype, params=kept), array.shape)

    def constant(self, number: Any, dtype: Any = DOUBLE, weak: bool = False) -> Array:
        number = np.dtype(dtype).type(number)
        key = "constant", dtype, number.tobytes(), weak
        made = self.made.get(key)
        if made is None:
            made = self.made[key] = Value("constant", (), dtype, params=number.item())
            made.name = "weak" if weak else ""
        return Array(made, ())

    # -- maps ----------------------------------------------------------------------------------

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
        shape = np.broadcast_shapes(*(a.shape for a in operands))
        dims, axis_at = _axes(shape)
        args = tuple(self._read(a, shape, axis_at) for a in operands)
        if dtype is None:
            dtype = BOOL if function in COMPARISONS or function in TESTS else args[-1][0].dtype
        return Array(self._value("map", dims, dtype, args, function), shape)

    def common(self, *operands: Array) -> Any:
        """The type NumPy computes with, where a Python number takes that of what it meets."""
        return np.result_type(*(_promoting(a) for a in operands))

    def maths(self, function: str, *operands: Array) -> Array:
        """A mathematical function, which may not be written."""
        if not kinds_of(function):
            raise NotLoweredError(f"{function} is not written as vector code")
        return self.map(function, *operands)

    def _read(self, array: Array, shape: Shape, axis_at: dict[int, int]) -> tuple[Value, Access]:
        skipped = len(shape) - len(array.shape)
        access = tuple(Dim(axis_at[skipped + i]) for i, n in enumerate(array.shape) if n != 1)
        return _through_views(array.value, access)

    def _value(self, kind: str, dims: tuple[int, ...], dtype: Any, args: Any, params: Any) -> Value:
        key = kind, dims, dtype, tuple((id(v), access) for v, access in args), params
        made = self.made.get(key)
        if made is None:
            made = self.made[key] = Value(kind, dims, dtype, args, params)
        return made

    def astype(self, array: Array, dtype: Any) -> Array:
        dtype = np.dtype(dtype)
        if array.dtype == dtype:
            return array
        number = array.number
        if number is not None:
            made = self.constant(number, dtype)
            return Array(made.value, array.shape)
        dims, axis_at = _axes(array.shape)
        args = (self._read(array, array.shape, axis_at),)
        return Array(self._value("map", dims, dtype, args, f"to_{KNOWN[dtype]}"), array.shape)

    # -- views ---------------------------------------------------------------------------------

    def view(self, array: Array, shape: Shape, access: Access) -> Array:
        """The array read elsewhere; `access` is by the axes of `shape` that are not of size one."""
        dims = _dims(shape)
        base, access = _through_views(array.value, access)
        if base.dims == dims and access == pointwise(len(dims)):
            return Array(base, shape)
        if base.kind == "constant" and base.size == 1 and not dims:
            return Array(base, shape)
        return Array(self._value("map", dims, base.dtype, ((base, access),), "copy"), shape)

    def broadcast_to(self, array: Array, shape: Shape) -> Array:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if array.shape == shape:
            return array
        _, axis_at = _axes(shape)
        skipped = len(shape) - array.ndim
        access = tuple(Dim(axis_at[skipped + i]) for i, n in enumerate(array.shape) if n != 1)
        return self.view(array, tuple(shape), access)

    def transpose(self, array: Array, axes: Sequence[int] | None) -> Array:
        axes = (
            tuple(reversed(range(array.ndim)))
            if axes is None
            else tuple(a % array.ndim for a in (axes if isinstance(axes, tuple | list) else (axes,)))
        )
        shape = tuple(array.shape[a] for a in axes)
        _, axis_at = _axes(shape)
        access = tuple(Dim(axis_at[axes.index(i)]) for i, n in enumerate(array.shape) if n != 1)
        return self.view(array, shape, access)

    def reshape(self, array: Array, shape: Any) -> Array:
        wanted = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
        size = math.prod(array.shape)
        if -1 in wanted:
            rest = math.prod(n for n in wanted if n != -1)
            wanted[wanted.index(-1)] = size // rest if rest else 0
        found = tuple(int(n) for n in wanted)
        dims = _dims(found)
        if dims == array.value.dims:
            return Array(array.value, found)
        base = array.value
        if base.kind == "constant" and base.size == 1:
            return self.broadcast_to(Array(base, ()), found)
        if base.kind == "map" and base.params == "copy" and not base.args[0][1]:
            return self.broadcast_to(Array(base.args[0][0], ()), found)  # one number everywhere
        return Array(
            self._value("reshape", dims, base.dtype, ((base, pointwise(len(base.dims))),), None),
            found,
        )

    def getitem(self, array: Array, template: tuple[Any, ...]) -> Array:
        """A basic index: integers, slices, newaxis and an ellipsis."""
        given = sum(p is not None and p is not Ellipsis for p in template)
        hidden = array.ndim - given
        parts: list[Any] = []
        for part in (*template, *[Ellipsis][: Ellipsis not in template]):
            parts += [slice(None)] * hidden if part is Ellipsis else [part]
        shape: list[int] = []
        index: list[tuple[int | None, int, int]] = []  # per axis of the array: place, start, step
        sizes = iter(array.shape)
        for part in parts:
            if part is None:
                shape.append(1)
                continue
            n = next(sizes)
            if isinstance(part, slice):
                start, stop, step = part.indices(n)
                index.append((len(shape), start, step))
                shape.append(len(range(start, stop, step)))
            else:
                index.append((None, int(part) % n, 1))
        found = tuple(shape)
        _, axis_at = _axes(found)
        access = tuple(
            Dim(None if place is None else axis_at.get(place), start, step)
            for (place, start, step), n in zip(index, array.shape, strict=True)
            if n != 1
        )
        return self.view(array, found, access)

    # -- folding -------------------------------------------------------------------------------

    def reduce(self, function: str, array: Array, axis: Any, keepdims: bool) -> Array:
        """Fold axes by "sum", "prod", "max", "min", "any" or "all"."""
        gone = _gone(axis, array.ndim)
        shape = tuple(
            1 if i in gone else n for i, n in enumerate(array.shape) if keepdims or i not in gone
        )
        _, axis_at = _axes(array.shape)
        axes = tuple(axis_at[i] for i in gone if i in axis_at)
        if not axes:
            return Array(array.value, shape)
        kept = tuple(n for i, n in enumerate(array.value.dims) if i not in axes)
        value = array.value
        args = ((value, pointwise(len(value.dims))),)
        return Array(self._value("reduce", kept, array.dtype, args, (function, axes)), shape)

    # -- products ------------------------------------------------------------------------------

    def contract(self, x: Array, y: Array, labels: tuple[str, str, str]) -> Array | None:
        """Σ x·y with axes named by letters: ("bik", "bkj", "bij"); repeated letters are refused."""
        of_x, of_y, of_out = labels
        if len({*of_x}) < len(of_x) or len({*of_y}) < len(of_y) or x.dtype != y.dtype:
            return None
        if x.dtype.kind != "f":
            return None
        sizes = dict(zip(of_y, y.shape, strict=True)) | dict(zip(of_x, x.shape, strict=True))
        sizes |= {n: m for n, m in zip(of_y, y.shape, strict=True) if sizes[n] == 1}
        for name in of_x:  # what only one operand has and the result has not is summed first
            if name not in of_y and name not in of_out:
                return self.contract(
                    self.reduce("sum", x, of_x.index(name), False),
                    y,
                    (of_x.replace(name, ""), of_y, of_out),
                )
        if any(name not in of_x and name not in of_out for name in of_y):
            return self.contract(y, x, (of_y, of_x, of_out))
        batch = [n for n in of_out if n in of_x and n in of_y]
        rows = [n for n in of_out if n in of_x and n not in of_y]
        columns = [n for n in of_out if n in of_y and n not in of_x]
        summed = [n for n in of_x if n in of_y and n not in of_out]
        if any(n not in of_x and n not in of_y for n in of_out):
            return None
        size = [math.prod(sizes[n] for n in group) for group in (batch, rows, columns, summed)]
        if 0 in size or not _by_blas(*size):
            return self._multiplied(x, y, labels, sizes, summed)
        a = self._ordered(x, of_x, (batch, rows, summed), sizes)
        b = self._ordered(y, of_y, (batch, summed, columns), sizes)
        dims = tuple(n for n in (size[0], size[1], size[2]) if n != 1)
        args = (
            _through_views(a.value, pointwise(len(a.value.dims))),
            _through_views(b.value, pointwise(len(b.value.dims))),
        )
        value = self._value("product", dims, x.dtype, args, tuple(size))
        straight = Array(value, tuple(sizes[n] for n in (*batch, *rows, *columns)))
        if dims != _dims(straight.shape):
            straight = self.reshape(Array(value, (size[0], size[1], size[2])), straight.shape)
        order = [*batch, *rows, *columns]
        return self.transpose(straight, [order.index(n) for n in of_out])

    def _ordered(self, array: Array, labels: str, groups: Any, sizes: dict[str, int]) -> Array:
        """The array as (batch, rows, columns): a view where its axes allow, else a copy."""
        order = [labels.index(n) for group in groups for n in group]
        moved = self.transpose(array, order)
        shape = tuple(math.prod(sizes[n] for n in group) for group in groups)
        full = self.broadcast_to(moved, tuple(sizes[n] for group in groups for n in group))
        return self.reshape(full, shape)

    def _multiplied(
        self,
        x: Array,
        y: Array,
        labels: tuple[str, str, str],
        sizes: dict[str, int],
        summed: list[str],
    ) -> Array:
        """The contraction as a product at each index, summed: for what is too small for BLAS."""
        of_x, of_y, of_out = labels
        every = [*of_out, *summed]
        spread = []
        for array, names in ((x, of_x), (y, of_y)):
            moved = self.transpose(array, [names.index(n) for n in every if n in names])
            place = [i for i, n in enumerate(every) if n in names]
            shape = [1] * len(every)
            for i, n in zip(place, moved.shape, strict=True):
                shape[i] = n
            spread.append(self.reshape(moved, shape))
        product = self.map("multiply", *spread)
        gone = tuple(range(len(of_out), len(every)))
        return self.reduce("sum", product, gone, False) if gone else product

    # -- pieces --------------------------------------------------------------------------------

    def join(
        self, shape: Shape, dtype: Any, base: Array | None, pieces: Sequence[tuple[Array, Access]]
    ) -> Array:
        """An array of `base` (None: zeros) in which each piece stands where its access says.

        The access is by the axes of the piece, one Dim per axis of `shape` that is not of size one.
        """
        args: list[tuple[Value, Access]] = []
        if base is not None:
            args.append((base.value, pointwise(len(base.value.dims))))
        args += [(piece.value, pointwise(len(piece.value.dims))) for piece, _ in pieces]
        regions = tuple(access for _, access in pieces)
        value = Value(
            "join", _dims(shape), np.dtype(dtype), tuple(args), (base is not None, regions)
        )
        return Array(value, tuple(shape))


    def gather(self, x: Array, arrays: tuple[Array, ...], template: Any) -> Array | None:
        return gathered(self, x, arrays, template)

    def scatter(self, g: Array, arrays: tuple[Array, ...], template: Any, shape: Shape) -> Array | None:
        return scattered(self, g, arrays, template, shape)

    def setitem_at(self, x: Array, value: Array, arrays: tuple[Array, ...], template: Any) -> Array | None:
        return assigned(self, x, value, arrays, template)

    def forbid(self, truth: Array) -> None:
        """The results hold only where this is false."""
        if truth not in self.forbidden:
            self.forbidden.append(truth)

    def refuse(self, why: str) -> None:
        raise NotLoweredError(why)

    def array(self, value: Value, shape: Shape) -> Array:
        return Array(value, tuple(shape))

    def stored(self, array: Array) -> Array:
        """The array as one that lies in memory in its own order, and is no single number."""
        base = array.value
        if base.kind == "constant" and base.size == 1:
            filled = np.full(array.shape, base.params, base.dtype)
            return self.held(filled)
        return array

    def embed(self, array: Array, template: tuple[Any, ...], shape: Shape) -> Array:
        """Zeros but for what a basic index selects."""
        return self.join(shape, array.dtype, None, [(array, _region(template, shape))])

    def setitem(self, array: Array, value: Array, template: tuple[Any, ...]) -> Array:
        """The array with another value where a basic index selects."""
        place = np.broadcast_to(0, array.shape)[template].shape
        value = self.astype(value, array.dtype)
        while value.ndim > len(place):
            value = self.reshape(value, value.shape[1:])
        piece = self.broadcast_to(value, place)
        return self.join(array.shape, array.dtype, array, [(piece, _region(template, array.shape))])

    def pad(self, array: Array, widths: Any) -> Array:
        sides = list(zip(array.shape, widths, strict=True))
        shape = tuple(n + before + after for n, (before, after) in sides)
        template = tuple(slice(before, before + n) for n, (before, _) in sides)
        return self.embed(array, template, shape)

    def concatenate(self, arrays: Sequence[Array], axis: int | None) -> Array:
        if axis is None:
            arrays, axis = [self.reshape(a, (-1,)) for a in arrays], 0
        axis %= arrays[0].ndim
        whole = list(arrays[0].shape)
        whole[axis] = sum(a.shape[axis] for a in arrays)
        pieces, at = [], 0
        for array in arrays:
            n = array.shape[axis]
            template = (slice(None),) * axis + (slice(at, at + n),)
            if n:
                pieces.append((array, _region(template, tuple(whole))))
            at += n
        dtypes = {a.dtype for a in arrays}
        if len(dtypes) > 1:
            raise NotLoweredError("arrays of several types are joined")
        return self.join(tuple(whole), arrays[0].dtype, None, pieces)

    def stack(self, arrays: Sequence[Array], axis: int) -> Array:
        axis %= arrays[0].ndim + 1
        return self.concatenate(
            [self.reshape(a, (*a.shape[:axis], 1, *a.shape[axis:])) for a in arrays], axis
        )

    # -- products by name ----------------------------------------------------------------------

    def matmul(self, x: Array, y: Array) -> Array | None:
        common = np.result_type(x.dtype, y.dtype)
        x, y = self.astype(x, common), self.astype(y, common)
        stack = max(x.ndim, y.ndim, 2) - 2
        letters = LETTERS[:stack]
        of_x = "k" if x.ndim == 1 else letters[stack - (x.ndim - 2) :] + "ik"
        of_y = "k" if y.ndim == 1 else letters[stack - (y.ndim - 2) :] + "kj"
        of_out = letters + ("i" if x.ndim > 1 else "") + ("j" if y.ndim > 1 else "")
        return self.contract(x, y, (of_x, of_y, of_out))

    def tensordot(self, x: Array, y: Array, axes: Any) -> Array | None:
        common = np.result_type(x.dtype, y.dtype)
        if isinstance(axes, (int, np.integer)):
            of_x = list(range(x.ndim - axes, x.ndim))
            of_y = list(range(axes))
        else:
            of_x, of_y = ([a] if isinstance(a, (int, np.integer)) else list(a) for a in axes)
        first = LETTERS[: x.ndim]
        second = list(LETTERS[x.ndim : x.ndim + y.ndim])
        for i, j in zip(of_x, of_y, strict=True):
            second[j % y.ndim] = first[i % x.ndim]
        gone = {first[i % x.ndim] for i in of_x}
        out = "".join(n for n in (*first, *second) if n not in gone)
        labels = (first, "".join(second), out)
        return self.contract(self.astype(x, common), self.astype(y, common), labels)

    def einsum(self, x: Array, y: Array, subscripts: str) -> Array | None:
        terms, out = subscripts.split("->")
        of_x, of_y = terms.split(",")
        common = np.result_type(x.dtype, y.dtype)
        return self.contract(self.astype(x, common), self.astype(y, common), (of_x, of_y, out))


class NotLoweredError(Exception):
    """An op is left to the interpreter, for the reason given."""


LETTERS = "abcdefghlmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # without i, j, k of a matrix product
TESTS = frozenset({"isnan", "isfinite", "isinf", "signbit", *LOGICAL})
OF_TRUTH = frozenset({*LOGICAL, *COMPARISONS, "where", "copy", "multiply"})


class Constant:
    """An argument of a call that is no array of the program."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Move:
    """Stands for a node whose op copies: of a type that machine code does not have."""

    line = None
    attrs: Mapping[str, Any] = {}  # noqa: RUF012 - read only

    class op:  # noqa: N801 - as the field of a node
        name = "copy"

        @staticmethod
        def forward(x: Any) -> Any:
            return x


class Call:
    """An op as the interpreter calls it: per argument its shape, or the constant it is."""

    __slots__ = ("arguments", "node")

    def __init__(self, node: Node, arguments: list[Any]):
        self.node, self.arguments = node, arguments

    @property
    def op(self) -> Any:
        return self.node.op


def _region(template: tuple[Any, ...], shape: Shape) -> Access:
    """Where a basic index of an array of this shape points, by the axes of what it selects."""
    hidden = len(shape) - sum(p is not None and p is not Ellipsis for p in template)
    parts: list[Any] = []
    for part in (*template, *[Ellipsis][: Ellipsis not in template]):
        parts += [slice(None)] * hidden if part is Ellipsis else [part]
    sizes, found, axis = iter(shape), [], 0
    for part in parts:
        if part is None:
            continue
        n = next(sizes)
        if isinstance(part, slice):
            start, stop, step = part.indices(n)
            count = len(range(start, stop, step))
            if n != 1:
                found.append(Dim(axis if count != 1 else None, start, step))
            axis += count != 1
        elif n != 1:
            found.append(Dim(None, int(part) % n))
    return tuple(found)


def _dims(shape: Shape) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _axes(shape: Shape) -> tuple[tuple[int, ...], dict[int, int]]:
    """The extents other than one, and for each such position which axis it is."""
    axis_at: dict[int, int] = {}
    for i, n in enumerate(shape):
        if n != 1:
            axis_at[i] = len(axis_at)
    return tuple(n for n in shape if n != 1), axis_at


def _gone(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    listed = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(a % ndim for a in listed))


def _through_views(value: Value, access: Access) -> tuple[Value, Access]:
    """What is read through a view is read from what the view is of."""
    while value.kind == "map" and value.params == "copy":
        inner, way = value.args[0]
        value, access = inner, composed(way, access)
    return value, access


def _promoting(array: Array) -> Any:
    number = array.number
    return number if number is not None and array.value.name == "weak" else array.dtype


SMALL = 8  # an extent below which a product is written out


def _by_blas(batch: int, rows: int, columns: int, summed: int) -> bool:
    """Whether a product is large enough in every direction for BLAS."""
    return min(rows, columns) >= SMALL and summed >= 4 and rows * columns * summed >= 4096
