"""`memory=`: the gradient to the bit, the peak below the budget, less time for more memory."""

import tracemalloc

import numpy as np
import pytest

import chainrule as cr

R = np.random.default_rng(0)
X = R.standard_normal((1500, 60))
WEIGHTS = [R.standard_normal((60, 60)) * 0.1 for _ in range(12)]
TOKENS = R.standard_normal((240, 32))
BLOCKS = [[R.standard_normal((32, 32)) * 0.2 for _ in range(4)] for _ in range(4)]
START = R.standard_normal((40, 60))
STEPS = R.standard_normal((60, 40, 16))
CELL = {"w": R.standard_normal((16, 96)) * 0.2, "u": R.standard_normal((32, 96)) * 0.2}


def mlp(ws):
    h = X
    for w in ws:
        h = np.tanh(h @ w)
    return np.sum(h**2)


def attention(blocks):
    x = TOKENS
    for q, k, v, w in blocks:
        s = (x @ q) @ (x @ k).T / 6
        e = np.exp(s - np.max(s, axis=1, keepdims=True))
        x = x + (e / np.sum(e, axis=1, keepdims=True)) @ (x @ v)
        x = x + np.maximum(x, 0) @ w
        x = x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + 1e-5)
    return np.sum(x**3)


def recurrent(p):
    h = np.zeros((40, 32))
    for x in STEPS:
        z = x @ p["w"] + h @ p["u"]
        r = 1 / (1 + np.exp(-z[:, :32]))
        h = (1 - r) * h + r * np.tanh(z[:, 32:64]) * np.cos(z[:, 64:])
    return np.sum(h**2)


def scanned(x0):
    def step(c, _):
        return np.tanh(c @ WEIGHTS[0]) + x0 * 0.1, np.sum(c)

    c, ys = cr.scan(step, x0, length=150)
    return np.sum(c**2) + np.sum(ys)


def skipping(x):
    """A value of the start that is read at the end, views, masks and a list that is kept."""
    first, kept = np.sin(x), []
    for k in range(10):
        x = np.where(x > 0, np.exp(-x), x.T.reshape(x.shape) * 0.5) + first[:, ::-1]
        kept.append(np.sum(x[k]))
    return np.sum(np.stack(kept)) + np.sum(first * x)


PROGRAMS = {
    "mlp": (mlp, WEIGHTS, (1.2, 0.8, 0.5, 0.35)),
    "attention": (attention, BLOCKS, (1.3, 0.9, 0.7, 0.6)),
    "recurrent": (recurrent, CELL, (1.3, 1.0, 0.9)),
    "scanned": (scanned, START, (1.2, 0.8, 0.6)),
    "skipping": (skipping, R.standard_normal((300, 300)), (1.3, 0.9, 0.8)),
}


def peak(call):
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        found = call()
        return found, tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def same(a, b):
    pairs = zip(cr.tree.leaves(a), cr.tree.leaves(b), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_bits_below_the_budget(name):
    f, at, shares = PROGRAMS[name]
    expected = cr.grad(f)(at)
    _, natural = peak(lambda: cr.grad(f)(at))
    for warm in (1.0, 0.9):  # what is imported on the way is no part of a peak
        cr.grad(f, memory=int(warm * natural) + 2_000_000)(at)
    for share in shares:
        budget = int(share * natural)
        found, used = peak(lambda: cr.grad(f, memory=budget)(at))  # noqa: B023 - called at once
        assert same(found, expected)
        assert used <= budget, f"{share}: {used:,} of {budget:,}"


def test_below_what_is_possible_the_least_is_told():
    with pytest.raises(cr.MemoryBudgetError, match=r"about .* are needed") as told:
        cr.grad(mlp, memory="4MB")(WEIGHTS)
    assert 4_000_000 < told.value.least < 12_000_000
    assert same(cr.grad(mlp, memory=told.value.least + 10_000)(WEIGHTS), cr.grad(mlp)(WEIGHTS))


def test_value_and_auxiliary_results():
    def f(x):
        y = np.sin(x)
        for _ in range(20):
            y = np.sin(y) * np.cos(y)
        return np.sum(y), {"first": y[0]}

    x = np.linspace(0, 1, 20_000)
    found = cr.value_and_grad(f, has_aux=True, memory="3MB")(x)
    expected = cr.value_and_grad(f, has_aux=True)(x)
    assert found[0] == expected[0]
    assert same(found[1], expected[1])


def test_a_mask_that_matters():
    def f(x):
        y = x
        for _ in range(12):
            y = np.where(x > 0, np.sqrt(np.where(x > -1, x, 1.0)) * 0.5 + 0.5 * y, y)
        return np.sum(y)

    x = np.linspace(-1, 1, 20_001)
    with np.errstate(all="ignore"):
        assert same(cr.grad(f, memory="12MB")(x), cr.grad(f)(x))


def test_a_users_own_operation():
    class Cube(cr.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved[0] ** 2 * g

    def f(x):
        for _ in range(15):
            x = Cube.apply(np.sin(x)) + 0.9
        return np.sum(x)

    x = np.linspace(0, 1, 20_000)
    assert same(cr.grad(f, memory="4MB")(x), cr.grad(f)(x))


def test_inside_another_gradient_that_decides():
    def f(x):
        return np.sum(np.sin(x) ** 3)

    x = np.array([0.3, 0.7])
    inner = cr.grad(f, memory="1GB")
    found = cr.grad(lambda x: np.sum(inner(x) ** 2), memory="1GB")(x)
    assert same(found, cr.grad(lambda x: np.sum(cr.grad(f)(x) ** 2))(x))


def test_a_variable_of_outside_is_refused():
    v = cr.variable(2.0, name="v")
    with pytest.raises(cr.ArgumentError, match="pass it as an argument"):
        cr.grad(lambda x: x * v, memory="10MB")(3.0)
