"""The ranks of an MPI job, by mpi4py: all run the same program and meet in each pass.

A pass is one small message of all to all, which says whether each rank is fine and has the same
parameters, and two that add: each rank gets the pieces of all parts that it is to add, adds them in
the one order, and gives the sum to all.  So each number travels twice, as in the best all-reduce,
and the order of additions does not depend on the number of ranks.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from traceback import FrameSummary
from typing import Any
from zlib import crc32

import numpy as np

import chainrule as cr
from chainrule import tree
from chainrule.errors import ArgumentError, ScaleError
from chainrule.scale.additions import Additions, Part, nodes_of, span_of
from chainrule.scale.engine import Engine, check, check_compiled
from chainrule.scale.failing import Failure, failure_of, line_here, told
from chainrule.scale.leaving import Goodbye, departure
from chainrule.scale.report import Spent, WorkerSpent
from chainrule.scale.shards import Cut, InBlocks, Source
from chainrule.scale.task import Sum, Task
from chainrule.scale.work import Layout, Share

MAX_GATHERED_BYTES = 2**16  # of a part, up to which all ranks get all parts and add them
NOTICE = 60.0  # seconds of waiting for others, after which a rank says so
NOTHING = (0, 0, 0)  # digests of a rank that has failed
AGREED = (crc32(b"agreed"), 0, 0)  # digests of a question that the first rank answers
FINE, FAILED, LEFT = 0, 1, 2  # what a rank says of itself where all meet
OUT_OF_STEP = (
    "an error came in the middle of the messages of a pass, and the ranks are out of step: end the "
    "job, and start it again"
)


class Ranks(Engine):
    """All ranks of a communicator, which is duplicated: messages of others stay apart."""

    name = "mpi"

    def __init__(self, communicator: Any = None):
        super().__init__()
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise ScaleError(
                "scale.mpi needs mpi4py and an MPI: pip install 'chainrule[mpi]' brings both"
            ) from error
        self.MPI = MPI
        if communicator is not None and not isinstance(communicator, MPI.Intracomm):
            raise ArgumentError(f"mpi({communicator!r}): pass a communicator of mpi4py, or nothing")
        departure.settle()
        whole = MPI.COMM_WORLD if communicator is None else communicator
        self.comm, request = whole.Idup()
        if not departure.wait(request, NOTICE):
            sys.stderr.write(
                f"rank {whole.Get_rank()} waits for ranks that have made no engine yet\n"
            )
            departure.wait(request)
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        self._nodes: dict[int, list[list[tuple[int, int]]]] = {}  # of all ranks, by shards
        self._memory: dict[str, np.ndarray] = {}
        self.where = f"rank {self.rank} of {self.size}"
        self.first = self.rank == 0
        self.together = self.size > 1
        self._handled = sys.exc_info()[1]  # an error that was there before this engine
        self._last: FrameSummary | None = None  # the user's line that used it last
        self._in_step = True  # false in the middle of messages of all to all
        self._goodbye: tuple[Any, np.ndarray, str] | None = None  # that is on its way
        self._gone = ""  # what ranks have said that have left
        if self.together:
            _share_cores(self.comm, MPI)
            departure.watch(self)

    @property
    def workers(self) -> int:
        return self.size

    def agreed(self, value: Any) -> Any:
        self._meet(None, AGREED)
        with self._messages():
            return self.comm.bcast(value, root=0)

    def end_job(self, status: int = 1, why: str = "") -> None:
        """End the whole job, where this rank cannot go on: the others would wait for ever."""
        if why:
            sys.stderr.write(f"{self.where} {why}, which ends the job\n")
            sys.stderr.flush()
        (self.comm if self.comm != self.MPI.COMM_NULL else self.MPI.COMM_WORLD).Abort(status)

    # ---- the end ---------------------------------------------------------------------------------

    def _close(self) -> None:
        self._memory.clear()
        error = sys.exc_info()[1]
        if not self.together:
            self.comm.Free()
        elif error is None or error is self._handled:
            departure.leave(self, f"closed its engine at {told(line_here())}")
        else:
            departure.postpone(self, error)

    def say_goodbye(self, why: str) -> None:
        """Meet the others for the last time, without waiting for them."""
        if self.MPI.Is_finalized() or self._gone:
            return
        if not self._in_step:
            self.end_job(1, why)
        others = np.empty((self.size, len(_said(LEFT))), np.int64)
        self._goodbye = self.comm.Iallgather(_said(LEFT), others), others, why

    def is_heard(self) -> bool:
        """Whether the goodbye, if there was one to say, has reached all others."""
        if self._goodbye is None:
            return True
        request, others, why = self._goodbye
        if not request.Test():
            return False
        self._goodbye = None
        if (others[:, 0] == LEFT).all():
            self.comm.Free()
        else:
            self.comm.allgather(Goodbye(self.where, why, told(self._last)))
        return True

    @contextmanager
    def _messages(self) -> Iterator[None]:
        """Where an error comes between, the others wait for messages that this rank never sends."""
        self._in_step = not self.together
        yield
        self._in_step = True

    # ---- a pass ----------------------------------------------------------------------------------

    def _add(self, make: Callable[[], Task]) -> Sum:
        began = perf_counter()

        def run() -> tuple[Share | Failure, Task, tuple[int, ...]]:
            task = make()
            span = span_of(self.rank, self.size, task.source.count)
            share = task.work.evaluator.share(task.args, task.source, *span, self.where)
            return share, task, digests(task)

        found = self._tried(run, "the pass")
        share, task, mine = (found, None, NOTHING) if isinstance(found, Failure) else found
        computed = perf_counter()
        self._meet(share, mine)
        met = perf_counter()
        assert isinstance(share, Share)
        assert task is not None
        count = task.source.count
        with self._messages():
            layout = self._layout(share, count)
            size = layout_size(layout)
            vector, moved = self.all_reduce(share.parts, size, count, task.work.dtype)
            ended = perf_counter()
            seconds = computed - began, met - computed, ended - met
            table, rows = self._told(seconds, share)
        return Sum(vector, rows, layout, Spent(ended - began, moved, table))

    def _tried(self, run: Callable[[], Any], what: str) -> Any:
        """What it gives, or a failure: the other ranks wait for us."""
        try:
            return run()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - raised on all ranks
            return failure_of(error, self.rank, what, self.where)

    def _meet(self, share: Any, digests: tuple[int, ...]) -> None:
        """Go on where all ranks are fine and agree; else raise the same error on all of them."""
        departure.goes_on()
        self._last = line_here()
        if self._gone or not self._in_step:
            raise ScaleError(self._gone or OUT_OF_STEP)
        compiled = getattr(share, "compiled", False), getattr(share, "gave_up", False)
        said = FAILED if isinstance(share, Failure) else FINE
        mine = _said(said, *compiled, *digests, _digest_of_columns(share))
        others = np.empty((self.size, mine.size), np.int64)
        with self._messages():
            departure.wait(self.comm.Iallgather(mine, others))  # which a goodbye can answer
        columns = others[others[:, -1] != 0, -1]
        if others[:, 0].any():
            self._raise_together(share)
        for i, what in enumerate(WHAT, start=3):
            if (others[:, i] != others[0, i]).any():
                self._raise_different(others[:, i], what)
        if (columns != columns[:1]).any():
            self._raise_together(share)
        check_compiled(bool(others[:, 2].any()), bool(others[:, 1].any()))

    def _raise_together(self, share: Any) -> None:
        """Tell all ranks what has failed on any, and raise it on all."""
        with self._messages():
            every = self.comm.allgather(_without_parts(share))
        self._gone = "\n".join(str(each) for each in every if isinstance(each, Goodbye))
        if self._gone:
            raise ScaleError(self._gone)
        shares = [s for s in every if isinstance(s, Failure) or getattr(s, "seconds", None)]
        if any(s.kind == "KeyboardInterrupt" for s in shares if isinstance(s, Failure)):
            raise KeyboardInterrupt("on one rank, and told to all")
        check(shares)

    def _raise_different(self, digests: np.ndarray, what: str) -> None:
        values, counts = np.unique(digests, return_counts=True)
        usual = values[np.argmax(counts)]
        odd = ", ".join(str(rank) for rank in np.flatnonzero(digests != usual))
        raise ScaleError(
            f"the ranks were given different {what}: rank {odd} others than the rest.  Pass the "
            "same on every rank: draw random numbers from the same seed, and read checkpoints from "
            "a folder that all ranks see; for rows that only some ranks hold, use scale.Shards"
        )

    def _layout(self, share: Share, count: int) -> Layout:
        """How the vector becomes the result; ranks without shards are told."""
        layout = share.layout
        if self.size > count:
            layout = self.comm.bcast(layout, root=_first_with_shards(self.size, count))
        assert layout is not None
        return layout

    def _told(
        self, seconds: tuple[float, ...], share: Share
    ) -> tuple[tuple[WorkerSpent, ...], int]:
        """What all ranks have spent, and the rows of all."""
        mine = np.array([*seconds, len(share.seconds), share.rows])
        every = np.empty((self.size, mine.size))
        self.comm.Allgather(mine, every)
        table = tuple(
            WorkerSpent(f"rank {rank}", int(row[3]), float(row[0]), float(row[1]), float(row[2]))
            for rank, row in enumerate(every)
        )
        return table, int(every[:, 4].sum())

    # ---- adding ----------------------------------------------------------------------------------

    def all_reduce(
        self, parts: Sequence[Part], size: int, count: int, dtype: str
    ) -> tuple[np.ndarray, int]:
        """The sum of the parts of all ranks in the one order, and the bytes this rank has moved.

        The sum may lie in memory that the next call writes into.
        """
        if self.size == 1:
            return Additions(parts).total(), 0
        if count not in self._nodes:
            spans = (span_of(rank, self.size, count) for rank in range(self.size))
            self._nodes[count] = [nodes_of(*span) for span in spans]
        nodes = self._nodes[count]
        mine = [np.ascontiguousarray(part.vector, dtype) for part in parts]
        if [len(each) for each in nodes] == [1, 1]:  # two numbers have one sum in any order
            total = self._scratch("total", size, dtype)
            self.comm.Allreduce(mine[0], total)
            return total, 2 * total.nbytes
        if size * np.dtype(dtype).itemsize <= MAX_GATHERED_BYTES:
            return self._all_to_all(mine, nodes, size, dtype)
        return self._by_pieces(mine, nodes, size, dtype)

    def _all_to_all(
        self, mine: list[np.ndarray], nodes: list[Any], size: int, dtype: str
    ) -> tuple[np.ndarray, int]:
        """Every rank gets all parts: one message, the fastest where they are small."""
        counts = [len(each) * size for each in nodes]
        sent = np.concatenate(mine) if mine else np.empty(0, dtype)
        received = self._scratch("received", sum(counts), dtype)
        self.comm.Allgatherv(sent, [received, counts])
        rows = received.reshape(-1, size)
        return _added(rows, nodes), sent.nbytes + received.nbytes

    def _by_pieces(
        self, mine: list[np.ndarray], nodes: list[Any], size: int, dtype: str
    ) -> tuple[np.ndarray, int]:
        """Every rank adds a piece of all parts: each number travels twice, however many ranks."""
        width = -(-size // self.size)
        bounds = [(min(r * width, size), min((r + 1) * width, size)) for r in range(self.size)]
        low, high = bounds[self.rank]
        if len(mine) == 1:
            sent = mine[0]
        else:  # by who gets them
            pieces = [part[a:b] for a, b in bounds for part in mine]
            sent = np.concatenate(pieces) if pieces else np.empty(0, dtype)
        counts = [len(each) * (high - low) for each in nodes]
        received = self._scratch("received", sum(counts), dtype)
        widths = [len(mine) * (b - a) for a, b in bounds]
        self.comm.Alltoallv([sent, widths], [received, counts])
        piece = self._scratch("piece", width, dtype)
        if high > low:
            piece[: high - low] = _added(received.reshape(-1, high - low), nodes)
        # Pieces of one width: with several, MPICH took fifty times as long.
        total = self._scratch("total", width * self.size, dtype)
        self.comm.Allgather(piece, total)
        return total[:size], sent.nbytes + received.nbytes + piece.nbytes + total.nbytes

    def _scratch(self, name: str, size: int, dtype: str) -> np.ndarray:
        """Memory that stays: first touching as much takes longer than a message of it."""
        found = self._memory.get(name)
        if found is None or found.size != size or found.dtype != dtype:
            found = self._memory[name] = np.empty(size, dtype)
        return found

    # ---- without adding --------------------------------------------------------------------------

    def _results(self, make: Callable[[], Task]) -> list[Any]:
        def run() -> tuple[list[Any], tuple[int, ...]]:
            task = make()
            low, high = span_of(self.rank, self.size, task.source.count)
            found = task.work.evaluator.results(task.args, task.source, low, high)
            return found, digests(task)

        return self._gathered(run, "the pass")

    def _map(self, f: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
        low, high = span_of(self.rank, self.size, len(items))
        said = f"map {getattr(f, '__qualname__', '')} {len(items)}"

        def run() -> tuple[list[Any], tuple[int, ...]]:
            return [f(item) for item in items[low:high]], (crc32(said.encode()), 0, 0)

        return self._gathered(run, f"items {low} to {high - 1}")

    def _gathered(self, run: Callable[[], Any], what: str) -> list[Any]:
        found = self._tried(run, what)
        failed = isinstance(found, Failure)
        self._meet(found if failed else None, NOTHING if failed else found[1])
        with self._messages():
            return [result for each in self.comm.allgather(found[0]) for result in each]


def layout_size(layout: Layout) -> int:
    """How many numbers a result has."""
    widths = [2 if np.dtype(d).kind == "c" else 1 for d in layout.dtypes]
    return sum(int(np.prod(s)) * w for s, w in zip(layout.shapes, widths, strict=True))


def _added(rows: np.ndarray, nodes: list[list[tuple[int, int]]]) -> np.ndarray:
    """Parts of all ranks, in the order of their shards, added."""
    flat = [node for each in nodes for node in each]
    parts = (Part(*node, row) for node, row in zip(flat, rows, strict=True))
    return Additions(parts).total()


def _first_with_shards(size: int, count: int) -> int:
    spans = (span_of(rank, size, count) for rank in range(size))
    return next(rank for rank, (low, high) in enumerate(spans) if high > low)


def _said(*numbers: int) -> np.ndarray:
    """What a rank tells all others where they meet: how it is, and what must be alike."""
    said = np.zeros(7, np.int64)
    said[: len(numbers)] = numbers
    return said


def _without_parts(share: Any) -> Any:
    if isinstance(share, Share):
        share.parts = []
    return share


# ---- whether all ranks were given the same -------------------------------------------------------

WHAT = ("functions or shards", "parameters", "rows")
ROWS, NUMBERS = 16, 256  # of an array that are compared


def digests(task: Task) -> tuple[int, int, int]:
    """Numbers that differ where the work, the arguments or the rows do."""
    work, source = task.work, task.source
    said = [work.kind, work.mean, work.has_aux, work.keyed, work.compile, work.dtype]
    said += [type(source).__name__, source.count, getattr(work.f, "__qualname__", "")]
    leaves, structure = tree.flatten(task.args)
    found = crc32(repr((structure, [(a.shape, a.dtype.str) for a in leaves])).encode())
    for leaf in leaves:
        found = _digest(leaf, found)
    return crc32(json.dumps(said).encode()), found, _digest_of_rows(source)


def _digest(array: np.ndarray, before: int) -> int:
    """Of all bits: sums of words along lines and across them, which takes as long as reading."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = data.size // 8 * 8
    words, width = data[:whole].view(np.uint64), 1024
    before = crc32(data[whole:].tobytes(), before)
    square = words[: words.size // width * width].reshape(-1, width)
    for each in (words[square.size :], square.sum(axis=0), square.sum(axis=1)):
        before = crc32(each.tobytes(), before)
    return before


def _digest_of_rows(source: Source) -> int:
    """Of the shapes of arrays and of a few rows; what a loader gives nobody can tell."""
    if not isinstance(source, Cut):
        return 0
    found = 0
    for column in source.columns:
        found = crc32(repr(column).encode(), found)
        if isinstance(column, InBlocks):  # whose rows are not here
            continue
        for row in np.linspace(0, len(column) - 1, ROWS).astype(int):
            numbers = column.rows(int(row), int(row) + 1).reshape(-1)[:NUMBERS]
            found = crc32(numbers.tobytes(), found)
    return found


def _digest_of_columns(share: Any) -> int:
    """0 where there are none."""
    columns = getattr(share, "columns", None)
    return 1 + crc32(repr((columns, getattr(share, "layout", None))).encode()) if columns else 0


# ---- cores --------------------------------------------------------------------------------------


def _share_cores(comm: Any, MPI: Any) -> None:
    """The ranks of a machine share its cores, unless the environment says how many threads."""
    if {"CHAINRULE_THREADS", "OMP_NUM_THREADS"} & os.environ.keys():
        return
    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cr.set_threads(max(1, (cores or 1) // here.Get_size()))
    here.Free()
