"""How an op of each kind is declared: elementwise, linear, multilinear, by rules, or composite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.core import batching, depends
from chainrule.core.op import (
    NOT_WRITTEN,
    ZERO,
    Derivative,
    Function,
    Gate,
    Linear,
    Multilinear,
    Op,
    Partials,
    Rules,
    Samples,
    register,
)
from chainrule.core.picked import LANES
from chainrule.core.spec import Spec, broadcast_shapes, dummy
from chainrule.errors import UnsupportedError

__all__ = [
    "NOT_WRITTEN",
    "ZERO",
    "Gate",
    "composite",
    "elementwise",
    "linear",
    "multilinear",
    "rules",
]

NAMES = ("x", "y", "z", "w")
Factor = Function | Gate | str | int | None


def elementwise(
    name: str,
    forward: Function,
    partials: Sequence[Factor] | Derivative,
    *,
    samples: Samples,
    inputs: tuple[str, ...] | None = None,
    **fields: Any,
) -> Op:
    """An op that works lane by lane with broadcasting; `partials` is one factor per input, or ZERO.

    A factor is a function of what it reads, "y" or "1 / y" with the name of a value, 1, -1, a
    `Gate`, or None for an input without derivative.
    """
    if inputs is None:
        inputs = NAMES[: getattr(forward, "nin", None) or len(partials)]  # type: ignore[arg-type]
    derivative = partials if partials in (ZERO, NOT_WRITTEN) else Partials(tuple(partials))  # type: ignore[arg-type]
    fields.setdefault("numpy", (forward,) if isinstance(forward, np.ufunc) else ())
    fields.setdefault("picked", LANES)
    fields.setdefault("batch", batching.LANES)
    fields.setdefault("lower", name)  # where the compiler knows a scalar function of that name
    spec = elementwise_spec(forward)
    return register(Op(name, forward, inputs, derivative, spec, samples, **fields))


def elementwise_spec(forward: Function) -> Function:
    def spec(*inputs: Any, **attrs: Any) -> Spec:
        shape = broadcast_shapes(
            [np.shape(i) if not hasattr(i, "shape") else i.shape for i in inputs]
        )
        ones = [np.ones((), i.dtype) if hasattr(i, "dtype") else i for i in inputs]
        # Only the dtype counts: one need not lie in the domain, and a long loop is not run.
        short = {k: max(-9, min(v, 9)) if type(v) is int else v for k, v in attrs.items()}
        with np.errstate(all="ignore"):
            return Spec(shape, np.asarray(forward(*ones, **short)).dtype)

    return spec


MOST_LANES = 2**16  # on which an op is tried; a graph from a file may claim any number


def running_spec(forward: Function, view: bool = False) -> Function:
    """The spec of any op whose result's shape does not depend on values: try it on stand-ins.

    Only a `view` is had for nothing; an op that computes is not tried on many lanes, and one that
    may meet them has a spec of its own.
    """

    def spec(*inputs: Any, **attrs: Any) -> Any:
        stand_ins = [dummy(i) if hasattr(i, "dtype") else i for i in inputs]
        if not view and (most := max(map(np.size, stand_ins), default=0)) > MOST_LANES:
            raise UnsupportedError(
                f"the shape of the result is only found by computing it, over {most} lanes; "
                "the op's record needs a spec"
            )
        with np.errstate(all="ignore"):
            out = forward(*stand_ins, **attrs)
        return tuple(Spec.of(o) for o in out) if isinstance(out, tuple) else Spec.of(out)

    return spec


def shaped_spec(forward: Function, shape: Function) -> Function:
    """The spec of an op of which `shape(*inputs, **attrs)` tells the result's shape.

    The rest, dtype and refusals, is found by trying it on arrays with at most one lane per axis.
    """

    def spec(*inputs: Any, **attrs: Any) -> Any:
        specs = [Spec.of(i) for i in inputs]
        small = [
            np.ones([min(n, 1) for n in s.shape], s.dtype) if hasattr(i, "dtype") else i
            for i, s in zip(inputs, specs, strict=True)
        ]
        with np.errstate(all="ignore"):
            out = forward(*small, **attrs)
        found = tuple(shape(*specs, **attrs))
        if isinstance(out, tuple):
            return tuple(Spec(found, o.dtype) for o in out)
        return Spec(found, np.asarray(out).dtype)

    return spec


def same_shape(x: Spec, *others: Any, **attrs: Any) -> Any:
    """The shape rule of an op that keeps the shape of its first input."""
    return x.shape


def linear(
    name: str,
    forward: Function,
    transpose: Function | Sequence[Function | None],
    *,
    samples: Samples,
    inputs: tuple[str, ...] = ("x",),
    spec: Function | None = None,
    **fields: Any,
) -> Op:
    """An op linear in all differentiable inputs together; a variadic one has inputs ("xs",)."""
    transposes = (transpose,) if callable(transpose) else tuple(transpose)
    derivative = Linear(transposes)
    fields.setdefault("batch", _batch_of(derivative, fields))
    spec = spec or running_spec(forward, fields.get("view", False))
    return register(Op(name, forward, inputs, derivative, spec, samples, **fields))


def _batch_of(derivative: Derivative, fields: dict[str, Any]) -> batching.Batch | None:
    """How an op works on many lanes at once where its kind tells that it is elementwise."""
    elementwise = (
        isinstance(derivative, Partials)
        or fields.get("picked") is LANES
        or fields.get("depends") is depends.LANES
    )
    return batching.LANES if elementwise else None


def multilinear(
    name: str,
    forward: Function,
    transposes: Sequence[Function | None],
    *,
    samples: Samples,
    inputs: tuple[str, ...] = ("x", "y"),
    spec: Function | None = None,
    **fields: Any,
) -> Op:
    """An op that is linear in each input while the others are held."""
    derivative = Multilinear(tuple(transposes))
    return register(
        Op(name, forward, inputs, derivative, spec or running_spec(forward), samples, **fields)
    )


def rules(
    name: str,
    forward: Function,
    *,
    reverse: Sequence[Function | None] | None = None,
    push: Sequence[Function | None] | None = None,
    derivative: Derivative | None = None,
    samples: Samples,
    inputs: tuple[str, ...] = ("x",),
    spec: Function | None = None,
    **fields: Any,
) -> Op:
    """An op with a reverse rule (of `g`) and a forward rule (of `t`) per input, or a derivative."""
    if derivative is None:
        assert reverse is not None
        assert push is not None
        derivative = Rules(tuple(reverse), tuple(push))
    fields.setdefault("batch", _batch_of(derivative, fields))
    return register(
        Op(name, forward, inputs, derivative, spec or running_spec(forward), samples, **fields)
    )


def composite(
    name: str,
    expand: Callable[..., Any],
    *,
    samples: Samples,
    inputs: tuple[str, ...] = ("x",),
    **fields: Any,
) -> Op:
    """A function written in other ops: recorded as those, listed and tested like any op."""
    return register(
        Op(
            name,
            expand,
            inputs,
            NOT_WRITTEN,
            running_spec(expand),
            samples,
            expand=expand,
            **fields,
        )
    )
