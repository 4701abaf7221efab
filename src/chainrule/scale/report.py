"""What passes have cost: seconds computing, waiting and communicating, bytes, and who was late."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median

MIN_STRAGGLER = 1.5  # times the median of the workers' seconds per shard: a straggler


@dataclass(frozen=True)
class WorkerSpent:
    """The seconds of one worker; `waiting` is what neither its shards nor messages took."""

    worker: str
    shards: int
    computing: float
    waiting: float
    communicating: float

    @property
    def per_shard(self) -> float:
        return self.computing / max(1, self.shards)


@dataclass(frozen=True)
class Spent:
    """What one pass has cost: seconds from call to result, and bytes sent and received."""

    seconds: float
    bytes: int
    workers: tuple[WorkerSpent, ...]


@dataclass(frozen=True)
class Report:
    """What the passes of one function have cost; it prints as a table."""

    engine: str
    passes: int = 0
    seconds: float = 0.0
    bytes: int = 0
    workers: tuple[WorkerSpent, ...] = ()

    def plus(self, spent: Spent) -> Report:
        """With one more pass."""
        by_name = {each.worker: each for each in self.workers}
        for each in spent.workers:
            by_name[each.worker] = _added(by_name.get(each.worker), each)
        return replace(
            self,
            passes=self.passes + 1,
            seconds=self.seconds + spent.seconds,
            bytes=self.bytes + spent.bytes,
            workers=tuple(by_name[name] for name in sorted(by_name)),
        )

    @property
    def balance(self) -> float:
        """Mean over maximum of the seconds that workers computed: 1 where all had equally much."""
        seconds = [each.computing for each in self.workers]
        longest = max(seconds, default=0.0)
        return sum(seconds) / len(seconds) / longest if longest else 1.0

    @property
    def stragglers(self) -> tuple[str, ...]:
        """The workers that took much longer for a shard than most did."""
        busy = [each for each in self.workers if each.shards]
        usual = median(each.per_shard for each in busy) if busy else 0.0
        return tuple(each.worker for each in busy if each.per_shard > MIN_STRAGGLER * usual)

    def __str__(self) -> str:
        s = "" if self.passes == 1 else "es"
        lines = [
            f"{self.engine}: {self.passes} pass{s} in {self.seconds:.3g} s, "
            f"{_size(self.bytes)} moved, balance {self.balance:.2f}",
            "",
        ]
        width = max([6, *(len(each.worker) for each in self.workers)])
        lines.append(f"{'worker':<{width}}  shards  computing  waiting  communicating")
        for each in self.workers:
            lines.append(
                f"{each.worker:<{width}}  {each.shards:>6}  {each.computing:>7.3f} s  "
                f"{each.waiting:>5.3f} s  {each.communicating:>11.3f} s"
            )
        if self.stragglers:
            late = ", ".join(self.stragglers)
            lines += ["", f"stragglers, over {MIN_STRAGGLER} times the median for a shard: {late}"]
        return "\n".join(lines)


def _added(before: WorkerSpent | None, now: WorkerSpent) -> WorkerSpent:
    if before is None:
        return now
    return WorkerSpent(
        now.worker,
        before.shards + now.shards,
        before.computing + now.computing,
        before.waiting + now.waiting,
        before.communicating + now.communicating,
    )


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"
