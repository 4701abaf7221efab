"""QR decomposition, and eigenvalues and eigenvectors of general matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chainrule.core.batching import STACKED
from chainrule.core.masked import perhaps, plain
from chainrule.core.op import Sample, sample
from chainrule.core.parts import Parts
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec
from chainrule.errors import (
    ArgumentError,
    DegenerateError,
    ShapeError,
    UnsupportedError,
)
from chainrule.ops.coincidence import (
    PartsOfValues,
    first_columns,
    mean_of_equals,
    message,
    off_diagonal,
    rounding,
)
from chainrule.ops.define import composite, rules
from chainrule.ops.eigh import gaps
from chainrule.ops.joining import as_array
from chainrule.ops.linalg import checked, inexact, matrices, square, triangle, triangular_solve
from chainrule.ops.products import adjoint, complexes
from chainrule.ops.samples import draw

# -- QR --------------------------------------------------------------------------------------

COMPLEMENT = (
    "qr with mode='complete': the result depends on which basis of the complement was chosen.\n"
    "  Use mode='reduced', or what does not depend on it: the projector on the complement."
)


def _hermitian_from_lower(m: Any) -> Any:
    """The Hermitian matrix with the lower triangle of m and the real part of its diagonal."""
    lower = m * triangle(m, True, 0.0)
    eye = np.eye(m.shape[-1], dtype=bool)
    return lower + adjoint(lower) + np.real(m) * eye


def _divided(y: Any, r: Any, trans: int) -> Any:
    """y R⁻ᴴ (trans 0) or y R⁻¹ (trans 2), R upper triangular."""
    return adjoint(triangular_solve(r, adjoint(y), lower=False, trans=trans, unit_diagonal=False))


def _pull_qr(g: Any, out: Any) -> Any:
    """(Q̄ + Q H) R⁻ᴴ, where H is Hermitian with the lower triangle of R R̄ᴴ − Q̄ᴴ Q."""
    q, r = out
    n = r.shape[-1]
    r, for_r = r[..., :n, :], None if g[1] is None else g[1][..., :n, :]
    q, for_q = first_columns(q, g[0], n, COMPLEMENT)
    m = -(adjoint(for_q) @ q)
    if for_r is not None:
        m = m + r @ adjoint(for_r * (triangle(r, False)))
    return _divided(for_q + q @ _hermitian_from_lower(m), r, 0)


def _push_qr(t: Any, out: Any) -> Parts:
    """With X = Ȧ R⁻¹, S = QᴴX and Ω the skew matrix with S's lower triangle: Ṙ = (S − Ω) R."""
    every, full = out
    n = full.shape[-1]
    q, r = every[..., :n], full[..., :n, :]
    x = _divided(t, r, 2)
    s = adjoint(q) @ x
    lower = s * triangle(s, True, 0.0)
    turn = lower - adjoint(lower)
    if s.dtype.kind == "c":
        turn = turn + s.dtype.type(1j) * np.imag(s) * np.eye(n, dtype=bool)
    moved = q @ (turn - s) + x
    change = (s - turn) @ r
    if every.shape[-1] > n:
        rest = every[..., n:]
        moved = np.concatenate([moved, -(q @ (adjoint(moved) @ rest))], axis=-1)
        below = np.zeros((*full.shape[:-2], full.shape[-2] - n, n), full.dtype)
        change = np.concatenate([change, below], axis=-2)
    return Parts([moved, change])


def _qr_factors(a: Any, mode: Any) -> tuple[Any, Any]:
    q, r = np.linalg.qr(a, mode=mode)
    return q, r


def _qr_spec(a: Any, mode: str) -> tuple[Spec, Spec]:
    *stack, m, n = a.shape
    k = m if mode == "complete" else n
    dtype = inexact(a)
    return Spec((*stack, m, k), dtype), Spec((*stack, k, n), dtype)


qr_factors = rules(
    "qr_factors",
    _qr_factors,
    reverse=(_pull_qr,),
    push=(_push_qr,),
    inputs=("a",),
    raises=True,
    samples=lambda: [
        sample(matrices(3, 3), mode="reduced"),
        sample(draw((4, 2), -2, 2), mode="reduced"),
        sample(draw((2, 3, 2), -2, 2), mode="reduced"),
        sample(complexes((3, 2)), mode="reduced"),
        sample(matrices(3, 3), mode="complete"),
        sample(draw((3, 2), -2, 2).astype("f"), mode="reduced"),
    ],
    spec=_qr_spec,
    outputs=2,
    lower=lambda b, a, mode: b.qr(a, mode),
    doc="Q and R of matrices with at least as many rows as columns.",
    batch=STACKED,
)


class QRResult(NamedTuple):
    """As NumPy's."""

    Q: Any
    R: Any


def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        kind = UnsupportedError if mode == "raw" else ArgumentError
        raise kind(f"qr with mode={mode!r}: choose 'reduced', 'complete' or 'r'.")
    a = as_array(a)
    if len(a.shape) < 2:
        raise ShapeError(f"qr of {a.shape}: a matrix has two axes.")
    rows, columns = a.shape[-2:]
    if rows >= columns:
        q, r = qr_factors(a, mode="complete" if mode == "complete" else "reduced")
    else:  # the first columns give Q, which then gives the other columns of R
        q, first = qr_factors(a[..., :rows], mode="reduced")
        r = np.concatenate([first, adjoint(q) @ a[..., rows:]], axis=-1)
    return r if mode == "r" else QRResult(q, r)


qr = composite(
    "qr",
    _qr,
    inputs=("a",),
    samples=lambda: [
        sample(draw((4, 2), -2, 2)),
        sample(draw((2, 4), -2, 2)),
        sample(matrices(3, 3), mode="complete"),
        sample(draw((4, 2), -2, 2), mode="r"),
        sample(complexes((2, 3))),
    ],
    bad=lambda: [sample(np.ones(3)), sample(np.ones((2, 2)), mode="raw")],
    numpy=(np.linalg.qr,),
)


# -- eig -------------------------------------------------------------------------------------


def _close(w: Any, shared: bool = False) -> Any:
    """Which eigenvalues coincide to rounding, as `coinciding` tells it of sorted ones."""
    limit = rounding(w) * np.max(np.abs(w), axis=-1, keepdims=True, initial=0.0)[..., None]
    same = np.abs(w[..., None, :] - w[..., :, None]) <= limit
    for _ in range(w.shape[-1].bit_length()):
        same = same @ same  # if a is close to b and b to c, all three count as one
    others = off_diagonal(same)
    return same if (perhaps(others) if shared else np.any(others)) else None


def _normalised(v: Any, g: Any) -> Any:
    """The adjoint of unscaled eigenvectors, given that of NumPy's.

    LAPACK gives them length 1 and, where they are complex, makes their largest component real.
    """
    along = np.sum(conjugate(g) * v, axis=-2)[..., None, :]
    found = g - v * np.real(along)
    if v.dtype.kind == "c":
        largest = _largest(v)
        pivot = np.sum(v * largest, axis=-2)[..., None, :]
        found = found + v.dtype.type(1j) * (np.imag(along) / np.real(pivot)) * largest
    return found


def _largest(v: Any) -> Any:
    """Where each column has the component that LAPACK made real, as booleans."""
    size = np.abs(plain(v))
    if 0 in size.shape:  # a column without components has no largest one
        return np.zeros(size.shape, bool)
    return np.arange(size.shape[-2])[:, None] == np.argmax(size, axis=-2)[..., None, :]


def _pull_eig(g: Any, out: Any) -> Any:
    """V⁻ᴴ (w̄ + F* ∘ Vᴴ V̄) Vᴴ with F = 1 / (wⱼ − wᵢ)."""
    w, v = out
    for_values, for_vectors = g
    same, eye = _close(plain(w), for_vectors is None), np.eye(w.shape[-1], dtype=bool)
    inside: Any = 0.0
    if for_values is not None:
        if same is not None and for_vectors is None:
            for_values = mean_of_equals(for_values, same)
        inside = for_values[..., None, :] * eye
    if for_vectors is not None:
        if same is not None:
            raise DegenerateError(message("eigenvalues", plain(w), same))
        inside = inside + conjugate(gaps(w, eye)) * (adjoint(v) @ _normalised(v, for_vectors))
    return np.linalg.solve(adjoint(v), inside @ adjoint(v))


def _push_eig(t: Any, out: Any) -> Parts:
    """With E = V⁻¹ Ȧ V: ẇ = diag E, and V̇ = V (F ∘ E), brought back to its normal form."""
    w, v = out
    e = np.linalg.solve(v, t @ v)
    eye = np.eye(w.shape[-1], dtype=bool)
    values = np.sum(e * eye, axis=-1)
    same = _close(plain(w))
    if same is not None:
        what = message("eigenvalues", plain(w), same)
        return PartsOfValues([mean_of_equals(values, same), None], (1,), what)
    moved = v @ (gaps(w, eye) * e)
    length = np.real(np.sum(conjugate(v) * moved, axis=-2))[..., None, :]
    found = moved - v * length
    if v.dtype.kind == "c":
        largest = _largest(v)
        pivot, shift = (np.sum(x * largest, axis=-2)[..., None, :] for x in (v, moved))
        found = found - v.dtype.type(1j) * v * (np.imag(shift) / np.real(pivot))
    return Parts([values, found])


def _eig_pair(a: Any) -> tuple[Any, Any]:
    """As complex numbers, always: NumPy gives real ones where all eigenvalues happen to be real."""
    w, v = np.linalg.eig(a)
    dtype = np.result_type(w.dtype, np.complex64)
    return w.astype(dtype), v.astype(dtype)


def _eig_spec(a: Any) -> tuple[Spec, Spec]:
    whole = square("eig", a)
    dtype = np.result_type(whole.dtype, np.complex64)
    return Spec(a.shape[:-1], dtype), Spec(whole.shape, dtype)


def _squares() -> list[Sample]:
    shapes = ((3, 3), (2, 2, 2), (1, 1))
    empty = ((0, 0), (2, 0, 0), (0, 2, 2))
    rotated = np.array([[0.3, 1.1], [-0.8, 0.5]])  # real, with complex eigenvalues
    return [
        *(sample(matrices(*s, dtype=complex)) for s in shapes),
        *(sample(np.zeros(s, complex)) for s in empty),
        sample(matrices(3, 3)),
        sample(rotated),
    ]


eig_pair = rules(
    "eig_pair",
    _eig_pair,
    reverse=(_pull_eig,),
    push=(_push_eig,),
    inputs=("a",),
    raises=True,
    samples=_squares,
    bad=lambda: [sample(np.ones((2, 3)))],
    kinks=lambda a: _close(np.linalg.eigvals(a)) is not None,
    spec=_eig_spec,
    outputs=2,
    doc="Eigenvalues and eigenvectors, these of length 1 and with a real largest component.",
    batch=STACKED,
)


class EigResult(NamedTuple):
    """As NumPy's."""

    eigenvalues: Any
    eigenvectors: Any


def _eig(name: str, a: Any) -> EigResult:
    a = checked(name, a)
    w, v = eig_pair(a)
    if a.dtype.kind != "c" and np.all(np.imag(w) == 0):
        w, v = np.real(w), np.real(v)
    return EigResult(w, v)


eig = composite(
    "eig",
    lambda a: _eig("eig", a),
    inputs=("a",),
    samples=_squares,
    numpy=(np.linalg.eig,),
)
eigvals = composite(
    "eigvals",
    lambda a: _eig("eigvals", a).eigenvalues,
    inputs=("a",),
    samples=_squares,
    bad=lambda: [sample(np.ones((2, 3)))],
    numpy=(np.linalg.eigvals,),
)
