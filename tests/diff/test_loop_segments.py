"""A loop reversed in segments gives the same bits as one reversed as a whole."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.loop import Body
from chainrule.core.parts import Parts
from chainrule.diff.loop_segments import scratch_bytes
from chainrule.diff.within_memory import segments_of
from chainrule.record.trace import Trace

R = np.random.default_rng(3).standard_normal
W, XS = R((3, 3)) * 0.4, R((23, 3))


def traced(f, x):
    trace = Trace()
    trace.recomputes = True
    graph = trace.record(f, (x,), {})
    (node,) = [n for n in graph.nodes if isinstance(n.attrs.get("body"), Body)]
    return graph, node


def adjoints(node, seeds, xs, segments):
    body = node.attrs["body"]
    body = body.part(body.count, segments)
    out = node.op.forward(*xs, body=body)
    active = [x.dtype.kind == "f" for x in map(np.asarray, xs)]
    seeds = [
        s if np.asarray(o).dtype.kind == "f" else None for s, o in zip(seeds, out, strict=True)
    ]
    return node.op.derivative.reverse[0](Parts(seeds), list(xs), out, active, body)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("segments", [(5,), (23,), (1,), (8, 3), (12, 6, 2), (7, 7)])
def test_same_bits(reverse, segments):
    def step(c, x):
        h, k = c
        h = np.tanh(h @ W + x * scale)
        return (h, k + 1), {"h": np.sum(h**2), "k": k}

    scale = None

    def f(s):
        nonlocal scale
        scale = s
        c, ys = cr.scan(step, (np.ones(3), 0), XS, reverse=reverse)
        return np.sum(c[0]) + np.sum(ys["h"])

    graph, node = traced(f, np.array([0.5, 0.7, 0.9]))
    run = graph.forward(np.array([0.5, 0.7, 0.9]))
    xs = [run.value(a) if hasattr(a, "rule") else np.asarray(a)[()] for a in node.args]
    out = node.op.forward(*xs, body=node.attrs["body"])
    seeds = [R(np.shape(o)) if np.asarray(o).dtype.kind == "f" else None for o in out]
    expected = adjoints(node, seeds, xs, ())
    found = adjoints(node, seeds, xs, segments)
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        assert a is None or np.array_equal(a, b)
    assert sum(b is not None for b in expected) >= 3


def test_less_memory():
    f = lambda x: np.sum(cr.scan(lambda c, _: (np.sin(c) * x, None), x, length=10_000)[0])  # noqa: E731
    _, node = traced(f, np.ones(100))
    body = node.attrs["body"]
    ways = segments_of(body.count)
    sizes = [scratch_bytes(body.part(body.count, way)) for way in ways]
    assert ways[0] == ()
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 200
