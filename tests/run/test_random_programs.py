"""Random programs compiled: value and derivatives as interpreted, also in the smallest tiles."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.containers import flatten
from chainrule.lower import build
from chainrule.lower.plan import stream
from chainrule.lower.target import Target, host
from chainrule.run.program import Workspace
from tests.agree.compiled import assert_agrees, program_derivative
from tests.agree.programs import generate
from tests.agree.report import twice
from tests.agree.test_random_programs import blocks, named
from tests.sweeps import sampled

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


@pytest.mark.parametrize("block", sampled(blocks(0, FEW), 2), ids=named)
def test_in_the_smallest_tiles(block, monkeypatch):
    monkeypatch.setattr(stream, "MIN_TILE_ROWS", 2)
    monkeypatch.setattr(stream, "MIN_SAVED_BYTES", 0)
    monkeypatch.setattr(build, "host", lambda: Target(host().registers, cache_bytes=64))
    assert_compiles(block)


@pytest.mark.parametrize("block", [range(k, FEW, 20) for k in range(4)], ids=named)
def test_second_derivatives(block):
    assert_compiles(block, 2)


def test_third_derivatives():
    assert_compiles(range(0, FEW, 50), 3)


def assert_all_is_written(block: range, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stood in the memory of a program before, its results have the same bits."""
    made = Workspace.__init__
    for number in block:
        program = generate(number)
        if not twice(program):
            continue
        results = []
        for fill in (0, 255):

            def filled(space, *args, fill=fill):
                made(space, *args)
                space.arena[:] = fill

            monkeypatch.setattr(Workspace, "__init__", filled)
            fast = cr.compile(program_derivative(program, order))
            results += [flatten(fast(list(program.inputs)))[0]]
        for a, b in zip(*results, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=str(program))


@pytest.mark.parametrize("block", [range(k, FEW, 25) for k in range(4)], ids=named)
def test_nothing_is_read_before_it_is_written(block, monkeypatch):
    assert_all_is_written(block, 2, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(0, ALL), ids=named)
def test_in_no_program_is_anything_read_before_it_is_written(block, monkeypatch):
    assert_all_is_written(block, 2, monkeypatch)


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
