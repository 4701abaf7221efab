"""`scipy.sparse.linalg` on Variables: direct and iterative solves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chainrule.core.op import OPS
from chainrule.errors import ArgumentError
from chainrule.ops.joining import as_array, holds_variable
from chainrule.ops.sparse_values import SparseValues
from chainrule.scipy.dispatch import meets_variable, namespace
from chainrule.scipy.sparse.matrices import as_values

Array = Any


def spsolve(A: Any, b: Array, permc_spec: Any = None, use_umfpack: bool = True) -> Array:
    """As scipy.sparse.linalg.spsolve; one factorisation serves the value and its derivatives."""
    if isinstance(A, SparseValues) or meets_variable(b):
        return as_values(A).solve(b)
    from scipy.sparse.linalg import spsolve as theirs

    return theirs(A, b, permc_spec, use_umfpack)


@dataclass(frozen=True, eq=False)
class Factors:
    """What `splu` returns where the values are Variables: `solve`, `shape`."""

    matrix: SparseValues

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def solve(self, rhs: Array, trans: str = "N") -> Array:
        """x with op(A) @ x = rhs, op by `trans`: N as it is, T transposed, H adjoint."""
        if trans not in ("N", "T", "H"):
            raise ArgumentError(f"solve: trans={trans!r}; choose 'N', 'T' or 'H'")
        matrix = self.matrix if trans == "N" else self.matrix.T
        if trans == "H":
            return OPS["conjugate"](matrix.solve(OPS["conjugate"](as_array(rhs))))
        return matrix.solve(rhs)


class Superlu:
    """SciPy's factors of a plain matrix; a Variable on the right side is solved with them too."""

    def __init__(self, theirs: Any, matrix: Any):
        self._theirs, self._matrix = theirs, matrix

    def solve(self, rhs: Array, trans: str = "N") -> Array:
        if not meets_variable(rhs):
            return self._theirs.solve(rhs, trans)
        return Factors(as_values(self._matrix)).solve(rhs, trans)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)


def splu(A: Any, *args: Any, **options: Any) -> Any:
    """As scipy.sparse.linalg.splu."""
    if isinstance(A, SparseValues):
        return Factors(A)
    from scipy.sparse.linalg import splu as theirs

    return Superlu(theirs(A, *args, **options), A)


def factorized(A: Any) -> Callable[[Array], Array]:
    """As scipy.sparse.linalg.factorized."""
    solve: Callable[[Array], Array] = splu(A if isinstance(A, SparseValues) else A.tocsc()).solve
    return solve


def _iterative(name: str) -> Callable[..., Any]:
    def solve(A: Any, b: Array, x0: Any = None, **options: Any) -> tuple[Array, int]:
        """As SciPy's; it raises where it has not converged, since then no derivative is right."""
        if not (isinstance(A, SparseValues) or meets_variable(b)):
            import scipy.sparse.linalg

            found: tuple[Array, int] = getattr(scipy.sparse.linalg, name)(A, b, x0, **options)
            return found
        if holds_variable(list(options.values())):
            raise ArgumentError(f"{name}: rtol, atol and the like are plain numbers; pass v.value")
        matrix = as_values(A)
        x = OPS["krylov_solve"](
            matrix.data, matrix.indices, matrix.indptr, as_array(b), shape=matrix.base_shape,
            method=name, options=tuple(options.items()), trans=matrix.trans,
        )  # fmt: skip
        return x, 0

    solve.__name__ = name
    return solve


OBJECTS = {
    "spsolve": spsolve, "splu": splu, "factorized": factorized,
    **{name: _iterative(name) for name in ("cg", "gmres", "bicgstab", "minres")},
}  # fmt: skip
_find, _listed = namespace("scipy.sparse.linalg", {}, OBJECTS)


def __getattr__(name: str) -> Any:
    return _find(name)


def __dir__() -> list[str]:
    return _listed()
