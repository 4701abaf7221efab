"""What the machine allows: the rates of products, copies and exponentials, measured in the run."""

import os
import threading
from collections.abc import Callable
from time import perf_counter

import numpy as np

from benchmarks.case import Work

SIDE = 1024  # of the matrices whose product is the peak
SAMPLE_S = 0.02
NEAR = 4096  # elements of an array in the nearest cache
LEAST_COPY = 4096  # bytes: below it a copy measures the call


def seconds(work: Work, dtype: str) -> float:
    """The least time that the work can take, at the rates of this moment."""
    total = work.seconds
    if work.flops:
        total += work.flops / product_rate(dtype)
    if work.bytes:
        total += work.bytes / copy_rate(work.footprint or work.bytes)
    if work.exps:
        total += work.exps / exp_rate(dtype)
    return total


def product_rate(dtype: str) -> float:
    """Floating-point operations per second of a large matrix product, by the BLAS of NumPy."""
    A = np.full((SIDE, SIDE), 0.5, dtype)
    out = np.empty_like(A)
    np.matmul(A, A, out=out)
    best = float("inf")
    for _ in range(3):
        start = perf_counter()
        np.matmul(A, A, out=out)
        best = min(best, perf_counter() - start)
    return 2.0 * SIDE**3 / best


def copy_rate(footprint: float) -> float:
    """Bytes read and written per second by copies that touch `footprint` bytes, on all threads."""
    size = max(int(footprint / 2 / _threads()), LEAST_COPY)

    def prepare() -> Callable[[], object]:
        source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
        return lambda: np.copyto(target, source)

    return 2.0 * size * _calls_per_second(prepare)


def exp_rate(dtype: str) -> float:
    """Exponentials per second by NumPy, on all threads."""

    def prepare() -> Callable[[], object]:
        source = np.linspace(-1, 1, NEAR).astype(dtype)
        target = np.empty_like(source)
        return lambda: np.exp(source, out=target)

    return NEAR * _calls_per_second(prepare)


def _threads() -> int:
    return int(os.environ.get("OMP_NUM_THREADS", "1"))


def _calls_per_second(prepare: Callable[[], Callable[[], object]]) -> float:
    """Of one thread or of all together; each has arrays of its own."""
    rates: list[float] = []

    def repeat() -> None:
        call = prepare()
        call()
        best = float("inf")
        deadline = perf_counter() + SAMPLE_S
        while (start := perf_counter()) < deadline or best == float("inf"):
            for _ in range(4):
                call()
            best = min(best, (perf_counter() - start) / 4)
        rates.append(1.0 / best)

    threads = [threading.Thread(target=repeat) for _ in range(_threads())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(rates)
