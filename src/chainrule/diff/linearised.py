"""Equations linearised at a solution: the conditions of the implicit function theorem, and solving.

Up to `DENSE` unknowns the Jacobian is a matrix, factorised once for all derivatives at this point;
beyond that it is known by its products, and GMRES solves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.diff.gradient import jvp, vjp
from chainrule.diff.jacobian import jacobian
from chainrule.errors import DerivativeError

DENSE = 500  # unknowns up to which the Jacobian is a matrix
SINGULAR = 1e-13  # reciprocal of the condition number, with rows and columns scaled to 1
NEAR = 1e-8  # relative: the accuracy that a solver can reach at a double root
CHANGE = 0.05  # of the Jacobian within NEAR, from which on the root counts as a double one
GMRES_ACCURACY = 1e-10  # of the residual of the linear system, relative to its right side
GMRES_VECTORS, GMRES_ROUNDS = 60, 40

Residual = Callable[..., Any]  # of the unknowns as a vector, and of the inputs


class Linearised:
    """residual(z, *inputs) near a solution z, where every condition was found to hold."""

    def __init__(self, name: str, residual: Residual, z: Any, inputs: Sequence[Any]):
        self.name, self.z, self.inputs = name, z, tuple(inputs)
        self.residual, self.of_inputs = lambda v: residual(v, *inputs), residual
        self.matrix: np.ndarray[Any, Any] | None = None
        with np.errstate(all="ignore"):
            self.left = np.asarray(self.residual(z))
            self._refuse_nonfinite(self.left)
            if z.size <= DENSE:
                self._factorise()
            self.step = self.solve(self.left, False)  # what a Newton step would subtract
            self._refuse_double()

    def at(self, z: Any, inputs: Sequence[Any]) -> bool:
        """Whether this is the point where the equations were linearised."""
        given, here = (z, *inputs), (self.z, *self.inputs)
        return all(a is b or np.array_equal(a, b) for a, b in zip(given, here, strict=True))

    def solve(self, rhs: Any, transposed: bool) -> Any:
        """J⁻¹ rhs, or its transpose J⁻ᵀ rhs."""
        if self.matrix is None:
            return self._iterated(rhs, transposed)
        from scipy.linalg import lu_solve

        if transposed:
            return lu_solve(self.factors, rhs * self.columns, trans=1) * self.rows
        return lu_solve(self.factors, rhs * self.rows) * self.columns

    def product(self, v: Any, transposed: bool = False) -> Any:
        """J v, or Jᵀ v."""
        if self.matrix is not None:
            return (self.matrix.T if transposed else self.matrix) @ v
        if transposed:
            return vjp(self.residual, self.z)[1](v)[0]
        return jvp(self.residual, (self.z,), (v,))[1]

    def _factorise(self) -> None:
        from scipy.linalg import lapack, lu_factor

        self.matrix = matrix = np.asarray(jacobian(self.residual, mode="forward")(self.z))
        self._refuse_nonfinite(matrix)
        self.rows = _scales(matrix, 1)
        self.columns = _scales(matrix * self.rows[:, None], 0)
        scaled = matrix * self.rows[:, None] * self.columns
        if (scaled.size and not scaled.any(axis=0).all()) or not scaled.any(axis=1).all():
            raise self._singular(0.0)
        norm = np.abs(scaled).sum(axis=0).max(initial=0.0)
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a pivot is zero is told below
            self.factors = lu_factor(scaled)
        reciprocal = lapack.dgecon(self.factors[0], norm)[0] if scaled.size else 1.0
        if not reciprocal > SINGULAR:
            raise self._singular(reciprocal)

    def _iterated(self, rhs: Any, transposed: bool) -> Any:
        from scipy.sparse.linalg import LinearOperator, gmres

        size = self.z.size
        operator = LinearOperator(
            (size, size), lambda v: self.product(np.ravel(v), transposed), dtype=np.float64
        )
        found, _ = gmres(
            operator,
            rhs,
            rtol=GMRES_ACCURACY / 10,
            atol=0.0,
            restart=min(size, GMRES_VECTORS),
            maxiter=GMRES_ROUNDS,
        )
        off = np.linalg.norm(operator @ found - rhs)
        if not off <= GMRES_ACCURACY * np.linalg.norm(rhs):
            raise DerivativeError(
                f"{self.name}: the derivative of {size} unknowns needs a linear system solved, and "
                f"GMRES did not converge: what is left is {off / np.linalg.norm(rhs):.1e} of the "
                "right side.\n"
                "  The Jacobian of the residual is singular or ill-conditioned; its rows can be "
                "scaled, or multiplied by a preconditioner, in the residual itself."
            )
        return found

    # ---- conditions ------------------------------------------------------------------------------

    def _refuse_nonfinite(self, found: Any) -> None:
        what = "solution" if not np.all(np.isfinite(self.z)) else "residual or its Jacobian"
        if what == "solution" or not np.all(np.isfinite(found)):
            raise DerivativeError(
                f"{self.name}: the {what} is not finite, so the implicit function theorem does not "
                "hold there."
            )

    def _singular(self, reciprocal: float) -> DerivativeError:
        number = np.inf if not reciprocal else 1 / reciprocal
        return DerivativeError(
            f"{self.name}: the Jacobian of the residual with respect to the solution is singular "
            f"(condition number {number:.1e}), so the implicit function theorem does not hold: "
            "the solution is not isolated, or a multiple root, and has no derivative."
        )

    def refuse_unsolved(self, tolerance: float) -> None:
        """The residual must be as small as a relative change of solution and inputs explains."""
        left, step, size = self.left, self.step, np.linalg.norm(self.z)
        if np.linalg.norm(step) <= tolerance * size:
            return
        scale = np.abs(self.product(self.z))
        for i, given in enumerate(self.inputs):
            moved = [np.zeros(np.shape(v)) for v in self.inputs]
            moved[i] = given
            scale = scale + np.abs(self._along(moved))
        if np.linalg.norm(left) <= tolerance * np.linalg.norm(scale):
            return
        raise DerivativeError(
            f"{self.name}: the residual is not small at the solution, so the implicit function "
            f"theorem does not hold there: it is {np.max(np.abs(left)):.2e}, and a Newton step "
            f"from {size:.3g} (norm) moves by {np.linalg.norm(step):.2e}.\n"
            "  The solver has not converged, or solves other equations than the residual."
        )

    def _along(self, moved: Sequence[Any]) -> Any:
        floats = tuple(np.asarray(v, np.float64) for v in self.inputs)
        return jvp(lambda *xs: self.of_inputs(self.z, *xs), floats, tuple(moved))[1]

    def _refuse_double(self) -> None:
        """At a double root rounding stops a solver where the Jacobian is not quite singular."""
        length = NEAR * np.linalg.norm(self.z)
        if not length or not self.z.size:
            return
        probe = self.solve(np.cos(np.arange(self.z.size)), False)  # along the weakest direction
        probe = probe / (np.linalg.norm(probe) or 1.0)
        here = self.product(probe)
        there = jvp(self.residual, (self.z + length * probe,), (probe,))[1]
        if np.linalg.norm(there - here) > CHANGE * np.linalg.norm(here):
            raise DerivativeError(
                f"{self.name}: the Jacobian of the residual is singular as far as can be told: "
                f"within {length:.1e} of the solution it changes by more than {CHANGE:.0%}, so "
                "the implicit function theorem does not hold: a multiple root has no derivative."
            )


def _scales(matrix: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    """Factors that bring the largest entry of each row or column to about 1, without rounding."""
    largest = np.abs(matrix).max(axis=axis, initial=0.0)
    with np.errstate(divide="ignore"):
        exponents = np.where(largest > 0, np.round(np.log2(largest)), 0.0)
    scales: np.ndarray[Any, Any] = np.exp2(-exponents)
    return scales
