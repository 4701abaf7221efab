"""What an engine is: something that computes shards on workers and adds them in the one order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from chainrule.errors import ArgumentError, ScaleError
from chainrule.scale.additions import Additions
from chainrule.scale.failing import Failure
from chainrule.scale.report import Spent, WorkerSpent
from chainrule.scale.task import Sum, Task
from chainrule.scale.training import Step
from chainrule.scale.work import Share, unlike


class Engine(ABC):
    """Where shards are computed.  Close it, or use it in a `with` statement.

    `first` is whether this process is the one that writes files and shows progress; `together`,
    whether all processes run the user's program, as under `mpiexec`, or only this one does.
    """

    name = "engine"
    first = True
    together = False

    def __init__(self) -> None:
        self.closed = False
        self._busy = Lock()

    # ---- what each engine does its own way -------------------------------------------------------

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many workers there are now."""

    # A task is made by each engine, so that what is wrong with it on one rank reaches all ranks.
    @abstractmethod
    def _add(self, make: Callable[[], Task]) -> Sum: ...
    @abstractmethod
    def _results(self, make: Callable[[], Task]) -> list[Any]: ...
    @abstractmethod
    def _map(self, f: Callable[..., Any], items: Sequence[Any]) -> list[Any]: ...

    @abstractmethod
    def _close(self) -> None:
        """Give back what the engine holds."""

    def agreed(self, value: Any) -> Any:
        """What the first process says, on all of them."""
        return value

    # ---- the same for all ------------------------------------------------------------------------

    def add(self, make: Callable[[], Task]) -> Sum:
        """The results of all shards, added in the one order."""
        return self._alone(lambda: self._add(make))

    def results(self, make: Callable[[], Task]) -> list[Any]:
        """The results of all shards, in their order."""
        return self._alone(lambda: self._results(make))

    def map(self, f: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        """[f(item) for item in items], computed by the workers."""
        listed = list(items)
        return self._alone(lambda: self._map(f, listed))

    def train_step(
        self, loss: Callable[..., Any], optimiser: Any, compile: bool, keyed: bool
    ) -> Callable[..., tuple[Any, Any, Any]]:
        """The step of `learn.train`, on this engine."""
        return Step(self, loss, optimiser, compile, keyed)

    def close(self) -> None:
        """Give back processes and memory; a second time, nothing happens."""
        if not self.closed:
            self.closed = True
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return f"<{self.name}, closed>"
        return f"<{self.name}, {self.workers} worker{'s' * (self.workers != 1)}>"

    def _alone(self, run: Callable[[], Any]) -> Any:
        if self.closed:
            raise ArgumentError(f"this {self.name} engine is closed: make another")
        if not self._busy.acquire(blocking=False):
            raise ArgumentError(
                f"this {self.name} engine is in the middle of a pass: inside of a function that it "
                "computes, and in other threads, use scale.serial()"
            )
        try:
            return run()
        finally:
            self._busy.release()


class Serial(Engine):
    """All shards in this process, one after the other."""

    name = "serial"
    workers = 1

    def _add(self, make: Callable[[], Task]) -> Sum:
        began = perf_counter()
        task = make()
        count = task.source.count
        share = task.work.evaluator.share(task.args, task.source, 0, count, "this process")
        return joined([share], began)

    def _results(self, make: Callable[[], Task]) -> list[Any]:
        task = make()
        return task.work.evaluator.results(task.args, task.source, 0, task.source.count)

    def _map(self, f: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
        return [f(item) for item in items]

    def _close(self) -> None:
        pass


def joined(shares: Sequence[Share | Failure], began: float, sent: int = 0) -> Sum:
    """The sum of what the workers have made of all shards, checked."""
    agreed = check(shares)
    joining = perf_counter()
    parts = [part for share in agreed for part in share.parts]
    additions = Additions(sorted(parts, key=lambda part: part.low))
    vector = additions.total()
    rows = sum(share.rows for share in agreed)
    ended = perf_counter()
    wall = ended - began
    received = sum(part.vector.nbytes for part in parts) if sent else 0
    spent = Spent(wall, sent + received, workers_of(agreed, wall, ended - joining))
    layout = agreed[0].layout
    assert layout is not None
    return Sum(vector, rows, layout, spent)


def check(shares: Sequence[Share | Failure]) -> list[Share]:
    """The shares, if no worker failed and all agree; else a `ScaleError` says what is wrong."""
    sound = [share for share in shares if isinstance(share, Share)]
    failures = [share for share in shares if isinstance(share, Failure)]
    if failures:
        failure = min(failures, key=lambda each: each.shard)
        others = next((s.columns for s in sound if s.columns), failure.columns)
        if failure.columns is not None and failure.columns != others:
            raise ScaleError(f"{failure.where}: {unlike(failure.columns, others)}", failure)
        raise failure.error()
    head = sound[0]
    for share in sound[1:]:
        if share.columns != head.columns:
            shard = min(share.seconds)
            raise ScaleError(f"shard {shard}: {unlike(share.columns or (), head.columns or ())}")
        if share.layout != head.layout:
            raise ScaleError(
                f"the results of the shards from {min(share.seconds)} on differ in their shapes "
                "from those before: what a loss returns beside its value must be as large for any "
                "rows"
            )
    check_compiled(any(s.gave_up for s in sound), any(s.compiled for s in sound))
    return sound


def check_compiled(gave_up: bool, compiled: bool) -> None:
    """Raise where the bits of a shard would depend on which shards its worker had seen before."""
    if gave_up and compiled:
        raise ScaleError(
            "some shards are computed by machine code and some by plain Python, since the loss "
            "takes too many branches or cannot be compiled for all rows: which ones depends on the "
            "workers, and so would the last bits.  Pass compile=False, or mend what the warning "
            "names"
        )


def workers_of(shares: Sequence[Share], wall: float, joining: float) -> tuple[WorkerSpent, ...]:
    """What each worker has spent, of all its shares."""
    by_worker: dict[str, dict[int, float]] = {}
    for share in shares:
        by_worker.setdefault(share.worker, {}).update(share.seconds)
    return tuple(
        WorkerSpent(
            worker,
            len(seconds),
            computing=sum(seconds.values()),
            waiting=max(0.0, wall - joining - sum(seconds.values())),
            communicating=joining,
        )
        for worker, seconds in sorted(by_worker.items())
    )
