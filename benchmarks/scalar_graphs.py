"""W1, scalar graphs: what one scalar node costs, recorded and reversed, up to a million nodes."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Table, Target
from benchmarks.harness import Options, time_cases, weigh_cases

TITLE = "Scalar graphs (W1): record and reverse, per node"

FLOOR = "python.forward"
CHAINRULE = ("chainrule.variable", "chainrule.grad", "chainrule.record")
CR_SPELLING = "chainrule.variable_cr"  # differs where a function is called: in the random graph
TORCH = ("torch.grad", "torch.backward", "torch.record")
COMPARED = (FLOOR, *TORCH, "autograd.grad", *CHAINRULE)
SIZES = (1_000, 10_000, 100_000)
LARGEST = 1_000_000
RING = 8
INPUTS = 100
BOUND = 2.0  # no value of the random graph exceeds it, so nothing overflows at any size
ADD, MULTIPLY, SIN, EXP = range(4)


def fan_out_fan_in(nodes: int, xp: Any) -> Callable:
    """x ← (x + x)/2, repeated: 2 nodes a step, 2^(nodes/2) paths from the output to x."""

    def program(x: Any) -> Any:
        for _ in range(nodes // 2):
            x = (x + x) / 2.0
        return x

    return program


def random_graph(nodes: int, xp: Any) -> Callable:
    """Interpret the random graph of `nodes` operations with xp's sin and exp."""
    steps, sin, exp = draw(nodes), xp.sin, xp.exp

    def program(*inputs: Any) -> Any:
        values = list(inputs)
        push = values.append
        for op, i, j in steps:
            if op == ADD:
                push(values[i] + values[j])
            elif op == MULTIPLY:
                push(values[i] * values[j])
            elif op == SIN:
                push(sin(values[i]))
            else:
                push(exp(values[i]))
        return values[-1]

    return program


@cache
def draw(nodes: int) -> list[tuple[int, int, int]]:
    """Exactly `nodes` steps (op, i, j), seed 0, every one of which reaches the output.

    Operands are uniform over all earlier values and the op is uniform over + × sin exp, but an op
    that would exceed BOUND on any ring input becomes a sine. Values that nobody used are added up
    at the end (about 28 % of the nodes); otherwise they would be recorded and never reversed.
    """
    rng = np.random.default_rng(0)
    values = np.empty((INPUTS + nodes, RING))
    values[:INPUTS] = np.array([scalars(slot) for slot in range(RING)]).T
    used = np.zeros(INPUTS + nodes, bool)
    steps, unused = [], INPUTS
    draws = zip(rng.integers(4, size=nodes).tolist(), rng.random((nodes, 2)).tolist(), strict=True)
    for op, (u, v) in draws:
        if len(steps) + unused >= nodes:  # the additions to come fill the rest, but for one node
            break
        count = INPUTS + len(steps)
        i, j = int(u * count), int(v * count)
        step = (op, i, j)
        if np.abs(_apply(values, *step)).max() > BOUND:
            step = (SIN, i, j)
        values[count] = _apply(values, *step)
        operands = {i, j} if step[0] in (ADD, MULTIPLY) else {i}
        unused += 1 - sum(not used[k] for k in operands)
        used[list(operands)] = True
        steps.append(step)
    total, *rest = np.flatnonzero(~used[: INPUTS + len(steps)]).tolist()
    for other in rest:
        steps.append((ADD, total, other))
        total = INPUTS + len(steps) - 1
    while len(steps) < nodes:
        steps.append((ADD, INPUTS + len(steps) - 1, 0))
    return steps


def _apply(values: np.ndarray, op: int, i: int, j: int) -> np.ndarray:
    if op == ADD:
        return values[i] + values[j]
    if op == MULTIPLY:
        return values[i] * values[j]
    return np.sin(values[i]) if op == SIN else np.exp(values[i])


def scalars(slot: int) -> tuple[float, ...]:
    """The inputs of the random graph in one ring slot."""
    return tuple(np.random.default_rng(slot).uniform(-1, 1, INPUTS).tolist())


def _cases(nodes: int, variants: tuple[str, ...], **more: int) -> tuple[Case, Case]:
    one = partial(fan_out_fan_in, nodes)
    many = partial(random_graph, nodes)
    return (
        Case(f"chain of {nodes:,}", one, lambda slot: (1.0 + slot / 8,), nodes, variants, **more),
        Case(f"random graph of {nodes:,}", many, scalars, nodes, (*variants, CR_SPELLING), **more),
    )


# From 1e5 nodes on a call takes seconds in some peers: one call is a sample, one sample a round.
CASES = {
    case.name: case
    for case in (
        *_cases(1_000, COMPARED),
        *_cases(10_000, COMPARED),
        *_cases(100_000, COMPARED, ring=2, samples=1),
        *_cases(LARGEST, (FLOOR, *CHAINRULE), ring=2, samples=1),
    )
}
SHAPES = ("chain", "random graph")

TARGETS = (
    *(Target(f"{shape} of {n:,}", "torch", 0.3) for shape in SHAPES for n in SIZES),
    # Linear cost: t(1e6) ≤ 12 · t(1e5), which per node is 1.2.
    *(
        Target(f"{shape} of {LARGEST:,}", "chainrule", 1.2, f"{shape} of {SIZES[-1]:,}")
        for shape in SHAPES
    ),
)
# The two sizes that the linearity target compares are measured in the same rounds.
GROUPS = [[CASES[f"{shape} of {n:,}"]] for shape in SHAPES for n in SIZES[:-1]]
GROUPS += [[CASES[f"{shape} of {n:,}"] for n in (SIZES[-1], LARGEST)] for shape in SHAPES]
WEIGHED = tuple(CASES[f"{shape} of {SIZES[-1]:,}"] for shape in SHAPES)


def run(options: Options) -> list[Table]:
    """Time every case, then weigh the graphs of 1e5 nodes."""
    times = time_cases("scalar_graphs", GROUPS, options, unit_ns=1.0)
    bytes_ = weigh_cases("scalar_graphs", WEIGHED, options, lambda case: case.ops)
    return [
        Table("Time per node", "ns per node", times, TARGETS),
        Table("Peak memory per node", "bytes per node", bytes_),
    ]
