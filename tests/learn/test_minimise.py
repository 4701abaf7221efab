"""`minimise` finds known minima over nested parameters, in their own types."""

from importlib.util import find_spec

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(40, 3)), RNG.normal(size=40)


def loss(parameters, a, b):
    return learn.mse(a @ parameters["w"] + parameters["c"][0], b)


@pytest.mark.parametrize("compile", [True, False])
@pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS", "CG"])
def test_least_squares(compile, method):
    start = {"w": np.zeros(3), "c": [np.zeros(())]}
    found = learn.minimise(loss, start, A, B, method=method, tolerance=1e-10, compile=compile)
    expected = np.linalg.lstsq(np.column_stack([A, np.ones(40)]), B)[0]
    np.testing.assert_allclose(found.parameters["w"], expected[:3], rtol=1e-6)
    np.testing.assert_allclose(found.parameters["c"][0], expected[3], rtol=1e-6)
    assert found.success
    assert found.value == pytest.approx(float(loss(found.parameters, A, B)), rel=1e-12)
    assert np.max(np.abs(found.gradient["w"])) < 1e-6
    assert found.evaluations >= found.iterations > 0


def test_rosenbrock():
    def valley(p):
        return 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2

    found = learn.minimise(valley, np.array([-1.2, 1.0]), tolerance=1e-12)
    np.testing.assert_allclose(found.parameters, [1, 1], rtol=1e-5)


def test_narrow_parameters_come_back_narrow():
    start = {"w": np.zeros(3, np.float32), "c": [np.zeros((), np.float32)]}
    found = learn.minimise(loss, start, A.astype(np.float32), B.astype(np.float32))
    assert found.parameters["w"].dtype == found.parameters["c"][0].dtype == np.float32
    expected = np.linalg.lstsq(np.column_stack([A, np.ones(40)]), B)[0]
    np.testing.assert_allclose(found.parameters["w"], expected[:3], rtol=1e-2)


def test_a_gradient_that_is_given_is_used():
    fast = cr.compile(cr.value_and_grad(loss)) if find_spec("llvmlite") else cr.value_and_grad(loss)
    calls = []

    def counted(*args):
        calls.append(args)
        return fast(*args)

    start = {"w": np.zeros(3), "c": [np.zeros(())]}
    for begin in (start, {"w": np.ones(3), "c": [np.ones(())]}):
        found = learn.minimise(counted, begin, A, B, has_gradient=True, tolerance=1e-10)
        expected = learn.minimise(loss, begin, A, B, tolerance=1e-10)
        np.testing.assert_array_equal(found.parameters["w"], expected.parameters["w"])
        assert found.evaluations == expected.evaluations
    assert len(calls) >= found.evaluations


def test_iterations_are_bounded():
    found = learn.minimise(loss, {"w": np.zeros(3), "c": [np.zeros(())]}, A, B, iterations=2)
    assert found.iterations == 2
    assert not found.success
    assert "LIMIT" in found.message


def test_whole_numbers_are_refused():
    with pytest.raises(cr.DTypeError, match=r"minimise: parameters\['w'\] is int64"):
        learn.minimise(loss, {"w": np.arange(3), "c": [np.zeros(())]}, A, B)
    with pytest.raises(cr.ArgumentError, match="no parameters"):
        learn.minimise(loss, {})
