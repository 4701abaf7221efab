"""How a spec is found: without computing over the lanes that an array only claims to have."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.spec import Spec
from chainrule.ops.define import MOST_LANES, elementwise_spec, running_spec, shaped_spec

DOUBLE = np.dtype(np.float64)
HUGE = Spec((10**6, 10**6), DOUBLE)


def never(*args, **attrs):
    raise AssertionError("it was run")


def test_an_op_is_not_tried_on_many_lanes():
    assert running_spec(np.flip)(Spec((MOST_LANES,), DOUBLE)) == Spec((MOST_LANES,), DOUBLE)
    with pytest.raises(cr.UnsupportedError, match=f"over {10**12} lanes"):
        running_spec(never)(HUGE)


def test_unless_it_is_a_view():
    assert running_spec(np.transpose, view=True)(HUGE) == HUGE


def test_a_rule_for_the_shape_leaves_one_lane_to_try():
    def forward(x, k, dtype):
        assert x.shape == (1, 1, 0)
        return x.astype(dtype)

    spec = shaped_spec(forward, lambda x, k, dtype: (k, *x.shape))
    found = spec(Spec((10**9, 1, 0), DOUBLE), k=3, dtype=np.float32)
    assert found == Spec((3, 10**9, 1, 0), np.dtype(np.float32))


def test_an_elementwise_op_is_tried_on_one_number_and_runs_no_long_loop():
    def forward(x, order):
        assert np.shape(x) == ()
        return x + len(list(range(order)))

    assert elementwise_spec(forward)(HUGE, order=10**15) == HUGE
