"""The worker process: one variant of one workload, commanded by JSON lines on stdin."""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import sys
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from benchmarks import limits, peers
from benchmarks.case import Case

# A timed result against the checked one: same library, same input.
REPEATS = {"float64": 1e-12, "float32": 1e-6}
PAGE = 4096  # bytes: memory is counted in no smaller unit
SAMPLE_NS = 50_000_000  # a sample repeats the call until this much time has passed


@dataclass
class Prepared:
    """One case, bound to this worker's variant and run once on each slot of its ring."""

    bound: peers.Bound
    ring: list
    outputs: list[list[np.ndarray]]  # of each slot
    calls: int = 0


class Worker:
    """Holds prepared cases; every method answers one command with a JSON-ready dict."""

    def __init__(self, workload: str, variant: str):
        self.cases: dict[str, Case] = importlib.import_module(f"benchmarks.{workload}").CASES
        self.variant = variant
        self.prepared: dict[str, Prepared] = {}

    def bind(self, case: Case) -> peers.Bound:
        """The case in this worker's variant."""
        if self.variant in case.ways:
            return case.ways[self.variant]()
        bound = peers.VARIANTS[self.variant](case.make)
        return bound._replace(read=lambda result: [_flat(bound.read(result))])

    def clear(self) -> dict:
        """Forget every prepared case."""
        self.prepared.clear()
        gc.unfreeze()
        gc.collect()
        return {}

    def setup(self, case: str) -> dict:
        """Bind the program, run each slot of the ring once, and show what came out."""
        chosen = self.cases[case]
        bound = self.bind(chosen)
        ring = [bound.prepare(chosen.inputs(slot)) for slot in range(chosen.ring)]
        outputs = _run_ring(bound, ring)
        self.prepared[case] = Prepared(bound, ring, outputs)
        gc.collect()
        gc.freeze()  # what set-up made is not scanned again; collection itself stays on
        return {"outputs": self._save(case, outputs)}

    def sample(self, case: str, count: int) -> dict:
        """Time `count` samples: the mean nanoseconds per call of each, with collection on."""
        prepared = self.prepared[case]
        times, calls = [], []
        for _ in range(count):
            if prepared.bound.reset:
                prepared.bound.reset()
            gc.collect()
            elapsed, done, slot, result = _repeat(prepared)
            if not _as_checked(prepared, slot, result, REPEATS[self.cases[case].dtype]):
                return {"error": "a timed call gave another result than the one that was checked"}
            times.append(elapsed / done)
            calls.append(done)
        return {"ns": times, "calls": calls}

    def limit(self, case: str) -> dict:
        """Nanoseconds of each limit of a case, at the rates of this moment."""
        chosen = self.cases[case]
        seconds = {name: limits.seconds(w, chosen.dtype) for name, w in chosen.limits.items()}
        return {"ns": {name: 1e9 * value for name, value in seconds.items()}}

    def memory(self, case: str, warm_up: str = "") -> dict:
        """Peak resident bytes of one call above what was resident before it.

        A compiled function is called once before, and what that call keeps counts. `warm_up` is a
        small case that loads the compiler, so that only the larger case is weighed.
        """
        chosen = self.cases[case]
        if warm_up:
            small = self.cases[warm_up]
            _run_ring(bound := self.bind(small), [bound.prepare(small.inputs(0))])
        else:  # imports and first-use set-up belong to the baseline
            tiny = peers.VARIANTS[self.variant](lambda xp: lambda x: x * x + 1.0)
            tiny.call(tiny.prepare((2.0,)))
        bound = self.bind(chosen)
        leaves = bound.prepare(chosen.inputs(0))
        gc.collect()
        if warm_up:
            _trim()
        before = _status_bytes("VmRSS")
        if warm_up:
            for _ in range(2):  # a compiled function runs its second call as plain Python, too
                _run_ring(bound, [leaves])
            gc.collect()
            _trim()
        if bound.reset:
            bound.reset()
        _forget_peak()
        result = bound.call(leaves)
        peak = _status_bytes("VmHWM")
        rise = max(peak - before, PAGE)
        return {"bytes": rise, "outputs": self._save(case, [_copied(bound.read(result))])}

    def _save(self, case: str, outputs: list[list[np.ndarray]]) -> str:
        """Leave results in a file for the driver: some are too long for a line of JSON."""
        name = f"{os.getpid()}-{list(self.cases).index(case)}.npz"
        path = os.path.join(os.environ["BENCHMARK_SCRATCH"], name)
        np.savez(path, *(array for slot in outputs for array in slot))
        return path


def _run_ring(bound: peers.Bound, ring: list) -> list[list[np.ndarray]]:
    """What each slot of the ring gives, called in turn."""
    if bound.reset:
        bound.reset()
    return [_copied(bound.read(bound.call(leaves))) for leaves in ring]


def _as_checked(prepared: Prepared, slot: int, result: Any, tolerance: float) -> bool:
    """Whether a result is the checked one; with a state, whether the ring gives it once more."""
    if prepared.bound.reset is None:
        again, checked = [_copied(prepared.bound.read(result))], [prepared.outputs[slot]]
    else:
        again, checked = _run_ring(prepared.bound, prepared.ring), prepared.outputs
    return all(
        _agree(array, reference, tolerance)
        for slot, references in zip(again, checked, strict=True)
        for array, reference in zip(slot, references, strict=True)
    )


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


def _copied(arrays: list) -> list[np.ndarray]:
    """Results of their own: a library may write the next ones over them."""
    return [np.array(array, float) for array in arrays]


def _agree(result: np.ndarray, checked: np.ndarray, tolerance: float) -> bool:
    scale = float(np.max(np.abs(checked)))
    return bool(np.max(np.abs(result - checked)) <= tolerance * scale)


def _trim() -> None:
    """Return freed memory to the system, where the allocator can (glibc)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


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
        except peers.NotBuiltError as missing:
            reply = {"error": str(missing)}
        except ModuleNotFoundError as missing:
            reply = {"error": f"{missing.name} is not installed"}
        except Exception as problem:  # noqa: BLE001 - a peer may fail in any way
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        replies.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
