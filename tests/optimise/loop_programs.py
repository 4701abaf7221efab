"""Programs with Python loops, as people write them: functions, and their arguments."""

import numpy as np

import chainrule as cr

rng = np.random.default_rng(7)
draw = rng.standard_normal
N = 24  # iterations


def spread(n):
    a = draw((n, n))
    return a @ a.T / n + np.eye(n)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def heat_roll(k, u):
    for _ in range(N):
        u = u + k * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return np.sum(u**2)


def heat_slices(k, u):
    for _ in range(N):
        u = np.concatenate([u[:1], u[1:-1] + k * (u[:-2] - 2 * u[1:-1] + u[2:]), u[-1:]])
    return np.sum(u**2)


def slope(p, y):
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]])


def runge_kutta(p, y, h=0.05):
    for _ in range(N):
        k1 = slope(p, y)
        k2 = slope(p, y + h / 2 * k1)
        k3 = slope(p, y + h / 2 * k2)
        k4 = slope(p, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(y**2)


def kalman(F, Q, H, R, ys):
    x, P = np.zeros(4), np.eye(4)
    fit = 0.0
    for y in ys:
        x = F @ x
        P = F @ P @ F.T + Q
        r = y - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ r
        P = P - K @ H @ P
        fit = fit - 0.5 * (r @ np.linalg.solve(S, r) + np.linalg.slogdet(S)[1])
    return fit


def lstm_states(W, U, b, xs):
    n = U.shape[0]
    h = c = np.zeros((xs.shape[1], n))
    for t in range(len(xs)):
        z = xs[t] @ W + h @ U + b
        i, f, o = sigmoid(z[:, :n]), sigmoid(z[:, n : 2 * n]), sigmoid(z[:, 2 * n : 3 * n])
        c = f * c + i * np.tanh(z[:, 3 * n :])
        h = o * np.tanh(c)
        yield h


def lstm_end(W, U, b, xs):
    for h in lstm_states(W, U, b, xs):  # noqa: B007 - the last one counts
        pass
    return np.mean(h**2)


def lstm_every(W, U, b, xs):
    loss = 0.0
    for h in lstm_states(W, U, b, xs):
        loss = loss + np.mean(h**2)
    return loss


def lstm_list(W, U, b, xs):
    return np.mean(np.stack(list(lstm_states(W, U, b, xs))) ** 2)


def lstm_joined(W, U, b, xs):
    return np.sum(np.concatenate(list(lstm_states(W, U, b, xs)), axis=1) ** 3)


def gru(W, U, V, xs):
    n = V.shape[0]
    h = np.zeros((xs.shape[1], n))
    for x in xs:
        z = sigmoid(x @ W + h @ U)
        h = (1 - z[:, :n]) * h + z[:, :n] * np.tanh((z[:, n:] * h) @ V)
    return np.mean(h**2)


def recursive_filter(a, b, x):
    y = []
    for t in range(len(x)):
        v = b[0] * x[t]
        if t >= 1:
            v = v + b[1] * x[t - 1] - a[0] * y[t - 1]
        if t >= 2:
            v = v - a[1] * y[t - 2]
        y.append(v)
    return np.sum(np.stack(y) ** 2)


def third_order(a, x):
    u, v, w = x, 2 * x, 3 * x
    for _ in range(N):
        u, v, w = v, w, a * np.tanh(u) + np.cos(v) * w
    return np.sum(w * v)


def sliding_window(k, x):
    total = 0.0
    for i in range(len(x) - 2):
        total = total + np.sum(k * x[i : i + 3]) ** 2
    return total


def strided_windows(k, x):
    total = 0.0
    for i in range(0, len(x) - 5, 2):
        total = total + np.dot(k, x[i + 5 : i + 2 : -1]) ** 2
    return total


def columns(w, x):
    h = np.zeros(x.shape[0])
    for t in range(x.shape[1]):
        h = np.tanh(w @ h + x[:, t])
    return np.sum(h**2)


def from_the_end(w, x):
    h = np.zeros(x.shape[1])
    for t in range(len(x)):
        h = np.tanh(w @ h + x[-1 - t])
    return np.sum(h**2)


def reversed_rows(w, x):
    h = np.zeros(x.shape[1])
    for row in reversed(list(x)):
        h = np.tanh(w @ h + row)
    return np.sum(h**2)


def every_second(w, x):
    h = np.zeros(x.shape[1])
    for t in range(0, len(x), 2):
        h = np.tanh(w @ h + x[t]) * x[t + 1]
    return np.sum(h**2)


def diagonal(x):
    total = 1.0
    for i in range(len(x)):
        total = total + np.sin(x[i, i]) * total
    return total


def forward_algorithm(A, p, obs):
    alpha = np.log(p) + obs[0]
    for t in range(1, len(obs)):
        z = alpha[:, None] + np.log(A) + obs[t][None, :]
        top = np.max(z, axis=0)
        alpha = top + np.log(np.sum(np.exp(z - top), axis=0))
    return np.log(np.sum(np.exp(alpha)))


def neural_flow(W, V, y):
    for _ in range(N):
        y = y + 0.1 * np.tanh(y @ W) @ V
    return np.sum(y**2)


def descent(theta, A, y):
    def inner(w, theta):
        return np.sum((A @ w - y) ** 2) + np.exp(theta) * np.sum(w**2)

    w = np.zeros(A.shape[1])
    for _ in range(N):
        w = w - 0.01 * cr.grad(inner)(w, theta)
    return np.sum((A @ w - y) ** 2)


def momentum(theta, A, y):
    w = v = np.zeros(A.shape[1])
    for _ in range(N):
        v = 0.9 * v - 0.01 * (A.T @ (A @ w - y) + theta * w)
        w = w + v
    return np.sum((A @ w - y) ** 2)


def adam(theta, A, y):
    w = m = s = np.zeros(A.shape[1])
    for t in range(1, N + 1):
        g = A.T @ (A @ w - y) + theta * w
        m, s = 0.9 * m + 0.1 * g, 0.99 * s + 0.01 * g**2
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.99**t)) + 1e-8)
    return np.sum(w**2)


def newton(a):
    x = a
    for _ in range(50):
        step = (x * x - a) / (2 * x)
        if np.max(np.abs(step)) < 1e-7:
            break
        x = x - 0.4 * step
    return np.sum(x)


def bisection(a):
    low, high = np.zeros_like(a), a + 1
    while np.max(high - low) > 1e-6:
        middle = (low + high) / 2
        below = middle**3 < a
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.sum(low * a)


def alternating(W, V, x):
    for t in range(N):
        x = np.tanh(W @ x) if t % 2 == 0 else x + np.sin(V @ x) * 0.1
    return np.sum(x**2)


def every_third(W, x):
    for t in range(3 * 12):
        x = np.tanh(W @ x)
        if t % 3 == 2:
            x = x / np.sqrt(np.sum(x**2) + 1)
    return np.sum(x**2)


def layers(ws, x):
    for w in ws:
        x = np.tanh(x @ w)
    return np.mean(x**2)


def nested(W, x):
    for _ in range(9):
        for _ in range(3):
            x = np.tanh(W @ x)
        x = x + 0.1
    return np.sum(x**2)


def nested_rows(W, xs):
    total = 0.0
    for row in xs:
        h = row
        for _ in range(10):
            h = np.tanh(W @ h)
        total = total + np.sum(h * row)
    return total


def lock_step(W, V, x):
    y = x[::-1]
    for _ in range(N):
        x, y = np.tanh(W @ x + y), np.sin(V @ y - x)
    return np.sum(x * y)


def two_loops(W, x):
    kept = []
    for _ in range(N):
        x = np.tanh(W @ x)
        kept.append(x)
    total = 0.0
    for h in kept[::-1]:
        total = 0.9 * total + np.sum(h**2)
    return total


def both_ways(W, V, xs):
    forth, back = [], []
    h = np.zeros(xs.shape[1])
    for x in xs:
        h = np.tanh(W @ h + x)
        forth.append(h)
    h = np.zeros(xs.shape[1])
    for x in xs[::-1]:
        h = np.tanh(V @ h + x)
        back.append(h)
    return sum(np.sum(a * b) for a, b in zip(forth, back[::-1], strict=True))


def called(W, x):
    def step(x):
        return np.tanh(W @ x) + x

    for _ in range(12):
        x = step(x)
        x = step(x) * 0.5
    return np.sum(x**2)


def filled(a, x):
    y = cr.numpy.zeros(len(x))
    for t in range(len(x)):
        y[t] = a * x[t] + 1
    return np.sum(y**2)


def filled_from_before(a, x):
    y = cr.numpy.zeros(len(x) + 1)
    for t in range(len(x)):
        y[t + 1] = np.tanh(a * y[t]) + x[t]
    return np.sum(y**2)


def added_to(a, x):
    y = cr.numpy.zeros(5)
    for t in range(len(x)):
        y[t % 5] += a * x[t]
    return np.sum(y**2)


def chosen(a, x):
    for t in range(N):
        x = np.where(x > 0.3, x * a, np.clip(x, -1, 1) + 0.2 * t)
        x = x / (1 + np.max(np.abs(x)))
    return np.sum(x**2)


def detached(W, x):
    for _ in range(N):
        x = np.tanh(W @ x) + cr.stop_gradient(x) * 0.1
    return np.sum(x**2)


def powers(c, x):
    total = 0.0
    for k in range(12):
        total = total + c[k] * np.sum(x**k) / (k + 1)
    return total


def in_single(W, x):
    for k in range(N):
        x = np.tanh(W @ x) * 0.5 + 0.01 * k
    return np.sum(x**2)


def returns_all(W, x):
    every = []
    for _ in range(N):
        x = np.tanh(W @ x)
        every.append(np.sum(x))
    return every


def dictionary(W, x):
    state = {"x": x, "n": np.zeros(3)}
    for _ in range(N):
        state = {"x": np.tanh(W @ state["x"]), "n": state["n"] + state["x"]}
    return np.sum(state["n"] ** 2)


def soft_alignment(x, y):
    before = np.cumsum((x[0] - y) ** 2)
    for i in range(1, len(x)):
        cost = (x[i] - y) ** 2
        up = np.concatenate([before[:1], -np.log(np.exp(-before[1:]) + np.exp(-before[:-1]))])
        before = cost + up
    return before[-1]


def decomposed(A):
    for _ in range(10):
        q, r = np.linalg.qr(A)
        A = r @ q + 0.1 * A
    return np.sum(A**2)


def factored(A, b):
    x = b
    for t in range(12):
        L = np.linalg.cholesky(A + 0.1 * t * np.eye(3))
        x = np.linalg.solve(L, x) + b
    return np.sum(x**2)


def masked(x, xs):
    for row in xs:
        x = np.where(row > 0, x * row, x)
    return np.sum(x**2)


def hessian_vector(W, x, v):
    return cr.hvp(lambda x: neural_flow(W, W.T, x), (x,), (v,))[1]


def of_the_sequence(xs):
    h = np.zeros(xs.shape[1])
    for x in xs:
        h = np.sin(h + x) * x
    return np.sum(h)


def long_sequence(x):
    h = x[0]
    for i in range(1, len(x)):
        h = 0.5 * h + x[i] * np.cos(h)
    return h


def outer_products(xs):
    C = np.zeros((3, 3))
    for x in xs:
        C = C + np.outer(x, x)
    return np.linalg.slogdet(C + np.eye(3))[1]


def compensated(xs):
    total = np.zeros(3)
    lost = np.zeros(3)
    for x in xs:
        y = x * x - lost
        t = total + y
        lost = (t - total) - y
        total = t
    return np.sum(total)


W3, V3 = draw((3, 3)) * 0.5, draw((3, 3)) * 0.5
LSTM = (draw((2, 12)) * 0.4, draw((3, 12)) * 0.4, draw(12) * 0.1, draw((N, 2, 2)))
FIT = (np.array(0.3), draw((5, 3)), draw(5))

PROGRAMS = {
    heat_roll: (np.array(0.1), draw(8)),
    heat_slices: (np.array(0.1), draw(8)),
    runge_kutta: (np.array([1.1, 0.4, 0.4, 0.1]), np.array([3.0, 2.0])),
    kalman: (0.9 * np.eye(4), spread(4), draw((2, 4)), spread(2), draw((N, 2))),
    lstm_end: LSTM,
    lstm_every: LSTM,
    lstm_list: LSTM,
    lstm_joined: LSTM,
    gru: (draw((2, 6)) * 0.3, draw((3, 6)) * 0.3, W3, draw((N, 2, 2))),
    recursive_filter: (np.array([-0.5, 0.2]), np.array([1.0, 0.3]), draw(N)),
    third_order: (np.array(0.4), draw(3)),
    sliding_window: (draw(3), draw(N)),
    strided_windows: (draw(3), draw(2 * N)),
    columns: (W3, draw((3, N))),
    from_the_end: (W3, draw((N, 3))),
    reversed_rows: (W3, draw((N, 3))),
    every_second: (W3, draw((2 * N, 3))),
    diagonal: (draw((N, N)),),
    forward_algorithm: (rng.uniform(0.1, 1, (3, 3)), rng.uniform(0.1, 1, 3), draw((N, 3))),
    neural_flow: (W3, V3, draw(3)),
    descent: FIT,
    momentum: FIT,
    adam: FIT,
    newton: (np.abs(draw(3)) + 1,),
    bisection: (np.abs(draw(3)) + 1,),
    alternating: (W3, V3, draw(3)),
    every_third: (W3, draw(3)),
    layers: ([draw((3, 3)) * 0.6 for _ in range(14)], draw((2, 3))),
    nested: (W3, draw(3)),
    nested_rows: (W3, draw((9, 3))),
    lock_step: (W3, V3, draw(3)),
    two_loops: (W3, draw(3)),
    both_ways: (W3, V3, draw((N, 3))),
    called: (W3, draw(3)),
    filled: (np.array(0.7), draw(N)),
    filled_from_before: (np.array(0.7), draw(N)),
    added_to: (np.array(0.7), draw(N)),
    chosen: (np.array(0.7), draw(4)),
    detached: (W3, draw(3)),
    powers: (draw(12), draw(3)),
    in_single: (W3.astype(np.float32), draw(3).astype(np.float32)),
    returns_all: (W3, draw(3)),
    dictionary: (W3, draw(3)),
    soft_alignment: (draw(N), draw(6)),
    decomposed: (spread(3),),
    factored: (spread(3), draw(3)),
    masked: (draw(3), draw((N, 3))),
    hessian_vector: (W3, draw(3), draw(3)),
    of_the_sequence: (draw((N, 3)),),
    long_sequence: (draw(60),),
    outer_products: (draw((N, 3)),),
    compensated: (draw((N, 3)),),
}
SEVERAL = {returns_all, hessian_vector}  # results that are no single number


def asked(f):
    """The function, and its gradient by every argument where that is one number."""
    if f in SEVERAL:
        return f
    return cr.value_and_grad(f, argnums=tuple(range(len(PROGRAMS[f]))))
