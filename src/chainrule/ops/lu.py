"""The LU factors of a square matrix with row exchanges, and what solves with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import STACKED
from chainrule.core.masked import plain
from chainrule.core.op import Op, sample
from chainrule.core.parts import Parts
from chainrule.core.spec import Spec
from chainrule.errors import LinearAlgebraError, OutOfRangeError
from chainrule.ops.define import ZERO, rules
from chainrule.ops.indexing import take_index
from chainrule.ops.linalg import matrices, square, triangle, triangular_solve
from chainrule.ops.products import adjoint

UNIT = {"lower": True, "unit_diagonal": True}
UPPER = {"lower": False, "unit_diagonal": False}


def _row_order(pivots: Any) -> Any:
    n = pivots.shape[-1]
    if np.any((pivots < 0) | (pivots >= n)):
        raise OutOfRangeError(f"row_order: a matrix of {n} rows has no row {pivots.max()}.")
    order = np.broadcast_to(np.arange(n), pivots.shape).copy()
    for k in range(n):
        other = pivots[..., k : k + 1]
        moved = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., k : k + 1], -1)
        order[..., k : k + 1] = moved
    return order


row_order: Op = rules(
    "row_order",
    _row_order,
    inputs=("pivots",),
    derivative=ZERO,
    samples=lambda: [
        sample(np.array([1, 2, 2], np.int32)),
        sample(np.array([[2, 1, 2], [0, 2, 2]], np.int32)),
        sample(np.zeros(0, np.int32)),
    ],
    spec=lambda pivots: Spec(pivots.shape, np.dtype(np.intp)),
    batch=STACKED,
    raises=True,
    doc="The rows of the matrix in the order in which the exchanges of `lu_packed` leave them.",
)


def _lu_packed(a: Any) -> tuple[Any, Any]:
    import warnings

    from scipy.linalg import LinAlgWarning, lu_factor

    square("lu_packed", a)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return lu_factor(a, check_finite=False)
        except LinAlgWarning:
            raise LinearAlgebraError("lu_packed: the matrix is singular.") from None


def _lower_of(packed: Any) -> Any:
    return packed * triangle(packed, True, 0.0) + np.eye(packed.shape[-1], dtype=packed.dtype)


def _pull_lu(g: Any, out: Any) -> Any:
    """Pᵀ L⁻ᴴ (tril(Lᴴ L̄) + triu(Ū Uᴴ)) U⁻ᴴ, where L̄ and Ū are the triangles of the adjoint."""
    packed, pivots = out
    lower, upper = _lower_of(packed), packed * triangle(packed, False)
    for_lower, for_upper = g[0] * triangle(packed, True, 0.0), g[0] * triangle(packed, False)
    inside = (adjoint(lower) @ for_lower) * triangle(packed, True, 0.0)
    inside = inside + (for_upper @ adjoint(upper)) * triangle(packed, False)
    left = triangular_solve(lower, inside, trans=2, **UNIT)
    both = adjoint(triangular_solve(upper, adjoint(left), trans=0, **UPPER))
    return take_index(both, np.argsort(row_order(plain(pivots))))


def _push_lu(t: Any, out: Any) -> Parts:
    """With M = L⁻¹ P Ȧ U⁻¹: L̇ = L tril(M), U̇ = triu(M) U."""
    packed, pivots = out
    lower, upper = _lower_of(packed), packed * triangle(packed, False)
    moved = take_index(t, row_order(plain(pivots)))
    left = triangular_solve(lower, moved, trans=0, **UNIT)
    middle = adjoint(triangular_solve(upper, adjoint(left), trans=2, **UPPER))
    change = lower @ (middle * triangle(packed, True, 0.0))
    return Parts([change + (middle * triangle(packed, False)) @ upper, None])


lu_packed: Op = rules(
    "lu_packed",
    _lu_packed,
    reverse=(_pull_lu,),
    push=(_push_lu,),
    inputs=("a",),
    raises=True,
    samples=lambda: [
        sample(matrices(3, 3)),
        sample(matrices(3, 3)[[1, 2, 0]]),
        sample(matrices(3, 3, dtype=complex)),
        sample(matrices(2, 2, dtype=np.float32)),
    ],
    bad=lambda: [sample(np.ones((2, 3))), sample(np.zeros((2, 2)))],
    spec=lambda a: (square("lu_packed", a), Spec(a.shape[:1], np.dtype(np.int32))),
    outputs=2,
    doc="scipy.linalg.lu_factor: L and U in one matrix, and the row exchanges.",
)
