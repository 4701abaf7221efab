"""What nobody reads of a loop: `loops.py`."""

import numpy as np

import chainrule as cr
from chainrule.core.verify import verify
from chainrule.optimise.loops import without_unread

XS = np.arange(1.0, 5.0)


def loops(graph):
    return [n for n in graph.nodes if not n.is_leaf and n.op.name == "loop"]


def several(w, v):
    def step(c, x):
        a, b, d = c
        return (a * w + x, b + np.sin(a), d * v), (a, b * x, d)

    return cr.scan(step, (w, 0.5, v), XS)


def of(read):
    def f(w, v):
        return read(*several(w, v))

    return f


def smaller(f):
    graph = cr.trace(f, 0.7, 0.3)
    found = verify(without_unread(graph))
    for at in ((0.7, 0.3), (0.2, 1.4)):
        outputs = found.forward(*at).outputs, graph.forward(*at).outputs
        for a, b in zip(*(cr.tree.flatten(o)[0] for o in outputs), strict=True):
            np.testing.assert_array_equal(a, b)
    return [n.attrs["body"] for n in loops(found)]


def test_stacks_that_nobody_reads_are_gone():
    (body,) = smaller(of(lambda c, ys: c[1]))
    assert (body.carried, len(body.graph.outputs), body.rows) == (2, 2, 1)


def test_what_nothing_depends_on_is_not_carried():
    (body,) = smaller(of(lambda c, ys: np.sum(ys[2])))
    assert (body.carried, len(body.graph.outputs), body.rows) == (1, 2, 0)


def test_everything_that_is_read_stays():
    (body,) = smaller(of(lambda c, ys: (*c, *ys)))
    assert (body.carried, len(body.graph.outputs)) == (3, 6)


def test_loops_that_read_each_other():
    def f(w, v):
        _, (a, *_) = several(w, v)
        return cr.scan(lambda c, y: (c * v + y, c), w, a)[0]

    first, second = smaller(f)
    assert (first.carried, second.carried) == (1, 1)
    assert len(second.graph.outputs) == 1


def test_a_graph_without_loops_is_left_alone():
    graph = cr.trace(lambda w: w * 2, 1.0)
    assert without_unread(graph) is graph


def test_unused_arguments_stay_arguments():
    graph = without_unread(cr.trace(of(lambda c, ys: c[0]), 0.7, 0.3))
    assert len(graph.leaves) == 2
