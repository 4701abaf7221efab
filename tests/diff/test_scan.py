"""Loops recorded as one node: `scan.py`, `loop_body.py`, `loop_rules.py`, against Python's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chainrule as cr

R = np.random.default_rng(0).standard_normal


def python_scan(f, init, xs=None, length=None, reverse=False, checkpoint=None):
    """What `cr.scan` means, as a Python loop."""
    leaves, form = cr.tree.flatten(xs)
    count = len(leaves[0]) if leaves else length
    carry, ys = init, [None] * count
    for i in range(count - 1, -1, -1) if reverse else range(count):
        carry, ys[i] = f(carry, form.unflatten([v[i] for v in leaves]))
    parts = [cr.tree.flatten(y) for y in ys]
    columns = zip(*(p[0] for p in parts), strict=True)
    return carry, parts[0][1].unflatten([np.stack(list(c)) for c in columns])


def python_while(cond, body, init, checkpoint=None):
    while cond(init):
        init = body(init)
    return init


def python_fori(lower, upper, body, init):
    for i in range(lower, upper):
        init = body(i, init)
    return init


class Python:
    scan, while_loop, fori_loop = map(staticmethod, (python_scan, python_while, python_fori))
    cond = staticmethod(lambda pred, f, g, *args: f(*args) if pred else g(*args))


# ---- programs: each takes where its loops come from, and arrays ----------------------------------


def rnn(lib, w, h, xs, **how):
    def step(h, x):
        h = np.tanh(w @ h + x)
        return h, np.sum(h**2)

    h, ys = lib.scan(step, h, xs, **how)
    return np.sum(h) + np.sum(np.sin(ys))


def lstm(lib, w, u, b, xs, **how):
    n = u.shape[0]

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    def step(carry, x):
        h, c = carry["h"], carry["c"]
        z = x @ w + h @ u + b
        i, f, o = (sigmoid(z[k * n : (k + 1) * n]) for k in range(3))
        c = f * c + i * np.tanh(z[3 * n :])
        h = o * np.tanh(c)
        return {"h": h, "c": c}, h

    start = {"h": np.zeros(n), "c": np.zeros(n)}
    return np.mean(lib.scan(step, start, xs, **how)[1] ** 2)


def kalman(lib, f, q, h, r, ys, **how):
    def step(carry, y):
        x, p = carry
        x, p = f @ x, f @ p @ f.T + q
        e = y - h @ x
        s = h @ p @ h.T + r
        k = p @ h.T @ np.linalg.inv(s)
        cost = e @ np.linalg.solve(s, e) + np.linalg.slogdet(s)[1]
        return (x + k @ e, p - k @ h @ p), cost

    return np.sum(lib.scan(step, (np.zeros(3), np.eye(3)), ys, **how)[1])


def rk4(lib, p, y, **how):
    def slope(y):
        return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])

    def step(y, _):
        a = slope(y)
        b = slope(y + 0.05 * a)
        c = slope(y + 0.05 * b)
        d = slope(y + 0.1 * c)
        return y + 0.1 / 6 * (a + 2 * b + 2 * c + d), None

    return np.sum(lib.scan(step, y, length=9, **how)[0] ** 2)


def heat(lib, k, u, **how):
    def step(u, _):
        inner = u[1:-1] + k * (u[:-2] - 2 * u[1:-1] + u[2:])
        return np.concatenate([u[:1], inner, u[-1:]]), None

    return np.sum(lib.scan(step, u, length=8, **how)[0] ** 2)


def rolled_heat(lib, k, u, **how):
    def step(u, _):
        return u + k * (np.roll(u, 1) - 2 * u + np.roll(u, -1)), u[0]

    u, first = lib.scan(step, u, length=8, **how)
    return np.sum(u**2) + np.sum(first)


def descent(lib, theta, a, y, **how):
    def loss(w):
        return np.sum((a @ w - y) ** 2) + np.exp(theta) * np.sum(w**2)

    def step(w, _):
        return w - 0.01 * cr.grad(loss)(w), None

    return loss(lib.scan(step, np.zeros(3), length=6, **how)[0])


def momentum(lib, theta, w, **how):
    def step(carry, rate):
        w, v = carry
        v = 0.9 * v - rate * cr.grad(lambda w: np.sum((w - theta) ** 4))(w)
        return (w + v, v), w

    rates = np.linspace(0.01, 0.05, 5)
    (w, _), path = lib.scan(step, (w, np.zeros_like(w)), rates, **how)
    return np.sum(w**2) + np.sum(path)


def iir(lib, a, b, x, **how):
    def step(past, v):
        y = b[0] * v - a[0] * past[0] - a[1] * past[1]
        return (y, past[0]), y

    return np.sum(lib.scan(step, (0.0, 0.0), x, **how)[1] ** 2)


def hidden_markov(lib, start, move, see, **how):
    def step(log_p, e):
        m = np.max(log_p[:, None] + move, axis=0)
        return m + np.log(np.sum(np.exp(log_p[:, None] + move - m), axis=0)) + e, None

    return np.sum(lib.scan(step, start, see, **how)[0])


def nested(lib, w, xs, **how):
    def outer(c, row):
        d, ys = lib.scan(lambda d, x: (np.sin(d * w + x), d * x), c, row)
        return d, np.sum(ys)

    c, ys = lib.scan(outer, w * 1.0, xs, **how)
    return c + np.sum(ys**2)


def twice_nested(lib, w, xs, **how):
    def outer(c, rows):
        def middle(c, row):
            return lib.scan(lambda d, x: (d * w + np.cos(x), d), c, row, reverse=True)

        return lib.scan(middle, c, rows)

    c, ys = lib.scan(outer, w, xs, **how)
    return c + np.sum(ys**2)


def masks(lib, w, xs, **how):
    def step(c, x):
        return np.maximum(c * w - x, 0), np.where(c > 0.1, np.sqrt(c), 0.0)

    c, ys = lib.scan(step, np.zeros(2) * w, xs, **how)
    return np.sum(c) + np.sum(ys)


def clipped(lib, w, xs, **how):
    def step(c, x):
        return np.clip(c * w + x, -0.5, 0.5), np.max(x * w)

    c, ys = lib.scan(step, xs[0], xs, **how)
    return np.sum(c) + np.sum(ys)


def branching(lib, w, xs, **how):
    """Iterations take different branches, so it cannot be one record."""

    def step(c, x):
        c = c * 0.5 * w if c > 1 else c * w + x
        return c, c

    c, ys = lib.scan(step, 0.1 * w, xs, **how)
    return c + np.sum(ys)


def one_branch(lib, w, xs, **how):
    def step(c, x):
        return (c * w + x if c < 100 else -c), c

    c, ys = lib.scan(step, 0.1 * w, xs, **how)
    return c + np.sum(ys)


def eigen(lib, a, **how):
    def step(c, x):
        w, v = np.linalg.eigh((c + c.T) / 2)
        return v @ np.diag(np.tanh(w)) @ v.T + 0.1 * x * a, np.sum(w**3)

    c, ys = lib.scan(step, a, np.arange(3.0), **how)
    return np.sum(c) + np.sum(ys)


def gathered(lib, w, table, **how):
    def step(c, i):
        return c * w + table[i], c

    c, ys = lib.scan(step, 0.0, np.array([2, 0, 1, 1]), **how)
    return c + np.sum(ys)


def counted(lib, w, xs, **how):
    def step(c, _):
        return {"i": c["i"] + 1, "v": c["v"] * w + xs[c["i"]]}, c["i"]

    c, _ = lib.scan(step, {"i": 0, "v": 0.0}, length=4, **how)
    return c["v"]


def not_differentiable(lib, w, xs, **how):
    def step(c, x):
        return np.floor(c) + w * x, cr.stop_gradient(c) * w

    c, ys = lib.scan(step, w * 2.7, xs, **how)
    return c + np.sum(ys)


def containers(lib, w, xs, **how):
    def step(carry, x):
        (a, b), c = carry["p"], carry["q"]
        a, b = a * w + x["u"], b + x["v"][0] * a
        return {"p": (a, b), "q": [c[0] + b]}, (a, {"z": b * w})

    start = {"p": (0.5, 0.25), "q": [1.0]}
    rows = {"u": xs, "v": (2 * xs,)}
    carry, (a, more) = lib.scan(step, start, rows, **how)
    return carry["q"][0] + np.sum(a) + np.sum(more["z"])


def matrix_power(lib, m, **how):
    def step(c, _):
        return c @ m / 2, np.trace(c)

    return np.sum(lib.scan(step, np.eye(3), length=5, **how)[1])


def cumulative(lib, w, xs, **how):
    def step(c, x):
        return c + np.cumsum(x * w), np.prod(x + w)

    c, ys = lib.scan(step, np.zeros(2), xs, **how)
    return np.sum(c**2) + np.sum(ys)


def written(lib, w, xs, **how):
    def step(c, x):
        c = c * 1.0
        c[0] = w * x[1] + c[1]
        return c, c[0]

    c, ys = lib.scan(step, xs[0] * w, xs, **how)
    return np.sum(c) + np.sum(ys**2)


def ignored(lib, w, xs, **how):
    """The body reads the rows, and the carry does not depend on w."""
    return w * lib.scan(lambda c, x: (c + x, c), 0.0, xs, **how)[0]


def chained(lib, w, xs, **how):
    _, ys = lib.scan(lambda c, x: (np.sin(c + x * w), c), 0.3, xs, **how)
    c, zs = lib.scan(lambda c, y: (c * y + w, c), 1.0, ys, reverse=True)
    return c + np.sum(zs)


V, M, X = R(3), R((3, 3)) * 0.4, R((6, 3))
POS = np.eye(2) + 0.1
FLAT = np.array([0.3, -0.4, 1.1, 0.2, -0.9])
PROGRAMS = {
    rnn: (M, V, X),
    lstm: (R((3, 8)) * 0.4, R((2, 8)) * 0.4, R(8) * 0.2, X),
    kalman: (np.eye(3) * 0.9 + M * 0.1, np.eye(3) * 0.2, R((2, 3)), POS, R((5, 2))),
    rk4: (np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])),
    heat: (np.array(0.1), R(7)),
    rolled_heat: (np.array(0.1), R(6)),
    descent: (np.array(-1.0), R((4, 3)), R(4)),
    momentum: (V, R(3)),
    iir: (np.array([-0.5, 0.2]), np.array([1.0, 0.3]), R(7)),
    hidden_markov: (R(3), R((3, 3)), R((4, 3))),
    nested: (np.array(0.7), R((3, 4))),
    twice_nested: (np.array(0.7), R((2, 3, 2))),
    masks: (np.array(1.5), np.array([[-1.0, 1.0], [2.0, -3.0], [-1.0, -0.5]])),
    clipped: (np.array(0.8), R((5, 3))),
    branching: (np.array(1.3), np.arange(5.0)),
    one_branch: (np.array(1.3), np.arange(5.0)),
    eigen: (M + M.T,),
    gathered: (np.array(0.8), R(3)),
    counted: (np.array(1.2), R(4)),
    not_differentiable: (np.array(1.3), FLAT),
    containers: (np.array(0.6), FLAT),
    matrix_power: (M,),
    cumulative: (np.array(0.6), R((4, 2))),
    written: (np.array(0.6), R((4, 2))),
    ignored: (np.array(0.6), FLAT),
    chained: (np.array(0.6), FLAT),
}
CASES = [pytest.param(f, args, id=f.__name__) for f, args in PROGRAMS.items()]
SMOOTH = [c for c in CASES if c.id not in ("eigen", "not_differentiable", "branching")]


def of(program, lib, **how):
    return lambda *args: program(lib, *args, **how)


def assert_same(found, expected, tolerance=1e-13):
    for a, b in zip(cr.tree.flatten(found)[0], cr.tree.flatten(expected)[0], strict=True):
        assert not isinstance(a, cr.Variable)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max()))


# ---- values and derivatives are those of the Python loop -----------------------------------------


@pytest.mark.parametrize(("program", "args"), CASES)
def test_value_and_gradient(program, args):
    every = tuple(range(len(args)))
    assert_same(program(cr, *args), program(Python, *args), 0)
    found = cr.value_and_grad(of(program, cr), every)(*args)
    assert_same(found, cr.value_and_grad(of(program, Python), every)(*args))


@pytest.mark.parametrize(("program", "args"), CASES)
def test_forward_mode(program, args):
    moves = tuple(R(a.shape) for a in args)
    assert_same(cr.jvp(of(program, cr), args, moves), cr.jvp(of(program, Python), args, moves))


@pytest.mark.parametrize(("program", "args"), SMOOTH)
def test_second_order(program, args):
    moves = tuple(R(a.shape) for a in args)
    found, expected = (cr.hvp(of(program, lib), args, moves) for lib in (cr, Python))
    assert_same(found, expected, 1e-11)
    found, expected = (
        cr.grad(lambda x, lib=lib: np.sum(cr.grad(of(program, lib))(x, *args[1:]) ** 2))(args[0])
        for lib in (cr, Python)
    )
    assert_same(found, expected, 1e-11)


@pytest.mark.parametrize("checkpoint", [1, 2, 4, "auto", 100])
@pytest.mark.parametrize("program", [rnn, kalman, rk4, counted, containers, nested, branching])
def test_with_checkpoints(program, checkpoint):
    args = PROGRAMS[program]
    every = tuple(range(len(args)))
    found = cr.grad(of(program, cr, checkpoint=checkpoint), every)(*args)
    assert_same(found, cr.grad(of(program, Python), every)(*args))


@pytest.mark.parametrize("checkpoint", [None, 2, 4])
@pytest.mark.parametrize("program", [rnn, lstm, iir, masks, containers, nested])
def test_reversed(program, checkpoint):
    args, how = PROGRAMS[program], {"reverse": True}
    every = tuple(range(len(args)))
    found = cr.grad(of(program, cr, checkpoint=checkpoint, **how), every)(*args)
    assert_same(found, cr.grad(of(program, Python, **how), every)(*args))


@pytest.mark.parametrize("program", [rnn, rk4, masks, nested, chained])
def test_a_recorded_loop_runs_at_another_point(program):
    args = PROGRAMS[program]
    moved = tuple(a + 0.1 for a in args)
    graph = cr.trace(cr.grad(of(program, cr)), *args)
    again = cr.Graph.from_json(graph.to_json())
    expected = cr.grad(of(program, Python))(*moved)
    with np.errstate(all="ignore"):  # lanes that are masked
        assert_same(graph.forward(*moved).outputs, expected)
        assert_same(again.forward(*moved).outputs, expected)
    assert any(not n.is_leaf and n.op.name == "loop" for n in graph.nodes)


def test_jacobian_and_hessian():
    args = PROGRAMS[iir]
    for of_program in (cr.hessian, lambda f: cr.jacobian(cr.grad(f), mode="reverse")):
        found, expected = (of_program(of(iir, lib))(*args) for lib in (cr, Python))
        assert_same(found, expected, 1e-11)


SMALL = {iir: PROGRAMS[iir], counted: PROGRAMS[counted]}


@pytest.mark.parametrize("program", SMALL)
def test_checked_against_differences(program):
    cr.check_grads(of(program, cr), *PROGRAMS[program])


def test_size_does_not_depend_on_the_count():
    def sizes(n):
        return len(cr.trace(cr.grad(lambda w: rnn(cr, w, V, R((n, 3)))), M))

    assert sizes(5) == sizes(50) < 60


def test_a_loop_is_printed():
    graph = cr.trace(lambda w: cr.fori_loop(0, 5, lambda i, v: v * w + i, 0.0), 1.5)
    assert "body=<2 nodes × 5>" in str(graph)


# ---- other loops ---------------------------------------------------------------------------------


def root(lib, a):
    return lib.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)


def doubling(lib, w):
    def go_on(c):
        return c["v"] < 10

    def step(c):
        return {"v": c["v"] * w, "n": c["n"] + 1}

    end = lib.while_loop(go_on, step, {"v": 1.0, "n": 0})
    return end["v"] * end["n"]


@pytest.mark.parametrize("program", [root, doubling])
@pytest.mark.parametrize("at", [1.7, 2.0, 11.0])
def test_while_loop(program, at):
    def derivatives(lib):
        f = of(program, lib)
        return f(at), cr.grad(f)(at), cr.grad(cr.grad(f))(at), cr.jvp(f, (at,), (1.0,))[1]

    np.testing.assert_allclose(derivatives(cr), derivatives(Python), rtol=1e-10)


def test_while_loop_in_segments():
    def cooled(x, **how):
        return cr.while_loop(lambda c: c > 1e-3, lambda c: c * np.cos(x) * 0.9, x, **how)

    expected = cr.grad(cooled)(1.0)
    for checkpoint in (1, 3, "auto"):
        found = cr.grad(lambda x, c=checkpoint: cooled(x, checkpoint=c))(1.0)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_while_loop_in_the_body_of_another():
    """The inner condition is read in each iteration, beside the outer one."""

    def f(x, loops):
        def inner(v):
            return loops.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * x), (0, v))[1]

        return loops.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, inner(c[1])), (0, x))[1]

    np.testing.assert_allclose(cr.grad(lambda x: f(x, cr))(1.1), 7 * 1.1**6)


def test_lanes_of_a_carry_that_no_iteration_reads():
    """It begins otherwise in each lane, and is the same in all after the first iteration."""

    def f(x, y):
        last, rows = cr.scan(lambda c, _: (np.tanh(y), x), y * 1.0, None, length=2)
        return np.sum(last * rows)

    x, y = np.linspace(-1, 1, 6).reshape(2, 3), np.linspace(0, 1, 6).reshape(2, 3)
    by_x, by_y = cr.vmap(cr.grad(f, (0, 1)))(x, y)
    np.testing.assert_allclose(by_x, 2 * np.tanh(y))
    np.testing.assert_allclose(by_y, 2 * x / np.cosh(y) ** 2)


def test_while_loop_of_no_iteration():
    assert cr.grad(lambda x: cr.while_loop(lambda c: c < 0, lambda c: c * x, x))(2.0) == 1.0


def test_fori_loop():
    for lib in (cr, Python):
        assert lib.fori_loop(2, 6, lambda i, v: v * 2 + i, 0.5) == 49.0
    for n in (0, 1, 5):
        found = cr.grad(lambda x, n=n: cr.fori_loop(0, n, lambda i, v: v * x + i, x))(1.5)
        assert found == cr.grad(lambda x, n=n: python_fori(0, n, lambda i, v: v * x + i, x))(1.5)


def test_cond_runs_one_branch():
    ran = []

    def noting(name, f):
        return lambda x: (ran.append(name), f(x))[1]

    def choose(x):
        return cr.cond(x > 0, noting("f", np.sin), noting("g", np.cos), x)

    assert cr.grad(choose)(1.0) == np.cos(1.0)
    assert cr.grad(choose)(-1.0) == np.sin(1.0)
    assert ran == ["f", "g"]


def test_plain_arrays_come_back_plain():
    carry, ys = cr.scan(lambda c, x: (c + x, {"y": c}), 0.0, np.ones(3))
    assert type(carry) is np.float64
    assert type(ys["y"]) is np.ndarray
    assert cr.scan(lambda c, _: (c * 2, None), 1, length=3) == (8, None)


def test_no_iterations():
    carry, ys = cr.scan(lambda c, x: (c * x, c), 2.0, np.zeros((0,)))
    assert (carry, ys.shape) == (2.0, (0,))
    assert cr.grad(lambda w: cr.scan(lambda c, x: (c * x * w, c), w, np.zeros(0))[0])(2.0) == 1.0


def test_closures_over_variables():
    v = cr.variable(2.0)
    cr.scan(lambda c, x: (c * v + x, c), v, np.ones(3))[0].backward()
    assert v.grad == 37.0


def test_a_value_closed_over_is_kept_as_it_was():
    scale = np.array([1.0, 2.0])
    x = cr.variable(np.array([0.5, 0.25]))
    out = np.sum(cr.scan(lambda c, _: (c * scale, None), x, length=2)[0])
    scale[:] = 7.0
    out.backward()
    np.testing.assert_array_equal(x.grad, [1.0, 4.0])


def test_iterations_that_agree_are_guarded_when_compiled():
    fast = cr.compile(cr.grad(of(one_branch, cr)))
    xs = np.arange(5.0)
    for w in (1.3, 1.1, 30.0):
        np.testing.assert_allclose(fast(w, xs), cr.grad(of(one_branch, Python))(w, xs), rtol=1e-12)


@pytest.mark.parametrize("program", [rnn, descent, counted, nested, doubling, masks])
def test_compiled(program):
    args = PROGRAMS.get(program, (1.7,))
    fast = cr.compile(cr.grad(of(program, cr)))
    expected = cr.grad(of(program, Python))(*args)
    for _ in range(2):
        np.testing.assert_allclose(fast(*args), expected, rtol=1e-12, atol=1e-14)


# ---- what is refused -----------------------------------------------------------------------------

BODIES = {
    "carry as float64[2] and returns it as float64[4]": (
        lambda c, x: (np.concatenate([c, c]), None), np.ones(2), cr.ShapeError,
    ),
    "carry as float32[] and returns it as float64[]": (
        lambda c, x: (c * x, None), np.float32(1), cr.DTypeError,
    ),
    "carry['a'] as int64[] and returns it as float64[]": (
        lambda c, x: ({"a": c["a"] * 1.5}, None), {"a": np.array(1)}, cr.DTypeError,
    ),
    "must be a leaf, got a tuple of 2": (
        lambda c, x: ((c, c), None), 1.0, cr.ArgumentError,
    ),
    "must return a pair": (lambda c, x: c, 1.0, cr.ArgumentError),
}  # fmt: skip


@pytest.mark.parametrize("says", BODIES)
def test_a_carry_stays_what_it_is(says):
    body, init, error = BODIES[says]
    for run in (
        lambda: cr.scan(body, init, np.arange(3.0)),
        lambda: cr.grad(lambda w: cr.scan(body, init, w * np.arange(3.0))[0])(1.0),
    ):
        with pytest.raises(error) as caught:
            run()
        assert says in str(caught.value)
        assert "test_scan.py" in str(caught.value)


def test_a_body_that_does_something_else_each_time():
    def f(w):
        count = iter(range(10))
        return cr.scan(lambda c, x: (c * w + next(count), None), w, np.arange(3.0))[0]

    with pytest.raises(cr.ArgumentError, match="something else in its second iteration"):
        cr.grad(f)(2.0)


def test_what_leaves_the_body_by_another_way():
    def f(w):
        seen = []
        cr.scan(lambda c, x: (seen.append(c * w), (c * w, None))[1], w, np.arange(3.0))
        return seen[0] * seen[1]

    for use in (cr.grad(f), cr.grad(cr.grad(f)), lambda w: cr.trace(f, w), cr.compile(cr.grad(f))):
        with pytest.raises(cr.DetachError, match="in the body of a loop is used outside"):
            use(2.0)
    v = cr.variable(2.0)
    with pytest.raises(cr.DetachError, match="in the body of a loop is used outside"):
        f(v).backward()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda f: cr.scan(f, 0.0), "needs a length"),
        (lambda f: cr.scan(f, 0.0, (np.ones(2), np.ones(3))), "xs[0]: 2, xs[1]: 3"),
        (lambda f: cr.scan(f, 0.0, np.ones(2), length=4), "length: 4"),
        (lambda f: cr.scan(f, 0.0, 1.0), "single number"),
        (lambda f: cr.scan(f, "a", np.ones(2)), "not a number"),
        (lambda f: cr.scan(f, 0.0, np.ones(2), checkpoint=0), "checkpoint=0"),
        (lambda f: cr.while_loop(lambda c: np.ones(2) > 0, lambda c: c, 1.0), "one truth"),
    ],
)  # fmt: skip
def test_bad_calls(call, says):
    with pytest.raises(cr.ChainruleError) as caught:
        call(lambda c, x: (c, x))
    assert says in str(caught.value)


# ---- random bodies -------------------------------------------------------------------------------

UNARY = [np.sin, np.tanh, np.exp, np.negative, np.abs, lambda v: np.maximum(v, 0.1), np.square]
BINARY = [np.add, np.multiply, np.subtract, np.maximum, lambda a, b: np.where(a > b, a, 0.5 * b)]
STEPS = st.lists(
    st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=8,
)


def body_of(steps):
    def step(carry, x):
        values = [*carry, x, x * 0.5 + carry[0]]
        for op, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            made = UNARY[op](a) if op < len(UNARY) else BINARY[op - len(UNARY)](a, b)
            values.append(np.tanh(made))
        return (values[-1], 0.5 * values[-2] + 0.1 * carry[1]), values[-1] * values[0]

    return step


@settings(max_examples=12, deadline=None)
@given(STEPS, st.booleans(), st.sampled_from([None, 2, "auto"]))
def test_random_bodies(steps, reverse, checkpoint):
    xs, start = R((3, 2)), (R(2), R(2))

    def loss(lib, a, b, xs):
        step = body_of(steps)
        (c, d), ys = lib.scan(step, (a, b), xs, reverse=reverse, checkpoint=checkpoint)
        return np.sum(c) + np.sum(d * c) + np.sum(ys)

    args = (*start, xs)
    found = cr.value_and_grad(of(loss, cr), (0, 1, 2))(*args)
    assert_same(found, cr.value_and_grad(of(loss, Python), (0, 1, 2))(*args))


def test_a_checkpointed_loop_keeps_each_carry_once():
    """Of n / k segments the carries: what one is left with is what the next begins with."""
    import tracemalloc

    def loss(x):
        def step(c, _):
            return np.tanh(np.sin(c) * 1.1), None

        return np.sum(cr.scan(step, x, length=1024, checkpoint=4)[0])

    x = np.linspace(0.1, 1, 2000)
    cr.grad(loss)(x)
    tracemalloc.start()
    cr.grad(loss)(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * 1024 / 4 * x.nbytes
