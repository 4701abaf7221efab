"""Seeing an array in another shape without computing: reshape, transpose, broadcast and friends.

NumPy returns views here, and so do we: an op with `view=True` tells the engine, which then refuses
writes through its result.  The friends are written in the three ops that move anything: a function
of axes becomes one `transpose`, a function of sizes one `reshape`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, lifted
from chainrule.core.masked import concrete
from chainrule.core.op import Sample, sample
from chainrule.core.spec import broadcast_shapes, dummy
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.define import composite, linear
from chainrule.ops.joining import as_array
from chainrule.ops.picking import RESHAPED, SPREAD, TURNED
from chainrule.ops.samples import draw
from chainrule.ops.structure import copy as copy_of

Shape = int | tuple[int, ...]


def _reshape(x: Any, shape: Shape, order: str = "C") -> Any:
    if order not in ("C", "F"):
        raise ArgumentError(
            f"reshape: order={order!r} reads the memory layout, which a graph does not keep; "
            "say order='C' or order='F'"
        )
    if not hasattr(x, "reshape"):
        x = np.asarray(x)
    return x.reshape(shape, order=order)


def _reshape_lowered(b: Any, x: Any, shape: Any, order: str) -> Any:
    """Columns first is rows first of what is transposed."""
    if order == "C":
        return b.reshape(x, shape)
    wanted = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return b.transpose(b.reshape(b.transpose(x, None), wanted[::-1]), None)


def _reshape_lanes(call: BatchCall) -> Any:
    """Columns first within a lane is rows first of the lane transposed."""
    x, shape = call.raw(0), call.shape
    if call.attrs["order"] == "C":
        return call.call(x, shape=(call.count, *shape))
    back = (0, *range(x.ndim - 1, 0, -1))
    turned = np.transpose(x, back).reshape((call.count, *shape[::-1]))
    return np.transpose(turned, (0, *range(len(shape), 0, -1)))


reshape = linear(
    "reshape",
    _reshape,
    lambda g, x_spec, order: g.reshape(x_spec.shape, order=order),
    samples=lambda: [
        sample(draw((2, 3), -2, 2), shape=(3, 2)),
        sample(draw((2, 3), -2, 2), shape=-1),
        sample(draw((2, 3), -2, 2), shape=(6,), order="F"),
        sample(draw((2, 3, 4), -2, 2), shape=(4, -1), order="F"),
        sample(draw((0, 3), -2, 2), shape=(3, 0)),
        sample(draw((1,), -2, 2), shape=()),
        sample(draw((4,), -2, 2).astype(np.float32), shape=(2, 2)),
        sample(draw((4,), -2, 2) + 1j * draw((4,), -2, 2, 1), shape=(2, 2)),
    ],
    bad=lambda: [
        sample(draw((2, 3), -2, 2), shape=(4, 2)),
        sample(draw((2, 3), -2, 2), shape=(-1, 4)),
        sample(draw((2, 3), -2, 2), shape=(6,), order="A"),
    ],
    view=True,
    lower=_reshape_lowered,
    picked=RESHAPED,
    batch=_reshape_lanes,
)


def _numpy_reshape(
    x: Any, shape: Any = None, order: str = "C", newshape: Any = None, copy: bool | None = None
) -> Any:
    """np.reshape: the shape under its old and its new name, order "A", and `copy`."""
    x = as_array(x)
    if order == "A":
        order = "F" if _in_memory(x).flags.fnc else "C"
    out = reshape(x, newshape if shape is None else shape, order=order)
    if copy is False and not np.may_share_memory(concrete(out), _in_memory(x)):
        raise ArgumentError("reshape: copy=False, but this shape cannot be had without copying")
    return copy_of(out) if copy else out


numpy_reshape = composite(
    "numpy_reshape",
    _numpy_reshape,
    samples=lambda: [
        sample(draw((2, 3), -2, 2), shape=(3, 2)),
        sample(draw((2, 3), -2, 2), shape=6, order="A"),
    ],
    numpy=(np.reshape,),
    picked=True,
    usually=(2, "reshape"),
    doc="np.reshape as NumPy calls it; recorded as `reshape`.",
)


def _in_memory(x: Any) -> Any:
    """The value of x where its layout is asked for, which a compiled function cannot know."""
    if hasattr(x, "_note_layout"):
        x._note_layout()
    return concrete(x)


def _ravel(x: Any, order: str = "C") -> Any:
    """One axis; "A" and "K" follow the memory layout the value has now."""
    x = as_array(x)
    if order == "A":
        order = "F" if _in_memory(x).flags.fnc else "C"
    if order == "K":
        value = _in_memory(x)
        slowest_first = sorted(range(value.ndim), key=lambda a: -abs(value.strides[a]))
        return reshape(transpose(x, axes=tuple(slowest_first)), -1)
    return reshape(x, -1, order=order)


ravel = composite(
    "ravel",
    _ravel,
    samples=lambda: [
        sample(draw((), -2, 2)),
        sample(draw((2, 3), -2, 2)),
        sample(draw((2, 3), -2, 2), order="F"),
        sample(draw((2, 3), -2, 2), order="K"),
    ],
    numpy=(np.ravel,),
    picked=True,
)


def _transpose(x: Any, axes: Any = None) -> Any:
    return np.transpose(x, axes)


def _transpose_back(g: Any, axes: Any) -> Any:
    """The inverse permutation, which for a permutation is the transpose."""
    if axes is None:
        return np.transpose(g)
    axes = (axes,) if isinstance(axes, (int, np.integer)) else axes
    forth = [int(a) % len(axes) for a in axes]
    return np.transpose(g, tuple(sorted(range(len(forth)), key=forth.__getitem__)))


def _transpose_lanes(call: BatchCall) -> Any:
    rank, axes = call.rank(0), call.attrs["axes"]
    if axes is None:
        axes = range(rank)[::-1]
    elif isinstance(axes, (int, np.integer)):
        axes = (axes,)
    return call.call(call.raw(0), axes=(0, *(int(a) % rank + 1 for a in axes)))


transpose = linear(
    "transpose",
    _transpose,
    _transpose_back,
    samples=lambda: [
        sample(draw((2, 3), -2, 2)),
        sample(draw((), -2, 2)),
        sample(draw((3,), -2, 2), axes=0),
        sample(draw((2, 3, 4), -2, 2), axes=(2, 0, 1)),
        sample(draw((2, 3, 4), -2, 2), axes=(-1, 0, 1)),
        sample(draw((2, 3), -2, 2).astype(np.float32)),
        sample(draw((2, 3), -2, 2) + 1j * draw((2, 3), -2, 2, 1)),
    ],
    bad=lambda: [
        sample(draw((2, 3), -2, 2), axes=(0, 0)),
        sample(draw((2, 3), -2, 2), axes=(0, 1, 2)),
        sample(draw((2, 3), -2, 2), axes=(0, 2)),
    ],
    numpy=(np.transpose,),  # np.permute_dims is the same function
    view=True,
    lower=lambda b, x, axes: b.transpose(x, axes),
    picked=TURNED,
    symbol="xᵀ",
    batch=_transpose_lanes,
)


def _permuted(x: Any, function: Any, *axes: Any) -> Any:
    """`function(x, *axes)` as one transpose: where NumPy moves the axes is read off a shape."""
    x = as_array(x)
    numbered = np.empty(tuple(range(x.ndim)))  # axis k has size k, and there is no element
    return transpose(x, axes=function(numbered, *axes).shape)


def _permutations(*calls: tuple[int, dict[str, Any]]) -> Any:
    return lambda: [sample(draw((2, 3, 4, 5)[:n], -2, 2), **attrs) for n, attrs in calls]


swapaxes = composite(
    "swapaxes",
    lambda x, axis1, axis2: _permuted(x, np.swapaxes, axis1, axis2),
    samples=_permutations(
        (2, {"axis1": 0, "axis2": 1}), (3, {"axis1": -1, "axis2": 0}), (1, {"axis1": 0, "axis2": 0})
    ),
    numpy=(np.swapaxes,),
)
moveaxis = composite(
    "moveaxis",
    lambda x, source, destination: _permuted(x, np.moveaxis, source, destination),
    samples=_permutations(
        (3, {"source": 0, "destination": -1}),
        (4, {"source": (0, 1), "destination": (-1, -2)}),
        (4, {"source": [3, 1], "destination": [0, 2]}),
    ),
    numpy=(np.moveaxis,),
)
rollaxis = composite(
    "rollaxis",
    lambda x, axis, start=0: _permuted(x, np.rollaxis, axis, start),
    samples=_permutations((3, {"axis": 2}), (4, {"axis": 1, "start": 4}), (4, {"axis": -1})),
    numpy=(np.rollaxis,),
)
matrix_transpose = composite(
    "matrix_transpose",
    lambda x: _permuted(x, np.matrix_transpose),
    samples=_permutations((2, {}), (3, {}), (4, {})),
    numpy=(np.matrix_transpose, np.linalg.matrix_transpose),
)


def _resized(x: Any, function: Any, *arguments: Any) -> Any:
    """`function(x, …)`, which only adds or drops axes of size one, as one reshape."""
    x = as_array(x)
    return reshape(x, function(dummy(x), *arguments).shape)


squeeze = composite(
    "squeeze",
    lambda x, axis=None: _resized(x, np.squeeze, axis),
    samples=lambda: [
        sample(draw((1, 3, 1), -2, 2)),
        sample(draw((1, 3, 1), -2, 2), axis=0),
        sample(draw((1, 3, 1), -2, 2), axis=(0, -1)),
        sample(draw((1, 1), -2, 2)),
        sample(draw((3,), -2, 2)),
    ],
    numpy=(np.squeeze,),
)
expand_dims = composite(
    "expand_dims",
    lambda x, axis: _resized(x, np.expand_dims, axis),
    samples=lambda: [
        sample(draw((3,), -2, 2), axis=0),
        sample(draw((2, 3), -2, 2), axis=-1),
        sample(draw((2, 3), -2, 2), axis=(0, 2)),
        sample(draw((), -2, 2), axis=0),
    ],
    numpy=(np.expand_dims,),
)


def _each_at_least(arrays: tuple[Any, ...], function: Any, ndim: int) -> Any:
    """NumPy's rule: an array that has its axes already is returned as it is."""
    arrays = tuple(as_array(a) for a in arrays)
    found = tuple(a if a.ndim >= ndim else reshape(a, function(dummy(a)).shape) for a in arrays)
    return found[0] if len(found) == 1 else found


def _at_least_samples() -> list[Sample]:
    scalar, row, matrix = draw((), -2, 2), draw((3,), -2, 2), draw((2, 3), -2, 2)
    return [
        sample(scalar),
        sample(row),
        sample(matrix),
        sample(scalar, row, draw((2, 1, 2), -2, 2)),
    ]


def _at_least(function: Any, ndim: int) -> Any:
    return composite(
        function.__name__,
        lambda *arys: _each_at_least(arys, function, ndim),
        samples=_at_least_samples,
        inputs=("arys",),
        variadic=True,
        numpy=(function,),
        reference=lambda arys: function(*arys),
    )


atleast_1d = _at_least(np.atleast_1d, 1)
atleast_2d = _at_least(np.atleast_2d, 2)
atleast_3d = _at_least(np.atleast_3d, 3)


def _sum_back(g: Any, x_spec: Any) -> Any:
    """Sum over the axes along which x was repeated."""
    extra = len(g.shape) - len(x_spec.shape)
    axes = (*range(extra), *(extra + i for i, n in enumerate(x_spec.shape) if n == 1))
    return np.reshape(np.sum(g, axis=axes), x_spec.shape) if axes else g


def _broadcast_to(x: Any, shape: Shape) -> Any:
    return np.broadcast_to(x, shape)


def _broadcast_lanes(call: BatchCall) -> Any:
    x = lifted(call.raw(0), len(call.shape))
    return call.call(x, shape=(call.count, *call.shape))


broadcast_to = linear(
    "broadcast_to",
    _broadcast_to,
    _sum_back,
    samples=lambda: [
        sample(draw((3,), -2, 2), shape=(2, 3)),
        sample(draw((2, 1), -2, 2), shape=(4, 2, 3)),
        sample(draw((), -2, 2), shape=(2, 2)),
        sample(draw((1,), -2, 2), shape=3),
        sample(draw((1, 2), -2, 2), shape=(0, 2)),
        sample(draw((3,), -2, 2).astype(np.float32), shape=(2, 3)),
    ],
    bad=lambda: [
        sample(draw((3,), -2, 2), shape=(2, 4)),
        sample(draw((2, 3), -2, 2), shape=(3,)),
    ],
    numpy=(np.broadcast_to,),
    view=True,
    lower=lambda b, x, shape: b.broadcast_to(x, shape),
    picked=SPREAD,
    batch=_broadcast_lanes,
)


def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [as_array(a) for a in args]
    shape = broadcast_shapes([a.shape for a in arrays])
    return tuple(a if a.shape == shape else broadcast_to(a, shape) for a in arrays)


broadcast_arrays = composite(
    "broadcast_arrays",
    _broadcast_arrays,
    samples=lambda: [
        sample(draw((2, 1), -2, 2), draw((3,), -2, 2, 1)),
        sample(draw((2, 3), -2, 2), draw((), -2, 2, 1), draw((3,), -2, 2, 2)),
        sample(draw((3,), -2, 2)),
    ],
    inputs=("args",),
    variadic=True,
    numpy=(np.broadcast_arrays,),
    reference=lambda args: np.broadcast_arrays(*args),
)


def _meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = 1, 0
    lines = []
    for x, axis in zip(map(as_array, xi), axes, strict=True):
        if x.ndim > 1:
            raise ShapeError(f"meshgrid takes coordinates along one axis, not shape {x.shape}")
        lines.append(reshape(x, tuple(-1 if a == axis else 1 for a in range(len(xi)))))
    grids = lines if sparse else _broadcast_arrays(*lines)
    return tuple(copy_of(a) for a in grids) if copy else tuple(grids)


def _meshgrid_samples() -> list[Sample]:
    x, y, z = draw((3,), -2, 2), draw((2,), -2, 2, 1), draw((), -2, 2, 2)
    return [
        sample(x, y),
        sample(x, y, z, indexing="ij"),
        sample(x, y, sparse=True),
        sample(x, copy=False),
        sample(x, y, copy=False),
    ]


meshgrid = composite(
    "meshgrid",
    _meshgrid,
    samples=_meshgrid_samples,
    inputs=("xi",),
    variadic=True,
    numpy=(np.meshgrid,),
    reference=lambda xi, **attrs: np.meshgrid(*xi, **attrs),
)
