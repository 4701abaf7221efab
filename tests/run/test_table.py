"""Every op in the table compiled: value and derivatives up to the third as interpreted."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

import chainrule as cr
from tests.agree.compiled import assert_agrees, derivative
from tests.ops.table import case_of
from tests.sweeps import on_every_sample, sampled

pytest.importorskip("llvmlite")

SAMPLES = {op: (*op.samples(), *(op.edges() if op.edges else ())) for op in cr.OPS.values()}
CASES = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op, samples in SAMPLES.items()
    for i, sample in enumerate(samples)
]
WRITING = {
    f"numpy_{name}"
    for name in ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
}
FOLLOWS_MEMORY = ("A", "K")  # an order for which a compiled function runs as plain Python
SOME = sampled(CASES, 8, lambda op, sample: op.name)
FIRST = [pytest.param(op, samples[0], id=op.name) for op, samples in SAMPLES.items() if samples]


@on_every_sample(sampled(CASES, 3))
def test_value(op, sample):
    case = case_of(op, sample)
    if not case.places:
        pytest.skip("no floating-point input")

    def f(*arrays: Any) -> Any:
        args = list(sample.args)
        for i, a in zip(case.places, arrays, strict=True):
            # What NumPy writes into is the function's own: its argument is the caller's.
            args[i] = np.copy(a) if op.name in WRITING else a
        out = op(*args, **sample.attrs)
        return tuple(out) if isinstance(out, (list, tuple)) else out

    with warned_of(op, sample):
        assert_agrees(f, *case.point)


def warned_of(op: Any, sample: Any) -> AbstractContextManager[Any]:
    """A compiled function does not know how its arguments lie in memory, and says so."""
    if op.name in ("numpy_reshape", "ravel") and sample.attrs.get("order") in FOLLOWS_MEMORY:
        return pytest.warns(RuntimeWarning, match="asks in which order an array lies in memory")
    return nullcontext()


def assert_derivative_agrees(op: Any, sample: Any, order: int) -> None:
    case = case_of(op, sample)
    try:
        f = derivative(case, order)
        if f is None:
            pytest.skip("no floating-point input, or no floating-point result")
        f(*case.point)
    except cr.ChainruleError as error:
        pytest.skip(str(error))
    with warned_of(op, sample):
        assert_agrees(f, *case.point)


@on_every_sample(SOME)
def test_gradient(op, sample):
    assert_derivative_agrees(op, sample, 1)


@on_every_sample(sampled(FIRST, 2))
def test_second_derivative(op, sample):
    assert_derivative_agrees(op, sample, 2)


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize(("op", "sample"), CASES)
def test_all_higher_derivatives(op, sample, order):
    assert_derivative_agrees(op, sample, order)
