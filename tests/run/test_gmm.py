"""ADBench's Gaussian mixture compiled: its published values, and the interpreter's to 12 digits."""

import numpy as np
import pytest

import chainrule as cr
from benchmarks import gmm
from tests.agree.compiled import assert_agrees
from tests.benchmarks.test_programs import (
    ADBENCH,
    GOLDEN_ALPHAS,
    GOLDEN_ICF,
    GOLDEN_MEANS,
    GOLDEN_VALUE,
)

pytest.importorskip("llvmlite")


def objective(alphas, means, icf, x):
    return gmm.gmm_objective(alphas, means, icf, x, gmm.GAMMA, gmm.M)


gradient = cr.value_and_grad(objective, gmm.ARGNUMS)


def along_itself(f):
    """The gradient of the slope of f along its parameters: one order more."""

    def slope(alphas, means, icf, x):
        at = (alphas, means, icf)
        return cr.jvp(lambda *p: f(*p, x), at, at)[1]

    return slope


def third(*args):
    return cr.grad(along_itself(along_itself(objective)), gmm.ARGNUMS)(*args)


def second(*args):
    return cr.grad(along_itself(objective), gmm.ARGNUMS)(*args)


def drawn(size):
    x, alphas, means, icf = gmm.data(size)
    return alphas, means, icf, x


def test_the_published_values():
    value, (alphas, means, icf) = cr.compile(gradient)(*ADBENCH[:4])
    assert value == pytest.approx(GOLDEN_VALUE, rel=1e-12)
    np.testing.assert_allclose(alphas, GOLDEN_ALPHAS, rtol=1e-12)
    np.testing.assert_allclose(means, GOLDEN_MEANS, rtol=1e-12)
    np.testing.assert_allclose(icf, GOLDEN_ICF, rtol=1e-12)


@pytest.mark.parametrize("f", [gradient, second, third], ids=["gradient", "second", "third"])
@pytest.mark.parametrize("inputs", [ADBENCH[:4], drawn(gmm.SIZES[0])], ids=["test", "d=2, K=5"])
def test_derivatives_up_to_the_third(f, inputs):
    assert_agrees(f, *inputs)


def test_a_larger_one_by_its_largest_numbers():
    """Of a thousand points some entries cancel: one by one they are in the slow test."""
    inputs = drawn(gmm.SIZES[1])
    value, expected = gradient(*inputs)
    found_value, found = cr.compile(gradient)(*inputs)
    np.testing.assert_allclose(found_value, value, rtol=1e-12)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(b).max())


@pytest.mark.slow
@pytest.mark.parametrize("f", [gradient, second, third], ids=["gradient", "second", "third"])
@pytest.mark.parametrize("size", gmm.SIZES[1:3], ids=lambda size: size.name)
def test_larger_ones(f, size):
    assert_agrees(f, *drawn(size))
