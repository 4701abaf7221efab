"""SciPy's sparse matrices beside Variables, and `sparse_values`, whose values are a Variable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chainrule.core.op import OPS, Op
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.joining import as_array

FORMATS = ("csr", "csc", "coo")


def is_sparse(value: Any) -> bool:
    """An array or a matrix of scipy.sparse; SciPy is not imported to find out."""
    return type(value).__module__.startswith("scipy.sparse") and hasattr(value, "tocsr")


def boxed(variable: Any) -> np.ndarray:
    """A 0-d array of one object: what SciPy's sparse classes take for something they do not know.

    They then leave the product to `__rmatmul__` and `__rmul__`.
    """
    box = np.empty((), object)
    box[()] = variable
    return box


def with_sparse(op: Op, x: Any, y: Any) -> Any:
    """`x ∘ y` of a sparse matrix and a Variable, in either order; NotImplemented of others."""
    if not (is_sparse(x) or is_sparse(y)):
        return NotImplemented
    product = op.name == "multiply" and any(_is_matrix(m) for m in (x, y))
    if op.name == "matmul" or (product and np.ndim(_beside(x, y))):
        return sparse_values(x) @ y if is_sparse(x) else x @ sparse_values(y)
    dense = [m.toarray() if is_sparse(m) else m for m in (x, y)]
    return op(*dense)


def _beside(x: Any, y: Any) -> Any:
    return y if is_sparse(x) else x


def _is_matrix(value: Any) -> bool:
    """SciPy's older matrices, of which `*` is the product of matrices."""
    return is_sparse(value) and not type(value).__name__.endswith("_array")


@dataclass(frozen=True, eq=False)
class SparseValues:
    """A sparse matrix whose values may be a Variable: `@`, `.T`, `dot`, `toarray`, `* number`.

    `data` are the values in CSR order of the matrix that `indices` and `indptr` describe, which
    has `base_shape`; `trans` tells what this is: that matrix (0), its transpose (1), adjoint (2).
    """

    data: Any
    indices: np.ndarray
    indptr: np.ndarray
    base_shape: tuple[int, int]
    trans: int = 0

    __array_ufunc__ = None  # ndarray @ this is left to this
    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        return self.base_shape[::-1] if self.trans else self.base_shape

    @property
    def nnz(self) -> int:
        return int(np.size(self.indices))

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def T(self) -> SparseValues:  # noqa: N802 - as in SciPy
        if self.trans == 2:
            return replace(self, data=OPS["conjugate"](self.data), trans=0)
        return replace(self, trans=1 - self.trans)

    def transpose(self) -> SparseValues:
        return self.T

    def tocsr(self) -> SparseValues:
        return self

    def tocsc(self) -> SparseValues:
        return self

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, SparseValues) or is_sparse(other):
            raise ArgumentError(
                "the product of two sparse matrices is not differentiated; "
                "multiply by one after the other: A @ (B @ x)."
            )
        x = as_array(other)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ShapeError(f"matmul of a sparse {self.shape} and {x.shape}: they do not fit.")
        return OPS["sparse_matmul"](
            self.data, self.indices, self.indptr, x, shape=self.base_shape, trans=self.trans
        )

    def __rmatmul__(self, other: Any) -> Any:
        x = as_array(other)
        return self.T @ x if x.ndim == 1 else np.transpose(self.T @ np.transpose(x))

    def dot(self, other: Any) -> Any:
        return self @ other

    def __mul__(self, number: Any) -> SparseValues:
        if np.ndim(number):
            raise ArgumentError("a sparse matrix times an array: write A @ x for the product.")
        factor = np.conjugate(number) if self.trans == 2 else number
        return replace(self, data=self.data * factor)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> SparseValues:
        return self * (1 / number)

    def __neg__(self) -> SparseValues:
        return replace(self, data=-self.data)

    def toarray(self) -> Any:
        """The dense array."""
        return self @ np.eye(self.shape[1])

    def solve(self, b: Any) -> Any:
        """x with A @ x = b: one factorisation for the value and its derivatives."""
        return OPS["sparse_solve"](
            self.data, self.indices, self.indptr, as_array(b), shape=self.base_shape,
            trans=self.trans,
        )  # fmt: skip


def sparse_values(matrix: Any, data: Any = None) -> SparseValues:
    """A sparse matrix of SciPy's with these values, which may be a Variable, in its own order.

    >>> A = scipy.sparse.csr_array([[2.0, 0.0], [1.0, 3.0]])
    >>> cr.grad(lambda v: np.sum(cr.sparse_values(A, v) @ np.ones(2)))(A.data)
    array([1., 1., 1.])
    """
    if isinstance(matrix, SparseValues):
        return matrix if data is None else replace(matrix, data=as_array(data))
    if not is_sparse(matrix):
        raise DTypeError(f"sparse_values of a {type(matrix).__name__}: it must be sparse.")
    if len(matrix.shape) != 2:
        raise ShapeError(f"sparse_values of {matrix.shape}: it must have two axes.")
    if matrix.format not in FORMATS:
        if data is not None:
            raise ArgumentError(
                f"sparse_values of a {matrix.format} matrix: the order of its values is its own; "
                "pass A.tocsr() and values in the order of its data."
            )
        matrix = matrix.tocsr()
    values = matrix.data if data is None else as_array(data)
    if values.shape != matrix.data.shape:
        raise ShapeError(f"{matrix.data.size} values are stored, not {values.shape}")
    rows, columns = (int(n) for n in matrix.shape)
    if matrix.format == "csc":
        return SparseValues(values, matrix.indices, matrix.indptr, (columns, rows), 1)
    if matrix.format == "coo":
        matrix, values = _in_rows(matrix, values)
    return SparseValues(values, matrix.indices, matrix.indptr, (rows, columns))


def _in_rows(matrix: Any, values: Any) -> tuple[Any, Any]:
    """A COO matrix as CSR, and its values in that order."""
    numbers = matrix.copy()
    numbers.data = np.arange(1.0, matrix.nnz + 1)
    found = numbers.tocsr()
    if found.nnz != matrix.nnz:
        raise ArgumentError("a place of this coo matrix has several values; pass A.tocsr().")
    return found, OPS["take"](values, found.data.astype(np.int64) - 1)
