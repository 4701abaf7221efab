"""Rows 15 to 19: the worked example, shared intermediates, gates, the two classes of the notes."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.view.gates import gate_of
from chainrule.view.table import rows_of, table_text


def worked(x, y, z):
    q = x + y
    return q * z


def test_row_15_step_by_step():
    graph = cr.trace(worked, -2.0, 5.0, -4.0)
    run = graph.forward(-2.0, 5.0, -4.0).backward()
    rows = rows_of(run)
    assert [r.node for r in rows] == ["x", "y", "z", "q", "worked"]
    assert [r.value for r in rows] == ["-2", "5", "-4", "3", "-12"]
    assert [r.adjoint for r in rows] == ["-4", "-4", "3", "-4", "1"]
    assert rows[1].terms == "q: -4 × 1", "upstream gradient × local gradient"
    assert rows[3].terms == "worked: 1 × -4"
    assert "seed" in table_text(run)


def intermediates(x):
    a = x**2
    b = np.exp(a)
    c = a + b
    d = np.sqrt(c)
    e = np.cos(c)
    return d + e


def test_row_16_shared_intermediates_are_not_repeated():
    graph = cr.trace(intermediates, 0.8)
    assert [n.op.name for n in graph.nodes if not n.is_leaf] == [
        "power",
        "exp",
        "add",
        "sqrt",
        "cos",
        "add",
    ]
    a, c = graph.nodes[1], graph.nodes[3]
    assert len(graph.children(a)) == 2
    assert len(graph.children(c)) == 2


@pytest.mark.parametrize("x", [-1.1, 0.2, 0.8])
def test_row_16_gradient_agrees_with_the_closed_form(x):
    c, dc = x**2 + np.exp(x**2), 2 * x + 2 * x * np.exp(x**2)
    closed = dc * (0.5 / np.sqrt(c) - np.sin(c))
    np.testing.assert_allclose(cr.grad(intermediates)(x), closed, rtol=1e-13)


def test_row_17_gates():
    def f(x, y):
        return x + y, x * y, np.maximum(x, y), x

    assert [gate_of(cr.OPS[n]) for n in ("add", "multiply", "maximum")] == [
        "distributes",
        "swaps",
        "routes",
    ]
    _, pullback = cr.vjp(f, 3.0, 2.0)
    assert pullback((5.0, 0.0, 0.0, 0.0)) == (5.0, 5.0)  # add distributes
    assert pullback((0.0, 5.0, 0.0, 0.0)) == (10.0, 15.0)  # multiply swaps
    assert pullback((0.0, 0.0, 5.0, 0.0)) == (5.0, 0.0)  # max routes
    assert pullback((5.0, 0.0, 0.0, 7.0)) == (12.0, 5.0)  # a copy adds


def test_row_17_ties_at_max_share():
    assert cr.grad(np.maximum, (0, 1))(2.0, 2.0) == (0.5, 0.5)
    assert cr.grad(lambda x: np.maximum(x, 2.0))(2.0) == 0.0


def test_row_18_forward_then_backward_over_sorted_nodes():
    graph = cr.trace(worked, -2.0, 5.0, -4.0)
    run = graph.forward(1.0, 2.0, 3.0)
    assert run.outputs == 9.0
    run.backward()
    assert [run.adjoint(leaf) for leaf in graph.leaves] == [3.0, 3.0, 3.0]


class Multiply(cr.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved
        return g * y, g * x


def test_row_19_function_objects():
    x, y = cr.variable(3.0), cr.variable(4.0)
    z = Multiply.apply(x, y)
    z.backward()
    assert (z.value, x.grad, y.grad) == (12.0, 4.0, 3.0)
    assert cr.jvp(Multiply.apply, (3.0, 4.0), (1.0, 10.0))[1] == 34.0
    assert cr.grad(cr.grad(lambda x: Multiply.apply(x, Multiply.apply(x, x))))(2.0) == 12.0
