"""What a compiled function asks of which object a number is: asking.py."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import chainrule as cr

pytest.importorskip("llvmlite")

DEFAULT, NUMBER, OTHERS = np.ones(2), 1.5, [np.ones(2)]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2 if x is DEFAULT else x,
        lambda x: x if x is not DEFAULT else x * 2,
        lambda x: x * 2 if operator.is_(x, DEFAULT) else x,
        lambda x: x if operator.is_not(DEFAULT, x) else x * 2,
        lambda x: x * 2 if any(x is other for other in (*OTHERS, DEFAULT)) else x,
        lambda x: x * 2 if x is NUMBER else x,
    ],
)
def test_a_number_that_is_an_object_of_outside_is_that_object_in_each_call(f):
    fast = cr.compile(f, verify="always")
    with pytest.warns(RuntimeWarning, match="one and the same object"):
        fast(np.ones(2))
    for x in (DEFAULT, DEFAULT.copy(), NUMBER, 2.5, DEFAULT):
        assert np.array_equal(fast(x), f(x))


@pytest.mark.parametrize("outside", [None, object(), "text", len])
def test_what_no_argument_can_be_needs_no_question(outside):
    fast = cr.compile(lambda x: x * 2 if x is outside else x)
    assert fast(np.ones(2)).tolist() == fast(np.ones(2)).tolist() == [1.0, 1.0]
    assert fast.recordings == 1
