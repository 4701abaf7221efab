"""Memory with the first axis last: the same results, also where everything is put so."""

from dataclasses import replace

import numpy as np
import pytest

import chainrule as cr
from chainrule.lower import build
from chainrule.lower.plan import arrange, loops, split, stream
from chainrule.lower.target import host
from tests.agree.test_random_programs import blocks, named
from tests.run.test_random_programs import assert_compiles
from tests.sweeps import sampled

pytest.importorskip("llvmlite")


def classes(w, x, y):
    z = x @ w
    return np.mean(cr.logsumexp(z, axis=1) - np.sum(z * y, axis=1))


def mixture(w, x, y):
    z = (x @ w).reshape(len(x), 5, -1) - y[:, :5, None]
    return np.sum(cr.logsumexp(-np.sum(z * z, axis=2), axis=1))


def ordered_values(fast):
    (variant,) = next(iter(fast.variants.values()))
    return [v for v in variant.run.module.plan.order if v.order is not None]


@pytest.mark.parametrize("f", [classes, mixture])
@pytest.mark.parametrize("rows", [100, 1001, 20_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_points_are_put_last(f, rows, dtype):
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(8, 10)), rng.normal(size=(rows, 8)), rng.normal(size=(rows, 10))
    args = [a.astype(dtype) for a in arrays]
    gradient = cr.value_and_grad(f, (0, 1, 2))
    fast = cr.compile(gradient)
    value, found = fast(*args)
    assert ordered_values(fast), "nothing was put in another order, so this tests nothing"
    near = 1e-12 if dtype is np.float64 else 1e-4
    expected_value, expected = gradient(*args)
    np.testing.assert_allclose(value, expected_value, rtol=near)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=near * np.abs(b).max())


def test_long_rows_stay_as_they_are():
    fast = cr.compile(cr.grad(lambda x: np.sum(np.exp(x - np.max(x, axis=1, keepdims=True)))))
    fast(np.random.default_rng(0).normal(size=(500, 64)))
    assert not ordered_values(fast)


@pytest.mark.parametrize("block", sampled(blocks(0, 60), 2), ids=named)
def test_random_programs_with_everything_in_that_order(block, monkeypatch):
    monkeypatch.setattr(arrange, "LONG_AXIS", 1)
    monkeypatch.setattr(arrange, "SHORT_AXIS", 10**9)
    assert_compiles(block)


@pytest.mark.parametrize("block", sampled(blocks(60, 100), 2), ids=named)
def test_random_programs_in_that_order_in_tiles_and_chunks(block, monkeypatch):
    for module, name, value in (
        (arrange, "LONG_AXIS", 1), (arrange, "SHORT_AXIS", 10**9), (stream, "MIN_TILE_ROWS", 2),
        (build, "host", lambda: replace(host(), cache_bytes=64, chunk_seconds=1e-30)),
        (stream, "MIN_SAVED_BYTES", 0), (split, "MAX_SUMMING_SHARE", 1e30),
        (split, "CHUNK_ROW_MULTIPLE", 1),
        (loops, "MAX_JAMMED_ROWS", 3),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    assert_compiles(block)


def test_what_is_read_beside_an_input_lies_as_that_does():
    """The update of weights with a short last axis runs over all of them in one loop."""
    rng = np.random.default_rng(0)
    w, x, g = rng.normal(size=(784, 10)), rng.normal(size=(32, 784)), rng.normal(size=(32, 10))
    fast = cr.compile(lambda w, x, g: w - 0.1 * (x.T @ g))
    np.testing.assert_allclose(fast(w, x, g), w - 0.1 * (x.T @ g), rtol=1e-12, atol=1e-13)
    assert "kernel 7840" in fast.report()
