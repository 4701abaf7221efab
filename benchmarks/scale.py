"""Passes over shards on MPI ranks: all-reduce, two ranks beside one, a file of 2 GB, predictions.

What ranks compute is in `scale_ranks.py`; the cost model that predicts 4,096 of them from what is
measured here, with its assumptions, in `scale_model.py`.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.case import Cell, Table, Target
from benchmarks.harness import CORES, Options, environment, say
from benchmarks.scale_model import RANKS, Load, Machine, strong, weak
from benchmarks.scale_ranks import COLUMNS, ROWS, SHARDS, SIZES

TITLE = "Scale: gradients of rows in shards, on MPI ranks"

CASES = {"mixture": "Gaussian mixture", "softmax": "softmax regression", "network": "small MLP"}
GIGABYTES, QUICK_GIGABYTES = 2.0, 0.1
PREDICTED_ROWS, PREDICTED_SHARDS = 2**28, 4096
CV = 0.05  # assumed of a shard's seconds on a machine that nobody else uses
CLUSTER = Machine("cluster", latency=2e-6, bandwidth=12.5e9, adding=5e9)  # assumed: 100 Gbit/s


def ranks(count: int, options: Options, case: str, *more: str) -> Any:
    """What the first of so many ranks has measured; or the text of what went wrong."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    launcher = str(mpiexec) if mpiexec.exists() else "mpiexec"
    command = [launcher, "-n", str(count), sys.executable, "-m", "benchmarks.scale_ranks"]
    env = environment(options) | {"BENCHMARK_CORES": json.dumps(CORES)}
    preserved = {"preexec_fn": _on_all_cores} if CORES else {}
    try:
        done = subprocess.run(
            [*command, case, str(options.rounds), *more],
            env=env,
            capture_output=True,
            text=True,
            timeout=options.patience,
            check=True,
            **preserved,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(getattr(error, "stderr", None) or error).strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def _on_all_cores() -> None:
    """The driver keeps to one core; the ranks are to have one each."""
    import os

    os.sched_setaffinity(0, CORES)


def cell(case: str, variant: str, values: Any, scale: float = 1e3) -> Cell:
    """Rounds in the unit of a table, or the problem."""
    if isinstance(values, str):
        return Cell(case, variant, problem=values)
    return Cell(case, variant, tuple(scale * value for value in values))


def reductions(options: Options) -> tuple[Table, Machine | None]:
    """All-reduce beside raw mpi4py; and how fast messages of this machine are."""
    say("all-reduce of two ranks")
    found = ranks(2, options, "all_reduce")
    cells = [
        cell(f"{size:,} numbers", f"{who}.allreduce", _inner(found, str(size), who))
        for size in SIZES
        for who in ("chainrule", "mpi4py")
    ]
    targets = tuple(Target(f"{size:,} numbers", "mpi4py.allreduce", 1.2) for size in SIZES)
    table = Table("All-reduce, two ranks", "ms", tuple(cells), targets, versus="mpi4py")
    if isinstance(found, str):
        return table, None
    small, large = (median(found[str(size)]["mpi4py"]) for size in (SIZES[0], SIZES[-1]))
    measured = Machine("this machine", small / 2, 2 * 8 * SIZES[-1] / large, CLUSTER.adding)
    return table, measured


def _inner(found: Any, *keys: str) -> Any:
    for key in keys:
        found = found if isinstance(found, str) else found[key]
    return found


def passes(options: Options) -> tuple[Table, list[Load]]:
    """A pass on one rank and on two; and what one row costs."""
    cells, loads = [], []
    for name, title in CASES.items():
        say(f"{title}, on one rank and on two")
        found = {count: ranks(count, options, name) for count in (1, 2)}
        cells += [
            cell(title, f"chainrule.{count}_rank{'s' * (count > 1)}", _inner(each, "rounds"))
            for count, each in found.items()
        ]
        if isinstance(found[1], dict):
            per_row = median(found[1]["rounds"]) / ROWS
            loads.append(
                Load(title, PREDICTED_ROWS, per_row, found[1]["numbers"], PREDICTED_SHARDS, CV)
            )
    note = f"{ROWS:,} rows of {COLUMNS} columns in {SHARDS} shards"
    return Table(f"A pass over {note}", "ms", tuple(cells), versus="chainrule"), loads


def large_file(options: Options) -> Table:
    """The peak memory of a rank in a pass over a file that is larger than it."""
    size = QUICK_GIGABYTES if options.quick else GIGABYTES
    path = Path(options.scratch) / "rows.npy"
    say(f"a mapped file of {size:g} GB")
    count = int(size * 1e9) // (8 * COLUMNS)
    rows = np.lib.format.open_memmap(path, "w+", np.float64, (count, COLUMNS))
    rng = np.random.default_rng(0)
    for start in range(0, count, 100_000):
        rows[start : start + 100_000] = rng.normal(size=rows[start : start + 100_000].shape)
    rows.flush()
    del rows
    found = ranks(2, options, "mapped", str(path))
    path.unlink()
    peaks = found if isinstance(found, str) else [max(found["peaks"])]
    case = f"{size:g} GB in a file, two ranks"
    cells = (cell(case, "chainrule.peak", peaks, 1e-6), Cell(case, "limit.300", (300.0,)))
    return Table("Peak memory of a rank", "MB", cells, versus="limit")


def predictions(loads: Sequence[Load], machines: Sequence[Machine]) -> list[Table]:
    """Shares of perfect speed-up, by the model."""
    tables = []
    for machine in machines:
        for name, share in (("strong", strong), ("weak", weak)):
            cells = tuple(
                Cell(f"{count:,} ranks", f"model.{load.name.replace(' ', '_')}", (value,))
                for count in RANKS
                for load in loads
                for value in [100 * share(_sized(load, name), machine, count)]
            )
            speeds = f"{machine.latency * 1e6:.2g} µs, {machine.bandwidth / 1e9:.3g} GB/s"
            title = f"Predicted {name} scaling, messages of {machine.name} ({speeds})"
            tables.append(Table(title, "% of perfect", cells, versus="model"))
    return tables


def _sized(load: Load, name: str) -> Load:
    """In weak scaling each rank has the rows and one shard that a rank of the strong one has."""
    if name == "strong":
        return load
    each = PREDICTED_ROWS // PREDICTED_SHARDS
    return Load(load.name, each, load.per_row, load.numbers, 1, load.cv)


def run(options: Options) -> list[Table]:
    """All of it, in one run."""
    reduced, measured = reductions(options)
    passed, loads = passes(options)
    tables = [reduced, passed, large_file(options)]
    machines = [CLUSTER] if measured is None else [measured, CLUSTER]
    return tables + predictions(loads, machines)
