"""W2, eager small arrays: what one recorded operation costs when the arrays are small."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Table, Target
from benchmarks.harness import Options, time_cases

TITLE = "Eager small arrays (W2): forward and backward, per recorded operation"

VARIANTS = (
    "numpy.forward",
    "torch.grad",
    "torch.backward",
    "torch.record",
    "autograd.grad",
    "chainrule.variable",
    "chainrule.grad",
    "chainrule.record",
)
STEPS = 100
SIZES = (4, 256, 4096)


def chain(xp: Any) -> Callable:
    """y ← 1.01·y + x, repeated, then summed: 2 operations a step and the sum."""

    def program(x: Any) -> Any:
        y = x
        for _ in range(STEPS):
            y = y * 1.01 + x
        return xp.sum(y)

    return program


def mixed(side: int, xp: Any) -> Callable:
    """Twenty operations of many kinds on a square matrix, numbered as they are recorded."""
    weights = xp.asarray(np.random.default_rng(1).uniform(-1, 1, (side, side)))
    mask = xp.asarray(np.indices((side, side)).sum(0) % 2 == 0)

    def program(x: Any) -> Any:
        a = xp.tanh(x) @ weights  # 1 tanh, 2 matmul
        b = (a + x) * 0.5  # 3 add, 4 multiply
        c = xp.exp(-b)  # 5 negative, 6 exp
        d = c / (c + 1.0)  # 7 add, 8 divide
        e = xp.where(mask, d, b)  # 9 where
        f = e[1] * xp.sum(e, 0)  # 10 index, 11 sum over an axis, 12 multiply
        g = f - xp.reshape(e, (side * side,))[side : 2 * side]  # 13 reshape, 14 slice, 15 subtract
        h = xp.sqrt(g * g + 1.0)  # 16 multiply, 17 add, 18 sqrt
        return xp.log(xp.mean(h))  # 19 mean, 20 log

    return program


def uniform(*shape: int) -> Callable[[int], tuple]:
    """Ring inputs of one shape: slot k is the k-th draw of a seeded generator."""
    return lambda slot: (np.random.default_rng(slot).uniform(-1, 1, shape),)


CASES = {
    case.name: case
    for case in (
        *(Case(f"chain of {n}", chain, uniform(n), 2 * STEPS + 1, VARIANTS) for n in SIZES),
        Case("mixed 4×4", partial(mixed, 4), uniform(4, 4), 20, VARIANTS),
    )
}

TARGETS = (
    Target("chain of 4", "torch", 0.5),
    Target("chain of 256", "torch", 0.5),
    Target("chain of 4096", "torch", 0.9),
    Target("mixed 4×4", "torch", 0.5),
    *(Target(name, "autograd", 0.2) for name in CASES),
    *(Target(name, "numpy.forward", 3.0) for name in CASES),
)


def run(options: Options) -> list[Table]:
    """Time every case."""
    cells = time_cases("eager_small_arrays", [[case] for case in CASES.values()], options, 1e3)
    return [Table("Time per recorded operation", "µs per op", cells, TARGETS)]
