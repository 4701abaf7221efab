"""Choosing between values: where, maximum, minimum, clip, absolute.

Kinks follow one rule: the minimum-norm element of the subdifferential over the inputs being
differentiated.  So a tie between two variables is shared equally, and a tie with a constant
(relu, maximum(x, 0), clip at its bounds) gives 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Sample, sample
from chainrule.ops.define import Gate, elementwise
from chainrule.ops.samples import draw, pairs, point_pairs


def _where_samples() -> list[Sample]:
    mask = np.array([True, False, True])
    return [
        sample(mask, draw((3,), -2, 2), draw((3,), -2, 2, 1)),
        sample(mask, draw((2, 3), -2, 2), np.float64(0.5)),
        sample(np.True_, draw((2,), -2, 2), draw((2,), -2, 2, 1)),
    ]


where = elementwise(
    "where",
    lambda condition, x, y: np.where(condition, x, y)[()],
    (None, Gate(lambda condition: _truth(condition)), Gate(lambda condition: ~_truth(condition))),
    inputs=("condition", "x", "y"),
    samples=_where_samples,
    numpy=(np.where,),
    doc="x where the condition holds, else y; the lanes not taken carry a structural zero.",
)


def _truth(condition: Any) -> Any:
    return np.asarray(plain(condition), bool)


def _winner(better: Any, tied: Any, active: tuple[bool, ...]) -> Any:
    """Weights of one operand of max or min: 1 where it wins, a share where it ties."""
    tied = plain(tied)
    if not np.any(tied):
        return plain(better)
    return np.where(tied, 0.5 if all(active) else 0.0, plain(better))


maximum = elementwise(
    "maximum",
    np.maximum,
    (
        Gate(lambda x, y, active: _winner(np.greater(x, y), np.equal(x, y), active)),
        Gate(lambda x, y, active: _winner(np.greater(y, x), np.equal(x, y), active)),
    ),
    samples=pairs,
    edges=point_pairs((0.0, 0.0), (1.0, 1.0), (0.0, -0.0)),
    kinks=lambda x, y: np.equal(x, y),
)
minimum = elementwise(
    "minimum",
    np.minimum,
    (
        Gate(lambda x, y, active: _winner(np.less(x, y), np.equal(x, y), active)),
        Gate(lambda x, y, active: _winner(np.less(y, x), np.equal(x, y), active)),
    ),
    samples=pairs,
    edges=point_pairs((0.0, 0.0), (1.0, 1.0)),
    kinks=lambda x, y: np.equal(x, y),
)
