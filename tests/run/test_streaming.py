"""Programs over many rows, run tile by tile: the same results, in memory that does not grow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainrule as cr
from chainrule.lower.plan import stream

pytest.importorskip("llvmlite")


def module_of(compiled):
    (variants,) = compiled.variants.values()
    return variants[0].run.module


def network(w, v, x, y):
    h = np.tanh(x @ w)
    return -np.mean(np.sum(cr.log_softmax(h @ v, axis=1) * y, axis=1))


def normalised(w, v, x, y):
    """Rows wait for a sum over all rows: two stages."""
    h = x @ w
    h = (h - np.mean(h, axis=0)) / np.sqrt(np.var(h, axis=0) + 1e-5)
    return np.sum((np.exp(-h * h) @ v - y) ** 2)


def data(rows, width=40, out=8, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(width, 64)) / 6,
        rng.normal(size=(64, out)) / 8,
        rng.normal(size=(rows, width)),
        rng.normal(size=(rows, out)),
    )


@pytest.mark.parametrize("f", [network, normalised])
@pytest.mark.parametrize("rows", [2048, 3001, 5000])
def test_gradients_by_tiles(f, rows):
    args = data(rows)
    gradient = cr.value_and_grad(f, (0, 1, 2))
    fast = cr.compile(gradient)
    value, found = fast(*args)
    expected_value, expected = gradient(*args)
    assert module_of(fast).plan.regions, "nothing was streamed, so this tests nothing"
    np.testing.assert_allclose(value, expected_value, rtol=1e-12)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14 * np.abs(b).max())


@pytest.mark.parametrize("f", [network, normalised])
@pytest.mark.parametrize("rows", [64 * 44 + 1, 64 * 47 + 1, 64 * 48 + 2])
def test_a_last_tile_of_one_row(f, rows, monkeypatch):
    """Products along the rows and over them; in every region the last tile has what is left."""
    monkeypatch.setattr(stream, "_tile", lambda rows, fitting, least: 64)
    args = data(rows)
    gradient = cr.value_and_grad(f, (0, 1, 2))
    fast = cr.compile(gradient)
    value, found = fast(*args)
    assert rows % 64 in {r.rows % r.tile for r in module_of(fast).plan.regions}
    expected_value, expected = gradient(*args)
    np.testing.assert_allclose(value, expected_value, rtol=1e-12)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14 * np.abs(b).max())


def test_memory_does_not_grow_with_the_rows():
    arenas = []
    for rows in (65536, 131072):  # with as many chunks, each with sums of its own
        fast = cr.compile(cr.grad(network, (0, 1)))
        fast(*data(rows))
        memory = module_of(fast).memory
        arenas.append((memory.arena, memory.local, memory.threads))
    assert arenas[0] == arenas[1]


@settings(max_examples=15, deadline=None)
@given(st.integers(700, 2500), st.integers(20, 300))
def test_any_number_of_rows(rows, width):
    rng = np.random.default_rng(rows)
    x, w = rng.normal(size=(rows, width)), rng.normal(size=width)

    def f(w, x):
        z = np.exp(-np.abs(x * w)) + np.sum(x, axis=1, keepdims=True)
        return np.sum(np.sqrt(z * z + 1.0), axis=0), np.max(z, axis=1)

    fast = cr.compile(f)
    for a, b in zip(fast(w, x), f(w, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14 * np.abs(b).max())


def test_rows_that_are_columns_elsewhere():
    """A square matrix read by rows in one step and by columns in another; its update by tiles."""
    rng = np.random.default_rng(0)
    w, v = rng.normal(size=(300, 640)) / 20, rng.normal(size=(640, 640)) / 25
    x, y = rng.normal(size=(16, 300)), rng.normal(size=(16, 640))

    def step(w, v, x, y):
        def loss(w, v):
            return np.mean((np.tanh(np.tanh(x @ w) @ v) @ v.T - y) ** 2)

        gw, gv = cr.grad(loss, (0, 1))(w, v)
        return w - 0.1 * gw, v - 0.1 * gv

    fast = cr.compile(step)
    found = fast(w, v, x, y)
    assert module_of(fast).plan.regions
    for a, b in zip(found, step(w, v, x, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14 * np.abs(b).max())


def test_two_numbers_of_rows():
    """Gradient and update in one pass, of either matrix, though they have other rows."""
    rng = np.random.default_rng(0)
    w, v = (rng.normal(size=s).astype(np.float32) / 30 for s in ((640, 768), (768, 896)))
    x, y = (rng.normal(size=(32, n)).astype(np.float32) for n in (640, 896))

    def step(w, v, x, y):
        slopes = cr.grad(lambda w, v: np.mean((np.tanh(x @ w) @ v - y) ** 2), argnums=(0, 1))(w, v)
        return [p - np.float32(0.1) * g for p, g in zip((w, v), slopes, strict=True)]

    fast = cr.compile(step)
    for found, expected in zip(fast(w, v, x, y), step(w, v, x, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    module = module_of(fast)
    assert {r.rows for r in module.plan.regions if r.last > r.first} == {640, 768}
    assert module.memory.arena < min(w.nbytes, v.nbytes)
