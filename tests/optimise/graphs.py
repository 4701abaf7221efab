"""Graphs before and after rewrites, run by the interpreter and compared to the bit."""

import numpy as np

import chainrule as cr
from chainrule.core.text import graph_text
from chainrule.optimise.rewrite import Sweep
from chainrule.optimise.share import key_of


def swept(graph, *rewrites, shared=False, constants=None):
    """The graph after these rewrites, verified."""
    found = Sweep(graph, constants or {}, rewrites, key_of if shared else None).run()
    found.graph.verify()
    assert found.graph.leaves == graph.leaves
    return found


def values(graph, *args):
    """Every output by the interpreter, as arrays."""
    with np.errstate(all="ignore"):
        run = graph.forward(*args)
    return [np.asarray(run.value(out)) for out in graph.outputs]


def assert_same_bits(found, expected, note=""):
    """Equal dtype, shape and bits; a NaN is a NaN, whatever its sign."""
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype, note
        assert a.shape == b.shape, note
        if a.dtype.kind in "fc":
            a, b = (np.where(np.isnan(v), np.nan, v).astype(v.dtype) for v in (a, b))
        assert a.tobytes() == b.tobytes(), f"{note}: {a!r} and {b!r}"


def traced(f, *args):
    with np.errstate(all="ignore"):
        return cr.trace(f, *args)


def before_and_after(graph, found):
    """Both graphs as text, without source lines."""
    named = ", ".join(f"{name} ×{n}" for name, n in sorted(found.counts.items()))
    texts = [graph_text(g, lines=False) for g in (graph, found.graph)]
    return f"{texts[0]}\n\n{named}\n\n{texts[1]}"
