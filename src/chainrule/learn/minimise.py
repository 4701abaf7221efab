"""Minimising a loss over all data at once by SciPy's optimisers, L-BFGS among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.learn.numeric import numbers


@dataclass(frozen=True)
class Minimum:
    """What SciPy ended with; `success` is false where it gave up, and `message` says why.

    `values` are the losses that were computed last in each iteration.
    """

    parameters: Any
    value: float
    gradient: Any
    iterations: int
    evaluations: int
    success: bool
    message: str
    values: tuple[float, ...] = ()


def minimise(
    loss: Callable[..., Any],
    parameters: Any,
    *args: Any,
    method: str = "L-BFGS-B",
    tolerance: float | None = None,
    iterations: int | None = None,
    compile: bool = True,
    has_gradient: bool = False,
    **options: Any,
) -> Minimum:
    """The parameters at which `loss(parameters, *args)` is least, near those given.

    `method`, `tolerance` and further options are those of scipy.optimize.minimize, which sees all
    parameters as one float64 vector; they come back in their own types and containers.

    The gradient is compiled in each call anew.  To compile it once for several, pass it yourself:
    with `has_gradient`, `loss` returns (value, gradient), as `cr.compile(cr.value_and_grad(f))`.
    """
    from scipy.optimize import minimize

    leaves, structure = cr.tree.flatten(parameters)
    named = zip(leaves, structure.paths, strict=True)
    arrays = [numbers(leaf, f"minimise: parameters{at}") for leaf, at in named]
    for array, at in zip(arrays, structure.paths, strict=True):
        if array.dtype.kind != "f":
            raise cr.DTypeError(f"minimise: parameters{at} is {array.dtype}, not floating")
    if not arrays:
        raise cr.ArgumentError("minimise: there are no parameters")
    ends = np.cumsum([a.size for a in arrays])
    value_and_grad = loss if has_gradient else cr.value_and_grad(loss)
    if compile and not has_gradient and find_spec("llvmlite") is not None:
        value_and_grad = cr.compile(value_and_grad)

    def placed(flat: np.ndarray) -> Any:
        parts = np.split(flat, ends[:-1])
        pairs = zip(parts, arrays, strict=True)
        return structure.unflatten(p.reshape(a.shape).astype(a.dtype) for p, a in pairs)

    def joined(tree: Any) -> np.ndarray:
        return np.concatenate([np.ravel(g) for g in cr.tree.leaves(tree)], dtype=np.float64)

    last, values = np.nan, []

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last
        value, gradient = value_and_grad(placed(flat), *args)
        last = float(value)
        return last, joined(gradient)

    def note(*_: Any) -> None:
        values.append(last)

    if iterations is not None:
        options["maxiter"] = iterations
    found = minimize(
        objective,
        joined(parameters),
        jac=True,
        method=method,
        tol=tolerance,
        callback=note,
        options=options,
    )
    best = placed(found.x)
    gradient = value_and_grad(best, *args)[1]
    counts = int(found.get("nit", 0)), int(found.nfev)
    ended = bool(found.success), str(found.message)
    return Minimum(best, float(found.fun), gradient, *counts, *ended, tuple(values))
