"""A recorded gradient is a function: run again at another point it is the gradient there.

Nothing that a derivative rule reads from the values of the first point may stay in the graph.
"""

from typing import Any

import numpy as np
import pytest

import chainrule as cr
from tests.ops.table import at_double, case_of, directions

CASES = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op in cr.OPS.values()
    for i, sample in enumerate(op.samples())
]


def elsewhere(point: list[Any]) -> list[Any]:
    """Another point of the same shapes: the same numbers, in another order."""
    return [np.roll(p.reshape(-1)[::-1], 1).reshape(p.shape) for p in point]


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_reverse_mode_replayed_at_another_point(op, sample):
    case = case_of(op, at_double(sample))
    point = case.point
    there = elsewhere(point)
    if not case.places or not case(*point) or all(map(np.array_equal, point, there)):
        pytest.skip("no floating-point input, or nothing to permute")
    seeds = tuple(directions([np.asarray(o) for o in case(*point)], 1))

    def gradient(*arrays: Any) -> Any:
        return cr.vjp(case, *arrays)[1](seeds)

    with np.errstate(all="ignore"):
        try:
            expected = gradient(*there)
            gradient(*point)
        except (cr.ChainruleError, ValueError, np.linalg.LinAlgError) as error:
            pytest.skip(f"not differentiable there: {error}")
        graph = cr.trace(gradient, *point)
        found = graph.forward(*there).outputs
    for e, f in zip(expected, found, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-9)
