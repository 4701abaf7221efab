"""Reductions, running ops, order statistics, sums of exponentials: what the table cannot say."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import chainrule as cr

INF, NAN = np.inf, np.nan


def gradient(f: Any, *point: Any) -> Any:
    found = cr.grad(f, argnums=tuple(range(len(point))))(*(np.asarray(p, float) for p in point))
    return found[0] if len(point) == 1 else found


def hessian(f: Any, x: Any) -> Any:
    return cr.hessian(f)(np.asarray(x, float))


# -- products ----------------------------------------------------------------------------------


def product_without(x: list[float], *left_out: int) -> float:
    return float(np.prod([v for i, v in enumerate(x) if i not in left_out]))


PRODUCTS = [[2.0, 3.0, 5.0], [0.0, 3.0, 5.0], [0.0, 0.0, 5.0, 7.0], [0.0, 0.0, 0.0], [4.0]]


@pytest.mark.parametrize("x", PRODUCTS)
def test_prod_holds_for_any_number_of_zeros_at_order_one_and_two(x):
    n = range(len(x))
    np.testing.assert_array_equal(gradient(np.prod, x), [product_without(x, i) for i in n])
    expected = [[0.0 if i == j else product_without(x, i, j) for j in n] for i in n]
    np.testing.assert_array_equal(hessian(np.prod, x), expected)


@pytest.mark.parametrize("x", [*PRODUCTS, [2.0, 0.0, 3.0, 0.0, 5.0]])
def test_cumprod_holds_for_any_number_of_zeros(x):
    n = range(len(x))
    jacobian = cr.jacobian(np.cumprod)(np.array(x))
    expected = [[product_without(x[: k + 1], i) if i <= k else 0.0 for i in n] for k in n]
    np.testing.assert_array_equal(jacobian, expected)


def test_recurrence_is_the_loop_it_stands_for():
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    h, expected = 0.0, []
    for a, b in zip(x, y, strict=True):
        h = a * h + b
        expected.append(h)
    np.testing.assert_allclose(cr.recurrence(x, y), expected, rtol=1e-12)
    many = cr.recurrence(np.tile(x, (40, 1)), np.tile(y, (40, 1)), axis=1)  # the other code path
    np.testing.assert_allclose(many, np.tile(expected, (40, 1)), rtol=1e-12)


# -- kinks -------------------------------------------------------------------------------------


def test_ties_of_an_extremum_share_equally():
    np.testing.assert_array_equal(gradient(np.max, [1.0, 3.0, 3.0, 3.0]), [0, 1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_array_equal(gradient(np.min, [[1.0, 3.0], [1.0, 3.0]]), [[0.5, 0], [0.5, 0]])
    np.testing.assert_array_equal(gradient(np.ptp, [2.0, 2.0, 2.0]), [0, 0, 0])
    rows = gradient(lambda x: np.sum(np.amax(x, axis=1)), [[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(rows, [[0.5, 0.5], [0.0, 1.0]])


def test_an_extremum_tied_with_its_initial_value_has_slope_zero():
    np.testing.assert_array_equal(gradient(lambda x: np.max(x, initial=2.0), [1.0, 2.0]), [0, 0])
    np.testing.assert_array_equal(gradient(lambda x: np.max(x, initial=1.5), [1.0, 2.0]), [0, 1])


def test_running_extrema_share_among_the_ties_so_far():
    x = np.array([1.0, 3.0, 3.0, 2.0, 4.0])
    half = [0, 0.5, 0.5, 0, 0]
    expected = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], half, half, [0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(cr.jacobian(cr.cummax)(x), expected)
    np.testing.assert_array_equal(cr.jacobian(cr.cummin)(-x), expected)


def test_order_statistics_share_among_equal_elements():
    np.testing.assert_array_equal(gradient(np.median, [1.0, 2.0, 2.0, 3.0]), [0, 0.5, 0.5, 0])
    np.testing.assert_allclose(
        gradient(lambda x: np.quantile(x, 0.3), [5.0, 1.0, 1.0, 7.0]), [0, 0.5, 0.5, 0]
    )
    # rank 1.5 lies between the tied pair and 5
    np.testing.assert_allclose(
        gradient(lambda x: np.quantile(x, 0.5), [5.0, 1.0, 1.0, 7.0]), [0.5, 0.25, 0.25, 0]
    )


@pytest.mark.parametrize("level", [0.0, 0.1, 3e200])
def test_std_of_equal_elements_is_a_kink_with_slope_zero(level):
    """The mean of three 0.1 is not 0.1, so the variance alone would not tell."""
    x = np.full(3, level)
    np.testing.assert_array_equal(gradient(np.std, x), [0, 0, 0])
    np.testing.assert_array_equal(cr.jvp(np.std, (x,), (np.arange(3.0),))[1], 0)
    nan_too = gradient(np.nanstd, [level, NAN, level])
    np.testing.assert_array_equal(nan_too, [0, 0, 0])


def test_std_has_its_closed_derivatives_elsewhere():
    x = np.array([0.3, -1.2, 2.5, 0.9])
    d, s, n = x - x.mean(), x.std(), len(x)
    np.testing.assert_allclose(gradient(np.std, x), d / (n * s), rtol=1e-14)
    expected = (np.eye(n) - 1 / n) / (n * s) - np.outer(d, d) / (n * n * s**3)
    np.testing.assert_allclose(hessian(np.std, x), expected, rtol=1e-12, atol=1e-15)


def test_nodes_at_a_kink_are_known():
    maximum, statistic = cr.OPS["max"], cr.OPS["order_statistic"]
    attrs = {"axis": None, "keepdims": False, "initial": None, "where": True}
    assert np.any(maximum.kinks(np.array([1.0, 1.0]), **attrs))
    assert not np.any(maximum.kinks(np.array([1.0, 2.0]), **attrs))
    assert np.any(statistic.kinks(np.array([2.0, 1.0, 2.0]), np.array([1]), skip_nan=False))
    assert not np.any(statistic.kinks(np.array([2.0, 1.0, 2.0]), np.array([0]), skip_nan=False))


# -- structural zeros --------------------------------------------------------------------------

BY_ROW = [
    *(np.sum, np.mean, np.var, np.std, np.min, np.median, np.nansum, np.nanmean, cr.logsumexp),
    *(np.max, np.nanmax, lambda y, axis: np.quantile(y, 1.0, axis=axis), np.prod),
]


@pytest.mark.parametrize("reduce", BY_ROW)
def test_a_row_that_is_not_used_stays_out_of_the_gradient(reduce):
    """1/x has an infinite slope in the second row, which `where` throws away."""
    x = np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 3.0]])

    def f(x: Any) -> Any:
        return np.sum(np.where(np.array([True, False]), reduce(1 / x, axis=1), 0.0))

    with np.errstate(all="ignore"):
        first, second = cr.grad(f)(x), cr.grad(lambda x: np.sum(np.square(cr.grad(f)(x))))(x)
    for g in (first, second):
        assert np.all(g[0] == g[0])
        assert np.any(g[0] != 0)
        np.testing.assert_array_equal(g[1], [0, 0, 0])


@pytest.mark.parametrize(
    "pick",
    [
        np.min,
        np.nanmin,
        lambda y: np.quantile(y, 0.0),
        lambda y: cr.cummin(y)[-1],
    ],
)
def test_an_element_not_selected_stays_out_of_the_gradient(pick):
    """1/0 is infinite and so is its slope; the minimum is elsewhere."""

    def f(x: Any) -> Any:
        return pick(1 / x)

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(gradient(f, [0.0, 1.0, 2.0]), [0, 0, -0.25])
        np.testing.assert_array_equal(hessian(f, [0.0, 1.0, 2.0])[2], [0, 0, 0.25])
        assert not np.any(hessian(f, [0.0, 1.0, 2.0])[:2])


def test_an_unread_running_product_that_overflowed_stays_out_of_the_gradient():
    with np.errstate(all="ignore"):
        g = gradient(lambda x: np.cumprod(x)[0], [2.0, 1e200, 1e200, 1e200])
    np.testing.assert_array_equal(g, [1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        (np.nansum, [0, 0.25, 0.5]),
        (np.nanmean, [0, 0.125, 0.25]),
        (np.nanprod, [0, 0.25, 1.0]),
        (np.nanmax, [0, 0.25, 0.0]),
        (np.nanmin, [0, 0.0, 0.5]),
        (np.nanmedian, [0, 0.125, 0.25]),
        (lambda y: np.nanquantile(y, 0.25), [0, 0.0625, 0.375]),
        (lambda y: np.nancumsum(y)[-1], [0, 0.25, 0.5]),
        (lambda y: np.nancumprod(y)[-1], [0, 0.25, 1.0]),
        (np.nanvar, [0, 0.125, -0.25]),
    ],
)
def test_what_holds_nan_stays_out_of_the_gradient(reduce, expected):
    """√−1 is NaN and so is its slope."""

    def f(x: Any) -> Any:
        return reduce(np.sqrt(x))

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(gradient(f, [-1.0, 4.0, 1.0]), expected, rtol=1e-14)
        second = hessian(f, [-1.0, 4.0, 1.0])
    assert np.all(np.isfinite(second))
    assert not second[0].any()
    assert second[1:, 1:].any()


def test_nan_propagates_as_in_numpy_and_the_gradient_goes_where_it_came_from():
    x = np.array([1.0, NAN, 3.0])
    for f in (np.max, np.min, np.median):
        assert np.isnan(f(cr.variable(x)).value)
        np.testing.assert_array_equal(cr.grad(f)(x), [0, 1, 0])


# -- sums of exponentials ----------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_logsumexp_is_exact_at_any_height(shift):
    x = np.array([0.1, 0.7, -2.0]) + shift
    p = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
    np.testing.assert_allclose(gradient(cr.logsumexp, x), p, rtol=1e-14)
    np.testing.assert_allclose(
        hessian(cr.logsumexp, x), np.diag(p) - np.outer(p, p), rtol=1e-12, atol=1e-16
    )
    np.testing.assert_allclose(cr.jacobian(cr.softmax)(x), np.diag(p) - np.outer(p, p), atol=1e-15)
    np.testing.assert_allclose(cr.jacobian(cr.log_softmax)(x), np.eye(3) - p, atol=1e-15)


def test_rows_of_minus_infinity_have_zero_softmax_and_zero_gradient():
    x = np.array([[-INF, -INF], [0.0, -INF]])
    value, g = cr.value_and_grad(lambda x: np.sum(np.exp(cr.logsumexp(x, axis=1))))(x)
    assert value == 1.0
    np.testing.assert_array_equal(g, [[0, 0], [1, 0]])
    np.testing.assert_array_equal(cr.logsumexp(x, axis=1), [-INF, 0])
    np.testing.assert_array_equal(cr.softmax(x), [[0, 0], [1, 0]])
    np.testing.assert_array_equal(cr.log_softmax(x), [[-INF, -INF], [0, -INF]])
    assert np.all(np.isfinite(cr.jacobian(cr.softmax)(x)))
    assert np.all(np.isfinite(cr.hessian(cr.logsumexp)(x[1])))


def test_infinite_elements_share_the_softmax():
    """The limit of growing ones; PyTorch and JAX give NaN."""
    x = np.array([1.0, INF, -INF, INF])
    share = np.array([0.0, 0.5, 0.0, 0.5])
    np.testing.assert_array_equal(cr.softmax(x), share)
    value, gradient = cr.value_and_grad(cr.logsumexp)(x)
    assert value == INF
    np.testing.assert_array_equal(gradient, share)
    np.testing.assert_allclose(cr.log_softmax(x), [-INF, -np.log(2), -INF, -np.log(2)])


def test_infinite_values_are_kept():
    assert cr.logsumexp(np.array([INF, 0.0])) == INF
    assert cr.logsumexp(np.zeros((0,))) == -INF


def test_the_weights_of_logsumexp_are_differentiated():
    x, b = np.array([0.2, 1.0, -0.5]), np.array([1.5, 0.0, 2.0])
    total = np.sum(b * np.exp(x))
    into_x, into_b = gradient(cr.logsumexp_weighted, x, b)
    np.testing.assert_allclose(into_x, b * np.exp(x) / total, rtol=1e-14)
    np.testing.assert_allclose(into_b, np.exp(x) / total, rtol=1e-14)


def test_log_softmax_does_not_underflow():
    x = np.array([0.0, 800.0])
    np.testing.assert_array_equal(cr.log_softmax(x), [-800.0, 0.0])
    np.testing.assert_array_equal(gradient(lambda x: cr.log_softmax(x)[0], x), [1.0, -1.0])


# -- statistics --------------------------------------------------------------------------------


def test_the_weights_of_an_average_are_differentiated():
    x, w = np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.0, 2.5])
    into_x, into_w = gradient(lambda x, w: np.average(x, weights=w), x, w)
    np.testing.assert_allclose(into_x, w / w.sum(), rtol=1e-15)
    np.testing.assert_allclose(into_w, (x - np.average(x, weights=w)) / w.sum(), rtol=1e-14)


def test_cov_and_corrcoef_have_their_closed_derivatives():
    x, y = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.5, -1.0, 2.0, 0.3])
    into_x, into_y = gradient(lambda x, y: np.cov(x, y)[0, 1], x, y)
    np.testing.assert_allclose(into_x, (y - y.mean()) / 3, rtol=1e-13)
    np.testing.assert_allclose(into_y, (x - x.mean()) / 3, rtol=1e-13)
    u, v = (a - a.mean() for a in (x, y))
    r = np.corrcoef(x, y)[0, 1]
    into_x, _ = gradient(lambda x, y: np.corrcoef(x, y)[0, 1], x, y)
    expected = v / np.sqrt(u @ u * (v @ v)) - r * u / (u @ u)
    np.testing.assert_allclose(into_x, expected, rtol=1e-12)


def test_bincount_hands_each_weight_its_bin_s_adjoint():
    place = np.array([2, 0, 2, 3])
    g = gradient(lambda w: np.bincount(place, weights=w, minlength=6) @ np.arange(6.0), np.ones(4))
    np.testing.assert_array_equal(g, place)


def test_the_level_of_a_quantile_is_differentiated():
    x = np.array([3.0, 1.0, 2.5])  # sorted 1, 2.5, 3: slopes 2·1.5 and 2·0.5
    np.testing.assert_allclose(gradient(lambda q: np.quantile(x, q), 0.2), 3.0)
    np.testing.assert_allclose(gradient(lambda q: np.percentile(x, q), 60.0), 0.01)


def test_a_neighbour_with_weight_zero_is_not_read():
    value, g = cr.value_and_grad(lambda x: np.quantile(x, 0.5))(np.array([1.0, INF, -INF]))
    assert value == 1.0
    np.testing.assert_array_equal(g, [1, 0, 0])


def test_many_levels_at_once_take_little_memory():
    x = np.random.default_rng(0).normal(size=20_000)
    levels = np.linspace(0, 1, 2_000)  # 20 000 × 2 000 weights would be 320 MB
    g = gradient(lambda x: np.sum(np.quantile(x, levels)), x)
    np.testing.assert_allclose(g.sum(), len(levels), rtol=1e-12)


# -- differences -------------------------------------------------------------------------------


def test_differences_see_what_is_put_around_the_array():
    x, first = np.array([1.0, 4.0, 9.0]), np.array(0.5)
    into_x, into_first = gradient(lambda x, p: np.sum(np.diff(x, prepend=p) ** 2), x, first)
    d = np.diff(x, prepend=first)
    np.testing.assert_allclose(into_x, 2 * (d - [*d[1:], 0.0]))
    np.testing.assert_allclose(into_first, -2 * d[0])


def test_gradient_is_exact_on_parabolas_and_differentiates_its_coordinates():
    t = np.array([0.0, 0.5, 1.5, 1.75])
    slopes = np.gradient(cr.variable(t**2), t, edge_order=2)
    np.testing.assert_allclose(slopes.value, 2 * t, atol=1e-14)
    into_y, into_t = gradient(lambda y, t: np.trapezoid(y, x=t), t**2, t)
    np.testing.assert_allclose(into_y, [0.25, 0.75, 0.625, 0.125])
    ends = 0.5 * np.array([-(0 + 0.25), 0 - 2.25, 0.25 - 3.0625, 2.25 + 3.0625])
    np.testing.assert_allclose(into_t, ends)


# -- NumPy's other spellings -------------------------------------------------------------------

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
MASK = np.array([True, False, True])


@pytest.mark.parametrize(
    "f",
    [
        np.add.reduce,
        lambda x: np.multiply.reduce(x, axis=1),
        lambda x: np.maximum.reduce(x, axis=None),
        lambda x: np.add.accumulate(x, axis=1),
        np.multiply.accumulate,
        lambda x: np.sum(x, 0, None, None, True),
        lambda x: np.sum(a=x, axis=-1),
        lambda x: np.sum(x, where=MASK),
        lambda x: np.sum(x, axis=1, where=x > 0),
        lambda x: np.prod(x, axis=0, where=MASK, keepdims=True),
        lambda x: np.max(x, axis=1, where=MASK, initial=-9.0),
        lambda x: np.min(x, axis=0, initial=0.3),
        lambda x: np.mean(x, dtype=np.float32),
        lambda x: np.var(x, axis=1, ddof=1, mean=np.mean(x, axis=1, keepdims=True)),
        lambda x: np.std(x, axis=(0, 1), correction=1),
        lambda x: np.average(x, axis=1, weights=[1.0, 2.0, 3.0]),
        lambda x: np.quantile(x, [0.1, 0.6], axis=1, keepdims=True, method="hazen"),
        lambda x: np.percentile(x, q=30),
        lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
        lambda x: np.gradient(x, 0.5, axis=1),
        lambda x: np.cov(x, rowvar=False, bias=True),
        lambda x: x.sum(axis=1, keepdims=True),
        lambda x: x.mean(0),
        lambda x: x.std(axis=0, ddof=1),
        lambda x: x.cumsum(axis=1),
        lambda x: x.max(axis=1),
        lambda x: x.prod(),
    ],
)
def test_numpy_s_arguments_mean_what_they_mean_in_numpy(f):
    out = f(cr.variable(X))
    assert isinstance(out, cr.Variable)
    np.testing.assert_allclose(out.value, f(X), rtol=1e-6 if out.dtype == np.float32 else 1e-13)
    assert (out.shape, out.dtype) == (f(X).shape, f(X).dtype)


def test_indices_and_counts_are_integers_and_truths_are_booleans():
    x = cr.variable(X)
    for f, expected in [(np.argmax, 2), (np.argmin, 1), (np.count_nonzero, 6), (np.nanargmax, 2)]:
        assert f(x).value == expected
        assert f(x).dtype.kind == "i"
    assert np.any(x > 1.9).dtype == bool
    assert not np.all(x > 0)


def test_lanes_outside_where_are_structural_zeros():
    x = np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        g = gradient(lambda x: np.sum(1 / x, where=np.array([False, True])), x)
    np.testing.assert_array_equal(g, [0, -1 / 16])


# -- a traced graph is the function, not one run of it -----------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        np.max, np.prod, np.std, np.median, np.nanmedian, np.nanvar, np.corrcoef, cr.logsumexp,
        cr.softmax, cr.cummax, lambda x: np.quantile(x, 0.3, axis=0),
        lambda x: np.nanquantile(x, [0.2, 0.7], axis=1), lambda x: np.sum(x, where=x > 0),
    ],
)  # fmt: skip
def test_a_traced_reduction_decides_anew_at_each_point(f):
    rng = np.random.default_rng(1)
    graph = cr.trace(f, rng.normal(size=(3, 5)))
    elsewhere = 50 * rng.normal(size=(3, 5))
    if "nan" in getattr(f, "__name__", ""):
        elsewhere[1, 2] = NAN
    run = graph.forward(elsewhere)
    np.testing.assert_allclose(run.value(graph.outputs[0]), f(elsewhere), rtol=1e-13)


# -- mistakes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (lambda x: np.sum(x, axis=3), IndexError),
        (lambda x: np.max(x[:0]), ValueError),
        (lambda x: np.max(x, where=MASK), ValueError),
        (lambda x: np.nanargmax(x * NAN), ValueError),
        (lambda x: cr.order_statistic(x, np.array([3])), IndexError),
        (lambda x: cr.logsumexp(x, axis=7), IndexError),
    ],
)
def test_a_mistake_is_named_with_the_user_s_line(f, kind):
    with pytest.raises(cr.errors.ChainruleError, match=r"test_reductions\.py:\d+") as caught:
        f(cr.variable(X))
    assert isinstance(caught.value, kind)


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x: np.quantile(x, 1.5), "level lies in"),
        (lambda x: np.quantile(x, 0.5, method="guess"), "not a method"),
        (lambda x: np.quantile(x * 1j, 0.5), "no order"),
        (lambda x: np.average(x, weights=0 * X), "sum to zero"),
        (lambda x: np.average(x, weights=np.ones(3)), "the axis"),
        (lambda x: np.diff(x, n=-1), "-1 times"),
        (lambda x: np.var(x, ddof=1, correction=1), "one number"),
        (lambda x: np.gradient(x[:, :1]), "2 points"),
        (lambda x: np.bincount(np.array([0, -1]), weights=x[0, :2]), "not negative"),
        (np.cumulative_sum, "several axes"),
        (lambda x: np.sum(x, where=[1, 0, 1]), "takes booleans"),
    ],
)
def test_a_refusal_says_why(f, reason):
    with pytest.raises(cr.errors.ChainruleError, match=reason):
        f(cr.variable(X))


@pytest.mark.parametrize("f", [np.median, np.diff, np.trapezoid, np.ptp, np.var, np.nanmedian])
def test_an_axis_that_is_not_there_is_an_index_error(f):
    with pytest.raises(IndexError, match=r"test_reductions\.py:\d+"):
        f(cr.variable(X), axis=4)


def test_every_subset_of_axes_gives_the_same_gradient_as_its_flattening():
    x = np.random.default_rng(3).normal(size=(2, 3, 2))
    for size in range(1, 4):
        for axes in itertools.permutations(range(3), size):
            signed = tuple(a - 3 if a % 2 else a for a in axes)
            g = gradient(lambda x, axes=signed: np.sum(np.prod(x, axis=axes)), x)
            step = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
            moved = [
                np.sum(np.prod(x + s, axis=axes)) - np.sum(np.prod(x - s, axis=axes)) for s in step
            ]
            np.testing.assert_allclose(g.ravel(), np.array(moved) / 2e-6, atol=1e-8)


def test_a_masked_mean_follows_its_mask_to_another_point():
    graph = cr.trace(lambda x: np.mean(x, where=x > 0), np.array([1.0, -1.0, 3.0]))
    for point in ([1.0, -1.0, 3.0], [-1.0, -1.0, 5.0], [1.0, 2.0, 6.0]):
        x = np.array(point)
        run = graph.forward(x)
        assert run.value(graph.outputs[0]) == pytest.approx(x[x > 0].mean(), rel=1e-15)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.std(x, axis=1, where=X > -1, ddof=1),
        lambda x: np.var(x, where=X > 0, keepdims=True),
        lambda x: np.sum(x, axis=1, initial=2, where=X > 0),
        lambda x: np.prod(x, axis=1, initial=2.5, where=X > 0),
        lambda x: np.max(x, axis=1, initial=-9.0, where=X > 0),
        lambda x: np.min(x, axis=0, initial=9.0, where=X > 0),
        lambda x: np.nansum(x, axis=0, initial=2, where=X > 0),
        lambda x: np.nanmax(x, axis=0, initial=-9.0, where=X > 0),
        lambda x: np.nanmean(x, axis=1, where=X > -9),
        lambda x: np.add.reduce(x, axis=1, initial=2),
        lambda x: np.add.reduce(x, axis=1, where=X > 0),
        lambda x: np.cumulative_prod(x, axis=1, include_initial=True, dtype=complex),
        lambda x: np.sum(x, dtype=complex) + np.cumsum(x, dtype=complex) + np.mean(x, dtype="c16"),
    ],
)
def test_options_of_reductions(call):
    found = call(cr.variable(X))
    np.testing.assert_allclose(found.value, call(X), rtol=1e-14)
    assert found.dtype == call(X).dtype
    cr.check_grads(lambda x: np.real(np.sum(call(x))), X)


def test_a_masked_std_without_spread_has_zero_slope():
    x, mask = np.array([1.0, 5.0, 1.0]), np.array([True, False, True])
    np.testing.assert_array_equal(cr.grad(lambda x: np.std(x, where=mask))(x), np.zeros(3))
    assert np.isnan(cr.grad(lambda x: np.std(x, where=mask))(np.array([np.nan, 5.0, 1.0]))[0])
