"""Programs that iterate until something has converged, or recur until something is found."""

import numpy as np

from tests.run.programs.corpus import function, functions

POSITIVE = [2.0, 1e6, 0.01, 9.0]
MATRICES = [
    [[2.0, 1.0], [1.0, 3.0]],
    [[5.0, 0.1], [0.1, 1.0]],
    [[1.0, 0.4], [0.4, 1.2]],
]
TWO = [
    ([1.0, 2.0], [1.0, 2.0]),
    ([1.0, 2.0], [1.0, 2.5]),
    ([1.0, 2.0], [1.0, 2.0 + 1e-12]),
    ([1.0, 2.0], [2.0, 1.0]),
]
STEPS = [[1.0, 2.0, -1.0], [-1.0, 3.0, -2.0], [-3.0, -2.0, -1.0], [1.0, 2.0, 3.0]]

functions(
    TWO,
    allclose_branch=lambda x, y: x.sum() if np.allclose(x, y) else (x * y).sum(),
    allclose_tolerance=lambda x, y: x.sum() if np.allclose(x, y, atol=0.7) else y.sum() * 2,
    array_equal_branch=lambda x, y: x.sum() if np.array_equal(x, y) else y.sum() * 2,
    array_equiv_branch=lambda x, y: x.sum() if np.array_equiv(x, y) else y.sum() * 2,
    isclose_all=lambda x, y: x.sum() if np.isclose(x, y).all() else y.sum() * 2,
    isclose_first=lambda x, y: x.sum() if np.isclose(x[1], y[1]) else y.sum() * 2,
    isclose_weights=lambda x, y: x * np.isclose(x, y),
    isclose_where=lambda x, y: np.where(np.isclose(x, y), x, x * y),
    isclose_mask=lambda x, y: np.sum(x[np.isclose(x, y)]),
    equal_all=lambda x, y: x.sum() if (x == y).all() else y.sum() * 2,
    equal_lists=lambda x, y: x.sum() if x.tolist() == y.tolist() else y.sum() * 2,
    equal_bytes=lambda x, y: x.sum() if x.tobytes() == y.tobytes() else y.sum() * 2,
    norm_below=lambda x, y: x.sum() if np.linalg.norm(x - y) < 1e-6 else y.sum() * 2,
    max_difference=lambda x, y: x.sum() if np.max(np.abs(x - y)) < 0.7 else y.sum() * 2,
    testing_assert=lambda x, y: _asserted(x, y),
    all_builtin=lambda x, y: x.sum() if all(x == y) else y.sum() * 2,
    any_builtin=lambda x, y: x.sum() if any(x != y) else y.sum() * 2,
    logical_and=lambda x, y: x.sum() if np.logical_and(x > 0, y > 1.5).all() else y.sum(),
)


def _asserted(x, y):
    try:
        np.testing.assert_allclose(x, y)
    except AssertionError:
        return y.sum() * 2
    return x.sum()


@function(*POSITIVE)
def newton_allclose(a):
    x = 0.5 * (a + 1.0)
    while True:
        new = 0.5 * (x + a / x)
        if np.allclose(new, x, rtol=1e-12, atol=0):
            return new
        x = new


@function(*POSITIVE)
def newton_isclose(a):
    x = 0.5 * (a + 1.0)
    for _ in range(60):
        new = 0.5 * (x + a / x)
        if np.isclose(new, x, rtol=1e-12, atol=0):
            break
        x = new
    return x


@function(*POSITIVE)
def newton_abs(a):
    x = a
    while abs(x * x - a) > 1e-9 * a:
        x = 0.5 * (x + a / x)
    return x


@function(*POSITIVE)
def newton_counted(a):
    x, n = a, 0
    while abs(x * x - a) > 1e-9 * a and n < 5:
        x, n = 0.5 * (x + a / x), n + 1
    return x, n


@function(*POSITIVE)
def newton_for_else(a):
    x = a
    for _ in range(8):
        x = 0.5 * (x + a / x)
        if abs(x * x - a) < 1e-9 * a:
            break
    else:
        x = -x
    return x


@function(2.0, 5.0, 7.5, 60.0)
def bisection(a):
    low, high = 0.0 * a, a
    for _ in range(20):
        middle = (low + high) / 2
        if middle * middle < a:
            low = middle
        else:
            high = middle
    return (low + high) / 2


@function(0.3, 0.9, 2.0)
def fixed_point_cos(s):
    x = s * 1.0
    while True:
        new = np.cos(x) * 0.7
        if abs(new - x) < 1e-10:
            return new
        x = new


@function([0.1, 0.2], [0.9, -0.4], [2.0, 1.0])
def fixed_point_vector(b):
    x = np.zeros(2)
    M = np.array([[0.2, 0.1], [0.0, 0.3]])
    while True:
        new = M @ x + b
        if np.allclose(new, x, atol=1e-12):
            return new
        x = new


@function([0.1, 0.2], [0.9, -0.4], [20.0, 1.0])
def fixed_point_array_equal(b):
    x = b * 0
    for n in range(100):
        new = np.round(0.5 * x + b, 6)
        if np.array_equal(new, x):
            break
        x = new
    return x, n


@function(*MATRICES)
def power_iteration(M):
    v = np.ones(2)
    for _ in range(200):
        new = M @ v
        new = new / np.linalg.norm(new)
        if np.linalg.norm(new - v) < 1e-10:
            break
        v = new
    return v @ M @ v


@function(*MATRICES)
def conjugate_gradient(M):
    b = np.array([1.0, 2.0])
    x = b * 0
    r = b - M @ x
    p, rs = r, r @ r
    for _ in range(10):
        Mp = M @ p
        alpha = rs / (p @ Mp)
        x, r = x + alpha * p, r - alpha * Mp
        new = r @ r
        if np.sqrt(new) < 1e-9:
            break
        p, rs = r + new / rs * p, new
    return x


@function(*MATRICES)
def jacobi_sweeps(M):
    b = np.array([1.0, 2.0])
    d = np.diag(M)
    x = b * 0
    while np.max(np.abs(M @ x - b)) > 1e-8:
        x = (b - (M - np.diag(d)) @ x) / d
    return x


@function([1.0, 1.0], [0.3, -0.2], [3.0, 0.1])
def armijo_line_search(x):
    f = lambda v: v[0] ** 4 + 3 * v[1] ** 2  # noqa: E731 - as it is written
    g = np.stack([4 * x[0] ** 3, 6 * x[1]])
    t = 1.0
    while f(x - t * g) > f(x) - 0.1 * t * (g @ g):
        t *= 0.5
    return f(x - t * g)


@function([1.0, 1.0], [0.3, -0.2], [3.0, 0.1])
def gradient_descent_inside(x):
    for _ in range(100):
        g = 2 * x * np.array([1.0, 0.5])
        if np.abs(g).max() < 0.3:
            break
        x = x - 0.2 * g
    return x.sum()


@function(0.5, 2.0, 6.0)
def series_until_small(x):
    term, total, k = 1.0, 1.0, 0
    while abs(term) > 1e-12:
        k += 1
        term = term * x / k
        total = total + term
    return total


@function(3.2, 100.5, 0.4)
def halved_until_below_one(x):
    n = 0
    while x >= 1:
        x, n = x / 2, n + 1
    return x * 2.0**n, n


@function(1.5, 20.0, 0.1)
def doubled_recursively(x):
    def grow(v, depth):
        return v if v > 10 or depth > 6 else grow(v * 2, depth + 1)

    return grow(x, 0) ** 2


@function([3.0, 1.0, 2.0], [0.1, 0.2, 0.3], [1e3, 1.0, 1.0])
def clipped_gradient_norm(g):
    n = np.sqrt(np.sum(g * g))
    if n > 1.0:
        g = g / n
    return g * 2


@function((1.0, 2.0), (0.3, 0.1), (5.0, -2.0))
def secant(a, b):
    f = lambda v: v * v - 3.0  # noqa: E731 - as it is written
    for _ in range(50):
        if abs(f(b)) < 1e-9:
            break
        a, b = b, b - f(b) * (b - a) / (f(b) - f(a))
    return b


@function((0.0, 4.0), (0.0, 1.0), (1.0, 6.5))
def golden_section(a, b):
    f = lambda v: (v - 1.7) ** 2  # noqa: E731 - as it is written
    for _ in range(12):
        c, d = b - 0.618 * (b - a), a + 0.618 * (b - a)
        if f(c) < f(d):
            b = d
        else:
            a = c
    return (a + b) / 2


@function([0.2, 0.5, 0.3], [0.9, 0.05, 0.05], [1.0, 1.0, 2.0])
def sinkhorn(p):
    K = np.exp(-((np.arange(3)[:, None] - np.arange(3)) ** 2.0))
    u = np.ones(3)
    for _ in range(100):
        v = (p / p.sum()) / (K.T @ u)
        new = np.full(3, 1 / 3) / (K @ v)
        if np.abs(new - u).max() < 1e-10:
            break
        u = new
    return u * v


@function((8.0, 0.5), (8.0, 0.9), (1.0, 0.5))
def adaptive_step(t, tol):
    y, s, h = 1.0, 0.0, 0.5
    while s < t:
        step = min(h, t - s)
        error = abs(step * step * y)
        if error > tol:
            h = h / 2
            continue
        y, s = y - step * y * 0.3, s + step
    return y


@function(*STEPS)
def tree(x):
    def build(v):
        return {"v": v[0], "rest": build(v[1:])} if len(v) and v[0] > -2.5 else None

    def total(node):
        return 0.0 if node is None else node["v"] + 2 * total(node["rest"])

    return total(build(x)) + 0 * x[0]


@function(*STEPS)
def dynamic_programme(x):
    best = current = x[0]
    for v in x[1:]:
        current = v if current < 0 else current + v
        best = current if current > best else best
    return best


@function(*STEPS)
def mutual_recursion(x):
    def even(k):
        return 0.0 if k >= 3 else x[k] + odd(k + 1)

    def odd(k):
        return 0.0 if k >= 3 or x[k] < 0 else -x[k] + even(k + 1)

    return even(0)
