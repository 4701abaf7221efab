"""The singular value decomposition, of stacked, rectangular, real and complex matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chainrule.core.batching import STACKED
from chainrule.core.masked import perhaps, plain
from chainrule.core.op import Sample, sample
from chainrule.core.parts import Parts
from chainrule.core.spec import Spec
from chainrule.errors import NeedsHistoryError, ShapeError
from chainrule.ops.coincidence import (
    PartsOfValues,
    Ways,
    any_turn,
    coinciding,
    first_columns,
    first_order_only,
    is_rounding,
    limit,
    mean_of_equals,
    message,
    off_diagonal,
    reciprocal,
    refuse_dependence,
    rounding,
    splitting,
    whole_of,
)
from chainrule.ops.define import composite, rules
from chainrule.ops.eigh import eigh_pair, gaps
from chainrule.ops.linalg import inexact, positive
from chainrule.ops.products import adjoint, complexes
from chainrule.ops.samples import draw

PHASE = (
    "svd of a complex matrix: the result depends on the arbitrary phase of a singular vector.\n"
    "  Use what does not: |u|², u vᴴ, U f(S) Vᴴ."
)
NULL_SPACE = (
    "svd with full_matrices=True: the result depends on which basis of the null space was chosen.\n"
    "  Use full_matrices=False, or what does not depend on it: the projector on the null space."
)
ZERO = (
    "a singular value is zero, so its vectors are not determined by the matrix, and this\n"
    "  derivative depends on which ones were chosen."
)


class Tables(NamedTuple):
    """What the rule divides by: 1/(sⱼ − sᵢ), 1/(sᵢ + sⱼ) and 1/s, each 0 where it would be 1/0."""

    minus: Any
    plus: Any
    inverse: Any


def _zero(s: Any) -> Any:
    """Which singular values are zero to rounding."""
    return s <= rounding(s) * np.max(s, axis=-1, keepdims=True, initial=0.0)


def _tables(s: Any, same: Any, both_zero: Any, zero: Any) -> Tables:
    total = s[..., None, :] + s[..., :, None]
    return Tables(gaps(s, same), reciprocal(total, both_zero), reciprocal(s, zero))


def _regular_tables(s: Any, same: Any) -> Tables:
    eye, zero = np.eye(s.shape[-1], dtype=bool), _zero(plain(s))
    return _tables(s, eye if same is None else same, _pairs(zero), zero)


def _pairs(zero: Any) -> Any:
    return zero[..., None, :] & zero[..., :, None]


class Numerators(NamedTuple):
    """What is divided by sⱼ − sᵢ, by sᵢ + sⱼ, and (of what leaves the spaces of U and V) by s."""

    minus: Any
    plus: Any
    outside_u: Any
    outside_v: Any


# -- reverse ---------------------------------------------------------------------------------


def _pull_svd(g: Any, a: Any, out: Any, full_matrices: bool) -> Any:
    """U s̄ Vᴴ, and what Ū and V̄ add: see `_numerators` and `_assembled`."""
    u, s, vh = out
    for_u, for_s, for_vh = g
    values_only = for_u is None and for_vh is None
    same, zero, k = coinciding(plain(s), shared=values_only), _zero(plain(s)), s.shape[-1]
    if values_only:
        inside = for_s if same is None else mean_of_equals(for_s, same)
        away = is_rounding(plain(inside) * zero, plain(inside))
        if perhaps(~away):
            inside = np.where(zero & ~away, 0, inside)
        return (u[..., :k] * inside[..., None, :]) @ vh[..., :k, :]
    if same is not None or (zero.any() and _meets_zero(u, vh)):
        return _pull_coinciding(g, a, out, same)
    u, v, parts = _numerators(u, s, vh, g)
    found = _assembled(u, v, parts, _regular_tables(s, None))
    return found if for_s is None else found + (u * for_s[..., None, :]) @ adjoint(v)


def _meets_zero(u: Any, vh: Any) -> bool:
    """Whether a single zero singular value is divided by: in a rectangular or a complex matrix."""
    return bool(u.shape[-2] != vh.shape[-1] or u.dtype.kind == "c")


def _numerators(u: Any, s: Any, vh: Any, g: Any) -> tuple[Any, Any, Numerators]:
    """U, V, and with M = UᴴŪ and K = VᴴV̄ the skew parts of M + K and M − K, Ū − U M and V̄ − V K."""
    for_u, _, for_vh = g
    for_v = None if for_vh is None else adjoint(for_vh)
    u, for_u = first_columns(u, for_u, s.shape[-1], NULL_SPACE)
    v, for_v = first_columns(adjoint(vh), for_v, s.shape[-1], NULL_SPACE)
    m, k = adjoint(u) @ for_u, adjoint(v) @ for_v
    near, far = m + k, m - k
    if u.dtype.kind == "c":
        phase = np.diagonal(plain(near), axis1=-2, axis2=-1).imag
        refuse_dependence(phase, True, _largest(g), PHASE)
    skew, other = near - adjoint(near), far - adjoint(far)
    parts = Numerators(skew, other, for_u - u @ m, for_v - v @ k)
    return u, v, parts


def _largest(g: Any) -> Any:
    sizes = [np.max(np.abs(plain(p)), initial=0.0) for p in (g[0], g[2]) if p is not None]
    return max(sizes)


def _assembled(u: Any, v: Any, parts: Numerators, tables: Tables) -> Any:
    """U ½(minus/(sⱼ − sᵢ) + plus/(sᵢ + sⱼ)) Vᴴ + (outside_u/s) Vᴴ + U (outside_v/s)ᴴ."""
    inside = 0.5 * (tables.minus * parts.minus + tables.plus * parts.plus)
    found = u @ inside @ adjoint(v)
    inverse = tables.inverse[..., None, :]
    if u.shape[-2] > u.shape[-1]:
        found = found + (parts.outside_u * inverse) @ adjoint(v)
    if v.shape[-2] > v.shape[-1]:
        found = found + u @ adjoint(parts.outside_v * inverse)
    return found


def _pull_coinciding(g: Any, a: Any, out: Any, same: Any) -> Any:
    """As `_pull_svd`, with limits for the quotients 0/0 where singular values coincide or are 0."""
    s = plain(out[1])
    what = ZERO if same is None else message("singular values", s, same)
    if not hasattr(out[0], "node"):
        raise NeedsHistoryError(what)
    if same is None:
        same = np.broadcast_to(np.eye(s.shape[-1], dtype=bool), (*s.shape, s.shape[-1]))
    pairs, zero, change = off_diagonal(same), _zero(s), splitting(s)
    u, v, parts = _numerators(out[0], out[1], out[2], g)
    lanes = Numerators(pairs, _pairs(zero), zero[..., None, :], zero[..., None, :])
    turns = _turns(tuple(plain(o) for o in out), pairs, zero)
    ways = Ways(whole_of(out), Parts([None, change, None]), turns, what)
    limits = [limit(n, dead, _largest(g), ways) for n, dead in zip(parts, lanes, strict=True)]
    u, v, parts = plain(u), plain(v), Numerators(*(plain(n) for n in parts))
    found = _assembled(u, v, parts, _regular_tables(s, same))
    tables = _tables(change, ~pairs, ~_pairs(zero), ~zero)
    found = found + _assembled(u, v, Numerators(*limits), tables)
    if g[1] is not None:
        found = found + (u * plain(g[1])[..., None, :]) @ adjoint(v)
    return first_order_only(found, a, *(p for p in g if p is not None))


def _turns(factors: Any, pairs: Any, zero: Any) -> tuple[Parts, Parts]:
    """Changes of basis that describe the same matrix: of U and V alike, of U alone where s = 0."""
    u, _, vh = factors
    k = pairs.shape[-1]
    both, alone = any_turn(pairs, u.dtype), any_turn(pairs & _pairs(zero), u.dtype)

    def turned(basis: Any, turn: Any) -> Any:
        rest = np.zeros_like(basis[..., k:])
        return np.concatenate([basis[..., :k] @ turn, rest], axis=-1)

    v = adjoint(vh)
    return (
        Parts([turned(u, both), None, adjoint(turned(v, both))]),
        Parts([turned(u, alone), None, None]),
    )


# -- forward ---------------------------------------------------------------------------------


def _push_svd(t: Any, out: Any, full_matrices: bool) -> Parts:
    """With E = Uᴴ Ȧ V: ṡ = Re diag E; U, V turn by ½((E + Eᴴ)/(sⱼ − sᵢ) ± (E − Eᴴ)/(sᵢ + sⱼ))."""
    every_u, s, every_vh = out
    k = s.shape[-1]
    u, v = every_u[..., :k], adjoint(every_vh)[..., :k]
    e = adjoint(u) @ t @ v
    values = np.real(np.sum(e * np.eye(k, dtype=bool), axis=-1))
    same, zero = coinciding(plain(s)), _zero(plain(s))
    if same is not None or zero.any():
        values = np.where(zero, 0, values if same is None else mean_of_equals(values, same))
        if same is not None or _meets_zero(every_u, every_vh):
            what = ZERO if same is None else message("singular values", plain(s), same)
            return PartsOfValues([None, values, None], (0, 2), what)
    tables = _regular_tables(s, None)
    y, z = tables.minus * (e + adjoint(e)), tables.plus * (e - adjoint(e))
    moved_u = _moved(u, 0.5 * (y + z), t @ v - u @ e, tables)
    moved_v = _moved(v, 0.5 * (y - z), adjoint(t) @ u - v @ adjoint(e), tables)
    return Parts(
        [_full(every_u, moved_u, k), values, adjoint(_full(adjoint(every_vh), moved_v, k))]
    )


def _moved(u: Any, turn: Any, outside: Any, tables: Tables) -> Any:
    inside = u @ turn
    if u.shape[-2] == u.shape[-1]:
        return inside
    return inside + outside * tables.inverse[..., None, :]


def _full(u: Any, moved: Any, k: int) -> Any:
    """The change of all columns: the null space turns as little as it can."""
    if u.shape[-1] == k:
        return moved
    null = u[..., k:]
    return np.concatenate([moved, -(u[..., :k] @ (adjoint(moved) @ null))], axis=-1)


# -- the ops ---------------------------------------------------------------------------------


def _svd_spec(a: Any, full_matrices: bool) -> tuple[Spec, Spec, Spec]:
    if len(a.shape) < 2:
        raise ShapeError(f"svd of {a.shape}: a matrix has two axes.")
    (*stack, m, n), dtype = a.shape, inexact(a)
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    real = np.empty(0, dtype).real.dtype
    return (
        Spec((*stack, m, rows), dtype),
        Spec((*stack, k), real),
        Spec((*stack, columns, n), dtype),
    )


def _rectangles() -> list[Sample]:
    shapes = ((3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1))
    return [
        *(sample(draw(s, -2, 2), full_matrices=False) for s in shapes),
        sample(draw((3, 3), -2, 2), full_matrices=True),
        sample(draw((3, 2), -2, 2).astype("f"), full_matrices=False),
    ]


svd_factors = rules(
    "svd_factors",
    lambda a, full_matrices: tuple(np.linalg.svd(a, full_matrices=full_matrices)),
    reverse=(_pull_svd,),
    push=(_push_svd,),
    inputs=("a",),
    raises=True,
    samples=_rectangles,
    bad=lambda: [sample(np.ones(3), full_matrices=False)],
    kinks=lambda a, full_matrices: _has_kink(np.linalg.svd(a, compute_uv=False)),
    spec=_svd_spec,
    outputs=3,
    lower=lambda b, a, full_matrices: b.svd(a, full_matrices),
    doc="U, the singular values in descending order, and Vᴴ.",
    batch=STACKED,
)


def _has_kink(s: Any) -> bool:
    return coinciding(s) is not None or bool(_zero(s).any())


class SVDResult(NamedTuple):
    """As NumPy's."""

    U: Any
    S: Any
    Vh: Any


def _hermitian_svd(a: Any) -> SVDResult:
    """NumPy's way: eigenvalues by falling magnitude, their signs in Vᴴ."""
    w, v = eigh_pair(a)
    order = np.argsort(np.abs(plain(w)), axis=-1)[..., ::-1]
    chosen = (order[..., None, :] == np.arange(w.shape[-1])[:, None]).astype(w.dtype)
    w, v = (w[..., None, :] @ chosen)[..., 0, :], v @ chosen
    return SVDResult(v, np.abs(w), adjoint(v * np.sign(plain(w))[..., None, :]))


def _svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if hermitian:
        found = _hermitian_svd(a)
        return found if compute_uv else found.S
    if not compute_uv:
        return svd_factors(a, full_matrices=False)[1]
    return SVDResult(*svd_factors(a, full_matrices=bool(full_matrices)))


svd = composite(
    "svd",
    _svd,
    inputs=("a",),
    samples=lambda: [
        sample(draw((3, 3), -2, 2)),
        sample(draw((4, 2), -2, 2), full_matrices=False),
        sample(draw((2, 4), -2, 2), compute_uv=False),
        sample(complexes((2, 3)), compute_uv=False),
        sample(positive(3, 3) - 4 * np.eye(3), hermitian=True),
        sample(positive(3, 3) - 4 * np.eye(3), compute_uv=False, hermitian=True),
    ],
    bad=lambda: [sample(np.ones(3))],
    numpy=(np.linalg.svd,),
)


def _low_rank() -> list[Sample]:
    diagonal = np.diag([2.0, 2.0, 1.0])
    return [sample(m) for m in (np.eye(3), diagonal, np.zeros((2, 3)), np.ones((3, 2)))]


svdvals = composite(
    "svdvals",
    lambda x: svd_factors(x, full_matrices=False)[1],
    samples=lambda: [
        *(Sample(s.args) for s in _rectangles()),
        sample(complexes((3, 2))),
        sample(complexes((2, 3, 3))),
    ],
    edges=_low_rank,
    bad=lambda: [sample(np.ones(3))],
    numpy=(np.linalg.svdvals,),
    doc="The singular values, in descending order.",
)
