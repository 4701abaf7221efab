"""The LU factors of a square matrix with row exchanges, and what solves with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Op, sample
from chainrule.core.parts import Parts
from chainrule.core.spec import Spec
from chainrule.errors import LinearAlgebraError
from chainrule.ops.define import rules
from chainrule.ops.linalg import matrices, square, triangle, triangular_solve
from chainrule.ops.products import adjoint

UNIT = {"lower": True, "unit_diagonal": True}
UPPER = {"lower": False, "unit_diagonal": False}


def order_of(pivots: Any) -> Any:
    """The rows of the matrix in the order in which LAPACK's exchanges leave them."""
    order = np.arange(len(pivots))
    for k, other in enumerate(pivots):
        order[[k, other]] = order[[other, k]]
    return order


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
    return both[np.argsort(order_of(plain(pivots)))]


def _push_lu(t: Any, out: Any) -> Parts:
    """With M = L⁻¹ P Ȧ U⁻¹: L̇ = L tril(M), U̇ = triu(M) U."""
    packed, pivots = out
    lower, upper = _lower_of(packed), packed * triangle(packed, False)
    left = triangular_solve(lower, t[order_of(plain(pivots))], trans=0, **UNIT)
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
