"""Random programs compiled: value and derivatives as interpreted, also in the smallest tiles."""

import pytest

from chainrule.lower import stream
from tests.agree.compiled import assert_agrees, program_derivative
from tests.agree.programs import generate
from tests.agree.report import twice
from tests.agree.test_random_programs import blocks, named

pytest.importorskip("llvmlite")

FEW, ALL = 100, 2000


def assert_compiles(block: range, order: int = 1) -> None:
    for number in block:
        program = generate(number)
        if order == 1 or twice(program):
            assert_agrees(program_derivative(program, order), list(program.inputs), says=program)


@pytest.mark.parametrize("block", blocks(0, FEW), ids=named)
def test_compiled_as_interpreted(block):
    assert_compiles(block)


@pytest.mark.parametrize("block", blocks(0, FEW), ids=named)
def test_in_the_smallest_tiles(block, monkeypatch):
    monkeypatch.setattr(stream, "LEAST_ROWS", 2)
    monkeypatch.setattr(stream, "WORTH", 0)
    monkeypatch.setattr(stream, "CACHE", 64)
    assert_compiles(block)


@pytest.mark.parametrize("block", [range(k, FEW, 20) for k in range(4)], ids=named)
def test_second_derivatives(block):
    assert_compiles(block, 2)


def test_third_derivatives():
    assert_compiles(range(0, FEW, 50), 3)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(FEW, ALL), ids=named)
def test_all_compiled_as_interpreted(block):
    assert_compiles(block)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(0, ALL), ids=named)
def test_all_second_derivatives(block):
    assert_compiles(block, 2)


@pytest.mark.slow
@pytest.mark.parametrize("block", [range(k, ALL, 100) for k in range(10)], ids=named)
def test_third_derivatives_of_every_tenth(block):
    assert_compiles(block, 3)
