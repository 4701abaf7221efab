"""A loop as one operation: how it is run, counted, printed and saved."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.loop import Body, body_graph, iterations_until, looped
from chainrule.core.node import make_leaf
from chainrule.core.serial import decode, encode

OP = cr.OPS["loop"]


def by_hand(k, c, rows):
    seen = []
    for x in rows:
        seen.append(np.sin(c))
        c = np.sin(c) * x + k
    return c, np.stack(seen)


@pytest.mark.parametrize("which", [0, 1])
def test_runs_its_body(which):
    sample = OP.samples()[which]
    body = sample.attrs["body"]
    k, c, rows = sample.args
    carry, stack = by_hand(k, c, rows[::-1] if body.backwards else rows)
    found = looped(*sample.args, body=body)
    np.testing.assert_array_equal(found[0], carry)
    np.testing.assert_array_equal(found[1], stack[::-1] if body.backwards else stack)


def test_results_share_no_memory_with_inputs():
    leaf = make_leaf((2,), np.dtype(float), "c")
    start = np.ones(2)
    end, stack = looped(start, body=Body(body_graph([leaf], [leaf, leaf]), 3, carried=1))
    assert not np.shares_memory(end, start)
    assert stack.shape == (3, 2)


def test_no_iteration():
    sample = OP.samples()[0]
    graph = sample.attrs["body"].graph
    k, c, rows = sample.args
    end, stack = looped(k, c, rows[:0], body=Body(graph, 0, carried=1, rows=1))
    np.testing.assert_array_equal(end, c)
    assert stack.shape == (0, 2)


def test_counts_iterations():
    graph = cr.trace(lambda c: (c * 2, c < 20.0), 1.0)
    body = Body(graph, 1, carried=1, reads=(np.array(True),))
    assert iterations_until(body, [np.float64(1.0)], 1) == 5
    assert iterations_until(body, [np.float64(30.0)], 1) == 0
    other = Body(graph, 1, carried=1, reads=(np.array(True),))
    assert iterations_until(other, [np.float64(1.0)], 0) is None


def test_saved_and_read_again():
    sample = OP.samples()[1]
    body = sample.attrs["body"]
    again = decode(encode(body))
    assert again.signature == body.signature
    for a, b in zip(looped(*sample.args, body=again), looped(*sample.args, body=body), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("change", [{"count": -1}, {"carried": 7}, {"rows": 4}, {"count": True}])
def test_a_body_that_does_not_fit_is_refused(change):
    held = encode(OP.samples()[0].attrs["body"])
    held["body"].update(change)
    with pytest.raises(cr.SerialisationError):
        decode(held)


def test_is_printed_in_a_few_characters():
    assert repr(OP.samples()[1].attrs["body"]) == "<3 nodes × 3, backwards>"
