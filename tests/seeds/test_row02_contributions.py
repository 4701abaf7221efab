"""Row 2: T[g(x, f(x, y)), h(f(x, y), y)]; a node used twice sums its contributions."""

import numpy as np

import chainrule as cr


def composed(x, y):
    f = x * y
    g = np.sin(x) + f**2
    h = f * np.exp(y)
    return g * h


def test_adjoint_of_f_is_the_sum_of_its_two_contributions():
    graph = cr.trace(composed, 0.7, 0.4)
    run = graph.forward(0.7, 0.4).backward()
    f = next(n for n in graph.nodes if n.line and n.line.text == "f = x * y")
    children = graph.children(f)
    assert [c.op.name for c in children] == ["power", "multiply"]
    parts = [run.contribution(f, c) for c in children]
    # ∂T/∂f = ∂g/∂f·∂T/∂g + ∂h/∂f·∂T/∂h
    v_f, v_g, v_h = 0.7 * 0.4, np.sin(0.7) + (0.7 * 0.4) ** 2, 0.7 * 0.4 * np.exp(0.4)
    np.testing.assert_allclose(parts, [2 * v_f * v_h, np.exp(0.4) * v_g], rtol=1e-14)
    assert run.adjoint(f) == sum(parts)


def test_each_contribution_is_adjoint_times_local_derivative():
    graph = cr.trace(composed, 0.7, 0.4)
    run = graph.forward(0.7, 0.4).backward()
    for parent, child in graph.edges:
        product = run.adjoint(child) * run.local_jacobian(parent, child)[0, 0]
        np.testing.assert_allclose(run.contribution(parent, child), product, rtol=1e-14)


def test_output_starts_at_one_and_an_unreached_node_at_zero():
    graph = cr.trace(lambda x, y: x * 2.0, 3.0, 5.0)
    run = graph.forward(3.0, 5.0).backward()
    assert run.adjoint(graph.outputs[0]) == 1.0
    assert run.adjoint("y") == 0.0
