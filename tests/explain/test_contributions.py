"""What each use of an input adds: per edge, per line, per op, each time summing to the total."""

import numpy as np
import pytest

import chainrule as cr
from tests.explain.random_graphs import array_program, scalar_program

W = np.array([[0.2, -0.1, 0.4, 0.3], [0.1, 0.6, -0.3, 0.5], [-0.2, 0.3, 0.1, -0.4]])
b, x = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.5, -1.0, 2.0])


def regularised(W, b, x):
    z = W @ x + b
    q = cr.log_softmax(z)
    nll = -q[1]
    r = np.sum(W**2)
    return nll + 0.1 * r


def test_a_loss_and_its_regulariser():
    """Row 21: W has two children, and the gradient is the sum of what both add."""
    explanation = cr.explain(regularised, W, b, x, wrt="W")
    loss, penalty = explanation.contributions.lines
    assert loss.line.text == "z = W @ x + b"
    assert penalty.line.text == "r = np.sum(W**2)"
    np.testing.assert_allclose(penalty.value, 0.2 * W)
    np.testing.assert_allclose(loss.value + penalty.value, explanation.total)
    assert round(loss.norm, 3) == 1.014
    assert round(penalty.norm, 3) == 0.229
    assert loss.share + penalty.share == pytest.approx(1.0)
    at = explanation.at(1, 3)
    assert [round(c.amount, 3) for c in at.contributions.lines] == [-0.636, 0.1]
    assert round(float(at.value), 3) == -0.536


def test_contributions_of_random_programs_sum_to_the_total():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        numbers = cr.explain(scalar_program(rng), *rng.uniform(-1, 1, 3), top=0)
        arrays = cr.explain(array_program(rng), rng.normal(size=3), rng.normal(size=(3, 3)), top=0)
        for explanation in (numbers, arrays):
            parts = explanation.contributions
            for group in (parts.edges, parts.lines, parts.ops):
                total = sum(c.value for c in group)
                np.testing.assert_allclose(total, explanation.total, rtol=1e-9, atol=1e-12)
                assert [c.norm for c in group] == sorted((c.norm for c in group), reverse=True)


def test_each_edge_is_what_the_run_says():
    """Row 2: D_f is the sum of what g and h add, contribution by contribution."""

    def loss(x, y):
        f = x * y
        g = np.sin(x) + f**2
        h = f * np.exp(y)
        return g * h

    graph = cr.trace(loss, 0.7, 0.4)
    f = next(n for n in graph.nodes if n.line is not None and n.line.text == "f = x * y")
    explanation = cr.explain(graph, 0.7, 0.4, wrt=f)
    run = explanation.run
    assert len(explanation.contributions.edges) == 2
    for edge in explanation.contributions.edges:
        assert edge.amount == run.contribution(f, edge.children[0])
    assert sum(c.amount for c in explanation.contributions.edges) == pytest.approx(run.adjoint(f))
    assert [c.op for c in explanation.contributions.ops] == ["multiply", "power"]


def test_uses_on_one_line_are_one_contribution():
    def f(x):
        a = np.sin(x) * np.sin(x) + x
        return a + np.sin(x)

    parts = cr.explain(f, 0.3).contributions
    assert [len(c.children) for c in parts.lines] == [3, 1]
    assert {c.op: len(c.children) for c in parts.ops} == {"sin": 3, "add": 1}
    assert len(parts.edges) == 4


def test_gains_name_the_line_that_makes_the_gradient_large():
    def f(x):
        a = x * 0.5
        b = np.exp(10.0 * a)
        c = b * 2.0
        return np.log(c + 1e6)

    explanation = cr.explain(f, 2.0)
    assert explanation.gains[0].line.text == "b = np.exp(10.0 * a)"
    assert explanation.gains[0].factor == pytest.approx(10.0 * np.exp(10.0))
    assert np.prod([g.factor for g in explanation.gains]) == pytest.approx(explanation.total)
