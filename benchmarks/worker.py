"""The worker process: one variant of one workload, commanded by JSON lines on stdin."""

import gc
import importlib
import json
import os
import sys
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.case import Case

RESULT_TOLERANCE = 1e-12  # a timed result against the checked one: same library, same input
SAMPLE_NS = 50_000_000  # a sample repeats the call until this much time has passed


@dataclass
class Prepared:
    """One case, bound to this worker's variant and run once on each slot of its ring."""

    bound: peers.Bound
    ring: list
    outputs: list[np.ndarray]
    calls: int = 0


class Worker:
    """Holds prepared cases; every method answers one command with a JSON-ready dict."""

    def __init__(self, workload: str, variant: str):
        self.cases: dict[str, Case] = importlib.import_module(f"benchmarks.{workload}").CASES
        self.bind = peers.VARIANTS[variant]
        self.prepared: dict[str, Prepared] = {}

    def clear(self) -> dict:
        """Forget every prepared case."""
        self.prepared.clear()
        gc.unfreeze()
        gc.collect()
        return {}

    def setup(self, case: str) -> dict:
        """Bind the program, run each slot of the ring once, and show what came out."""
        chosen = self.cases[case]
        bound = self.bind(chosen.make)
        ring = [bound.prepare(chosen.inputs(slot)) for slot in range(chosen.ring)]
        outputs = [_flat(bound.read(bound.call(leaves))) for leaves in ring]
        self.prepared[case] = Prepared(bound, ring, outputs)
        gc.collect()
        gc.freeze()  # what set-up made is not scanned again; collection itself stays on
        return {"outputs": [output.tolist() for output in outputs]}

    def sample(self, case: str, count: int) -> dict:
        """Time `count` samples: the mean nanoseconds per call of each, with collection on."""
        prepared = self.prepared[case]
        times, calls = [], []
        for _ in range(count):
            gc.collect()
            elapsed, done, slot, result = _repeat(prepared)
            if not _agree(_flat(prepared.bound.read(result)), prepared.outputs[slot]):
                return {"error": "a timed call gave another result than the one that was checked"}
            times.append(elapsed / done)
            calls.append(done)
        return {"ns": times, "calls": calls}

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


def _repeat(prepared: Prepared) -> tuple[int, int, int, Any]:
    """Call until a sample is full: nanoseconds, calls, and the last slot with its result."""
    call, ring, size, done = prepared.bound.call, prepared.ring, len(prepared.ring), 0
    start = perf_counter_ns()
    while True:
        slot = prepared.calls % size
        result = call(ring[slot])
        prepared.calls += 1
        done += 1
        elapsed = perf_counter_ns() - start
        if elapsed >= SAMPLE_NS:
            return elapsed, done, slot, result


def _flat(arrays: list) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(array, float)) for array in arrays])


def _agree(result: np.ndarray, checked: np.ndarray) -> bool:
    scale = float(np.max(np.abs(checked)))
    return bool(np.max(np.abs(result - checked)) <= RESULT_TOLERANCE * scale)


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
        except Exception as problem:  # noqa: BLE001 - a peer may fail in any way
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        replies.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
