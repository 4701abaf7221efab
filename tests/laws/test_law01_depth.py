"""Law 1: nothing is recursive.  Every public call works on a chain 10⁶ deep."""

import gc
import sys

import numpy as np
import pytest

import chainrule as cr

DEEP = 10**6


def chain_of(n):
    def chain(x):
        for _ in range(n):
            x = x * 1.0000001
        return x

    return chain


@pytest.fixture(scope="module", params=[DEEP // 10, pytest.param(DEEP, marks=pytest.mark.slow)])
def deep(request):
    return request.param


@pytest.fixture(scope="module")
def graph(deep):
    return cr.trace(chain_of(deep), 1.5)


def test_record_backward_repr_delete():
    x = cr.variable(1.5)
    y = chain_of(DEEP)(x)
    y.backward()
    np.testing.assert_allclose(x.grad, 1.0000001**DEEP, rtol=1e-9)
    assert "multiply" in repr(y)
    assert "multiply" in repr(y.node)
    del y
    gc.collect()


def test_functional_derivatives(deep):
    chain, slope = chain_of(deep), 1.0000001**deep
    np.testing.assert_allclose(cr.jvp(chain, (1.5,), (1.0,))[1], slope, rtol=1e-9)
    out, pullback = cr.vjp(chain, 1.5)
    np.testing.assert_allclose(pullback(2.0), [2 * slope], rtol=1e-9)
    np.testing.assert_allclose(out, 1.5 * slope, rtol=1e-9)


def test_second_order(deep):
    assert cr.grad(cr.grad(chain_of(deep)))(1.5) == 0.0


def test_graph_order_text_and_runs(graph, deep):
    assert len(graph) == deep + 1
    assert graph.order("dfs") == graph.order("kahn") == list(graph.nodes)
    assert len(graph.levels()) == deep + 1
    assert str(graph).count("\n") == deep + 2
    run = graph.forward(1.5).backward()
    np.testing.assert_allclose(run.adjoint("x"), 1.0000001**deep, rtol=1e-9)
    assert run.status("x") == "value"
    graph.verify()


def test_json_round_trip(graph):
    again = cr.Graph.from_json(graph.to_json())
    assert len(again) == len(graph)
    assert again.forward(1.5).outputs == graph.forward(1.5).outputs


def test_dot(graph, deep):
    assert graph.to_dot().count("->") == deep


def test_networkx():
    networkx = pytest.importorskip("networkx")
    graph = cr.trace(chain_of(DEEP // 10), 1.5)
    assert networkx.number_of_edges(graph.to_networkx()) == DEEP // 10


def test_the_recursion_limit_was_not_raised():
    assert sys.getrecursionlimit() <= 3000
