"""Linear systems with sparse matrices by SciPy's iterative solvers; derivatives solve one more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.op import Op, Sample, sample
from chainrule.core.rule import conjugate
from chainrule.errors import LinearAlgebraError
from chainrule.ops.define import rules
from chainrule.ops.samples import draw
from chainrule.ops.sparse import (
    BACK,
    as_columns,
    at_values,
    csr_parts,
    fits_solve,
    solve_spec,
    sparse_matmul,
    sparse_matrix,
)

TIGHT = 1e-10  # the relative residual of the systems of derivatives


def _krylov_solve(
    data: Any,
    indices: Any,
    indptr: Any,
    b: Any,
    shape: Sequence[int],
    method: str,
    options: Any = (),
    trans: int = 0,
) -> Any:
    import scipy.sparse.linalg

    fits_solve(shape, b)
    matrix = sparse_matrix(data, indices, indptr, shape, trans)
    solver, settings = getattr(scipy.sparse.linalg, method), dict(options)
    columns = [b] if len(b.shape) == 1 else list(np.transpose(b))
    found = []
    for column in columns:
        x, info = solver(matrix, column, **settings)
        if info:
            raise LinearAlgebraError(
                f"{method} has not converged (info={info}): its derivative would be that of no "
                "solution.\n  pass a larger maxiter or a larger rtol, or call spsolve."
            )
        found.append(x)
    return found[0] if len(b.shape) == 1 else np.stack(found, axis=1)


def _tighter(options: Any) -> tuple[tuple[str, Any], ...]:
    settings = {k: v for k, v in dict(options).items() if k not in ("x0", "callback")}
    settings["rtol"] = min(settings.get("rtol", TIGHT), TIGHT)
    return tuple(settings.items())


def _adjoint(
    g: Any, data: Any, indices: Any, indptr: Any, shape: Any, trans: int, **how: Any
) -> Any:
    how = {**how, "options": _tighter(how["options"])}
    if trans == 1:
        found = krylov_solve(data, indices, indptr, conjugate(g), shape=shape, trans=0, **how)
        return conjugate(found)
    return krylov_solve(data, indices, indptr, g, shape=shape, trans=BACK[trans], **how)


def _pull_values(
    g: Any, data: Any, indices: Any, indptr: Any, out: Any, shape: Any, method: Any, options: Any,
    trans: int,
) -> Any:  # fmt: skip
    into = _adjoint(g, data, indices, indptr, shape, trans, method=method, options=options)
    return -at_values(into, out, indices, indptr, trans)


def _push_values(
    t: Any, data: Any, indices: Any, indptr: Any, out: Any, shape: Any, method: Any, options: Any,
    trans: int,
) -> Any:  # fmt: skip
    change = sparse_matmul(t, indices, indptr, out, shape=shape, trans=trans)
    how = {"shape": shape, "trans": trans, "method": method, "options": _tighter(options)}
    return -krylov_solve(data, indices, indptr, change, **how)


def _samples() -> list[Sample]:
    dense = draw((4, 4), 0.1, 1.0) * (np.eye(4) + np.eye(4, k=1) + np.eye(4, k=-1))
    symmetric = dense + dense.T + 4 * np.eye(4)
    b, tight = draw((4,), -1, 1), (("rtol", 1e-13),)
    how = {"shape": (4, 4), "options": tight}
    return [
        sample(*csr_parts(dense + 3 * np.eye(4)), b, method="gmres", **how),
        sample(*csr_parts(dense + 3 * np.eye(4)), b, method="bicgstab", trans=1, **how),
        sample(*csr_parts(symmetric), draw((4, 2), -1, 1), method="gmres", **how),
    ]


krylov_solve: Op = rules(
    "krylov_solve",
    _krylov_solve,
    reverse=(
        _pull_values,
        None,
        None,
        lambda g, data, indices, indptr, shape, method, options, trans: _adjoint(
            g, data, indices, indptr, shape, trans, method=method, options=options
        ),
    ),
    push=(
        _push_values,
        None,
        None,
        lambda t, data, indices, indptr, shape, method, options, trans: krylov_solve(
            data,
            indices,
            indptr,
            t,
            shape=shape,
            trans=trans,
            method=method,
            options=_tighter(options),
        ),
    ),
    inputs=("data", "indices", "indptr", "b"),
    raises=True,
    batch=as_columns,
    samples=_samples,
    bad=lambda: [
        sample(*csr_parts(np.eye(3)), np.ones(2), shape=(3, 3), method="gmres"),
    ],
    spec=lambda data, indices, indptr, b, shape, method, options=(), trans=0: solve_spec(
        data, indices, indptr, b, shape
    ),
    doc="x with A @ x = b by one of SciPy's iterative solvers (`method`).",
)
