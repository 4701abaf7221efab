"""verify: a sound graph is returned as it is, and every planted defect is named with its node."""

from dataclasses import replace

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.node import Leaf, Node, make_leaf

DOUBLE = np.dtype(np.float64)


def f(x, y):
    total = np.sum(x * y, axis=0)
    return total + x[1:]


@pytest.fixture
def graph():
    """%0 x  %1 y  %2 multiply  %3 sum  %4 getitem  %5 add."""
    made = cr.trace(f, np.ones((2, 3)), np.ones(3))
    assert [n.op.name for n in made.nodes[2:]] == ["multiply", "sum", "getitem", "add"]
    return made


def changed(node, **fields):
    """The node with some of its fields replaced."""
    names = ("rule", "parents", "saved", "attrs", "shape", "dtype", "code", "lasti", "args")
    held = {name: getattr(node, name) for name in names}
    made = (Leaf if node.is_leaf else Node)(**held | fields)
    if isinstance(made, Leaf):
        made.name = node.name
    return made


def with_node(graph, i, node):
    """The graph with node %i replaced, also among the arguments of those after it."""
    old, nodes = graph.nodes[i], list(graph.nodes)
    nodes[i] = node
    swapped = {old: node}
    for k in range(i + 1, len(nodes)):
        args = tuple(swapped.get(a, a) if isinstance(a, Node) else a for a in nodes[k].args)
        if args != nodes[k].args:
            swapped[nodes[k]] = nodes[k] = changed(nodes[k], args=args)
    return replace(
        graph,
        nodes=tuple(nodes),
        leaves=tuple(swapped.get(n, n) for n in graph.leaves),
        outputs=tuple(swapped.get(n, n) for n in graph.outputs),
    )


def test_a_sound_graph_is_returned(graph):
    assert graph.verify() is graph
    assert with_node(graph, 2, changed(graph.nodes[2])).verify()


def swap(graph, i, j):
    nodes = list(graph.nodes)
    nodes[i], nodes[j] = nodes[j], nodes[i]
    return replace(graph, nodes=tuple(nodes))


DEFECTS = {
    "listed twice": (
        lambda g: replace(g, nodes=(*g.nodes, g.nodes[2])),
        r"node %6 is listed twice",
    ),
    "before its parent": (
        lambda g: swap(g, 2, 3),
        r"node %2 \(sum\) comes before its parent multiply",
    ),
    "before its leaf": (
        lambda g: swap(g, 0, 2),
        r"node %0 \(multiply\) comes before its parent x",
    ),
    "a parent missing": (
        lambda g: replace(g, nodes=g.nodes[:3] + g.nodes[4:]),
        r"node %4 \(add\) comes before its parent sum",
    ),
    "a leaf with arguments": (
        lambda g: with_node(g, 1, changed(g.nodes[1], args=(1.0,))),
        "leaf %1 has arguments",
    ),
    "without its arguments": (
        lambda g: with_node(g, 2, changed(g.nodes[2], args=None)),
        r"node %2 \(multiply\) was recorded without its arguments",
    ),
    "an argument too few": (
        lambda g: with_node(g, 2, changed(g.nodes[2], args=g.nodes[:1])),
        "node %2: multiply takes 2 inputs, not 1",
    ),
    "an argument too many": (
        lambda g: with_node(g, 3, changed(g.nodes[3], args=g.nodes[1:3])),
        "node %3: sum takes 1 inputs, not 2",
    ),
    "a wrong shape": (
        lambda g: with_node(g, 2, changed(g.nodes[2], shape=(3,))),
        r"node %2: multiply gives float64\[2, 3\], the node says float64\[3\]",
    ),
    "a wrong dtype": (
        lambda g: with_node(g, 4, changed(g.nodes[4], dtype=np.dtype(np.float32))),
        r"node %4: getitem gives float64\[1, 3\], the node says float32\[1, 3\]",
    ),
    "a wrong attr": (
        lambda g: with_node(g, 3, changed(g.nodes[3], attrs={**g.nodes[3].attrs, "axis": 1})),
        r"node %3: sum gives float64\[2\], the node says float64\[3\]",
    ),
    "shapes that do not fit": (
        lambda g: with_node(g, 1, changed(g.nodes[1], shape=(4,))),
        r"node %2: multiply does not take its arguments: shapes \(2, 3\) and \(4,\)",
    ),
    "a leaf from elsewhere": (
        lambda g: replace(g, leaves=(*g.leaves, make_leaf((), DOUBLE, "stray"))),
        "leaf stray is not among the nodes",
    ),
    "an output from elsewhere": (
        lambda g: replace(g, outputs=(cr.trace(np.sin, 1.0).outputs[0],)),
        "output sin is not among the nodes",
    ),
}

MISSED = {
    "a leaf nobody fills": lambda g: replace(g, leaves=g.leaves[:1]),
    "a leaf listed twice": lambda g: replace(g, leaves=(*g.leaves, g.leaves[0])),
    "an op listed as a leaf": lambda g: replace(g, leaves=(*g.leaves, g.nodes[2])),
    "a captured value of another shape": lambda g: replace(
        g, leaves=g.leaves[:1], captured={g.leaves[1]: np.ones(4)}
    ),
    "a captured value that is no number": lambda g: replace(
        g, leaves=g.leaves[:1], captured={g.leaves[1]: "ones"}
    ),
    "a captured value of an op": lambda g: replace(g, captured={g.nodes[2]: np.ones((2, 3))}),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_named(graph, name):
    plant, message = DEFECTS[name]
    with pytest.raises(cr.GraphError, match=message):
        plant(graph).verify()
    assert graph.verify() is graph, "the defect was planted in a copy"


@pytest.mark.parametrize("name", MISSED)
def test_leaves_and_captured_values(graph, name):
    with pytest.raises(cr.GraphError):
        MISSED[name](graph).verify()


@pytest.mark.parametrize("axis", [2, "a", 1.5], ids=repr)
def test_an_attr_its_op_refuses(graph, axis):
    node = graph.nodes[3]
    broken = with_node(graph, 3, changed(node, attrs={**node.attrs, "axis": axis}))
    with pytest.raises(cr.GraphError, match="node %3: sum"):
        broken.verify()


def test_ops_without_a_spec_to_hold_them_against():
    """One of several results, a user's function, a boolean index whose size depends on values."""

    class Twice(cr.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def g(A):
        return np.linalg.eigh(A)[0][A[0] > 0], Twice.apply(A)

    assert cr.trace(g, np.eye(2)).verify()


def test_a_long_loop_asks_each_spec_once(monkeypatch):
    asked = []
    spec = cr.OPS["multiply"].spec
    graph = cr.trace(lambda x: [x := x * 1.5 for _ in range(50)][-1], np.ones(3))
    monkeypatch.setitem(
        cr.OPS["multiply"].__dict__, "spec", lambda *a, **k: asked.append(a) or spec(*a, **k)
    )
    graph.verify()
    assert len(asked) == 1
