"""How each library is asked for a gradient: one function per variant, each in its own best form."""

import importlib
import importlib.metadata
import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# make(xp) -> program(*inputs) -> scalar, written in the functions of the namespace xp
Make = Callable[[Any], Callable]


class NotBuiltError(Exception):
    """chainrule has no such feature yet: its cell says so, and nothing fails."""


class Bound(NamedTuple):
    """A program bound to one variant. Only `call` is timed.

    `reset` is for programs with a state, such as training: it starts them again from the same one.
    """

    prepare: Callable  # NumPy inputs of one ring slot -> the library's own leaves
    call: Callable  # leaves -> result
    read: Callable  # result -> list of arrays (gradients, or the value of a forward variant)
    reset: Callable | None = None


def _keep(inputs: tuple) -> tuple:
    return inputs


def _argnums(inputs: tuple) -> int | tuple[int, ...]:
    return 0 if len(inputs) == 1 else tuple(range(len(inputs)))


def _as_list(result: Any) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _lazily(build: Callable) -> Callable:
    """A gradient function is built once per program; its arity is known at the first call only."""
    built = None

    def call(inputs: tuple) -> Any:
        nonlocal built
        if built is None:
            built = build(_argnums(inputs))
        return built(*inputs)

    return call


def numpy_forward(make: Make) -> Bound:
    """The floor: the same program on plain arrays, no derivative."""
    program = make(np)
    return Bound(_keep, lambda inputs: program(*inputs), _as_list)


def python_forward(make: Make) -> Bound:
    """The floor of a scalar program: plain floats and `math`."""
    program = make(math)
    return Bound(_keep, lambda inputs: program(*inputs), _as_list)


def _torch(make: Make, differentiate: Callable) -> Bound:
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    program = make(torch)

    def prepare(inputs: tuple) -> list:
        return [torch.tensor(np.asarray(x, float), requires_grad=True) for x in inputs]

    def read(result: Any) -> list:
        return [tensor.detach().numpy() for tensor in _as_list(result)]

    return Bound(prepare, differentiate(torch, program), read)


def torch_grad(make: Make) -> Bound:
    """`torch.autograd.grad`; the leaves exist before the clock starts."""

    def differentiate(torch: Any, program: Callable) -> Callable:
        return lambda leaves: torch.autograd.grad(program(*leaves), leaves)

    return _torch(make, differentiate)


def torch_backward(make: Make) -> Bound:
    """`.backward()`; the leaves exist before the clock starts."""

    def differentiate(torch: Any, program: Callable) -> Callable:
        def call(leaves: list) -> list:
            for leaf in leaves:
                leaf.grad = None
            program(*leaves).backward()
            return [leaf.grad for leaf in leaves]

        return call

    return _torch(make, differentiate)


def torch_record(make: Make) -> Bound:
    """The forward half only: the graph is recorded and thrown away."""
    return _torch(make, lambda torch, program: lambda leaves: program(*leaves))


def autograd_grad(make: Make) -> Bound:
    """HIPS autograd's `grad`, built once."""
    import autograd
    import autograd.numpy

    program = make(autograd.numpy)
    return Bound(_keep, _lazily(lambda argnums: autograd.grad(program, argnums)), _as_list)


def _chainrule_leaves(inputs: tuple) -> list:
    import chainrule as cr

    return [cr.variable(x) for x in inputs]


def _chainrule_backward(program: Callable) -> Callable:
    def call(leaves: list) -> list:
        for leaf in leaves:
            leaf.zero_grad()
        program(*leaves).backward()
        return [leaf.grad for leaf in leaves]

    return call


def chainrule_variable(make: Make) -> Bound:
    """`cr.variable` leaves, plain NumPy functions, `.backward()`; leaves made as for torch."""
    return Bound(_chainrule_leaves, _chainrule_backward(make(np)), _as_list)


def chainrule_variable_cr(make: Make) -> Bound:
    """The same, spelled `cr.sin(x)` in place of `np.sin(x)`: what the NumPy protocol costs."""
    import chainrule as cr

    return Bound(_chainrule_leaves, _chainrule_backward(make(cr)), _as_list)


def chainrule_grad(make: Make) -> Bound:
    """`cr.grad`, built once; NumPy arrays in and out."""
    import chainrule as cr

    program = make(np)
    return Bound(_keep, _lazily(lambda argnums: cr.grad(program, argnums)), _as_list)


def chainrule_record(make: Make) -> Bound:
    """The forward half only: the graph is recorded and thrown away."""
    program = make(np)
    return Bound(_chainrule_leaves, lambda leaves: program(*leaves), lambda y: [y.value])


# Order matters: the first variant that runs is the reference of the correctness gate, so
# chainrule is never its own judge while a peer is installed.
VARIANTS: dict[str, Callable[[Make], Bound]] = {
    "numpy.forward": numpy_forward,
    "python.forward": python_forward,
    "torch.grad": torch_grad,
    "torch.backward": torch_backward,
    "torch.record": torch_record,
    "autograd.grad": autograd_grad,
    "chainrule.variable": chainrule_variable,
    "chainrule.variable_cr": chainrule_variable_cr,
    "chainrule.grad": chainrule_grad,
    "chainrule.record": chainrule_record,
}


def peer(variant: str) -> str:
    """The library behind a variant: `torch.grad` -> `torch`."""
    return variant.partition(".")[0]


def differentiates(variant: str) -> bool:
    """Whether the variant computes a gradient, or only the forward half of the work."""
    return not variant.endswith((".forward", ".record", ".primal")) and peer(variant) != "limit"


def by_hand(variant: str) -> bool:
    """Whether a person wrote the derivative."""
    return variant.endswith(".hand")


def competes(variant: str) -> bool:
    """Whether targets may use the variant: a gradient, in the spelling users are told to write."""
    return differentiates(variant) and variant != "chainrule.variable_cr"


def version(library: str) -> str | None:
    """The installed version, or None where the library is absent."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        return getattr(importlib.import_module(library), "__version__", "unknown")
    except ImportError:
        return None
