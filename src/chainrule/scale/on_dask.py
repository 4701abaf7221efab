"""The workers of a Dask cluster: a pass is one graph of tasks, which Dask keeps alive.

Everything that a task needs is in the graph, which the scheduler holds: where a worker dies, its
tasks are computed again by others, from the same operands in the same order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from time import perf_counter
from typing import Any, NamedTuple

from chainrule.errors import ArgumentError, ScaleError
from chainrule.scale import remote
from chainrule.scale.additions import Additions, groups_of, span_of
from chainrule.scale.carry import packed
from chainrule.scale.engine import Engine, joined
from chainrule.scale.failing import Failure
from chainrule.scale.shards import Coming, Cut, InBlocks, Source
from chainrule.scale.task import Sum, Task
from chainrule.scale.work import Share

GROUPS_PER_WORKER = 4  # of shards: what is lost with a worker, and what a late one delays


KEPT_BYTES = 2**30  # of rows that were sent from here, which the cluster holds for the next pass


class Submitted(NamedTuple):
    """Tasks that the cluster is computing, and the bytes that were sent for them."""

    futures: list[Any]
    sent: int


class Cluster(Engine):
    """A cluster by a client of it; one that was made here from an address is closed with it."""

    name = "dask"

    def __init__(self, client: Any):
        super().__init__()
        try:
            from distributed import Client
        except ImportError as error:
            raise ScaleError(
                "scale.dask needs Dask's cluster: pip install 'chainrule[dask]'"
            ) from error
        self._rows: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
        self._ours = isinstance(client, str)
        self.client = Client(client) if isinstance(client, str) else client
        if not isinstance(self.client, Client) or self.client.asynchronous:
            raise ArgumentError(
                f"dask({client!r}): pass a distributed.Client, or the address of a scheduler, as "
                "tcp://10.0.0.1:8786"
            )

    @property
    def workers(self) -> int:
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def _add(self, make: Callable[[], Task]) -> Sum:
        began = perf_counter()
        shares = self._shares(remote.share, make())
        return joined(self._result(self._added(shares.futures)), began, shares.sent)

    def _results(self, make: Callable[[], Task]) -> list[Any]:
        return remote.flattened(self._result(self._shares(remote.results, make()).futures))

    def _shares(self, f: Callable[..., Any], task: Task) -> Submitted:
        """f of each group of shards, as tasks."""
        messages, source = remote.packed_task(task), task.source
        shared = [self._held(message) for message in messages]
        sent = sum(map(len, messages)) * max(1, self.workers)
        futures = []
        for low, high in groups_of(source.count, GROUPS_PER_WORKER * self.workers):
            part, blocks = self._part(source, low, high)
            data = packed(part, "the rows")
            sent += len(data)
            futures.append(self._submit(f, *shared, self._kept(data), low, high, *blocks))
        return Submitted(futures, sent)

    def _part(self, source: Source, low: int, high: int) -> tuple[Source, list[Any]]:
        """What loads these shards, and rows of dask arrays that the cluster is to compute."""
        if not isinstance(source, Cut):
            return source.part(low, high), []
        first, last = source.bounds(low)[0], source.bounds(high - 1)[1]
        blocks = [
            self.client.compute(column.array[first:last])
            for column in source.columns
            if isinstance(column, InBlocks)
        ]
        columns = tuple(
            Coming(len(column), first) if isinstance(column, InBlocks) else column.part(first, last)
            for column in source.columns
        )
        return replace(source, columns=columns), blocks

    def _added(self, futures: list[Any]) -> Any:
        """One task that has all shares, joined two at a time: parts are added on the way."""
        futures = [self._submit(_listed, future) for future in futures]
        while len(futures) > 1:
            pairs = zip(futures[::2], [*futures[1::2], None], strict=False)
            futures = [a if b is None else self._submit(_joined, a, b) for a, b in pairs]
        return futures[0]

    def _map(self, f: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
        function = self._held(packed(f, "the function"))
        count = min(len(items), GROUPS_PER_WORKER * max(1, self.workers))
        spans = [span_of(i, count, len(items)) for i in range(count)]
        futures = [
            self._submit(remote.mapped, function, packed(items[low:high], "the items"), low)
            for low, high in spans
        ]
        return remote.flattened(self._result(futures))

    def _held(self, data: bytes) -> Any:
        """Data as a task of its own: workers take it from each other, and it can be made again."""
        return self._submit(_itself, data)

    def _kept(self, data: bytes) -> Any:
        """The same for rows, which the next pass is likely to need again."""
        token = blake2b(data, digest_size=16).digest()
        future = self._rows.pop(token, None) or (self._held(data), len(data))
        self._rows[token] = future
        while sum(size for _, size in self._rows.values()) > KEPT_BYTES and len(self._rows) > 1:
            self._rows.popitem(last=False)
        return future[0]

    def _submit(self, f: Callable[..., Any], *args: Any) -> Any:
        return self.client.submit(f, *args, pure=False)

    def _result(self, futures: Any) -> Any:
        from distributed import KilledWorker

        try:
            return self.client.gather(futures)
        except KilledWorker as error:
            raise ScaleError(
                f"several workers have died in the same task: {error}.  It needs more memory than "
                "they have: make more shards, or give the workers more"
            ) from error

    def _close(self) -> None:
        self._rows.clear()
        if self._ours:
            self.client.close()


# ---- in a worker ---------------------------------------------------------------------------------


def _itself(data: bytes) -> bytes:
    return data


def _listed(share: Any) -> list[Any]:
    return [share]


def _joined(left: list[Any], right: list[Any]) -> list[Any]:
    """The shares of both, with the parts that make nodes added; a failure is kept as it is."""
    shares = [*left, *right]
    if any(isinstance(share, Failure) for share in shares):
        return shares
    parts = [part._replace(vector=part.vector.copy()) for s in shares for part in s.parts]
    first, *others = (_with_parts(share, []) for share in shares)
    first.parts = Additions(parts).parts
    return [first, *others]


def _with_parts(share: Share, parts: list[Any]) -> Share:
    return replace(share, parts=parts)
