"""Coinciding eigenvalues and singular values: what of a derivative still exists, and how to get it.

Where two eigenvalues coincide, their eigenvectors are any basis of a plane, and a function of
them has a derivative only if it does not depend on that choice: a symmetric function of the
eigenvalues, or V f(W) Vᴴ.  Two cases:

  - Only the eigenvalues were used.  Each adjoint is replaced by the mean over those that coincide,
    the minimum-norm element of the subdifferential; a symmetric function is not changed by it.
  - Eigenvectors were used.  The usual rule then divides 0 by 0.  The quotient has a limit, but it
    is a *second* derivative of what was computed from the eigenvectors, so the adjoint's value does
    not tell it: its history does.  A walk on arrays raises `NeedsHistoryError`, which asks the
    engine to repeat it on Variables; there the limit is computed, if it is one.

Masking the pair instead, as is sometimes advised, is silently wrong: the gradient of ⟨G, V W Vᴴ⟩ at
the identity would be the diagonal of G.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chainrule.core.batching import BatchCall
from chainrule.core.masked import perhaps, plain
from chainrule.core.node import Node
from chainrule.core.op import first_recorded, sample
from chainrule.core.parts import Parts
from chainrule.errors import DegenerateError
from chainrule.ops.define import rules
from chainrule.ops.products import adjoint


def whole_of(out: tuple[Any, ...]) -> Node:
    """The node of the decomposition that these recorded results are parts of."""
    return out[0].node.parents[0]


# -- which values coincide -------------------------------------------------------------------


def coinciding(values: Any, shared: bool = False) -> Any:
    """Which of the sorted values coincide to rounding, as boolean matrices; None if none do.

    Where it is asked only to share among those, `shared`, a trace takes them into account even if
    none do; else what it has recorded holds for distinct values only.
    """
    n = values.shape[-1]
    limit = rounding(values) * np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
    steps = np.abs(np.diff(values, axis=-1)) > limit
    if n < 2 or not (perhaps(~steps) if shared else np.any(~steps)):
        return None
    first = np.zeros((*values.shape[:-1], 1), int)
    group = np.concatenate([first, np.cumsum(steps, axis=-1)], axis=-1)
    return group[..., :, None] == group[..., None, :]


def rounding(values: Any) -> float:
    """The relative error with which LAPACK finds n values, generously."""
    return float(10 * np.sqrt(values.shape[-1]) * np.finfo(values.dtype).eps)


def mean_of_equals(bar: Any, same: Any) -> Any:
    """Each adjoint (or tangent) replaced by the mean over the values that coincide with its own.

    Where they are equal already nothing is done: the mean would hide how they depend on the values.
    """
    share = (same / same.sum(axis=-1, keepdims=True)).astype(bar.dtype)
    value, found = plain(bar), (share @ bar[..., None])[..., 0]
    if first_recorded((same,)) is not None:
        return np.where(is_rounding(plain(found) - value, value), bar, found)
    return bar if negligible(plain(found) - value, value) else found


def negligible(found: Any, scale: Any) -> bool:
    """Whether `found` is rounding beside `scale`."""
    return bool(is_rounding(plain(found), plain(scale)))


def is_rounding(found: Any, scale: Any) -> Any:
    found, scale = np.abs(found), np.max(np.abs(scale), initial=0.0)
    return np.all(found <= np.sqrt(np.finfo(found.dtype).eps) * scale)


def off_diagonal(same: Any) -> Any:
    return same & ~np.eye(same.shape[-1], dtype=bool)


def splitting(values: Any) -> Any:
    """A change of the values that separates all of them: 1, 2, 3 …"""
    n = values.shape[-1]
    return np.broadcast_to(np.arange(1, n + 1, dtype=values.dtype), values.shape)


# -- the second look -------------------------------------------------------------------------


class Ways(NamedTuple):
    """How the results of one op may change: apart from each other, or by a turn of their basis."""

    node: Node
    apart: Parts
    turns: tuple[Parts, ...]
    what: str


def limit(numerator: Any, lanes: Any, scale: Any, ways: Ways) -> Any:
    """The derivative of a numerator as the coinciding values move apart.

    In these lanes it must be 0 for every choice of the basis; nor may it depend on what the op was
    computed from except through the op's results, or the quotient has another limit.
    """
    refuse_dependence(numerator, lanes, scale, ways.what)
    if not hasattr(numerator, "node"):
        return np.zeros_like(numerator)
    if not hasattr(numerator, "along"):
        raise DegenerateError(ways.what)
    changes, leak = numerator.along(ways.node, (ways.apart, *ways.turns), lanes)
    changes = [np.zeros_like(plain(numerator)) if c is None else c for c in changes]
    for change in changes[1:]:
        refuse_dependence(change, lanes, scale, ways.what)
    if leak > np.sqrt(np.finfo(numerator.dtype).eps):
        raise DegenerateError(ways.what)
    return changes[0]


def any_turn(pairs: Any, dtype: Any) -> Any:
    """A generator of a turn among the values that coincide: a skew-Hermitian matrix."""
    drawn = np.random.default_rng(0).standard_normal((2, *pairs.shape))
    turn = (drawn[0] + 1j * drawn[1] if dtype.kind == "c" else drawn[0]).astype(dtype) * pairs
    return turn - np.conj(np.swapaxes(turn, -1, -2))


def reciprocal(x: Any, dead: Any) -> Any:
    """1 / x, and 0 where `dead`."""
    return np.where(dead, 0, 1 / np.where(dead, 1, x)).astype(x.dtype)


def refuse_dependence(found: Any, lanes: Any, scale: Any, what: str) -> None:
    """Raise unless `found`, which any choice of basis would change, vanishes in these lanes."""
    if not negligible(plain(found) * lanes, scale):
        raise DegenerateError(what)


def first_columns(u: Any, g: Any, k: int, what: str) -> tuple[Any, Any]:
    """The first k columns of u and their adjoint, to which that of the others adds."""
    first = u[..., :k] if u.shape[-1] > k else u
    if g is None:
        return first, np.zeros(first.shape, first.dtype)
    if u.shape[-1] == k:
        return first, g
    rest, for_rest = u[..., k:], g[..., k:]
    turned = plain(adjoint(rest) @ for_rest)
    refuse_dependence(turned - adjoint(turned), True, g, what)
    return first, g[..., :k] - rest @ (adjoint(for_rest) @ first)


def message(kind: str, values: Any, same: Any) -> str:
    """What coincides, and what can be done."""
    lanes = np.argwhere(off_diagonal(same))[0]
    i, j = lanes[-2:]
    first, second = values[(*lanes[:-2], i)], values[(*lanes[:-2], j)]
    return (
        f"{kind} {i} and {j} coincide ({first:.17g} and {second:.17g}), so their vectors\n"
        "  are any basis of a plane, and this derivative depends on which was chosen.  Functions\n"
        "  of the values alone, and of V f(W) Vᴴ in reverse mode, do not."
    )


class PartsOfValues(Parts):
    """Tangents of an op with several results, of which some do not exist: asking for one raises."""

    __slots__ = ("missing", "reason")

    def __init__(self, parts: Any, missing: tuple[int, ...], reason: str):
        super().__init__(parts)
        self.missing, self.reason = missing, reason

    def __getitem__(self, index: int) -> Any:
        if index in self.missing:
            raise DegenerateError(self.reason)
        return super().__getitem__(index)


def _refuse(g: Any, xs: Any) -> Any:
    raise DegenerateError(
        "coinciding eigenvalues or singular values: the derivative through their vectors exists, "
        "but this rule does not give the derivative of that."
    )


def _refuse_forward(ts: Any, xs: Any) -> Any:
    return _refuse(ts, xs)


def _first_lanes(call: BatchCall) -> Any:
    return call.call(call.spread(0), *map(call.raw, range(1, len(call.args))))


first_order_only = rules(
    "first_order_only",
    lambda *xs: xs[0],
    reverse=(_refuse,),
    push=(_refuse_forward,),
    inputs=("xs",),
    variadic=True,
    samples=lambda: [sample(np.array([1, 2]), np.array(3))],
    spec=lambda *xs: xs[0],
    doc="The first of its inputs: a gradient that is not to be differentiated again.",
    batch=_first_lanes,
)
