"""Where the rows come from: arrays cut into shards, files read where needed, or a loader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.learn.numeric import MASKED, numbers, refuse_kind

USUAL = 64  # shards, where nobody says how many: workers beyond that number would have no work
Arrays: TypeAlias = tuple[np.ndarray, ...]


class Source(Protocol):
    """Rows in `count` shards, each of which is read where it is computed."""

    @property
    def count(self) -> int: ...
    def load(self, shard: int) -> Arrays: ...
    def part(self, low: int, high: int) -> Source:
        """What a worker needs to load the shards from low to high."""
        ...

    def described(self, shard: int) -> str:
        """A shard as an error names it."""
        ...


@dataclass(frozen=True)
class Shards:
    """Rows that no machine holds: `load(i)` returns the arrays of shard i, for i below `count`.

    It is called where the shard is computed, once in each pass, and must give the same rows
    whenever and wherever it is called.

        scale.Shards(lambda i: np.load(f"rows-{i}.npy"), count=64)
    """

    load: Callable[[int], Any]
    count: int

    def __post_init__(self) -> None:
        if not callable(self.load):
            raise ArgumentError(
                f"Shards(load): a function of the shard's number, not {self.load!r}"
            )
        if type(self.count) is not int or self.count < 1:
            raise ArgumentError(f"Shards(count={self.count!r}): a whole number of at least 1")


@dataclass(frozen=True)
class Loaded:
    """The shards of a loader."""

    shards: Shards

    @property
    def count(self) -> int:
        return self.shards.count

    def load(self, shard: int) -> Arrays:
        found = self.shards.load(shard)
        found = found if isinstance(found, tuple | list) else (found,)
        return tuple(
            numbers(_computed(array), f"array {i} of load({shard})")
            for i, array in enumerate(found)
        )

    def part(self, low: int, high: int) -> Loaded:
        return self

    def described(self, shard: int) -> str:
        return f"shard {shard} of {self.count}"


@dataclass(frozen=True)
class OnFile:
    """An array in a file, of which rows are read; never more of them than a shard has."""

    path: str
    offset: int  # bytes
    dtype: np.dtype
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, low: int, high: int) -> np.ndarray:
        # Not through a memory map, whose pages count as memory of this process once they are read.
        width = int(np.prod(self.shape[1:]))
        start = self.offset + low * width * self.dtype.itemsize
        flat = np.fromfile(self.path, self.dtype, (high - low) * width, offset=start)
        if flat.size < (high - low) * width:
            raise ArgumentError(f"{self.path} ends before row {high}: it is shorter than it was")
        return flat.reshape(high - low, *self.shape[1:])

    def part(self, low: int, high: int) -> OnFile:
        return self


@dataclass(frozen=True)
class InMemory:
    """Rows from `first` on of an array of `length` rows."""

    array: np.ndarray = field(repr=False)
    length: int
    first: int = 0

    def __len__(self) -> int:
        return self.length

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.length, *self.array.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def rows(self, low: int, high: int) -> np.ndarray:
        return self.array[low - self.first : high - self.first]

    def part(self, low: int, high: int) -> InMemory:
        rows = np.ascontiguousarray(self.rows(low, high))
        return InMemory(rows, self.length, low)


@dataclass(frozen=True)
class InBlocks:
    """A dask array, of which the blocks are computed where their rows are needed."""

    array: Any = field(repr=False)
    first: int = 0
    length: int = 0

    def __len__(self) -> int:
        return self.length

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.length, *self.array.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def rows(self, low: int, high: int) -> np.ndarray:
        rows = self.array[low - self.first : high - self.first]
        return numbers(_computed(rows), "a block of a dask array")

    def part(self, low: int, high: int) -> InBlocks:
        """These rows and what leads to them: the blocks of others are left out of the graph."""
        from dask.base import optimize

        (rows,) = optimize(self.array[low - self.first : high - self.first])
        return InBlocks(rows, low, self.length)


@dataclass(frozen=True)
class Coming:
    """Rows from `first` on that come to the worker beside the message: see `Cut.filled`."""

    length: int
    first: int

    def __len__(self) -> int:
        return self.length

    def rows(self, low: int, high: int) -> np.ndarray:
        raise NotImplementedError("rows are asked for before they have come")

    def part(self, low: int, high: int) -> Coming:
        return self


Column: TypeAlias = OnFile | InMemory | InBlocks | Coming


@dataclass(frozen=True)
class Cut:
    """Arrays of equally many rows, cut into shards whose sizes differ by one row at most."""

    columns: tuple[Column, ...]
    count: int

    def bounds(self, shard: int) -> tuple[int, int]:
        rows = len(self.columns[0])
        return shard * rows // self.count, (shard + 1) * rows // self.count

    def load(self, shard: int) -> Arrays:
        bounds = self.bounds(shard)
        # In one order and aligned, as what came in a message need not be: NumPy and BLAS add up
        # other arrays in another order, and that shows in the last bits.
        return tuple(np.require(c.rows(*bounds), requirements=("C", "A")) for c in self.columns)

    def part(self, low: int, high: int) -> Cut:
        first, last = self.bounds(low)[0], self.bounds(high - 1)[1]
        return replace(self, columns=tuple(c.part(first, last) for c in self.columns))

    def filled(self, arrays: Sequence[np.ndarray]) -> Cut:
        """With these rows in the place of those that were to come."""
        coming = iter(arrays)
        columns = tuple(
            InMemory(numbers(next(coming), f"array {i}"), c.length, c.first)
            if isinstance(c, Coming)
            else c
            for i, c in enumerate(self.columns)
        )
        return replace(self, columns=columns)

    def described(self, shard: int) -> str:
        low, high = self.bounds(shard)
        return f"shard {shard} of {self.count}, rows {low} to {high - 1}"


def source_of(rows: Sequence[Any], shards: int | None) -> Source:
    """What the rows of a call are: a loader, or arrays that are cut into so many shards."""
    if len(rows) == 1 and isinstance(rows[0], Shards):
        if shards not in (None, rows[0].count):
            raise ArgumentError(
                f"shards={shards}, but these Shards are {rows[0].count}: leave out shards="
            )
        return Loaded(rows[0])
    if not rows:
        raise ArgumentError("there are no rows: pass arrays, or scale.Shards(load, count)")
    columns = tuple(_column(array, i) for i, array in enumerate(rows))
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        listed = ", ".join(map(str, lengths))
        raise ShapeError(f"the arrays must have equally many rows, got {listed}")
    if shards is None:
        shards = max(1, min(USUAL, lengths[0]))
    if lengths[0] < shards:
        raise ArgumentError(
            f"{lengths[0]} rows are too few for {shards} shards: pass shards={max(1, lengths[0])} "
            "or fewer, or more rows"
        )
    return Cut(columns, shards)


def _is_lazy(array: Any) -> bool:
    return type(array).__module__.split(".")[0] == "dask"


def _computed(array: Any) -> Any:
    """What a dask array is made of, with a mask that np.asarray would leave out."""
    return array.compute(scheduler="synchronous") if _is_lazy(array) else array


def _column(array: Any, position: int) -> Column:
    if isinstance(array, Shards):
        raise ArgumentError("Shards stand for all arrays: let load(i) return a tuple of them")
    if _is_lazy(array):
        return _blocks(array, position)
    array = numbers(array, f"array {position}")
    if array.ndim == 0:
        raise ShapeError(
            f"array {position} is a single number and has no rows: put it into the parameters, or "
            "bind it by functools.partial"
        )
    return _on_file(array) or InMemory(array, len(array))


def _blocks(array: Any, position: int) -> InBlocks:
    if not hasattr(array, "chunks"):
        raise DTypeError(
            f"array {position} is a {type(array).__name__} of dask: pass "
            "x.to_dask_array(lengths=True)"
        )
    refuse_kind(array.dtype, f"array {position}")
    if isinstance(array._meta, np.ma.MaskedArray):
        raise DTypeError(
            f"array {position} {MASKED}; of a dask array these are da.ma.filled(x, value), "
            "da.ma.getdata(x) and da.ma.getmaskarray(x)"
        )
    if np.isnan(array.shape).any():
        raise ShapeError(
            f"dask array {position} does not know how many rows it has: call "
            "x.compute_chunk_sizes() first"
        )
    return InBlocks(array, 0, array.shape[0])


def _on_file(array: np.ndarray) -> OnFile | None:
    """The file that an array maps, where its rows lie there one after the other."""
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    # In mode "c" what was written is not in the file.
    if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c":
        return None
    if not array.flags.c_contiguous or not array.size:
        return None
    if root.mode != "r":
        root.flush()
    begins = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return OnFile(str(root.filename), root.offset + begins, array.dtype, array.shape)
