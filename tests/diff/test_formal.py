"""Graph.define beyond the notes: dimensions, given Jacobians, forward mode, malformed input."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.diff.forward import forward
from chainrule.diff.reverse import reverse_masked

EDGES = [(1, 3), (2, 3), (2, 4), (3, 4)]
B = np.array([[1.0, 0.0, -1.0], [2.0, 1.0, 0.5]])
FUNCTIONS = {3: lambda u, v: u * (B @ v), 4: lambda v, w: w[0] * w[1] + np.sum(v**2)}
DIMS = [2, 3, 2, 1]
u, v = np.array([0.1, -0.2]), np.array([0.3, 0.1, -0.4])


def composed(u, v):
    return FUNCTIONS[4](v, FUNCTIONS[3](u, v))


@pytest.mark.parametrize(
    "jacobians",
    [
        None,
        {(1, 3): lambda u, v: np.diag(B @ v)},
        {(2, 3): lambda u, v: u[:, None] * B, (3, 4): lambda v, w: [[w[1], w[0]]]},
        {(3, 4): lambda v, w: np.array([w[1], w[0]])},  # of a scalar vertex, the row is enough
    ],
)
def test_forward_and_reverse_agree_with_the_composed_function(jacobians):
    graph = cr.Graph.define(dict(enumerate(DIMS, 1)), reversed(EDGES * 2), FUNCTIONS, jacobians)
    run = graph.forward(u, v).backward()
    expected = cr.grad(composed, (0, 1))(u, v)
    np.testing.assert_allclose(run.adjoint(1), expected[0], rtol=1e-14)
    np.testing.assert_allclose(run.adjoint(2), expected[1], rtol=1e-14)
    t, s = np.array([1.0, -2.0]), np.array([0.5, 1.0, 3.0])
    pushed = forward(graph.nodes, dict(zip(graph.leaves, (t, s), strict=True)), run.bound)
    tangent = cr.jvp(composed, (u, v), (t, s))[1]
    np.testing.assert_allclose(pushed[graph.outputs[0]], tangent, rtol=1e-14)


def test_a_vector_output_takes_a_seed():
    graph = cr.Graph.define([2, 2], [(1, 2)], {2: np.sin})
    run = graph.forward(u)
    with pytest.raises(cr.ShapeError, match="needs a seed"):
        run.backward()
    np.testing.assert_allclose(run.backward([1.0, 10.0]).adjoint(1), np.cos(u) * [1.0, 10.0])


def test_vertices_the_output_does_not_depend_on():
    graph = cr.Graph.define([1, 1, 1, 1], [(1, 3), (1, 4)], {3: np.sin, 4: np.cos})
    run = graph.forward(1.0, 2.0).backward()
    assert [run.status(i) for i in (1, 2, 3, 4)] == ["value", "no path", "no path", "value"]
    assert (run.adjoint(2), run.adjoint(3)) == (0.0, 0.0)
    assert run.value(3) == np.sin(1.0)


def test_functions_may_branch_on_values():
    graph = cr.Graph.define([1, 1], [(1, 2)], {2: lambda x: x**2 if x > 0 else -x})
    assert [graph.forward(x).backward().adjoint(1) for x in (3.0, -3.0)] == [6.0, -1.0]


def test_the_passes_walk_the_vertices_in_their_order():
    graph = cr.Graph.define(DIMS, EDGES, FUNCTIONS)
    assert [n.name for n in graph.nodes] == [1, 2, 3, 4]
    assert [[n.name for n in level] for level in graph.levels()] == [[1, 2], [3], [4]]
    run = graph.forward(u, v)
    adjoints = reverse_masked(graph.nodes, {graph.outputs[0]: np.float64(1)}, run.bound)
    assert set(adjoints) == set(graph.leaves)


def test_mistakes_are_named():
    D = cr.Graph.define
    summed = D([2, 1], [(1, 2)], {2: np.sum})
    with pytest.raises(cr.GraphError, match=r"not needed for \[1\]"):
        D([1, 1], [(1, 2)], {1: np.cos, 2: np.sin})
    with pytest.raises(cr.GraphError, match=r"\(1, 3\), which is not an edge"):
        D([1, 1, 1], [(1, 2), (2, 3)], {2: np.sin, 3: np.cos}, {(1, 3): 1.0})
    with pytest.raises(cr.ShapeError, match=r"edge \(1, 2\) must be 1 × 2"):
        D([2, 1], [(1, 2)], {2: np.sum}, {(1, 2): [[1.0]]}).forward(u).backward()
    with pytest.raises(cr.ShapeError, match=r"leaf 1 .*\(2,\), got \(3,\)"):
        summed.forward(v)
    with pytest.raises(cr.ArgumentError, match="1 leaves, got 2"):
        summed.forward(u, 1.0)
    with pytest.raises(cr.ArgumentError, match=r"f2 failed[\s\S]*lambda x"):
        D([1, 1], [(1, 2)], {2: lambda x: x["a"]}).forward(1.0)
    with pytest.raises(cr.SerialisationError, match="f2 is a function of yours"):
        summed.to_json()


@pytest.mark.parametrize(
    "define",
    [
        lambda D: D([], [], {}),
        lambda D: D([-1, 1], [(1, 2)], {2: np.sum}),
        lambda D: D([1.5, 1], [(1, 2)], {2: np.sum}),
        lambda D: D({1: 1, 3: 1}, [(1, 3)], {3: np.sin}),
        lambda D: D([1, 1], [(1, 2, 3)], {2: np.sin}),
        lambda D: D([1, 1], ["ab"], {2: np.sin}),
    ],
)
def test_malformed_dimensions_and_edges_are_named(define):
    with pytest.raises(cr.GraphError):
        define(cr.Graph.define)


def test_a_transposed_jacobian_is_refused():
    graph = cr.Graph.define([3, 2], [(1, 2)], {2: lambda v: B @ v}, {(1, 2): B.T})
    with pytest.raises(cr.ShapeError, match=r"edge \(1, 2\) must be 2 × 3"):
        graph.forward(v).backward([1.0, 1.0])
