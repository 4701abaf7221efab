"""The worker process: one variant of one workload, commanded by JSON lines on stdin."""

import gc
import importlib
import json
import os
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.case import Case

SAMPLE_NS = 50_000_000  # a sample repeats the call until this much time has passed


class Worker:
    """Holds one prepared program; every method answers one command with a JSON-ready dict."""

    def __init__(self, workload: str, variant: str):
        self.cases: dict[str, Case] = importlib.import_module(f"benchmarks.{workload}").CASES
        self.bind = peers.VARIANTS[variant]
        self.calls = 0

    def setup(self, case: str) -> dict:
        """Bind the program, run each slot of the ring once, and show what came out."""
        gc.unfreeze()
        chosen = self.cases[case]
        self.bound = self.bind(chosen.make)
        self.ring = [self.bound.prepare(chosen.inputs(slot)) for slot in range(chosen.ring)]
        self.outputs = [_flat(self.bound.read(self.bound.call(leaves))) for leaves in self.ring]
        self.calls = 0
        gc.collect()
        gc.freeze()  # what set-up made is not scanned again; collection itself stays on
        return {"outputs": [output.tolist() for output in self.outputs]}

    def sample(self, count: int) -> dict:
        """Time `count` samples: the mean nanoseconds per call of each, with collection on."""
        times, calls = [], []
        for _ in range(count):
            gc.collect()
            elapsed, done, slot, result = self._repeat(self.bound.call)
            if not _agree(_flat(self.bound.read(result)), self.outputs[slot]):
                return {"error": "a timed call gave another result than the one that was checked"}
            times.append(elapsed / done)
            calls.append(done)
        return {"ns": times, "calls": calls}

    def _repeat(self, call: Callable) -> tuple[int, int, int, Any]:
        ring, size, done = self.ring, len(self.ring), 0
        start = perf_counter_ns()
        while True:
            slot = self.calls % size
            result = call(ring[slot])
            self.calls += 1
            done += 1
            elapsed = perf_counter_ns() - start
            if elapsed >= SAMPLE_NS:
                return elapsed, done, slot, result

    def memory(self, case: str) -> dict:
        """Peak resident bytes of one call above what was resident before it."""
        tiny = self.bind(lambda xp: lambda x: x * x + 1.0)
        tiny.call(tiny.prepare((2.0,)))  # imports and first-use set-up belong to the baseline
        chosen = self.cases[case]
        bound = self.bind(chosen.make)
        leaves = bound.prepare(chosen.inputs(0))
        gc.collect()
        _forget_peak()
        before = _status_bytes("VmRSS")
        result = bound.call(leaves)
        peak = _status_bytes("VmHWM")
        return {"bytes": peak - before, "outputs": [_flat(bound.read(result)).tolist()]}


def _flat(arrays: list) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(array, float)) for array in arrays])


def _agree(result: np.ndarray, checked: np.ndarray) -> bool:
    scale = float(np.max(np.abs(checked)))
    return bool(np.max(np.abs(result - checked)) <= 1e-12 * scale)


def _status_bytes(field: str) -> int:
    """A `… kB` line of this process's status file (Linux only, as is the memory workload)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


def _forget_peak() -> None:
    """Start VmHWM again from the present RSS, so that the peak of the imports is forgotten."""
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")


def main() -> None:
    """Answer commands until stdin closes. Replies own the real stdout; prints go to stderr."""
    workload, variant = sys.argv[1:]
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = Worker(workload, variant)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            reply = getattr(worker, command.pop("do"))(**command)
        except ModuleNotFoundError as missing:
            reply = {"error": f"{missing.name} is not installed"}
        except Exception as problem:  # a peer may fail in any way; the driver reports it
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        replies.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
