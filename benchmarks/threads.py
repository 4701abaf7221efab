"""Compiled functions on more and more threads; `python -m benchmarks.threads [--out DIRECTORY]`.

Per number of threads the smallest of several times, and whether every bit of the results is the
same. Writes `threads.json` and `threads.md`.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import chainrule as cr
from chainrule.core.containers import flatten

RESULTS = Path(__file__).parent / "results"
COUNTS = (1, 2, 4, 8, 16)
REPEATS = 9


def elementwise(x: np.ndarray) -> np.ndarray:
    """Four operations and a sum; the gradient is as large as x."""
    return np.sum(np.sin(x) * np.exp(-x * x))


def layer(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Three products of matrices, with the gradient."""
    return np.sum(np.tanh(x @ w))


def squares(x: np.ndarray) -> np.ndarray:
    """Bound by memory."""
    return np.sum(x * x)


def programs() -> dict[str, tuple[Callable, tuple[np.ndarray, ...]]]:
    """What is timed, by name."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4000, 1000)), rng.normal(size=(1000, 800)) / 30
    return {
        "gradient of Σ sin x · exp(−x²), 4,000 × 1,000": (cr.value_and_grad(elementwise), (x,)),
        "gradients of Σ tanh(x w), 4,000 × 1,000 × 800": (cr.value_and_grad(layer, (0, 1)), (x, w)),
        "Σ x², 4,000 × 1,000": (squares, (x,)),
        "Σ x², 200 × 1,000": (squares, (x[:200],)),
    }


def measured(f: Callable, args: tuple[np.ndarray, ...], counts: list[int]) -> dict:
    """Milliseconds per number of threads, and how many different results there were."""
    fast = cr.compile(f)
    found, results = {}, set()
    for count in counts:
        cr.set_threads(count)
        results.add(b"".join(np.asarray(leaf).tobytes() for leaf in flatten(fast(*args))[0]))
        times = []
        for _ in range(REPEATS):
            start = perf_counter()
            fast(*args)
            times.append(perf_counter() - start)
        found[count] = round(1e3 * min(times), 4)
    return {"ms": found, "different results": len(results)}


def table(rows: dict[str, dict], machine: str) -> str:
    """One line per program."""
    counts = list(next(iter(rows.values()))["ms"])
    lines = [
        "# Threads",
        "",
        "Made by `python -m benchmarks.threads`: milliseconds, and in brackets the speed-up.",
        "",
        f"| program, threads: | {' | '.join(map(str, counts))} | different results |",
        f"| --- | {' | '.join('--:' for _ in counts)} | --: |",
    ]
    for name, row in rows.items():
        one = row["ms"][counts[0]]
        cells = [f"{ms:.3g} ({one / ms:.1f})" for ms in row["ms"].values()]
        lines.append(f"| {name} | {' | '.join(cells)} | {row['different results']} |")
    return "\n".join([*lines, "", machine, ""])


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    counts = [c for c in COUNTS if c <= cores]
    rows = {name: measured(f, args, counts) for name, (f, args) in programs().items()}
    machine = f"{cores} cores, {platform.machine()}, NumPy {np.__version__}."
    text = table(rows, machine)
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "threads.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (options.out / "threads.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
