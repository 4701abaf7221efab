"""The rules of measuring: identical processes, interleaved rounds, a correctness gate."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.case import Case, Cell

ROOT = Path(__file__).resolve().parent.parent
GATE = 1e-8  # largest difference between two libraries, relative to the largest entry (float64)


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    out: Path
    bytecode: str  # a private directory for compiled bytecode
    quick: bool = False
    threads: int = 1
    load: float = 0.0  # processes that wanted a core in the minute before the run
    peers: tuple[str, ...] = ()  # empty: all

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
    for library in ("OMP", "MKL", "OPENBLAS", "VECLIB", "NUMEXPR"):
        suffix = "MAXIMUM_THREADS" if library == "VECLIB" else "NUM_THREADS"
        env[f"{library}_{suffix}"] = threads
    env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false" if options.threads == 1 else ""
    env["JAX_PLATFORMS"] = "cpu"
    env["PYTHONHASHSEED"] = "0"
    # The checkout comes before any installed chainrule: the numbers are of this source.
    inherited = os.environ.get("PYTHONPATH", "")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT), inherited]))
    # Import times mean nothing without cached bytecode, and a read-only tree cannot keep it.
    env["PYTHONPYCACHEPREFIX"] = options.bytecode
    return env


def pin(threads: int) -> None:
    """Keep the driver, and so each process it starts, on one core per thread (the last ones)."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


class Process:
    """The driver's end of one worker."""

    def __init__(self, workload: str, variant: str, options: Options, **more: str):
        env = environment(options) | more
        command = [sys.executable, "-m", "benchmarks.worker", workload, variant]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.pipe = subprocess.Popen(command, env=env, text=True, **pipes)

    def ask(self, **command: Any) -> dict:
        """Send one command and wait for its answer; a dead worker answers with an error."""
        try:
            self.pipe.stdin.write(json.dumps(command) + "\n")
            self.pipe.stdin.flush()
            line = self.pipe.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return {"error": f"worker ended with status {self.pipe.wait()}"}
        return json.loads(line)

    def close(self) -> None:
        """Let the worker end, and wait for it."""
        self.pipe.stdin.close()
        self.pipe.wait()
        self.pipe.stdout.close()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def distance(result: list, reference: list) -> float:
    """Largest difference over all ring slots, relative to the largest entry of the reference."""
    ours, theirs = np.asarray(result), np.asarray(reference)
    if ours.shape != theirs.shape:
        return float("inf")
    return float(np.max(np.abs(ours - theirs)) / max(float(np.max(np.abs(theirs))), 1e-300))


def gate(replies: dict[str, dict]) -> dict[str, str]:
    """The problem of each variant: what its worker said, or a result unlike the reference's."""
    problems = {variant: reply.get("error", "") for variant, reply in replies.items()}
    for kind in (True, False):
        healthy = [v for v, bad in problems.items() if not bad and peers.differentiates(v) == kind]
        for variant in healthy[1:]:
            rho = distance(replies[variant]["outputs"], replies[healthy[0]]["outputs"])
            if not rho <= GATE:
                problems[variant] = f"differs from {healthy[0]} by {rho:.1e}: does not count"
    return problems


def chosen(case: Case, options: Options) -> list[str]:
    """The variants to run, in the order of `peers.VARIANTS` (the first is the reference)."""
    return [v for v in peers.VARIANTS if v in case.variants and options.wants(v)]


def time_cases(
    workload: str, groups: Iterable[Sequence[Case]], options: Options, unit_ns: float
) -> tuple[Cell, ...]:
    """Cost per operation of every case and variant, in units of `unit_ns` nanoseconds.

    The cases of a group share their rounds, so that they can be compared with one another too.
    """
    workers: dict[str, Process] = {}
    cells: list[Cell] = []
    try:
        for group in groups:
            pairs = [(case, variant) for case in group for variant in chosen(case, options)]
            for variant in {variant: None for _, variant in pairs}:
                if variant not in workers:
                    workers[variant] = Process(workload, variant, options)
                workers[variant].ask(do="clear")
            say(f"{workload}: {', '.join(case.name for case in group)}")
            cells += _time_group(pairs, workers, options, unit_ns)
    finally:
        for worker in workers.values():
            worker.close()
    return tuple(cells)


def _time_group(
    pairs: list[tuple[Case, str]], workers: dict[str, Process], options: Options, unit_ns: float
) -> list[Cell]:
    problems: dict[tuple[Case, str], str] = {}
    for case in dict.fromkeys(case for case, _ in pairs):
        asked = [variant for other, variant in pairs if other is case]
        found = gate({v: workers[v].ask(do="setup", case=case.name) for v in asked})
        problems |= {(case, variant): problem for variant, problem in found.items()}
    replies: dict[tuple[Case, str], list[dict]] = {pair: [] for pair in pairs}
    for _ in range(options.rounds):
        for case, variant in [pair for pair in pairs if not problems[pair]]:
            reply = workers[variant].ask(do="sample", case=case.name, count=case.samples)
            problems[case, variant] = reply.get("error", "")
            replies[case, variant].append(reply)
    cells = []
    for case, variant in pairs:
        problem = problems[case, variant]
        counted = [] if problem else replies[case, variant]
        costs = [min(reply["ns"]) / case.ops / unit_ns for reply in counted]
        cells.append(Cell(case.name, variant, costs, problem, counted))
    return cells


def weigh_cases(
    workload: str, cases: Iterable[Case], options: Options, unit: Callable[[Case], float]
) -> tuple[Cell, ...]:
    """Peak memory of every case and variant, in `unit(case)` bytes; a fresh process each time."""
    cells: list[Cell] = []
    for case in cases:
        say(f"{workload}: memory of {case.name}")
        variants = chosen(case, options)
        peaks: dict[str, list[int]] = {variant: [] for variant in variants}
        problems = dict.fromkeys(variants, "")
        for _ in range(1 if options.quick else 3):
            replies = {v: _weigh(workload, v, case, options) for v in variants if not problems[v]}
            problems |= gate(replies)
            for variant in [v for v in replies if not problems[v]]:
                peaks[variant].append(replies[variant]["bytes"])
        for variant in variants:
            counted = [] if problems[variant] else peaks[variant]
            costs = [peak / unit(case) for peak in counted]
            cells.append(Cell(case.name, variant, costs, problems[variant], counted))
    return tuple(cells)


def _weigh(workload: str, variant: str, case: Case, options: Options) -> dict:
    """One fresh process, in which glibc returns every freed large array to the system.

    By default glibc moves that threshold while it runs. Measured with torch on `needless nodes`,
    which keeps 3 tensors alive: 48 to 801 MB resident in identical runs by default, always 16–17 MB
    with the threshold fixed. We compare what libraries keep, not how a heap fragments. Timed runs
    leave the allocator alone.
    """
    with Process(workload, variant, options, MALLOC_MMAP_THRESHOLD_="131072") as process:
        return process.ask(do="memory", case=case.name)


def say(text: str) -> None:
    """Progress, kept apart from the tables on stdout."""
    print(text, file=sys.stderr, flush=True)
