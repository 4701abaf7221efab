"""Short rows that each add up to a number: several at a time, and all their lanes together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainrule as cr

pytest.importorskip("llvmlite")

FUNCTIONS = {
    "dot": lambda x, w: x @ w,
    "two": lambda x, w: np.sum(x * w, 1) + np.sum(x * x, 1),
    "least": lambda x, w: np.min(x - w, 1),
    "kept": lambda x, w: (x * w, np.sum(x * w, 1)),
}


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.integers(1, 40),
    st.integers(1, 600),
    st.sampled_from([np.float64, np.float32]),
)
def test_any_number_of_rows_and_columns(name, rows, columns, dtype):
    rng = np.random.default_rng(rows * columns)
    x, w = rng.normal(size=(rows, columns)).astype(dtype), rng.normal(size=columns).astype(dtype)
    found, expected = cr.compile(FUNCTIONS[name])(x, w), FUNCTIONS[name](x, w)
    bound = 40 * np.finfo(dtype).eps * columns
    for a, b in zip(*(v if name == "kept" else [v] for v in (found, expected)), strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=bound)


@pytest.mark.parametrize("columns", [8, 15, 100, 500])
def test_a_row_does_not_depend_on_how_many_there_are(columns):
    rng = np.random.default_rng(columns)
    x, w = rng.normal(size=(23, columns)), rng.normal(size=columns)
    fast = cr.compile(FUNCTIONS["dot"])
    every = fast(x, w)
    assert "8 rows at once" in fast.report()
    for rows in (8, 9, 12, 15, 16, 17, 22):
        np.testing.assert_array_equal(fast(x[:rows], w), every[:rows])


def test_infinities_and_nan_stay_in_their_rows():
    x = np.ones((20, 33))
    x[3, 32], x[11, 0], x[19, 7] = np.inf, np.nan, -np.inf
    found = cr.compile(lambda x: np.sum(x, 1))(x)
    np.testing.assert_array_equal(found, np.sum(x, 1))


def test_long_rows_are_summed_one_by_one():
    x, w = np.ones((20, 5000)), np.ones(5000)
    fast = cr.compile(FUNCTIONS["dot"])
    np.testing.assert_array_equal(fast(x, w), np.full(20, 5000.0))
    assert "rows at once" not in fast.report()
