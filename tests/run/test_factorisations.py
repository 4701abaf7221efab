"""Factorisations and solves as machine code: LAPACK's numbers, the interpreter's errors."""

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import chainrule as cr
from chainrule.lower.plan.fuse import Factored
from chainrule.run.threads import threads
from tests.agree.compiled import assert_agrees
from tests.run.test_indices import error_of
from tests.run.test_whole_networks import assert_compiles, assert_gradient_compiles, interpreted

pytest.importorskip("llvmlite")

rng = np.random.default_rng(0)
OFF = {"trans": 0, "unit_diagonal": False}


def square(*shape):
    """Well-conditioned and not symmetric."""
    return rng.normal(size=shape) + 4 * np.eye(shape[-1])


def positive(*shape):
    root = square(*shape)
    return root @ np.swapaxes(root, -1, -2)


def lower_solve(a, b):
    return cr.triangular_solve(a, b, lower=True, **OFF)


def asked(fast):
    """What LAPACK is called for, in every path."""
    return [
        step.value.params.name
        for variants in fast.variants.values()
        for v in variants
        for step in v.run.module.plan.steps
        if isinstance(step, Factored)
    ]


# -- a Gaussian process ----------------------------------------------------------------------------


def covariance(theta, x):
    apart = x[:, None] - x
    smooth = np.exp(theta[0] - 0.5 * apart * apart * np.exp(theta[1]))
    return smooth + np.exp(theta[2]) * np.eye(len(x))


def by_cholesky(theta, x, y):
    factor = np.linalg.cholesky(covariance(theta, x))
    white = cr.solve_triangular(factor, y, lower=True)
    return -0.5 * np.sum(white * white) - np.sum(np.log(np.diagonal(factor)))


def by_solve(theta, x, y):
    matrix = covariance(theta, x)
    return -0.5 * y @ np.linalg.solve(matrix, y) - 0.5 * np.linalg.slogdet(matrix)[1]


def by_eigenvalues(theta, x, y):
    values, vectors = np.linalg.eigh(covariance(theta, x))
    return -0.5 * np.sum((y @ vectors) ** 2 / values) - 0.5 * np.sum(np.log(values))


def derivatives(f):
    def curved(theta, x, y):
        return cr.hvp(lambda t: f(t, x, y), (theta,), (np.ones(3),))

    return {
        "gradient": cr.value_and_grad(f, (0, 1, 2)),
        "second": curved,
        "third": cr.grad(lambda theta, x, y: np.sum(curved(theta, x, y))),
    }


def assert_process_compiles(f, derivative, n):
    x = np.linspace(0.0, 6.0, n)
    assert_compiles(derivatives(f)[derivative], np.array([0.1, 0.2, -1.0]), x, np.sin(x))


@pytest.mark.parametrize("n", [1, 5, 30])
@pytest.mark.parametrize("f", [by_cholesky, by_solve])
def test_the_gradient_of_a_gaussian_process_is_compiled_whole(f, n):
    assert_process_compiles(f, "gradient", n)


@pytest.mark.parametrize("derivative", ["gradient", "second"])
def test_a_gaussian_process_by_eigenvalues(derivative):
    assert_process_compiles(by_eigenvalues, derivative, 4)


@pytest.mark.parametrize("f", [by_cholesky, by_solve])
def test_the_second_derivative_of_a_gaussian_process(f):
    assert_process_compiles(f, "second", 9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 5, 30])
@pytest.mark.parametrize("derivative", ["second", "third"])
@pytest.mark.parametrize("f", [by_cholesky, by_solve])
def test_higher_derivatives_of_a_gaussian_process(f, derivative, n):
    assert_process_compiles(f, derivative, n)


def test_one_factorisation_serves_everything():
    def f(a, b):
        solved = np.linalg.solve(a, b) + np.linalg.solve(a.T, b) @ np.linalg.inv(a)[:4, :4]
        return np.sum(solved) + np.linalg.slogdet(a.T)[1] + np.linalg.det(a)

    fast = cr.compile(cr.grad(f, (0, 1)))
    fast(square(6, 6), rng.normal(size=(6, 4)))
    assert sum(name.startswith("LU") for name in asked(fast)) == 1


# -- every memory order, stacks, types -------------------------------------------------------------

SEEN = {
    "rows": lambda a: a,
    "columns": lambda a: np.swapaxes(a, -1, -2),
    "a part": lambda a: a[..., 1:, :-1],
    "reversed": lambda a: a[..., ::-1, ::-1],
    "computed": lambda a: np.exp(0.1 * a) + 4 * np.eye(a.shape[-1]),
    "computed, columns": lambda a: np.swapaxes(np.exp(0.1 * a), -1, -2) + 4 * np.eye(a.shape[-1]),
}


def turned_around(a):
    """The stack lies innermost."""
    return np.moveaxis(np.moveaxis(a, 0, -1) * 2.0, -1, 0)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("shape", [(7, 7), (2, 3, 7, 7)])
def test_matrices_in_any_order(seen, shape):
    a, see = square(*shape), SEEN[seen]
    if seen in ("a part", "reversed"):
        a = a + 4 * np.eye(7, k=-1)

    def f(a):
        a = see(a)
        values = np.linalg.svd(a, full_matrices=False)[1]
        return np.linalg.inv(a), np.linalg.slogdet(a), values, np.linalg.qr(a)

    assert_compiles(f, a)


@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize("of_b", ["rows", "columns", "reversed"])
@pytest.mark.parametrize("of_a", ["rows", "columns", "reversed", "computed"])
def test_right_sides_in_any_order(of_a, of_b, columns):
    a, b = square(7, 7), rng.normal(size=(columns, 7) if of_b == "columns" else (7, columns))
    see_a, see_b = SEEN[of_a], SEEN[of_b]
    every = list(product((True, False), (0, 1), (True, False)))

    def f(a, b):
        a, b = see_a(a), see_b(b)
        half = 0.1 * a + np.eye(7)  # so that the inverse of a triangle stays small
        return np.linalg.solve(a, b), [
            cr.triangular_solve(half, b, lower=lower, trans=trans, unit_diagonal=unit)
            for lower, trans, unit in every
        ]

    assert_compiles(f, a, b)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("seen", ["rows", "columns", "reversed"])
@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (4, 6, 6)])
def test_a_cholesky_factor_of_either_triangle(shape, seen, upper):
    a = positive(*shape) + 0.01 * rng.normal(size=shape)  # the other triangle is not read
    see = SEEN[seen]
    assert_gradient_compiles(lambda a: np.sum(np.linalg.cholesky(see(a), upper=upper) ** 3), a)


STACKS = [
    ((5, 4, 4), (5, 4, 2)), ((4, 4), (5, 4, 2)), ((5, 4, 4), (4, 2)), ((2, 1, 4, 4), (3, 4, 1)),
    ((1, 4, 4), (2, 3, 4, 2)), ((3, 4, 4), (1, 4, 2)), ((2, 3, 1, 1), (1, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("of_a", "of_b"), STACKS)
@pytest.mark.parametrize("solve", [np.linalg.solve, lower_solve])
def test_stacks_of_systems(solve, of_a, of_b):
    def f(a, b):
        return np.sum(solve(a, b) ** 3)

    assert_gradient_compiles(f, square(*of_a), rng.normal(size=of_b), argnums=(0, 1))


def test_a_stack_that_lies_innermost():
    a, b = square(5, 4, 4), rng.normal(size=(5, 4, 3))
    for solve in (np.linalg.solve, lower_solve):
        assert_compiles(lambda a, b, s=solve: s(turned_around(a), turned_around(b)), a, b)


def test_the_matrix_is_also_the_right_side():
    """Then the solution cannot take its memory: a large matrix is read while it is solved with."""
    a = 0.01 * square(800, 800)
    options = {"lower": True, "trans": 0, "unit_diagonal": True}

    def f(a):
        a = np.tanh(a)
        return cr.triangular_solve(a, a, **options) * 2.0

    np.testing.assert_allclose(cr.compile(f)(a), f(a), rtol=1e-9, atol=1e-12)


def test_what_is_overwritten_is_not_needed_again():
    """A factor takes the memory of its matrix only where nobody reads that later."""
    a, b = positive(9, 9), rng.normal(size=(9, 2))

    def f(a, b):
        matrix = a * 2.0
        factor = np.linalg.cholesky(matrix)
        right = b * 3.0
        return lower_solve(factor, right) + right, factor @ matrix, np.linalg.inv(matrix)

    assert_compiles(f, a, b)


def test_a_factor_takes_the_memory_of_its_matrix():
    fast = cr.compile(lambda a: np.sum(np.linalg.slogdet(a * 2.0)[1]))
    fast(square(64, 64))
    ((variant,),) = fast.variants.values()
    assert variant.run.module.memory.arena < 1.5 * 64 * 64 * 8


NARROW = {
    "cholesky": lambda a: np.linalg.cholesky(a @ a.T),
    "solve": lambda a: np.linalg.solve(a, a[:, :2] ** 2),
    "triangular": lambda a: lower_solve(a, a[:, :2]),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "eigh": lambda a: np.linalg.eigh(a @ a.T)[0],
    "qr": lambda a: np.linalg.qr(a)[1],
    "svd": lambda a: np.linalg.svd(a)[1],
}


@pytest.mark.parametrize("name", NARROW)
def test_float32_is_computed_in_float32(name):
    a, f = square(5, 5).astype(np.float32), NARROW[name]
    fast = cr.compile(f)
    assert fast(a).dtype == np.float32
    ((variant,),) = fast.variants.values()
    assert not any(f"@cr_d{routine}" in variant.run.module.text for routine in ("get", "po", "tr"))
    gradient = cr.grad(lambda a: np.sum(f(a) ** 2))
    expected = gradient(a.astype(float))  # in float64: routines err by more than one rounding
    error = np.abs(cr.compile(gradient)(a) - expected).max() / np.abs(expected).max()
    assert error < 1e-5


@pytest.mark.parametrize("shape", [(90, 90), (200, 7), (60, 41), (7, 200), (130, 1), (1, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_routines_have_enough_memory_to_work_in(shape, dtype):
    """One that has not says so, and the interpreter would be asked."""

    def f(a):
        square = a @ a.T / shape[1] + np.eye(shape[0], dtype=a.dtype)
        found = [np.linalg.svd(a, full_matrices=full)[1] for full in (True, False)]
        found += [np.linalg.eigh(square)[0], np.linalg.inv(square)]
        if shape[0] >= shape[1]:
            found += [np.abs(np.linalg.qr(a, mode)[1]) for mode in ("reduced", "complete")]
        return found

    a = rng.normal(size=shape).astype(dtype)
    fast = cr.compile(f)
    digits = {"rtol": 1e-9, "atol": 1e-11} if dtype is np.float64 else {"rtol": 1e-2, "atol": 1e-3}
    for found, expected in zip(fast(a), f(a), strict=True):
        np.testing.assert_allclose(found, expected, **digits)
    assert interpreted(fast) == []


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 3, 3)])
def test_nothing_to_factor(shape):
    a, b = np.zeros(shape), np.zeros((*shape[:-1], 2))
    every = (np.linalg.cholesky, np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.eigh)
    assert_compiles(lambda a: [f(a) for f in every], a)
    for f in (np.linalg.solve, lower_solve):
        assert_agrees(cr.value_and_grad(lambda a, b, f=f: np.sum(f(a, b))), a, b)
    assert_agrees(lambda a: np.linalg.svd(a, full_matrices=False)[1], a)


def test_no_right_side():
    assert_compiles(np.linalg.solve, square(3, 3), np.zeros((3, 0)))


# -- what goes wrong -------------------------------------------------------------------------------

SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]])
FAILING = {
    "solve": (lambda a: np.linalg.solve(a, a[0]), SINGULAR),
    "transposed": (lambda a: np.linalg.solve(a.T, a), SINGULAR),
    "inv": (lambda a: np.linalg.inv(a), SINGULAR),
    "slogdet": (lambda a: cr.grad(lambda a: np.sum(np.linalg.slogdet(a)[1]))(a), np.zeros((3, 3))),
    "cholesky": (lambda a: np.linalg.cholesky(a), -np.eye(3)),
    "upper": (lambda a: np.linalg.cholesky(a, upper=True), -np.eye(3)),
    "triangular": (lambda a: cr.solve_triangular(a, a[0], lower=True), np.diag([1.0, 0.0, 1.0])),
    "eigh of NaN": (lambda a: np.linalg.eigh(a)[0], np.full((3, 3), np.nan)),
    "svd of NaN": (lambda a: np.linalg.svd(a)[1], np.full((3, 3), np.nan)),
}


@pytest.mark.parametrize("derivative", ["value", "gradient"])
@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("name", FAILING)
def test_the_error_is_the_interpreters(name, stacked, derivative):
    one, bad = FAILING[name]
    good = positive(3, 3)
    f = one
    if stacked:
        if name in ("solve", "triangular", "transposed"):
            pytest.skip("written for one matrix")
        good, bad = np.stack([good, good, good]), np.stack([good, bad, good])
    if derivative == "gradient":
        f = cr.grad(lambda a: np.sum(one(a) ** 2))
    fast = cr.compile(f)
    expected = f(good)
    np.testing.assert_allclose(fast(good), expected, rtol=1e-11, atol=1e-12)
    for _ in range(2):
        found = error_of(fast, bad)
        assert found == error_of(cr.trace, f, bad)
        assert "test_factorisations.py:" in found[1]
        np.testing.assert_allclose(fast(good), expected, rtol=1e-11, atol=1e-12)
    assert fast.report().count(", branch ") == 1
    assert interpreted(fast) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", NARROW)
def test_infinities_and_nan_are_the_interpreters(name, bad):
    """Its numbers where it has some, and its error where it raises."""
    f, a = NARROW[name], square(4, 4)
    fast = cr.compile(f)
    fast(a)
    a = a.copy()
    a[2, 1] = bad
    with np.errstate(all="ignore"):
        try:
            expected = f(a)
        except np.linalg.LinAlgError:
            with pytest.raises(cr.ChainruleError):
                fast(a)
            return
        np.testing.assert_allclose(fast(a), expected, rtol=1e-12, atol=1e-14)


def test_a_singular_matrix_that_has_a_derivative():
    """The interpreter knows what to do where a routine fails."""
    f = cr.grad(np.linalg.det)
    fast = cr.compile(f)
    for a in (square(3, 3), SINGULAR, np.zeros((3, 3)), square(3, 3)):
        np.testing.assert_allclose(fast(a), f(a), rtol=1e-11, atol=1e-12)
    assert fast.report().count(", branch ") == 2


def test_a_matrix_that_only_rounding_makes_singular():
    """LAPACK is given the transpose, and finds no pivot there; the interpreter finds one."""
    a = np.array([[0.41, 1.19, 0.44], [0.32, 0.88, 0.28], [0.33, 0.97, 0.37]])
    for b in (a, a.T.copy()):
        fast = cr.compile(np.linalg.inv)
        try:
            expected = np.linalg.inv(b)
        except np.linalg.LinAlgError:
            with pytest.raises(cr.LinearAlgebraError):
                fast(b)
        else:
            np.testing.assert_allclose(fast(b), expected, rtol=1e-2)


def test_without_the_routines_the_interpreter_is_asked(monkeypatch):
    monkeypatch.setattr("chainrule.run.variant.exported", lambda routine: False)
    fast = cr.compile(np.linalg.inv)
    a = square(3, 3)
    np.testing.assert_array_equal(fast(a), np.linalg.inv(a))
    assert interpreted(fast) == ["inv: SciPy does not export dgetrf"]


# -- threads, tiles, the cache ---------------------------------------------------------------------


def many(a, b):
    """Every routine, for each of a stack."""
    matrix = a @ np.swapaxes(a, -1, -2)
    total = np.sum(np.linalg.solve(a, b) ** 3) + np.sum(np.linalg.inv(a)[:, 0])
    total = total + np.sum(lower_solve(np.linalg.cholesky(matrix), b) ** 2)
    total = total + np.sum(np.linalg.slogdet(a)[1]) + np.sum(np.linalg.eigh(matrix)[1] ** 4)
    return total + np.sum(np.linalg.qr(a)[0][:, 0, 1] ** 3) + np.sum(np.linalg.svd(a)[0] ** 4)


@pytest.mark.parametrize("count", [1003, 12_001])
def test_the_same_bits_on_any_number_of_threads(count):
    a, b = square(count, 3, 3), rng.normal(size=(count, 3, 2))
    a += np.diag([0.0, 3.0, 6.0])  # eigenvalues far apart
    f = cr.value_and_grad(many, (0, 1))
    fast = cr.compile(f)
    before = threads()
    try:
        found = []
        for number in (1, 2):
            cr.set_threads(number)
            value, gradients = fast(a, b)
            found.append([value.tobytes(), *(g.tobytes() for g in gradients)])
    finally:
        cr.set_threads(before)
    assert found[0] == found[1]
    ((variant,),) = fast.variants.values()
    plan = variant.run.module.plan
    shared = [r for r in plan.regions if r.chunks > 1]
    assert any(isinstance(s, Factored) for r in shared for s in plan.steps[r.first : r.last + 1])
    if count > 10_000:
        assert any(r.last > r.first for r in shared), "nothing was streamed"
    expected = f(a, b)
    assert value == pytest.approx(expected[0], rel=1e-11)
    for g, e in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-8, atol=1e-9 * np.abs(e).max())


def test_one_bad_matrix_in_a_stack_in_tiles():
    a, b = square(12_001, 3, 3), rng.normal(size=(12_001, 3, 1))
    f = cr.grad(lambda a, b: np.sum(np.tanh(np.linalg.solve(a, b)) ** 2))
    fast = cr.compile(f)
    fast(a, b)
    for at in (0, 7000, 12_000):
        bad = a.copy()
        bad[at] = 0.0
        assert error_of(fast, bad, b) == error_of(cr.trace, f, bad, b)


PROGRAM = """
import numpy as np, chainrule as cr
a = np.cos(np.arange(25.0)).reshape(5, 5) + 4 * np.eye(5)
f = lambda a: np.sum(np.linalg.solve(a, np.linalg.cholesky(a @ a.T)))
fast = cr.compile(cr.value_and_grad(f))
value, gradient = fast(a)
((variant,),) = fast.variants.values()
print(variant.run.machine.was_kept, value.hex(), gradient.tobytes().hex())
"""


def test_code_on_disk_finds_the_routines(tmp_path):
    environment = {**os.environ, "CHAINRULE_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    printed = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    first, second = (text.split() for text in printed)
    assert first[0] == "False"
    assert second[0] == "True"
    assert first[1:] == second[1:]
