"""Large scalar functions compiled: what a tape computes is what the interpreter computes."""

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import chainrule as cr
from chainrule.core.node import Node
from chainrule.core.op import Partials
from chainrule.diff import sweep
from chainrule.lower import build
from chainrule.lower.plan.fuse import Taped
from chainrule.lower.tape.tape import Tape
from chainrule.lower.target import Target, host

pytest.importorskip("llvmlite")

ELEMENTWISE = [
    op
    for op in cr.OPS.values()
    if op.lower is not None
    and (
        isinstance(op.derivative, Partials)
        or isinstance(op.lower, str)
        or getattr(op.derivative, "elementwise", False)
    )
]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scalar graph becomes a tape, however small."""
    monkeypatch.setattr(sweep, "MIN_NODES", 0)


def tapes(fast: Any) -> list[Tape]:
    every = [v for variants in fast.variants.values() for v in variants]
    steps = [s for v in every for s in v.run.module.plan.steps]
    return [s.tape for s in steps if isinstance(s, Taped)]


def agree(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


def scalar_points(op: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Numbers from the samples and edges of an op, and settings."""
    points = []
    for sample in (*op.samples(), *(op.edges() if op.edges else ())):
        arrays = [np.asarray(a) for a in sample.args]
        if all(a.dtype == np.float64 and a.size for a in arrays):
            lanes = np.broadcast_arrays(*arrays)
            rows = zip(*(a.reshape(-1) for a in lanes), strict=True)
            points += [(row, dict(sample.attrs)) for row in list(rows)[:3]]
    return points


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_every_op_on_numbers(op, always):
    for point, attrs in scalar_points(op):

        def f(*x, attrs=attrs):
            return op(*x, **attrs)

        both = cr.value_and_grad(f, argnums=tuple(range(len(point))))
        with np.errstate(all="ignore"):
            expected = np.asarray(f(*point))
            fast = cr.compile(f)
            agree(fast(*point), expected)
            assert tapes(fast) or "interpreted" in fast.report()
            if expected.dtype != np.float64 or not tapes(fast):
                continue
            try:
                value, gradient = both(*point)
            except cr.DerivativeError:  # not written for every operand
                continue
            fast = cr.compile(both)
            found = fast(*point)
        agree(found[0], value)
        agree(found[1], gradient)


def newton(x, steps):
    """Guards: it stops where it has converged."""
    y = x
    for _ in range(steps):
        following = 0.5 * (y + x / y)
        if abs(following - y) < 1e-9:
            return following
        y = following
    return y


def test_guards_choose_the_path(always):
    fast = cr.compile(cr.value_and_grad(lambda x: newton(x, 40)))
    for x in (2.0, 1e6, 3.0, 2.0):
        found, expected = fast(x), (np.sqrt(x), 0.5 / np.sqrt(x))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        agree(found, cr.value_and_grad(lambda x: newton(x, 40))(x))
    assert len(tapes(fast)) > 1


def chain(x, y):
    for _ in range(50):
        y = np.sin(y) * x + np.exp(-x * x) / (1.0 + y**2)
    return y


def test_second_order(always):
    second = cr.grad(cr.grad(chain))
    fast = cr.compile(second)
    agree(fast(0.7, 0.3), second(0.7, 0.3))
    assert tapes(fast)


def test_hessian_and_jvp_agree(always):
    def f(x):
        return chain(x[0], x[1])

    x, t = np.array([0.7, 0.3]), np.array([1.0, -0.5])
    agree(cr.compile(cr.hessian(f))(x), cr.hessian(f)(x))

    def push(x, t):
        return cr.jvp(cr.grad(f), (x,), (t,))[1]

    agree(cr.compile(push)(x, t), push(x, t))


def test_the_gradient_is_used_further(always):
    def step(w, lr):
        value, g = cr.value_and_grad(lambda w: chain(w[0], w[1]))(w)
        return value, w - lr * g

    w = np.array([0.7, 0.3])
    fast = cr.compile(step)
    for _ in range(3):
        found, expected = fast(w, 0.1), step(w, 0.1)
        agree(found[0], expected[0])
        agree(found[1], expected[1])
        w = found[1]
    assert tapes(fast)


def test_two_gradients_in_one_function(always):
    def f(x):
        return cr.grad(chain)(x, 0.3) + cr.grad(chain, argnums=1)(x, 0.3)

    fast = cr.compile(f)
    agree(fast(0.7), f(0.7))
    (tape,) = tapes(fast)
    assert len(tape.sweeps) == 2


def test_a_gradient_of_a_gradient_elsewhere(always):
    def f(x):  # the second walk starts from what the first has found
        return cr.grad(chain)(cr.grad(chain)(x, 0.3), 0.3)

    agree(cr.compile(f)(0.7), f(0.7))


def test_the_input_is_used_outside_of_the_gradient(always):
    def f(z):
        return cr.grad(lambda x: chain(x, z))(z) * z + z

    agree(cr.compile(f)(0.7), f(0.7))


def test_aux_and_structures(always):
    def f(p):
        y = chain(p["a"], p["b"][0])
        return y, {"half": y / 2, "infinite": 1.0 / (p["a"] - p["a"])}

    both = cr.value_and_grad(f, has_aux=True)
    p = {"a": 0.7, "b": [0.3, 5.0]}
    with np.errstate(all="ignore"):
        (value, aux), gradient = both(p)
        (found, more), slope = cr.compile(both)(p)
    agree(found, value)
    agree(more["half"], aux["half"])
    assert more["infinite"] == np.inf  # which no adjoint reaches
    agree(slope["a"], gradient["a"])
    agree(slope["b"], gradient["b"])


def test_a_branch_not_taken_leaves_no_nan(always):
    def f(x):
        return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0) + np.where(
            x > 0, np.sqrt(x), x
        )

    fast, slow = cr.compile(cr.grad(f)), cr.grad(f)
    for x in (2.0, 0.0, -1.0, 3.0):
        with np.errstate(all="ignore"):
            agree(fast(x), slow(x))


def test_arrays_outside_are_live_and_shapes_are_recorded_anew(always):
    scale = np.array([2.0, 3.0])

    def f(x):
        total = 0.0
        for k in range(len(x)):
            total = total + np.sin(x[k]) * scale[k % 2]
        return total

    fast = cr.compile(cr.grad(f))
    agree(fast(np.ones(3)), cr.grad(f)(np.ones(3)))
    agree(fast(np.ones(4)), cr.grad(f)(np.ones(4)))
    scale[0] = 7.0
    agree(fast(np.ones(3)), cr.grad(f)(np.ones(3)))
    assert tapes(fast)


def test_integers_and_truths_are_results(always):
    def f(x, n):
        return x > 0.5, np.floor(x) + n, x * n

    fast = cr.compile(f)
    for x in (0.2, 1.7):
        assert fast(x, 3) == f(x, 3)


def test_arrays_of_truths_are_results(always):
    def f(x, y):
        s = np.sin(x) * x
        return np.where(np.broadcast_to(s > 0.5, (9,)), y, -y), np.stack([s < 1.0, x > s, s > 0.5])

    fast = cr.compile(f)
    for x in (0.2, 1.2, -3.0):
        for found, expected in zip(fast(x, np.arange(9.0)), f(x, np.arange(9.0)), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert any(r.dtype == bool and r.shape for t in tapes(fast) for r in t.results)


def test_the_bits_of_straight_line_code(monkeypatch):
    constants = np.linspace(0.1, 2.0, 100).tolist()

    def f(x):
        for c in constants:
            x = np.sin(x * c) + c - x / (c + 1.0)
        return x**2.5

    found = []
    for least in (0, 10**9):
        monkeypatch.setattr(sweep, "MIN_NODES", least)
        fast = cr.compile(cr.value_and_grad(f))
        found.append(fast(0.4))
        assert bool(tapes(fast)) == (least == 0)
    assert found[0] == found[1]


STEPS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - 0.5 * b,
    lambda a, b: a / (2.0 + b * b),
    lambda a, b: np.sin(a),
    lambda a, b: np.tanh(a) * b,
    lambda a, b: np.exp(-np.abs(a)),
    lambda a, b: np.sqrt(1.0 + a**2),
    lambda a, b: np.maximum(a, b),
    lambda a, b: np.where(a > b, a, b * b),
    lambda a, b: np.log1p(a * a) ** 3,
    lambda a, b: np.clip(a, -0.5, 0.5) if b > 0 else b,
)


@given(
    st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0), st.integers(0)), min_size=5),
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
)
@example(  # x * x, then in the reverse pass an instruction that is skipped, then x
    [(9, 0, 0), (0, 0, 3), (3, 0, 0), (9, 5, 0), (0, 0, 0), (3, 0, 0), (0, 0, 0), (3, 0, 8)],
    [1.0, 0.0, 0.0],
)
@settings(max_examples=30, deadline=None)
def test_random_programs(steps, start):
    def f(x):
        values = [x[0], x[1], x[2]]
        for step, i, j in steps:
            found = STEPS[step](values[i % len(values)], values[j % len(values)])
            values.append(found * 0.7)
        return sum(values)

    both = cr.value_and_grad(f)
    x = np.array(start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "MIN_NODES", 0)
        fast = cr.compile(both)
        found, expected = fast(x), both(x)
    assert tapes(fast)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11, atol=1e-12)
    size = np.abs(expected[1]).max()
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11, atol=1e-11 * size)


def wide(count):
    """Levels of many instructions of one kind: computed in vectors, and some left over."""

    def f(x):
        values = [x[k] for k in range(len(x))]
        for _ in range(count):
            triples = zip(values, values[1:] + values[:1], x, strict=True)
            values = [np.sin(a) * 0.4 + np.exp(-b) * 0.3 + c for a, b, c in triples]
        total = 0.0
        for v in values:
            total = total + v * v
        return total

    return f


@pytest.mark.parametrize("width", [1, 7, 8, 9, 40])
def test_vectors_and_what_is_left_over(width, always):
    x = np.linspace(0.1, 0.9, width)
    both = cr.value_and_grad(wide(5))
    found, expected = cr.compile(both)(x), both(x)
    agree(found[0], expected[0])
    agree(found[1], expected[1])


@pytest.mark.parametrize("width", [9, 300])
def test_what_is_fetched_ahead_changes_nothing(width, always, monkeypatch):
    x = np.linspace(0.1, 0.9, width)
    both = cr.value_and_grad(wide(5))
    near = cr.compile(both)(x)
    monkeypatch.setattr(build, "host", lambda: Target(host().registers, cache_bytes=0))
    fast = cr.compile(both)
    far = fast(x)
    assert "llvm.prefetch" in fast.ir("llvm")
    assert near[0] == far[0]
    np.testing.assert_array_equal(near[1], far[1])


def test_several_threads(always):
    both = cr.value_and_grad(wide(10))
    fast = cr.compile(both)
    points = [np.linspace(0.1, 0.1 + k / 10, 20) for k in range(4)]
    expected = [both(x) for x in points]
    fast(points[0])
    wrong: list[int] = []

    def work(k):
        for _ in range(50):
            value, gradient = fast(points[k])
            if not np.allclose(gradient, expected[k][1], rtol=1e-12) or value != found[k]:
                wrong.append(k)

    found = [fast(x)[0] for x in points]
    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def test_results_are_new_arrays(always):
    fast = cr.compile(cr.grad(wide(2)))
    first = fast(np.ones(3))
    kept = first.copy()
    fast(np.zeros(3))
    np.testing.assert_array_equal(first, kept)


def test_a_donated_array_takes_the_result(always):
    def step(w):
        return w - 0.1 * cr.grad(wide(2))(w)

    fast = cr.compile(step, donate=0)
    w, expected = np.ones(3), np.ones(3)
    for _ in range(5):
        w, expected = fast(w), step(expected)
        agree(w, expected)
    assert tapes(fast)


def test_memory_is_given_back(always):
    fast = cr.compile(cr.grad(wide(2)))
    fast(np.ones(3))
    (tape,) = tapes(fast)
    gone = weakref.ref(tape)
    del fast, tape
    gc.collect()
    assert gone() is None


def nodes_alive():
    gc.collect()
    return sum(issubclass(type(o), Node) for o in gc.get_objects())


def test_a_large_function_is_a_tape_and_its_graph_is_dropped():
    before = nodes_alive()
    both = cr.value_and_grad(wide(200))
    fast = cr.compile(both)
    x = np.linspace(0.1, 0.9, 100)
    found, expected = fast(x), both(x)
    agree(found[0], expected[0])
    agree(found[1], expected[1])
    ((variant,),) = fast.variants.values()
    (tape,) = tapes(fast)
    assert len(variant.recording.graph) < 10
    assert nodes_alive() - before < tape.instructions / 10
    assert tape.instructions > 100_000
    assert len(variant.run.module.text) < tape.instructions  # not a letter for each
    assert "B each: " in fast.report()
    assert "= sin" in fast.ir("loops")
    assert "@reverse" in fast.ir("llvm")


def test_a_small_function_is_no_tape():
    fast = cr.compile(cr.grad(lambda x: np.sin(x) * x))
    fast(0.7)
    assert not tapes(fast)


def test_what_a_tape_does_not_have_is_recorded_rule_by_rule(always):
    def f(x):  # float32 has no slots
        return np.sin(x) * x

    x = np.float32(0.7)
    fast = cr.compile(cr.grad(f))
    np.testing.assert_allclose(fast(x), cr.grad(f)(x), rtol=1e-6)
    assert not tapes(fast)


@pytest.mark.slow
def test_ten_million_nodes():
    def f(x):
        y = first = x[0]
        for _ in range(5_000_000):
            y = np.sin(y) + first
        return y

    fast = cr.compile(cr.value_and_grad(f))
    x = np.array([1.0])
    value, gradient = fast(x)
    (tape,) = tapes(fast)
    assert tape.nbytes <= 32 * tape.instructions
    y, slope = x[0], 1.0
    for _ in range(5_000_000):
        y, slope = np.sin(y) + x[0], np.cos(y) * slope + 1.0
    np.testing.assert_allclose(value, y, rtol=1e-9)
    np.testing.assert_allclose(gradient[0], slope, rtol=1e-9)
