"""Rows 23 to 25: chains of any length, arrays of any rank, the data-driven passes."""

import numpy as np
import pytest

import chainrule as cr


@pytest.mark.parametrize("n", [1, 10, 1000, 10**6])
def test_row_23_chain_of_n_functions(n):
    def chain(x):
        for _ in range(n):
            x = x * 1.000001
        return x

    value, gradient = cr.value_and_grad(chain)(2.0)
    np.testing.assert_allclose(gradient, 1.000001**n, rtol=1e-9)
    np.testing.assert_allclose(value, 2 * gradient, rtol=1e-12)


def test_row_23_values_recorded_then_local_derivatives_aggregated_from_the_end():
    graph = cr.trace(lambda x: np.sin(np.exp(x**2)), 0.5)
    run = graph.forward(0.5).backward()
    product = 1.0
    for parent, child in reversed(graph.edges):
        product *= run.local_jacobian(parent, child)[0, 0]
        np.testing.assert_allclose(run.adjoint(parent), product, rtol=1e-15)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2), (1, 2, 3, 2)])
def test_row_24_gradient_times_jacobian_summed_over_children(shape):
    x = np.random.default_rng(1).uniform(0.5, 1.5, shape)
    graph = cr.trace(lambda x: np.sum(np.sin(x) * x), x)
    run = graph.forward(x).backward()
    leaf = graph.leaves[0]
    total = np.zeros(x.size)
    for child in graph.children(leaf):
        total += np.reshape(run.adjoint(child), -1) @ run.local_jacobian(leaf, child)
    np.testing.assert_allclose(np.reshape(run.adjoint(leaf), -1), total, rtol=1e-14)
    np.testing.assert_allclose(run.adjoint(leaf), np.cos(x) * x + np.sin(x), rtol=1e-14)


def diamond(x, y):
    a = x * y
    b = np.sin(a) + y
    c = a * b
    return c - np.exp(b)


def test_row_25_forward_once_all_parents_are_computed():
    graph = cr.trace(diamond, 0.3, 0.7)
    computed = set()
    for node in graph.order("kahn"):
        assert node not in computed, "each node once"
        assert set(graph.parents(node)) <= computed
        computed.add(node)
    assert computed == set(graph.nodes)


def test_row_25_backward_once_all_childrens_gradients_are_computed():
    """The data-driven pass, written out on the public face, gives what the sorted pass gives."""
    graph = cr.trace(diamond, 0.3, 0.7)
    run = graph.forward(0.3, 0.7).backward()
    missing = {node: len(graph.children(node)) for node in graph.nodes}
    adjoint = dict.fromkeys(graph.nodes, 0.0)
    adjoint[graph.outputs[0]] = 1.0
    ready, finished = [graph.outputs[0]], []
    while ready:
        node = ready.pop()
        finished.append(node)
        for parent in graph.parents(node):
            adjoint[parent] += adjoint[node] * run.local_jacobian(parent, node)[0, 0]
            missing[parent] -= 1
            if missing[parent] == 0:
                ready.append(parent)
    assert sorted(map(graph.index.get, finished)) == list(range(len(graph)))
    for node in graph.nodes:
        np.testing.assert_allclose(adjoint[node], run.adjoint(node), rtol=1e-15)


def test_row_25_steps_of_the_data_driven_order():
    graph = cr.trace(diamond, 0.3, 0.7)
    depends = {node: graph.parents(node) for node in graph.nodes}
    steps = list(cr.topological_sort(depends, method="kahn", steps=True))
    assert {s.kind for s in steps} == {"ready", "placed", "released"}
    assert [s.node for s in steps if s.kind == "placed"] == cr.topological_sort(
        depends, method="kahn"
    )
