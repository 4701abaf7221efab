"""What a pass over shards costs on many ranks: a model with six numbers, and what it predicts.

    seconds = slowest rank's shards + meeting + adding

- shards: rows/ranks · seconds per row, and as much longer as the slowest of so many ranks is
  expected to be: 1 + cv·√(2 ln ranks)/√(shards per rank), for shards whose times vary by cv;
- meeting: one message of all to all of 56 bytes, latency · ⌈log₂ ranks⌉;
- adding: results of up to 64 kB go to all ranks, which add all of them; of larger ones each rank
  adds a piece, and each number travels twice.

Not in it: reading the rows, ranks that share a link or the memory of a machine, and messages that
are sent while others compute.
"""

from dataclasses import dataclass
from math import ceil, log, log2, sqrt

SMALL = 2**16  # bytes, as `chainrule.scale.on_mpi` has it
RANKS = (1, 4, 16, 64, 256, 1024, 4096)


@dataclass(frozen=True)
class Machine:
    """How fast messages are: seconds for the smallest, bytes a second, bytes added a second."""

    name: str
    latency: float
    bandwidth: float
    adding: float


@dataclass(frozen=True)
class Load:
    """What a pass computes: rows, seconds for one of them, numbers of the result, shards."""

    name: str
    rows: int
    per_row: float
    numbers: int
    shards: int
    cv: float  # standard deviation of a shard's seconds, by their mean


def seconds(load: Load, machine: Machine, ranks: int) -> float:
    """Of one pass."""
    return computing(load, ranks) + (communicating(load, machine, ranks) if ranks > 1 else 0.0)


def computing(load: Load, ranks: int) -> float:
    """Until the slowest rank is ready."""
    each = ceil(load.shards / ranks)
    late = load.cv * sqrt(2 * log(ranks)) / sqrt(each) if ranks > 1 else 0.0
    return load.rows * load.per_row * each / load.shards * (1 + late)


def communicating(load: Load, machine: Machine, ranks: int) -> float:
    """Meeting and adding."""
    steps = ceil(log2(ranks))
    size = 8 * (load.numbers + 1)
    parts = _parts(load.shards, ranks)
    if size <= SMALL:
        moved = ranks * parts * size
        return 2 * steps * machine.latency + moved * (1 / machine.bandwidth + 1 / machine.adding)
    moved = (parts + 1) * size * (ranks - 1) / ranks
    return 3 * steps * machine.latency + moved / machine.bandwidth + parts * size / machine.adding


def strong(load: Load, machine: Machine, ranks: int) -> float:
    """The share of perfect speed-up that is left where the rows stay as many."""
    return seconds(load, machine, 1) / ranks / seconds(load, machine, ranks)


def weak(load: Load, machine: Machine, ranks: int) -> float:
    """The same where each rank has as many rows and shards as one had."""
    grown = Load(
        load.name, load.rows * ranks, load.per_row, load.numbers, load.shards * ranks, load.cv
    )
    return seconds(load, machine, 1) / seconds(grown, machine, ranks)


def _parts(shards: int, ranks: int) -> int:
    """How many parts a rank sends: one where the shards are ranks times a power of two."""
    each = shards / ranks
    if each >= 1 and each == int(each) and not int(each) & (int(each) - 1):
        return 1
    return max(1, 2 * ceil(log2(max(2.0, each))) - 1)
