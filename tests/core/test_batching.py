"""`batching.py`: how operands with lanes are aligned, merged into other axes, and looped over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chainrule.core.batching import (
    BatchCall,
    Lanes,
    batched,
    behind,
    each_lane,
    lifted,
    merged,
    parted,
)
from chainrule.core.op import OPS, Op


def applied(op: Op, args: Any, attrs: Any) -> Any:
    return op.forward(*args, **attrs)


def call_of(name: str, *args: Any, shape: tuple[int, ...] = (), **attrs: Any) -> BatchCall:
    op = OPS[name]
    return BatchCall(op, args, {**op.attrs, **attrs}, 2, shape, applied)


def test_a_lane_is_lifted_behind_the_axis_of_lanes() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert lifted(x, 3).shape == (2, 1, 1, 3)
    assert lifted(x, 1) is x


@pytest.mark.parametrize(
    ("axis", "rank", "there"),
    [(0, 2, 1), (-1, 2, 2), ((0, -1), 3, (1, 3)), (None, 2, (1, 2)), (None, 0, ()), (-1, 0, ())],
)
def test_axes_of_a_lane_are_counted_behind_the_lanes(axis: Any, rank: int, there: Any) -> None:
    assert behind(axis, rank) == there


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_parting_undoes_merging(axis: int, groups: int) -> None:
    x = np.arange(5 * 4 * 2 * 6).reshape(5, 4, 2, 6)
    whole = merged(x, axis, groups)
    assert whole.shape[axis] == 5 * x.shape[1 + axis]
    np.testing.assert_array_equal(parted(whole, axis, 5, groups), x)


def test_merged_lanes_stand_within_their_group() -> None:
    x = np.array([[0, 1, 2, 3], [10, 11, 12, 13]])  # two lanes of two groups of two
    assert merged(x, 0).tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    assert merged(x, 0, groups=2).tolist() == [0, 1, 10, 11, 2, 3, 12, 13]


def test_an_operand_that_all_lanes_share_is_spread_and_aligned() -> None:
    call = call_of("add", Lanes(np.ones((2, 3))), np.arange(3.0), shape=(3,))
    assert [call.on(0), call.on(1)] == [True, False]
    assert [call.rank(0), call.rank(1)] == [1, 1]
    assert call.spread(1).shape == (2, 3)
    assert call.lane_shape(0) == call.lane_shape(1) == (3,)
    assert call.aligned(0, 2).shape == (2, 1, 3)


def test_an_op_without_a_rule_works_lane_by_lane() -> None:
    x = np.arange(6.0).reshape(2, 3)
    call = call_of("sum", Lanes(x))
    np.testing.assert_array_equal(each_lane(call), x.sum(axis=1))
    out, by_lane = batched(call)
    np.testing.assert_array_equal(out, x.sum(axis=1))
    assert not by_lane
    values, index = each_lane(call_of("slogdet_pair", Lanes(np.stack([np.eye(2), -np.eye(2)]))))
    assert values.tolist() == [1, 1]
    assert index.tolist() == [0, 0]


def test_a_rule_that_cannot_leaves_the_lanes_to_the_loop() -> None:
    a = np.stack([np.eye(2), 2 * np.eye(2)])
    out, by_lane = batched(call_of("least_squares", Lanes(a), np.ones((2, 1))))
    assert by_lane
    np.testing.assert_allclose(out[0], [[[1], [1]], [[0.5], [0.5]]])
    out, by_lane = batched(call_of("least_squares", a[1], Lanes(np.ones((2, 2, 1)))))
    assert not by_lane
    np.testing.assert_allclose(out[0], np.full((2, 2, 1), 0.5))
