"""Products of vectors, matrices and tensors: matmul, tensordot, dot, kron and their friends."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, lifted
from chainrule.core.op import Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec, broadcast_shapes
from chainrule.errors import ShapeError
from chainrule.ops.define import composite, multilinear
from chainrule.ops.joining import as_array
from chainrule.ops.picking import PRODUCT
from chainrule.ops.samples import draw


def transposed(x: Any) -> Any:
    """The last two axes swapped."""
    n = x.ndim
    return x.T if n == 2 else np.transpose(x, (*range(n - 2), n - 1, n - 2))


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    return transposed(conjugate(x))


def complexes(shape: tuple[int, ...], seed: int = 0) -> Any:
    """Complex test numbers."""
    return draw(shape, -1.5, 1.5, seed) + 1j * draw(shape, -1.5, 1.5, seed + 50)


# -- matmul ----------------------------------------------------------------------------------


def _matmul_first(g: Any, y: Any) -> Any:
    """g yᴴ; where x was a vector, y* g."""
    y = conjugate(y)
    if y.ndim == 1:
        return g[..., None] * y
    if g.ndim == y.ndim - 1:  # x was a vector
        return y @ g if y.ndim == 2 else (y @ g[..., None])[..., 0]
    return g @ transposed(y)


def _matmul_second(g: Any, x: Any, y_spec: Any) -> Any:
    """xᴴ g; one matrix y behind a stack of x is one large product, not a stack of them summed."""
    x = conjugate(x)
    if x.ndim == 1:
        return x * g if g.ndim == 0 else x[:, None] * g[..., None, :]
    if x.ndim == 2 and g.ndim == 1:
        return g @ x
    if len(y_spec.shape) <= 2 < x.ndim:
        rows = math.prod(x.shape[:-1])
        return np.reshape(x, (rows, x.shape[-1])).T @ np.reshape(g, (rows, *y_spec.shape[1:]))
    return transposed(x) @ g


def _matmul_spec(x: Any, y: Any) -> Spec:
    a, b = Spec.of(x), Spec.of(y)
    what = f"matmul of {a.shape} and {b.shape}"
    if not a.shape or not b.shape:
        raise ShapeError(f"{what}: a number has no axis to sum over; multiply by it with *.")
    k = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != k:
        hint = "  If the second is stored (out, in), use its transpose: x @ y.T."
        fits = b.ndim > 1 and a.shape[-1] == b.shape[-1]
        differ = f"the inner sizes {a.shape[-1]} and {k} differ"
        raise ShapeError(f"{what}: {differ}.{hint if fits else ''}")
    try:
        stack = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
    except ShapeError as error:
        raise ShapeError(f"{what}: the stacks of matrices differ, {error}.") from None
    last = b.shape[-1:] if b.ndim > 1 else ()
    return Spec((*stack, *a.shape[-2:-1], *last), np.result_type(a.dtype, b.dtype))


MATMUL_SHAPES = (
    ((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 2)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (4, 3, 2)),
    ((4, 2, 3), (3,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((4, 0, 3), (3, 2)),
)  # fmt: skip


def pairs_of(shapes: Sequence[Any], **attrs: Any) -> Any:
    """Samples of a product: a pair of each shape, one of them also complex and in float32."""

    def samples() -> list[Sample]:
        found = [sample(draw(a, -2, 2), draw(b, -2, 2, 1), **attrs) for a, b in shapes]
        a, b = shapes[0]
        found.append(sample(complexes(a), complexes(b, 1), **attrs))
        found.append(sample(draw(a, -2, 2).astype("f"), draw(b, -2, 2, 1).astype("f"), **attrs))
        return found

    return samples


def _matmul_samples() -> list[Sample]:
    every = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((5, 2, 3), (3, 2)), ((2, 3), (5, 3, 2))]
    mixed = sample(complexes((2, 3)), draw((3, 2), -2, 2))
    complex_ones = [sample(complexes(a), complexes(b, 1)) for a, b in every]
    return [*pairs_of(MATMUL_SHAPES)(), *complex_ones, mixed]


def _matmul_lanes(call: BatchCall) -> Any:
    """One large product where one operand, a vector or a matrix, is the same for all lanes."""
    rows, columns = call.rank(0), call.rank(1)
    x, y, shape = call.raw(0), call.raw(1), (call.count, *call.shape)
    if not call.on(1) and columns <= 2:
        flat = x.reshape((math.prod(x.shape[:-1]), x.shape[-1])) if rows > 1 else x
        return call.call(flat, y).reshape(shape)
    if not call.on(0) and columns == 1 and rows <= 2:
        return call.call(y, x if rows == 1 else transposed(x))
    rank = max(rows, columns, 2)
    if call.on(0):
        x = lifted(x, rank)
    if call.on(1):
        y = lifted(y[..., None] if columns == 1 else y, rank)
    return call.call(x, y).reshape(shape)


matmul = multilinear(
    "matmul",
    operator.matmul,
    (_matmul_first, _matmul_second),
    samples=_matmul_samples,
    bad=lambda: [
        sample(np.ones((3, 3)), np.ones((4, 2))),
        sample(np.ones((2, 3)), np.ones((5, 3))),
        sample(np.ones((2, 3)), np.float64(1.0)),
        sample(np.ones((2, 2, 3)), np.ones((3, 3, 2))),
    ],
    spec=_matmul_spec,
    numpy=(np.matmul, np.linalg.matmul),
    reference=np.matmul,
    lower=lambda b, x, y: b.matmul(x, y),
    picked=PRODUCT,
    symbol="@",
    batch=_matmul_lanes,
)


# -- tensordot, and the products that are one ------------------------------------------------


def _listed(axes: Any) -> list[int]:
    return [int(a) for a in axes] if isinstance(axes, (list, tuple, np.ndarray)) else [int(axes)]


def _summed(axes: Any, a: int, b: int) -> tuple[list[int], list[int]]:
    """The axes summed over, as positive numbers, of operands with a and b axes."""
    if isinstance(axes, (int, np.integer)):
        return list(range(a - axes, a)), list(range(axes))
    left, right = (_listed(side) for side in axes)
    return [i % a if a else i for i in left], [i % b if b else i for i in right]


def _partner_axes(g: Any, other: Any, axes: Any) -> int:
    """How many axes the operand had whose product with `other` over `axes` is shaped as g."""
    count = axes if isinstance(axes, (int, np.integer)) else len(_listed(axes[0]))
    return int(g.ndim - other.ndim + 2 * count)


def _kept(ndim: int, summed: list[int]) -> list[int]:
    return [i for i in range(ndim) if i not in summed]


def _tensordot_first(g: Any, y: Any, axes: Any) -> Any:
    """g and y* summed over the axes that came from y, in the order of x."""
    y = as_array(y)
    ndim = _partner_axes(g, y, axes)
    left, right = _summed(axes, ndim, y.ndim)
    mine = _kept(ndim, left)
    found = tensordot(
        g, conjugate(y), axes=(tuple(range(len(mine), g.ndim)), tuple(_kept(y.ndim, right)))
    )
    order = [
        mine.index(i) if i in mine else _place(left.index(i), right, len(mine)) for i in range(ndim)
    ]
    return np.transpose(found, order)


def _tensordot_second(g: Any, x: Any, axes: Any) -> Any:
    """x* and g summed over the axes that came from x, in the order of y."""
    x = as_array(x)
    ndim = _partner_axes(g, x, axes)
    left, right = _summed(axes, x.ndim, ndim)
    mine, others = _kept(ndim, right), _kept(x.ndim, left)
    found = tensordot(conjugate(x), g, axes=(tuple(others), tuple(range(len(others)))))
    order = [
        len(left) + mine.index(i) if i in mine else _place(right.index(i), left, 0)
        for i in range(ndim)
    ]
    return np.transpose(found, order)


def _place(k: int, partners: list[int], start: int) -> int:
    """Where the k-th summed axis stands after `start` others: its partners stay in their order."""
    return start + sorted(partners).index(partners[k])


def _tensordot_spec(x: Any, y: Any, axes: Any = 2) -> Spec:
    a, b = Spec.of(x), Spec.of(y)
    what = f"tensordot of {a.shape} and {b.shape} over {axes}"
    if isinstance(axes, int) and axes > min(a.ndim, b.ndim):
        raise ShapeError(f"{what}: an operand has fewer axes than are to be summed.")
    left, right = _summed(axes, a.ndim, b.ndim)
    sizes = [a.shape[i] for i in left], [b.shape[i] for i in right]
    if sizes[0] != sizes[1]:
        raise ShapeError(f"{what}: the axes to be summed have sizes {sizes[0]} and {sizes[1]}.")
    shape = [a.shape[i] for i in _kept(a.ndim, left)] + [b.shape[i] for i in _kept(b.ndim, right)]
    return Spec(tuple(shape), np.result_type(a.dtype, b.dtype))


def _tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    return np.tensordot(x, y, axes=axes)[()]


def _tensordots() -> list[Sample]:
    a, b = draw((2, 3, 4), -2, 2), draw((4, 3, 5), -2, 2, 1)
    return [
        sample(a, b, axes=((1, 2), (1, 0))),
        sample(a, b, axes=((-1,), (0,))),
        sample(a, b, axes=(2, 0)),
        sample(a, draw((3, 4, 2), -2, 2), axes=2),
        sample(a, a, axes=3),
        sample(a, draw((2,), -2, 2), axes=0),
        sample(complexes((2, 3)), complexes((2, 4)), axes=((0,), (0,))),
        sample(draw((2, 3), -2, 2).astype("f"), draw((3, 2), -2, 2).astype("f"), axes=1),
    ]


def _tensordot_lanes(call: BatchCall) -> Any:
    """One product where only one operand differs by lane; a stack of them where both do."""
    x, y, shape = call.raw(0), call.raw(1), (call.count, *call.shape)
    ranks = call.rank(0), call.rank(1)
    left, right = _summed(call.attrs["axes"], *ranks)
    if not call.on(1):
        return call.call(x, y, axes=(tuple(i + 1 for i in left), tuple(right)))
    if not call.on(0):
        out = call.call(y, x, axes=(tuple(i + 1 for i in right), tuple(left)))
        mine = ranks[1] - len(right) + 1  # the lanes and the kept axes of y, which came first
        return np.transpose(out, (0, *range(mine, out.ndim), *range(1, mine)))
    rows, columns = _kept(ranks[0], left), _kept(ranks[1], right)
    x = np.transpose(x, (0, *(i + 1 for i in (*rows, *left))))
    y = np.transpose(y, (0, *(i + 1 for i in (*right, *columns))))
    summed = math.prod(x.shape[1 + len(rows) :])
    x = x.reshape((call.count, math.prod(x.shape[1 : 1 + len(rows)]), summed))
    y = y.reshape((call.count, summed, math.prod(y.shape[1 + len(right) :])))
    return (x @ y).reshape(shape)


tensordot = multilinear(
    "tensordot",
    _tensordot,
    (_tensordot_first, _tensordot_second),
    samples=_tensordots,
    bad=lambda: [
        sample(np.ones((2, 3)), np.ones((3, 4)), axes=((0,), (0,))),
        sample(np.ones((2, 3)), np.ones((3,)), axes=2),
    ],
    spec=_tensordot_spec,
    numpy=(np.tensordot, np.linalg.tensordot),
    lower=lambda b, x, y, axes: b.tensordot(x, y, axes),
    batch=_tensordot_lanes,
)


def _dot(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    if (a.ndim > 2 and b.ndim > 1) or (b.ndim > 2 and a.ndim > 1):
        return tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 2,)))
    return matmul(a, b)


dot = composite(
    "dot",
    _dot,
    inputs=("a", "b"),
    samples=pairs_of(
        [
            ((2, 3), (3, 4)),
            ((), (3,)),
            ((2, 2), ()),
            ((3,), (3,)),
            ((3,), (4, 3, 2)),
            ((2, 3), (4, 3, 2)),
        ]
    ),
    bad=lambda: [sample(np.ones(3), np.ones(4)), sample(np.ones((2, 2, 3)), np.ones((2, 2)))],
    numpy=(np.dot,),
    picked=True,
)


def _inner(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    return tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


inner = composite(
    "inner",
    _inner,
    inputs=("a", "b"),
    samples=pairs_of(
        [((2, 3), (4, 3)), ((3,), (3,)), ((), (2, 2)), ((2, 3), (3,)), ((2, 2, 3), (3,))]
    ),
    bad=lambda: [sample(np.ones((2, 3)), np.ones((3, 2)))],
    numpy=(np.inner,),
)
vdot = composite(
    "vdot",
    lambda a, b: matmul(conjugate(np.reshape(as_array(a), -1)), np.reshape(as_array(b), -1)),
    inputs=("a", "b"),
    samples=pairs_of([((2, 3), (3, 2)), ((3,), (3,)), ((), ()), ((0,), (0,))]),
    bad=lambda: [sample(np.ones((2, 3)), np.ones(5))],
    numpy=(np.vdot,),
    picked=True,
    doc="The sum of conj(a)·b over all elements.",
)
outer = composite(
    "outer",
    lambda a, b: np.reshape(as_array(a), (-1, 1)) * np.reshape(as_array(b), (1, -1)),
    inputs=("a", "b"),
    samples=pairs_of([((2,), (3,)), ((2, 2), (3, 1)), ((), (2,)), ((0,), (2,))]),
    numpy=(np.outer, np.linalg.outer),
)


def _kron(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    ndim = max(a.ndim, b.ndim)
    rows = (1,) * (ndim - a.ndim) + a.shape
    columns = (1,) * (ndim - b.ndim) + b.shape
    wide = np.reshape(a, [n for m in rows for n in (m, 1)])
    product = wide * np.reshape(b, [n for m in columns for n in (1, m)])
    return np.reshape(product, tuple(m * n for m, n in zip(rows, columns, strict=True)))


kron = composite(
    "kron",
    _kron,
    inputs=("a", "b"),
    samples=pairs_of(
        [((2, 2), (3, 2)), ((2,), (3,)), ((2, 2), (3,)), ((2,), (2, 1, 3)), ((), (2,))]
    ),
    numpy=(np.kron,),
)
