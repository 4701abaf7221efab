"""The rules of measuring: identical processes, interleaved rounds, a correctness gate."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import others, peers
from benchmarks.case import Case, Cell

ROOT = Path(__file__).resolve().parent.parent
# The largest difference between two libraries, relative to the largest entry of an array.
GATE = {"float64": 1e-8, "float32": 1e-4}
LIMIT = "limit"
# Those that this process may use before it keeps to one; none where the system does not tell.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    out: Path
    scratch: str  # a private directory: compiled bytecode, and results to be compared
    quick: bool = False
    threads: int = 1
    load: float = 0.0  # processes that wanted a core in the minute before the run
    start: others.Clock | None = None  # when it began
    peers: tuple[str, ...] = ()  # empty: all
    large: bool = False  # it takes minutes to set up: side by side, each case in its own process

    @property
    def patience(self) -> int:
        """Seconds that a variant may take to answer: to compile, or to run a sample."""
        return 3600 if self.large else 60 if self.quick else 600

    @property
    def rounds(self) -> int:
        """Rounds of a timed workload."""
        return 3 if self.quick else 7

    def wants(self, variant: str) -> bool:
        """Whether this variant was asked for."""
        return not self.peers or peers.peer(variant) in self.peers


def environment(options: Options) -> dict[str, str]:
    """The environment of every measured process: the same one for each library."""
    threads = str(options.threads)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for library in ("OMP", "MKL", "OPENBLAS", "VECLIB", "NUMEXPR", "NUMBA"):
        suffix = "MAXIMUM_THREADS" if library == "VECLIB" else "NUM_THREADS"
        env[f"{library}_{suffix}"] = threads
    env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false" if options.threads == 1 else ""
    env["JAX_PLATFORMS"] = "cpu"
    env["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # no pool of compilers beside the worker
    env["PYTHONHASHSEED"] = "0"
    # The checkout comes before any installed chainrule: the numbers are of this source.
    inherited = os.environ.get("PYTHONPATH", "")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT), inherited]))
    # Import times mean nothing without cached bytecode, and a read-only tree cannot keep it.
    env["PYTHONPYCACHEPREFIX"] = os.path.join(options.scratch, "bytecode")
    env["BENCHMARK_SCRATCH"] = options.scratch
    return env


def pin(threads: int) -> None:
    """Keep the driver, and so each process it starts, on one core per thread (the last ones)."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


class Process:
    """The driver's end of one worker."""

    def __init__(self, workload: str, variant: str, options: Options, **more: str):
        env = environment(options) | more
        self.patience, self.slow = options.patience, False
        command = [sys.executable, "-m", "benchmarks.worker", workload, variant]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.pipe = subprocess.Popen(command, env=env, text=True, **pipes)

    def ask(self, **command: Any) -> dict:
        """Send one command and wait for its answer; a dead worker answers with an error."""
        clock = threading.Timer(self.patience, self._give_up)
        clock.start()
        try:
            self.pipe.stdin.write(json.dumps(command) + "\n")
            self.pipe.stdin.flush()
            line = self.pipe.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            clock.cancel()
        if line:
            return json.loads(line)
        status = self.pipe.wait()
        ended = f"worker ended with status {status}"
        return {"error": f"no answer within {self.patience} s" if self.slow else ended}

    def _give_up(self) -> None:
        self.slow = True
        self.pipe.kill()

    @property
    def ended(self) -> bool:
        """Whether the worker is dead."""
        return self.pipe.poll() is not None

    def close(self) -> None:
        """Let the worker end, and wait for it."""
        with contextlib.suppress(BrokenPipeError):
            self.pipe.stdin.close()
        self.pipe.wait()
        self.pipe.stdout.close()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def distance(result: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """Largest difference over all arrays, each relative to the largest entry of its reference."""
    if [array.shape for array in result] != [array.shape for array in reference]:
        return float("inf")
    return max(
        float(np.max(np.abs(ours - theirs)) / max(float(np.max(np.abs(theirs))), 1e-300))
        for ours, theirs in zip(result, reference, strict=True)
    )


def outputs(reply: dict) -> list[np.ndarray]:
    """The results that a worker left in a file: one array per output and ring slot."""
    with np.load(reply["outputs"]) as arrays:
        return [arrays[name] for name in arrays.files]


def gate(replies: dict[str, dict], dtype: str) -> dict[str, str]:
    """The problem of each variant: what its worker said, or a result unlike the reference's."""
    problems = {variant: reply.get("error", "") for variant, reply in replies.items()}
    for kind in (True, False):
        healthy = [v for v, bad in problems.items() if not bad and peers.differentiates(v) == kind]
        for variant in healthy[1:]:
            rho = distance(outputs(replies[variant]), outputs(replies[healthy[0]]))
            if not rho <= GATE[dtype]:
                problems[variant] = f"differs from {healthy[0]} by {rho:.1e}: does not count"
    return problems


def chosen(case: Case, options: Options) -> list[str]:
    """The variants to run; the first is the reference: `ways`, then as `peers.VARIANTS` goes."""
    known = [variant for variant in peers.VARIANTS if variant in case.variants]
    return [variant for variant in (*case.ways, *known) if options.wants(variant)]


def time_cases(
    workload: str, groups: Iterable[Sequence[Case]], options: Options, unit_ns: float
) -> tuple[Cell, ...]:
    """Cost per operation of every case and variant, in units of `unit_ns` nanoseconds.

    The cases of a group share their rounds, so that they can be compared with one another too.
    """
    workers: dict[tuple[str, str], Process] = {}
    cells: list[Cell] = []
    try:
        for group in groups:
            pairs = [(case, variant) for case in group for variant in chosen(case, options)]
            limited = [(case, LIMIT) for case in group if case.limits]
            of: dict[tuple[Case, str], Process] = {}
            for case, variant in (*pairs, *limited):
                key = variant, case.name if options.large else ""
                if key not in workers or workers[key].ended:
                    workers[key] = Process(workload, variant, options)
                of[case, variant] = workers[key]
            for worker in dict.fromkeys(of.values()):
                worker.ask(do="clear")
            say(f"{workload}: {', '.join(case.name for case in group)}")
            cells += _time_group(pairs, of, options, unit_ns)
    finally:
        for worker in workers.values():
            worker.close()
    return tuple(cells)


def _set_up(
    pairs: list[tuple[Case, str]], workers: dict[tuple[Case, str], Process], options: Options
) -> dict[tuple[Case, str], dict]:
    """The answer of each: one after the other, or side by side, each on a core of its own."""

    def ask(pair: tuple[Case, str]) -> dict:
        return workers[pair].ask(do="setup", case=pair[0].name)

    if not options.large:
        return {pair: ask(pair) for pair in pairs}
    for pair, core in zip(pairs, cycle(CORES), strict=False):
        os.sched_setaffinity(workers[pair].pipe.pid, {core})
    with ThreadPoolExecutor(len(pairs)) as pool:
        replies = dict(zip(pairs, pool.map(ask, pairs), strict=True))
    for worker in [workers[pair] for pair in pairs if CORES and not workers[pair].ended]:
        os.sched_setaffinity(worker.pipe.pid, os.sched_getaffinity(0))
    return replies


def _time_group(
    pairs: list[tuple[Case, str]],
    workers: dict[tuple[Case, str], Process],
    options: Options,
    unit_ns: float,
) -> list[Cell]:
    problems: dict[tuple[Case, str], str] = {}
    replies = _set_up(pairs, workers, options)
    for case in dict.fromkeys(case for case, _ in pairs):
        found = gate(
            {v: reply for (other, v), reply in replies.items() if other is case}, case.dtype
        )
        problems |= {(case, variant): problem for variant, problem in found.items()}
    limited = [(case, LIMIT) for case in dict.fromkeys(case for case, _ in pairs) if case.limits]
    problems |= dict.fromkeys(limited, "")
    answers: dict[tuple[Case, str], list[dict]] = {pair: [] for pair in (*pairs, *limited)}
    for _ in range(options.rounds):
        for case, variant in [pair for pair in answers if not problems[pair]]:
            do = {"do": "limit"} if variant == LIMIT else {"do": "sample", "count": case.samples}
            reply = workers[case, variant].ask(case=case.name, **do)
            problems[case, variant] = reply.get("error", "")
            answers[case, variant].append(reply)
    cells = []
    for case, variant in answers:
        problem = problems[case, variant]
        counted = [] if problem else answers[case, variant]
        if variant == LIMIT:
            cells += _limit_cells(case, problem, counted, unit_ns)
            continue
        costs = [min(reply["ns"]) / case.ops / unit_ns for reply in counted]
        cells.append(Cell(case.name, variant, costs, problem, counted))
    return sorted(cells, key=lambda cell: [case.name for case, _ in pairs].index(cell.case))


def _limit_cells(case: Case, problem: str, replies: list[dict], unit_ns: float) -> list[Cell]:
    cells = []
    for name in case.limits:
        costs = [reply["ns"][name] / case.ops / unit_ns for reply in replies]
        cells.append(Cell(case.name, f"{LIMIT}.{name}", costs, problem, replies))
    return cells


def weigh_cases(
    workload: str,
    cases: Iterable[Case],
    options: Options,
    unit: Callable[[Case], float],
    warm_up: Callable[[Case], str] = lambda case: "",
) -> tuple[Cell, ...]:
    """Peak memory of every case and variant, in `unit(case)` bytes; a fresh process each time.

    `warm_up(case)` names a small case that is compiled before a compiled one is weighed.
    """
    cells: list[Cell] = []
    for case in cases:
        say(f"{workload}: memory of {case.name}")
        variants = chosen(case, options)
        peaks: dict[str, list[int]] = {variant: [] for variant in variants}
        problems = dict.fromkeys(variants, "")
        for _ in range(1 if options.quick else 3):
            healthy = [variant for variant in variants if not problems[variant]]
            first = warm_up(case)
            replies = {v: _weigh(workload, v, case, options, first) for v in healthy}
            problems |= gate(replies, case.dtype)
            for variant in [v for v in replies if not problems[v]]:
                peaks[variant].append(replies[variant]["bytes"])
        for variant in variants:
            counted = [] if problems[variant] else peaks[variant]
            costs = [peak / unit(case) for peak in counted]
            cells.append(Cell(case.name, variant, costs, problems[variant], counted))
    return tuple(cells)


def _weigh(workload: str, variant: str, case: Case, options: Options, warm_up: str) -> dict:
    """One fresh process, in which glibc returns every freed large array to the system.

    By default glibc moves that threshold while it runs. Measured with torch on `needless nodes`,
    which keeps 3 tensors alive: 48 to 801 MB resident in identical runs by default, always 16–17 MB
    with the threshold fixed. We compare what libraries keep, not how a heap fragments. Timed runs
    leave the allocator alone.  Nothing is taken from a cache of compiled code: the warm-up then
    loads the compiler itself.
    """
    fixed = {"MALLOC_MMAP_THRESHOLD_": "131072", "CHAINRULE_CACHE": "off"}
    with Process(workload, variant, options, **fixed) as process:
        return process.ask(do="memory", case=case.name, warm_up=warm_up)


def say(text: str) -> None:
    """Progress, kept apart from the tables on stdout."""
    print(text, file=sys.stderr, flush=True)
