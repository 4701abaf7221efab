"""One rank of the measurements of `benchmarks.scale`, started by mpiexec with the name of a case.

The first rank prints a JSON of what it has measured.
"""

import json
import os
import resource
import sys
from time import perf_counter
from typing import Any

import numpy as np

SIZES = (1_000, 1_000_000, 10_000_000)
COLUMNS, CLASSES, HIDDEN, COMPONENTS = 32, 10, 64, 16
ROWS = 200_000
SHARDS = 64


def mixture(p: Any, x: Any) -> Any:
    """The negative log-likelihood of a Gaussian mixture with diagonal covariances, a mean."""
    from chainrule import logsumexp

    scale = np.exp(p["log_scale"])
    squares = (
        (x**2) @ (scale**2).T
        - 2 * x @ (p["mean"] * scale**2).T
        + np.sum((p["mean"] * scale) ** 2, 1)
    )
    return -np.mean(logsumexp(p["weight"] + np.sum(p["log_scale"], 1) - squares / 2, axis=1))


def softmax(p: Any, x: Any, y: Any) -> Any:
    """Softmax regression."""
    from chainrule import learn

    return learn.cross_entropy(learn.linear(p, x), y)


def network(p: Any, x: Any, y: Any) -> Any:
    """A network with one hidden layer."""
    from chainrule import learn

    return learn.cross_entropy(learn.linear(p["out"], np.tanh(learn.linear(p["in"], x))), y)


def case_of(name: str) -> tuple[Any, Any]:
    """A loss and its parameters."""
    from chainrule import learn

    rng = np.random.default_rng(0)
    if name == "mixture":
        shape = (COMPONENTS, COLUMNS)
        start = {"mean": rng.normal(size=shape), "log_scale": np.zeros(shape)}
        return mixture, {**start, "weight": np.zeros(COMPONENTS)}
    if name == "softmax":
        return softmax, learn.init_linear(rng, COLUMNS, CLASSES)
    first = learn.init_linear(rng, COLUMNS, HIDDEN)
    return network, {"in": first, "out": learn.init_linear(rng, HIDDEN, CLASSES)}


def all_reduce(engine: Any, rounds: int) -> dict[str, Any]:
    """Seconds of raw mpi4py and of ours, taking turns, for each size."""
    from chainrule.scale.additions import Part

    found = {}
    for size in SIZES:
        vector, total = np.random.default_rng(engine.rank).normal(size=size), np.empty(size)
        calls = max(1, min(200, 2_000_000 // size))
        raw, ours = [], []
        for _ in range(rounds + 1):
            engine.comm.Barrier()
            began = perf_counter()
            for _ in range(calls):
                engine.comm.Allreduce(vector, total)
            middle = perf_counter()
            for _ in range(calls):
                part = [Part(engine.rank, 1, vector)]
                engine.all_reduce(part, size, engine.size, "float64")
            raw.append((middle - began) / calls)
            ours.append((perf_counter() - middle) / calls)
        found[str(size)] = {"mpi4py": raw[1:], "chainrule": ours[1:]}
    return found


def passes(engine: Any, name: str, rounds: int) -> dict[str, Any]:
    """Seconds of a pass over rows in memory, and of computing one shard."""
    from chainrule import scale

    loss, params = case_of(name)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(ROWS, COLUMNS)), rng.integers(0, CLASSES, ROWS)
    rows = (x,) if name == "mixture" else (x, y)
    vg = scale.value_and_grad(loss, engine=engine, shards=SHARDS)
    vg(params, *rows)
    taken = []
    for _ in range(rounds):
        began = perf_counter()
        vg(params, *rows)
        taken.append(perf_counter() - began)
    numbers = sum(np.size(leaf) for leaf in scale_leaves(params))
    return {"rounds": taken, "numbers": numbers, "report": str(vg.report())}


def scale_leaves(params: Any) -> list[Any]:
    """The arrays of nested parameters."""
    import chainrule as cr

    return cr.tree.leaves(params)


def mapped(engine: Any, path: str) -> dict[str, Any]:
    """A pass over a mapped file: seconds, bytes, and the peak memory of the largest rank."""
    from chainrule import scale

    loss, params = case_of("mixture")
    rows = np.load(path, mmap_mode="r")
    vg = scale.value_and_grad(loss, engine=engine, shards=256)
    began = perf_counter()
    vg(params, rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    peaks = engine.comm.allgather(peak)
    return {"seconds": perf_counter() - began, "bytes": rows.nbytes, "peaks": peaks}


def main() -> None:
    """Measure one case on all ranks."""
    from chainrule import scale

    cores = json.loads(os.environ.get("BENCHMARK_CORES", "[]"))
    with scale.mpi() as engine:
        if cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {cores[engine.rank % len(cores)]})
        case, rounds, *more = sys.argv[1:]
        if case == "all_reduce":
            found = all_reduce(engine, int(rounds))
        elif case == "mapped":
            found = mapped(engine, *more)
        else:
            found = passes(engine, case, int(rounds))
        if engine.first:
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
