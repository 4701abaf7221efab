"""Putting arrays together: concatenate and stack, and nested lists as one array."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from chainrule.core.batching import BatchCall
from chainrule.core.depends import FILLS
from chainrule.core.op import Function, Op, Sample, sample
from chainrule.core.parts import OBJECT
from chainrule.core.spec import Spec, is_inexact
from chainrule.errors import DTypeError, ShapeError
from chainrule.ops.define import composite, linear, shaped_spec
from chainrule.ops.samples import draw
from chainrule.ops.structure import astype

NUMBERS = (int, float, complex)  # which do not widen the type of what they are computed with


def in_one_dtype(xs: Sequence[Any]) -> list[Any] | None:
    """The operands with integers in the result's dtype, if some are integers and some are not.

    An integer input of a variadic op is an index to the engine and has no tangent; beside
    floating-point operands it is a constant, whose tangent is zero.
    """
    dtypes = [Spec.of(x).dtype for x in xs]
    exact = [not is_inexact(d) for d in dtypes]
    if all(exact) or not any(exact):
        return None
    common = np.result_type(*dtypes)
    return [astype(x, dtype=common) if e else x for x, e in zip(xs, exact, strict=True)]


def _concatenate(*xs: Any, axis: int | None = 0) -> Any:
    return np.concatenate(xs, axis=axis)


def _concatenate_shape(*xs: Spec, axis: int | None) -> Any:
    """The sizes along the axis add up; every other size is one for all."""
    if axis is None:
        return (sum(x.size for x in xs),)
    at = normalize_axis_index(axis, xs[0].ndim)
    rests = {(*x.shape[:at], *x.shape[at + 1 :]) for x in xs}
    if len(rests) > 1 or any(x.ndim != xs[0].ndim for x in xs):
        listed = " and ".join(str(x.shape) for x in xs)
        raise ShapeError(f"shapes {listed} differ beside the axis {axis}")
    return (*xs[0].shape[:at], sum(x.shape[at] for x in xs), *xs[0].shape[at + 1 :])


def _split_back(g: Any, xs_spec: Sequence[Any], axis: int | None) -> list[Any]:
    """The transpose of concatenating: each input gets its own slice of the adjoint."""
    pieces, start = [], 0
    for spec in xs_spec:
        width = spec.size if axis is None else spec.shape[axis]
        before = 0 if axis is None else axis % spec.ndim
        piece = g[(slice(None),) * before + (slice(start, start + width),)]
        pieces.append(np.reshape(piece, spec.shape) if axis is None else piece)
        start += width
    return pieces


def _concatenate_variant(*xs: Any, axis: int | None) -> tuple[Op, list[Any]] | None:
    changed = in_one_dtype(xs)
    return None if changed is None else (concatenate, changed)


def _joins() -> list[Sample]:
    a, b, c = draw((2, 3), -2, 2), draw((1, 3), -2, 2, 1), draw((2, 2), -2, 2, 2)
    whole = np.arange(3)
    return [
        sample(a, b, axis=0),
        sample(a, c, axis=1),
        sample(a, b, axis=None),
        sample(a, c, a, axis=-1),
        sample(a, draw((0, 3), -2, 2), axis=0),
        sample(a, axis=1),
        sample(a[0], whole, axis=0),
        sample(whole, a, draw((), -2, 2), axis=None),
        sample(a.astype(np.float32), b.astype(np.float32), axis=0),
        sample(a, b + 1j * b, axis=0),
    ]


def _concatenate_lanes(call: BatchCall) -> Any:
    axis, xs = call.attrs["axis"], [call.spread(i) for i in range(len(call.args))]
    if axis is None:
        return call.call(*(x.reshape((call.count, prod(x.shape[1:]))) for x in xs), axis=1)
    return call.call(*xs, axis=axis % len(call.shape) + 1)


def _concatenated_rows(make: Any, rows: Any, axis: int | None = 0) -> Any:
    """concatenate of the rows of an array: two of its axes become one."""
    count, *row = rows.shape
    if axis is None:
        return make("reshape", (rows,), {"shape": (rows.size,)})
    axis %= len(row)
    order = (*range(1, axis + 1), 0, *range(axis + 1, len(row) + 1))
    if axis:
        rows = make("transpose", (rows,), {"axes": order})
    row[axis] *= count
    return make("reshape", (rows,), {"shape": tuple(row)})


concatenate = linear(
    "concatenate",
    _concatenate,
    _split_back,
    inputs=("xs",),
    variadic=True,
    samples=_joins,
    bad=lambda: [
        sample(draw((2, 3), -2, 2), draw((2, 2), -2, 2), axis=0),
        sample(draw((2, 3), -2, 2), draw((3,), -2, 2), axis=0),
        sample(draw((2, 3), -2, 2), draw((2, 3), -2, 2), axis=2),
    ],
    depends=FILLS,  # the lanes of constants
    spec=shaped_spec(_concatenate, _concatenate_shape),
    variant=_concatenate_variant,
    doc="concatenate([x, y, …], axis): arrays one after the other along an axis they have.",
    lower=lambda b, *xs, axis: b.concatenate(xs, axis),
    batch=_concatenate_lanes,
    of_rows=_concatenated_rows,
)


def _stacked_rows(make: Any, rows: Any, axis: int = 0) -> Any:
    """stack of the rows of an array: the array, with its first axis in that place."""
    rank = len(rows.shape)
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    if order == list(range(rank)):
        return rows
    return make("transpose", (rows,), {"axes": tuple(order)})


def _stack(*xs: Any, axis: int = 0) -> Any:
    return np.stack([np.asarray(x) for x in xs], axis=axis)


def _stack_shape(*xs: Spec, axis: int) -> Any:
    if len({x.shape for x in xs}) > 1:
        listed = " and ".join(str(x.shape) for x in xs)
        raise ShapeError(f"shapes {listed} differ, and only equal ones are stacked")
    at = normalize_axis_index(axis, xs[0].ndim + 1)
    return (*xs[0].shape[:at], len(xs), *xs[0].shape[at:])


def _stack_back(g: Any, xs_spec: Sequence[Any], axis: int) -> list[Any]:
    """The transpose of stacking: each input gets its own place along the new axis."""
    at = (slice(None),) * (axis % len(g.shape))
    return [g[(*at, i)] for i in range(len(xs_spec))]


def _stack_variant(*xs: Any, axis: int) -> tuple[Op, list[Any]] | None:
    changed = in_one_dtype(xs)
    return None if changed is None else (stack, changed)


def _stacks() -> list[Sample]:
    a, b = draw((2, 3), -2, 2), draw((2, 3), -2, 2, 1)
    return [
        *(sample(a, b, axis=axis) for axis in (0, 1, -1)),
        sample(np.float64(1.0), np.float64(2.0), axis=0),
        sample(a, axis=0),
        sample(a[0], np.arange(3), axis=1),
        sample(np.float64(1.0), 2, 0.5, axis=0),
        sample(a.astype(np.float32), b.astype(np.float32), axis=1),
        sample(a + 1j * b, b, axis=0),
    ]


def _stack_lanes(call: BatchCall) -> Any:
    xs = [call.spread(i) for i in range(len(call.args))]
    return call.call(*xs, axis=call.attrs["axis"] % len(call.shape) + 1)


stack = linear(
    "stack",
    _stack,
    _stack_back,
    inputs=("xs",),
    variadic=True,
    samples=_stacks,
    bad=lambda: [
        sample(draw((2, 3), -2, 2), draw((3,), -2, 2), axis=0),
        sample(draw((2, 3), -2, 2), draw((2, 3), -2, 2), axis=3),
    ],
    depends=FILLS,  # the lanes of constants
    spec=shaped_spec(_stack, _stack_shape),
    variant=_stack_variant,
    doc="stack([x, y, …], axis): arrays of one shape along a new axis; numbers are 0-d arrays.",
    lower=lambda b, *xs, axis: b.stack(xs, axis),
    batch=_stack_lanes,
    of_rows=_stacked_rows,
)


NUMERIC = frozenset("fciub")  # the kinds of dtype that hold numbers
MASKED = (
    "the mask of a masked array would be lost beside a Variable; pass a.filled(value), or the "
    "plain array a.data and use np.where(mask, otherwise, …)"
)


def as_array(value: Any) -> Any:
    """A nested sequence (or object array) as one array; Variables inside keep their gradient."""
    if hasattr(value, "dtype") and value.dtype != OBJECT:
        return numeric(value)
    if isinstance(value, np.ndarray):
        return as_array(value.tolist())
    if is_table(value):
        return as_array(value.to_numpy())
    if holds_variable(value):
        nested = (list, tuple, np.ndarray)
        return stack([as_array(v) if isinstance(v, nested) else v for v in value])
    try:
        array = np.asarray(value)
    except ValueError:
        shapes = ", ".join(str(np.shape(row)) for row in value[:4])
        more = ", …" if len(value) > 4 else ""
        raise ShapeError(f"a list of rows of different shapes: {shapes}{more}") from None
    if array.dtype.kind not in NUMERIC:
        what = "sequence" if isinstance(value, (list, tuple)) else type(value).__name__
        raise DTypeError(f"a {what} is not a number or an array of numbers: {value!r:.60}")
    return array


def of_arrays(expand: Function) -> Function:
    """A composite's expansion in operators, to which a nested list of numbers is an array too."""

    def array(value: Any) -> Any:
        return value if isinstance(value, NUMBERS) else as_array(value)

    @wraps(expand)
    def expanded(*args: Any, **named: Any) -> Any:
        return expand(*map(array, args), **{name: array(a) for name, a in named.items()})

    return expanded


def numeric(array: Any) -> Any:
    """The array itself, if all it holds is numbers; of a column of a table its numbers."""
    if is_table(array):
        return as_array(array.to_numpy())
    if array.dtype.kind not in NUMERIC:
        raise DTypeError(f"{array.dtype.name} is not a type of numbers")
    refuse_twist(array)
    return array


def is_table(value: Any) -> bool:
    """A column or a whole table of pandas, or of a library with the same way out."""
    return not hasattr(value, "__chainrule_record__") and hasattr(type(value), "to_numpy")


def refuse_twist(value: Any) -> None:
    """NumPy's subclasses of ndarray that mean something else by the same numbers."""
    if not isinstance(value, np.ndarray) or type(value) is np.ndarray:
        return
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(MASKED)
    if isinstance(value, np.matrix):
        raise DTypeError(
            "`*` of np.matrix is a matrix product; pass np.asarray(m), and write `@` for it"
        )


def holds_variable(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == OBJECT and any(holds_variable(v) for v in value.flat)
    if isinstance(value, (list, tuple)):
        return any(holds_variable(v) for v in value)
    return hasattr(value, "__chainrule_record__")


def parts_of(arrays: Any, dtype: Any = None, casting: str = "same_kind") -> list[Any]:
    """What is to be joined, in `dtype`; a single array stands for its rows, as in NumPy."""
    parts = [as_array(a) for a in arrays]
    if dtype is None:
        return parts
    for part in parts:
        if not np.can_cast(part.dtype, dtype, casting):  # type: ignore[arg-type]
            raise DTypeError(f"{part.dtype} cannot be cast to {np.dtype(dtype)} ({casting=})")
    return [astype(p, dtype=np.dtype(dtype)) for p in parts]


def _numpy_concatenate(
    arrays: Any, axis: int | None = 0, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    return concatenate(parts_of(arrays, dtype, casting), axis=axis)


def rows_samples(**attrs: Any) -> Any:
    """Samples of a function of a sequence, given as one array whose rows it joins."""
    shapes = ((2, 3), (3, 1, 2), (2, 2, 3, 2))
    return lambda: [sample(draw(s, -2, 2), **attrs) for s in shapes]


def _with_axes(*axes: int | None) -> Any:
    def samples() -> list[Sample]:
        x = draw((3, 2, 4), -2, 2)
        wide = sample(x, axis=0, dtype=np.dtype(np.complex128))
        return [*(sample(x, axis=axis) for axis in axes), wide]

    return samples


numpy_concatenate = composite(
    "numpy_concatenate",
    _numpy_concatenate,
    inputs=("arrays",),
    samples=_with_axes(0, 1, -1, None),
    numpy=(np.concatenate,),  # np.concat is the same function
    doc="np.concatenate as NumPy calls it; recorded as `concatenate`.",
)
numpy_stack = composite(
    "numpy_stack",
    lambda arrays, axis=0, dtype=None, casting="same_kind": stack(
        parts_of(arrays, dtype, casting), axis=axis
    ),
    inputs=("arrays",),
    samples=_with_axes(0, 1, 2, -1),
    numpy=(np.stack,),
    doc="np.stack as NumPy calls it; recorded as `stack`.",
)
