"""The functions of scipy.linalg, written in ops: systems, factors, functions, patterns."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import OPS
from chainrule.errors import ArgumentError, ShapeError, UnsupportedError
from chainrule.ops.indexing import take_index
from chainrule.ops.joining import as_array
from chainrule.ops.lu import row_order

Array = Any


def _plain(value: Any) -> Any:
    """The numbers of a value on which the choice of a branch rests; the compiler is told."""
    return value.value if hasattr(value, "__chainrule_record__") else np.asarray(value)


def _adjoint(a: Array) -> Array:
    return np.conjugate(np.swapaxes(a, -1, -2))


def _mirrored(a: Array, lower: bool, conjugate: bool) -> Array:
    """The symmetric (or Hermitian) matrix whose one triangle is read."""
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    other = _adjoint(half) if conjugate else np.swapaxes(half, -1, -2)
    diagonal = np.eye(a.shape[-1]) * (np.real(a) if conjugate else a)
    return half + other + diagonal


def _diagonal_solve(a: Array, b: Array, **_: Any) -> Array:
    d = np.diagonal(a, axis1=-2, axis2=-1)
    return b / d if b.ndim == 1 else b / d[..., None]


# How each structure reads its matrix, in SciPy's names: long, and short.
def _solve_as(assume_a: str | None, a: Array, b: Array, lower: bool) -> Array:
    kind = ASSUMED.get(assume_a, assume_a)
    if kind in ("sym", "her", "pos"):
        return np.linalg.solve(_mirrored(a, lower, kind != "sym"), b)
    if kind in ("lower", "upper"):
        return OPS["solve_triangular"](a, b, lower=kind == "lower")
    if kind == "diagonal":
        return _diagonal_solve(a, b)
    if kind == "tridiagonal":
        return np.linalg.solve(np.triu(np.tril(a, 1), -1), b)
    if kind != "gen":
        raise ArgumentError(
            f"solve: assume_a={assume_a!r} is none of {', '.join(map(str, ASSUMED))}"
        )
    return np.linalg.solve(a, b)


ASSUMED = {
    None: "gen", "gen": "gen", "general": "gen", "banded": "gen", "sym": "sym", "symmetric": "sym",
    "her": "her", "hermitian": "her", "pos": "pos", "positive definite": "pos",
    "diagonal": "diagonal", "tridiagonal": "tridiagonal", "lower triangular": "lower",
    "upper triangular": "upper",
}  # fmt: skip


def solve(
    a: Array,
    b: Array,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Array:
    a, b = as_array(a), as_array(b)
    if transposed:
        a = np.swapaxes(a, -1, -2)
        lower = not lower
        assume_a = {
            "lower triangular": "upper triangular",
            "upper triangular": "lower triangular",
        }.get(assume_a or "", assume_a)
    return _solve_as(assume_a, a, b, lower)


def inv(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    return np.linalg.inv(as_array(a))


def det(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    return np.linalg.det(as_array(a))


def cholesky(
    a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    return OPS["cholesky"](as_array(a), upper=not lower)


def cho_factor(
    a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    return cholesky(a, lower), lower


def cho_solve(
    c_and_lower: tuple[Array, bool], b: Array, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    c, lower = c_and_lower
    return OPS["cho_solve"]((as_array(c), lower), as_array(b))


def solve_triangular(
    a: Array,
    b: Array,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    return OPS["solve_triangular"](
        as_array(a), as_array(b), lower=lower, trans=trans, unit_diagonal=unit_diagonal
    )


# -- LU ------------------------------------------------------------------------------------------


def lu_factor(
    a: Array, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    packed, pivots = OPS["lu_packed"](as_array(a))
    return packed, pivots


def lu(
    a: Array,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Array, ...]:
    packed, pivots = lu_factor(a)
    order = row_order(pivots)
    back = np.argsort(order)
    lower = np.tril(packed, -1) + np.eye(packed.shape[-1])
    upper = np.triu(packed)
    if permute_l:
        return take_index(lower, back), upper
    return (back if p_indices else take_index(np.eye(packed.shape[-1]), back), lower, upper)


def lu_solve(
    lu_and_piv: tuple[Array, Array],
    b: Array,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    packed, pivots = lu_and_piv
    packed, b = as_array(packed), as_array(b)
    order = row_order(as_array(pivots))
    unit = {"lower": True, "unit_diagonal": True}
    if trans == 0:
        return solve_triangular(packed, solve_triangular(packed, take_index(b, order), **unit))
    inner = solve_triangular(packed, b, trans=trans)
    inner = solve_triangular(packed, inner, trans=trans, **unit)
    return take_index(inner, np.argsort(order))


# -- functions of matrices -----------------------------------------------------------------------


def expm(A: Array) -> Array:
    return OPS["expm"](as_array(A))


def logm(A: Array) -> Array:
    return OPS["logm"](as_array(A))


def sqrtm(A: Array) -> Array:
    return OPS["sqrtm"](as_array(A))


def solve_sylvester(a: Array, b: Array, q: Array) -> Array:
    return OPS["solve_sylvester"](as_array(a), as_array(b), as_array(q))


def solve_continuous_lyapunov(a: Array, q: Array) -> Array:
    a = as_array(a)
    return solve_sylvester(a, _adjoint(a), q)


def solve_discrete_lyapunov(a: Array, q: Array, method: str | None = None) -> Array:
    a, q = as_array(a), as_array(q)
    system = np.eye(a.shape[0] ** 2) - np.kron(a, np.conjugate(a))
    return np.reshape(np.linalg.solve(system, np.reshape(q, -1)), q.shape)


# -- decompositions ------------------------------------------------------------------------------


def svd(
    a: Array,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    if not compute_uv:
        return svdvals(a)
    return tuple(np.linalg.svd(as_array(a), full_matrices=full_matrices))


def svdvals(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    return np.linalg.svd(as_array(a), compute_uv=False)


def eigh(
    a: Array,
    b: Array | None = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    subset_by_index: Any = None,
) -> Any:
    a = as_array(a)
    uplo: Any = "L" if lower else "U"
    factor = None
    if b is not None:
        factor = OPS["cholesky"](as_array(b), upper=not lower)
        factor = factor if lower else _adjoint(factor)
        half = solve_triangular(factor, _mirrored(a, lower, True), lower=True)
        a = solve_triangular(factor, _adjoint(half), lower=True)
    first, last = (0, a.shape[-1] - 1) if subset_by_index is None else subset_by_index
    if eigvals_only:
        return np.linalg.eigvalsh(a, UPLO=uplo)[..., first : last + 1]
    values, vectors = np.linalg.eigh(a, UPLO=uplo)
    if factor is not None:
        vectors = solve_triangular(factor, vectors, lower=True, trans=2)
    return values[..., first : last + 1], vectors[..., first : last + 1]


def eigvalsh(
    a: Array, b: Array | None = None, *, lower: bool = True, subset_by_index: Any = None
) -> Array:
    return eigh(a, b, lower=lower, eigvals_only=True, subset_by_index=subset_by_index)


def eig(a: Array, b: Array | None = None, left: bool = False, right: bool = True) -> Any:
    if b is not None:
        a, b = np.linalg.solve(as_array(b), as_array(a)), None
    if left:
        raise UnsupportedError("eig: left eigenvectors are those of a.conj().T; pass left=False")
    values, vectors = np.linalg.eig(as_array(a))
    return (values, vectors) if right else values


def eigvals(a: Array, b: Array | None = None) -> Array:
    return eig(a, b, right=False)


def qr(a: Array, overwrite_a: bool = False, lwork: Any = None, mode: str = "full") -> Any:
    named: dict[str, Any] = {"full": "complete", "economic": "reduced", "r": "complete"}
    if mode not in named:
        raise UnsupportedError(f"qr: mode={mode!r}; choose 'full', 'economic' or 'r'")
    q, r = np.linalg.qr(as_array(a), mode=named[mode])
    return (r,) if mode == "r" else (q, r)


def polar(a: Array, side: str = "right") -> tuple[Array, Array]:
    w, s, vh = np.linalg.svd(as_array(a), full_matrices=False)
    turn = w @ vh
    if side == "right":
        return turn, (_adjoint(vh) * s[..., None, :]) @ vh
    return turn, (w * s[..., None, :]) @ _adjoint(w)


def lstsq(
    a: Array,
    b: Array,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    a, b = as_array(a), as_array(b)
    if cond is None:
        cond = float(np.finfo(_plain(a).dtype).eps)
    x, residues, rank, s = np.linalg.lstsq(a, b, rcond=cond)
    return x, residues[0] if b.ndim == 1 and residues.size else residues, rank, s


def pinv(a: Array, *, atol: Any = None, rtol: Any = None, check_finite: bool = True) -> Array:
    a = as_array(a)
    if atol is not None:
        raise UnsupportedError("pinv: atol is not differentiated; pass rtol, a part of the largest")
    if rtol is None:
        rtol = max(a.shape[-2:]) * float(np.finfo(_plain(a).dtype).eps)
    return np.linalg.pinv(a, rtol)


def null_space(A: Array, rcond: float | None = None) -> Array:
    return _adjoint(_bases(A, rcond)[1])


def orth(A: Array, rcond: float | None = None) -> Array:
    return _bases(A, rcond)[0]


def _bases(a: Array, rcond: float | None) -> tuple[Array, Array]:
    """A basis of the range, and the rows orthogonal to all of the matrix's."""
    a = as_array(a)
    u, s, vh = np.linalg.svd(a, full_matrices=True)
    values = _plain(s)
    relative = np.finfo(values.dtype).eps * max(a.shape) if rcond is None else rcond
    rank = int(np.sum(values > relative * np.max(values, initial=0.0)))
    return u[:, :rank], vh[rank:, :]


def norm(
    a: Array, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Array:
    return np.linalg.norm(as_array(a), ord=ord, axis=axis, keepdims=keepdims)


# -- matrices of a pattern -----------------------------------------------------------------------


def toeplitz(c: Array, r: Array | None = None) -> Array:
    c = np.ravel(as_array(c))
    r = np.conjugate(c) if r is None else np.ravel(as_array(r))
    values = np.concatenate([c[::-1], r[1:]])
    rows, columns = np.arange(c.shape[0])[:, None], np.arange(r.shape[0])
    return values[c.shape[0] - 1 - rows + columns]


def hankel(c: Array, r: Array | None = None) -> Array:
    c = np.ravel(as_array(c))
    r = np.zeros(c.shape) if r is None else np.ravel(as_array(r))
    values = np.concatenate([c, r[1:]])
    return values[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])]


def circulant(c: Array) -> Array:
    c = np.ravel(as_array(c))
    n = c.shape[0]
    return c[(np.arange(n)[:, None] - np.arange(n)) % n]


def block_diag(*arrs: Array) -> Array:
    blocks = [np.atleast_2d(as_array(a)) for a in arrs]
    width, column, rows = sum(b.shape[1] for b in blocks), 0, []
    for block in blocks:
        rows.append(np.pad(block, ((0, 0), (column, width - column - block.shape[1]))))
        column += block.shape[1]
    return np.concatenate(rows, axis=0)


# -- banded systems ------------------------------------------------------------------------------


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Array,
    b: Array,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """By SciPy's sparse factors: as many steps as the band has numbers."""
    below, above = (int(n) for n in l_and_u)
    ab, b = as_array(ab), as_array(b)
    n = ab.shape[-1]
    if ab.shape[0] != below + above + 1:
        raise ShapeError(f"solve_banded: {ab.shape[0]} rows for {below} + 1 + {above} diagonals")
    rows, columns = np.nonzero(np.triu(np.tril(np.ones((n, n), bool), above), -below))
    data = ab[above + rows - columns, columns]
    indptr = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
    return OPS["sparse_solve"](data, columns.astype(np.int32), indptr, b, shape=(n, n))


def solveh_banded(
    ab: Array,
    b: Array,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Array:
    ab = as_array(ab)
    width = ab.shape[0] - 1
    inner = ab if lower else ab[::-1]  # row k holds the diagonal that is k away
    n = ab.shape[-1]
    below = [np.pad(inner[k][: n - k], (0, k)) for k in range(width + 1)]
    above = [np.pad(np.conjugate(inner[k][: n - k]), (k, 0)) for k in range(width, 0, -1)]
    if not lower:
        below = [np.pad(np.conjugate(inner[k][k:]), (0, k)) for k in range(width + 1)]
        above = [inner[k] for k in range(width, 0, -1)]
    return solve_banded((width, width), np.stack([*above, *below]), b)


def solve_toeplitz(c_or_cr: Any, b: Array, check_finite: bool = True) -> Array:
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return np.linalg.solve(toeplitz(c, r), as_array(b))


def solve_circulant(c: Array, b: Array) -> Array:
    return np.linalg.solve(circulant(c), as_array(b))


OURS = {
    f.__name__: f
    for f in (
        block_diag, cho_factor, cho_solve, cholesky, circulant, det, eig, eigh, eigvals, eigvalsh,
        expm, hankel, inv, logm, lstsq, lu, lu_factor, lu_solve, norm, null_space, orth, pinv,
        polar, qr, solve, solve_banded, solve_circulant, solve_continuous_lyapunov,
        solve_discrete_lyapunov, solve_sylvester, solve_toeplitz, solve_triangular, solveh_banded,
        sqrtm, svd, svdvals, toeplitz,
    )
}  # fmt: skip
