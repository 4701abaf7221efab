"""Rows 8, 9 and 11: the formal graph, its two passes, local versus global functions."""

import numpy as np
import pytest

import chainrule as cr

EDGES = [(1, 3), (2, 3), (2, 4), (3, 4)]
FUNCTIONS = {3: lambda u1, u2: u1 + u2, 4: lambda u2, u3: u2 * u3}


def test_row_8_the_example_of_the_notes():
    graph = cr.Graph.define([1, 1, 1, 1], EDGES, FUNCTIONS)
    run = graph.forward(2, 3).backward()
    assert run.value(4) == 15.0
    assert (run.adjoint(1), run.adjoint(2)) == (3.0, 8.0)
    assert len(graph) == 4
    assert len(graph.leaves) == 2
    assert [(p.name, c.name) for p, c in graph.edges] == EDGES


def test_row_9_given_jacobians_are_used():
    jacobians = {(2, 4): lambda u2, u3: [[u3]], (3, 4): lambda u2, u3: [[u2]], (1, 3): [[1.0]]}
    run = cr.Graph.define([1, 1, 1, 1], EDGES, FUNCTIONS, jacobians).forward(2, 3).backward()
    assert (run.adjoint(1), run.adjoint(2), run.adjoint(3)) == (3.0, 8.0, 3.0)
    wrong = {(3, 4): lambda u2, u3: [[10.0]]}
    run = cr.Graph.define([1, 1, 1, 1], EDGES, FUNCTIONS, wrong).forward(2, 3).backward()
    assert run.adjoint(1) == 10.0


@pytest.mark.parametrize("given", [False, True])
def test_row_9_vector_vertices(given):
    """p^j = Σ p^i J^{j→i} with d = (2, 3, 2, 1)."""
    A = np.array([[1.0, 2.0], [3.0, 4.0]])
    B = np.array([[1.0, 0.0, -1.0], [2.0, 1.0, 0.5]])
    functions = {
        3: lambda u, v: np.tanh(A @ u + B @ v),
        4: lambda v, w: np.sum(v) * w[0] + w[1] ** 2,
    }
    edges = [(1, 3), (2, 3), (2, 4), (3, 4)]

    def outer(u, v):
        return 1 - np.tanh(A @ u + B @ v) ** 2

    jacobians = {
        (1, 3): lambda u, v: outer(u, v)[:, None] * A,
        (2, 3): lambda u, v: outer(u, v)[:, None] * B,
    }
    graph = cr.Graph.define([2, 3, 2, 1], edges, functions, jacobians if given else None)
    u, v = np.array([0.1, -0.2]), np.array([0.3, 0.1, -0.4])
    run = graph.forward(u, v).backward()
    w = np.tanh(A @ u + B @ v)
    p3 = np.array([np.sum(v), 2 * w[1]])
    np.testing.assert_allclose(run.adjoint(3), p3, rtol=1e-14)
    np.testing.assert_allclose(run.adjoint(1), p3 @ (outer(u, v)[:, None] * A), rtol=1e-13)
    np.testing.assert_allclose(run.adjoint(2), w[0] + p3 @ (outer(u, v)[:, None] * B), rtol=1e-13)
    assert run.local_jacobian(2, 3).shape == (2, 3)


def test_row_11_local_versus_global():
    """J^{2→4} is ∂f⁴/∂u² = u³; the global derivative of u⁴ also goes through u³."""
    run = cr.Graph.define([1, 1, 1, 1], EDGES, FUNCTIONS).forward(2, 3).backward()
    assert run.local_jacobian(2, 4) == [[5.0]]
    assert run.adjoint(2) == 8.0
    globally = cr.jacobian(lambda u1, u2: u2 * (u1 + u2), 1)(2.0, 3.0)
    assert globally == 8.0


@pytest.mark.parametrize(
    ("edges", "functions", "says"),
    [
        ([(3, 1), (2, 3), (2, 4), (3, 4)], FUNCTIONS, "smaller number to a larger"),
        ([(1, 3), (2, 3), (2, 4), (3, 9)], FUNCTIONS, "numbered 1 to 4"),
        ([(1, 2), (2, 4), (3, 4)], {2: abs, 4: max}, "leaves come first"),
        (EDGES, {3: FUNCTIONS[3]}, r"missing for \[4\]"),
    ],
)
def test_a_malformed_definition_says_what_is_wrong(edges, functions, says):
    with pytest.raises(cr.GraphError, match=says):
        cr.Graph.define([1, 1, 1, 1], edges, functions)


def test_a_function_of_the_wrong_dimension_is_named():
    graph = cr.Graph.define([2, 3], [(1, 2)], {2: lambda u: u})
    with pytest.raises(cr.ShapeError, match=r"f\^2 returned 2 numbers; vertex 2 has dimension 3"):
        graph.forward([1.0, 2.0])
