"""The graph as a value: nodes, edges, orders and levels agree, and nothing changes it."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chainrule as cr
from chainrule.core.graph import inputs_of


def diamond(x, y):
    shared = x * y
    left, right = np.sin(shared), shared + x
    return left * right, x


@pytest.fixture(scope="module")
def graph():
    return cr.trace(diamond, 2.0, 3.0)


def test_what_it_holds(graph):
    assert len(graph) == len(graph.nodes) == len(list(graph)) == 6
    assert [n.name for n in graph.leaves] == ["x", "y"]
    assert [n.op.name for n in graph.nodes[2:]] == ["multiply", "sin", "add", "multiply"]
    assert graph.outputs == (graph.nodes[-1], graph.leaves[0])
    assert graph.name == "diamond"
    assert repr(graph) == "<Graph diamond: 2 leaves, 6 nodes, 7 edges>"


def test_every_edge_once_parents_and_children(graph):
    x, y, shared, left, right, out = graph.nodes
    assert graph.edges == (
        *((x, shared), (y, shared), (shared, left), (shared, right), (x, right)),
        *((left, out), (right, out)),
    )
    assert graph.parents(right) == (shared, x)
    assert graph.children(x) == (shared, right)
    assert graph.children(out) == ()
    assert graph.levels() == [[x, y], [shared], [left, right], [out]]


def test_a_node_used_twice_is_one_edge():
    graph = cr.trace(lambda x: x * x, 3.0)
    x, out = graph.nodes
    assert graph.edges == ((x, out),)
    assert graph.parents(out) == (x,)
    assert graph.children(x) == (out,)
    assert inputs_of(out) == [x, x], "repeats are kept where order and number matter"


def test_constants_are_arguments_but_not_parents():
    (_, node) = cr.trace(lambda x: 2 * x, 3.0).nodes
    assert node.args[0] == 2
    assert node.parents == (node.args[1],)


@pytest.mark.parametrize("key", ["x", "itself", "variable"])
def test_a_node_can_be_named_in_three_ways(key):
    found = []

    def f(x):
        found.append(x)
        return x * 2

    graph = cr.trace(f, 1.0)
    key = {"x": "x", "itself": graph.leaves[0], "variable": found[0]}[key]
    assert graph.node(key) is graph.leaves[0]
    assert graph.children(key) == graph.outputs


@pytest.mark.parametrize("key", ["z", 7, None, 1.5])
def test_a_name_nobody_has_lists_those_there_are(graph, key):
    with pytest.raises(cr.GraphError, match="the named ones: x, y"):
        graph.node(key)


@pytest.mark.parametrize("key", [[], {}, np.ones(2), ([],)], ids=repr)
def test_a_key_that_cannot_be_a_name(graph, key):
    with pytest.raises(cr.GraphError):
        graph.node(key)


def test_a_name_that_two_nodes_have():
    a, b = cr.variable(1.0, name="w"), cr.variable(2.0, name="w")
    graph = cr.trace(lambda x: x * a * b, 3.0)
    with pytest.raises(cr.GraphError, match="2 nodes are called 'w'; pass the node itself"):
        graph.node("w")
    assert graph.node("x") is graph.leaves[0]


def test_a_node_of_another_graph_is_refused(graph):
    stranger = cr.trace(diamond, 2.0, 3.0).outputs[0]
    assert stranger not in graph
    for ask in (graph.node, graph.parents, graph.children):
        with pytest.raises(cr.GraphError, match="not a node of this graph"):
            ask(stranger)


def test_an_order_nobody_knows(graph):
    with pytest.raises(cr.ArgumentError, match="'bfs': choose one of dfs, kahn"):
        graph.order("bfs")


def test_immutable(graph):
    for field in ("nodes", "leaves", "outputs", "name", "captured"):
        with pytest.raises(FrozenInstanceError):
            setattr(graph, field, ())
    for node in (graph.nodes[2], graph.leaves[0]):
        with pytest.raises(AttributeError):
            node.shape = (3,)


def test_running_changes_nothing(graph):
    before = str(graph), graph.to_json()
    run = graph.forward(5.0, 7.0).backward((1.0, 0.0))
    graph.order(), graph.levels(), graph.verify()
    assert (str(graph), graph.to_json()) == before
    assert run.value("x") == 5.0
    assert graph.forward(2.0, 3.0).outputs == (np.sin(6.0) * 8.0, 2.0)


def test_a_traced_constant_does_not_follow_the_array_it_came_from():
    scale = np.array([1.0, 2.0])
    graph = cr.trace(lambda x: x * scale, np.ones(2))
    scale[:] = 9.0
    np.testing.assert_array_equal(graph.forward(np.ones(2)).outputs, [1.0, 2.0])


def test_unused_leaves_and_repeated_outputs():
    graph = cr.trace(lambda x, y: (y, y, 1.0), 1.0, 2.0)
    assert len(graph.leaves) == 2
    assert graph.outputs[0] is graph.outputs[1] is graph.leaves[1]
    assert set(graph.order()) == set(graph.order("kahn")) == set(graph.nodes)
    assert graph.children("x") == ()


def test_an_empty_graph():
    empty = cr.Graph((), (), ())
    assert (len(empty), empty.edges, empty.order(), empty.levels()) == (0, (), [], [])
    assert str(empty) == "graph graph()\n  return "


# A program is a list of (op, first operand, second operand), operands counted from the leaves.
steps = st.lists(st.tuples(st.sampled_from("+*sw"), st.integers(0), st.integers(0)), max_size=12)


APPLIED = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "s": lambda a, b: np.sin(a),
    "w": lambda a, b: np.where(a > 0, a, b),
}


def program(steps, leaves):
    made = list(leaves)
    for op, i, j in steps:
        made.append(APPLIED[op](made[i % len(made)], made[j % len(made)]))
    return made[-1], made[len(made) // 2]


@given(steps, st.integers(1, 3))
def test_any_program(steps, count):
    point = [0.5 + k for k in range(count)]
    graph = cr.trace(lambda *leaves: program(steps, leaves), *point)
    assert graph.verify() is graph
    place = graph.index
    assert [place[n] for n in graph.nodes] == list(range(len(graph)))
    assert all(place[p] < place[c] for p, c in graph.edges)
    for p, c in graph.edges:
        assert p in graph.parents(c)
        assert c in graph.children(p)
    assert sum(len(graph.parents(n)) for n in graph) == len(graph.edges)
    for method in ("dfs", "kahn"):
        order = graph.order(method)
        assert sorted(map(place.get, order)) == list(range(len(graph)))
        seen = {n: k for k, n in enumerate(order)}
        assert all(seen[p] < seen[c] for p, c in graph.edges)
    levels = graph.levels()
    depth = {n: k for k, level in enumerate(levels) for n in level}
    assert all(depth[n] == max((depth[p] + 1 for p in graph.parents(n)), default=0) for n in graph)
    assert graph.forward(*point).outputs == program(steps, [np.float64(p) for p in point])
