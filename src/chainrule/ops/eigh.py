"""Eigenvalues and eigenvectors of Hermitian matrices; NumPy reads one triangle (see `linalg`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chainrule.core.batching import STACKED
from chainrule.core.masked import plain
from chainrule.core.op import Sample, sample
from chainrule.core.parts import Parts
from chainrule.core.spec import Spec
from chainrule.errors import NeedsHistoryError
from chainrule.ops.coincidence import (
    PartsOfValues,
    Ways,
    any_turn,
    coinciding,
    first_order_only,
    limit,
    mean_of_equals,
    message,
    off_diagonal,
    reciprocal,
    refuse_dependence,
    splitting,
    whole_of,
)
from chainrule.ops.define import composite, rules
from chainrule.ops.linalg import checked, from_triangle, positive, square, to_triangle
from chainrule.ops.products import adjoint
from chainrule.ops.samples import draw

PHASE = (
    "eigh of a complex matrix: the result depends on the arbitrary phase of an eigenvector.\n"
    "  Use what does not: |v|², v vᴴ, V f(W) Vᴴ."
)


def gaps(w: Any, dead: Any) -> Any:
    """1 / (wⱼ − wᵢ), and 0 where `dead`."""
    return reciprocal(w[..., None, :] - w[..., :, None], dead)


def _pull_eigh(g: Any, a: Any, out: Any, UPLO: str) -> Any:
    """V (w̄ + F ∘ Vᴴ V̄) Vᴴ in the triangle read, with F = 1 / (wⱼ − wᵢ)."""
    w, v = out
    for_values, for_vectors = g
    same = coinciding(plain(w), shared=for_vectors is None)
    if for_vectors is None:
        inside = for_values if same is None else mean_of_equals(for_values, same)
        return to_triangle((v * inside[..., None, :]) @ adjoint(v), UPLO == "L")
    if same is not None:
        return _pull_coinciding(g, a, out, same, UPLO)
    turned = adjoint(v) @ for_vectors
    eye = np.eye(w.shape[-1], dtype=bool)
    _refuse_phase(turned, for_vectors)
    inside = gaps(w, eye) * turned
    if for_values is not None:
        inside = inside + for_values[..., None, :] * eye
    return to_triangle(v @ inside @ adjoint(v), UPLO == "L")


def _refuse_phase(turned: Any, scale: Any) -> None:
    if turned.dtype.kind == "c":
        turned = plain(turned)
        refuse_dependence(turned.imag, np.eye(turned.shape[-1], dtype=bool), scale, PHASE)


def _pull_coinciding(g: Any, a: Any, out: Any, same: Any, UPLO: str) -> Any:
    """As `_pull_eigh`, with limits for the quotients 0/0 of pairs that coincide."""
    what = message("eigenvalues", plain(out[0]), same)
    if not hasattr(out[0], "node"):
        raise NeedsHistoryError(what)
    w, v = out
    for_values, for_vectors = g
    turned = adjoint(v) @ for_vectors
    numerator = turned - adjoint(turned)
    _refuse_phase(turned, for_vectors)
    w, v = plain(w), plain(v)
    pairs, change = off_diagonal(same), splitting(w)
    turn = Parts([None, v @ any_turn(pairs, v.dtype)])
    ways = Ways(whole_of(out), Parts([change, None]), (turn,), what)
    limits = limit(numerator, pairs, for_vectors, ways)
    inside = 0.5 * (gaps(w, same) * plain(numerator) + gaps(change, ~pairs) * limits)
    if for_values is not None:
        inside = inside + plain(for_values)[..., None, :] * np.eye(w.shape[-1], dtype=w.dtype)
    found = to_triangle(v @ inside @ adjoint(v), UPLO == "L")
    return first_order_only(found, a, *(p for p in g if p is not None))


def _push_eigh(t: Any, out: Any, UPLO: str) -> Parts:
    """ẇ = diag Vᴴ Ȧ V and V̇ = V (F ∘ Vᴴ Ȧ V)."""
    w, v = out
    turned = adjoint(v) @ from_triangle(t, UPLO == "L") @ v
    eye = np.eye(w.shape[-1], dtype=bool)
    values = np.real(np.sum(turned * eye, axis=-1))
    same = coinciding(plain(w))
    if same is None:
        return Parts([values, v @ (gaps(w, eye) * turned)])
    what = message("eigenvalues", plain(w), same)
    return PartsOfValues([mean_of_equals(values, same), None], (1,), what)


def _eigh_spec(a: Any, UPLO: str = "L") -> tuple[Spec, Spec]:
    whole = square("eigh", a)
    return Spec(a.shape[:-1], np.empty(0, whole.dtype).real.dtype), whole


def _symmetric() -> list[Sample]:
    a = positive(3, 3)
    return [
        sample(a),
        sample(a, UPLO="U"),
        sample(a + np.triu(draw((3, 3), -1, 1), 1)),  # only one triangle is read
        sample(positive(2, 2, 2)),
        sample(np.array([[2.0]])),
        sample(positive(3, 3, dtype="f")),
    ]


eigh_pair = rules(
    "eigh_pair",
    lambda a, UPLO="L": tuple(np.linalg.eigh(a, UPLO)),
    reverse=(_pull_eigh,),
    push=(_push_eigh,),
    inputs=("a",),
    raises=True,
    samples=_symmetric,
    bad=lambda: [sample(np.ones((2, 3))), sample(np.eye(2), UPLO="X")],
    kinks=lambda a, UPLO: coinciding(np.linalg.eigvalsh(a, UPLO)) is not None,
    spec=_eigh_spec,
    outputs=2,
    lower=lambda b, a, UPLO="L": b.eigh(a, UPLO),
    doc="Eigenvalues in ascending order, and eigenvectors, of the matrix in one triangle of a.",
    batch=STACKED,
)


class EighResult(NamedTuple):
    """As NumPy's."""

    eigenvalues: Any
    eigenvectors: Any


def _repeated() -> list[Sample]:
    return [sample(np.eye(3)), sample(np.diag([1.0, 1.0, 2.0])), sample(np.zeros((2, 2)))]


eigh = composite(
    "eigh",
    lambda a, UPLO="L": EighResult(*eigh_pair(checked("eigh", a), UPLO=UPLO)),
    inputs=("a",),
    samples=lambda: [sample(positive(3, 3)), sample(positive(3, 3), UPLO="U")],
    numpy=(np.linalg.eigh,),
)
eigvalsh = composite(
    "eigvalsh",
    lambda a, UPLO="L": eigh_pair(checked("eigvalsh", a), UPLO=UPLO)[0],
    inputs=("a",),
    samples=lambda: [*_symmetric(), sample(positive(3, 3, dtype=complex))],
    edges=_repeated,
    bad=lambda: [sample(np.ones((2, 3)))],
    numpy=(np.linalg.eigvalsh,),
)
