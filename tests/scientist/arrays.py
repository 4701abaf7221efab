"""Arrays as they are written: filled, sliced, stacked, stepped in time."""

from __future__ import annotations

from tests.scientist.snippet import snippet

X3, X4, X6 = [0.7, 1.3, 2.1], [0.7, 1.3, 2.1, 0.4], [0.3, 1.2, 0.8, 2.0, 1.5, 0.6]


@snippet(X3)
def matrix_of_entries(np, scipy, x):
    a = np.array([[x[0], 1.0], [0.5, x[1] ** 2]])
    return np.sum(a @ np.array([1.0, 2.0]))


@snippet(X3)
def inverse_of_entries(np, scipy, x):
    a = np.array([[x[0], 1.0], [0.5, x[1] ** 2]])
    return np.sum(np.linalg.inv(a))


@snippet(X3)
def mean_of_entries(np, scipy, x):
    return np.mean(np.array([x[0], x[1] ** 2, x[2] * x[0]]))


@snippet(X3)
def rotation_matrix(np, scipy, x):
    c, s = np.cos(x[0]), np.sin(x[0])
    r = np.array([[c, -s], [s, c]])
    return np.sum(r @ x[1:])


@snippet(X3)
def norm_of_entries(np, scipy, x):
    return np.linalg.norm(np.array([x[0] * x[1], x[1] * x[2], x[2] * x[0]]))


@snippet(X4)
def filled_by_a_loop(np, scipy, x):
    u = np.zeros(4)
    for i in range(4):
        u[i] = x[i] ** 2
    return np.sum(u * u)


@snippet(X4)
def copy_and_update(np, scipy, x):
    u0 = np.linspace(0, 1, 4)
    u = np.copy(u0)
    u[1:-1] += x[1:-1] * u0[:-2]
    return np.sum(u**2)


@snippet(X4)
def table_of_powers(np, scipy, x):
    table = np.empty((4, 3))
    for k in range(3):
        table[:, k] = x**k
    return np.sum(table * np.arange(12).reshape(4, 3))


@snippet(X6)
def heat_equation(np, scipy, x):
    u = x
    for _ in range(5):
        inner = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = np.concatenate([u[:1], inner, u[-1:]])
    return np.sum(u**2)


@snippet(X6)
def heat_equation_in_place(np, scipy, x):
    u = x.copy()
    for _ in range(5):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@snippet(0.3)
def diffusivity(np, scipy, k):
    u = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    for _ in range(4):
        u[1:-1] += k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@snippet(0.3)
def wave_equation(np, scipy, c):
    u, before = np.sin(np.linspace(0, np.pi, 7)), np.sin(np.linspace(0, np.pi, 7))
    for _ in range(4):
        after = 2 * u - before + c**2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        before, u = u, after
    return np.sum(u**2)


@snippet(X6)
def upwind_step(np, scipy, x):
    flux = np.where(x > 1.0, x * x, 0.5 * x)
    return np.sum((flux - np.roll(flux, 1)) ** 2)


@snippet(X4)
def euler_method(np, scipy, p):
    y = np.array([1.0, 0.5])
    for _ in range(10):
        dy = np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])
        y = y + 0.05 * dy
    return np.sum(y)


@snippet(X4)
def runge_kutta(np, scipy, p):
    def f(y):
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    y, h = np.array([1.0, 0.5]), 0.1
    for _ in range(5):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[0] + y[1]


@snippet(X4)
def trajectory_in_an_array(np, scipy, p):
    path = np.zeros((6, 2))
    path[0] = p[:2]
    for k in range(5):
        path[k + 1, 0] = path[k, 0] + 0.1 * path[k, 1]
        path[k + 1, 1] = path[k, 1] - 0.1 * p[2] * path[k, 0]
    return np.sum(path**2)


@snippet(X3)
def newton_by_hand(np, scipy, x):
    r = 1.0
    for _ in range(8):
        r = r - (r**3 - x[0] * r - x[1]) / (3 * r**2 - x[0])
    return r * x[2]


@snippet(2.0)
def babylonian_root(np, scipy, x):
    r = x
    while abs(r * r - x) > 1e-12:
        r = 0.5 * (r + x / r)
    return r


@snippet(X6)
def pairwise_distances(np, scipy, x):
    p = x.reshape(3, 2)
    d = np.sqrt(np.sum((p[:, None] - p[None]) ** 2, axis=-1) + np.eye(3))
    return np.sum(1 / d)


@snippet(X6)
def lennard_jones(np, scipy, x):
    p = x.reshape(3, 2) * 1.5
    total = 0.0
    for i in range(3):
        for j in range(i):
            r2 = np.sum((p[i] - p[j]) ** 2)
            total = total + 1 / r2**6 - 1 / r2**3
    return total


@snippet(X6)
def softmax_by_hand(np, scipy, x):
    e = np.exp(x - x.max())
    p = e / e.sum()
    return -np.sum(p * np.log(p))


@snippet(X6)
def moving_average(np, scipy, x):
    return np.sum(np.convolve(x, np.ones(3) / 3, mode="valid") ** 2)


@snippet(X6)
def cumulative_maximum(np, scipy, x):
    return np.sum(np.maximum.accumulate(x) * np.arange(6))


@snippet(X6)
def masked_mean(np, scipy, x):
    mask = x > 0.7
    return x[mask].mean() ** 2


@snippet(X6)
def ranks(np, scipy, x):
    return np.sum(np.sort(x) * np.arange(6))


@snippet(X6)
def clipped_and_scaled(np, scipy, x):
    return np.sum(np.clip(x, 0.5, 1.6) ** 2) / np.ptp(x)


@snippet(X6)
def scatter_add(np, scipy, x):
    out = np.zeros(3)
    np.add.at(out, np.array([0, 1, 1, 2, 2, 2]), x**2)
    return np.sum(out**2)


@snippet(X6)
def weighted_histogram(np, scipy, w):
    counts, _ = np.histogram([0.1, 0.2, 0.5, 0.55, 0.9, 0.95], bins=3, weights=w)
    return np.sum(counts**2)


@snippet(X6)
def sums_of_groups(np, scipy, x):
    return np.sum(np.add.reduceat(x, [0, 2, 5]) ** 2)


@snippet(X6)
def padded_edges(np, scipy, x):
    return np.sum(np.diff(np.pad(x, 2, mode="linear_ramp")) ** 2)


@snippet(X3)
def polynomial_value(np, scipy, p):
    return np.sum(np.polyval(p, np.linspace(0, 1, 5)) ** 2)


@snippet(X6)
def polynomial_fit(np, scipy, y):
    return np.polyfit(np.arange(6.0), y, 2)[0] ** 2


@snippet([1.0, -3.5, 2.0])
def largest_root(np, scipy, p):
    return np.max(np.roots(p))


@snippet(X3)
def polynomial_object(np, scipy, p):
    return np.poly1d(p).deriv()(1.5)


@snippet(X6)
def piecewise_law(np, scipy, x):
    return np.sum(np.piecewise(x, [x < 1.0, x >= 1.0], [lambda v: v**2, lambda v: 2 * v - 1]))


@snippet(X6)
def unwrapped_phase(np, scipy, x):
    return np.sum(np.unwrap(4 * x) ** 2)


@snippet(X6)
def along_each_row(np, scipy, x):
    rows = x.reshape(2, 3)
    return np.sum(np.apply_along_axis(lambda r: r / np.sum(r), 1, rows) ** 2)


@snippet(X6)
def started_sum(np, scipy, x):
    return np.sum(x[1:] ** 2, initial=x[0]) + np.max(x[:3], initial=x[5])


@snippet(X4)
def table_lookup(np, scipy, x):
    return np.sum(np.interp(x, [0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 1.0, 4.0]) ** 2)


@snippet(X4)
def trapezoid_rule(np, scipy, p):
    t = np.linspace(0, 1, 11)
    return np.trapezoid(p[0] * np.exp(-p[1] * t) + p[2] * np.cos(p[3] * t), t)


@snippet(0.7)
def vectorized_function(np, scipy, a):
    f = np.vectorize(lambda t: a * t if t > 0.5 else a**2)
    return np.sum(f(np.linspace(0, 1, 5)))


@snippet(X3)
def built_by_a_list(np, scipy, x):
    return np.sum(np.stack([np.sin(k * x) for k in range(1, 4)]) ** 2)


@snippet(X6)
def triangle_of_parameters(np, scipy, x):
    lower = np.zeros((3, 3))
    lower[np.tril_indices(3)] = x
    return np.sum(np.linalg.inv(lower @ lower.T + np.eye(3)))


@snippet(X6)
def matrix_powers(np, scipy, x):
    a = x.reshape(2, 3)
    return np.trace(np.linalg.matrix_power(a @ a.T, 3))


@snippet(X4)
def einsum_of_tensors(np, scipy, x):
    a = x.reshape(2, 2)
    return np.einsum("ij,jk,ki->", a, a, a)


@snippet(X4)
def complex_impedance(np, scipy, x):
    z = x[0] + 1j * x[1] + 1 / (1j * x[2])
    return np.abs(z) * np.angle(z) + x[3]


@snippet(X4)
def running_product(np, scipy, x):
    return np.prod(1 + 0.1 * x) + np.sum(np.cumprod(x))


@snippet(X4)
def hypotenuses(np, scipy, x):
    return np.hypot.reduce(x) + np.logaddexp.accumulate(x)[-1]


@snippet(X4)
def meshgrid_field(np, scipy, p):
    x, y = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 3))
    return np.sum(np.exp(-p[0] * (x - p[1]) ** 2 - p[2] * (y - p[3]) ** 2))


@snippet(X4)
def game_of_maximum(np, scipy, x):
    best = max(x[0], x[1] ** 2)
    return best + min(x[2], x[3]) + sum(sorted(x)[:2])


@snippet(X3)
def filled_with_a_parameter(np, scipy, x):
    return np.sum(np.full(4, x[0]) * np.linspace(x[1], x[2], 4))
