"""W12, explaining: what an explanation costs beside the backward pass it explains."""

import json
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

from benchmarks.case import Cell, Table, Target
from benchmarks.harness import Options, environment, say

TITLE = "Explaining a gradient (W12): top 10 paths, contributions, statuses, depth, per node"

BACKWARD, RUN, CALL = "backward", "chainrule.explain_run", "chainrule.explain"
SIZES = (10_000, 100_000)
WIDTH = 10
VECTOR = 16


def neurons(nodes: int) -> tuple[Callable, tuple]:
    """Layers of 10 tanh neurons, each with its own weights, all in numbers: 10^layers paths."""
    layers = nodes // (WIDTH * 2 * WIDTH)
    weights = np.random.default_rng(0).normal(size=(layers, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    plan = weights.tolist()

    def network(*xs: float) -> float:
        h = list(xs)
        for layer in plan:
            h = [np.tanh(_dot(row, h)) for row in layer]
        return _dot([1.0] * WIDTH, h)

    return network, tuple(np.linspace(-1, 1, WIDTH).tolist())


def _dot(row: list, h: list) -> float:
    total = row[0] * h[0]
    for w, x in zip(row[1:], h[1:], strict=True):
        total = total + w * x
    return total


def residual(nodes: int) -> tuple[Callable, tuple]:
    """x ← x + tanh(W x) on vectors of 16: 2^layers paths, through arrays."""
    W = np.random.default_rng(0).normal(size=(VECTOR, VECTOR)) / (4 * VECTOR)

    def network(x: np.ndarray) -> float:
        for _ in range(nodes // 3):
            x = x + np.tanh(W @ x)
        return np.sum(x)

    return network, (np.linspace(-1, 1, VECTOR),)


NETWORKS = {"neurons": neurons, "residual vectors": residual}
CASES = [f"{name}, {size:,}" for name in NETWORKS for size in SIZES]
RUN_TARGETS = tuple(Target(f"{name}, {SIZES[-1]:,}", BACKWARD, 5.0) for name in NETWORKS)
CALL_TARGETS = RUN_TARGETS
LINEAR = tuple(
    Target(f"{name}, {SIZES[-1]:,}", "chainrule", 1.3, f"{name}, {SIZES[0]:,}") for name in NETWORKS
)


def sample(name: str, size: int) -> dict[str, float]:
    """Nanoseconds per node: a backward pass, an explanation of a run, and the whole call.

    The second includes the backward pass of that run, the third recording and running as well.
    Every run is fresh, since a second backward pass finds the values its rules read bound.
    """
    import chainrule as cr

    f, point = NETWORKS[name](size)
    graph = cr.trace(f, *point)
    nodes = len(graph)
    costs = {}
    run = graph.forward(*point)
    start = perf_counter()
    run.backward()
    costs[BACKWARD] = perf_counter() - start
    run = graph.forward(*point)
    start = perf_counter()
    explanation = cr.explain(run)
    count = explanation.path_count
    costs[RUN] = perf_counter() - start
    assert count > 10**9
    assert len(explanation.paths) == 10
    del run, explanation, graph
    start = perf_counter()
    count = cr.explain(f, *point).path_count
    costs[CALL] = perf_counter() - start
    return {variant: cost / nodes * 1e9 for variant, cost in costs.items()}


def measure(case: str, options: Options) -> list[Cell]:
    """One fresh process per round."""
    say(f"explain: {case}")
    name, size = case.split(", ")
    code = (
        "import json; from benchmarks.explain import sample; "
        f"print(json.dumps(sample({name!r}, {int(size.replace(',', ''))})))"
    )
    rounds: dict[str, list[float]] = {BACKWARD: [], RUN: [], CALL: []}
    for _ in range(options.rounds):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(options),
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            problem = run.stderr.strip().splitlines()[-1]
            return [Cell(case, variant, (), problem) for variant in rounds]
        for variant, cost in json.loads(run.stdout).items():
            rounds[variant].append(cost)
    return [Cell(case, variant, tuple(costs)) for variant, costs in rounds.items()]


def run(options: Options) -> list[Table]:
    """Measure every network at both sizes."""
    cells = [cell for case in CASES for cell in measure(case, options)]
    of_run = tuple(cell for cell in cells if cell.variant != CALL)
    of_call = tuple(cell for cell in cells if cell.variant != RUN)
    return [
        Table("An explanation of a run", "ns per node", of_run, (*RUN_TARGETS, *LINEAR)),
        Table("The whole call, recording included", "ns per node", of_call, CALL_TARGETS),
    ]
