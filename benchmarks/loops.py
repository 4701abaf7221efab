"""Loops: a plain Python loop compiled, beside `lax.scan` under `jax.jit` and torch step by step.

Every program is written once, for any library that spells NumPy's names, over a `scan`: for us and
for torch that is a Python loop, for JAX `lax.scan`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import compiled
from benchmarks.case import Case, Table
from benchmarks.first_calls import first_calls
from benchmarks.harness import Options, time_cases

TITLE = "Loops: value and gradient of Python loops, beside lax.scan"

COUNTS = (100, 1000)
COLUMNS = 12  # of the table that soft-DTW fills


# -- programs --------------------------------------------------------------------------------------


def looped(step: Callable, carry: Any, rows: Any, count: int | None = None) -> tuple:
    """A Python loop of the meaning of `lax.scan`; results are a list, which the caller stacks."""
    results = []
    several = isinstance(rows, tuple)
    count = count or len(rows[0] if several else rows)
    for t in range(count):
        row = None if rows is None else tuple(r[t] for r in rows) if several else rows[t]
        carry, result = step(carry, row)
        results.append(result)
    return carry, results


def sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def rk4(xp: Any, scan: Callable, n: int) -> Callable:
    """Lotka–Volterra by Runge–Kutta, the state an array."""

    def program(p: Any, y: Any) -> Any:
        a, b, c, d = p[0], p[1], p[2], p[3]

        def slope(y: Any) -> Any:
            return xp.stack([a * y[0] - b * y[0] * y[1], d * y[0] * y[1] - c * y[1]])

        def step(y: Any, _: Any) -> tuple:
            h = 5.0 / n
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            k4 = slope(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        y, _ = scan(step, y, None, n)
        return xp.sum(y * y)

    return program


def rk4_numbers(xp: Any, scan: Callable, n: int) -> Callable:
    """The same with two numbers for the state."""

    def program(p: Any, y: Any) -> Any:
        a, b, c, d = p[0], p[1], p[2], p[3]

        def slope(u: Any, v: Any) -> tuple:
            return a * u - b * u * v, d * u * v - c * v

        def step(carry: tuple, _: Any) -> tuple:
            u, v = carry
            h = 5.0 / n
            k1, l1 = slope(u, v)
            k2, l2 = slope(u + h / 2 * k1, v + h / 2 * l1)
            k3, l3 = slope(u + h / 2 * k2, v + h / 2 * l2)
            k4, l4 = slope(u + h * k3, v + h * l3)
            u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return (u, v + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)), None

        (u, v), _ = scan(step, (y[0], y[1]), None, n)
        return u * u + v * v

    return program


def kalman(xp: Any, scan: Callable, n: int) -> Callable:
    """The log likelihood of a Kalman filter: 4 states, 2 observed."""

    def program(F: Any, Q: Any, H: Any, R: Any, x: Any, P: Any, ys: Any) -> Any:
        def step(carry: tuple, y: Any) -> tuple:
            x, P, total = carry
            x, P = F @ x, F @ P @ F.T + Q
            r, S = y - H @ x, H @ P @ H.T + R
            K = P @ H.T @ xp.linalg.inv(S)
            total = total - 0.5 * (r @ xp.linalg.solve(S, r) + xp.linalg.slogdet(S)[1])
            return (x + K @ r, P - K @ H @ P, total), None

        (_, _, total), _ = scan(step, (x, P, 0.0 * xp.sum(x)), ys)
        return total

    return program


def lstm(xp: Any, scan: Callable, n: int) -> Callable:
    """An LSTM whose every state counts, float32.

    Were it the last one alone, adjoints of the first would be subnormal numbers, which XLA takes
    for zero and others compute with, several times as slowly.
    """

    def program(W: Any, U: Any, b: Any, h: Any, xs: Any) -> Any:
        width = U.shape[0]

        def step(carry: tuple, x: Any) -> tuple:
            h, c = carry
            z = x @ W + h @ U + b
            i, f = sigmoid(xp, z[:, :width]), sigmoid(xp, z[:, width : 2 * width])
            g, o = xp.tanh(z[:, 2 * width : 3 * width]), sigmoid(xp, z[:, 3 * width :])
            c = f * c + i * g
            h = o * xp.tanh(c)
            return (h, c), xp.sum(h * h)

        _, results = scan(step, (h, h), xs)
        return xp.sum(xp.stack(results) if isinstance(results, list) else results)

    return program


def gru(xp: Any, scan: Callable, n: int) -> Callable:
    """A GRU whose every state counts, float32."""

    def program(W: Any, U: Any, V: Any, Y: Any, h: Any, xs: Any) -> Any:
        width = V.shape[0]

        def step(h: Any, x: Any) -> tuple:
            gates = sigmoid(xp, x @ W + h @ U)
            r, z = gates[:, :width], gates[:, width:]
            h = (1 - z) * xp.tanh(x @ Y + (r * h) @ V) + z * h
            return h, xp.sum(h * h)

        _, results = scan(step, h, xs)
        return xp.sum(xp.stack(results) if isinstance(results, list) else results)

    return program


def hidden_markov(xp: Any, scan: Callable, n: int) -> Callable:
    """The forward algorithm, scaled: 8 states."""

    def program(A: Any, first: Any, seen: Any) -> Any:
        def step(carry: tuple, e: Any) -> tuple:
            alpha, total = carry
            alpha = (alpha @ A) * e
            scale = xp.sum(alpha)
            return (alpha / scale, total + xp.log(scale)), None

        (_, total), _ = scan(step, (first, 0.0 * xp.sum(first)), seen)
        return total

    return program


def filtered(xp: Any, scan: Callable, n: int) -> Callable:
    """A recursive filter of order two, number by number."""

    def program(a: Any, b: Any, u: Any) -> Any:
        def step(carry: tuple, x: Any) -> tuple:
            before, last = carry
            y = b[0] * x - a[0] * last - a[1] * before
            return (last, y), y

        zero = 0.0 * u[0]
        _, results = scan(step, (zero, zero), u)
        y = xp.stack(results) if isinstance(results, list) else results
        return xp.sum(y * y)

    return program


def heat(xp: Any, scan: Callable, n: int) -> Callable:
    """Heat on a ring of 64 cells."""

    def program(k: Any, u: Any) -> Any:
        def step(u: Any, _: Any) -> tuple:
            return u + k * (xp.roll(u, 1) - 2 * u + xp.roll(u, -1)), None

        u, _ = scan(step, u, None, n)
        return xp.sum(u * u)

    return program


def neural_ode(xp: Any, scan: Callable, n: int) -> Callable:
    """Euler steps of a network's flow."""

    def program(W: Any, b: Any, V: Any, y: Any) -> Any:
        def step(y: Any, _: Any) -> tuple:
            return y + 1.0 / n * (xp.tanh(y @ W + b) @ V), None

        y, _ = scan(step, y, None, n)
        return xp.sum(y * y)

    return program


def soft_dtw(xp: Any, scan: Callable, n: int) -> Callable:
    """Dynamic time warping with soft minima, cell by cell: n rows."""

    def program(d: Any, first: Any) -> Any:
        def row(above: Any, costs: Any) -> tuple:
            def cell(left: Any, given: tuple) -> tuple:
                cost, up, corner = given
                value = cost - xp.log(xp.exp(-left) + xp.exp(-up) + xp.exp(-corner))
                return value, value

            _, values = scan(cell, first[1], (costs, above[1:], above[:-1]))
            values = xp.stack(values) if isinstance(values, list) else values
            return xp.concatenate([first[1:2], values]), None

        last, _ = scan(row, first, d)
        return last[-1]

    return program


def momentum(xp: Any, scan: Callable, n: int) -> Callable:
    """What descent with momentum has reached, by its rates: every step is differentiated."""

    def program(rates: Any, A: Any, y: Any, w: Any) -> Any:
        def step(carry: tuple, _: Any) -> tuple:
            w, v = carry
            v = rates[1] * v - rates[0] * (A.T @ (A @ w - y))
            return (w + v, v), None

        (w, _), _ = scan(step, (w, 0.0 * w), None, n)
        return xp.sum((A @ w - y) ** 2)

    return program


# -- cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A program for a number of steps, and its inputs by (generator, number of steps)."""

    make: Callable
    inputs: Callable[[np.random.Generator, int], tuple]
    argnums: tuple[int, ...]
    dtype: str = "float64"


def _network(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (0.2 * rng.normal(size=shape)).astype(np.float32)


def _distribution(rng: np.random.Generator, *shape: int) -> np.ndarray:
    weights = rng.random(shape) + 0.1
    return weights / weights.sum(-1, keepdims=True)


P, X, B = 32, 16, 8  # units, inputs, batch
PROGRAMS = {
    "RK4": Program(
        rk4, lambda r, n: (np.array([1.1, 0.4, 0.4, 0.1]), 5 + r.random(2)), (0, 1)
    ),
    "RK4, numbers": Program(
        rk4_numbers, lambda r, n: (np.array([1.1, 0.4, 0.4, 0.1]), 5 + r.random(2)), (0, 1)
    ),
    "Kalman": Program(
        kalman,
        lambda r, n: (
            0.9 * np.eye(4) + 0.02 * r.normal(size=(4, 4)), 0.1 * np.eye(4), r.normal(size=(2, 4)),
            np.eye(2), r.normal(size=4), np.eye(4), r.normal(size=(n, 2)),
        ),
        (0, 1, 2, 3),
    ),
    "LSTM": Program(
        lstm,
        lambda r, n: (
            _network(r, X, 4 * P), _network(r, P, 4 * P), _network(r, 4 * P),
            np.zeros((B, P), np.float32), r.normal(size=(n, B, X)).astype(np.float32),
        ),
        (0, 1, 2),
        "float32",
    ),
    "GRU": Program(
        gru,
        lambda r, n: (
            _network(r, X, 2 * P), _network(r, P, 2 * P), _network(r, P, P), _network(r, X, P),
            np.zeros((B, P), np.float32), r.normal(size=(n, B, X)).astype(np.float32),
        ),
        (0, 1, 2, 3),
        "float32",
    ),
    "HMM": Program(
        hidden_markov,
        lambda r, n: (_distribution(r, 8, 8), _distribution(r, 8), _distribution(r, n, 8)),
        (0, 1, 2),
    ),
    "IIR": Program(
        filtered,
        lambda r, n: (np.array([-0.5, 0.2]), np.array([1.0, 0.3]), r.normal(size=n)),
        (0, 1),
    ),
    "heat": Program(heat, lambda r, n: (np.array(0.1), r.normal(size=64)), (0, 1)),
    "neural ODE": Program(
        neural_ode,
        lambda r, n: (
            0.3 * r.normal(size=(8, 32)), 0.1 * r.normal(size=32), 0.3 * r.normal(size=(32, 8)),
            r.normal(size=(16, 8)),
        ),
        (0, 1, 2, 3),
    ),
    "soft-DTW": Program(
        soft_dtw,
        lambda r, n: (
            r.random((n // 10, COLUMNS)), np.array([0.0] + [20.0] * COLUMNS),
        ),
        (0,),
    ),
    "momentum": Program(
        momentum,
        lambda r, n: (
            np.array([0.01, 0.8]), 0.5 * r.normal(size=(12, 6)),
            r.normal(size=12), r.normal(size=6),
        ),
        (0, 1, 2),
    ),
}  # fmt: skip


@cache
def inputs(name: str, count: int, slot: int) -> tuple:
    return PROGRAMS[name].inputs(np.random.default_rng(slot), count)


def in_numpy(name: str, count: int) -> Callable:
    """As a user of ours writes it."""
    return PROGRAMS[name].make(np, looped, count)


def in_jax(name: str, count: int, jax: Any) -> Callable:
    return PROGRAMS[name].make(jax.numpy, jax.lax.scan, count)


def in_torch(name: str, count: int, torch: Any) -> Callable:
    return PROGRAMS[name].make(torch, looped, count)


def case(name: str, count: int) -> Case:
    program = PROGRAMS[name]
    ways = {
        "torch.eager": lambda: compiled.torch_eager(
            partial(in_torch, name, count), program.argnums
        ),
        "jax.jit": lambda: compiled.jax_gradient(partial(in_jax, name, count), program.argnums),
        "chainrule.compile": lambda: compiled.chainrule_gradient(
            in_numpy(name, count), program.argnums
        ),
    }
    return Case(
        f"{name}, n={count:,}", None, partial(inputs, name, count), ways=ways, dtype=program.dtype
    )


CASES = {one.name: one for one in (case(name, n) for name in PROGRAMS for n in COUNTS)}


# -- first calls -----------------------------------------------------------------------------------


def first_chainrule(name: str, count: int) -> dict[str, float]:
    """Seconds of recording and of compiling; a small function came before."""
    import chainrule as cr

    program = PROGRAMS[name]
    compiled.chainrule_gradient(lambda x: np.sum(np.sin(x))).call((np.ones(3),))
    fast = cr.compile(cr.value_and_grad(in_numpy(name, count), program.argnums))
    start = perf_counter()
    fast(*inputs(name, count, 0))
    whole = perf_counter() - start
    ((variant,),) = fast.variants.values()
    seconds = variant.seconds
    return {"compiling": sum(t for what, t in seconds.items() if what != "recording"), "all": whole}


def first_jax(name: str, count: int) -> dict[str, float]:
    """Seconds of tracing and of compiling."""
    import jax

    jax.config.update("jax_enable_x64", True)
    program = PROGRAMS[name]
    jax.block_until_ready(jax.jit(jax.value_and_grad(lambda x: jax.numpy.sum(x * x)))(1.0))
    given = [jax.numpy.asarray(x) for x in inputs(name, count, 0)]
    f = jax.value_and_grad(in_jax(name, count, jax), program.argnums)
    start = perf_counter()
    lowered = jax.jit(f).lower(*given)
    middle = perf_counter()
    jax.block_until_ready(lowered.compile()(*given))
    return {"compiling": perf_counter() - middle, "all": perf_counter() - start}


FIRST = {"jax.jit": "first_jax", "chainrule.compile": "first_chainrule"}


def run(options: Options) -> list[Table]:
    """Time every program and size, and their first calls."""
    cells = time_cases("loops", [[one] for one in CASES.values()], options, 1e3)
    calls = {
        case(name, n).name: {v: f"{function}({name!r}, {n})" for v, function in FIRST.items()}
        for name in PROGRAMS
        for n in COUNTS
    }
    seconds = first_calls("loops", calls, options)
    return [
        Table("Time of value and gradient", "µs", cells, (), "jax"),
        Table("Compiling alone, once", "ms", seconds["compiling"], (), "jax"),
        Table("The whole first call, once", "ms", seconds["all"], (), "jax"),
    ]
