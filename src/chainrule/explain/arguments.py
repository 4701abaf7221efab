"""The user's function as a function of arrays alone, for the gradient checker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.diff.gradient import vjp
from chainrule.errors import DerivativeError
from chainrule.explain.differences import Arrays, directions
from chainrule.record.recorder import as_operand
from chainrule.record.trace import becomes_leaf, parameter_names
from chainrule.record.variable import Variable

Flat = Callable[..., tuple[Any, ...]]


def on_arrays(f: Callable[..., Any], args: Sequence[Any]) -> tuple[Flat, Arrays, list[str]]:
    """f as a function of the floating-point arrays in its arguments, these, and their names.

    The arrays are widened.  Its results are the floating-point ones of f, in a tuple.
    """
    parts = [flatten(arg) for arg in args]
    point: Arrays = []
    places: list[list[int | None]] = []
    names: list[str] = []
    parameters = parameter_names(f, len(args))
    for (leaves, structure), arg, parameter in zip(parts, args, parameters, strict=False):
        bare = len(leaves) == 1 and leaves[0] is arg
        mine: list[int | None] = []
        for v, path in zip(leaves, structure.paths, strict=True):
            array = (
                np.asarray(as_array(v), float if type(v) is int else None)
                if becomes_leaf(v, bare)
                else None
            )
            if array is None or array.dtype.kind not in "fc":
                mine.append(None)
                continue
            mine.append(len(point))
            names.append(f"{parameter}{path}")
            point.append(array.astype(np.result_type(array, np.float64)))
        places.append(mine)

    def flat(*arrays: Any) -> tuple[Any, ...]:
        packed = [
            structure.unflatten(
                [v if k is None else arrays[k] for v, k in zip(leaves, mine, strict=True)]
            )
            for (leaves, structure), mine in zip(parts, places, strict=True)
        ]
        results, _ = flatten(f(*packed))
        if not results:
            raise DerivativeError(
                "the function must return a number, an array or a container of them"
            )
        return tuple(r for r in map(as_result, results) if r.dtype.kind in "fc")

    return flat, [p[()] for p in point], names


def as_result(value: Any) -> Any:
    """A result of the user's function as a Variable or an array."""
    operand = as_operand(value, Variable)
    return operand if hasattr(operand, "dtype") else np.asarray(operand)


def pulled_back(f: Flat, point: Arrays, rng: np.random.Generator) -> Flat:
    """x ↦ (∂f/∂x)ᵀ·seed for one fixed random seed: what the next order differentiates."""
    seed = tuple(directions([as_array(o) for o in f(*point)], rng))
    return lambda *arrays: vjp(f, *arrays)[1](seed)


def as_array(value: Any) -> Any:
    return np.asarray(getattr(value, "_value", value))
