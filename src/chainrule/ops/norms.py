"""Norms of vectors and matrices, and the condition number.

At a zero vector a norm has a kink; its derivative there is 0, the minimum-norm subgradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import Axes
from chainrule.core.masked import perhaps, plain, within
from chainrule.core.op import Op, Sample, refuse_gradients, sample
from chainrule.core.picked import reducing, shape_of
from chainrule.errors import ArgumentError, LinearAlgebraError, ShapeError
from chainrule.ops.define import composite, rules, same_shape, shaped_spec
from chainrule.ops.factors import is_recorded
from chainrule.ops.joining import as_array
from chainrule.ops.linalg import inv, matrices
from chainrule.ops.picking import UNIT_VECTOR
from chainrule.ops.products import complexes
from chainrule.ops.reductions import expanded, reduction_spec, strict_axes
from chainrule.ops.samples import draw
from chainrule.ops.singular_values import svd_factors

MOST_OF_A_UNIT = 0.75  # of one component; from here the others are less than this one
Axis = int | tuple[int, ...] | None


def _selected(x: Any, dead: Any, otherwise: float) -> Any:
    """x, with a constant in the lanes where `dead`."""
    return np.where(dead, np.asarray(otherwise, x.dtype), x) if perhaps(dead) else x


def _reduced(x: Any, axis: Axis, keepdims: bool) -> Any:
    return np.real(np.sum(x, axis=axis, keepdims=keepdims))


# -- the Euclidean norm ----------------------------------------------------------------------


def _euclidean(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    squares = x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x
    return np.sqrt(np.sum(squares, axis=axis, keepdims=keepdims))


def _unit(x: Any, out: Any) -> Any:
    """x / ‖x‖, and 0 where ‖x‖ = 0."""
    dead = plain(out) == 0
    return _selected(x, np.broadcast_to(dead, shape_of(x)), 0.0) / _selected(out, dead, 1.0)


def _pull_euclidean(g: Any, x: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    """g x / ‖x‖, by an op of its own where it may be differentiated again."""
    out = expanded(out, shape_of(x), axis, keepdims)
    unit = unit_vector(x, axis=axis) if is_recorded(x) else _unit(x, out)
    return within(expanded(g, shape_of(x), axis, keepdims) * unit, plain(out) != 0)


def _push_euclidean(t: Any, x: Any, out: Any, axis: Axis, keepdims: bool) -> Any:
    """Re Σ x* ẋ / ‖x‖."""
    bare = not is_recorded(x)
    unit = (
        _unit(x, expanded(out, shape_of(x), axis, keepdims)) if bare else unit_vector(x, axis=axis)
    )
    conjugated = np.conj(unit) if unit.dtype.kind == "c" else unit
    return within(_reduced(conjugated * t, axis, keepdims), plain(out) != 0)


def _across(t: Any, x: Any, out: Any, axis: Axis) -> Any:
    """(t − u Re Σ u* t) / ‖x‖ with u = x / ‖x‖: the part of t across x, in both modes.

    Where one component u_k is most of u, 1 − u_k² would be lost.  So as much of x is taken from t
    first as leaves nothing of t_k, which changes nothing in the part across x.
    """
    norm = euclidean_norm(x, axis=axis, keepdims=True)
    dead = plain(norm) == 0
    lead = np.abs(plain(out)) > MOST_OF_A_UNIT
    if perhaps(lead):
        pivot = np.sum(np.where(lead, np.abs(plain(x)), 0), axis=axis, keepdims=True)
        ratio = x / _selected(pivot, pivot == 0, 1.0)
        part = plain(_inner(plain(ratio), plain(t)))
        t = t - ratio * np.sum(np.where(lead, part, 0), axis=axis, keepdims=True)
    across = t - out * np.sum(_inner(out, t), axis=axis, keepdims=True)
    return within(across / _selected(norm, dead, 1.0), ~dead)


def _inner(x: Any, y: Any) -> Any:
    """Re x* y."""
    return np.real(np.conj(x) * y) if x.dtype.kind == "c" else x * y


def _unit_lowered(b: Any, x: Any, axis: Axis) -> Any:
    if x.dtype.kind != "f":
        return None
    norm = b.map("sqrt", b.reduce("sum", b.map("square", x), axis, True))
    dead = b.map("equal", norm, b.constant(0, x.dtype))
    return b.map("divide", x, b.map("where", dead, b.constant(1, x.dtype), norm))


def _vectors() -> list[Sample]:
    x = draw((2, 3, 4), -2, 2)
    return [
        sample(x),
        sample(x, axis=1),
        sample(x, axis=(0, 2), keepdims=True),
        sample(draw((3,), -2, 2), axis=-1),
        sample(complexes((2, 3)), axis=0),
        sample(draw((3,), -2, 2).astype("f")),
        sample(draw((), 1, 2)),
    ]


def _directions() -> list[Sample]:
    x = draw((2, 3, 4), -2, 2)
    return [
        sample(x), sample(x, axis=1), sample(x, axis=(0, 2)), sample(x[0, 0].astype("f")),
        sample(np.array([[1e3, 1.0], [1.0, -1e3]]), axis=1), sample(complexes((2, 3)), axis=0),
        sample(np.array([-1e3j, 1.0, 2 + 1j])),
    ]  # fmt: skip


def _zero_vectors() -> list[Sample]:
    return [
        sample(np.zeros(3)),
        sample(np.array([[0.0, 0.0], [3.0, 4.0]]), axis=1),
        sample(np.float64(0.0)),
    ]


euclidean_norm = rules(
    "euclidean_norm",
    _euclidean,
    reverse=(_pull_euclidean,),
    push=(_push_euclidean,),
    samples=_vectors,
    edges=_zero_vectors,
    kinks=lambda x, axis, keepdims: np.equal(_euclidean(x, axis, keepdims), 0),
    spec=reduction_spec(_euclidean),
    picked=reducing(lambda dtype: 0),
    doc="The square root of the sum of |x|².",
    lower=lambda b, x, axis, keepdims: (
        b.map("sqrt", b.reduce("sum", b.map("square", x), axis, keepdims))
        if x.dtype.kind == "f"
        else None
    ),
    batch=Axes("axis"),
)


def _unit_vector(x: Any, axis: Axis = None) -> Any:
    return _unit(x, _euclidean(x, axis, True))


unit_vector: Op = rules(
    "unit_vector",
    _unit_vector,
    reverse=(lambda g, x, out, axis: _across(g, x, out, axis),),
    push=(_across,),
    samples=_directions,
    edges=_zero_vectors,
    kinks=lambda x, axis: np.broadcast_to(_euclidean(x, axis, True) == 0, x.shape),
    spec=shaped_spec(_unit_vector, same_shape),
    doc="x / ‖x‖, 0 where x is: the derivative of euclidean_norm.",
    lower=_unit_lowered,
    picked=UNIT_VECTOR,
    batch=Axes("axis"),
)


# -- other vector norms ----------------------------------------------------------------------


def _power_norm(x: Any, ord: float, axis: Axis = None, keepdims: bool = False) -> Any:
    powers = np.abs(x) ** ord
    return np.sum(powers, axis=axis, keepdims=keepdims) ** np.reciprocal(ord, dtype=powers.dtype)


def _power_unit(x: Any, out: Any, ord: float) -> tuple[Any, Any]:
    """sign(x) (|x| / ‖x‖)^(p−1), and the lanes in which it is not 0 by the kink rule."""
    dead = (plain(x) == 0) | (plain(out) == 0)
    alive = np.broadcast_to(~dead, shape_of(x))
    x = _selected(x, ~alive, 1.0)
    size, out = np.abs(x), _selected(out, plain(out) == 0, 1.0)
    return x / size * (size / out) ** (ord - 1), alive


def _pull_power_norm(g: Any, x: Any, out: Any, ord: float, axis: Axis, keepdims: bool) -> Any:
    """g sign(x) (|x| / ‖x‖)^(p−1)."""
    unit, alive = _power_unit(x, expanded(out, shape_of(x), axis, keepdims), ord)
    return within(expanded(g, shape_of(x), axis, keepdims) * unit, alive)


def _push_power_norm(t: Any, x: Any, out: Any, ord: float, axis: Axis, keepdims: bool) -> Any:
    """Re Σ sign(x)* (|x| / ‖x‖)^(p−1) ẋ."""
    unit, alive = _power_unit(x, expanded(out, shape_of(x), axis, keepdims), ord)
    conjugated = np.conj(unit) if unit.dtype.kind == "c" else unit
    return _reduced(_selected(conjugated * t, ~alive, 0.0), axis, keepdims)


def _powers() -> list[Sample]:
    x = draw((2, 3), -2, 2)
    return [
        sample(x, ord=3.0, axis=1),
        sample(x, ord=1.5, axis=0, keepdims=True),
        sample(x, ord=0.5, axis=1),
        sample(x, ord=-1.0, axis=1),
        sample(complexes((3,)), ord=3.0, axis=0),
        sample(draw((3,), -2, 2).astype("f"), ord=3.0, axis=0),
    ]


def _power_norm_lowered(b: Any, x: Any, ord: float, axis: Axis, keepdims: bool) -> Any:
    (x,) = b.floats(x)
    powers = b.maths("power", b.map("absolute", x), b.constant(ord, x.dtype))
    total = b.reduce("sum", powers, axis, keepdims)
    return b.maths("power", total, b.constant(1 / ord, x.dtype))


power_norm = rules(
    "power_norm",
    _power_norm,
    reverse=(_pull_power_norm,),
    push=(_push_power_norm,),
    samples=_powers,
    edges=lambda: [
        sample(np.zeros(2), ord=3.0, axis=0),
        sample(np.array([0.0, 2.0]), ord=1.5, axis=0),
        sample(np.array([0.0, 2.0]), ord=0.5, axis=0),
    ],
    kinks=lambda x, ord, axis, keepdims: np.equal(x, 0),
    spec=reduction_spec(_power_norm),
    doc="(Σ |x|^p)^(1/p).",
    lower=_power_norm_lowered,
    batch=Axes("axis"),
)


def _vector_norm_of(x: Any, ord: Any, axis: Axis, keepdims: bool) -> Any:
    """The norm of vectors that lie along an axis, or over several."""
    if ord is None or ord == 2:
        return euclidean_norm(x, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ArgumentError(f"norm: {ord!r} is a norm of matrices, and this is a vector.")
    if ord == np.inf and 0 in x.shape:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)  # NumPy says 0
    if ord == 0:
        nonzero = np.not_equal(x, 0).astype(np.empty(0, x.dtype).real.dtype)
        return np.sum(nonzero, axis=axis, keepdims=keepdims)
    reductions: dict[float, Any] = {np.inf: np.max, -np.inf: np.min, 1: np.sum}
    if ord in reductions:
        return reductions[ord](np.abs(x), axis=axis, keepdims=keepdims)
    return power_norm(x, ord=float(ord), axis=axis, keepdims=keepdims)


# -- matrix norms ----------------------------------------------------------------------------

SINGULAR = (2, -2, "nuc")
SUMS = {1: (0, np.max), -1: (0, np.min), np.inf: (1, np.max), -np.inf: (1, np.min)}


def _matrix_norm_of(x: Any, ord: Any, axis: tuple[int, int], keepdims: bool) -> Any:
    """The norm of matrices whose rows and columns lie along two axes."""
    rows, columns = strict_axes(x.ndim, axis)
    if ord in (None, "fro", "f"):
        return euclidean_norm(x, axis=(rows, columns), keepdims=keepdims)
    if ord in (1, 2, np.inf) and 0 in (x.shape[rows], x.shape[columns]):
        return np.sum(np.abs(x), axis=(rows, columns), keepdims=keepdims)  # NumPy says 0
    if ord in SUMS:
        summed, reduce = SUMS[ord]
        sums = np.sum(np.abs(x), axis=(rows, columns)[summed], keepdims=True)
        found = reduce(sums, axis=(rows, columns)[1 - summed], keepdims=True)
    elif ord in SINGULAR:
        others = [a for a in range(x.ndim) if a not in (rows, columns)]
        s = svd_factors(np.transpose(x, [*others, rows, columns]), full_matrices=False)[1]
        found = np.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
    else:
        raise ArgumentError(f"norm: {ord!r} is not a norm of matrices.")
    one = (1,) if keepdims else ()
    shape = [k for a, n in enumerate(x.shape) for k in (one if a in (rows, columns) else (n,))]
    return np.reshape(found, shape)


# -- as NumPy has them -----------------------------------------------------------------------


def _inexact(x: Any) -> Any:
    x = as_array(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    refuse_gradients(ord=ord)
    x = _inexact(x)
    if axis is None and ord is None:
        return euclidean_norm(x, axis=None, keepdims=keepdims)
    axis = strict_axes(x.ndim, axis if axis is None or isinstance(axis, tuple) else int(axis))
    if len(axis) == 1:
        return _vector_norm_of(x, ord, axis, keepdims)
    if len(axis) == 2:
        return _matrix_norm_of(x, ord, axis, keepdims)
    raise ShapeError(f"norm of {x.shape} with ord={ord!r}: give one axis, or the two of a matrix.")


def _norms() -> list[Sample]:
    x, m, stack = draw((4,), -2, 2), draw((3, 2), -2, 2), draw((2, 3, 4), -2, 2)
    inf = np.inf
    vector = [sample(x, ord=p) for p in (None, 2, 1, inf, -inf, 3, 0.5, -1, -2, 0)]
    matrix = [sample(m, ord=p) for p in (None, "fro", "nuc", 1, -1, inf, -inf, 2, -2)]
    stacked = [sample(stack, ord=p, axis=(2, 0), keepdims=True) for p in ("fro", "nuc", 1, inf, 2)]
    return [
        *vector, *matrix, *stacked,
        sample(stack, ord=-1, axis=(0, 1)), sample(stack), sample(stack, keepdims=True),
        sample(stack, ord=3, axis=-2, keepdims=True), sample(stack, ord=1, axis=0),
        sample(complexes((3,)), ord=1), sample(complexes((3, 2)), ord=2),
        sample(complexes((3, 2)), ord="fro"),
        sample(x.astype("f")), sample(m.astype("f"), ord="nuc"), sample(draw((0,), 0, 1)),
        sample(draw((0,), 0, 1), ord=inf),
    ]  # fmt: skip


norm = composite(
    "norm",
    _norm,
    samples=_norms,
    edges=lambda: [
        *_zero_vectors()[:2],
        *(sample(np.zeros((2, 2)), ord=p) for p in ("fro", "nuc", 1, np.inf, 2, -2)),
        *(sample(np.zeros(2), ord=p) for p in (1, np.inf, -np.inf, 3)),
        *(sample(np.eye(2), ord=p) for p in ("nuc", 1, np.inf, 2, -2)),
    ],
    bad=lambda: [
        sample(np.ones(3), ord="fro"),
        sample(np.ones((2, 2, 2)), ord=1),
        sample(np.ones((2, 2)), ord=3),
        sample(np.ones(3), axis=1),
        sample(np.ones((2, 2)), axis=(0, 2)),
        sample(np.ones((2, 2)), axis=(0, -2)),
        sample(np.ones(3), axis=(0.5,)),
    ],
    numpy=(np.linalg.norm,),
    picked=True,
    doc="np.linalg.norm, with every ord.",
)


def _vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    refuse_gradients(ord=ord)
    x = _inexact(x)
    return _vector_norm_of(x, ord, strict_axes(x.ndim, axis), keepdims)


vector_norm = composite(
    "vector_norm",
    _vector_norm,
    samples=lambda: [
        sample(draw((2, 3), -2, 2)),
        sample(draw((2, 3), -2, 2), ord=3, keepdims=True),
        *(sample(draw((2, 3, 4), -2, 2), axis=(0, 2), ord=p) for p in (1, 2, np.inf, 3)),
        sample(draw((2, 3), -2, 2), axis=1, ord=1),
    ],
    edges=lambda: [sample(np.zeros((2, 2)))],
    bad=lambda: [sample(np.ones(3), axis=1), sample(np.ones((2, 3)), axis=(0, 2))],
    numpy=(np.linalg.vector_norm,),
    picked=True,
)
matrix_norm = composite(
    "matrix_norm",
    lambda x, keepdims=False, ord="fro": _matrix_norm_of(_inexact(x), ord, (-2, -1), keepdims),
    samples=lambda: [
        *(sample(draw((2, 3, 4), -2, 2), ord=p) for p in ("fro", "nuc", 1, -1, 2, -2)),
        sample(draw((3, 2), -2, 2), keepdims=True),
    ],
    edges=lambda: [sample(np.zeros((2, 2))), sample(np.zeros((2, 2)), ord="nuc")],
    bad=lambda: [sample(np.ones(3))],
    numpy=(np.linalg.matrix_norm,),
)


def _cond(x: Any, p: Any = None) -> Any:
    refuse_gradients(p=p)
    x = as_array(x)
    if p in (None, 2, -2):
        s = svd_factors(x, full_matrices=False)[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    try:
        inverse = inv(x)
    except np.linalg.LinAlgError:
        raise LinearAlgebraError(
            "cond of a singular matrix is infinite: it has no derivative."
        ) from None
    return norm(x, ord=p, axis=(-2, -1)) * norm(inverse, ord=p, axis=(-2, -1))


cond = composite(
    "cond",
    _cond,
    samples=lambda: [
        sample(matrices(3, 3)),
        sample(draw((4, 2), -2, 2)),
        *(sample(matrices(2, 3, 3), p=p) for p in (2, -2, 1, np.inf, "fro", "nuc")),
        sample(matrices(3, 3, dtype=complex)),
    ],
    bad=lambda: [sample(np.ones(3)), sample(np.ones((2, 2)), p=1)],
    numpy=(np.linalg.cond,),
)
