"""Sorting, sets and interpolation: ties, kinks and odd arguments, which the table cannot say."""

from __future__ import annotations

import numpy as np
import pytest

import chainrule as cr

TIED = np.array([3.0, 1.0, 2.0, 1.0])


def gradient(f, x):
    return cr.grad(lambda x: np.sum(f(x)))(x)


# ---- order and ties -----------------------------------------------------------------------------


def test_values_that_tie_share_equally():
    shared = [[0, 0.5, 0, 0.5], [0, 0.5, 0, 0.5], [0, 0, 1, 0], [1, 0, 0, 0]]
    for f in (np.sort, lambda x: np.partition(x, 2)):
        for mode in ("forward", "reverse"):
            np.testing.assert_array_equal(cr.jacobian(f, mode=mode)(TIED), shared)
    np.testing.assert_array_equal(cr.jacobian(np.unique)(TIED), [shared[0], *shared[2:]])
    np.testing.assert_array_equal(cr.hessian(lambda x: np.sum(np.sort(x) ** 2))(TIED)[1, 3], 1.0)


def test_a_tie_is_reported_as_a_kink():
    graph = cr.trace(lambda x: np.sum(np.sort(x)[:2]), TIED)
    assert graph.forward(TIED).backward().status(graph.leaves[0]) == "kink"
    assert graph.forward(np.sort(TIED) + np.arange(4)).backward().status(graph.leaves[0]) == "value"


def test_equal_values_come_out_exactly():
    """0.1 + 0.1 + 0.1 is not 3 · 0.1, and infinity minus infinity is no number."""
    x = np.array([0.1, 0.1, np.inf, 0.1, np.inf, np.nan, -0.0, 0.0])
    np.testing.assert_array_equal(np.sort(cr.variable(x)).value, np.sort(x))
    np.testing.assert_array_equal(np.unique(cr.variable(x)).value, np.unique(x))


def test_methods_sort_in_place_and_partition():
    def f(x):
        y = x * 1.0
        y.sort()
        return y * np.arange(4.0)

    np.testing.assert_array_equal(gradient(f, TIED), [3, 0.5, 2, 0.5])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
        lambda x: np.unique(x, axis=1, return_counts=True),
        lambda x: np.unique_all(x),
        lambda x: np.unique_counts(x),
        lambda x: np.unique_inverse(x),
        lambda x: (np.union1d(x, [1.0, 9.0]), np.intersect1d(x, [1.0, 3.0, 9.0])),
        lambda x: (np.setdiff1d(x, [1.0, 9.0]), np.setxor1d(x, [1.0, 9.0, 9.0])),
        lambda x: (np.setdiff1d([1.0, 9.0], x), np.isin(x, [1.0]), np.lexsort((x[0], x[1]))),
        lambda x: (np.argsort(x, axis=None, kind="stable"), np.argpartition(x, kth=0, axis=0)),
        lambda x: (np.searchsorted(x[1], x), np.searchsorted(a=x[1], v=2.0, side="right")),
        lambda x: (np.digitize(x, [0.5, 2.0]), np.argwhere(x > 1), np.flatnonzero(x - 1)),
        lambda x: (
            *np.nonzero(x > 1),
            *np.tril_indices_from(x),
            np.ravel_multi_index((1, 1), (2, 2)),
        ),
    ],
)
def test_sets_and_positions_are_numpy_s(call):
    x = np.array([[3.0, 1.0], [1.0, 3.0]])
    for found, expected in zip(call(cr.variable(x)), call(x), strict=True):
        found = getattr(found, "value", found)
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_copies_in_several_sets_share():
    np.testing.assert_allclose(gradient(lambda x: np.union1d(x, x), TIED), [1, 0.5, 1, 0.5])
    np.testing.assert_allclose(
        gradient(lambda x: np.intersect1d(x, x[:2]), TIED), [1, 0.75, 0, 0.25]
    )


@pytest.mark.parametrize("f", [np.sort, np.unique, lambda x: x[np.nonzero(x > 1)], np.argsort])
def test_a_traced_graph_orders_anew(f):
    graph = cr.trace(f, TIED)
    other = np.array([1.0, 5.0, 1.0, 2.0])
    np.testing.assert_array_equal(graph.forward(other).outputs, f(other))


# ---- interpolation ------------------------------------------------------------------------------


def test_at_a_knot_the_flatter_side_counts():
    knots, values = np.arange(6.0), np.array([0.0, 1.0, 3.0, 4.0, 2.0, 2.0])
    slopes = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]  # the ends are flat outside
    np.testing.assert_array_equal(gradient(lambda x: np.interp(x, knots, values), knots), slopes)
    by_knot = cr.jacobian(lambda p: np.interp(knots, p, values))(knots)
    np.testing.assert_array_equal(by_knot, -np.diag(slopes))
    by_value = cr.jacobian(lambda f: np.interp(knots, knots, f))(values)
    np.testing.assert_array_equal(by_value, np.eye(6))


@pytest.mark.parametrize(
    ("knots", "values"),
    [
        ([0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 5.0, 2.0]),
        ([0.0, 1.0, 2.0, 3.0], [-np.inf, 1.0, 2.0, np.inf]),
        ([0.0, 1.0, 2.0, 2.0], [3.0, 1.0, 2.0, 7.0]),
        ([1.0], [2.0]),
    ],
)
def test_odd_knots_give_numpy_s_values(knots, values):
    x = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 4.0, np.nan])
    found = np.interp(cr.variable(x), knots, cr.variable(values)).value
    np.testing.assert_array_equal(found, np.interp(x, knots, values))


def test_interp_at_a_jump_has_a_finite_gradient():
    def f(x, knots, values):
        return np.sum(np.interp(x, knots, values))

    point = (np.array([1.0, 2.0]), np.array([0.0, 1.0, 1.0, 2.0, 2.0]), np.arange(5.0))
    for g in cr.grad(f, argnums=(0, 1, 2))(*point):
        assert np.isfinite(g).all()
