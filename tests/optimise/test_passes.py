"""Each pass on one small program: a golden text, the graph verified; and what no pass may touch."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.optimise.algebra import ALGEBRA
from chainrule.optimise.choices import CHOICES
from chainrule.optimise.fold import FOLD
from chainrule.optimise.layout import LAYOUT
from chainrule.optimise.passes import EXACT, optimised
from chainrule.optimise.pieces import PIECES
from chainrule.optimise.products import PRODUCTS
from chainrule.optimise.reassociate import REASSOCIATE
from chainrule.optimise.rewrite import one_number
from chainrule.record.specialise import GuardedTrace, specialised
from tests.agree.compare import flat_function
from tests.agree.programs import generate
from tests.agree.test_random_programs import blocks, named
from tests.optimise.examples import EXAMPLES
from tests.optimise.graphs import assert_same_bits, before_and_after, swept, traced, values

A, B = np.array([1.0, -2.0, 3.0]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


OUTSIDE, ONES = cr.variable(np.array([1.0, 2.0, 3.0])), cr.variable(np.ones(3))


def folded(x):
    table = np.exp(OUTSIDE) + 1
    large = np.broadcast_to(ONES, (1000, 1000, 3)) * 2
    return x * (table * table), np.sum(x) + np.log(large)


def equal_twice(x):
    y = np.sin(x) * x
    return y + x * np.sin(x), np.sum(x, axis=0) + np.sum(x, axis=0), x * 0.0, x * -0.0


def several_results(x):
    largest, vectors = np.linalg.eigh(x @ x.T)
    again, _ = np.linalg.eigh(x @ x.T)
    return largest + again, np.sum(np.sin(vectors)), x + np.arange(3.0)


def arithmetic(x):
    return -(0.5 * (-x * 1)) / 4 + -(x**2) - 0.0


def chosen(x):
    truth = np.logical_and(x == 0.0, np.isinf(x))
    return np.where(truth, 0.0, np.where(~truth, x, 1.0))


def seen(x):
    y = np.reshape(np.sum(x, axis=1), (2, 1))
    return np.broadcast_to(y, (2, 3)) * x + np.transpose(np.transpose(x))


def multiplied(x):
    return np.transpose(x.T @ np.transpose(2.0 * x.T)), np.transpose(x.T @ x)


def pieces(x):
    zeros = {"template": (slice(0, 1),), "shape": (2, 3)}
    rest = {"template": (1,), "shape": (2, 3)}
    return cr.OPS["embed"](x[:1], **zeros) + cr.OPS["embed"](x[1], **rest)


def rounded(x):
    return np.sum(x * 0.1 * 3.0 + 1.0 + 2.0) / 3.0


PASSES = {
    "fold": (folded, A, (FOLD,)),
    "share": (equal_twice, A, ()),
    "dead": (several_results, B, ()),
    "algebra": (arithmetic, A, ALGEBRA),
    "choices": (chosen, A, (FOLD, *CHOICES)),
    "layout": (seen, B, LAYOUT),
    "products": (multiplied, B, PRODUCTS),
    "pieces": (pieces, B, PIECES),
    "reassociate": (rounded, A, REASSOCIATE),
}


def recorded(f, *args, holds=lambda array: False):
    """As `cr.compile` records a call: arrays made inside are leaves of known value."""
    with np.errstate(all="ignore"):
        return specialised(f, args, {}, trace=GuardedTrace(holds))


@pytest.mark.parametrize("name", PASSES)
def test_golden(name):
    f, x, rewrites = PASSES[name]
    recording = recorded(f, x)
    graph = recording.graph
    if name == "dead":
        graph = replace(graph, outputs=graph.outputs[:1])
    shared = name in ("share", "dead")
    found = swept(graph, *rewrites, shared=shared, constants=recording.constants)
    text = before_and_after(graph, found)
    file = Path(__file__).with_name("golden") / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == file.read_text(encoding="utf-8")
    if name not in ("reassociate", "products"):
        assert_same_bits(values(found.graph, x), values(graph, x))


# -- random programs -------------------------------------------------------------------------------


def all_of(number):
    """A random program's value and gradient, recorded, and what becomes of it."""
    program = generate(number)
    f = cr.value_and_grad(flat_function(program))
    # Arrays of an odd size as if they came from outside: both kinds occur.
    recording = recorded(f, list(program.inputs), holds=lambda array: array.size % 2 == 1)
    guards = [g.node for g in recording.guards]
    found = optimised(recording.graph, guards, recording.constants)
    return program, recording, guards, found


@pytest.mark.parametrize("block", blocks(0, 60), ids=named)
def test_random_programs_to_the_bit(block):
    """Guards stay; no output changes, but where sums are added in another order."""
    for number in block:
        program, recording, guards, found = all_of(number)
        found.graph.verify()
        assert found.graph.leaves == recording.graph.leaves
        assert len(found.graph.outputs) == len(recording.graph.outputs) + len(guards)
        external = [n for n in recording.graph.captured if n in recording.external]
        assert [n for n in found.graph.captured if n not in found.constants] == external
        exact = not any(found.counts[n] for n in ("sum of one", "transposed product"))
        inputs = list(program.inputs)
        before = values(recording.graph, inputs)
        after = values(found.graph, inputs)[: len(before)]
        if exact:
            assert_same_bits(after, before, str(program))
        for a, b in zip(after, before, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_every_example_under_all_passes_together():
    x, y = np.array([1.0, -2.0, 0.0, 3.0, -0.0, 0.5]), np.array([2.0, 3.0, -1.0, 0.0, 4.0, 1.0])
    for functions in EXAMPLES.values():
        for f in functions:
            graph = traced(f, x, y)
            found = optimised(graph, (), {})
            found.graph.verify()
            for a, b in zip(values(found.graph, x, y), values(graph, x, y), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-14)


# -- what must stay --------------------------------------------------------------------------------


def test_a_rewritten_node_keeps_the_line_of_what_it_replaces():
    def f(x):
        y = -x
        return y * 0.3

    recording = recorded(f, A)
    found = swept(recording.graph, *EXACT)
    (node,) = [n for n in found.graph.nodes if not n.is_leaf]
    assert node.op.name == "multiply"
    assert "0.3" in node.line.text


def test_a_function_of_the_user_is_called_as_often_as_it_was():
    calls = []

    class Noted(cr.Function):
        @staticmethod
        def forward(ctx, x):
            calls.append(1)
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    def f(x):
        return Noted.apply(x) + Noted.apply(x)

    recording = recorded(f, A)
    found = optimised(recording.graph, (), recording.constants)
    assert [n.op.name for n in found.graph.nodes if not n.is_leaf] == ["Noted", "Noted", "add"]


def test_narrow_arrays_stay_narrow():
    x = A.astype(np.float32)
    recording = recorded(cr.grad(lambda x: np.mean((x / 4 * 0.3 - 1.0) ** 2)), x)
    for reassociate in (False, True):
        found = optimised(recording.graph, (), recording.constants, reassociate)
        found.graph.verify()
        assert {n.dtype.name for n in found.graph.nodes} == {"float32"}


def test_a_large_constant_is_not_made():
    found = all_constants(lambda x: np.sum(x) * np.exp(np.ones((2000, 2000))))
    assert all(v.base is None or v.strides == (0, 0) for v in found.constants.values())


def all_constants(f):
    recording = recorded(f, A)
    return optimised(recording.graph, (), recording.constants)


def test_one_number_is_told_by_its_bits():
    assert one_number(np.full(3, 2.0)) == 2.0
    assert one_number(np.array([0.0, -0.0])) is None
    assert np.isnan(one_number(np.full(2, np.nan)))
    assert one_number(np.empty((0, 2))) is None
    assert one_number(np.array([[1, 2], [3, 1]])) is None


def test_a_chain_of_many_nodes_in_one_walk():
    def f(x):
        for _ in range(20_000):
            x = x * 1.0 + -0.0
        return x

    graph = traced(f, 1.5)
    found = optimised(graph, (), {})
    assert len(found.graph) == 1
    assert found.counts == {"times one": 20_000, "plus nothing": 20_000}
