"""Products of vectors along an axis, and chains of matrices: cross, vecdot, matvec, multi_dot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from chainrule.core.batching import LANES
from chainrule.core.op import Op, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec, broadcast_shapes, dummy
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.define import composite, multilinear
from chainrule.ops.joining import as_array
from chainrule.ops.products import dot, matmul, pairs_of
from chainrule.ops.samples import draw


def vectors(name: str, x: Any, axes: int = 1) -> Any:
    """An operand that must have at least so many axes."""
    x = as_array(x)
    if x.ndim < axes:
        raise ShapeError(f"{name}: an operand of shape {x.shape} has fewer axes than {axes}.")
    return x


def _cross_vectors(x: Any, y: Any) -> Any:
    return np.cross(x, y)


def _cross_spec(x: Any, y: Any) -> Spec:
    if x.shape[-1:] != (3,) or y.shape[-1:] != (3,):
        raise ShapeError(f"cross of {x.shape} and {y.shape}: vectors must have three components.")
    return Spec(broadcast_shapes([x.shape, y.shape]), np.result_type(x.dtype, y.dtype))


def _cross_lowered(b: Any, x: Any, y: Any) -> Any:
    """x₁y₂ − x₂y₁ and so on, the components side by side."""
    common = b.common(x, y)
    of_x, of_y = ([b.getitem(b.astype(v, common), (..., i)) for i in range(3)] for v in (x, y))

    def component(i: int, j: int) -> Any:
        parts = (b.map("multiply", of_x[p], of_y[q]) for p, q in ((i, j), (j, i)))
        return b.map("subtract", *parts)

    return b.stack([component(1, 2), component(2, 0), component(0, 1)], -1)


cross_vectors: Op = multilinear(
    "cross_vectors",
    _cross_vectors,
    (lambda g, y: cross_vectors(conjugate(y), g), lambda g, x: cross_vectors(g, conjugate(x))),
    samples=pairs_of([((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))]),
    spec=_cross_spec,
    doc="x × y of vectors with three components along the last axis.",
    lower=_cross_lowered,
    batch=LANES,
)


def _cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _moved(vectors("cross", a), axisa, -1), _moved(vectors("cross", b), axisb, -1)
    planar = a.shape[-1:] == (2,), b.shape[-1:] == (2,)
    if any(planar):
        np.cross(dummy(a), dummy(b))  # warns or refuses as the NumPy that is installed does
    out = cross_vectors(_padded(a) if planar[0] else a, _padded(b) if planar[1] else b)
    return out[..., 2] if all(planar) else _moved(out, -1, axisc)


def _moved(x: Any, source: int, target: int) -> Any:
    """np.moveaxis of one axis."""
    source, target = (normalize_axis_index(a, x.ndim) for a in (source, target))
    if source == target:
        return x
    order = [i for i in range(x.ndim) if i != source]
    order.insert(target, source)
    return np.transpose(x, order)


def _padded(x: Any) -> Any:
    """Vectors in the plane, with a third component 0."""
    return np.concatenate([x, np.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)


cross = composite(
    "cross",
    _cross,
    inputs=("a", "b"),
    samples=lambda: [
        *pairs_of([((3,), (3,)), ((4, 3), (3,)), ((2, 1, 3), (4, 3))])(),
        sample(draw((3, 2), -2, 2), draw((2, 3), -2, 2), axisa=0, axisc=0),
        sample(draw((3, 2), -2, 2), draw((3, 2), -2, 2, 1), axis=0),
    ],
    bad=lambda: [sample(np.ones((2, 4)), np.ones((2, 4))), sample(np.ones(3), np.ones(3), axis=1)],
    numpy=(np.cross,),
)


def _cross_in_space(x1: Any, x2: Any, axis: int = -1) -> Any:
    x1, x2 = (_moved(vectors("cross", x), axis, -1) for x in (x1, x2))
    return _moved(cross_vectors(x1, x2), -1, axis)


linalg_cross = composite(
    "linalg_cross",
    _cross_in_space,
    inputs=("x1", "x2"),
    samples=lambda: [
        *pairs_of([((3,), (3,)), ((2, 1, 3), (4, 3))])(),
        sample(draw((3, 2), -2, 2), draw((3, 2), -2, 2, 1), axis=0),
    ],
    bad=lambda: [sample(np.ones(2), np.ones(2)), sample(np.ones(3), np.ones(3), axis=1)],
    numpy=(np.linalg.cross,),
    doc="np.linalg.cross, which takes three components only; recorded as `cross_vectors`.",
)


def _vecdot(x: Any, y: Any, axis: int = -1, keepdims: bool = False) -> Any:
    x, y = _moved(vectors("vecdot", x), axis, -1), _moved(vectors("vecdot", y), axis, -1)
    out = matmul(conjugate(x)[..., None, :], y[..., :, None])[..., 0, 0]
    return np.reshape(out, _with_one(out.shape, axis)) if keepdims else out


def _with_one(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    at = normalize_axis_index(axis, len(shape) + 1)
    return (*shape[:at], 1, *shape[at:])


vecdot = composite(
    "vecdot",
    _vecdot,
    inputs=("x", "y"),
    samples=lambda: [
        *pairs_of([((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))])(),
        sample(draw((3, 2), -2, 2), draw((3, 2), -2, 2, 1), axis=0),
    ],
    bad=lambda: [
        sample(np.ones((2, 3)), np.ones((2, 4))),
        sample(np.ones(3), np.ones(3), axis=2),
    ],
    numpy=(np.vecdot, np.linalg.vecdot),
    doc="The sum of conj(x)·y along one axis.",
)
matvec = composite(
    "matvec",
    lambda x, y: matmul(vectors("matvec", x, 2), vectors("matvec", y)[..., :, None])[..., 0],
    inputs=("x", "y"),
    samples=pairs_of([((2, 3), (3,)), ((4, 2, 3), (3,)), ((2, 3), (4, 3)), ((5, 1, 2, 3), (4, 3))]),
    bad=lambda: [sample(np.ones((2, 3)), np.ones(2))],
    numpy=(getattr(np, "matvec", "matvec"),),  # NumPy 2.2
)


def _vecmat(x: Any, y: Any) -> Any:
    x, y = vectors("vecmat", x), vectors("vecmat", y, 2)
    return matmul(conjugate(x)[..., None, :], y)[..., 0, :]


vecmat = composite(
    "vecmat",
    _vecmat,
    inputs=("x", "y"),
    samples=pairs_of([((2,), (2, 3)), ((2,), (4, 2, 3)), ((4, 2), (2, 3)), ((4, 2), (5, 1, 2, 3))]),
    bad=lambda: [sample(np.ones(3), np.ones((2, 3)))],
    numpy=(getattr(np, "vecmat", "vecmat"),),
    doc="conj(x) @ y for stacks of vectors x.",
)


def _multi_dot(*arrays: Any) -> Any:
    if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)):
        arrays = tuple(arrays[0])
    chain = [as_array(a) for a in arrays]
    if len(chain) < 2:
        raise ArgumentError("multi_dot takes two arrays or more")
    if len(chain) == 2:
        return dot(*chain)  # which, unlike a longer chain, takes any number of axes
    for i, a in enumerate(chain):
        if a.ndim != 2 and not (a.ndim == 1 and i in (0, len(chain) - 1)):
            raise ShapeError(
                f"multi_dot: operand {i} has shape {a.shape}; all are matrices, "
                "the first and the last may be vectors"
            )
    sizes = [1 if chain[0].ndim == 1 else chain[0].shape[0]]
    sizes += [
        a.shape[0] if a.ndim == 1 and i == 0 else a.shape[-1] if a.ndim > 1 else 1
        for i, a in enumerate(chain)
    ]
    splits = _cheapest_splits(sizes)

    def product(first: int, last: int) -> Any:
        if first == last:
            return chain[first]
        middle = splits[first, last]
        return matmul(product(first, middle), product(middle + 1, last))

    return product(0, len(chain) - 1)


def _cheapest_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each stretch of a chain of matrices sizes[i] × sizes[i+1], by least work."""
    count = len(sizes) - 1
    work = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = {
                k: work[i, k] + work[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            }
            splits[i, j] = min(options, key=options.__getitem__)
            work[i, j] = options[splits[i, j]]
    return splits


multi_dot = composite(
    "multi_dot",
    _multi_dot,
    inputs=("xs",),
    variadic=True,
    samples=lambda: [
        sample(draw((2, 3), -2, 2), draw((3, 4), -2, 2), draw((4, 2), -2, 2), draw((2, 5), -2, 2)),
        sample(draw((3,), -2, 2), draw((3, 4), -2, 2), draw((4,), -2, 2)),
        sample(draw((2, 3), -2, 2), draw((3, 4), -2, 2)),
    ],
    bad=lambda: [
        sample(np.ones((2, 3)), np.ones((3, 4)), np.ones((3, 4))),
        sample(np.ones((2, 3)), np.ones((5, 3, 4)), np.ones((4, 3))),
        sample(np.ones((2, 3)), np.ones(3), np.ones((3, 4))),
        sample(np.ones((2, 3))),
    ],
    numpy=(np.linalg.multi_dot,),
)
