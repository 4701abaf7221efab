"""Attention with several heads (Vaswani et al. 2017)."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.learn.initialise import Initialiser, glorot, taken
from chainrule.learn.layers import init_linear, linear

PARTS = ("query", "key", "value", "output")


def init_attention(
    rng: np.random.Generator,
    width: int,
    bias: bool = True,
    initialiser: Initialiser = glorot,
    dtype: Any = np.float64,
) -> dict[str, dict[str, np.ndarray]]:
    """A linear layer (width, width) for each of "query", "key", "value" and "output"."""
    return {part: init_linear(rng, width, width, bias, initialiser, dtype) for part in PARTS}


def attention(
    params: Any,
    x: Any,
    heads: int = 1,
    memory: Any = None,
    causal: bool = False,
    mask: Any = None,
) -> Any:
    """Each place of x (…, places, width) looks at the places of `memory`, or of x itself.

    `causal` lets it look at itself and those before alone.  `mask` is true where it may look, of a
    shape that broadcasts with (…, heads, places, places of memory); a place that may look nowhere
    gets the bias of the output.
    """
    memory = x if memory is None else memory
    to_query, to_key, to_value, to_output = taken("attention", params, *PARTS)
    width = to_query["weights"].shape[1]
    if not isinstance(heads, int) or heads < 1 or width % heads:
        raise cr.ArgumentError(
            f"attention(heads={heads!r}): must be a whole number that divides the width {width}"
        )
    if np.ndim(x) < 2:
        raise cr.ShapeError(f"attention of {tuple(np.shape(x))}: x must be (…, places, width)")
    query = _by_head(linear(to_query, x), heads)
    key = _by_head(linear(to_key, memory), heads)
    value = _by_head(linear(to_value, memory), heads)
    scores = query @ np.swapaxes(key, -1, -2) / sqrt(width // heads)
    allowed = _allowed(scores, causal, mask)
    if allowed is not None:
        scores = np.where(allowed, scores, np.array(-np.inf, scores.dtype))
    mixed = np.swapaxes(cr.softmax(scores, axis=-1) @ value, -2, -3)
    return linear(to_output, np.reshape(mixed, (*np.shape(x)[:-1], width)))


def _by_head(x: Any, heads: int) -> Any:
    """(…, places, width) → (…, heads, places, width / heads)."""
    *outer, width = np.shape(x)
    return np.swapaxes(np.reshape(x, (*outer, heads, width // heads)), -2, -3)


def _allowed(scores: Any, causal: bool, mask: Any) -> Any:
    """Where a place may look, or None: everywhere."""
    if mask is not None:
        if getattr(mask, "dtype", None) != np.dtype(bool):
            raise cr.DTypeError(
                "attention: the mask must be an array of bools, true where a place may look; got "
                f"{getattr(mask, 'dtype', type(mask).__name__)}"
            )
        try:
            fits = np.broadcast_shapes(np.shape(mask), scores.shape) == scores.shape
        except ValueError:
            fits = False
        if not fits:
            raise cr.ShapeError(
                f"attention: a mask of shape {tuple(np.shape(mask))} does not broadcast to the "
                f"scores, (…, heads, places, places of memory) = {tuple(scores.shape)}"
            )
    if not causal:
        return mask
    past = np.tri(*scores.shape[-2:], dtype=np.bool)
    return past if mask is None else mask & past
