"""Functions of a square matrix: powers, exponential, square root, logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import LANES, STACKED
from chainrule.core.op import Op, Sample, sample
from chainrule.core.spec import Spec, broadcast_shapes
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.define import composite, rules
from chainrule.ops.joining import as_array
from chainrule.ops.linalg import inexact, inv, matrices, positive, square, squares
from chainrule.ops.products import adjoint, complexes, matmul
from chainrule.ops.samples import draw


def _matrix_power(a: Any, n: int) -> Any:
    a = as_array(a)
    square("matrix_power", a)
    if int(n) != n:
        raise ArgumentError(f"matrix_power: the exponent {n!r} must be an integer.")
    if n == 0:
        eye = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
        return np.where(np.zeros(a.shape, bool), a, eye)
    base, n = (inv(a), -n) if n < 0 else (a, n)
    if n == 3:  # as NumPy rounds it
        return matmul(matmul(base, base), base)
    result = None
    while n:
        if n & 1:
            result = base if result is None else matmul(result, base)
        n >>= 1
        base = matmul(base, base) if n else base
    return result


matrix_power = composite(
    "matrix_power",
    _matrix_power,
    inputs=("a",),
    samples=lambda: [
        *(sample(matrices(3, 3), n=n) for n in (0, 1, 2, 3, 5, -1, -2)),
        sample(matrices(2, 2, 2), n=3),
        sample(matrices(2, 2, dtype=complex), n=-2),
        sample(matrices(2, 2, dtype="f"), n=3),
    ],
    bad=lambda: [sample(np.ones((2, 3)), n=2), sample(np.ones((2, 2)), n=-1)],
    numpy=(np.linalg.matrix_power,),
)


# -- functions by power series: the derivative stands in a corner of f of a block matrix --------


def _along(function: Any, a: Any, e: Any) -> Any:
    """The derivative of f at a along e: the upper right block of f([[a, e], [0, a]])."""
    n = a.shape[-1]
    top = np.concatenate([a, e], axis=-1)
    bottom = np.concatenate([np.zeros(a.shape, a.dtype), a], axis=-1)
    return function(np.concatenate([top, bottom], axis=-2))[..., :n, n:]


def _scipy(name: str) -> Any:
    def call(a: Any) -> Any:
        import scipy.linalg

        state = np.random.get_state()  # noqa: NPY002 - logm draws from it, to estimate a norm
        try:
            return getattr(scipy.linalg, name)(a)
        finally:
            np.random.set_state(state)  # noqa: NPY002

    return call


def _stacked(name: str) -> Any:
    """SciPy's function of one matrix, on stacks; a real matrix must have a real result."""

    def call(a: Any) -> Any:
        one = _scipy(name)
        if a.size == 0:  # SciPy would raise, or answer in another shape
            square(name, a)
            found = np.array(a)
        elif a.ndim == 2:
            found = one(a)
        else:
            flat = a.reshape(-1, *a.shape[-2:])
            found = np.stack([one(m) for m in flat]).reshape(a.shape)
        if np.iscomplexobj(found) and not np.iscomplexobj(a):
            raise ArgumentError(f"{name} of this real matrix is complex: use a.astype(complex).")
        return found.astype(inexact(a))

    return call


EMPTY = [sample(np.zeros(shape)) for shape in ((0, 0), (2, 0, 0), (0, 2, 2))]


def _rooted() -> list[Sample]:
    """Matrices that have a square root and a logarithm."""
    return [
        sample(positive(3, 3)),
        sample(matrices(2, 2) + np.eye(2)),
        sample(matrices(2, 2, dtype=complex) + 2 * np.eye(2)),
        sample(positive(2, 2, 2)),
        *EMPTY,
    ]


expm: Op = rules(
    "expm",
    _scipy("expm"),
    reverse=(lambda g, a: _along(expm, adjoint(a), g),),
    push=(lambda t, a: _along(expm, a, t),),
    inputs=("a",),
    samples=lambda: [s for s in squares() if s.args[0].size],
    edges=lambda: [sample(np.zeros((2, 2))), sample(np.eye(2))],
    bad=lambda: [sample(np.ones((2, 3)))],
    spec=lambda a: square("expm", a),
    reference=_scipy("expm"),
    doc="The matrix exponential, scipy.linalg.expm.",
    batch=STACKED,
)
logm: Op = rules(
    "logm",
    _stacked("logm"),
    reverse=(lambda g, a: _along(logm, adjoint(a), g),),
    push=(lambda t, a: _along(logm, a, t),),
    inputs=("a",),
    raises=True,
    samples=_rooted,
    bad=lambda: [sample(np.ones((2, 3))), sample(-np.eye(2))],
    spec=lambda a: square("logm", a),
    reference=_stacked("logm"),
    doc="The principal matrix logarithm, scipy.linalg.logm.",
    batch=STACKED,
)


# -- the square root, by the Sylvester equation --------------------------------------------------


def _solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    from scipy.linalg import solve_sylvester as scipy_solve

    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    if 0 in (*shape, *q.shape[-2:]):
        spec = _sylvester_spec(a, b, q)
        return np.empty(spec.shape, spec.dtype)
    wide = [
        np.broadcast_to(m, (*shape, *m.shape[-2:])).reshape(-1, *m.shape[-2:]) for m in (a, b, q)
    ]
    found = np.empty(wide[2].shape, inexact(a, b, q))
    for k, matrices_of_one in enumerate(zip(*wide, strict=True)):
        found[k] = scipy_solve(*matrices_of_one)
    return found.reshape(*shape, *q.shape[-2:])


def _pull_sylvester(g: Any, xs: Any, out: Any) -> list[Any]:
    """q̄ solves the adjoint equation; ā = −q̄ outᴴ, b̄ = −outᴴ q̄."""
    into = solve_sylvester(adjoint(xs[0]), adjoint(xs[1]), g)
    return [-(into @ adjoint(out)), -(adjoint(out) @ into), into]


def _push_sylvester(ts: Any, xs: Any, out: Any) -> Any:
    return solve_sylvester(xs[0], xs[1], ts[2] - ts[0] @ out - out @ ts[1])


def _sylvester_spec(a: Any, b: Any, q: Any) -> Spec:
    square("solve_sylvester", a)
    square("solve_sylvester", b)
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ShapeError(f"solve_sylvester of {a.shape}, {b.shape} and {q.shape}: they do not fit.")
    stack = broadcast_shapes([a.shape[:-2], b.shape[:-2], q.shape[:-2]])
    return Spec((*stack, *q.shape[-2:]), inexact(a, b, q))


solve_sylvester = rules(
    "solve_sylvester",
    _solve_sylvester,
    reverse=(_pull_sylvester,),
    push=(_push_sylvester,),
    inputs=("xs",),
    variadic=True,
    raises=True,
    samples=lambda: [
        sample(matrices(3, 3), matrices(2, 2), draw((3, 2), -2, 2)),
        sample(matrices(2, 2, dtype=complex), matrices(2, 2, dtype=complex), complexes((2, 2))),
        sample(matrices(2, 3, 3), matrices(2, 2), draw((3, 2), -2, 2)),
        sample(np.zeros((0, 0)), matrices(2, 2), np.zeros((0, 2))),
        sample(np.zeros((2, 0, 0)), np.zeros((0, 0)), np.zeros((0, 0))),
        sample(np.zeros((0, 3, 3)), matrices(2, 2), draw((3, 2), -2, 2)),
    ],
    bad=lambda: [sample(np.eye(3), np.eye(2), np.ones((2, 2)))],
    spec=_sylvester_spec,
    doc="x with a x + x b = q, scipy.linalg.solve_sylvester.",
    batch=LANES,
)
sqrtm = rules(
    "sqrtm",
    _stacked("sqrtm"),
    reverse=(lambda g, out: solve_sylvester(adjoint(out), adjoint(out), g),),
    push=(lambda t, out: solve_sylvester(out, out, t),),
    inputs=("a",),
    raises=True,
    samples=_rooted,
    bad=lambda: [sample(np.ones((2, 3))), sample(-np.eye(2))],
    spec=lambda a: square("sqrtm", a),
    reference=_stacked("sqrtm"),
    doc="The principal square root, scipy.linalg.sqrtm.",
    batch=STACKED,
)
