"""grad, value_and_grad, vjp, jvp: first derivatives of functions on nested containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.memory_size import bytes_of
from chainrule.diff.call import Call, positions, zeros_like
from chainrule.diff.reverse import own
from chainrule.errors import ArgumentError, DerivativeError, DTypeError, ShapeError
from chainrule.record.recorder import as_operand
from chainrule.record.variable import Variable

ArgNums = int | Sequence[int]


def value_and_grad(
    f: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    memory: int | str | None = None,
) -> Callable[..., Any]:
    """A function that returns (f(*args), gradient); with `has_aux`, ((value, aux), gradient).

    The gradient has the structure of the argument (a tuple of them if `argnums` is one).  For a
    complex argument it is ∂f/∂a + i ∂f/∂b, the direction of steepest ascent.

    With `memory`, in bytes or as "200MB", a call takes no more: what does not fit is computed
    again, and the gradient is the same to the bit.
    """
    budget = bytes_of(memory)

    @wraps(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        call = called(f, args, kwargs, positions(argnums, len(args)), budget)
        output, aux = _split_aux(call.result) if has_aux else (call.result, None)
        call.set_output(output)
        out = _scalar(call.outputs, holomorphic)
        adjoints = call.pull([np.ones((), out.dtype)[()]])
        if holomorphic:
            adjoints = [None if g is None else np.conj(g) for g in adjoints]
        gradient = _packed(call, adjoints, isinstance(argnums, (int, np.integer)))
        value = call.plain(out)
        return ((value, _without_history(call, aux)), gradient) if has_aux else (value, gradient)

    return value_and_gradient


def grad(
    f: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    memory: int | str | None = None,
) -> Callable[..., Any]:
    """A function that returns the gradient of the scalar f; with `has_aux`, (gradient, aux)."""
    both = value_and_grad(f, argnums, has_aux, holomorphic=holomorphic, memory=memory)

    @wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, packed = both(*args, **kwargs)
        return (packed, value[1]) if has_aux else packed

    return gradient


def called(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    argnums: Sequence[int],
    budget: int | None,
) -> Call:
    """The call of f; within a budget of memory, unless what records this call decides on that."""
    if budget is None:
        return Call(f, args, kwargs, argnums)
    from chainrule.diff.within_memory import SparingCall, governs

    return (
        SparingCall(f, args, kwargs, argnums, budget)
        if governs(args)
        else Call(f, args, kwargs, argnums)
    )


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """f(*primals), and the function that pulls an adjoint of it back to a tuple, one per primal."""
    call = Call(f, primals, {}, range(len(primals)))
    call.set_output(call.result)

    def pullback(seed: Any) -> tuple[Any, ...]:
        seeds = _matched(seed, call, "seed")
        record = any(isinstance(s, Variable) for s in seeds)
        return _packed(call, call.pull(seeds, record), False)

    return call.output_structure.unflatten([call.plain(o) for o in call.outputs]), pullback


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """f(*primals), and its tangent when the primals move along `tangents`."""
    primals, tangents = _as_tuples(primals, tangents)
    call = Call(f, primals, {}, range(len(primals)))
    call.set_output(call.result)
    given = [
        leaf
        for n, (structure, tangent) in enumerate(zip(call.structures, tangents, strict=True))
        for leaf in structure.leaves_of(tangent, f"tangent {n}")
    ]
    moved = [
        None if v is None else _shaped(t, v, "tangent")
        for v, t in zip(call.inputs, given, strict=True)
    ]
    record = any(isinstance(t, Variable) for t in moved)
    pushed = call.push(moved, record)
    tangent_out = [
        zeros_like(o) if t is None else t if isinstance(t, Variable) else own(t)
        for o, t in zip(call.outputs, pushed, strict=True)
    ]
    unflatten = call.output_structure.unflatten
    return unflatten([call.plain(o) for o in call.outputs]), unflatten(tangent_out)


def _as_tuples(primals: Any, tangents: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Primals and tangents as tuples of equal length; one bare array stands for a 1-tuple."""
    if not isinstance(primals, (tuple, list)):
        primals, tangents = (primals,), (tangents,)
    if not isinstance(tangents, (tuple, list)) or len(primals) != len(tangents):
        raise ArgumentError(f"{len(primals)} primals need as many tangents, in a tuple")
    return tuple(primals), tuple(tangents)


def _split_aux(result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise ArgumentError("with has_aux=True the function must return a pair (output, aux)")
    return result


def _scalar(outputs: list[Any], holomorphic: bool) -> Any:
    """The one scalar output of a function whose gradient is asked for."""
    shapes = [np.shape(o) if not isinstance(o, Variable) else o.shape for o in outputs]
    if shapes != [()]:
        what = f"an output of shape {shapes[0]}" if len(shapes) == 1 else f"{len(shapes)} outputs"
        raise ShapeError(
            f"grad needs a function with one scalar output; this one has {what}.\n"
            "  use cr.jacobian for every output's derivative, cr.vjp for a weighted sum of them,\n"
            "  or sum them first."
        )
    out = outputs[0]
    if out.dtype.kind == "c" and not holomorphic:
        raise DerivativeError(
            "the output is complex: its gradient is not defined.\n"
            "  take np.real, np.imag or np.abs of it, or pass holomorphic=True for the complex\n"
            "  derivative."
        )
    if out.dtype.kind not in "fc":
        raise DerivativeError(f"the output is of type {out.dtype.name} and has no derivative")
    return out


def _packed(call: Call, adjoints: list[Any], single: bool) -> Any:
    """Gradients in the structure of the arguments; what nothing depends on gets zeros."""
    seen: set[int] = set()
    leaves = []
    for given, g in zip(call.given, adjoints, strict=True):
        if g is None:
            g = zeros_like(given)
        elif not isinstance(g, Variable):
            g = own(g) if id(g) in seen or g.base is not None or not g.flags.writeable else g
            seen.add(id(g))
        leaves.append(g)
    packed, start = [], 0
    for structure in call.structures:
        count = structure.count
        packed.append(structure.unflatten(leaves[start : start + count]))
        start += count
    return packed[0] if single else tuple(packed)


def _without_history(call: Call, aux: Any) -> Any:
    leaves, structure = flatten(aux)
    return structure.unflatten([call.plain(v) for v in leaves])


def _matched(given: Any, call: Call, what: str) -> list[Any]:
    leaves = call.output_structure.leaves_of(given, f"the {what}")
    return [_shaped(s, o, what) for s, o in zip(leaves, call.outputs, strict=True)]


def _shaped(given: Any, like: Any, what: str) -> Any:
    """A seed or tangent, checked against the value it belongs to."""
    given = as_operand(given, Variable)
    if not isinstance(given, Variable):
        given = np.array(given)
        if given.dtype.kind not in "fc" or (like.dtype.kind == "f" and given.dtype.kind == "f"):
            given = given.astype(like.dtype)
        given = given[()]
    if given.dtype.kind == "c" and like.dtype.kind == "f":
        raise DTypeError(f"a complex {what} does not fit a value of type {like.dtype.name}")
    if given.shape != like.shape:
        raise ShapeError(
            f"a {what} of shape {given.shape} does not fit a value of shape {like.shape}"
        )
    return given
