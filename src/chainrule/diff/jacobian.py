"""Jacobians, Hessians and products with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from chainrule.core.masked import unmasked
from chainrule.diff.call import Call, positions, unit, zeros_like
from chainrule.diff.gradient import ArgNums, _as_tuples, grad, jvp
from chainrule.errors import ArgumentError, DerivativeError
from chainrule.record.variable import Variable

MODES = ("auto", "reverse", "forward")


def jacobian(
    f: Callable[..., Any],
    argnums: ArgNums = 0,
    mode: str = "auto",
    sparse: bool = False,
    *,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """A function that returns ∂f/∂argument, of shape output.shape + argument.shape.

    Containers nest: the structure of the output, and in each place that of the argument.  Mode
    "auto" pushes forward when there are fewer inputs than outputs and pulls back otherwise.
    """
    if mode not in MODES:
        raise ArgumentError(f"jacobian mode {mode!r}: choose one of {', '.join(MODES)}")
    if sparse:
        raise ArgumentError("sparse Jacobians are not available yet; leave sparse=False")

    @wraps(f)
    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        call = Call(f, args, kwargs, positions(argnums, len(args)))
        call.set_output(call.result)
        _refuse_complex(call, holomorphic)
        inputs, outputs = _sizes(call)
        chosen = mode if mode != "auto" else "forward" if inputs < outputs else "reverse"
        blocks = _by_columns(call) if chosen == "forward" else _by_rows(call, holomorphic)
        return _nested(call, blocks, isinstance(argnums, (int, np.integer)))

    return jacobian_of_f


def hessian(
    f: Callable[..., Any], argnums: ArgNums = 0, sparse: bool = False
) -> Callable[..., Any]:
    """A function that returns the second derivatives of the scalar f, by forward over reverse."""
    return jacobian(grad(f, argnums), argnums, mode="forward", sparse=sparse)


def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """Hessian of f at `primals` times `tangents`: one array, or a tuple for several primals."""
    primals, tangents = _as_tuples(primals, tangents)
    gradient = grad(f, tuple(range(len(primals))))
    product = jvp(gradient, primals, tangents)[1]
    return product[0] if len(primals) == 1 else product


def _refuse_complex(call: Call, holomorphic: bool) -> None:
    values = [v for v in (*call.inputs, *call.outputs) if v is not None]
    if not holomorphic and any(v.dtype.kind == "c" for v in values):
        raise DerivativeError(
            "the Jacobian of a complex function is not one matrix of numbers.\n"
            "  split it with np.real and np.imag, or pass holomorphic=True for the complex\n"
            "  derivative."
        )


def _sizes(call: Call) -> tuple[int, int]:
    inputs = sum(v.size for v in call.inputs if v is not None)
    return inputs, sum(v.size for v in call.outputs if isinstance(v, Variable))


Blocks = list[list[Any]]  # per output, per input: its derivative


def _by_rows(call: Call, holomorphic: bool) -> Blocks:
    """One reverse walk per element of the output."""
    blocks: Blocks = []
    for o, out in enumerate(call.outputs):
        rows: list[list[Any]] = []
        for k in range(out.size if isinstance(out, Variable) else 0):
            seeds = [
                unit(out.shape, out.dtype, k) if p == o else None for p in range(len(call.outputs))
            ]
            found = call.pull(seeds)
            rows.append([np.conj(g) if holomorphic and g is not None else g for g in found])
        blocks.append(
            [
                _joined([r[i] for r in rows], out, v, 0, call.given[i])
                for i, v in enumerate(call.inputs)
            ]
        )
    return blocks


def _by_columns(call: Call) -> Blocks:
    """One forward walk per element of the inputs."""
    columns: list[list[list[Any]]] = []
    for i, v in enumerate(call.inputs):
        units = [] if v is None else [unit(v.shape, v.dtype, k) for k in range(v.size)]
        along = [[u if j == i else None for j in range(len(call.inputs))] for u in units]
        columns.append([call.push(tangents) for tangents in along])
    return [
        [
            _joined([c[o] for c in columns[i]], out, v, -1, call.given[i])
            for i, v in enumerate(call.inputs)
        ]
        for o, out in enumerate(call.outputs)
    ]


def _joined(pieces: Sequence[Any], out: Any, v: Variable | None, axis: int, given: Any) -> Any:
    """Rows (axis 0) or columns (axis -1) of one block put together in its full shape."""
    shape = np.shape(out) if not isinstance(out, Variable) else out.shape
    if v is None:
        like = zeros_like(given)
        return None if like is None else np.zeros((*shape, *like.shape))
    full = (*shape, *v.shape)
    piece_shape = v.shape if axis == 0 else shape
    dtype = np.result_type(v.dtype, out.dtype)
    if not pieces:
        return np.zeros(full, dtype)
    filled = [np.zeros(piece_shape, dtype) if p is None else unmasked(p) for p in pieces]
    stacked = np.stack(filled, axis=0 if axis == 0 else len(piece_shape))
    joined = np.reshape(stacked, full)
    return joined[()] if full == () and not isinstance(joined, Variable) else joined


def _nested(call: Call, blocks: Blocks, single: bool) -> Any:
    """The blocks in the structure of the output, each in the structure of the arguments."""
    per_output = []
    for row in blocks:
        packed, start = [], 0
        for structure in call.structures:
            count = structure.count
            packed.append(structure.unflatten(row[start : start + count]))
            start += count
        per_output.append(packed[0] if single else tuple(packed))
    return call.output_structure.unflatten(per_output)
