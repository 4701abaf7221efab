"""W2 compiled: what a call of a compiled gradient costs when the arrays are small."""

from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from benchmarks import compiled
from benchmarks.case import FASTEST, PRIMAL, Case, Table, Target, Work
from benchmarks.eager_small_arrays import SIZES, chain, mixed, uniform
from benchmarks.harness import LIMIT, Options, time_cases

TITLE = "Small arrays, compiled (W2): one call of value and gradient"

SIDES = {2: 4, 16: 256, 64: 4096}  # of the mixed program's matrix: its elements
ARRAYS = (1, 4, 16)
CALL_S, ARRAY_S = 3e-6, 0.3e-6  # what a call may cost, and what each array may add


def program(name: str, make: Callable, shape: tuple[int, ...]) -> Case:
    """One program of the eager benchmark, compiled by those who compile quickly called code."""
    ways = {
        "jax.jit": lambda: compiled.jax_gradient(lambda jax: make(jax.numpy)),
        "torch.compile": lambda: compiled.torch_compiled_gradient(make),
        "chainrule.compile": lambda: compiled.chainrule_gradient(make(np)),
        PRIMAL: lambda: compiled.chainrule_primal(make(np)),
    }
    return Case(name, None, uniform(*shape), ways=ways)


def total(*arrays: Any) -> Any:
    """The sum of the arrays: nothing to compute, so that the call itself is measured."""
    return reduce(add, arrays, 1.0)


def call(count: int) -> Case:
    """A call with so many arrays of 4 elements."""
    ways = {
        "jax.jit": lambda: compiled.jax(lambda jax: total),
        "chainrule.compile": lambda: compiled.chainrule(lambda cr: total),
    }

    def inputs(slot: int) -> tuple:
        return tuple(np.random.default_rng(slot).uniform(-1, 1, (count, 4)))

    budget = {"budget": Work(seconds=CALL_S + ARRAY_S * count)}
    return Case(f"arrays: {count}", None, inputs, ways=ways, limits=budget)


PROGRAMS = (
    *(program(f"chain of {n}", chain, (n,)) for n in SIZES),
    *(program(f"mixed {s}×{s}, {n}", partial(mixed, s), (s, s)) for s, n in SIDES.items()),
)
CALLS = tuple(call(count) for count in ARRAYS)
CASES = {case.name: case for case in (*PROGRAMS, *CALLS)}
TARGETS = tuple(Target(case.name, "jax", 0.3) for case in PROGRAMS)
CALL_TARGETS = tuple(Target(case.name, LIMIT, 1.0) for case in CALLS)


def run(options: Options) -> list[Table]:
    """Time the programs, then the bare call."""
    programs = time_cases("compiled_small_arrays", [[case] for case in PROGRAMS], options, 1e3)
    calls = time_cases("compiled_small_arrays", [[case] for case in CALLS], options, 1e3)
    return [
        Table("Time of value and gradient", "µs", programs, TARGETS, FASTEST, ratios=True),
        Table("Time of a call with nothing to compute", "µs", calls, CALL_TARGETS, "jax"),
    ]
