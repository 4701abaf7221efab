"""One program computed by chainrule, by PyTorch, by JAX and by differences: values and gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from chainrule.errors import ChainruleError
from tests.agree.programs import Program

STEPS = (1e-3, 3e-4, 3e-3, 1e-4, 1e-2, 3e-5)  # of central differences; the first is most often best

GOOD_ENOUGH = 1e-9  # no further step size is tried


@cache
def peer(name: str) -> Any:
    """The peer's module set up for float64, or None where it is not installed."""
    try:
        if name == "torch":
            import torch

            torch.set_num_threads(1)
            return torch
        import jax
        import jax.nn
        import jax.scipy.linalg
        import jax.scipy.signal
        import jax.scipy.special
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    return jax


def applicable(program: Program, name: str) -> bool:
    """Whether the peer has every op of the program."""
    return all(getattr(step.entry, name) is not None for step in program.steps)


def gradients(program: Program, name: str) -> tuple[float, list[Any]]:
    """The program's value and its gradient by each input, by a peer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a peer warns of is not for us to repair
        return {"torch": _by_torch, "jax": _by_jax}[name](program)


def _by_torch(program: Program) -> tuple[float, list[Any]]:
    torch = peer("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        leaves = [torch.tensor(x, requires_grad=True) for x in program.inputs]
        out = program.scalar(
            leaves,
            lambda step, args: step.entry.torch(torch, *map(_contiguous, args), **step.attrs),
            lambda c: torch.as_tensor(c, dtype=_as_float(c, torch.complex128, torch.float64)),
            torch,
        )
        found = torch.autograd.grad(out, leaves, allow_unused=True)
    finally:
        torch.set_default_dtype(before)
    zeros = [np.zeros_like(x) for x in program.inputs]
    return float(out.detach()), [
        z if g is None else g.numpy() for g, z in zip(found, zeros, strict=True)
    ]


def _contiguous(arg: Any) -> Any:
    """Some of PyTorch's gradients fail on strided tensors."""
    if isinstance(arg, list):
        return [_contiguous(a) for a in arg]
    return arg.contiguous() if hasattr(arg, "contiguous") else arg


def _as_float(value: Any, for_complex: Any, for_real: Any) -> Any:
    return for_complex if np.iscomplexobj(value) else for_real


def _by_jax(program: Program) -> tuple[float, list[Any]]:
    jax = peer("jax")

    def f(leaves: list[Any]) -> Any:
        return program.scalar(
            leaves,
            lambda step, args: step.entry.jax(jax, *args, **step.attrs),
            lambda c: c if isinstance(c, (int, float)) else jax.numpy.asarray(c),
            jax.numpy,
        )

    leaves = [jax.numpy.asarray(x) for x in program.inputs]
    try:
        # Compiled whole: compiling each operation by itself takes five times as long.
        out, found = jax.block_until_ready(jax.jit(jax.value_and_grad(f))(leaves))
    except jax.errors.JaxRuntimeError:  # XLA refuses a Fourier transform of some transposed arrays
        out, found = jax.value_and_grad(f)(leaves)
    return float(out), [np.asarray(g) for g in found]


def difference(
    f: Callable[[list[Any]], Any], point: Sequence[Any], u: Sequence[Any]
) -> tuple[Any, float]:
    """The derivative of f along u by central differences, and an estimate of its error.

    Of several step sizes the one is taken at which the formulas of fourth and of sixth order agree
    best: larger ones are wrong by truncation or reach over a kink, smaller ones by rounding.
    """

    def slope(h: float) -> Any:
        ahead, behind = ([p + t * d for p, d in zip(point, u, strict=True)] for t in (h, -h))
        return (np.asarray(f(ahead)) - np.asarray(f(behind))) / (2 * h)

    best: tuple[Any, float] = (None, np.inf)
    for h in STEPS:
        try:
            one, two, three = slope(h), slope(2 * h), slope(3 * h)
        except (
            ValueError,
            IndexError,
            ChainruleError,
        ):  # so far away, a selection has another length
            continue
        fourth = (4 * one - two) / 3
        sixth = (15 * one - 6 * two + three) / 10
        error = float(np.max(np.abs(sixth - fourth), initial=0.0))
        if error < best[1]:
            best = sixth, error
        if best[1] <= GOOD_ENOUGH * max(1.0, float(np.max(np.abs(best[0]), initial=0.0))):
            break
    return best
