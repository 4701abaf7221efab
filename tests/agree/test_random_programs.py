"""Random programs: reverse mode, forward mode, the traced graph, PyTorch, JAX and differences agree."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.special

import chainrule as cr
from chainrule.core.op import OPS, Partials
from chainrule.record.protocol import ufunc_makers
from tests.agree.compare import examined, second_order
from tests.agree.peers import applicable, difference, peer
from tests.agree.programs import generate, random_structure, unpacked
from tests.agree.report import Tally, as_json, page, twice
from tests.agree.table import TABLE

FEW, ALL = 150, 2000
PER_TEST = 10


def blocks(first: int, last: int) -> list[range]:
    """Programs in tests of ten: one test each would cost more than the programs do."""
    return [range(k, min(k + PER_TEST, last)) for k in range(first, last, PER_TEST)]


def named(block: range) -> str:
    return f"{block.start}-{block.stop - 1}"


def assert_agrees(number: int, peers: tuple[str, ...]) -> None:
    program = generate(number)
    checks, judges = examined(program, peers)
    wrong = [check for check in checks if not check.agrees]
    assert not wrong, f"program {number}, judged by {judges}: {wrong}\n{program}"


# JAX compiles each program for seconds, so only a few of the quick tests ask it.
@pytest.mark.parametrize("block", blocks(0, FEW), ids=named)
def test_agrees_with_torch_or_differences(block):
    for number in block:
        assert_agrees(number, ("torch",))


@pytest.mark.parametrize("number", range(3))
def test_agrees_with_jax(number):
    if peer("jax") is None:
        pytest.skip("JAX is not installed; differences judge these programs above")
    program = next(p for p in map(generate, range(40 * number, 999)) if applicable(p, "jax"))
    assert len(program.steps) >= 10
    assert_agrees(program.number, ("jax",))


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(FEW, ALL), ids=named)
def test_all_agree(block):
    for number in block:
        assert_agrees(number, ("torch", "jax"))


@pytest.mark.parametrize("block", [range(k, FEW, 30) for k in range(5)], ids=named)
def test_second_derivatives_agree(block):
    for number in block:
        program = generate(number)
        if not twice(program):
            continue
        wrong = [check for check in second_order(program) if not check.agrees]
        assert not wrong, f"program {number}: {wrong}\n{program}"


# -- what the programs have found ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["expit", "log1p", "expm1", "cbrt", "exp2"])
def test_a_function_of_scipy_gives_the_same_bits_each_time(name):
    """The first call went to the op's own function, later ones to SciPy's of the same name."""
    x = cr.variable(np.linspace(0.1, 0.9, 1000))
    function = getattr(scipy.special, name)
    first, second = function(x), function(x)
    np.testing.assert_array_equal(first.value, second.value)
    graph = cr.trace(function, x.value)
    np.testing.assert_array_equal(graph.forward(x.value).outputs, second.value)


@pytest.mark.parametrize(
    "f", [lambda x: (x // 2.0) * x, lambda x: (2.0 // x) * x, lambda x: (x // x) * x]
)
def test_second_derivative_through_the_floor_division_operator(f):
    """The second use of `//` takes the operator's short path, which named parents of a zero rule."""
    assert [float(cr.grad(cr.grad(f))(3.3)) for _ in range(3)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("shape", [(1,), (1, 1), (2, 1)])
def test_a_graph_with_unravel_index_is_sound(shape):
    """Its spec was tried on the index 1, which an axis of one element does not have."""
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    cr.trace(lambda x: x[np.unravel_index(np.argmax(x), x.shape)], x).verify()


# -- the generator ---------------------------------------------------------------------------------


def test_a_program_is_always_the_same():
    assert str(generate(7)) == str(generate(7))
    assert str(generate(7)) != str(generate(8))


def test_programs_are_of_the_promised_length_and_shapes():
    programs = [generate(k) for k in range(60)]
    assert all(10 <= len(p.steps) <= 60 for p in programs)
    assert {x.ndim for p in programs for x in p.inputs} >= {0, 1, 2, 3}
    assert max(x.size for p in programs for x in p.inputs) <= 130
    assert any(not isinstance(s, int) for p in programs for s in p.structure), (
        "containers as inputs"
    )


def test_every_entry_is_the_first_of_some_program():
    names = list(TABLE)
    assert len(names) > 300
    for number in range(0, len(names), 17):
        assert names[number] in {step.entry.name for step in generate(number).steps}


def test_structures_hold_every_input_once():
    rng = np.random.default_rng(0)
    for count in range(1, 9):
        structure = random_structure(rng, count)
        assert unpacked(structure, structure, count) == list(range(count))


def test_differences_find_a_derivative_and_their_own_error():
    found, error = difference(lambda xs: np.sin(xs[0]), [0.3], [2.0])
    assert abs(found - 2 * np.cos(0.3)) < 1e-10
    assert error < 1e-8
    assert difference(lambda xs: np.sign(xs[0] - 1e-6), [0.0], [1.0])[1] > 1


# -- the judges bite -------------------------------------------------------------------------------


@contextmanager
def slope_of_sin(factor: float) -> Iterator[None]:
    """The derivative of sin multiplied by a number."""
    sin = OPS["sin"]
    right, rules, quick = sin.derivative, dict(sin.rules), dict(ufunc_makers)

    def install(derivative: Any, made: dict[Any, Any]) -> None:
        object.__setattr__(sin, "derivative", derivative)
        sin.rules.clear()
        sin.rules.update(made)
        ufunc_makers.clear()

    install(Partials((lambda x: factor * np.cos(x),)), {})
    try:
        yield
    finally:
        install(right, rules)
        ufunc_makers.update(quick)


@pytest.mark.parametrize(("peers", "slip"), [(("torch",), 1e-7), ((), 1e-4)])
def test_a_wrong_rule_is_noticed(peers, slip):
    if peers and peer("torch") is None:
        pytest.skip("PyTorch is not installed")
    program = next(
        p
        for p in map(generate, range(200))
        if p.steps[0].entry.name == "sin" and twice(p) and all(applicable(p, j) for j in peers)
    )
    assert all(check.agrees for check in examined(program, peers)[0])
    with slope_of_sin(1 + slip):
        checks, _ = examined(program, peers)
    assert [check for check in checks if not check.agrees]


def test_a_run_is_described_without_paths():
    tally = Tally()
    program = generate(3)
    tally.add(program, *examined(program, ()))
    result = as_json(tally, 1)
    assert result["programs"] == 1
    assert "/" not in json.dumps(result), "no paths"
    assert "Disagreements: 0" in page(result)
