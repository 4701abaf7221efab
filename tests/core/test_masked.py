"""Masked (`depends.py` says where): what was computed in a dead lane is thrown away, no more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import chainrule as cr
from chainrule.core.masked import Masked, gated, masked, plain, unmasked, within

SHAPES = hnp.array_shapes(max_dims=2, max_side=4)
VALUES = st.floats(width=32) | st.just(np.inf) | st.just(np.nan)


@st.composite
def lanes(draw, count=1):
    """Arrays, some of their lanes not finite, each with the lanes that are alive."""
    shape = draw(SHAPES)
    return [
        (draw(hnp.arrays(np.float64, shape, elements=VALUES)), draw(hnp.arrays(bool, shape)))
        for _ in range(count)
    ]


@given(lanes())
def test_dead_lanes_are_zero_and_live_ones_untouched(drawn):
    ((value, alive),) = drawn
    made = masked(value, alive)
    kept = unmasked(made)
    assert kept[alive].tobytes() == value[alive].tobytes()
    assert not kept[~alive].any()
    assert not np.signbit(kept[~alive]).any()
    assert (type(made) is Masked) == (not alive.all())
    assert (made.shape, made.dtype) == (value.shape, value.dtype)


@given(lanes(count=3))
def test_a_sum_is_alive_where_one_term_is(drawn):
    a, b, c = (masked(v, m) for v, m in drawn)
    with np.errstate(all="ignore"):
        left, right, turned = (a + b) + c, a + (b + c), c + (b + a)
        alive = np.any([m for _, m in drawn], axis=0)
    for total in (left, right, turned):
        found = total.alive if type(total) is Masked else np.ones(alive.shape, bool)
        np.testing.assert_array_equal(found | alive, found)
        assert not unmasked(total)[~found].any()
    np.testing.assert_array_equal(unmasked(left), unmasked(turned))


@given(lanes())
def test_a_plain_term_makes_every_lane_alive(drawn):
    ((value, alive),) = drawn
    term = Masked(np.where(alive, value, 0.0), alive)
    ones = np.ones(value.shape)
    for total in (term + ones, ones + term):
        assert type(total) is np.ndarray
        np.testing.assert_array_equal(total, np.where(alive, value, 0.0) + 1.0)


@given(lanes(count=2))
def test_within_keeps_what_both_masks_keep(drawn):
    (value, alive), (_, other) = drawn
    made = within(masked(value, alive), other)
    np.testing.assert_array_equal(unmasked(made), np.where(alive & other, value, 0.0))
    np.testing.assert_array_equal(getattr(made, "alive", True), alive & other)


@pytest.mark.parametrize(
    ("value", "alive"), [((3,), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3))]
)
def test_within_broadcasts(value, alive):
    value, alive = np.full(value, np.nan), np.arange(np.prod(alive)).reshape(alive) % 2 == 1
    made = within(value, alive)
    assert made.shape == made.alive.shape == np.broadcast_shapes(value.shape, alive.shape)
    np.testing.assert_array_equal(np.isnan(made.value), np.broadcast_to(alive, made.shape))


def test_nothing_within_a_mask_is_nothing():
    assert within(None, np.array([True])) is None


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.complex64, np.complex128])
def test_the_dtype_stays(kind):
    value, alive = np.ones(2, kind), np.array([True, False])
    for made in (masked(value, alive), within(value, alive), gated(value, alive)):
        assert made.dtype == kind


def test_weights_whose_zeros_are_structural():
    g = np.array([np.nan, np.inf, 3.0, 4.0])
    with np.errstate(invalid="ignore"):  # as the walks do
        made = gated(g, np.array([0.0, 0.0, 0.5, 1.0]))
    np.testing.assert_array_equal(made.value, [0.0, 0.0, 1.5, 4.0])
    np.testing.assert_array_equal(made.alive, [False, False, True, True])
    chosen = gated(g, np.array([False, True, True, False]))
    np.testing.assert_array_equal(chosen.value, [0, np.inf, 3, 0])
    assert type(gated(g, np.full(4, 2.0))) is np.ndarray, "no zero, no mask"


def test_a_variable_stays_recorded():
    x = cr.variable([np.inf, 2.0])
    made = masked(x * 3.0, np.array([False, True]))
    assert isinstance(made.value, cr.Variable)
    assert plain(made) is made.value._value
    np.testing.assert_array_equal(plain(made), [0.0, 6.0])
    made.value.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [0.0, 3.0])
    weights = cr.variable([0.0, 1.0])
    assert type(gated(np.ones(2), weights).value) is np.ndarray, "a gate has no derivative"


def test_plain_of_everything():
    array = np.ones(2)
    assert plain(array) is array
    assert plain(Masked(array, array > 0)) is array
    assert plain(cr.variable(2.0)) == 2.0
    assert unmasked(None) is None


# ---- through whole programs ---------------------------------------------------------------------

SELECTS = {
    "where": lambda y, m: np.where(m, y, 0.0),
    "where, other side": lambda y, m: np.where(~m, 0.0, y),
    "times a mask": lambda y, m: y * m,
    "boolean index": lambda y, m: y[m],
    "integer index": lambda y, m: y[np.flatnonzero(m)],
    "sum where": lambda y, m: np.sum(y, where=m),
    "overwritten": lambda y, m: written(y, ~m),
    "compress": lambda y, m: np.compress(m, y),
    "take": lambda y, m: np.take(y, np.flatnonzero(m)),
    "delete": lambda y, m: np.delete(y, np.flatnonzero(~m)),
}
SINGULAR = {
    "log": np.log,
    "sqrt": np.sqrt,
    "reciprocal": lambda x: 1 / x,
    "power": lambda x: x**-0.5,
    "quotient": lambda x: x / x,
    "arccosh of more": lambda x: np.arccosh(1 + x),
    "two steps": lambda x: np.exp(1 / x) * np.log(x),
}


def written(y, where):
    y = y * 1.0
    y[where] = 0.0
    return y


@pytest.mark.parametrize("singular", SINGULAR)
@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("taken", ["1", "0", "101", "0011"])
def test_a_lane_not_selected_gives_an_exact_zero(select, singular, taken):
    """Reverse, forward and second order, at a point where the lanes not taken are singular."""
    mask = np.array([t == "1" for t in taken])
    point = np.where(mask, np.arange(len(mask)) + 1.5, 0.0)

    def f(x):
        return np.sum(SELECTS[select](SINGULAR[singular](x), mask))

    def reduced(x):
        return np.sum(SINGULAR[singular](x))

    with np.errstate(all="ignore"):
        gradient = cr.grad(f)(point)
        assert not gradient[~mask].any()
        assert not np.isnan(gradient).any()
        if mask.any():
            np.testing.assert_allclose(gradient[mask], cr.grad(reduced)(point[mask]), rtol=1e-12)
        tangent = cr.jvp(f, (point,), (np.ones(len(mask)),))[1]
        np.testing.assert_allclose(tangent, np.sum(gradient), rtol=1e-12, atol=1e-300)
        curvature = cr.hvp(f, (point,), (np.ones(len(mask)),))
        assert not np.asarray(curvature)[~mask].any()
        assert np.isfinite(curvature).all()
