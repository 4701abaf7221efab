"""Worker processes on this machine, by concurrent.futures."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from time import perf_counter
from typing import Any

import chainrule as cr
from chainrule.errors import ArgumentError, ScaleError
from chainrule.scale import remote
from chainrule.scale.additions import groups_of, span_of
from chainrule.scale.carry import packed
from chainrule.scale.engine import Engine, joined
from chainrule.scale.task import Sum, Task

GROUPS_PER_WORKER = 4  # of shards: a worker that is late delays the pass by a fourth


class Processes(Engine):
    """A pool of processes, started when first needed and kept until the engine is closed."""

    name = "processes"

    def __init__(self, count: int | None = None):
        super().__init__()
        count = _cores() if count is None else count
        if type(count) is not int or count < 1:
            raise ArgumentError(f"processes({count!r}): a whole number of at least 1")
        self.count = count
        self._pool: ProcessPoolExecutor | None = None

    @property
    def workers(self) -> int:
        return self.count

    def _add(self, make: Callable[[], Task]) -> Sum:
        began = perf_counter()
        calls = self._calls(remote.share, make())
        sent = sum(len(each) for call in calls for each in call if isinstance(each, bytes))
        return joined(self._called(calls), began, sent)

    def _results(self, make: Callable[[], Task]) -> list[Any]:
        return remote.flattened(self._called(self._calls(remote.results, make())))

    def _calls(self, f: Callable[..., Any], task: Task) -> list[tuple[Any, ...]]:
        """f of each group of shards, for `submit`."""
        messages, source = remote.packed_task(task), task.source
        return [
            (f, *messages, packed(source.part(low, high), "the rows"), low, high)
            for low, high in groups_of(source.count, GROUPS_PER_WORKER * self.count)
        ]

    def _map(self, f: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
        function = packed(f, "the function")
        count = min(len(items), GROUPS_PER_WORKER * self.count)
        spans = [span_of(i, count, len(items)) for i in range(count)]
        calls = [
            (remote.mapped, function, packed(items[low:high], "the items"), low)
            for low, high in spans
        ]
        return remote.flattened(self._called(calls))

    def _called(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        futures: list[Future[Any]] = []
        try:
            for call in calls:
                futures.append(self._started().submit(*call))
            return [future.result() for future in futures]
        except BrokenProcessPool as error:
            self._close()
            raise ScaleError(
                "a worker process has died: it was killed (for memory, perhaps), crashed, or could "
                "not import the program, which must start its engine below `if __name__ == "
                '"__main__":`.  The engine starts new workers in its next pass: call it again'
            ) from error
        except BaseException:  # also Ctrl-C: nothing of this pass is wanted any more
            for future in futures:
                future.cancel()
            raise

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            threads = max(1, _cores() // self.count)
            self._pool = ProcessPoolExecutor(
                self.count,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_prepare,
                initargs=(threads,),
            )
        return self._pool

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _prepare(threads: int) -> None:
    """In a worker: Ctrl-C is for the process that started it; cores are shared."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cr.set_threads(threads)


def _end_with(parent: Any) -> None:
    """In a worker: end when its parent has, which cannot say so where it was killed.

    `parent.join` waits for the end of a pipe that the parent holds open.  A process forked from it
    may hold that open too: then this worker has another parent.  Linux's PR_SET_PDEATHSIG would end
    workers with the thread that started them.
    """
    seconds = 1.0
    while parent.is_alive() and (os.name != "posix" or os.getppid() == parent.pid):
        parent.join(seconds)
    os._exit(1)
