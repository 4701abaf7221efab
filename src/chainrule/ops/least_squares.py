"""Least squares and the pseudo-inverse, differentiated where the rank does not change."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import STACKED, BatchCall, merged, parted
from chainrule.core.masked import plain
from chainrule.core.op import Sample, sample
from chainrule.core.parts import Parts
from chainrule.core.spec import Spec
from chainrule.errors import ShapeError
from chainrule.ops.define import ZERO, composite, rules
from chainrule.ops.joining import as_array
from chainrule.ops.linalg import from_triangle, inexact, matrices, positive, to_triangle
from chainrule.ops.products import adjoint, complexes
from chainrule.ops.samples import draw
from chainrule.ops.singular_values import svd_factors

# -- pinv ------------------------------------------------------------------------------------


def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, rtol: Any = None) -> Any:
    limits = {k: v for k, v in (("rcond", rcond), ("rtol", rtol)) if v is not None}
    return np.linalg.pinv(a, hermitian=hermitian, **limits)


def _pinv_lowered(
    b: Any, a: Any, rcond: Any = None, hermitian: bool = False, rtol: Any = None
) -> Any:
    """V s⁻¹ Uᵀ, without the singular values that are small, as NumPy has it."""
    limit = 1e-15 if rcond is None and rtol is None else rtol if rcond is None else rcond
    if hermitian or not isinstance(limit, (int, float)) or 0 in a.shape:
        return None
    u, s, vh = b.svd(a, False)
    least = b.map("multiply", b.constant(limit, s.dtype), b.reduce("max", s, -1, True))
    one, zero = b.constant(1, s.dtype), b.constant(0, s.dtype)
    inverse = b.map("where", b.map("greater", s, least), b.map("divide", one, s), zero)
    scaled = b.map("multiply", b.reshape(inverse, (*inverse.shape, 1)), b.turned(u))
    return b.matmul(b.turned(vh), scaled)


def _pull_pinv(g: Any, a: Any, out: Any, hermitian: bool) -> Any:
    """−Pᴴ g Pᴴ + (1 − A P) gᴴ P Pᴴ + Pᴴ P gᴴ (1 − P A), with P the pseudo-inverse."""
    if hermitian:  # then NumPy reads the lower triangle
        return to_triangle(_pull_pinv(g, from_triangle(a, True), out, False), True)
    p, ph, gh = out, adjoint(out), adjoint(g)
    left = gh @ (p @ ph)
    right = (ph @ p) @ gh
    return -(ph @ g @ ph) + (left - a @ (p @ left)) + (right - (right @ p) @ a)


def _push_pinv(t: Any, a: Any, out: Any, hermitian: bool) -> Any:
    """−P Ȧ P + P Pᴴ Ȧᴴ (1 − A P) + (1 − P A) Ȧᴴ Pᴴ P."""
    if hermitian:
        return _push_pinv(from_triangle(t, True), from_triangle(a, True), out, False)
    p, ph, th = out, adjoint(out), adjoint(t)
    left = (p @ ph) @ th
    right = th @ (ph @ p)
    return -(p @ t @ p) + (left - (left @ a) @ p) + (right - p @ (a @ right))


def _pinv_spec(a: Any, **attrs: Any) -> Spec:
    if len(a.shape) < 2:
        raise ShapeError(f"pinv of {a.shape}: a matrix has two axes.")
    return Spec((*a.shape[:-2], a.shape[-1], a.shape[-2]), inexact(a))


pinv = rules(
    "pinv",
    _pinv,
    reverse=(_pull_pinv,),
    push=(_push_pinv,),
    inputs=("a",),
    raises=True,
    samples=lambda: [
        sample(draw((3, 2), -2, 2)),
        sample(draw((2, 4), -2, 2)),
        sample(matrices(2, 3, 3)),
        sample(complexes((4, 2))),
        sample(complexes((2, 3))),
        sample(positive(3, 3), hermitian=True),
        sample(draw((3, 2), -2, 2).astype("f"), rcond=1e-6),
    ],
    bad=lambda: [sample(np.ones(3))],
    spec=_pinv_spec,
    numpy=(np.linalg.pinv,),
    doc="The pseudo-inverse; its derivative holds while the rank stays the same.",
    lower=_pinv_lowered,
    batch=STACKED,
)


def _matrix_rank(a: Any, tol: Any = None, hermitian: bool = False, rtol: Any = None) -> Any:
    return np.asarray(np.linalg.matrix_rank(a, tol=tol, hermitian=hermitian, rtol=rtol))[()]


def _rank_lanes(call: BatchCall) -> Any:
    """A vector has the rank 1 unless all of it is zero, and so has a number."""
    a = call.raw(0)
    if call.rank(0) >= 2:
        return call.call(a)
    return np.any(np.not_equal(a, 0), axis=tuple(range(1, a.ndim))).astype(np.intp)


matrix_rank = rules(
    "matrix_rank",
    _matrix_rank,
    derivative=ZERO,
    inputs=("a",),
    raises=True,
    samples=lambda: [
        sample(draw((3, 2), -2, 2)),
        sample(np.ones((2, 3, 3))),
        sample(draw((3,), 1, 2)),
    ],
    spec=lambda a, **attrs: Spec(a.shape[:-2], np.dtype(np.intp)),
    numpy=(np.linalg.matrix_rank,),
    batch=_rank_lanes,
)


# -- lstsq -----------------------------------------------------------------------------------


def _lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=rcond)
    return x, residuals, np.intc(rank), s


def _residual_part(g: Any) -> Any:
    """The adjoint of the residuals; none where NumPy gives none."""
    return None if g[1] is None or g[1].shape == (0,) else g[1]


def _pull_equations(g: Any, a: Any, b: Any, rcond: Any) -> Any:
    """−Pᴴ x̄ xᴴ + r (P Pᴴ x̄)ᴴ + Pᴴ x ((1 − P A) x̄)ᴴ, then −2 ρ̄ r xᴴ and U s̄ Vᴴ."""
    solution, residuals, values = g[0], _residual_part(g), g[3]
    p = pinv(a, rcond=rcond)
    x = p @ b
    r = b - a @ x
    total = None
    if solution is not None:
        ph = adjoint(p)
        free = solution - p @ (a @ solution)
        total = r @ adjoint(p @ (ph @ solution)) + (ph @ x) @ adjoint(free)
        total = total - (ph @ solution) @ adjoint(x)
    if residuals is not None:
        total = _plus(total, -2 * (r * residuals) @ adjoint(x))
    if values is not None:
        u, _, vh = svd_factors(a, full_matrices=False)
        total = _plus(total, (u * values) @ vh)
    return total


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a + b


def _pull_right_side(g: Any, a: Any, b: Any, rcond: Any) -> Any:
    """Pᴴ x̄ + 2 ρ̄ r."""
    solution, residuals = g[0], _residual_part(g)
    p = pinv(a, rcond=rcond)
    total = None if solution is None else adjoint(p) @ solution
    if residuals is not None:
        total = _plus(total, 2 * (b - a @ (p @ b)) * residuals)
    return total


def _push_equations(t: Any, a: Any, b: Any, out: Any, rcond: Any) -> Parts:
    """ẋ = −P Ȧ x + P Pᴴ Ȧᴴ r + (1 − P A) Ȧᴴ Pᴴ x."""
    p = pinv(a, rcond=rcond)
    x = p @ b
    r = b - a @ x
    free = adjoint(t) @ (adjoint(p) @ x)
    moved = p @ (adjoint(p) @ (adjoint(t) @ r) - t @ x) + free - p @ (a @ free)
    u, _, vh = svd_factors(a, full_matrices=False)
    values = np.real(np.sum(np.conj(u) * (t @ adjoint(vh)), axis=0))
    return Parts([moved, _residuals_change(-(t @ x), r, out), None, values])


def _push_right_side(t: Any, a: Any, b: Any, out: Any, rcond: Any) -> Parts:
    """ẋ = P ḃ."""
    p = pinv(a, rcond=rcond)
    return Parts([p @ t, _residuals_change(t, b - a @ (p @ b), out), None, None])


def _residuals_change(change: Any, r: Any, out: Any) -> Any:
    """2 Re rᴴ ṙ per column, where NumPy gives residuals: full rank and m > n."""
    if plain(out)[1].shape == (0,):
        return None
    return 2 * np.sum(np.real(np.conj(r) * change), axis=0)


def _by_rank(a: Any, b: Any, rcond: Any = None) -> bool:
    """With more equations than unknowns there are residuals, but only at full rank."""
    return bool(a.shape[0] > a.shape[1])


def _lstsq_spec(a: Any, b: Any, rcond: Any = None) -> tuple[Spec, ...] | None:
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[0] != b.shape[0]:
        raise ShapeError(
            f"lstsq of {a.shape} and {b.shape}: they must be matrices of equally many rows."
        )
    if _by_rank(a, b):
        return None
    (m, n), k = a.shape, b.shape[1]
    dtype = inexact(a, b)
    real = np.empty(0, dtype).real.dtype
    residuals = Spec((0,), real)
    return Spec((n, k), dtype), residuals, Spec((), np.dtype(np.intc)), Spec((min(m, n),), real)


def _systems() -> list[Sample]:
    tall, wide = draw((4, 2), -2, 2), draw((2, 3), -2, 2)
    return [
        sample(tall, draw((4, 3), -2, 2)),
        sample(wide, draw((2, 2), -2, 2)),
        sample(matrices(3, 3), draw((3, 1), -2, 2)),
        sample(complexes((4, 2)), complexes((4, 2), 1)),
        sample(tall.astype("f"), draw((4, 1), -2, 2).astype("f")),
    ]


def _lstsq_lanes(call: BatchCall) -> Any:
    """The right sides of one matrix stand side by side; NumPy takes no stack of matrices."""
    if call.on(0):
        return None
    count = call.count
    x, residuals, *rest = call.call(call.raw(0), merged(call.raw(1), 1))
    x = parted(x, 1, count)
    residuals = residuals.reshape((count, residuals.shape[0] // count))
    return x, residuals, *(np.broadcast_to(r, (count, *r.shape)) for r in rest)


least_squares = rules(
    "least_squares",
    _lstsq,
    reverse=(_pull_equations, _pull_right_side),
    push=(_push_equations, _push_right_side),
    inputs=("a", "b"),
    raises=True,
    samples=_systems,
    spec=_lstsq_spec,
    by_value=_by_rank,
    outputs=4,
    doc="lstsq of a matrix b.",
    batch=_lstsq_lanes,
)


def _any_lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    a, b = as_array(a), as_array(b)
    if b.ndim != 1:
        return least_squares(a, b, rcond=rcond)
    x, residuals, rank, s = least_squares(a, b[:, None], rcond=rcond)
    return x[:, 0], residuals, rank, s


lstsq = composite(
    "lstsq",
    _any_lstsq,
    inputs=("a", "b"),
    samples=lambda: [
        sample(draw((4, 2), -2, 2), draw((4,), -2, 2)),
        sample(draw((4, 2), -2, 2), draw((4, 3), -2, 2)),
    ],
    bad=lambda: [sample(np.ones((4, 2)), np.ones(3)), sample(np.ones((2, 4, 2)), np.ones(4))],
    numpy=(np.linalg.lstsq,),
    doc="np.linalg.lstsq; all of its results but the rank have a derivative.",
)
