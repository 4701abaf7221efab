"""Loops as machine code: what is carried, rows, stacks, truths about iterations; `loops.py`."""

import numpy as np
import pytest

import chainrule as cr
from tests.diff.test_scan import PROGRAMS, Python, of

R = np.random.default_rng(3).standard_normal


def compiled(f, *args):
    """The compiled function after its first call; nothing of it is interpreted."""
    fast = cr.compile(f)
    fast(*args)
    report = fast.report()
    assert "interpreted" not in report, report
    assert "plain Python." not in report
    return fast


def assert_close(found, expected, tolerance=1e-12):
    for a, b in zip(cr.tree.flatten(found)[0], cr.tree.flatten(expected)[0], strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(
            a, b, rtol=tolerance, atol=tolerance * (1 + np.max(np.abs(b), initial=0))
        )


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.__name__ != "branching"])
def test_gradients(program):
    args = PROGRAMS[program]
    every = tuple(range(len(args)))
    fast = compiled(cr.value_and_grad(of(program, cr), every), *args)
    assert "loop of" in fast.report()
    for shift in (0.0, 0.01):
        moved = tuple(a + shift for a in args)
        expected = cr.value_and_grad(of(program, Python), every)(*moved)
        assert_close(fast(*moved), expected)


@pytest.mark.parametrize("name", ["iir", "rnn"])
def test_second_order(name):
    program = next(p for p in PROGRAMS if p.__name__ == name)
    args = PROGRAMS[program]
    fast, expected = (
        make(lambda x, lib=lib: np.sum(cr.grad(of(program, lib))(x, *args[1:]) ** 2))
        for lib, make in ((cr, lambda f: compiled(cr.grad(f), args[0])), (Python, cr.grad))
    )
    assert_close(fast(args[0]), expected(args[0]), 1e-10)


def both(f, *args):
    assert_close(compiled(f, *args)(*args), f(*args))


def test_results_of_every_kind():
    def f(x):
        def step(c, row):
            n, flag, v, same = c
            n, flag = n + 1, flag | (row[0] > 0.5)
            return (n, flag, v * x + row, same), (n, flag, v, same, row)

        init = (0, np.False_, np.zeros(2), x)
        return cr.scan(step, init, rows)

    rows = R((7, 2))
    both(f, 0.7)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_iterations(count):
    rows = R((count, 2))

    def f(x):
        def step(c, r):
            return (c[1] * r, c[0] + x), c[0] * c[1]

        return cr.scan(step, (x * 1.0, x + 1), rows)

    both(f, np.array([0.3, -0.7]))


def test_arrays_that_stay_with_the_code():
    table = R((5, 4))

    def f(x):
        return cr.scan(lambda c, _: (np.tanh(table.T @ (table @ c)), c), x, length=4)

    def g(x):
        m = np.arange(16.0).reshape(4, 4) / 20
        return cr.scan(lambda c, _: (np.sin(m @ c), np.cumsum(c)), x, length=6)

    both(f, R(4))
    both(g, R(4))


def test_a_loop_in_a_loop_in_a_loop():
    def f(x, rows):
        def outer(c, block):
            def middle(c, row):
                return cr.scan(lambda d, e: (np.sin(d * x + e), d), c, row, reverse=True)

            return cr.scan(middle, c, block)

        return cr.scan(outer, x, rows)

    both(f, 0.4, R((2, 3, 4)))
    both(cr.grad(lambda x, rows: np.sum(f(x, rows)[1] ** 2), (0, 1)), 0.4, R((2, 3, 4)))


def test_float32():
    def f(x, rows):
        c, ys = cr.scan(lambda c, r: (np.tanh(c * x + r), c), x, rows)
        return np.sum(c) + np.sum(ys)

    x, rows = R(3).astype(np.float32), R((5, 3)).astype(np.float32)
    assert_close(compiled(cr.grad(f, (0, 1)), x, rows)(x, rows), cr.grad(f, (0, 1))(x, rows), 1e-5)


def test_large_iterations():
    """An iteration whose steps are cut into tiles and chunks."""

    def f(w, x):
        def step(c, _):
            h = np.tanh(x @ c)
            return c - 0.1 * (x.T @ (h * (1 - h * h))) / len(x), np.mean(h)

        c, ys = cr.scan(step, w, length=3)
        return np.sum(c**2) + np.sum(ys)

    w, x = R((8, 4)), R((20_000, 8))
    assert_close(compiled(cr.grad(f), w, x)(w, x), cr.grad(f)(w, x), 1e-10)


def test_an_index_that_leaves_the_range_in_some_iteration():
    def f(x, at):
        return np.sum(cr.scan(lambda c, i: (c * 0.5 + x[i], c), 0.0, at)[1])

    x = R(4)
    fast = compiled(cr.grad(f), x, np.array([0, 1, 2, 3]))
    assert_close(fast(x, np.array([3, 3, -4, 0])), cr.grad(f)(x, np.array([3, 3, -4, 0])))
    with pytest.raises(IndexError):
        fast(x, np.array([0, 1, 7, 0]))


def test_a_matrix_that_is_singular_in_some_iteration():
    def f(a, steps):
        return np.sum(cr.scan(lambda c, t: (c + t, np.linalg.inv(c)), a, steps)[1])

    a = np.eye(2)
    good, bad = np.ones((3, 2, 2)) * 0.1, np.stack([np.zeros((2, 2)), -np.eye(2), np.eye(2)])
    fast = compiled(cr.grad(f), a, good)
    assert_close(fast(a, 2 * good), cr.grad(f)(a, 2 * good))
    with pytest.raises(np.linalg.LinAlgError):
        fast(a, bad)


def test_what_machine_code_does_not_have_is_interpreted():
    def f(z):
        c, _ = cr.scan(lambda c, _: (c * z, None), z, length=4)
        return np.real(c)

    fast = cr.compile(f)
    for _ in range(2):
        np.testing.assert_allclose(fast(0.5 + 0.5j), f(0.5 + 0.5j))
    assert "interpreted loop" in fast.report()


def test_the_code_does_not_grow_with_the_count():
    def f(n):
        def g(w, x):
            return np.sum(cr.scan(lambda c, _: (np.sin(w @ c), None), x, length=n)[0])

        return cr.compile(cr.grad(g))

    w, x = R((3, 3)), R(3)
    texts = []
    for n in (20, 2000):
        fast = f(n)
        fast(w, x)
        texts.append(fast.ir("llvm"))
    assert abs(len(texts[0]) - len(texts[1])) < 500


ROWS = {
    "shifted": lambda x: x[2:-1],
    "backwards": lambda x: x[::-1],
    "every other": lambda x: x[1::2],
    "a slice of a slice": lambda x: x[1:][::-2],
    "one": lambda x: x[3:4],
    "columns": lambda x: x.T[1:],
    "computed": lambda x: np.sin(x)[2:],
    "parts of rows": lambda x: x[1:, ::2],
    "seen otherwise": lambda x: x.reshape(-1, 2)[3:],
    "repeated": lambda x: np.broadcast_to(x[0], (4, x.shape[1])),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_rows_are_read_where_they_lie(rows, reverse):
    def f(x):
        def step(c, row):
            return np.sin(c) * 0.5 + np.sum(row * row[0]), row * c

        last, stack = cr.scan(step, x[0, 0], rows(x), reverse=reverse)
        return last + np.sum(stack * stack)

    x = np.random.default_rng(0).normal(size=(9, 4))
    fast = cr.compile(cr.value_and_grad(f), verify="always")
    fast(x + 1)
    value, gradient = fast(x)
    expected = cr.value_and_grad(f)(x)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-14)


def test_shifted_rows_are_not_copied():
    def f(x):
        return cr.scan(lambda c, row: (np.sin(c) + row, None), 0.5 * x[0], x[1:])[0]

    fast = cr.compile(f)
    fast(np.ones((20, 64)))
    steps = [line for line in fast.report().splitlines() if line.startswith("  step")]
    assert not any("copy" in line for line in steps)
