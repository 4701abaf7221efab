"""Diagonals and triangles: diagonal, diag, diagflat, trace, tril, triu, vander."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, behind
from chainrule.core.depends import FILLS
from chainrule.core.masked import Masked
from chainrule.core.op import Sample, sample
from chainrule.core.spec import Spec, dummy
from chainrule.errors import ShapeError
from chainrule.ops.define import composite, linear
from chainrule.ops.joining import as_array, stack
from chainrule.ops.reductions import sum as sum_of
from chainrule.ops.samples import draw
from chainrule.ops.shape import ravel
from chainrule.ops.structure import astype


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return np.diagonal(a, offset, axis1, axis2)


def _embed_diagonal(
    x: Any, shape: tuple[int, ...], offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Any:
    out = np.zeros(shape, x.dtype)
    place = np.moveaxis(out, (axis1, axis2), (-2, -1))
    count = np.diagonal(place, offset, -2, -1).shape[-1]
    rows = np.arange(count) + max(-offset, 0)
    place[..., rows, rows + offset] = x
    return out


def _onto_diagonal(g: Any, a_spec: Any, offset: int, axis1: int, axis2: int) -> Any:
    """The transpose of reading the diagonal: all lanes beside it are structural zeros."""
    where = (a_spec.shape, offset, axis1, axis2)
    return Masked(embed_diagonal(g, *where), _embed_diagonal(np.ones(g.shape, bool), *where))


def _diagonals() -> list[Sample]:
    matrix, tensor = draw((3, 4), -2, 2), draw((2, 3, 4), -2, 2)
    return [
        *(sample(matrix, offset=k) for k in (0, 1, -2, 3, 5)),
        sample(tensor, offset=1, axis1=-1, axis2=0),
        sample(tensor, axis1=1, axis2=2),
        sample(draw((0, 2), -2, 2)),
        sample(matrix.astype(np.float32)),
        sample(matrix + 1j, offset=-1),
    ]


def _no_matrix() -> list[Sample]:
    return [
        sample(draw((3,), -2, 2)),
        sample(draw((3, 2), -2, 2), axis1=0, axis2=0),
        sample(draw((3, 2), -2, 2), axis2=2),
    ]


def _diagonal_lanes(call: BatchCall) -> Any:
    axis1, axis2 = (behind(call.attrs[name], call.rank(0)) for name in ("axis1", "axis2"))
    return call.call(call.raw(0), axis1=axis1, axis2=axis2)


def _embed_diagonal_lanes(call: BatchCall) -> Any:
    shape = call.shape
    axis1, axis2 = (behind(call.attrs[name], len(shape)) for name in ("axis1", "axis2"))
    return call.call(call.raw(0), shape=(call.count, *shape), axis1=axis1, axis2=axis2)


diagonal = linear(
    "diagonal",
    _diagonal,
    _onto_diagonal,
    inputs=("a",),
    samples=_diagonals,
    bad=_no_matrix,
    numpy=(np.diagonal,),
    view=True,
    doc="The diagonal over two axes, as the last axis.",
    lower=lambda b, a, offset, axis1, axis2: b.diagonal(a, offset, axis1, axis2),
    batch=_diagonal_lanes,
)
embed_diagonal = linear(
    "embed_diagonal",
    _embed_diagonal,
    lambda g, offset, axis1, axis2: diagonal(g, offset=offset, axis1=axis1, axis2=axis2),
    depends=FILLS,
    spec=lambda x, shape, **_: Spec(shape, x.dtype),
    samples=lambda: [
        sample(draw((2,), -2, 2), shape=(2, 3)),
        sample(draw((2,), -2, 2), shape=(4, 2), offset=-1),
        sample(draw((3, 2), -2, 2), shape=(2, 3, 4), offset=2, axis1=0, axis2=2),
    ],
    doc="Zeros of `shape` with x on a diagonal: the transpose of `diagonal`.",
    lower=lambda b, x, shape, offset, axis1, axis2: b.embed_diagonal(
        x, shape, offset, axis1, axis2
    ),
    batch=_embed_diagonal_lanes,
)


def _diag(v: Any, k: int = 0) -> Any:
    v = as_array(v)
    if v.ndim == 1:
        n = v.size + abs(k)
        return embed_diagonal(v, (n, n), k)
    if v.ndim == 2:
        return diagonal(v, k)
    raise ShapeError(f"diag takes a vector or a matrix, not shape {v.shape}")


diag = composite(
    "diag",
    _diag,
    inputs=("v",),
    samples=lambda: [
        *(sample(draw((3,), -2, 2), k=k) for k in (0, 1, -2)),
        *(sample(draw((3, 4), -2, 2), k=k) for k in (0, 2, -1)),
        sample(draw((0,), -2, 2), k=1),
    ],
    bad=lambda: [sample(draw((2, 2, 2), -2, 2))],
    numpy=(np.diag,),
)
diagflat = composite(
    "diagflat",
    lambda v, k=0: _diag(ravel(as_array(v)), k),
    inputs=("v",),
    samples=lambda: [sample(draw((2, 2), -2, 2), k=1), sample(draw((), -2, 2))],
    numpy=(np.diagflat,),
)


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return sum_of(diagonal(as_array(a), offset, axis1, axis2), axis=-1, dtype=dtype)


trace = composite(
    "trace",
    _trace,
    inputs=("a",),
    samples=lambda: [*_diagonals(), sample(draw((2, 2), -2, 2), dtype=np.dtype(np.complex128))],
    bad=_no_matrix,
    numpy=(np.trace,),
    doc="The sum of a diagonal.",
)


def _of_matrices() -> list[Sample]:
    return [sample(draw((3, 4), -2, 2), offset=-1), sample(draw((2, 3, 3), -2, 2))]


linalg_diagonal = composite(
    "linalg_diagonal",
    lambda x, *, offset=0: diagonal(as_array(x), offset, -2, -1),
    samples=_of_matrices,
    numpy=(np.linalg.diagonal,),
    doc="np.linalg.diagonal: the diagonals of the matrices in the last two axes.",
)
linalg_trace = composite(
    "linalg_trace",
    lambda x, *, offset=0, dtype=None: _trace(x, offset, -2, -1, dtype),
    samples=_of_matrices,
    numpy=(np.linalg.trace,),
    doc="np.linalg.trace: the traces of the matrices in the last two axes.",
)


# -- triangles --------------------------------------------------------------------------------


def _lower(m: Any, k: int) -> Any:
    """Which lanes lie on or below the k-th diagonal."""
    return np.tri(*m.shape[-2:], k=k, dtype=bool)  # type: ignore[call-overload]


def _tril(m: Any, k: int = 0) -> Any:
    """By `where`, so that the lanes left out carry a structural zero."""
    m = as_array(m)
    return np.where(_lower(m, k), m, np.zeros((), m.dtype))


def _triu(m: Any, k: int = 0) -> Any:
    m = as_array(m)
    return np.where(_lower(m, k - 1), np.zeros((), m.dtype), m)


def _triangles() -> list[Sample]:
    return [
        *(sample(draw((3, 4), -2, 2), k=k) for k in (0, 1, -1, 5)),
        sample(draw((2, 3, 3), -2, 2)),
        sample(draw((3,), -2, 2)),
        sample(draw((2, 2), -2, 2).astype(np.float32)),
        sample(draw((2, 2), -2, 2) + 1j),
    ]


tril = composite("tril", _tril, inputs=("m",), samples=_triangles, numpy=(np.tril,))
triu = composite("triu", _triu, inputs=("m",), samples=_triangles, numpy=(np.triu,))


def _triangle_positions(function: Any) -> Any:
    return composite(
        function.__name__,
        lambda arr, k=0: function(dummy(as_array(arr)), k),
        inputs=("arr",),
        samples=lambda: [sample(draw((3, 3), -2, 2)), sample(draw((2, 3), -2, 2), k=1)],
        numpy=(function,),
        doc="Index arrays that depend on the shape alone.",
    )


tril_indices_from = _triangle_positions(np.tril_indices_from)
triu_indices_from = _triangle_positions(np.triu_indices_from)
diag_indices_from = composite(
    "diag_indices_from",
    lambda arr: np.diag_indices_from(dummy(as_array(arr))),
    inputs=("arr",),
    samples=lambda: [sample(draw((3, 3), -2, 2))],
    numpy=(np.diag_indices_from,),
    doc="Index arrays that depend on the shape alone.",
)


# -- powers -----------------------------------------------------------------------------------


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Each column is the one before it times x, as in NumPy."""
    x = as_array(x)
    if x.ndim != 1:
        raise ShapeError(f"vander takes a vector, not shape {x.shape}")
    count = x.size if N is None else N
    dtype = np.promote_types(x.dtype, int)
    x = x if x.dtype == dtype else astype(x, dtype)
    columns: list[Any] = [np.ones(x.shape, dtype), x][:count]
    while len(columns) < count:
        columns.append(columns[-1] * x)
    if not columns:
        return np.ones((x.size, 0), dtype)
    return stack(columns if increasing else columns[::-1], axis=1)


vander = composite(
    "vander",
    _vander,
    samples=lambda: [
        sample(draw((3,), -2, 2)),
        sample(draw((3,), -2, 2), N=5, increasing=True),
        sample(draw((3,), -2, 2), N=1),
        sample(draw((3,), -2, 2), N=0),
        sample(draw((2,), -2, 2) + 1j),
        sample(np.array([2, 3])),
    ],
    edges=lambda: [sample(np.array([0.0, 1.0, 2.0]))],
    numpy=(np.vander,),
    doc="The powers of x as columns.",
)
