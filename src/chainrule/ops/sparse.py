"""Products and linear systems with sparse matrices: the values of the matrix are an input.

A matrix is its values in the order of SciPy's CSR format and two constant arrays of integers,
`indices` and `indptr`; `trans` says how it is taken: as it is (0), transposed (1), adjoint (2).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, merged, parted
from chainrule.core.op import Op, Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec
from chainrule.errors import LinearAlgebraError, ShapeError
from chainrule.ops.define import rules
from chainrule.ops.indexing import take_index
from chainrule.ops.linalg import inexact
from chainrule.ops.products import complexes
from chainrule.ops.samples import draw

MAX_FACTORS = 4  # factorisations that are kept for the reverse pass
_factors: OrderedDict[Any, Any] = OrderedDict()
_lock = Lock()


def sparse_matrix(data: Any, indices: Any, indptr: Any, shape: Sequence[int], trans: int) -> Any:
    """SciPy's matrix on these very arrays; a transposed CSR matrix is a CSC matrix."""
    from scipy.sparse import csc_array, csr_array

    rows, columns = shape
    if trans == 2:
        data = np.conjugate(data)
    if trans:
        return csc_array((data, indices, indptr), shape=(columns, rows))
    return csr_array((data, indices, indptr), shape=(rows, columns))


def _sparse_matmul(
    data: Any, indices: Any, indptr: Any, x: Any, shape: Sequence[int], trans: int = 0
) -> Any:
    _fits("sparse_matmul", shape, x, 0 if trans else 1)
    return sparse_matrix(data, indices, indptr, shape, trans) @ x


def _fits(name: str, shape: Sequence[int], x: Any, axis: int) -> None:
    if len(x.shape) not in (1, 2) or x.shape[0] != shape[axis]:
        which = "columns" if axis else "rows"
        raise ShapeError(
            f"{name} of a sparse matrix of shape {tuple(shape)} and an array of {x.shape}: "
            f"the matrix has {shape[axis]} {which}"
        )


def as_columns(call: BatchCall) -> Any:
    """Right sides that differ by lane are more columns for one matrix; matrices go one by one."""
    if any(map(call.on, range(3))):
        return None
    x = call.raw(3)
    if x.ndim == 2:
        return np.transpose(call.call(*call.args[:3], np.transpose(x)))
    return parted(call.call(*call.args[:3], merged(x, 1)), 1, call.count)


def rows_of(indptr: Any) -> Any:
    """The row of each value."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _sampled(left: Any, right: Any, at: Any, and_at: Any) -> Any:
    """(left rightᴴ)[at, and_at], for vectors or matrices of columns."""
    product = take_index(left, at) * conjugate(take_index(right, and_at))
    return np.sum(product, axis=-1) if len(left.shape) == 2 else product


def at_values(into: Any, x: Any, indices: Any, indptr: Any, trans: int) -> Any:
    """The adjoint of the values of A where that of op(A) x is `into`."""
    rows = rows_of(indptr)
    if trans == 0:
        return _sampled(into, x, rows, indices)
    found = _sampled(into, x, indices, rows)
    return conjugate(found) if trans == 2 else found


BACK = (2, 1, 0)


def _adjoint_product(g: Any, data: Any, indices: Any, indptr: Any, shape: Any, trans: int) -> Any:
    """op(A)ᴴ g: Aᴴ g, A* g or A g."""
    if trans == 1:
        plain = sparse_matmul(data, indices, indptr, conjugate(g), shape=shape, trans=0)
        return conjugate(plain)
    return sparse_matmul(data, indices, indptr, g, shape=shape, trans=BACK[trans])


def _product_spec(
    data: Any, indices: Any, indptr: Any, x: Any, shape: Sequence[int], trans: int = 0
) -> Spec:
    _fits("sparse_matmul", shape, x, 0 if trans else 1)
    return Spec((shape[1 if trans else 0], *x.shape[1:]), np.result_type(data.dtype, x.dtype))


def csr_parts(dense: Any) -> tuple[Any, Any, Any]:
    rows, columns = np.nonzero(dense)
    indptr = np.searchsorted(rows, np.arange(len(dense) + 1))
    return dense[rows, columns], columns.astype(np.int32), indptr.astype(np.int32)


def _wide(kind: Any = float) -> Any:
    """A 3 × 4 matrix with an empty row."""
    values = draw((3, 4), 0.5, 2.0) + (1j * draw((3, 4), 0.5, 2.0, 1) if kind is complex else 0)
    return values * np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]])


def _products() -> list[Sample]:
    real, both = csr_parts(_wide()), csr_parts(_wide(complex))
    return [
        sample(*real, draw((4,), -2, 2), shape=(3, 4)),
        sample(*real, draw((4, 2), -2, 2), shape=(3, 4)),
        sample(*real, draw((3,), -2, 2), shape=(3, 4), trans=1),
        sample(*both, complexes((4, 2)), shape=(3, 4)),
        sample(*both, complexes((3,)), shape=(3, 4), trans=1),
        sample(*both, complexes((3, 2)), shape=(3, 4), trans=2),
    ]


sparse_matmul: Op = rules(
    "sparse_matmul",
    _sparse_matmul,
    reverse=(
        lambda g, indices, indptr, x, trans: at_values(g, x, indices, indptr, trans),
        None,
        None,
        lambda g, data, indices, indptr, shape, trans: _adjoint_product(
            g, data, indices, indptr, shape, trans
        ),
    ),
    push=(
        lambda t, indices, indptr, x, shape, trans: sparse_matmul(
            t, indices, indptr, x, shape=shape, trans=trans
        ),
        None,
        None,
        lambda t, data, indices, indptr, shape, trans: sparse_matmul(
            data, indices, indptr, t, shape=shape, trans=trans
        ),
    ),
    inputs=("data", "indices", "indptr", "x"),
    batch=as_columns,
    samples=_products,
    bad=lambda: [sample(*csr_parts(_wide()), draw((3,), -2, 2), shape=(3, 4))],
    spec=_product_spec,
    doc="op(A) @ x, where `data` are the values of a sparse matrix A in CSR order.",
)


# -- linear systems ------------------------------------------------------------------------------


def factors(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """SciPy's LU factors of the matrix: computed once for a solve and its derivatives."""
    from scipy.sparse.linalg import splu

    mark = hashlib.blake2b(digest_size=16)
    for array in (data, indices, indptr):
        mark.update(np.ascontiguousarray(array).data)
    key = mark.digest(), data.dtype, tuple(shape)
    with _lock:
        if key in _factors:
            _factors.move_to_end(key)
            return _factors[key]
    try:
        lu = splu(sparse_matrix(data.astype(inexact(data)), indices, indptr, shape, 0).tocsc())
    except RuntimeError as error:
        raise LinearAlgebraError(f"sparse_solve: {error}") from None
    with _lock:
        _factors[key] = lu
        while len(_factors) > MAX_FACTORS:
            _factors.popitem(last=False)
    return lu


def _sparse_solve(
    data: Any, indices: Any, indptr: Any, b: Any, shape: tuple[int, int], trans: int = 0
) -> Any:
    fits_solve(shape, b)
    lu = factors(data, indices, indptr, shape)
    dtype = inexact(data, b)
    if dtype.kind == "c" and data.dtype.kind != "c":
        parts = [lu.solve(np.ascontiguousarray(p), "NTH"[trans]) for p in (b.real, b.imag)]
        return parts[0] + 1j * parts[1]
    return lu.solve(np.ascontiguousarray(b, dtype), "NTH"[trans])


def fits_solve(shape: Sequence[int], b: Any) -> None:
    if shape[0] != shape[1]:
        raise ShapeError(f"sparse_solve of a matrix of shape {tuple(shape)}: it must be square.")
    _fits("sparse_solve", shape, b, 0)


def _adjoint_system(g: Any, data: Any, indices: Any, indptr: Any, shape: Any, trans: int) -> Any:
    """op(A)⁻ᴴ g, by the factors of A."""
    if trans == 1:
        plain = sparse_solve(data, indices, indptr, conjugate(g), shape=shape, trans=0)
        return conjugate(plain)
    return sparse_solve(data, indices, indptr, g, shape=shape, trans=BACK[trans])


def _pull_values(
    g: Any, data: Any, indices: Any, indptr: Any, out: Any, shape: Any, trans: int
) -> Any:
    """−b̄ outᴴ at the places of the values."""
    into = _adjoint_system(g, data, indices, indptr, shape, trans)
    return -at_values(into, out, indices, indptr, trans)


def _push_values(
    t: Any, data: Any, indices: Any, indptr: Any, out: Any, shape: Any, trans: int
) -> Any:
    """−op(A)⁻¹ op(Ȧ) out."""
    change = sparse_matmul(t, indices, indptr, out, shape=shape, trans=trans)
    return -sparse_solve(data, indices, indptr, change, shape=shape, trans=trans)


def solve_spec(
    data: Any, indices: Any, indptr: Any, b: Any, shape: Sequence[int], trans: int = 0
) -> Spec:
    fits_solve(shape, b)
    return Spec(b.shape, inexact(data, b))


def _systems() -> list[Sample]:
    dense = draw((3, 3), 0.5, 2.0) * np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    dense = dense + 3 * np.eye(3)
    real = csr_parts(dense)
    both = csr_parts(dense + 1j * np.triu(dense))
    return [
        sample(*real, draw((3,), -2, 2), shape=(3, 3)),
        sample(*real, draw((3, 2), -2, 2), shape=(3, 3)),
        sample(*real, draw((3,), -2, 2), shape=(3, 3), trans=1),
        sample(*real, complexes((3,)), shape=(3, 3)),
        sample(*both, complexes((3, 2)), shape=(3, 3)),
        sample(*both, complexes((3,)), shape=(3, 3), trans=1),
        sample(*both, complexes((3,)), shape=(3, 3), trans=2),
    ]


sparse_solve: Op = rules(
    "sparse_solve",
    _sparse_solve,
    reverse=(
        _pull_values,
        None,
        None,
        lambda g, data, indices, indptr, shape, trans: _adjoint_system(
            g, data, indices, indptr, shape, trans
        ),
    ),
    push=(
        _push_values,
        None,
        None,
        lambda t, data, indices, indptr, shape, trans: sparse_solve(
            data, indices, indptr, t, shape=shape, trans=trans
        ),
    ),
    inputs=("data", "indices", "indptr", "b"),
    raises=True,
    batch=as_columns,
    samples=_systems,
    bad=lambda: [
        sample(*csr_parts(_wide()), draw((3,), -2, 2), shape=(3, 4)),
        sample(*csr_parts(np.diag([1.0, 0.0])), np.ones(2), shape=(2, 2)),
    ],
    spec=solve_spec,
    doc="x with op(A) @ x = b, where `data` are the values of a sparse matrix A in CSR order.",
)
