"""Solutions of equations, whose derivative comes from the equations and not from the solver.

Where residual(z, θ) = 0 and ∂residual/∂z is regular, z is a function of θ, and its derivative is
−(∂residual/∂z)⁻¹ ∂residual/∂θ.  A solution is recorded as one op whose rules say just that; on
Variables their own work is recorded, so every order exists.  The linear system in them is an op
too, with the same rule, and all orders share one factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.op import Op, Rules
from chainrule.diff.applied import applied
from chainrule.diff.closed import Closed, closed, detached, without_history
from chainrule.diff.gradient import jvp, vjp
from chainrule.diff.linearised import Linearised
from chainrule.errors import ArgumentError, DerivativeError, DTypeError, ShapeError
from chainrule.record.recorder import record
from chainrule.record.state import current, recording
from chainrule.record.variable import Variable

TOLERANCE = 1e-6  # of a residual, relative to what it is made of
POLISHABLE = 0.01  # the same, of a solver that has converged, for Newton steps from there
MAX_NEWTON, SETTLED = 50, 1e-13  # steps, and the relative size of the last
MAX_POLISHING = 5  # Newton steps; from a solver's usual accuracy two suffice


class Layout:
    """How a nested container of float arrays lies in one vector."""

    def __init__(self, tree: Any, what: str):
        leaves, self.structure = flatten(tree)
        self.arrays = [np.asarray(leaf) for leaf in leaves]
        for array, path in zip(self.arrays, self.structure.paths, strict=True):
            if array.dtype.kind not in "fiu":
                raise DTypeError(f"{what}{path} is of type {array.dtype.name}, not real numbers")
        sizes = [a.size for a in self.arrays]
        self.ends = [0, *np.cumsum(sizes).tolist()]
        self.vector = np.concatenate([np.zeros(0), *(a.ravel() for a in self.arrays)])

    def unpacked(self, vector: Any) -> Any:
        """The container with the elements of a vector in it, an array or a Variable."""
        parts = []
        for array, start, end in zip(self.arrays, self.ends, self.ends[1:], strict=False):
            part = vector[start] if array.shape == () else vector[start:end]
            parts.append(part if len(array.shape) < 2 else part.reshape(array.shape))
        return self.structure.unflatten(parts)


def packed(tree: Any) -> Any:
    """The elements of a nested container one after the other, as an array or a Variable."""
    leaves = flatten(tree)[0]
    if len(leaves) == 1:
        return np.ravel(leaves[0])
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


class Equations:
    """Equations for the unknowns z, with the inputs that they were recorded to depend on.

    `again(*inputs)` solves them for other inputs; without it that is refused.
    """

    def __init__(
        self,
        name: str,
        residual: Closed,
        z: np.ndarray[Any, Any],
        tolerance: float,
        again: Callable[..., Any] | None = None,
        refusal: str = "",
    ):
        self.name, self.recorded, self.z, self.again = name, residual, z, again
        self.tolerance, self.refusal = tolerance, refusal
        self.point = [v._value for v in residual.captured]
        self.known: Linearised | None = None

    def residual(self, z: Any, *inputs: Any) -> Any:
        return self.recorded(z, *inputs)

    def linearised(
        self, z: Any, inputs: Sequence[Any], tolerance: float | None = None
    ) -> Linearised:
        """The equations linearised at a point, once for all derivatives there."""
        if self.refusal:
            raise DerivativeError(f"{self.name}: {self.refusal}")
        known = self.known
        if known is None or not known.at(z, inputs):
            known = self.known = Linearised(self.name, self.residual, z, inputs)
        with np.errstate(all="ignore"):
            known.refuse_unsolved(self.tolerance if tolerance is None else tolerance)
        return known

    def solved(self, inputs: Sequence[Any]) -> Any:
        """The solution for these inputs: that of the recorded call, or one solved for anew."""
        if all(a is b or np.array_equal(a, b) for a, b in zip(inputs, self.point, strict=True)):
            return self.z.copy()
        z = self._newton(inputs) if self.again is None else self.again(*inputs)
        if not self.recorded.holds(z, *inputs):
            raise DerivativeError(
                f"{self.name}: what the graph has of the equations holds where it was recorded; "
                "elsewhere they take another branch.\n"
                "  Call the function itself there."
            )
        return z

    def _newton(self, inputs: Sequence[Any]) -> Any:
        """The solution for other inputs that Newton's method reaches from the one known."""
        z = self.z
        with recording(tracing=None, debug=None), np.errstate(all="ignore"):
            for _ in range(MAX_NEWTON):
                try:
                    step = Linearised(self.name, self.residual, z, inputs).step
                except DerivativeError:  # singular, or not finite, on a way that goes astray
                    break
                z = z - step
                if np.linalg.norm(step) <= SETTLED * np.linalg.norm(z) < np.inf:
                    return z
        raise DerivativeError(
            f"{self.name}: Newton's method did not find the solution for other inputs.\n"
            "  Call the function itself there."
        )

    def __repr__(self) -> str:
        return f"<{self.z.size} equations>"


# ---- the two ops ---------------------------------------------------------------------------------


def _solution(*xs: Any, equations: Equations) -> Any:
    return equations.solved(xs)


def _pull_solution(g: Any, xs: Any, out: Any, equations: Equations) -> Any:
    weights = applied(LINEAR, [g, out, *xs], {"equations": equations, "transposed": True})
    return vjp(lambda *inputs: equations.residual(out, *inputs), *xs)[1](-weights)


def _push_solution(ts: Any, xs: Any, out: Any, equations: Equations) -> Any:
    xs, ts = _differentiable(xs, ts)
    change = jvp(lambda *inputs: equations.residual(out, *inputs), tuple(xs), tuple(ts))[1]
    return applied(LINEAR, [-change, out, *xs], {"equations": equations, "transposed": False})


def _linear(*xs: Any, equations: Equations, transposed: bool) -> Any:
    rhs, z, *inputs = xs
    with recording(tracing=None, debug=None):  # no part of what is recorded around it
        return equations.linearised(z, inputs).solve(rhs, transposed)


def _pull_linear(g: Any, xs: Any, out: Any, equations: Equations, transposed: bool) -> Any:
    """B out = rhs, B being the Jacobian or its transpose: g pulls back as B⁻ᵀ g does."""
    attrs = {"equations": equations, "transposed": not transposed}
    weights = applied(LINEAR, [g, *xs[1:]], attrs)
    left, right = (out, weights) if transposed else (weights, out)

    def pairing(z: Any, *inputs: Any) -> Any:
        moved = jvp(lambda v: equations.residual(v, *inputs), (z,), (right,))[1]
        return -np.sum(left * moved)

    return (weights, *vjp(pairing, *xs[1:])[1](np.float64(1.0)))


def _push_linear(ts: Any, xs: Any, out: Any, equations: Equations, transposed: bool) -> Any:
    """d out = B⁻¹ (d rhs − dB out)."""

    def product(z: Any, *inputs: Any) -> Any:
        if transposed:
            return vjp(lambda v: equations.residual(v, *inputs), z)[1](out)[0]
        return jvp(lambda v: equations.residual(v, *inputs), (z,), (out,))[1]

    point, moves = _differentiable(xs[1:], ts[1:])
    change = jvp(product, tuple(point), tuple(moves))[1]
    attrs = {"equations": equations, "transposed": transposed}
    return applied(LINEAR, [ts[0] - change, *xs[1:]], attrs)


def _differentiable(xs: Sequence[Any], ts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Inputs of other types as float64, as a forward pass wants them; their tangents are zero."""
    points = [x if x.dtype.kind == "f" else np.float64(1) * x for x in xs]
    return points, list(ts)


def _op(name: str, forward: Any, pull: Any, push: Any, doc: str) -> Op:
    """An op that is not in the table: it stands for equations of the user's own."""
    rules = Rules((pull,), (push,))
    return Op(name, forward, ("xs",), rules, lambda *_, **__: None, list, variadic=True, doc=doc)


SOLUTION = _op("solution", _solution, _pull_solution, _push_solution,
               "The solution of equations, as a function of what they depend on.")  # fmt: skip
LINEAR = _op("linearised_solve", _linear, _pull_linear, _push_linear,
             "The Jacobian of equations at their solution, or its transpose, solved.")  # fmt: skip


# ---- the public function -------------------------------------------------------------------------


def solution(
    name: str,
    found: Any,
    residual: Callable[[Any], Any],
    tolerance: float = TOLERANCE,
    again: Callable[[Closed], Callable[..., Any] | None] = lambda recorded: None,
    polish: float = 0.0,
    refusal: str = "",
) -> Any:
    """`found` as a function of every Variable that residual(found) depends on.

    Where it depends on none, the numbers themselves.  `again` makes of the recorded residual what
    solves the equations for other inputs.  From where the residual is below `polish`, relative to
    what it is made of, Newton steps go on as long as it shrinks.  With a `refusal` there is no
    derivative, for the reason it tells.
    """
    layout = Layout(found, f"{name}: the solution")

    def flat(vector: Any) -> Any:
        return packed(residual(layout.unpacked(vector)))

    recorded = closed(flat, layout.vector)
    if not recorded.captured:
        return found
    size = recorded.outputs[0].size
    if size != layout.vector.size:
        raise ShapeError(
            f"{name}: {size} equations for {layout.vector.size} unknowns; the residual must have "
            "as many elements as the solution"
        )
    refuse_compiling(name)
    equations = Equations(name, recorded, layout.vector, tolerance, again(recorded), refusal)
    if polish:
        equations = _polished(equations, flat, polish)
    inputs = equations.recorded.captured
    return layout.unpacked(record(Variable, SOLUTION, inputs, {"equations": equations}))


def polish_from(converged: bool) -> float:
    """Where Newton steps may go on from a solver's result.

    One that stopped for another reason, as where rounding hides what it still looks for, may be
    there as well: it is where the derivative would be taken as it is.
    """
    return POLISHABLE if converged else TOLERANCE


def _polished(equations: Equations, flat: Callable[[Any], Any], start: float) -> Equations:
    """The equations at a solution that Newton's method does not improve any more."""
    for _ in range(MAX_POLISHING):
        try:
            with recording(tracing=None, debug=None), np.errstate(all="ignore"):
                near = equations.linearised(equations.z, equations.point, start)
        except DerivativeError:  # told where a derivative is asked for
            return equations
        better = equations.z - near.step
        recorded = closed(flat, better) if equations.recorded.branches else equations.recorded
        moved = Equations(equations.name, recorded, better, equations.tolerance, equations.again)
        with recording(tracing=None, debug=None), np.errstate(all="ignore"):
            left = np.linalg.norm(np.asarray(moved.residual(better, *moved.point)))
        if not left < np.linalg.norm(near.left) / 2:
            return equations
        equations = moved
    return equations


def refuse_compiling(name: str) -> None:
    """A compiled function cannot run a solver, which calls Python code as often as it likes."""
    tracing = current.get().tracing
    if tracing is not None and tracing.guarded:
        tracing.refuse(f"calls {name}, a solver that takes as many steps as the values need")


def implicit(
    solve: Callable[..., Any], residual: Callable[..., Any], *, tolerance: float = TOLERANCE
) -> Callable[..., Any]:
    """A function of the parameters that runs `solve`, and whose derivative `residual` gives.

    solve(*params) finds the solution on plain numbers, by whatever means; residual(solution,
    *params) is zero there, and has as many elements.  The result is differentiable with respect to
    the parameters and every Variable that `residual` closes over, to any order.

    A derivative is refused where the theorem behind it does not hold: the residual is larger than
    `tolerance`, relative to what it is made of, or its Jacobian is singular.

    >>> root = cr.implicit(lambda a: np.sqrt(a), lambda x, a: x * x - a)
    >>> cr.grad(root)(4.0)
    np.float64(0.25)
    """
    for given in (solve, residual):
        if not callable(given):
            raise ArgumentError(f"cr.implicit takes two functions, not {given!r}")
    name = getattr(solve, "__name__", "solve")
    name = "cr.implicit" if name == "<lambda>" else name

    @wraps(solve)
    def solved(*params: Any) -> Any:
        found = detached(solve)(*without_history(params))
        return solution(
            name,
            found,
            lambda z: residual(z, *params),
            tolerance,
            lambda recorded: _resolver(solve, params, recorded),
        )

    return solved


def _resolver(
    solve: Callable[..., Any], params: Sequence[Any], recorded: Closed
) -> Callable[..., Any] | None:
    """What solves again for other parameters, where they are all that the residual depends on."""
    leaves, structure = flatten(tuple(params))
    place = {v.node: i for i, v in enumerate(recorded.captured)}
    known: list[int | None] = [
        place.pop(leaf.node, None) if isinstance(leaf, Variable) else None for leaf in leaves
    ]
    if place:
        return None
    values = without_history(leaves)

    def again(*inputs: Any) -> Any:
        given = [v if i is None else inputs[i] for i, v in zip(known, values, strict=True)]
        return packed(detached(solve)(*structure.unflatten(given)))

    return again
