"""`vmap.py`, `batch.py`, `lane*.py`, `loop_lanes.py`, `merging.py`, `pieces.py`, `constants.py`.

vmap: for every function, what the function gives lane by lane.
"""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import chainrule as cr

RNG = np.random.default_rng(5)
X = RNG.standard_normal((7, 4))
W = RNG.standard_normal((4, 3))
A = np.array([0.3, 2.0, 90.0, 5.0, 0.9, 1e4, 1.0])


def values(tree: Any) -> Any:
    return cr.tree.map(lambda v: v.value if isinstance(v, cr.Variable) else v, tree)


def one_by_one(f: Any, args: Any, axes: Any) -> Any:
    count = next(a.shape[x] for a, x in zip(args, axes, strict=True) if x is not None)
    lanes = [
        values(f(*[a if x is None else np.take(a, k, x) for a, x in zip(args, axes, strict=True)]))
        for k in range(count)
    ]
    return cr.tree.map(lambda *parts: np.stack(parts), *lanes)


def assert_lanes(f: Any, *args: Any, in_axes: Any = 0, compiled: bool = True) -> None:
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    expected = cr.tree.leaves(one_by_one(f, args, axes))
    functions = [cr.vmap(f, in_axes)]
    functions += [cr.compile(functions[0], verify="always")] if compiled else []
    for function in functions:
        found = cr.tree.leaves(function(*args))
        for one, other in zip(found, expected, strict=True):
            assert isinstance(one, np.ndarray)
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def newton(a: Any) -> Any:
    y = a
    while abs(y * y - a) > 1e-9 * a:
        y = 0.5 * (y + a / y)
    return y


def collatz(n: Any) -> Any:
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count = count + 1
    return n * 0 + count


def tried(a: Any) -> Any:
    matrix = np.stack([np.stack([a, 1.0 + 0 * a]), np.stack([1.0 + 0 * a, a])])
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.linalg.cholesky(matrix + 50.0 * np.eye(2))


def switch(x: Any) -> Any:
    if x[0] > 0:
        return np.sin(x[0]) * x[1] if x[1] > 0 else np.exp(x[2])
    return x[1] ** 2


def caught(x: Any) -> Any:
    try:
        return x[int(np.argmax(x)) + 2]
    except IndexError:
        return x[0] * 100


def written(x: Any) -> Any:
    y = x * 2.0
    y[1] = x[0] ** 2
    y[2:] += 1.0
    return y


BRANCHING = [switch, caught, lambda x: x[int(np.argmax(x))] * 2, lambda x: np.sum(x[x > 0] ** 2),
             lambda x: np.sum(x[: len(np.nonzero(x > 0)[0])]),
             lambda x: x if np.allclose(x, np.abs(x)) else -x,
             # No derivative flows through these, which a gradient refuses.
             lambda x: x * 3.0 if float(np.sum(x)) > 0 else x - 1.0,
             lambda x: sum((x[i] for i in range(int(abs(x[0] * 3)))), x[1] * 0.0),
             lambda x: x if f"{x[0]:.0f}" == "-0" else 2 * x]  # fmt: skip
STRAIGHT = [np.sum, lambda x: np.max(x) * x, lambda x: x @ W, lambda x: np.outer(x, x) @ np.ones(4),
            lambda x: np.sort(x)[::-1], lambda x: np.where(x > 0, np.log(np.abs(x)), 0.0),
            lambda x: np.linalg.solve(np.diag(x) + 3 * np.eye(4), x), np.cumsum, written,
            lambda x: np.concatenate([x, x[:2]]).reshape(2, 3).T, lambda x: cr.softmax(x),
            lambda x: {"a": x[0], "b": (x[1:], 2.0)}, lambda x: x[np.array([3, 0, 0])],
            lambda x: np.einsum("i,ij->j", x, W), lambda x: np.pad(x, 1), lambda x: 1.0 + 0 * x[0],
            lambda x: np.fft.rfft(x).real, np.median, np.diff]  # fmt: skip


@pytest.mark.parametrize("f", [*STRAIGHT, *BRANCHING])
def test_is_the_function_of_each_lane(f: Any) -> None:
    # A text stops the recording; and machine code rounds a number that Python reads in its own way.
    assert_lanes(f, X, compiled=f not in (BRANCHING[-1], BRANCHING[-3]))


@pytest.mark.parametrize("f", [*STRAIGHT[:8], *BRANCHING[:6]])
def test_gradient_of_each_lane(f: Any) -> None:
    def scalar(x: Any) -> Any:
        out = f(x)
        return np.sum(out * np.arange(1.0, 1.0 + np.size(out)).reshape(np.shape(out)))

    assert_lanes(cr.grad(scalar), X)
    whole = cr.grad(lambda x: np.sum(cr.vmap(scalar)(x)))(X)
    np.testing.assert_allclose(whole, one_by_one(cr.grad(scalar), (X,), (0,)), atol=1e-12)
    tangent = cr.jvp(cr.vmap(scalar), (X,), (X[::-1].copy(),))[1]
    np.testing.assert_allclose(tangent, np.sum(whole * X[::-1], axis=1), atol=1e-11)


@pytest.mark.parametrize("f", [newton, cr.grad(newton), cr.grad(cr.grad(newton)), tried])
def test_loops_with_a_count_and_tries_of_each_lane(f: Any) -> None:
    assert_lanes(f, A)


def test_whole_numbers_loop_by_lane() -> None:
    assert cr.vmap(collatz)(np.array([6, 1, 7, 2])).tolist() == [8, 0, 16, 1]


@pytest.mark.parametrize("compiled", [False, True])
def test_lanes_in_lanes(compiled: bool) -> None:
    inner = cr.vmap(lambda y: np.sin(y) if y > 0 else y**2)
    assert_lanes(inner, X, compiled=compiled)
    assert_lanes(cr.vmap(cr.grad(lambda y: y**3 if y > 0.5 else y)), X, compiled=compiled)
    three = RNG.standard_normal((2, 3, 4))
    assert_lanes(cr.vmap(cr.vmap(lambda y: y * 2 if y > 0 else y)), three, compiled=compiled)
    pairs = lambda x, y: cr.vmap(lambda a: cr.vmap(lambda b: a * b if a > b else a + b)(y))(x)  # noqa: E731
    expected = np.array([[a * b if a > b else a + b for b in X[1]] for a in X[0]])
    np.testing.assert_allclose(pairs(X[0], X[1]), expected)


@pytest.mark.parametrize("compiled", [False, True])
def test_new_branches_in_later_calls(compiled: bool) -> None:
    f = cr.vmap(newton)
    f = cr.compile(f) if compiled else f
    for scale in (1.0, 1e-3, 7.0, 1e5, 1.0):
        np.testing.assert_allclose(f(A * scale), np.sqrt(A * scale), rtol=1e-8)


def test_compiled_lanes_are_recorded_no_more_once_all_branches_are_seen() -> None:
    recorded = []

    def f(a: Any) -> Any:
        recorded.append(a)
        return a * 2 if a > 0 else a - 1

    with pytest.warns(RuntimeWarning):  # it has an effect, and so runs as plain Python
        cr.compile(cr.vmap(f))(A)
    compiled = cr.compile(cr.vmap(lambda a: a * 2 if a > 0 else a - 1))
    for k in range(20):
        a = A - 10.0 * (k % 5)
        np.testing.assert_array_equal(compiled(a), np.where(a > 0, a * 2, a - 1))
    assert compiled.report().count("branch ") <= 2


def test_axes_of_arguments_and_results() -> None:
    assert_lanes(lambda x, w: x @ w, X, W, in_axes=(0, None))
    assert_lanes(lambda x, y: x * y, X, X.T.copy(), in_axes=(0, 1))
    assert_lanes(lambda x, y: x * y, X, X.T.copy(), in_axes=(-2, -1))
    assert cr.vmap(lambda x: np.outer(x, x), out_axes=2)(X).shape == (4, 4, 7)
    assert cr.vmap(lambda x: np.outer(x, x), out_axes=-1)(X).shape == (4, 4, 7)
    tree = {"w": X, "b": (A, W)}
    out = cr.vmap(lambda p, k: (p["w"].sum() + p["b"][0], p["b"][1], k),
                  ({"w": 0, "b": (0, None)}, None), (0, None, None))(tree, 3)  # fmt: skip
    np.testing.assert_allclose(out[0], X.sum(1) + A)
    assert out[1].shape == (4, 3)
    assert out[2] == 3
    np.testing.assert_allclose(cr.vmap(lambda x, *, y: x * y)(A, y=A), A * A)
    np.testing.assert_allclose(cr.vmap(lambda x, flag: x if flag else -x, (0, None))(A, False), -A)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 100])
def test_chunks(chunk: int) -> None:
    np.testing.assert_allclose(
        cr.vmap(switch, chunk=chunk)(X), one_by_one(switch, (X,), (0,)), rtol=1e-12
    )
    assert cr.vmap(lambda x: 2.0, chunk=chunk)(X).tolist() == [2.0] * 7


def test_no_lanes_and_one_lane() -> None:
    assert cr.vmap(lambda x: (x, np.sum(x)))(np.zeros((0, 3)))[0].shape == (0, 3)
    assert cr.vmap(lambda x: (x, np.sum(x)))(np.zeros((0, 3)))[1].shape == (0,)
    assert_lanes(switch, X[:1])


def test_dtypes_are_those_of_a_lane() -> None:
    for dtype in (np.float32, np.complex128, np.int64, np.bool_):
        x = (X > 0) if dtype is np.bool_ else (X * 3).astype(dtype)
        assert_lanes(lambda x: x + x, x)
        assert_lanes(lambda x: x[::-1] / 2, x)


def test_results_are_the_callers_own() -> None:
    x = X.copy()
    out = cr.vmap(lambda x: x)(x)
    out[:] = 0
    assert x.tolist() == X.tolist()
    shared = cr.vmap(lambda x: W)(X)
    shared[0] = 1
    assert shared[1].tolist() == W.tolist()


def test_many_ways_are_gone_one_by_one_with_one_warning() -> None:
    x = np.arange(40.0)
    with pytest.warns(UserWarning, match="more than 16 different ways") as caught_ones:
        found = cr.vmap(lambda v: v * int(v))(x)
    np.testing.assert_allclose(found, x * x)
    assert len(caught_ones) == 1
    assert "test_vmap.py" in str(caught_ones[0].message)
    with pytest.warns(UserWarning, match="more than 16 different ways"):
        gradient = cr.grad(lambda x: np.sum(cr.vmap(lambda v: v * int(v.value))(x)))(x)
    np.testing.assert_allclose(gradient, x)


def test_report_says_groups_and_loops() -> None:
    f = cr.vmap(lambda x: np.sin(x) if x > 0 else x)
    f(A - 2.0)
    assert str(f.report()).startswith("7 lanes in 2 groups")
    assert "test_vmap.py" in f.report()


# ---- what goes wrong -----------------------------------------------------------------------------


def test_errors_name_the_lane_the_line_and_the_cure() -> None:
    stack = np.stack([np.eye(2), np.eye(2), -np.eye(2)])
    with pytest.raises(cr.LinearAlgebraError, match=r"lane 2 of vmap.*cholesky") as error:
        cr.vmap(lambda m: np.linalg.cholesky(m))(stack)
    assert "test_vmap.py" in str(error.value)
    with pytest.raises(ValueError, match="negative") as refused:
        cr.vmap(refusing)(np.array([1.0, 2.0, -1.0]))
    assert "in lane 2 of vmap" in refused.value.__notes__
    with pytest.raises(cr.ShapeError, match="argument 0 has 7 lanes and argument 1 has 4"):
        cr.vmap(lambda x, y: x)(X, W)
    with pytest.raises(cr.ShapeError, match=r"argument 1 of shape .* has no axis 0; in_axes=None"):
        cr.vmap(lambda x, y: x)(X, 2.0)
    with pytest.raises(cr.ArgumentError, match="in_axes has 1 entries"):
        cr.vmap(lambda x, y: x, in_axes=(0,))(X, X)
    with pytest.raises(cr.ArgumentError, match="no argument has lanes"):
        cr.vmap(lambda x: x, in_axes=None)(X)
    with pytest.raises(cr.ArgumentError, match="does not fit"):
        cr.vmap(lambda p: p["a"], in_axes=({"b": 0},))({"a": X})
    with pytest.raises(cr.ArgumentError, match="argument 0 is a str"):
        cr.vmap(lambda x: x)("abc")
    with pytest.raises(cr.ShapeError, match=r"lane 0 returns shape \(2,\) and lane 1 \(3,\)"):
        cr.vmap(lambda x: np.ones(2) * x if x > 0 else np.ones(3) * x)(np.array([1.0, -1.0]))
    with pytest.raises(cr.ArgumentError, match="all lanes must return"):
        cr.vmap(lambda x: (x,) if x > 0 else x)(np.array([1.0, -1.0]))
    with pytest.raises(cr.ArgumentError, match="out_axes is None for a result that differs"):
        cr.vmap(lambda x: x, out_axes=None)(A)
    with pytest.raises(cr.ArgumentError, match="chunk=0"):
        cr.vmap(lambda x: x, chunk=0)


def refusing(x: Any) -> Any:
    if x < 0:
        raise ValueError("negative")
    return x


def test_random_numbers_inside_are_refused() -> None:
    rng = np.random.default_rng(0)
    refused = pytest.raises(cr.ArgumentError, match="random numbers, a clock or a")
    with refused:
        cr.vmap(lambda x: x * np.random.default_rng().standard_normal())(A)
    with refused:
        cr.vmap(lambda x: x * rng.standard_normal())(A)
    with refused:
        cr.vmap(lambda x: x + rng.standard_normal(4))(X)
    cr.vmap(lambda x: x + np.random.default_rng(0).standard_normal(4))(X)  # the same in each lane


COUNTER = itertools.count(1)
COUNTING = [lambda x: x * next(COUNTER), lambda x: np.roll(x, next(COUNTER)),
            lambda x: x[next(COUNTER) % 4], lambda x: x if next(COUNTER) % 2 else 2 * x,
            lambda x: (2 * x, 3 * x)[next(COUNTER) % 2] + x, lambda x: sum([x] * next(COUNTER)),
            lambda x: (2 * x, 3 * x)[next(COUNTER) % 2], lambda x: next(COUNTER),
            partial(lambda k, x: k * x[0] ** next(COUNTER), 2.0),
            lambda x: {"a": x, "b": next(COUNTER) / 2}]  # fmt: skip


@pytest.mark.parametrize("f", COUNTING)
def test_a_counter_inside_is_refused_wherever_it_goes(f: Any) -> None:
    refused = pytest.raises(cr.ArgumentError, match="clock or a counter would be the same")
    for _ in range(3):  # what was refused once is refused again
        with refused:
            cr.vmap(f)(X)
        with refused:
            cr.grad(lambda x: np.sum(cr.tree.leaves(cr.vmap(f)(x))[0]))(X)


def test_two_examples_are_compared_in_the_1st_2nd_4th_call() -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return np.sin(x) * 2

    counts = []
    for _ in range(9):
        calls.clear()
        cr.vmap(f)(A)
        counts.append(len(calls))
    assert counts == [2, 2, 1, 2, 1, 1, 1, 2, 1]


def test_writing_into_what_lanes_share_is_refused() -> None:
    shared = np.zeros(4)

    def writes(x: Any, shared: Any) -> Any:
        shared[0] = 1.0
        return x

    with pytest.raises(cr.MutationError, match=r"test_vmap\.py:328"):
        cr.vmap(writes, (0, None))(X, shared)
    assert shared.tolist() == [0.0] * 4
    outside = cr.variable(np.zeros(4))

    def assigns(x: Any) -> Any:
        outside[0] = x[0]
        return x

    with pytest.raises(cr.DetachError, match="assigns to a Variable from outside"):
        cr.vmap(assigns)(X)


def test_a_gradient_is_not_lost_by_a_conversion() -> None:
    with pytest.raises(cr.DetachError, match="float"):
        cr.grad(lambda x: np.sum(cr.vmap(lambda v: v * float(v))(x)))(A)


# ---- with all the rest ---------------------------------------------------------------------------


def test_captured_variables_are_differentiated() -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.sum(cr.vmap(lambda row: np.tanh(row @ w) if row[0] > 0 else row @ w)(x))

    expected = sum(
        cr.grad(lambda w, row=row: np.sum(np.tanh(row @ w) if row[0] > 0 else row @ w))(W)
        for row in X
    )
    np.testing.assert_allclose(cr.grad(loss)(W, X), expected, rtol=1e-12)
    np.testing.assert_allclose(cr.compile(cr.grad(loss))(W, X), expected, rtol=1e-12)
    cr.check_grads(loss, W, X, order=2)


def test_traced_explained_and_checked() -> None:
    f = lambda x: np.sum(cr.vmap(switch)(x))  # noqa: E731
    graph = cr.trace(f, X)
    np.testing.assert_allclose(graph.forward(X).value(graph.outputs[0]), f(X))
    assert "test_vmap.py" in {n.line.file.rsplit("/", 1)[-1] for n in graph.nodes if n.line}
    assert cr.explain(f, X).total is not None
    cr.check_grads(f, X, order=2)


def test_vmap_of_jacobians_and_products() -> None:
    f = lambda x: np.tanh(x) * np.sum(x)  # noqa: E731
    assert_lanes(cr.jacobian(f), X)
    assert_lanes(cr.hessian(lambda x: np.sum(f(x))), X)
    assert_lanes(lambda x: cr.hvp(lambda y: np.sum(f(y)), x, np.ones(4)), X)
    pullback = cr.vjp(f, X[0])[1]
    np.testing.assert_allclose(cr.vmap(pullback)(np.eye(4))[0], cr.jacobian(f)(X[0]), atol=1e-14)


def test_methods_partials_and_builtins() -> None:
    class Scale:
        factor = 2.0

        def __call__(self, x: Any) -> Any:
            return x * self.factor

        def method(self, x: Any) -> Any:
            return x / self.factor

    assert cr.vmap(Scale())(A).tolist() == (A * 2).tolist()
    assert cr.vmap(Scale().method)(A).tolist() == (A / 2).tolist()
    assert cr.vmap(np.sin)(A).tolist() == np.sin(A).tolist()
    assert cr.vmap(cr.logsumexp)(X).shape == (7,)


# ---- branches within branches --------------------------------------------------------------------


def test_a_read_behind_a_vmap_inside() -> None:
    """Lanes meet the branches of a vmap inside in an order of their own."""

    def slopes(x: Any) -> Any:
        return cr.grad(lambda y: np.sum(cr.vmap(lambda a: a**3 if a > 0 else a**2)(y)))(x)

    def scalar(x: Any) -> Any:
        found = slopes(x)
        return np.sum(found * np.arange(4.0)) if found[0] != 7 else found[0]

    assert_lanes(cr.grad(scalar), X)
    expected = np.where(X > 0, 6 * X, 2.0) * np.arange(4.0)
    np.testing.assert_allclose(cr.vmap(cr.grad(scalar))(X), expected, rtol=1e-12)


def test_numbers_read_by_lanes_in_lanes() -> None:
    """Alone, a lane may be rounded in another way than among others: then it is called alone."""
    three = RNG.standard_normal((3, 5, 4))

    def scaled(x: Any) -> Any:
        return np.sum(x) * float(np.sum(np.tanh(x @ W) @ W.T) / 3)

    expected = np.array([[scaled(x) for x in row] for row in three])
    np.testing.assert_allclose(cr.vmap(cr.vmap(scaled))(three), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_compiled_lanes_that_take_no_branch_are_not_given_another() -> None:
    matrices = RNG.standard_normal((6, 3, 3))

    def exponential(m: Any) -> Any:
        term, total, k = np.eye(3), np.eye(3), 1
        while np.max(np.abs(term)) > 1e-10:
            term = term @ m / k
            total, k = total + term, k + 1
        return np.sum(total) if total.value is not None else total

    slope = cr.grad(lambda m: exponential(m))
    fast = cr.compile(cr.vmap(slope))
    for given in (matrices, matrices[::-1].copy(), matrices):
        expected = np.stack([slope(m) for m in given])
        np.testing.assert_allclose(fast(given), expected, rtol=1e-12, atol=1e-12)


LOOPS = [lambda a: cr.while_loop(lambda y: abs(y * y - a) > 1e-9 * a, lambda y: (y + a / y) / 2, a),
         lambda a: cr.scan(lambda c, x: (np.sin(c) * a + x, c), a, np.arange(3.0))[0],
         lambda a: cr.fori_loop(0, 3, lambda i, c: c * a + i, a),
         lambda a: cr.scan(lambda c, x: (c * 0.5 + x,
                                         cr.scan(lambda e, w: (e * w + c, e), x, A)[0]), 0.0,
                           a * A, reverse=True)[1].sum(),
         lambda a: cr.scan(lambda c, x: ((c[0] + 1.0, c[1] * x), c[0]), (0.0, 1.0), a + A[:3],
                           checkpoint=2)[0][1]]  # fmt: skip


@pytest.mark.parametrize("f", LOOPS)
def test_structured_loops(f: Any) -> None:
    few = A[:4]
    assert_lanes(f, few)
    assert_lanes(cr.grad(f), few)
    whole = cr.grad(lambda a: np.sum(cr.vmap(f)(a)))(few)
    np.testing.assert_allclose(whole, one_by_one(cr.grad(f), (few,), (0,)), rtol=1e-9)
    second = cr.vmap(cr.grad(cr.grad(f)))
    np.testing.assert_allclose(second(few), one_by_one(cr.grad(cr.grad(f)), (few,), (0,)), 1e-9)
    assert "lane by lane" not in second.report()


@pytest.mark.parametrize("value", [0.0, np.arange(7.0), np.arange(21.0).reshape(7, 1, 3)])
def test_masks_that_pick_unlike_many_are_filled(value: Any) -> None:
    x = RNG.standard_normal((7, 4, 3))

    def filled(x: Any, value: Any) -> Any:
        y = x * 2.0
        y[x[:, 0] < 0] = value
        return y

    axes = (0, 0 if np.ndim(value) else None)
    assert_lanes(filled, x, value, in_axes=axes)
    assert_lanes(cr.grad(lambda x, v: np.sum(filled(x, v) ** 2)), x, value, in_axes=axes)


def test_a_number_of_numpy_s_beside_a_tuple_in_the_code():
    """Whether a constant is a literal of the code is asked of numbers, and not of a tuple."""

    def f(x):
        scale = np.float64(0.5) * len((1, 2))
        return np.sum(x, axis=(0, 1)) * scale if x[0, 0] > 0 else np.prod(x, axis=(0, 1))

    x = np.arange(-8.0, 16.0).reshape(6, 2, 2)
    for _ in range(5):  # the first calls compare lanes, whatever their constants are
        np.testing.assert_allclose(cr.vmap(f)(x), [f(row) for row in x])


def overflowing(x: Any) -> Any:
    try:
        with np.errstate(over="raise"):
            return np.sum(np.exp(x * 200))
    except FloatingPointError:
        return np.sum(x)


def test_errors_that_errstate_asks_for_are_branches() -> None:
    assert_lanes(overflowing, np.concatenate([X, 10 * X]), compiled=False)
    assert_lanes(cr.grad(overflowing), np.concatenate([X, 10 * X]), compiled=False)


def test_the_sign_of_a_zero_that_is_read_counts() -> None:
    assert_lanes(lambda t: math.copysign(1.0, t * 0.0) * 3 + t, np.array([1.0, -2.0, 0.0, -0.0]))


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_of_what_is_not_differentiated_are_read(compiled: bool) -> None:
    def loss(w: Any, x: Any, s: Any) -> Any:
        z = np.sum(x @ w) * float(s) * int(np.floor(x[0] * 3 + 9))
        return z * z if s > 1 else z

    s = np.array([0.5, 2.0, 3.0, 0.5, 0.5, 3.0, 2.0])
    assert_lanes(cr.grad(loss), W, X, s, in_axes=(None, 0, 0), compiled=compiled)
    total = cr.grad(lambda w: np.sum(cr.vmap(loss, (None, 0, 0))(w, X, s)))(W)
    alone = one_by_one(cr.grad(loss), (W, X, s), (None, 0, 0))
    np.testing.assert_allclose(total, np.sum(alone, axis=0))
    with pytest.raises(cr.DetachError):
        cr.grad(lambda s: np.sum(cr.vmap(lambda a: float(a) * a)(s)))(s)
    with pytest.raises(cr.DetachError):
        cr.grad(lambda w: np.sum(cr.vmap(lambda a: float(w[0, 0] * 2) * a)(s)))(W)
    with pytest.raises(cr.DetachError):
        cr.vmap(lambda b: cr.grad(lambda a: float(a * b) * a)(b))(s)


@pytest.mark.parametrize("grows", [False, True])
def test_a_callable_without_a_hash(grows: bool) -> None:
    class Scaled:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, x: Any) -> Any:
            return np.sum(x * self.by) if np.sum(x) > 0 else np.sum(x) ** 2

    scaled = Scaled()
    scaled.by = [1.0, 2.0, 3.0, 4.0] if grows else 2.0  # type: ignore[attr-defined]
    np.testing.assert_allclose(cr.vmap(scaled)(X), [scaled(x) for x in X])
