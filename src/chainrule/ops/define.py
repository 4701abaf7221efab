"""How an op of each kind is declared: elementwise, linear, multilinear, by rules, or composite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
from chainrule.core.spec import Spec, broadcast_shapes, dummy

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
Factor = Function | Gate | int | None


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

    A factor is a function of what it reads, a `Gate`, the number 1 or -1, or None for an input
    without derivative.
    """
    if inputs is None:
        inputs = NAMES[: getattr(forward, "nin", None) or len(partials)]  # type: ignore[arg-type]
    derivative = partials if partials in (ZERO, NOT_WRITTEN) else Partials(tuple(partials))  # type: ignore[arg-type]
    fields.setdefault("numpy", (forward,) if isinstance(forward, np.ufunc) else ())
    spec = elementwise_spec(forward)
    return register(Op(name, forward, inputs, derivative, spec, samples, **fields))  # type: ignore[arg-type]


def elementwise_spec(forward: Function) -> Function:
    def spec(*inputs: Any, **attrs: Any) -> Spec:
        shape = broadcast_shapes(
            [np.shape(i) if not hasattr(i, "shape") else i.shape for i in inputs]
        )
        ones = [np.ones((), i.dtype) if hasattr(i, "dtype") else i for i in inputs]
        with np.errstate(all="ignore"):  # one need not lie in the domain; only the dtype counts
            return Spec(shape, np.asarray(forward(*ones, **attrs)).dtype)

    return spec


def running_spec(forward: Function) -> Function:
    """The spec of any op whose result's shape does not depend on values: try it on stand-ins."""

    def spec(*inputs: Any, **attrs: Any) -> Any:
        with np.errstate(all="ignore"):
            out = forward(*(dummy(i) if hasattr(i, "dtype") else i for i in inputs), **attrs)
        return tuple(Spec.of(o) for o in out) if isinstance(out, tuple) else Spec.of(out)

    return spec


def linear(
    name: str,
    forward: Function,
    transpose: Function | Sequence[Function | None],
    *,
    samples: Samples,
    inputs: tuple[str, ...] = ("x",),
    selects: bool = True,
    fills: bool = False,
    spec: Function | None = None,
    **fields: Any,
) -> Op:
    """An op linear in all differentiable inputs together; a variadic one has inputs ("xs",)."""
    transposes = (transpose,) if callable(transpose) else tuple(transpose)
    derivative = Linear(transposes, selects, fills)
    return register(
        Op(name, forward, inputs, derivative, spec or running_spec(forward), samples, **fields)
    )


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
