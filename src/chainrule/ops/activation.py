"""The activation functions of neural networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Sample, sample
from chainrule.ops.define import Gate, composite, elementwise
from chainrule.ops.exponential import expit
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw, points, reals
from chainrule.ops.special_error import ndtr

far = points(-800.0, -40.0, 0.0, 40.0, 800.0)


def _with_attr(name: str, *values: float) -> Any:
    """The samples of a function of one array, then one for each value of an attr."""

    def samples() -> list[Sample]:
        return [*reals(), *(sample(draw((3,), -2, 2), **{name: v}) for v in values)]

    return samples


relu = composite(
    "relu",
    lambda x: np.maximum(as_array(x), 0.0),
    samples=reals,
    edges=points(0.0),
    doc="maximum(x, 0); at 0 its derivative is 0.",
    picked=True,
)


def _leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    return np.where(np.greater(x, 0), x, negative_slope * x)[()]


def _leaky_lowered(b: Any, x: Any, negative_slope: float) -> Any:
    (x,) = b.floats(x)
    above = b.map("greater", x, b.constant(0, x.dtype))
    return b.map("where", above, x, b.map("multiply", b.constant(negative_slope, x.dtype), x))


def _leaky_slope(x: Any, negative_slope: float) -> Any:
    """1 above 0, `negative_slope` below, and at 0 whatever between the two is nearest to 0."""
    x, between = plain(x), min(max(0.0, min(negative_slope, 1.0)), max(negative_slope, 1.0))
    slope = np.where(np.greater(x, 0), 1.0, np.where(np.equal(x, 0), between, negative_slope))
    return slope.astype(x.dtype)


leaky_relu = elementwise(
    "leaky_relu",
    _leaky_relu,
    (Gate(_leaky_slope),),
    inputs=("x",),
    samples=_with_attr("negative_slope", 0.2, -1.0, 3.0),
    edges=points(0.0),
    kinks=lambda x, negative_slope: np.equal(x, 0) & (negative_slope != 1),
    doc="x above 0, negative_slope·x below.",
    lower=_leaky_lowered,
)


def _elu(x: Any, alpha: float = 1.0) -> Any:
    """At 0 the branch with the smaller slope is taken: α below, 1 above."""
    x = as_array(x)
    above = np.greater_equal(x, 0) if alpha > 1 else np.greater(x, 0)
    return np.where(above, x, alpha * np.expm1(np.where(above, 0.0, x)))


elu = composite(
    "elu",
    _elu,
    samples=_with_attr("alpha", 0.5, 2.0),
    edges=points(-800.0, 0.0, 800.0),
    doc="x above 0, α·(exp(x) - 1) below.",
    picked=True,
)
silu = composite(
    "silu",
    lambda x: x * expit(x),
    samples=reals,
    edges=far,
    doc="x·expit(x), also called swish.",
    picked=True,
)

gelu = composite(
    "gelu",
    lambda x: x * ndtr(x),
    samples=reals,
    edges=far,
    doc="x·Φ(x), Φ the normal distribution function (exact, not the approximation by tanh).",
    picked=True,
)
