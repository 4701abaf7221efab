"""`bodies.py`, `found.py`, `indices.py`, `iterations.py`, `making.py`, `repeats.py` and `roll.py`.

Python loops that are found again in a recording: they compute the same, to the bit.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainrule as cr
from chainrule.core.loop import Body
from chainrule.core.replay import computed, replay
from chainrule.optimise import roll
from chainrule.optimise.roll import rolled
from chainrule.record.specialise import GuardedTrace, specialised

from .graphs import assert_same_bits
from .loop_programs import PROGRAMS, asked
from .loop_programs import heat_roll as heat

FLAT = set()  # programs that stay as they are


@pytest.fixture(autouse=True)
def _small_loops(monkeypatch):
    monkeypatch.setattr(roll, "MIN_SAVED_NODES", 16)
    monkeypatch.setattr("chainrule.core.loop.computed", apply)


def recorded(f, *args):
    return specialised(f, args, {}, trace=GuardedTrace(holds=lambda array: False))


def _contiguous(a):
    return np.ascontiguousarray(a) if isinstance(a, np.ndarray) and a.ndim else a


def apply(node, args):
    """An op on arrays of one layout: BLAS rounds by where numbers lie."""
    return computed(node, [_contiguous(a) for a in args])


def values(recording, leaves=None):
    graph = recording.graph
    known = {**recording.constants, **recording.external}
    known.update(zip(graph.leaves, leaves, strict=True))
    with np.errstate(all="ignore"):
        every = replay([n for n in graph.nodes if not n.is_leaf], known, apply)
    return [np.asarray(every[n]) for n in graph.outputs]


def loops_in(graph):
    return [n.attrs["body"] for n in graph.nodes if not n.is_leaf and n.op.name == "loop"]


def leaves_of(args):
    return [np.asarray(v) for v in cr.tree.leaves(list(args))]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_rolled_is_unrolled_to_the_bit(f):
    args = PROGRAMS[f]
    recording = recorded(asked(f), *args)
    shorter = rolled(recording)
    shorter.graph.verify()
    assert bool(loops_in(shorter.graph)) == (f not in FLAT)
    for scale in (1.0, 0.75):  # at the point, and at another
        leaves = [(v * scale).astype(v.dtype) for v in leaves_of(args)]
        assert_same_bits(values(shorter, leaves), values(recording, leaves), f.__name__)


def test_what_is_left_grows_with_the_body_and_not_with_the_count():
    def f(k, u, n):
        for _ in range(n):
            u = u + k * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return np.sum(u**2)

    sizes = [
        len(rolled(recorded(cr.grad(lambda k, u, n=n: f(k, u, n)), 0.1, np.ones(5))).graph)
        for n in (20, 40, 80)
    ]
    assert len(set(sizes)) == 1


def test_a_loop_in_a_loop_is_one_in_its_body():
    def f(W, x, often):
        for _ in range(9):
            s = x
            for _ in range(often):
                s = np.tanh(W @ s) * 0.9 + 0.1 * x
            x = s / np.sqrt(np.sum(s * s))
        return np.sum(x**2)

    W = np.linspace(-1, 1, 9).reshape(3, 3)
    sizes = set()
    for often in (12, 24, 48):
        recording = recorded(lambda W, x, often=often: f(W, x, often), W, np.ones(3))
        shorter = rolled(recording)
        (outer,) = loops_in(shorter.graph)
        (inner,) = loops_in(outer.graph)
        assert (outer.count, inner.count) == (9, often)
        assert [one.count for one in shorter.repeated] == [9, often]
        sizes.add(len(outer.graph))
        leaves = [W, np.ones(3)]
        assert_same_bits(values(shorter, leaves), values(recording, leaves), "nested")
    assert len(sizes) == 1


def test_guards_of_every_iteration_become_one():
    def f(a):
        x = a
        while np.max(np.abs(x * x - a)) > 1e-9:
            x = (x + a / x) / 2 + 0.4 * (x - a / x) / 2
        return np.sum(x)

    recording = recorded(f, np.array([2.0, 3.0]))
    shorter = rolled(recording)
    assert len(recording.guards) > 2 * len(shorter.guards)
    assert sum(g.value.size for g in shorter.guards) == len(recording.guards)
    fast = cr.compile(f)
    for a in ([2.0, 3.0], [1e6, 1e-3], [2.0, 3.0], [0.5, 2.0]):
        np.testing.assert_allclose(fast(np.array(a)), f(np.array(a)), rtol=1e-12)


def picked_after(x, y):
    for _ in range(20):
        x = np.tanh(x) * 0.9 + 0.3 * y
    return np.sum(x[x > 0.3] ** 2) + np.sum(np.exp(y[x > 0.3]))


def picked_between(x, y):
    for _ in range(20):
        x = np.tanh(x) * 0.9 + 0.3 * y
    picked = x[x > 0.3]
    x = x.copy()
    x[x < 0.1] *= 0.5
    for _ in range(20):
        x = np.sin(x) + 0.1 * y
    return np.sum(x) + np.sum(picked**3)


def picked_in_a_list(x, y):
    parts = [row[row > 0] for row in np.outer(y, x)] + [x[x > k / 20] for k in range(12)]
    total = 0.0
    for part in parts:
        total = total + np.sum(part**2)
    return total


@pytest.mark.parametrize("f", [picked_after, picked_between, picked_in_a_list])
@pytest.mark.parametrize("gradient", [False, True], ids=["value", "gradient"])
def test_what_a_mask_picks_beside_loops(f, gradient):
    """Shapes tell of the mask that picked: of the one that is computed of a loop's result."""
    f = cr.value_and_grad(f, argnums=(0, 1)) if gradient else f
    fast, rng = cr.compile(f), np.random.default_rng(0)
    for _ in range(5):
        x, y = rng.normal(size=(2, 9))
        for a, b in zip(cr.tree.leaves(fast(x, y)), cr.tree.leaves(f(x, y)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_results_of_the_same_loop_are_one_body():
    (forth, back) = loops_in(rolled(recorded(asked(heat), *PROGRAMS[heat])).graph)
    assert isinstance(forth, Body)
    assert not forth.backwards
    assert back.backwards


def test_an_if_on_chance_stays_as_it_is():
    chance = np.random.default_rng(0).integers(0, 4, 60)

    def f(x):
        for c in chance:
            x = [np.sin, np.cos, np.tanh, np.arctan][c](x)
        return np.sum(x)

    graph = recorded(f, np.ones(3)).graph
    assert not loops_in(rolled(recorded(f, np.ones(3))).graph)
    assert len(graph) > 60


def test_arrays_that_grow_stay_as_they_are():
    def f(x):
        y = x[:1]
        for i in range(1, len(x)):
            y = np.concatenate([y, np.sin(y[-1:] * x[i])])
        return np.sum(y)

    recording = recorded(cr.grad(f), np.linspace(0.1, 1, 30))
    leaves = [np.linspace(0.1, 1, 30)]
    assert_same_bits(values(rolled(recording), leaves), values(recording, leaves))


def lotka_volterra(a, u, v, n=60, h=0.05):
    def slope(u, v):
        return u - a * u * v, a * u * v - v

    for _ in range(n):
        k1, l1 = slope(u, v)
        k2, l2 = slope(u + h * k1 / 2, v + h * l1 / 2)
        k3, l3 = slope(u + h * k2 / 2, v + h * l2 / 2)
        k4, l4 = slope(u + h * k3, v + h * l3)
        u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        v = v + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return u * v


def soft_dtw(d):
    n, m = d.shape
    r = [[0.0 if i == j == 0 else 1e3 for j in range(m + 1)] for i in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            ways = np.exp(-r[i - 1][j - 1]) + np.exp(-r[i - 1][j]) + np.exp(-r[i][j - 1])
            r[i][j] = d[i - 1, j - 1] - np.log(ways)
    return r[n][m]


@pytest.mark.parametrize(
    ("f", "args", "looped"),
    [(lotka_volterra, (0.8, 1.5, 0.5), True), (soft_dtw, (np.full((14, 12), 0.25),), False)],
)
def test_a_gradient_of_numbers_is_a_loop_where_an_iteration_hands_little_on(f, args, looped):
    """Else the tape, which has every value at hand, is faster."""
    slow = cr.value_and_grad(f, argnums=tuple(range(len(args))))
    fast = cr.compile(slow, verify="always")
    fast(*args)
    for got, want in zip(cr.tree.leaves(fast(*args)), cr.tree.leaves(slow(*args)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert ("as a loop of" in fast.report()) == looped
    assert ("tape of" in fast.report()) != looped


def test_the_report_says_what_became_of_loops():
    def f(x, w):
        for t in range(100):
            x = np.sin(x * w[t]) + 0.5 * x
        return np.sum(x)

    fast = cr.compile(f)
    fast(np.ones(3), np.linspace(0, 1, 100))
    assert "× 100, 100 as a loop of 5 operations" in fast.report()
    assert "test_roll.py" in fast.report()


# -- random bodies -----------------------------------------------------------------------------

UNARY = (np.sin, np.tanh, np.exp, lambda v: v * v, lambda v: v[::-1], lambda v: np.cumsum(v) / 4)
BINARY = (np.add, np.multiply, np.subtract, np.maximum, lambda a, b: a / (1 + b * b))


@st.composite
def bodies(draw):
    """Steps (op, where it reads), what is carried, how iterations meet rows and constants."""
    count = draw(st.integers(1, 7))
    pool = 5  # two states, a row, a row before or behind, a table
    steps = []
    for k in range(count):
        reads = st.integers(0, pool + k - 1)
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(UNARY)), (draw(reads),)))
        else:
            steps.append((draw(st.sampled_from(BINARY)), (draw(reads), draw(reads))))
    last = st.integers(0, pool + count - 1)
    return {
        "steps": steps,
        "carried": (draw(last), draw(last)),
        "kept": draw(last),
        "backwards": draw(st.booleans()),
        "apart": draw(st.integers(0, 3)),
        "period": draw(st.sampled_from([1, 1, 1, 2, 3])),
        "count": draw(st.integers(9, 30)),
    }


def loop_of(body):
    def f(a, xs):
        u, v = a, 2 * a
        kept, n = [], body["count"]
        for t in range(n):
            i = n - 1 - t if body["backwards"] else t
            pool = [u, v, xs[i], xs[i + body["apart"]], 0.1 * t * np.ones(3)]
            for op, reads in body["steps"][: len(body["steps"]) - t % body["period"]]:
                pool.append(op(*(pool[r] for r in reads)))
            u, v = (np.tanh(pool[min(r, len(pool) - 1)] + u) for r in body["carried"])
            kept.append(pool[min(body["kept"], len(pool) - 1)])
        every = np.stack(kept[::2])
        return np.sum(u * v) + np.mean(np.tanh(every))

    return f


@settings(max_examples=60, deadline=None)
@given(bodies())
def test_random_loops(body):
    f = cr.value_and_grad(loop_of(body), argnums=(0, 1))
    rng = np.random.default_rng(0)
    args = rng.standard_normal(3), rng.standard_normal((40, 3))
    with np.errstate(all="ignore"):
        recording = recorded(f, *args)
        shorter = rolled(recording)
        shorter.graph.verify()
        assert_same_bits(values(shorter, args), values(recording, args))
