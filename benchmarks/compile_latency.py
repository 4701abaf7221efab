"""W11, compiling: how long it takes by the size of the program, and the memory of what it made."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import compiled, gmm, training_steps
from benchmarks.case import FASTEST, PRIMAL, Case, Cell, Table, Target
from benchmarks.harness import Options, environment, say, weigh_cases

TITLE = "Compiling (W11): latency by the size of the program, and peak memory"

SIZES = (10, 100, 1000, 10_000)
ROUNDS = {1000: 3, 10_000: 3}
PATIENCE = 300  # seconds for one program
STEP_OPS = 5
WIDTH = 16
MEGABYTE = 1e6


# -- latency: fresh processes ----------------------------------------------------------------------


def elementwise(ops: int, xp: Any) -> Callable:
    """y ← 0.9·(x·sin y + ½) − 0.1, repeated, and its sum: 5 operations a step."""

    def program(x: Any) -> Any:
        y = x
        for _ in range(ops // STEP_OPS):
            y = (xp.sin(y) * x + 0.5) * 0.9 - 0.1
        return xp.sum(y)

    return program


def layers(ops: int, xp: Any) -> Callable:
    """y ← tanh(y W)·x + ½y, repeated, and its sum: 5 operations a step.

    y is a matrix. With a vector, jax.jit compiles 3 to 4 times as long (5.7 s for 100 operations
    in place of 1.6 s), so that a benchmark of vectors would flatter everybody else.
    """
    weights = np.random.default_rng(0).normal(size=(WIDTH, WIDTH)) / WIDTH

    def program(x: Any) -> Any:
        y = x
        for _ in range(ops // STEP_OPS):
            y = xp.tanh(y @ weights) * x + 0.5 * y
        return xp.sum(y)

    return program


PROGRAMS = {"elementwise": elementwise, "layers": layers}


def point() -> np.ndarray:
    """Where the programs are compiled."""
    return np.linspace(-1, 1, WIDTH * WIDTH).reshape(WIDTH, WIDTH)


def _checked(name: str, ops: int, value: Any) -> None:
    expected = PROGRAMS[name](ops, np)(point())
    assert abs(float(value) - expected) <= 1e-10 * abs(expected), (float(value), expected)


def with_jax(name: str, ops: int) -> float:
    """Seconds to trace, lower and compile; a small function of the kind was compiled before."""
    import jax

    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.asarray(point())
    small = PROGRAMS[name](STEP_OPS, jax.numpy)
    jax.block_until_ready(jax.jit(jax.value_and_grad(small))(x))
    start = perf_counter()
    program = PROGRAMS[name](ops, jax.numpy)
    fast = jax.jit(jax.value_and_grad(program)).lower(x).compile()
    elapsed = perf_counter() - start
    _checked(name, ops, fast(x)[0])
    return elapsed


def with_chainrule(name: str, ops: int) -> float:
    """Seconds to record and compile, the first call included; a small function came before."""
    import chainrule as cr

    x = point()
    compiled.compiled(cr.value_and_grad(PROGRAMS[name](STEP_OPS, np)))(x)
    start = perf_counter()
    fast = compiled.compiled(cr.value_and_grad(PROGRAMS[name](ops, np)))
    value, _ = fast(x)
    elapsed = perf_counter() - start
    _checked(name, ops, value)
    return elapsed


VARIANTS = {"jax.jit": "with_jax", "chainrule.compile": "with_chainrule"}


def _case(name: str, ops: int) -> str:
    return f"{name}, {ops:,} ops"


def seconds(function: str, name: str, ops: int, options: Options) -> float | str:
    """One fresh process with an empty cache of compiled code, or what it complained of."""
    code = (
        "import json; from benchmarks import compile_latency as workload\n"
        f"print(json.dumps(workload.{function}({name!r}, {ops})))"
    )
    with tempfile.TemporaryDirectory() as cache:
        cold = {"XDG_CACHE_HOME": cache, "CHAINRULE_CACHE": "off"}
        try:
            run = subprocess.run(
                [sys.executable, "-c", code],
                env=environment(options) | cold,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {PATIENCE} s"
    if run.returncode == 0:
        return json.loads(run.stdout)
    return run.stderr.strip().splitlines()[-1].removeprefix("benchmarks.peers.NotBuiltError: ")


def measure(name: str, ops: int, options: Options) -> list[Cell]:
    """Interleaved fresh processes; a variant that fails once is not asked again.

    Programs of 1,000 operations and more are compiled in three rounds: a peer takes minutes.
    """
    say(f"compile_latency: {_case(name, ops)}")
    wanted = {v: function for v, function in VARIANTS.items() if options.wants(v)}
    times: dict[str, list[float]] = {variant: [] for variant in wanted}
    problems = dict.fromkeys(wanted, "")
    rounds = min(options.rounds, ROUNDS.get(ops, options.rounds))
    for _ in range(rounds):
        for variant, function in wanted.items():
            outcome = "" if problems[variant] else seconds(function, name, ops, options)
            if isinstance(outcome, str):
                problems[variant] = problems[variant] or outcome
            else:
                times[variant].append(outcome * 1e3)
    return [
        Cell(
            _case(name, ops),
            variant,
            () if problems[variant] else times[variant],
            problems[variant],
        )
        for variant in wanted
    ]


LATENCY_TARGETS = (
    *(Target(_case(name, ops), "jax", 0.5) for name in PROGRAMS for ops in SIZES),
    # Linear growth, with 20 % to spare.
    *(Target(_case(n, SIZES[-1]), "chainrule", 12.0, _case(n, SIZES[-2])) for n in PROGRAMS),
)


# -- memory of what was compiled -------------------------------------------------------------------


def _weighed(case: Case, name: str) -> Case:
    ways = {variant: way for variant, way in case.ways.items() if variant != PRIMAL}
    return replace(case, name=name, ways=ways, limits={})


FEW, MANY = "GMM d=10, K=25, n=1,000", "GMM d=10, K=25, n=10,000"
STEP = "step of MLP 784-1024-1024-10, batch 128"
SMALL_GMM, SMALL_STEP = "GMM warm-up", "step warm-up"
CASES = {
    case.name: case
    for case in (
        _weighed(gmm.CASES[gmm.SIZES[1].name], FEW),
        _weighed(gmm.CASES[gmm.SIZES[5].name], MANY),
        _weighed(training_steps.CASES["MLP 784-1024-1024-10, batch 128"], STEP),
        _weighed(gmm.CASES[gmm.SIZES[0].name], SMALL_GMM),
        _weighed(training_steps.CASES["softmax regression, batch 32"], SMALL_STEP),
    )
}
WARM_UPS = {FEW: SMALL_GMM, MANY: SMALL_GMM, STEP: SMALL_STEP}
MEMORY_TARGETS = (
    *(Target(name, FASTEST, 1.0) for name in WARM_UPS),
    Target(MANY, "chainrule", 1.1, FEW),  # it streams: the peak does not grow with n
)


def run(options: Options) -> list[Table]:
    """Measure latency, then memory; a quick run ends at 100 ops."""
    sizes = SIZES[:2] if options.quick else SIZES
    pairs = [(name, ops) for name in PROGRAMS for ops in sizes]
    latency = tuple(cell for name, ops in pairs for cell in measure(name, ops, options))
    weighed = [CASES[name] for name in WARM_UPS]
    peaks = weigh_cases(
        "compile_latency",
        weighed,
        options,
        lambda case: MEGABYTE,
        lambda case: WARM_UPS[case.name],
    )
    return [
        Table("Time to compile value and gradient", "ms", latency, LATENCY_TARGETS, "jax"),
        Table("Peak memory of one call", "MB", peaks, MEMORY_TARGETS, FASTEST),
    ]
