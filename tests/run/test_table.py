"""Every op in the table compiled: value, gradient and gradient of the gradient as interpreted."""

from typing import Any

import numpy as np
import pytest

import chainrule as cr
from tests.ops.table import case_of, directions

pytest.importorskip("llvmlite")

CASES = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op in cr.OPS.values()
    for i, sample in enumerate((*op.samples(), *(op.edges() if op.edges else ())))
]


def tolerance(dtype: Any) -> float:
    return 1e-5 if np.dtype(dtype).itemsize <= (8 if np.dtype(dtype).kind == "c" else 4) else 1e-12


def assert_agrees(found: Any, expected: Any) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    near = tolerance(expected.dtype) if expected.dtype.kind in "fc" else 0.0
    scale = (
        np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        if expected.dtype.kind in "fc"
        else 0
    )
    np.testing.assert_allclose(found, expected, rtol=near, atol=near * scale + 1e-15)


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_value(op, sample):
    case = case_of(op, sample)
    if not case.places:
        pytest.skip("no floating-point input")

    def f(*arrays: Any) -> Any:
        args = list(sample.args)
        for i, a in zip(case.places, arrays, strict=True):
            args[i] = a
        out = op(*args, **sample.attrs)
        return tuple(out) if isinstance(out, (list, tuple)) else out

    with np.errstate(all="ignore"):
        expected = f(*case.point)
        found = cr.compile(f)(*case.point)
    several = isinstance(expected, tuple)
    for a, b in zip(
        found if several else [found], expected if several else [expected], strict=True
    ):
        assert_agrees(a, b)


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_gradient(op, sample):
    case = case_of(op, sample)
    if not case.places or not case(*case.point):
        pytest.skip("no floating-point input, or no floating-point result")
    seeds = tuple(directions([np.asarray(o) for o in case(*case.point)], 1))

    def gradient(*arrays: Any) -> Any:
        return cr.vjp(case, *arrays)[1](seeds)

    with np.errstate(all="ignore"):
        try:
            expected = gradient(*case.point)
        except cr.ChainruleError as error:
            pytest.skip(str(error))
        found = cr.compile(gradient)(*case.point)
    for a, b in zip(found, expected, strict=True):
        assert_agrees(a, b)
