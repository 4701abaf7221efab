"""The programs of `batching.py`, `bundle.py` and `hand.py` have the slopes of differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import batching, bundle, hand

STEP = 1e-6


def value_of(make: Callable) -> Callable:
    """The function of which a program is the Jacobian."""
    return make(batching.ours()._replace(jacobian=lambda f, *_: f))


def difference(f: Callable, args: tuple, n: int, direction: Any) -> Any:
    ahead, behind = (
        f(*args[:n], args[n] + step * direction, *args[n + 1 :]) for step in (STEP, -STEP)
    )
    return (ahead - behind) / (2 * STEP)


def test_hands() -> None:
    rng = np.random.default_rng(0)
    args, direction = hand.simple_inputs(rng), rng.normal(size=26)
    jacobian = hand.simple(batching.ours())(*args)
    assert jacobian.shape == (300, 26)
    wanted = difference(value_of(hand.simple), args, 0, direction)
    np.testing.assert_allclose(jacobian @ direction, wanted, rtol=1e-6, atol=1e-6)
    whole = hand.complicated(batching.ours())(*hand.complicated_inputs(rng))
    assert whole.shape == (300, 28)


def test_observations_also_without_a_rotation() -> None:
    rng = np.random.default_rng(0)
    args = bundle.inputs(12, rng)
    args[0][3, :3] = 0.0
    blocks = bundle.jacobians(batching.ours())(*args)
    f = value_of(bundle.jacobians)
    for n in range(3):
        direction = rng.normal(size=args[n].shape)
        products = blocks[n] * direction.reshape(12, 1, -1).reshape(blocks[n][:, :1].shape)
        found = products.reshape(12, 2, -1).sum(2)
        lanes = np.arange(12) != 3 if n == 0 else slice(None)  # a step leaves the branch
        wanted = difference(f, args, n, direction)
        np.testing.assert_allclose(found[lanes], wanted[lanes], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", ["Newton, 10,000 lanes", "rare branch, 10,000 lanes"])
def test_lanes_that_branch_are_the_lanes_alone(name: str) -> None:
    (lanes,) = batching.inputs(name, 0)
    found = batching.PROGRAMS[name].make(batching.ours())(lanes[:50])
    alone = batching.PROGRAMS[name].make(batching.ours()._replace(vmap=lambda f: f))
    np.testing.assert_allclose(found, [alone(x) for x in lanes[:50]], rtol=1e-12)
