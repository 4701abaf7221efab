"""The functions of the seed rows under `cr.vmap`: value and gradient are those of each lane."""

import numpy as np
import pytest

import chainrule as cr
from tests.seeds.test_row02_contributions import composed
from tests.seeds.test_row07_traversal_order import shared
from tests.seeds.test_rows12_and_13_network import V, W, b, gamma, network
from tests.seeds.test_rows15_to_19_gates import intermediates, worked
from tests.seeds.test_rows23_to_25_chains import diamond

LANES = 5


def sum_times(a, b, c):
    return (a + b) * c


def power(x, n):
    return x**n


def maximum(x, y):
    return np.maximum(x, y) * 2 + max(x, y)


def chain(x):
    for _ in range(20):
        x = np.sin(x) + 0.5
    return x


def log_softmax(x):
    return np.sum((x - cr.logsumexp(x)) * np.arange(3.0))


ROWS = {
    "2": (composed, (), ()),
    "3": (sum_times, (), (), ()),
    "5": (power, (), ()),
    "7": (shared, ()),
    "12": (log_softmax, (3,)),
    "13": (network, *(value.shape for value in (W, b, V, gamma))),
    "15": (worked, (), (), ()),
    "16": (intermediates, ()),
    "17": (maximum, (), ()),
    "23": (chain, ()),
    "25": (diamond, (), ()),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("row", ROWS)
def test_lanes_at_once_are_the_lanes_alone(row, compiled):
    f, *shapes = ROWS[row]
    rng = np.random.default_rng(0)
    args = [rng.uniform(0.3, 2.0, (LANES, *shape)) for shape in shapes]
    every = tuple(range(len(args)))
    both = cr.vmap(cr.value_and_grad(f, every))
    value, gradients = (cr.compile(both) if compiled else both)(*args)
    alone = [cr.value_and_grad(f, every)(*lane) for lane in zip(*args, strict=True)]
    np.testing.assert_allclose(value, [v for v, _ in alone], rtol=1e-13)
    for k, gradient in enumerate(gradients):
        np.testing.assert_allclose(gradient, [g[k] for _, g in alone], rtol=1e-12)
