"""Random programs compiled: value and gradient as interpreted, also cut into the smallest tiles."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.lower import stream
from tests.agree.compare import flat_function
from tests.agree.programs import generate
from tests.agree.test_random_programs import blocks, named

pytest.importorskip("llvmlite")

FEW, ALL = 100, 2000


def assert_compiles(number: int) -> None:
    program = generate(number)
    gradient = cr.value_and_grad(flat_function(program))
    inputs = list(program.inputs)
    with np.errstate(all="ignore"):
        value, expected = gradient(inputs)
        found_value, found = cr.compile(gradient)(inputs)
    size = max(1.0, *(float(np.abs(g).max(initial=0.0)) for g in expected))
    np.testing.assert_allclose(found_value, value, rtol=1e-10, err_msg=str(program))
    for a, b in zip(found, expected, strict=True):
        wide = np.asarray(b).dtype.itemsize >= 8
        near = 1e-10 if wide else 1e-4
        np.testing.assert_allclose(a, b, rtol=near, atol=near * size, err_msg=str(program))


@pytest.mark.parametrize("block", blocks(0, FEW), ids=named)
def test_compiled_as_interpreted(block):
    for number in block:
        assert_compiles(number)


@pytest.mark.parametrize("block", blocks(0, FEW), ids=named)
def test_in_the_smallest_tiles(block, monkeypatch):
    monkeypatch.setattr(stream, "LEAST_ROWS", 2)
    monkeypatch.setattr(stream, "WORTH", 0)
    monkeypatch.setattr(stream, "CACHE", 64)
    for number in block:
        assert_compiles(number)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(FEW, ALL), ids=named)
def test_all_compiled_as_interpreted(block):
    for number in block:
        assert_compiles(number)
