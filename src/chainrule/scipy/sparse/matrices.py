"""Sparse matrices made of Variables: csr_array and its like, diags, eye times a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import OPS
from chainrule.errors import ArgumentError, UnsupportedError
from chainrule.ops.joining import as_array
from chainrule.ops.sparse_values import SparseValues, is_sparse, sparse_values
from chainrule.scipy.dispatch import Guarded, meets_variable

CLASSES = ("csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix")


class Made(Guarded):
    """A class of SciPy's; of Variables it makes a `SparseValues`, and is that class otherwise."""

    def __init__(self, name: str):
        super().__init__(object, name, ())

    def __getattr__(self, name: str) -> Any:
        import scipy.sparse

        return getattr(getattr(scipy.sparse, self._name), name)

    def __call__(self, arg1: Any, shape: Any = None, **options: Any) -> Any:
        import scipy.sparse

        if isinstance(arg1, SparseValues):
            return arg1
        if not meets_variable(arg1):
            return getattr(scipy.sparse, self._name)(arg1, shape, **options)
        if not isinstance(arg1, tuple):
            return _of_dense(as_array(arg1))
        if len(arg1) == 3:
            return _of_parts(self._name, arg1, shape)
        data, (rows, columns) = arg1
        return _of_places(as_array(data), np.asarray(rows), np.asarray(columns), shape)

    def __instancecheck__(self, instance: Any) -> bool:
        import scipy.sparse

        return isinstance(instance, (SparseValues, getattr(scipy.sparse, self._name)))


def _of_dense(x: Any) -> SparseValues:
    """Every number is stored, zeros too: their derivatives need not be zero."""
    if x.ndim != 2:
        raise ArgumentError(f"a sparse matrix of an array of shape {x.shape}; pass a matrix")
    rows, columns = np.indices(x.shape).reshape(2, -1)
    return _of_places(np.reshape(x, -1), rows, columns, x.shape)


def _of_places(data: Any, rows: np.ndarray, columns: np.ndarray, shape: Any) -> SparseValues:
    """Values at places; those at one place add up, as in SciPy."""
    if shape is None:
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    places, inverse = np.unique(rows * shape[1] + columns, return_inverse=True)
    values = OPS["add_at"](np.zeros(len(places), data.dtype), inverse, data)
    indptr = np.searchsorted(places // shape[1], np.arange(shape[0] + 1))
    indices = (places % shape[1]).astype(np.int32)
    return SparseValues(values, indices, indptr.astype(np.int32), tuple(shape))


def _of_parts(name: str, parts: tuple[Any, ...], shape: Any) -> SparseValues:
    """CSR or CSC arrays as they are stored."""
    data, indices, indptr = (as_array(p) for p in parts)
    if name.startswith("coo"):
        raise ArgumentError("coo: pass (data, (rows, columns))")
    other = int(np.max(indices)) + 1 if shape is None else None
    major = len(indptr) - 1
    if name.startswith("csc"):
        shape = (other, major) if shape is None else shape
        return SparseValues(data, indices, indptr, (shape[1], shape[0]), 1)
    shape = (major, other) if shape is None else shape
    return SparseValues(data, indices, indptr, tuple(shape))


def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Any:
    """As scipy.sparse.diags; a number stands for a whole diagonal."""
    import scipy.sparse

    if not meets_variable(diagonals):
        return scipy.sparse.diags(diagonals, offsets, shape, format, dtype)
    return _of_diagonals(diagonals, offsets, shape)


def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Any:
    """As scipy.sparse.diags_array."""
    import scipy.sparse

    if not meets_variable(diagonals):
        return scipy.sparse.diags_array(
            diagonals, offsets=offsets, shape=shape, format=format, dtype=dtype
        )
    return _of_diagonals(diagonals, offsets, shape)


def _of_diagonals(diagonals: Any, offsets: Any, shape: Any) -> SparseValues:
    if np.ndim(offsets) == 0:
        diagonals, offsets = [diagonals], [offsets]
    lines = [np.atleast_1d(as_array(d)) for d in diagonals]
    if shape is None:
        n = lines[0].shape[0] + abs(int(offsets[0]))
        shape = (n, n)
    data, rows, columns = [], [], []
    for line, k in zip(lines, offsets, strict=True):
        size = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        if line.shape[0] not in (1, size):
            raise ArgumentError(f"diags: {line.shape[0]} values on a diagonal of {size}")
        data.append(np.broadcast_to(line, (size,)))
        rows.append(np.arange(size) - min(k, 0))
        columns.append(np.arange(size) + max(k, 0))
    return _of_places(np.concatenate(data), np.concatenate(rows), np.concatenate(columns), shape)


def as_values(matrix: Any) -> SparseValues:
    """A sparse matrix with or without Variables, by its values."""
    if isinstance(matrix, SparseValues) or is_sparse(matrix):
        return sparse_values(matrix)
    raise UnsupportedError(
        f"a {type(matrix).__name__} in place of a sparse matrix; pass a csr_array, or "
        "cr.sparse_values(A, data)"
    )


OBJECTS = {
    **{name: Made(name) for name in CLASSES}, "diags": diags, "diags_array": diags_array,
}  # fmt: skip
