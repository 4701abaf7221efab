"""Layers on images (images, channels, *space): convolution and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from chainrule.learn.initialise import Initialiser, drawn, he, taken


def init_conv(
    rng: np.random.Generator,
    inputs: int,
    outputs: int,
    kernel: int | tuple[int, ...] = 3,
    groups: int = 1,
    bias: bool = True,
    initialiser: Initialiser = he,
    dtype: Any = np.float64,
) -> dict[str, np.ndarray]:
    """{"weights": (outputs, inputs / groups, *kernel), "bias": (outputs,)}; 3 is (3, 3)."""
    if inputs % groups or outputs % groups:
        raise cr.ShapeError(
            f"init_conv of {inputs} into {outputs} channels: groups={groups} must divide both"
        )
    sizes = (kernel, kernel) if isinstance(kernel, int) else tuple(kernel)
    weights = drawn(initialiser, rng, (outputs, inputs // groups, *sizes), dtype)
    return {"weights": weights} | ({"bias": np.zeros(outputs, dtype)} if bias else {})


def conv(
    params: Any, x: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """`cr.conv` of the images x with the weights, plus the bias of each channel."""
    (weights,) = taken("conv", params, "weights")
    y = cr.conv(x, weights, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if "bias" not in params:
        return y
    return y + np.reshape(params["bias"], (-1,) + (1,) * (np.ndim(y) - 2))


def max_pool(x: Any, window: Any, stride: Any = None, padding: Any = 0) -> Any:
    """The largest number of each window; windows lie side by side unless `stride` is given."""
    return cr.max_pool(x, window=window, stride=stride, padding=padding)


def average_pool(x: Any, window: Any, stride: Any = None, padding: Any = 0) -> Any:
    """The mean of each window; what is padded counts as 0."""
    return cr.avg_pool(x, window=window, stride=stride, padding=padding)
