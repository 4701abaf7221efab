"""Linear systems: inverse, solve, triangular solve, Cholesky factor.

A function that reads one triangle of its matrix (cholesky, eigh, solve_triangular) has its gradient
in that triangle: it is the derivative of what NumPy computes, and the other triangle does not
matter to it.  Along a symmetric change of the matrix it gives what the textbooks' symmetric
gradient gives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from chainrule.core.batching import LANES, STACKED, BatchCall
from chainrule.core.op import Op, Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec, broadcast_shapes
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.define import composite, rules
from chainrule.ops.joining import as_array
from chainrule.ops.products import adjoint, complexes, transposed
from chainrule.ops.samples import draw

# -- test matrices, and what every function of a square matrix asks first ----------------------


def matrices(*shape: int, seed: int = 0, dtype: Any = float) -> Any:
    """A stack of well-conditioned square matrices that are not symmetric."""
    drawn = complexes(shape, seed) if np.dtype(dtype).kind == "c" else draw(shape, -1, 1, seed)
    return (drawn + 3 * np.eye(shape[-1])).astype(dtype)


def squares() -> list[Sample]:
    """Square matrices of every kind: stacked, complex, float32, 1×1 and 0×0."""
    shapes = ((3, 3), (2, 2, 2), (1, 1), (0, 0))
    return [
        *(sample(matrices(*s)) for s in shapes),
        sample(matrices(3, 3, dtype=complex)),
        sample(matrices(3, 3, dtype=np.float32)),
    ]


def positive(*shape: int, dtype: Any = float) -> Any:
    """A stack of Hermitian positive-definite matrices."""
    root = matrices(*shape, dtype=dtype)
    return (root @ adjoint(root)).astype(dtype)


def inexact(*values: Any) -> np.dtype[Any]:
    """The floating type in which linear algebra on these operands is done."""
    dtype = np.result_type(*(v.dtype for v in values))
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def checked(name: str, x: Any) -> Any:
    """x itself, if it is a square matrix or a stack of them."""
    x = as_array(x)
    square(name, x)
    return x


def square(name: str, x: Any) -> Spec:
    """The spec of a square matrix (or a stack of them) as floating point; else a ShapeError."""
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name} of {x.shape}: the matrix must be square.")
    return Spec(x.shape, inexact(x))


# -- the triangle that is read ---------------------------------------------------------------


def triangle(x: Any, lower: bool, diagonal: float = 1.0) -> Any:
    """Weights that keep one triangle of x: 1 off the diagonal and `diagonal` on it."""
    n = x.shape[-1]
    weights = np.tri(n, k=-1) if lower else np.tri(n, k=-1).T
    return (weights + diagonal * np.eye(n)).astype(np.empty(0, x.dtype).real.dtype)


def from_triangle(t: Any, lower: bool) -> Any:
    """The Hermitian matrix that stands in one triangle of t."""
    half = t * triangle(t, lower, 0.5)
    return half + adjoint(half)


def to_triangle(s: Any, lower: bool) -> Any:
    """The transpose of `from_triangle`: what a change of that triangle does to ⟨s, ·⟩."""
    return (s + adjoint(s)) * triangle(s, lower, 0.5)


# -- inv, solve ------------------------------------------------------------------------------

inv = rules(
    "inv",
    np.linalg.inv,
    reverse=(lambda g, out: -(adjoint(out) @ g @ adjoint(out)),),
    push=(lambda t, out: -(out @ t @ out),),
    inputs=("a",),
    raises=True,
    samples=squares,
    bad=lambda: [sample(np.ones((2, 2))), sample(np.ones((2, 3))), sample(np.ones(3))],
    spec=lambda a: square("inv", a),
    lower=lambda b, a: b.inv(a),
    numpy=(np.linalg.inv,),
    batch=STACKED,
)


def fitting(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """A square matrix and a right side of as many rows, a vector or a matrix; else a ShapeError."""
    a, b = as_array(a), as_array(b)
    square(name, a)
    if b.ndim == 0 or b.shape[-2:][0] != a.shape[-1]:
        rows = f"{a.shape[-1]} equations need as many rows"
        raise ShapeError(f"{name} of {a.shape} and {b.shape}: {rows}.")
    return a, b


def _solve_spec(a: Any, b: Any) -> Spec:
    fitting("solve", a, b)
    stack = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
    return Spec((*stack, a.shape[-1], b.shape[-1]), inexact(a, b))


def _pull_solve(g: Any, xs: Any, out: Any, active: tuple[bool, ...]) -> list[Any]:
    """b̄ = a⁻ᴴ g and ā = −b̄ outᴴ: one solve serves both."""
    into = solve_system(adjoint(xs[0]), g)
    return [-(into @ adjoint(out)) if active[0] else None, into]


def _push_solve(ts: Any, xs: Any, out: Any) -> Any:
    """a⁻¹ (ḃ − ȧ out)."""
    return solve_system(xs[0], ts[1] - ts[0] @ out)


def _solve_lanes(call: BatchCall) -> Any:
    """One matrix is factored once: the right sides of all lanes stand side by side."""
    if call.on(0) or call.rank(0) > 2:
        return LANES(call)
    a, b = call.raw(0), call.raw(1)
    *stack, rows, columns = b.shape
    out = call.call(a, np.moveaxis(b, -2, 0).reshape((rows, math.prod(stack) * columns)))
    return np.moveaxis(out.reshape((rows, *stack, columns)), 0, -2)


solve_system = rules(
    "solve_system",
    np.linalg.solve,
    reverse=(_pull_solve,),
    push=(_push_solve,),
    inputs=("xs",),
    variadic=True,
    raises=True,
    samples=lambda: [
        sample(matrices(3, 3), draw((3, 2), -2, 2)),
        sample(matrices(2, 3, 3), draw((3, 1), -2, 2)),
        sample(matrices(3, 3), draw((4, 3, 2), -2, 2)),
        sample(matrices(2, 2, dtype=complex), complexes((2, 3))),
        sample(matrices(2, 2, dtype="f"), draw((2, 1), -2, 2).astype("f")),
    ],
    spec=_solve_spec,
    doc="The matrix x with a @ x = b.",
    lower=lambda b, *xs: b.solve(*xs),
    batch=_solve_lanes,
)


def _columns(name: str, function: Any, a: Any, b: Any, **attrs: Any) -> Any:
    """Apply to the matrix b; a vector b is one column, as in NumPy 2."""
    a, b = fitting(name, a, b)
    return function(a, b[:, None], **attrs)[..., 0] if b.ndim == 1 else function(a, b, **attrs)


solve = composite(
    "solve",
    lambda a, b: _columns("solve", solve_system, a, b),
    inputs=("a", "b"),
    samples=lambda: [
        sample(matrices(3, 3), draw((3,), -2, 2)),
        sample(matrices(3, 3), draw((3, 2), -2, 2)),
        sample(matrices(2, 3, 3), draw((3,), -2, 2)),
        sample(matrices(2, 2, dtype=complex), complexes((2,))),
    ],
    bad=lambda: [
        sample(np.ones((2, 2)), np.ones(2)),
        sample(np.eye(3), np.ones(2)),
        sample(np.ones((2, 3)), np.ones(2)),
    ],
    numpy=(np.linalg.solve,),
)


def _tensorinv(a: Any, ind: int = 2) -> Any:
    a = as_array(a)
    if ind <= 0:
        raise ArgumentError("tensorinv: ind must be positive.")
    rows, columns = a.shape[:ind], a.shape[ind:]
    flat = inv(np.reshape(a, (math.prod(rows), math.prod(columns))))
    return np.reshape(flat, (*columns, *rows))


tensorinv = composite(
    "tensorinv",
    _tensorinv,
    inputs=("a",),
    samples=lambda: [sample(np.reshape(matrices(6, 6), (2, 3, 6)), ind=2)],
    bad=lambda: [sample(np.ones((2, 3, 5)), ind=2)],
    numpy=(np.linalg.tensorinv,),
)


def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = as_array(a), as_array(b)
    if axes is not None:
        moved = normalize_axis_tuple(axes, a.ndim, "axes")
        a = np.transpose(a, [*(k for k in range(a.ndim) if k not in moved), *moved])
    columns = a.shape[b.ndim :]
    flat = np.reshape(a, (b.size, math.prod(columns)))
    return np.reshape(solve(flat, np.reshape(b, -1)), columns)


tensorsolve = composite(
    "tensorsolve",
    _tensorsolve,
    inputs=("a", "b"),
    samples=lambda: [
        sample(np.reshape(matrices(6, 6), (2, 3, 6)), draw((2, 3), -2, 2)),
        sample(np.reshape(matrices(6, 6), (6, 2, 3)), draw((2, 3), -2, 2), axes=(0,)),
    ],
    bad=lambda: [
        sample(np.ones((6, 2, 3)), np.ones((2, 3)), axes=(3,)),
        sample(np.ones((2, 3, 5)), np.ones((2, 3))),
    ],
    numpy=(np.linalg.tensorsolve,),
)


# -- triangular systems ----------------------------------------------------------------------


def _triangular_solve(a: Any, b: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    if a.ndim == 2 and b.ndim == 2:
        from scipy.linalg import solve_triangular as scipy_solve

        options = {"lower": lower, "trans": trans, "unit_diagonal": unit_diagonal}
        return scipy_solve(a, b, check_finite=False, **options)
    matrix = (np.tril if lower else np.triu)(a, k=(-1 if lower else 1) if unit_diagonal else 0)
    matrix = matrix + np.eye(a.shape[-1], dtype=a.dtype) if unit_diagonal else matrix
    return np.linalg.solve(_operated(matrix, trans), b)


def _operated(a: Any, trans: int) -> Any:
    """a, its transpose or its adjoint."""
    return (lambda x: x, transposed, adjoint)[trans](a)


def _adjoint_solve(a: Any, g: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    """Solve with the adjoint of what was solved with: aᴴ, a* or a."""
    options = {"lower": lower, "trans": 0 if trans else 2, "unit_diagonal": unit_diagonal}
    return triangular_solve(conjugate(a) if trans == 1 else a, g, **options)


def _pull_triangle(g: Any, a: Any, out: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    """−op(b̄ outᴴ) in the triangle that is read."""
    into = _adjoint_solve(a, g, lower, trans, unit_diagonal)
    full = _operated(into @ adjoint(out), trans)
    return -(full * triangle(a, lower, 0.0 if unit_diagonal else 1.0))


def _push_triangle(t: Any, a: Any, out: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    """−op(a)⁻¹ op(ȧ) out."""
    change = _operated(t * triangle(a, lower, 0.0 if unit_diagonal else 1.0), trans) @ out
    return -triangular_solve(a, change, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


def _triangles() -> list[Sample]:
    a, b = matrices(3, 3), draw((3, 2), -2, 2)
    off = {"lower": False, "trans": 0, "unit_diagonal": False}
    return [
        sample(a, b, **off),
        sample(a, b, **{**off, "lower": True, "trans": 1}),
        sample(a, b, **{**off, "unit_diagonal": True}),
        *(
            sample(matrices(3, 3, dtype=complex), complexes((3, 2)), **{**off, "trans": k})
            for k in (0, 1, 2)
        ),
        sample(matrices(2, 3, 3), b, **off),
        sample(a, draw((4, 3, 2), -2, 2), **{**off, "unit_diagonal": True, "trans": 2}),
        sample(a.astype("f"), b.astype("f"), **off),
    ]


triangular_solve: Op = rules(
    "triangular_solve",
    _triangular_solve,
    reverse=(
        _pull_triangle,
        lambda g, a, lower, trans, unit_diagonal: _adjoint_solve(a, g, lower, trans, unit_diagonal),
    ),
    push=(
        _push_triangle,
        lambda t, a, lower, trans, unit_diagonal: triangular_solve(
            a, t, lower=lower, trans=trans, unit_diagonal=unit_diagonal
        ),
    ),
    inputs=("a", "b"),
    raises=True,
    samples=_triangles,
    spec=lambda a, b, lower, trans, unit_diagonal: _solve_spec(a, b),
    doc="The matrix x with op(a) @ x = b, where one triangle of a is read.",
    lower=lambda b, x, y, **attrs: b.triangular_solve(x, y, **attrs),
    batch=_solve_lanes,
)
TRANS: dict[Any, int] = {"N": 0, "T": 1, "C": 2}


def _solve_triangular(
    a: Any, b: Any, lower: bool = False, trans: int | str = 0, unit_diagonal: bool = False
) -> Any:
    options = {"lower": bool(lower), "unit_diagonal": bool(unit_diagonal)}
    name = "solve_triangular"
    return _columns(name, triangular_solve, a, b, trans=TRANS.get(trans, trans), **options)


def _scipy_solve_triangular(*args: Any, **attrs: Any) -> Any:
    from scipy.linalg import solve_triangular as scipy_solve

    return scipy_solve(*args, **attrs)


solve_triangular = composite(
    "solve_triangular",
    _solve_triangular,
    inputs=("a", "b"),
    samples=lambda: [
        sample(matrices(3, 3), draw((3,), -2, 2)),
        sample(matrices(3, 3), draw((3, 2), -2, 2), lower=True, trans="T"),
    ],
    bad=lambda: [
        sample(np.zeros((2, 2)), np.ones(2)),
        sample(np.eye(3), np.ones(2)),
        sample(np.ones((2, 3)), np.ones(2)),
    ],
    reference=_scipy_solve_triangular,
    doc="scipy.linalg.solve_triangular: x with op(a) x = b, where one triangle of a is read.",
)


# -- Cholesky --------------------------------------------------------------------------------


def _half(x: Any) -> Any:
    """The lower triangle with half of the (real) diagonal."""
    if x.dtype.kind == "f":
        return x * triangle(x, True, 0.5)
    diagonal = 0.5 * np.eye(x.shape[-1]).astype(np.empty(0, x.dtype).real.dtype)
    return x * triangle(x, True, 0.0) + np.real(x) * diagonal


def _pull_cholesky(g: Any, out: Any, upper: bool) -> Any:
    """L⁻ᴴ Φ(Lᴴ L̄) L⁻¹ folded into the triangle read, with Φ the lower half."""
    factor, g = (adjoint(out), adjoint(g)) if upper else (out, g)
    options = {"lower": True, "trans": 2, "unit_diagonal": False}
    right = adjoint(triangular_solve(factor, adjoint(_half(adjoint(factor) @ g)), **options))
    return to_triangle(triangular_solve(factor, right, **options), not upper)


def _push_cholesky(t: Any, out: Any, upper: bool) -> Any:
    """L Φ(L⁻¹ Ȧ L⁻ᴴ)."""
    factor = adjoint(out) if upper else out
    options = {"lower": True, "trans": 0, "unit_diagonal": False}
    left = triangular_solve(factor, from_triangle(t, not upper), **options)
    change = factor @ _half(triangular_solve(factor, adjoint(left), **options))
    return adjoint(change) if upper else change


def _cholesky(a: Any, upper: bool = False) -> Any:
    return np.linalg.cholesky(a, upper=upper)


cholesky = rules(
    "cholesky",
    _cholesky,
    reverse=(_pull_cholesky,),
    push=(_push_cholesky,),
    inputs=("a",),
    raises=True,
    samples=lambda: [
        sample(positive(3, 3)),
        sample(positive(2, 2, 2)),
        sample(positive(3, 3), upper=True),
        sample(positive(3, 3) + np.triu(draw((3, 3), -1, 1), 1)),  # only one triangle is read
        sample(positive(3, 3, dtype=complex)),
        sample(positive(2, 3, 3, dtype=complex), upper=True),
        sample(positive(3, 3, dtype="f")),
    ],
    bad=lambda: [sample(-np.eye(2)), sample(np.ones((2, 3)))],
    spec=lambda a, upper=False: square("cholesky", a),
    numpy=(np.linalg.cholesky,),
    doc="The Cholesky factor of the Hermitian matrix whose lower (or upper) triangle is read.",
    lower=lambda b, a, upper=False: b.cholesky(a, upper),
    batch=STACKED,
)


def _cho_solve(c_and_lower: Any, b: Any) -> Any:
    c, lower = c_and_lower
    options = {"lower": bool(lower)}
    inner = solve_triangular(c, b, trans=2 if not lower else 0, **options)
    return solve_triangular(c, inner, trans=0 if not lower else 2, **options)


cho_solve = composite(
    "cho_solve",
    _cho_solve,
    inputs=("c_and_lower", "b"),
    samples=lambda: [sample((np.linalg.cholesky(positive(3, 3)), True), draw((3, 2), -2, 2))],
    doc="scipy.linalg.cho_solve((c, lower), b): x with a x = b, given the Cholesky factor c of a.",
)
