"""Row 7: recursion from the output double-counts a shared node; topological order does not."""

import numpy as np

import chainrule as cr


def shared(x):
    w = x * x
    u1 = 3.0 * w
    u2 = np.sin(w)
    return u1 * u2


def naive_recursion(run, output):
    """The textbook mistake: every visit of a node passes on all the node has so far."""
    graph = run.graph
    grad = dict.fromkeys(graph.nodes, 0.0)
    visits = dict.fromkeys(graph.nodes, 0)
    grad[output] = 1.0
    pending = [output]
    while pending:
        node = pending.pop()
        visits[node] += 1
        for parent in graph.parents(node):
            grad[parent] += grad[node] * run.local_jacobian(parent, node)[0, 0]
            pending.append(parent)
    return grad, visits


def test_recursion_double_counts_and_the_sorted_order_does_not():
    graph = cr.trace(shared, 1.3)
    run = graph.forward(1.3).backward()
    x, w = graph.leaves[0], graph.nodes[1]
    wrong, visits = naive_recursion(run, graph.outputs[0])
    closed = 2 * 1.3 * (3 * np.sin(1.69) + 3 * 1.69 * np.cos(1.69))
    assert visits[w] == 2
    assert abs(wrong[x] - closed) > 1.0
    np.testing.assert_allclose(run.adjoint(x), closed, rtol=1e-14)


def test_reverse_order_visits_each_node_after_all_of_its_users():
    graph = cr.trace(shared, 1.3)
    for method in ("dfs", "kahn"):
        backward = graph.order(method)[::-1]
        place = {node: i for i, node in enumerate(backward)}
        assert len(place) == len(graph)
        assert all(place[child] < place[parent] for parent, child in graph.edges)
