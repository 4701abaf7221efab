"""First values of parameters, drawn from a NumPy generator.

Each is `(rng, shape)`.  The weights of a linear layer are (inputs, outputs), those of a convolution
(channels out, channels in, *kernel); from that follows how many numbers are summed into one result
(`fan in`) and how many results one number is part of (`fan out`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod, sqrt
from typing import Any, TypeAlias

import numpy as np

import chainrule as cr

Shape: TypeAlias = int | tuple[int, ...]
Initialiser: TypeAlias = Callable[[np.random.Generator, Shape], np.ndarray]


def glorot(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Uniform with variance 2 / (fan in + fan out): for tanh and sigmoid (Glorot & Bengio 2010)."""
    inputs, outputs = _fans("glorot", shape)
    bound = sqrt(6 / (inputs + outputs))
    return rng.uniform(-bound, bound, shape)


def he(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Normal with variance 2 / fan in: for relu (He et al. 2015)."""
    return rng.normal(0.0, sqrt(2 / _fans("he", shape)[0]), shape)


def lecun(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Normal with variance 1 / fan in: keeps the variance of a linear layer (LeCun et al. 1998)."""
    return rng.normal(0.0, sqrt(1 / _fans("lecun", shape)[0]), shape)


def orthogonal(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Rows or columns of length one at right angles, uniform among all such (Saxe et al. 2014).

    The axes but the first count as one.
    """
    _fans("orthogonal", shape)
    assert not isinstance(shape, int)
    rows, columns = shape[0], prod(shape[1:])
    q, r = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))
    q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)  # else qr's choice of signs shows
    return np.ascontiguousarray(q if rows >= columns else q.T).reshape(shape)


def uniform(
    rng: np.random.Generator, shape: Shape, low: float = -0.05, high: float = 0.05
) -> np.ndarray:
    """Uniform between `low` and `high`."""
    return rng.uniform(low, high, shape)


def normal(
    rng: np.random.Generator, shape: Shape, mean: float = 0.0, deviation: float = 0.01
) -> np.ndarray:
    """Normal with this mean and standard deviation."""
    return rng.normal(mean, deviation, shape)


def drawn(
    initialiser: Initialiser, rng: np.random.Generator, shape: tuple[int, ...], dtype: Any
) -> np.ndarray:
    """Parameters of a layer, in its own type."""
    if not isinstance(rng, np.random.Generator):
        raise cr.ArgumentError(
            f"first values are drawn from a generator, np.random.default_rng(seed), not from "
            f"a {type(rng).__name__}"
        )
    if any(not isinstance(n, int | np.integer) or n < 1 for n in shape):
        raise cr.ArgumentError(f"parameters of shape {shape}: every size must be a positive int")
    return np.asarray(initialiser(rng, shape), dtype)


def taken(layer: str, params: Any, *names: str) -> list[Any]:
    """The parts of a layer's parameters by name."""
    try:
        return [params[name] for name in names]
    except (LookupError, TypeError):
        found = f"a dict with {[*params]}" if isinstance(params, dict) else type(params).__name__
        raise cr.ArgumentError(
            f"{layer} takes parameters as init_{layer} makes them, with {[*names]}; got {found}"
        ) from None


def _fans(name: str, shape: Shape) -> tuple[int, int]:
    """How many numbers go into a result, and how many results a number goes into."""
    if isinstance(shape, int) or len(shape) < 2:
        raise cr.ShapeError(
            f"{name} of shape {shape}: fans are those of weights, (inputs, outputs) or (channels "
            "out, channels in, *kernel); for one axis use uniform or normal"
        )
    if len(shape) == 2:
        return shape[0], shape[1]
    return prod(shape[1:]), shape[0] * prod(shape[2:])
