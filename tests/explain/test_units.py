"""Units that pass no gradient: dead ones, saturated ones, and what only looks like them."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.run import recorded_run
from chainrule.explain.units import units_of

X = np.random.default_rng(0).normal(size=(20, 3))
W = np.random.default_rng(1).normal(size=(3, 6))


def units(f, *args):
    run = recorded_run(f, *args).backward()
    return units_of(run, run.graph.leaves[:1])


def with_activation(phi, shift=0.0):
    return lambda w, x: np.sum(phi(x @ w + shift) * np.arange(1.0, 7.0))


RELUS = {
    "maximum": lambda z: np.maximum(z, 0.0),
    "where": lambda z: np.where(z > 0, z, 0.0),
    "relu": cr.relu,
    "clip": lambda z: np.clip(z, 0.0, np.inf),
}


@pytest.mark.parametrize("name", RELUS)
def test_a_unit_that_no_example_moves_is_silent(name):
    shift = np.array([0.0, -1e3, 0.0, 0.0, -1e3, 0.0])
    found = units(with_activation(RELUS[name], shift), W, X)
    assert found[0].silent.tolist() == [False, True, False, False, True, False]
    assert found[0].saturated == 0.0


@pytest.mark.parametrize("phi", [np.tanh, cr.expit, np.arctan, cr.erf], ids=lambda f: f.__name__)
def test_flat_ends_are_saturated(phi):
    shift = np.array([0.0, 100.0, 0.0, -100.0, 0.0, 0.0])
    (found,) = units(with_activation(phi, shift), 0.1 * W, X)
    assert found.node.op.name == phi.__name__
    assert found.saturated == pytest.approx(2 / 6)
    (healthy,) = units(with_activation(phi), 0.1 * W, X)
    assert healthy.saturated == 0.0
    assert not healthy.silent.any()


@pytest.mark.parametrize(
    "phi",
    [
        lambda z: z * np.array([0.0, 1, 1, 1, 1, 1]),  # a mask: it does not depend on z
        lambda z: np.where(np.arange(6) > 0, z, 0.0),
        lambda z: z * 1e-9,
        lambda z: z + 1.0,
        lambda z: np.where(z > 0, z, 0.1 * z),  # every unit has a way around
        lambda z: z + np.maximum(z, 0.0),
        cr.silu,
        cr.gelu,
        lambda z: z**2,  # nowhere flat but at 0
        np.exp,  # flat on one side, and only in the limit
    ],
)
def test_what_is_no_activation(phi):
    assert units(with_activation(phi), W, X) == ()


def test_only_what_depends_on_the_parameters_and_reaches_the_output():
    def f(w, x):
        np.tanh(x @ w)  # nobody uses it
        return np.sum(np.tanh(x) @ w) + np.sum(np.tanh(w))

    assert units(f, W, X) == ()


def test_units_are_the_entries_of_one_example():
    def f(w, x):
        return np.sum(np.maximum(cr.conv(x, w, padding=1) - np.array([0.0, 1e3])[:, None, None], 0))

    images = np.random.default_rng(0).normal(size=(4, 1, 5, 5))
    (found,) = units(f, np.random.default_rng(0).normal(size=(2, 1, 3, 3)), images)
    assert found.silent.shape == (2, 5, 5)
    assert found.silent[1].all()
    assert not found.silent[0].all()
