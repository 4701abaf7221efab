"""Random numbers are those of the published generator, unrelated between keys, and reproducible."""

import numpy as np
import pytest
from scipy import stats

import chainrule as cr

COUNT = 200_000


def test_known_answers():
    """Philox-4x64-10 of Random123 (kat_vectors): counter, key, and the four words they give."""
    answers = {
        0: "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b",
        2**64 - 1: "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0",
    }
    for every, words in answers.items():  # all words of counter and key alike
        counter = sum(every << (64 * i) for i in range(4)) - 1  # NumPy counts, then draws
        philox = np.random.Philox(key=np.full(2, every, np.uint64), counter=counter % 2**256)
        assert [f"{word:016x}" for word in philox.random_raw(4)] == words.split()


def test_numbers_are_kept_from_release_to_release():
    key = cr.key(0)
    assert [f"{k:016x}" for k in key] == ["db2cd7e7b0f478be", "abf4641a2c71ba49"]
    assert [f"{k:016x}" for k in cr.split_key(key)[0]] == ["49b8539cf5a902b4", "1e1302b0ee5aadf8"]
    assert cr.random_uniform(key, 2).tolist() == [0.014067035665647709, 0.2577672456246177]
    assert float(cr.random_normal(key)) == pytest.approx(-0.008211587544399778, rel=1e-15)


def test_words_are_those_of_the_key():
    key = np.array([11, 22], np.uint64)
    expected = np.random.Philox(key=key).random_raw(6)
    np.testing.assert_array_equal(cr.random_bits(key, (2, 3)).ravel(), expected)
    np.testing.assert_array_equal(cr.random_uniform(key, 6), (expected >> np.uint64(11)) / 2.0**53)
    narrow = cr.random_uniform(key, 6, dtype=np.float32)
    np.testing.assert_array_equal(narrow, (expected >> np.uint64(40)) / 2.0**24)
    assert narrow.dtype == np.float32


def test_bytes_are_equally_likely():
    words = cr.random_bits(cr.key(1), COUNT)
    counts = np.bincount(words.view(np.uint8), minlength=256)
    assert 0.001 < stats.chisquare(counts).pvalue < 0.999
    shares = [np.mean((words >> np.uint64(bit)) & np.uint64(1)) for bit in range(64)]
    np.testing.assert_allclose(shares, 0.5, atol=4.5 * 0.5 / np.sqrt(COUNT))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uniform(dtype):
    u = cr.random_uniform(cr.key(2), COUNT, dtype=dtype)
    assert u.dtype == dtype
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean(dtype=float) - 1 / 2) < 4.5 * np.sqrt(1 / 12 / COUNT)
    assert abs(u.var(dtype=float) - 1 / 12) < 4.5 * np.sqrt(1 / 180 / COUNT)
    assert stats.kstest(u, "uniform").pvalue > 0.001


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_normal(dtype):
    z = cr.random_normal(cr.key(3), COUNT, dtype=dtype)
    assert z.dtype == dtype
    assert abs(z.mean(dtype=float)) < 4.5 / np.sqrt(COUNT)
    assert abs(z.var(dtype=float) - 1) < 4.5 * np.sqrt(2 / COUNT)
    assert stats.kstest(z, "norm").pvalue > 0.001
    assert 4 < np.abs(z).max() < 7


def related(a, b):
    """The correlation of two samples in units of what chance makes of it."""
    return abs(np.corrcoef(a, b)[0, 1]) * np.sqrt(len(a))


def test_neighbouring_keys_are_unrelated():
    count = 20_000
    plain = [np.array([n, 0], np.uint64) for n in range(6)]  # they differ in one bit or two
    seeds = [cr.key(seed) for seed in range(6)]
    parts = [*cr.split_key(cr.key(0), 6)]
    for keys in (plain, seeds, parts):
        drawn = [cr.random_uniform(key, count) for key in keys]
        pairs = [related(a, b) for i, a in enumerate(drawn) for b in drawn[:i]]
        assert max(pairs) < 4.5
    u = cr.random_uniform(cr.key(0), count)
    assert max(related(u[lag:], u[:-lag]) for lag in (1, 2, 3, 4, 7, 64)) < 4.5
    # The first numbers of many keys are a sample too.
    firsts = np.array([cr.random_uniform(cr.key(seed)) for seed in range(2000)])
    assert stats.kstest(firsts, "uniform").pvalue > 0.001


def test_new_keys_are_not_among_the_numbers_of_the_old_one():
    key = cr.key(5)
    parts = cr.split_key(key, 100)
    assert parts.shape == (100, 2)
    assert parts.dtype == np.uint64
    words = np.concatenate([cr.random_bits(key, 10_000), parts.ravel()])
    assert len(np.unique(words)) == len(words)
    np.testing.assert_array_equal(parts[:3], cr.split_key(key, 3))


def noise(x, key):
    first, second = cr.split_key(key)
    kept = cr.random_uniform(first, x.shape) < 0.5
    return np.sum(np.where(kept, x, 0.0) ** 2 * cr.random_normal(second, x.shape))


def test_inside_derivatives():
    x, key = np.linspace(1, 2, 6), cr.key(9)
    kept = cr.random_uniform(cr.split_key(key)[0], 6) < 0.5
    expected = 2 * x * kept * cr.random_normal(cr.split_key(key)[1], 6)
    np.testing.assert_allclose(cr.grad(noise)(x, key), expected, rtol=1e-14)
    cr.check_grads(lambda x: noise(x, key), x)


def test_a_new_key_is_not_recorded():
    fast, x = cr.compile(cr.value_and_grad(noise)), np.linspace(1, 2, 6)
    values = set()
    for seed in range(5):
        value, gradient = fast(x, cr.key(seed))
        expected, slope = cr.value_and_grad(noise)(x, cr.key(seed))
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-12)
        values.add(float(value))
    assert len(values) == 5
    assert fast.recordings == 1


def test_a_key_has_no_derivative():
    with pytest.raises(cr.ChainruleError, match="uint64"):
        cr.grad(noise, argnums=1)(np.ones(3), cr.key(0))


@pytest.mark.parametrize(
    ("run", "error", "named"),
    [
        (lambda: cr.key(-1), cr.ArgumentError, r"cr\.key\(-1\)"),
        (lambda: cr.key(0.5), cr.ArgumentError, r"cr\.key\(0\.5\)"),
        (lambda: cr.random_uniform(3, 4), cr.DTypeError, r"key\(seed\).*int64 of shape \(\)"),
        (lambda: cr.random_normal([1, 2], 4), cr.DTypeError, "got int64"),
        (lambda: cr.random_bits(cr.split_key(cr.key(0)), 4), cr.DTypeError, r"shape \(2, 2\)"),
        (lambda: cr.split_key(cr.key(0), -1), cr.ArgumentError, r"-1"),
        (lambda: cr.random_uniform(cr.key(0), (2, -1)), cr.ArgumentError, r"shape=\(2, -1\)"),
        (lambda: cr.random_uniform(cr.key(0), 2, dtype=int), cr.DTypeError, "float64 or float32"),
    ],
)  # fmt: skip
def test_what_is_no_key_is_named(run, error, named):
    with pytest.raises(error, match=named):
        run()
