"""Layers that give activations mean 0 and variance 1, then a scale and a shift that are learned."""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from chainrule.learn.initialise import taken


def init_layer_norm(width: int, dtype: Any = np.float64) -> dict[str, np.ndarray]:
    """{"scale": 1, "shift": 0}, each (width,)."""
    return {"scale": np.ones(width, dtype), "shift": np.zeros(width, dtype)}


def layer_norm(params: Any, x: Any, epsilon: float = 1e-5) -> Any:
    """Each row of x normalised along the last axis (Ba, Kiros & Hinton 2016)."""
    scale, shift = taken("layer_norm", params, "scale", "shift")
    _check_width("layer_norm", scale, x, -1)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(np.square(centred), axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * scale + shift


def init_batch_norm(
    width: int, dtype: Any = np.float64
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The parameters, {"scale", "shift"}, and the running statistics, {"mean", "variance"}."""
    statistics = {"mean": np.zeros(width, dtype), "variance": np.ones(width, dtype)}
    return init_layer_norm(width, dtype), statistics


def batch_norm(
    params: Any,
    x: Any,
    statistics: Any,
    training: bool = True,
    decay: float = 0.9,
    epsilon: float = 1e-5,
) -> tuple[Any, Any]:
    """x (examples, channels, *space) normalised per channel, and the new running statistics.

    In training by mean and variance of the batch, which the running ones follow: decay of the old,
    1 − decay of the new, the variance with n − 1 in the denominator (Ioffe & Szegedy 2015; PyTorch
    calls 1 − decay the momentum).  Otherwise by the running ones, which stay as they are.
    """
    scale, shift = taken("batch_norm", params, "scale", "shift")
    mean, variance = taken("batch_norm", statistics, "mean", "variance")
    if np.ndim(x) < 2:
        raise cr.ShapeError(f"batch_norm of {tuple(np.shape(x))}: (examples, channels, *space)")
    _check_width("batch_norm", scale, x, 1)
    shape = (-1,) + (1,) * (np.ndim(x) - 2)
    if training:
        axes = (0, *range(2, np.ndim(x)))
        count = np.size(x) // np.shape(x)[1]
        if count < 2:
            raise cr.ShapeError(
                f"batch_norm of {tuple(np.shape(x))}: one number per channel has no variance; use "
                "larger batches, or training=False"
            )
        mean = np.mean(x, axis=axes)
        centred = x - np.reshape(mean, shape)
        variance = np.mean(np.square(centred), axis=axes)
        statistics = {
            "mean": _followed(statistics["mean"], mean, decay),
            "variance": _followed(statistics["variance"], variance * (count / (count - 1)), decay),
        }
    else:
        centred = x - np.reshape(mean, shape)
    factor = scale / np.sqrt(variance + epsilon)
    y = centred * np.reshape(factor, shape) + np.reshape(shift, shape)
    return y, statistics


def _followed(old: Any, new: Any, decay: float) -> Any:
    return cr.stop_gradient(decay * old + (1.0 - decay) * new)


def _check_width(name: str, scale: Any, x: Any, axis: int) -> None:
    width, shape = scale.shape[0], tuple(np.shape(x))
    if not shape or shape[axis] != width:
        raise cr.ShapeError(
            f"{name} of {shape} with parameters for {width}: axis {axis} must have {width}"
        )
