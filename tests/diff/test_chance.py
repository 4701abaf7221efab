"""Random numbers inside a vmap are refused, also where two draws came out alike."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest

import chainrule as cr

A = np.array([0.3, 2.0, 90.0])
SHARED = np.random.default_rng(5)


class Noisy:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def call(self, x: Any) -> Any:
        return x + self.rng.integers(2)


def helper(x: Any) -> Any:
    return x * SHARED.integers(2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, rng=np.random.default_rng(0): x * rng.integers(2),  # noqa: B008 - on purpose
        lambda x: x if random.random() > 0.5 else 2 * x,
        lambda x: x * np.random.randint(2),  # noqa: NPY002 - the generator that all code shares
        lambda x: helper(x) + 1,
        partial(lambda k, x: k * helper(x), 2.0),
        cr.grad(helper),
        Noisy().call,
    ],
)
def test_draws_of_any_generator_within_reach_are_refused(f: Any) -> None:
    for _ in range(8):
        with pytest.raises(cr.ArgumentError, match="random numbers"):
            cr.vmap(f)(A)


def test_who_seeds_inside_draws_the_same() -> None:
    def seeded(x: Any) -> Any:
        random.seed(3)
        return x * np.random.default_rng(3).random() + random.random()

    np.testing.assert_allclose(cr.vmap(seeded)(A), [seeded(a) for a in A])
