"""How each library is asked for a compiled value and gradient: one function per way of asking.

Each takes make(library) -> function, which is called in the worker, so that no workload imports a
library that it does not run. Results are read as [value, gradient, gradient, …].
"""

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import Bound, NotBuiltError

Make = Callable[[Any], Callable]  # make(library) -> function(*inputs)


def threads() -> int:
    """Threads of this worker."""
    return int(os.environ.get("OMP_NUM_THREADS", "1"))


def leaves(tree: Any) -> list:
    """The arrays of nested tuples, lists and dicts, in order."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        return [array for branch in tree for array in leaves(branch)]
    return [tree]


class Converted:
    """Inputs in a library's own arrays; one that all slots share is converted once."""

    def __init__(self, convert: Callable):
        self.convert = convert
        self.known: dict[int, tuple] = {}

    def __call__(self, inputs: tuple) -> tuple:
        return tuple(self._one(x) for x in inputs)

    def _one(self, x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return [self._one(part) for part in x]
        if not isinstance(x, np.ndarray):
            return x
        if id(x) not in self.known:
            self.known[id(x)] = (x, self.convert(x))  # x is kept, so that its id stays its own
        return self.known[id(x)][1]


# -- chainrule -----------------------------------------------------------------------------------


def compiled(f: Callable, **options: Any) -> Callable:
    """`cr.compile(f)`, on the threads of this worker; the one place that knows how to ask.

    An option that is not built yet is left out: a training step is then measured with its copy.
    """
    import chainrule as cr

    if not hasattr(cr, "compile"):
        raise NotBuiltError("not built yet")
    if hasattr(cr, "set_threads"):
        cr.set_threads(threads())
    known = inspect.signature(cr.compile).parameters
    return cr.compile(f, **{name: value for name, value in options.items() if name in known})


def chainrule(make: Make) -> Bound:
    """Any function of NumPy arrays, compiled; arrays in and out."""
    import chainrule as cr

    fast = compiled(make(cr))
    return Bound(lambda inputs: inputs, lambda inputs: fast(*inputs), leaves)


def chainrule_gradient(f: Callable, argnums: int | tuple[int, ...] = 0) -> Bound:
    """`cr.compile(cr.value_and_grad(f))`."""
    return chainrule(lambda cr: cr.value_and_grad(f, argnums))


def chainrule_primal(f: Callable) -> Bound:
    """`cr.compile(f)` without a derivative: what R2 divides by."""
    return chainrule(lambda cr: f)


# -- peers ---------------------------------------------------------------------------------------


def by_hand(f: Callable) -> Bound:
    """A derivative written by hand in NumPy: f(*inputs) -> (value, *gradients)."""
    return Bound(lambda inputs: inputs, lambda inputs: f(*inputs), leaves)


def numba_by_hand(make: Make) -> Bound:
    """A derivative written by hand for numba."""
    import numba

    return by_hand(make(numba))


def jax(make: Make, **options: Any) -> Bound:
    """`jax.jit` of any function, in float64 where the inputs are; the result is waited for."""
    import jax

    jax.config.update("jax_enable_x64", True)
    fast = jax.jit(make(jax), **options)
    wait = jax.block_until_ready
    return Bound(Converted(jax.numpy.asarray), lambda inputs: wait(fast(*inputs)), leaves)


def jax_gradient(make: Make, argnums: int | tuple[int, ...] = 0) -> Bound:
    """`jax.jit(jax.value_and_grad(f))`."""
    return jax(lambda jax: jax.value_and_grad(make(jax), argnums))


def torch_setup() -> Any:
    """torch, on the threads of this worker."""
    import torch

    torch.set_num_threads(threads())
    # A worker holds a function for many shapes, each of which torch.compile may compile.
    torch._dynamo.config.recompile_limit = 64
    return torch


def torch_eager(make: Make, argnums: int | tuple[int, ...] = 0) -> Bound:
    """`torch.autograd.grad`; the leaves exist before the clock starts."""
    torch = torch_setup()
    f = make(torch)
    wanted = (argnums,) if isinstance(argnums, int) else argnums
    convert = Converted(lambda x: torch.tensor(x))

    def prepare(inputs: tuple) -> tuple:
        tensors = convert(inputs)
        for leaf in leaves([tensors[k] for k in wanted]):
            leaf.requires_grad_(True)
        return tensors, leaves([tensors[k] for k in wanted])

    def call(prepared: tuple) -> tuple:
        inputs, variables = prepared
        value = f(*inputs)
        return value, torch.autograd.grad(value, variables)

    return Bound(prepare, call, torch_read)


def torch_function(make: Make) -> Bound:
    """Any function of tensors, op by op; derivatives by torch.func inside."""
    torch = torch_setup()
    f = make(torch)
    return Bound(Converted(lambda x: torch.tensor(x)), lambda inputs: f(*inputs), torch_read)


def torch_compiled(make: Make) -> Bound:
    """`torch.compile` of any function, derivatives by torch.func inside: one graph for all."""
    return torch_function(lambda torch: torch.compile(make(torch), dynamic=False))


def torch_compiled_gradient(make: Make, argnums: int | tuple[int, ...] = 0) -> Bound:
    """`torch.compile(torch.func.grad_and_value(f))`, which was faster than compiling f alone.

    Measured on GMM (64, 100): 123 ms, against 132 ms for `torch.autograd.grad` of a compiled f.
    """

    def gradient(torch: Any) -> Callable:
        differentiate = torch.func.grad_and_value(make(torch), argnums=argnums)

        def value_and_grad(*inputs: Any) -> tuple:
            gradients, value = differentiate(*inputs)
            return value, gradients

        return value_and_grad

    return torch_compiled(gradient)


def torch_read(result: Any) -> list:
    """Arrays of a result."""
    return [tensor.detach().numpy() for tensor in leaves(result)]


def four_ways(
    f: Callable,
    in_jax: Make,
    in_torch: Make,
    argnums: int | tuple[int, ...] = 0,
    **by_hand_ways: Callable[[], Bound],
) -> dict[str, Callable[[], Bound]]:
    """The ways of a case: by hand first (the reference), then the libraries, then ours."""
    return {
        **{f"{library}.hand": way for library, way in by_hand_ways.items()},
        "torch.eager": lambda: torch_eager(in_torch, argnums),
        "torch.compile": lambda: torch_compiled_gradient(in_torch, argnums),
        "jax.jit": lambda: jax_gradient(in_jax, argnums),
        "chainrule.compile": lambda: chainrule_gradient(f, argnums),
        "chainrule.primal": lambda: chainrule_primal(f),
    }
