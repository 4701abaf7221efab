"""Layers without structure of their own: linear, embedding, dropout.

Every layer is a function of its parameters, and `init_…` draws the first ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from chainrule.learn.initialise import Initialiser, drawn, glorot, normal, taken


def init_linear(
    rng: np.random.Generator,
    inputs: int,
    outputs: int,
    bias: bool = True,
    initialiser: Initialiser = glorot,
    dtype: Any = np.float64,
) -> dict[str, np.ndarray]:
    """{"weights": (inputs, outputs), "bias": (outputs,)}; the bias is 0."""
    weights = drawn(initialiser, rng, (inputs, outputs), dtype)
    return {"weights": weights} | ({"bias": np.zeros(outputs, dtype)} if bias else {})


def linear(params: Any, x: Any) -> Any:
    """x @ weights + bias, x of shape (…, inputs)."""
    (weights,) = taken("linear", params, "weights")
    if not np.ndim(x) or np.shape(x)[-1] != weights.shape[0]:
        raise cr.ShapeError(
            f"linear of {tuple(np.shape(x))} with weights {tuple(weights.shape)}: the last axis "
            f"must have {weights.shape[0]} numbers"
        )
    y = x @ weights
    return y + params["bias"] if "bias" in params else y


def init_embedding(
    rng: np.random.Generator,
    count: int,
    width: int,
    initialiser: Initialiser = normal,
    dtype: Any = np.float64,
) -> dict[str, np.ndarray]:
    """{"table": (count, width)}: a vector for each of `count` things."""
    return {"table": drawn(initialiser, rng, (count, width), dtype)}


def embedding(params: Any, indices: Any) -> Any:
    """The rows of the table at whole numbers of any shape: (…) → (…, width)."""
    (table,) = taken("embedding", params, "table")
    if not hasattr(indices, "dtype"):
        indices = np.asarray(indices)
    what = f"embedding of {tuple(indices.shape)} in a table of {tuple(table.shape)}"
    if indices.dtype.kind not in "iu":
        raise cr.DTypeError(f"{what}: indices are whole numbers, got {indices.dtype}")
    indices = indices.astype(np.int64)  # machine code has no narrower ones
    if np.any((indices < 0) | (indices >= table.shape[0])):
        raise cr.OutOfRangeError(
            f"{what}: indices go from {np.min(indices)} to {np.max(indices)}, the rows are "
            f"0…{table.shape[0] - 1}"
        )
    return table[indices]


def dropout(x: Any, rate: float, key: Any) -> Any:
    """x with a share `rate` of its numbers, which the key chooses, set to 0.

    The others are divided by 1 − rate, so that the mean stays.  `key=None` is for evaluation: x
    itself.  Give every call a key of its own, from cr.split_key.
    """
    if not 0 <= rate < 1:
        raise cr.ArgumentError(f"dropout(rate={rate!r}): must be at least 0 and less than 1")
    if key is None or rate == 0:
        return x
    kept = cr.random_uniform(key, np.shape(x), dtype=np.float32) >= np.float32(rate)
    return np.where(kept, x / (1.0 - rate), np.zeros((), x.dtype))
