"""The size of an adjoint of any kind: array, masked array, or the parts of several results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.core.masked import Masked
from chainrule.core.parts import Parts
from chainrule.explain.numbers import norm_of

SQUARES = 1e-280, 1e300  # sums of squares between these have lost nothing to the range of numbers
UP = 2.0**500


def norm(value: Any) -> float:
    """The Euclidean norm of an adjoint, without overflow; 0.0 for none."""
    kind = type(value)
    if kind is np.float64:
        return abs(float(value))
    if value is None:
        return 0.0
    if kind is Masked:
        value = value.value
    if kind is Parts or kind is tuple:
        return math.hypot(*(norm(part) for part in value))
    if type(value) is not np.ndarray or value.dtype != np.float64:
        return float(norm_of(value))
    flat = value.reshape(-1)
    total = float(flat.dot(flat))
    if SQUARES[0] < total < SQUARES[1]:
        return math.sqrt(total)
    if total < 1.0:  # tiny or zero, as in a gradient that vanishes
        flat = flat * UP
        return math.sqrt(float(flat.dot(flat))) / UP
    return float(norm_of(value))


def is_dead(g: Any) -> bool:
    """Whether an adjoint is a structural zero in every lane."""
    if type(g) is Parts:
        return all(is_dead(part) for part in g)
    return g is None or (type(g) is Masked and not g.alive.any())
