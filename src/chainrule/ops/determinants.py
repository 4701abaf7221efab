"""Determinants, right also where the matrix is singular: det, slogdet, and cofactors.

det is a polynomial in the entries, so all its derivatives exist everywhere; only the usual formula
det(A) A⁻ᵀ is 0·∞ at a singular A.  There the cofactors come from A = U S Vᴴ: in that basis the
matrix is diagonal, and the derivatives of det are products of the other singular values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chainrule.core.batching import SPREAD, STACKED
from chainrule.core.masked import plain
from chainrule.core.op import Op, Sample, sample
from chainrule.core.parts import Parts
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec
from chainrule.errors import LinearAlgebraError
from chainrule.ops.define import composite, rules
from chainrule.ops.linalg import checked, inexact, matrices, square, squares
from chainrule.ops.products import adjoint, transposed
from chainrule.ops.samples import draw

LARGEST_CONDITION = 1e6  # of a third derivative, which loses its square in precision


def _scaled(factor: Any, matrix: Any) -> Any:
    """One number per matrix times the matrix."""
    return factor[..., None, None] * matrix


def _trace_of_product(a: Any, b: Any) -> Any:
    """tr(a b) without the product."""
    return np.sum(transposed(a) * b, axis=(-2, -1))


def singular_squares() -> list[Sample]:
    """Rank n−1, n−2 and 0; a stack in which only one matrix is singular."""
    low = draw((3, 2), -2, 2) @ draw((2, 3), -2, 2)
    one = draw((3, 1), -2, 2) @ draw((1, 3), -2, 2)
    counted = np.arange(9.0).reshape(3, 3)
    return [
        *(
            sample(m)
            for m in (low, one, counted, np.zeros((3, 3)), np.zeros((2, 2)), np.zeros((1, 1)))
        ),
        sample(np.stack([low, matrices(3, 3)])),
    ]


# -- the derivatives of det, as ops of their own ---------------------------------------------


def _in_its_basis(a: Any) -> tuple[Any, Any, Any, Any]:
    """U, S, Vᴴ, and the factor det U det Vᴴ."""
    u, s, vh = np.linalg.svd(a)
    return u, s, vh, np.linalg.det(u) * np.linalg.det(vh)


def _others(s: Any) -> Any:
    """Per element the product of all the others along the last axis, with no division."""
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return before * after


def _cofactor(a: Any) -> Any:
    """det(a) a⁻ᵀ; the limit of it where a is singular."""
    try:
        return _scaled(np.linalg.det(a), transposed(np.linalg.inv(a)))
    except np.linalg.LinAlgError:
        u, s, vh, phase = _in_its_basis(a)
        return _scaled(phase, np.conj((u * _others(s)[..., None, :]) @ vh))


def _cofactor_lowered(b: Any, a: Any) -> Any:
    det = b.det(a)
    return b.map("multiply", b.reshape(det, (*det.shape, 1, 1)), b.turned(b.inv(a)))


def _cofactor_change(a: Any, along: Any) -> Any:
    """The derivative of the cofactors, from the products of all singular values but two.

    Where a is regular it is det(a) (tr(a⁻¹u) a⁻ᵀ − (a⁻¹ u a⁻¹)ᵀ), a difference of large numbers
    where a is nearly singular.
    """
    u, s, vh, phase = _in_its_basis(a)
    eye = np.eye(s.shape[-1], dtype=s.dtype)
    others = _others(np.where(eye == 1, 1, s[..., None, :])) * (1 - eye)
    turned = adjoint(u) @ along @ adjoint(vh)
    on_diagonal = others @ np.diagonal(turned, axis1=-2, axis2=-1)[..., None]
    inside = on_diagonal * eye - others * transposed(turned)
    return _scaled(phase, np.conj(u) @ inside @ np.conj(vh))


def _cofactor_change_lowered(b: Any, a: Any, along: Any) -> Any:
    """As `_cofactor_change`; the products of all but two are taken over every triple."""
    a, along = b.floats(a, along)
    if 0 in a.shape or a.shape != along.shape:
        return None
    u, s, vh = b.svd(a, False)
    phase = b.map("multiply", b.det(u), b.det(vh))
    one, zero = b.constant(1, a.dtype), b.constant(0, a.dtype)
    eye = np.eye(a.shape[-1], dtype=bool)
    left_out = b.map("logical_or", b.held(eye[:, None, :]), b.held(eye[None]))
    values = b.reshape(s, (*s.shape[:-1], 1, 1, s.shape[-1]))
    others = b.reduce("prod", b.map("where", left_out, one, values), -1, False)
    others = b.map("where", b.held(eye), zero, others)
    turned = b.matmul(b.matmul(b.turned(u), along), b.turned(vh))
    diagonal = b.diagonal(turned, 0, -2, -1)
    on_diagonal = b.matmul(others, b.reshape(diagonal, (*diagonal.shape, 1)))
    beside = b.map("multiply", others, b.turned(turned))
    inside = b.map("subtract", b.map("where", b.held(eye), on_diagonal, zero), beside)
    whole = b.matmul(b.matmul(u, inside), vh)
    return b.map("multiply", b.reshape(phase, (*phase.shape, 1, 1)), whole)


def _third(a: Any, t: Any, u: Any) -> Any:
    """The third derivative of det along t and u, symmetric in them; a must not be singular."""
    b = inv_of(a, "the third derivative of det")
    condition = np.linalg.norm(plain(a), axis=(-2, -1)) * np.linalg.norm(plain(b), axis=(-2, -1))
    if np.any(condition > LARGEST_CONDITION):
        raise LinearAlgebraError("the third derivative of det: the matrix is too nearly singular.")
    bt, bu = b @ t, b @ u
    along_t, along_u = _traced(bt), _traced(bu)
    twice = bu @ bt @ b + bt @ bu @ b
    second = along_t * along_u - _traced(bt @ bu)
    found = second * b - along_u * (bt @ b) - along_t * (bu @ b) + twice
    return _scaled(np.linalg.det(a), transposed(found))


def _traced(matrix: Any) -> Any:
    """The trace, shaped to multiply the matrix."""
    eye = np.eye(matrix.shape[-1], dtype=bool)
    return np.sum(matrix * eye, axis=(-2, -1))[..., None, None]


def inv_of(a: Any, what: str) -> Any:
    """a⁻¹ inside a rule; a singular matrix is named as the reason why there is no derivative."""
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise LinearAlgebraError(f"{what} of a singular matrix does not exist.") from None


cofactor_change: Op = rules(
    "cofactor_change",
    _cofactor_change,
    reverse=(
        lambda g, a, u: _third(conjugate(a), conjugate(u), g),
        lambda g, a: cofactor_change(conjugate(a), g),
    ),
    push=(lambda t, a, u: _third(a, u, t), lambda t, a: cofactor_change(a, t)),
    inputs=("a", "u"),
    samples=lambda: [
        sample(matrices(3, 3), draw((3, 3), -2, 2)),
        sample(matrices(2, 2, 2), draw((2, 2, 2), -2, 2)),
        sample(matrices(3, 3, dtype=complex), matrices(3, 3, seed=1, dtype=complex)),
    ],
    spec=lambda a, u: Spec(a.shape, inexact(a, u)),
    doc="The derivative along u of the cofactors of a.",
    lower=_cofactor_change_lowered,
    batch=SPREAD,
)
cofactor = rules(
    "cofactor",
    _cofactor,
    reverse=(lambda g, a: cofactor_change(conjugate(a), g),),
    push=(lambda t, a: cofactor_change(a, t),),
    inputs=("a",),
    samples=squares,
    edges=singular_squares,
    bad=lambda: [sample(np.ones((2, 3)))],
    spec=lambda a: square("cofactor", a),
    doc="The matrix of cofactors: ∂det(a)/∂a.",
    lower=_cofactor_lowered,
    batch=STACKED,
)

det = rules(
    "det",
    np.linalg.det,
    reverse=(lambda g, a: _scaled(g, conjugate(cofactor(a))),),
    push=(lambda t, a: np.sum(cofactor(a) * t, axis=(-2, -1)),),
    inputs=("a",),
    samples=lambda: [*squares(), *singular_squares()],
    edges=singular_squares,
    bad=lambda: [sample(np.ones((2, 3))), sample(np.ones(3))],
    spec=lambda a: Spec(a.shape[:-2], square("det", a).dtype),
    lower=lambda b, a: b.det(a),
    numpy=(np.linalg.det,),
    batch=STACKED,
)


# -- slogdet ---------------------------------------------------------------------------------


def _pull_slogdet(g: Any, a: Any) -> Any:
    """(l̄ − i Im(s̄* s)) a⁻ᴴ; a real sign has no derivative."""
    sign_part, log_part = g
    total = log_part
    if a.dtype.kind == "c" and sign_part is not None:
        turning = a.dtype.type(-1j) * np.imag(np.conj(sign_part) * np.linalg.slogdet(a)[0])
        total = turning if total is None else total + turning
    return (
        None if total is None else _scaled(total, adjoint(inv_of(a, "the derivative of slogdet")))
    )


def _push_slogdet(t: Any, a: Any) -> Parts:
    """With τ = tr(a⁻¹ ȧ): the logarithm moves by Re τ, the sign by i Im τ times itself."""
    rate = _trace_of_product(inv_of(a, "the derivative of slogdet"), t)
    if a.dtype.kind != "c":
        return Parts([None, rate])
    return Parts([a.dtype.type(1j) * np.imag(rate) * np.linalg.slogdet(a)[0], np.real(rate)])


def _slogdet_spec(a: Any) -> tuple[Spec, Spec]:
    dtype = square("slogdet", a).dtype
    return Spec(a.shape[:-2], dtype), Spec(a.shape[:-2], np.empty(0, dtype).real.dtype)


class SlogdetResult(NamedTuple):
    """As NumPy's: the determinant is sign · exp(logabsdet)."""

    sign: Any
    logabsdet: Any


slogdet_pair = rules(
    "slogdet_pair",
    lambda a: tuple(np.linalg.slogdet(a)),
    reverse=(_pull_slogdet,),
    push=(_push_slogdet,),
    inputs=("a",),
    samples=squares,
    bad=lambda: [sample(np.ones((2, 3)))],
    spec=_slogdet_spec,
    outputs=2,
    lower=lambda b, a: b.slogdet(a),
    doc="The sign of the determinant and the logarithm of its absolute value.",
    batch=STACKED,
)
slogdet = composite(
    "slogdet",
    lambda a: SlogdetResult(*slogdet_pair(checked("slogdet", a))),
    inputs=("a",),
    samples=lambda: [sample(matrices(3, 3)), sample(-matrices(2, 3, 3))],
    numpy=(np.linalg.slogdet,),
)
