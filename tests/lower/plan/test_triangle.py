"""Known zeros and what nobody reads are left out of products, and the results are the same."""

from dataclasses import replace

import numpy as np
import pytest

import chainrule as cr
from benchmarks.gmm import gmm_objective
from chainrule.lower import build
from chainrule.lower.build import Program
from chainrule.lower.plan import arrange, split, stream
from chainrule.lower.target import Target, host
from chainrule.lower.values import contract, cuts
from chainrule.lower.values.needed import Readers
from chainrule.lower.values.zeros import Zeros
from chainrule.record.specialise import GuardedTrace, specialised
from tests.agree.test_random_programs import blocks, named
from tests.run.test_random_programs import assert_compiles
from tests.sweeps import sampled

pytest.importorskip("llvmlite")

N = 12
SQUARE = np.random.default_rng(0).normal(size=(N, N))
TILES = (
    (stream, "MIN_TILE_ROWS", 2), (stream, "MIN_SAVED_BYTES", 0),
    (build, "host", lambda: replace(host(), cache_bytes=64, chunk_seconds=1e-30)),
    (split, "MAX_SUMMING_SHARE", 1e30), (split, "CHUNK_ROW_MULTIPLE", 1),
)  # fmt: skip
SMALLEST = (
    (cuts, "MIN_SAVED", 0), (cuts, "MIN_SAVED_SHARE", 1e-9),
    (cuts, "MIN_BLOCK_WIDTH", 1),
    (arrange, "SHORT_AXIS", 1), (contract, "MIN_BLAS_EXTENT", 2),
)  # fmt: skip


def program_of(f, *args):
    recording = specialised(f, args, {}, trace=GuardedTrace(holds=lambda array: False))
    return Program(recording.graph, recording.constants, triangular=False)


# -- which elements are zero -----------------------------------------------------------------------


def masked(x):
    return np.where(np.arange(N) % 3 == 0, x, 0.0)


def assigned(x):
    out = np.tril(x, -N)  # nothing but zeros
    out[np.tril_indices(N)] = x[np.tril_indices(N)]
    return out


def assigned_slices(x):
    out = np.tril(x, -N)  # nothing but zeros
    out[2:7, 1:4] = x[2:7, 1:4]
    return out


def taken(x):
    rows, columns = np.tril_indices(N)
    place = np.full((N, N), len(rows))
    place[rows, columns] = np.arange(len(rows))
    return np.concatenate([x[rows, columns], np.zeros(1)])[place]


CONSTRUCTIONS = [
    np.tril, np.triu, masked, assigned, assigned_slices, taken,
    lambda x: np.tril(x, -1) + np.diag(np.exp(x[0])),
    lambda x: np.tril(x, -3).T,
    lambda x: -np.triu(x, 2)[::-1, 1:],
    lambda x: np.tril(np.stack([x, x + 1])).reshape(2 * N, N).T,
    lambda x: np.concatenate([x, np.zeros((3, N)), np.triu(x)]),
    lambda x: np.block([[x, np.zeros((N, N))], [np.zeros((N, N)), x]]),
    lambda x: np.where(np.arange(N)[:, None] < np.arange(N), np.zeros((N, N)), np.tril(x, 2)),
    lambda x: np.tril(x) - np.tril(2 * x, -1),
]  # fmt: skip


@pytest.mark.parametrize("f", CONSTRUCTIONS)
def test_zeros_are_those_that_are_zero_at_random_inputs(f):
    program = program_of(f, SQUARE)
    (array,) = program.results
    found = Zeros().of(array.value)
    assert found is not None
    np.testing.assert_array_equal(found.reshape(array.shape), f(SQUARE) == 0)


@pytest.mark.parametrize(
    "f", [lambda x: x * np.eye(N), lambda x: 0.0 * x, lambda x: x - x, lambda x: np.tril(x) + x]
)
def test_what_an_infinity_makes_nan_is_not_zero(f):
    (array,) = program_of(f, SQUARE).results
    assert Zeros().of(array.value) is None


def test_an_array_from_outside_may_change():
    mask = np.tri(N, dtype=bool)
    fast = cr.compile(lambda x: np.where(mask, x, 0.0) @ x)
    np.testing.assert_allclose(fast(SQUARE), np.tril(SQUARE) @ SQUARE, rtol=1e-12)
    mask[...] = True
    np.testing.assert_allclose(fast(SQUARE), SQUARE @ SQUARE, rtol=1e-12)


# -- which elements are read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        np.tril,
        masked,
        assigned,
        lambda x: np.exp(np.tril(x)) + np.triu(x, 3),
        lambda x: np.sum(x[np.tril_indices(N)]),
        lambda x: np.concatenate([np.tril(x), np.tril(x, 2)]),
        lambda x: np.sin(x).reshape(-1)[::5][np.array([3, 1, 1])],
        lambda x: np.tril(x.T)[2:],
    ],
)
def test_needed_are_those_that_the_result_depends_on(f):
    program = program_of(f, SQUARE)
    (value,) = program.inputs
    found = Readers(program.outputs, Zeros()).needed(value)
    expected = np.zeros((N, N), bool)
    for at in np.ndindex(N, N):
        other = SQUARE.copy()
        other[at] += 1
        expected[at] = not np.array_equal(f(other), f(SQUARE.copy()))
    assert found is not None
    assert not np.any(expected & ~found)
    # A slice is a view of all that it is of: there alone more than that may be computed.
    if f(SQUARE).shape == (N, N):
        np.testing.assert_array_equal(found, expected)


# -- results ---------------------------------------------------------------------------------------


def mixture(n, d, K):
    rng = np.random.default_rng(n + d + K)
    icf = 0.1 * rng.normal(size=(K, d * (d + 1) // 2))
    return rng.normal(size=K), rng.uniform(size=(K, d)), icf, rng.normal(size=(n, d))


def likelihood(alphas, means, icf, x):
    return gmm_objective(alphas, means, icf, x, 1.0, 0)


def shares(fast):
    (variants,) = fast.variants.values()
    steps = [s for v in variants for s in v.run.module.plan.steps]
    return [s.share for s in steps if hasattr(s, "share")]


def assert_same(f, args, argnums, near=1e-12):
    gradient = cr.value_and_grad(f, argnums)
    fast = cr.compile(gradient)
    value, found = fast(*args)
    expected_value, expected = gradient(*args)
    np.testing.assert_allclose(value, expected_value, rtol=near)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=near * np.abs(b).max())
    return fast


SIZES = [(1000, 20, 50), (997, 33, 21), (130, 17, 70), (64, 64, 16), (5003, 16, 30), (300, 40, 3)]


@pytest.mark.parametrize("size", SIZES)
def test_mixture(size):
    fast = assert_same(likelihood, mixture(*size), (0, 1, 2))
    few = size[2] < arrange.SHORT_AXIS  # the adjoints of few triangles would fill no register
    assert (min if few else max)(shares(fast)) < 0.75


@pytest.mark.parametrize("size", SIZES[1:4])
@pytest.mark.parametrize("argnums", [(0, 1, 2), (2, 3)])
def test_mixture_in_tiles_and_chunks(size, argnums, monkeypatch):
    for module, name, value in TILES:
        monkeypatch.setattr(module, name, value)
    fast = assert_same(likelihood, mixture(*size), argnums)
    assert min(shares(fast)) < 0.75


@pytest.mark.parametrize("size", SIZES[1:4])
@pytest.mark.parametrize("settings", [(), TILES])
def test_mixture_by_blas(size, settings, monkeypatch):
    """As on a machine with narrow registers."""
    for module, name, value in settings:
        monkeypatch.setattr(module, name, value)
    target = build.host()
    monkeypatch.setattr(build, "host", lambda: replace(target, registers=0))
    fast = assert_same(likelihood, mixture(*size), (0, 1, 2))
    assert "BLAS, triangular" in fast.report()


def products(make):
    """Every way to multiply with a triangle, from the left and from the right."""
    return [
        lambda m, x: np.sum(np.sin(make(m) @ x)),
        lambda m, x: np.sum(np.sin(make(m).T @ x)),
        lambda m, x: np.sum(np.sin(x.T @ make(m))),
        lambda m, x: np.sum(np.sin(x.T @ make(m).T)),
        lambda m, x: np.sum(np.sin(make(m) @ make(m).T @ x)),
    ]


@pytest.mark.parametrize("narrow", [False, True])
def test_rows_of_nothing_but_zeros(narrow, monkeypatch):
    if narrow:
        monkeypatch.setattr(build, "host", lambda: Target(registers=0))
    rng = np.random.default_rng(0)
    m, x = rng.normal(size=(150, 150)), rng.normal(size=(150, 70))
    fast = cr.compile(lambda m, x: np.tril(m, -80) @ x)
    for _ in range(2):
        found = fast(m, x)
        np.testing.assert_allclose(found, np.tril(m, -80) @ x, rtol=1e-12, atol=1e-12)
        found[...] = np.nan  # whose memory the next result may have
        del found


@pytest.mark.parametrize("make", [np.tril, np.triu, lambda m: np.tril(np.triu(m, -9), 5)])
@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize("settings", [(), TILES])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_triangle(make, which, settings, dtype, monkeypatch):
    for module, name, value in settings:
        monkeypatch.setattr(module, name, value)
    rng = np.random.default_rng(0)
    args = rng.normal(size=(150, 150)).astype(dtype) / 10, rng.normal(size=(150, 70)).astype(dtype)
    near = 1e-12 if dtype is np.float64 else 1e-4
    fast = assert_same(products(make)[which], args, (0, 1), near)
    assert sorted(shares(fast))[1] < 0.75


@pytest.mark.parametrize("settings", [(), TILES])
def test_triangles_in_rows(settings, monkeypatch):
    """The triangles lie below each other in the first factor."""
    for module, name, value in settings:
        monkeypatch.setattr(module, name, value)

    def f(m, x):
        z = (np.tril(m).reshape(-1, 24) @ x).reshape(40, 24, 90)
        return np.sum(np.tanh(z) ** 2)

    rng = np.random.default_rng(0)
    assert_same(f, (rng.normal(size=(40, 24, 24)), rng.normal(size=(24, 90))), (0, 1))


@pytest.mark.parametrize("block", sampled(blocks(0, 60), 2), ids=named)
def test_random_programs_with_everything_cut(block, monkeypatch):
    for module, name, value in SMALLEST:
        monkeypatch.setattr(module, name, value)
    assert_compiles(block)


# -- infinities ------------------------------------------------------------------------------------


def lower_times(m, x):
    return np.tril(m) @ x


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("first", [True, False])
def test_zero_times_infinity_is_nan(odd, first):
    rng = np.random.default_rng(0)
    m, x = rng.normal(size=(120, 120)), rng.normal(size=(120, 60))
    bad = x.copy()
    bad[100, 3] = odd
    fast = cr.compile(lower_times)
    for given in (bad, x, bad, x) if first else (x, bad, bad, x):
        with np.errstate(invalid="ignore"):
            found, expected = fast(m, given), lower_times(m, given)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    (variants,) = fast.variants.values()
    assert [v.usual for v in variants] == [True, False]
    assert fast.direct is variants[0].direct


def test_infinity_in_the_triangle_itself_is_no_other_path():
    m, x = np.ones((120, 120)), np.ones((120, 60))
    m[7, 3] = np.inf
    fast = cr.compile(lower_times)
    np.testing.assert_array_equal(fast(m, x), lower_times(m, x))
    assert len(shares(fast)) == 1
    assert shares(fast)[0] < 0.75


# -- what is told ----------------------------------------------------------------------------------


def test_report_says_how_much_is_computed():
    fast = cr.compile(lower_times)
    fast(np.ones((128, 128)), np.ones((128, 64)))
    (line,) = [line for line in fast.report().splitlines() if "product" in line]
    assert "product (128, 128) · (128, 64)" in line
    assert line.endswith(", triangular: computes 62% of it")


def test_what_saves_little_is_left_alone():
    fast = cr.compile(lambda m, x: np.tril(m, 90) @ x)
    fast(np.ones((120, 120)), np.ones((120, 60)))
    assert shares(fast) == [1.0]
