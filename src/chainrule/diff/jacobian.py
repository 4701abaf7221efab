"""Jacobians, Hessians and products with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from chainrule.core.memory_size import bytes_of
from chainrule.diff.call import Call, positions
from chainrule.diff.gradient import ArgNums, _as_tuples, called, grad, jvp
from chainrule.diff.reverse import own
from chainrule.diff.units import (
    Blocks,
    SweepReport,
    by_columns,
    by_rows,
    diagonal_of,
    forward_is_cheaper,
)
from chainrule.diff.vmap import vmap, with_report
from chainrule.errors import ArgumentError, DerivativeError, ShapeError

MODES = ("auto", "reverse", "forward")


class Reporting:
    """What the last call of a function did, for its `report`."""

    def __init__(self) -> None:
        self.last = SweepReport()

    def anew(self) -> SweepReport:
        self.last = SweepReport()
        return self.last

    def text(self) -> str:
        """How the last call went: mode, rows or columns at a time, ops that work lane by lane."""
        return str(self.last)


def jacobian(
    f: Callable[..., Any],
    argnums: ArgNums = 0,
    mode: str = "auto",
    sparse: bool = False,
    chunk: int | None = None,
    *,
    holomorphic: bool = False,
    memory: int | str | None = None,
) -> Callable[..., Any]:
    """A function that returns ∂f/∂argument, of shape output.shape + argument.shape.

    Containers nest: the structure of the output, and in each place that of the argument.  All rows
    (or columns) are computed in one sweep, `chunk` of them at a time.  Mode "auto" pulls rows back
    or pushes columns forward, whichever touches fewer numbers.  `.report()` of the result says what
    the last call did.

    With `memory`, in bytes or as "200MB", a call takes no more: so many rows at a time as fit, each
    by itself where the values of f do not.

    >>> cr.jacobian(lambda x: x**2)(np.array([1.0, 2.0, 3.0]))
    array([[2., 0., 0.],
           [0., 4., 0.],
           [0., 0., 6.]])
    """
    both: Any = value_and_jacobian(
        f, argnums, mode, sparse, chunk, holomorphic=holomorphic, memory=memory
    )

    @wraps(f)
    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return with_report(jacobian_of_f, both.report)


def value_and_jacobian(
    f: Callable[..., Any],
    argnums: ArgNums = 0,
    mode: str = "auto",
    sparse: bool = False,
    chunk: int | None = None,
    *,
    holomorphic: bool = False,
    memory: int | str | None = None,
) -> Callable[..., Any]:
    """A function that returns (f(*args), Jacobian): f is called once for both."""
    if mode not in MODES:
        raise ArgumentError(f"jacobian mode {mode!r}: choose one of {', '.join(MODES)}")
    if sparse:
        raise ArgumentError("sparse Jacobians are not available yet; leave sparse=False")
    budget, reporting = bytes_of(memory), Reporting()

    @wraps(f)
    def value_and_jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        report = reporting.anew()
        call = called(f, args, kwargs, positions(argnums, len(args)), budget)
        call.set_output(call.result)
        _refuse_complex(call, holomorphic)
        blocks = _blocks(call, mode, chunk, holomorphic, report)
        value = call.output_structure.unflatten([call.plain(o) for o in call.outputs])
        return value, _nested(call, blocks, isinstance(argnums, (int, np.integer)))

    return with_report(value_and_jacobian_of_f, reporting.text)


def hessian(
    f: Callable[..., Any],
    argnums: ArgNums = 0,
    sparse: bool = False,
    chunk: int | None = None,
) -> Callable[..., Any]:
    """A function that returns the second derivatives of the scalar f, by forward over reverse.

    >>> cr.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
    array([[10.,  6.],
           [ 6.,  0.]])
    """
    return jacobian(grad(f, argnums), argnums, "forward", sparse, chunk)


def diag_jacobian(f: Callable[..., Any], argnum: int = 0, chunk: int | None = None) -> Any:
    """A function that returns ∂f(x)ᵢ/∂xᵢ, in the shape of x, which f keeps; memory is `chunk` rows.

    >>> cr.diag_jacobian(lambda x: x * np.sum(x))(np.array([1.0, 2.0, 3.0]))
    array([7., 8., 9.])
    """

    reporting = Reporting()

    @wraps(f)
    def diagonal(*args: Any, **kwargs: Any) -> Any:
        report = reporting.anew()
        call = Call(f, args, kwargs, positions(argnum, len(args)))
        call.set_output(call.result)
        _refuse_complex(call, False)
        shapes = [np.shape(v) for v in (*call.inputs, *call.outputs)]
        if len(shapes) != 2 or shapes[0] != shapes[1]:
            raise ShapeError(
                "diag_jacobian needs one array that f turns into one of the same shape; its "
                f"shapes are {', '.join(map(str, shapes))}"
            )
        return own(diagonal_of(call, chunk, report))

    return with_report(diagonal, reporting.text)


def diag_hessian(f: Callable[..., Any], argnum: int = 0, chunk: int | None = None) -> Any:
    """A function that returns ∂²f/∂xᵢ² of the scalar f, in the shape of x.

    >>> cr.diag_hessian(lambda x: x[0] ** 2 * x[1] ** 3)(np.array([3.0, 2.0]))
    array([ 16., 108.])
    """
    return diag_jacobian(grad(f, argnum), argnum, chunk)


def per_example_grad(
    f: Callable[..., Any], argnums: ArgNums = 0, chunk: int | None = None
) -> Callable[..., Any]:
    """A function that returns the gradient of f for each example of the other arguments.

    f is written for one example; what is differentiated, all examples share.

    >>> loss = lambda w, x, y: (x @ w - y) ** 2
    >>> x, y = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([1.0, 1.0])
    >>> cr.per_example_grad(loss)(np.ones(2), x, y)
    array([[4., 8.],
           [0., 0.]])
    """

    @wraps(f)
    def gradients(*args: Any, **kwargs: Any) -> Any:
        shared = positions(argnums, len(args))
        in_axes = tuple(None if n in shared else 0 for n in range(len(args)))
        return vmap(grad(f, argnums), in_axes, chunk=chunk)(*args, **kwargs)

    return gradients


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


def _blocks(
    call: Call, mode: str, chunk: int | None, holomorphic: bool, report: SweepReport
) -> Blocks:
    if call.sparing:
        from chainrule.diff.jacobian_memory import SparingJacobian
        from chainrule.diff.within_memory import SparingCall

        assert isinstance(call, SparingCall)
        return SparingJacobian(call, mode, chunk, holomorphic, report).blocks()
    if mode == "forward" or (mode == "auto" and forward_is_cheaper(call)):
        return by_columns(call, chunk, report)
    return by_rows(call, chunk, holomorphic, report)


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
