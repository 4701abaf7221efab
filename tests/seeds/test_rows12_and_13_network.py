"""Rows 12 and 13: the Jacobian of log-softmax, and a network with one hidden layer."""

from itertools import pairwise

import numpy as np

import chainrule as cr

rng = np.random.default_rng(0)
m, d, K, y = 4, 3, 5, 2
W, b = rng.standard_normal((m, d)), rng.standard_normal(m)
V, gamma = rng.standard_normal((K, m)), rng.standard_normal(K)
x = rng.standard_normal(d)


def test_row_12_jacobian_of_log_softmax():
    scores = rng.standard_normal(K)
    p = np.exp(scores) / np.exp(scores).sum()
    expected = np.eye(K) - p[None, :]
    for mode in ("reverse", "forward"):
        found = cr.jacobian(cr.log_softmax, mode=mode)(scores)
        np.testing.assert_allclose(found, expected, atol=1e-15)


def test_row_12_jacobian_with_respect_to_a_matrix():
    """∂(Wx + b)/∂W as an m × (m·d) matrix: W treated as a vector of m·d entries."""
    found = cr.jacobian(lambda W: W @ x + b)(W).reshape(m, m * d)
    np.testing.assert_allclose(found, np.kron(np.eye(m), x), atol=1e-15)


def network(W, b, V, gamma):
    z = W @ x + b
    h = np.tanh(z)
    scores = V @ h + gamma
    q = cr.log_softmax(scores)
    return -q[y]


def test_row_13_each_factor_of_the_chain_is_inspectable():
    graph = cr.trace(network, W, b, V, gamma)
    run = graph.forward(W, b, V, gamma).backward()
    at = {node.op.name: node for node in graph.nodes if not node.is_leaf}
    matmuls = [n for n in graph.nodes if not n.is_leaf and n.op.name == "matmul"]
    adds = [n for n in graph.nodes if not n.is_leaf and n.op.name == "add"]
    chain = [
        graph.outputs[0],
        at["getitem"],
        at["log_softmax"],
        adds[1],
        matmuls[1],
        at["tanh"],
        adds[0],
        matmuls[0],
        graph.leaves[0],
    ]
    product = np.eye(1)
    for child, parent in pairwise(chain):
        product = product @ run.local_jacobian(parent, child)
    assert product.shape == (1, m * d)
    np.testing.assert_allclose(product.reshape(m, d), run.adjoint("W"), atol=1e-14)
    np.testing.assert_allclose(run.adjoint("W"), cr.grad(network)(W, b, V, gamma), atol=1e-15)


def test_row_13_against_the_formula_written_by_hand():
    gW, gb, gV, gg = cr.grad(network, (0, 1, 2, 3))(W, b, V, gamma)
    h = np.tanh(W @ x + b)
    p = np.exp(V @ h + gamma)
    delta = p / p.sum() - np.eye(K)[y]
    hidden = (V.T @ delta) * (1 - h**2)
    np.testing.assert_allclose(gV, np.outer(delta, h), atol=1e-14)
    np.testing.assert_allclose(gg, delta, atol=1e-14)
    np.testing.assert_allclose(gW, np.outer(hidden, x), atol=1e-14)
    np.testing.assert_allclose(gb, hidden, atol=1e-14)
