"""Mini-batches: from arrays in an order that (seed, epoch) alone decides, or from any iterable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np

from chainrule.errors import ArgumentError, ShapeError
from chainrule.learn.identity import told_array
from chainrule.learn.numeric import numbers

Batch: TypeAlias = tuple[Any, ...]


class Batches:
    """Rows of the arrays in groups of `size`, in a new order each epoch.

    The order is a permutation drawn from (seed, epoch), so that any epoch can be begun at any
    batch.  Only the rows of a batch are read, also of `np.load(path, mmap_mode="r")`.
    """

    def __init__(
        self,
        *arrays: Any,
        size: int,
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
    ):
        self.arrays = tuple(_as_rows(array, i) for i, array in enumerate(arrays))
        self.size = _natural("size", size, least=1)
        self.seed = _natural("seed", seed, least=0)
        self.shuffle, self.drop_last = shuffle, drop_last
        lengths = [len(array) for array in self.arrays]
        if not lengths or not lengths[0]:
            raise ArgumentError("there is nothing to make batches of: pass arrays with rows")
        if len(set(lengths)) > 1:
            raise ShapeError(f"the arrays must have equally many rows, got {_listed(lengths)}")
        self.examples = lengths[0]
        if not len(self):
            raise ArgumentError(
                f"drop_last leaves no batch: there are {self.examples} rows and size is {size}"
            )
        self._order = lru_cache(maxsize=1)(self._permutation)

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        return self.examples // self.size if self.drop_last else -(-self.examples // self.size)

    def __iter__(self) -> Iterator[Batch]:
        """The batches of epoch 0."""
        return self.epoch(0)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from batch `start` on."""
        for position in range(start, len(self)):
            rows = self.rows(number, position)
            # Rows of a memory-mapped array are in memory once taken; without shuffling the
            # slice is a view, and reading it is left to who computes with it.
            yield tuple(np.asarray(array[rows]) for array in self.arrays)

    def rows(self, epoch: int, position: int) -> Any:
        """Which rows of the arrays batch `position` of an epoch is made of: indices, or a slice."""
        taken = slice(position * self.size, min((position + 1) * self.size, self.examples))
        return self._order(epoch)[taken] if self.shuffle else taken

    def _permutation(self, epoch: int) -> np.ndarray:
        return np.random.default_rng((self.seed, epoch)).permutation(self.examples)

    def __repr__(self) -> str:
        shapes = _listed([array.shape for array in self.arrays])
        return f"Batches({shapes}, size={self.size}, seed={self.seed}, {len(self)} an epoch)"


def _as_rows(array: Any, position: int) -> np.ndarray:
    array = numbers(array, f"array {position}")
    if array.ndim == 0:
        raise ShapeError(f"array {position} is a single number: it has no rows")
    return array


def _natural(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ArgumentError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def _listed(values: list[Any]) -> str:
    return ", ".join(map(str, values))


# ---- what a training loop draws from ------------------------------------------------------------


class Source(Protocol):
    """What a training loop draws batches from, and how it goes on in the middle of an epoch."""

    count: int | None  # batches of an epoch, where that is known

    def epoch(self, number: int, start: int) -> Iterator[Batch]: ...
    def state(self) -> Any: ...
    def resume(self, position: int, step: int, state: Any) -> str: ...
    def where(self, epoch: int, position: int) -> str: ...
    def identity(self) -> dict[str, Any]:
        """What must be the same for a resumed run to see the same batches."""
        ...


class Drawn:
    """Batches as a source: any epoch, from any batch."""

    def __init__(self, batches: Batches):
        self.batches = batches
        self.count: int | None = len(batches)

    def epoch(self, number: int, start: int) -> Iterator[Batch]:
        return self.batches.epoch(number, start)

    def state(self) -> None:
        return None

    def resume(self, position: int, step: int, state: Any) -> str:
        return "the order of the rows follows from the seed and the epoch"

    def where(self, epoch: int, position: int) -> str:
        rows = self.batches.rows(epoch, position)
        if isinstance(rows, slice):
            return f"rows {rows.start} to {rows.stop - 1}"
        shown = _listed(list(rows[:8]))
        return f"rows {shown}" + (f", … ({len(rows)} in all)" if len(rows) > 8 else "")

    def identity(self) -> dict[str, Any]:
        b = self.batches
        order = b.seed if b.shuffle else None
        return {
            "batches": {"size": b.size, "order": order, "drop_last": b.drop_last},
            "data": told_arrays(b.arrays, "array"),
        }


class Streamed:
    """Any iterable of tuples as a source.

    One that can be iterated again gives an epoch per pass; an iterator, `steps` batches per epoch.
    To resume, `restore(state)` is called with what `state()` gave, if the iterable has both: it
    must then go on with the next batch.  Otherwise the batches already seen are drawn and passed
    over: those of this epoch, or all of them where it is an iterator.
    """

    def __init__(self, iterable: Iterable[Any], steps: int | None):
        self.iterable: Any = iterable  # which may have a state
        self.count = steps
        self.once = iter(iterable) is iterable
        self.stateful = hasattr(iterable, "state") and hasattr(iterable, "restore")
        self.restored = False

    def epoch(self, number: int, start: int) -> Iterator[Batch]:
        passed_over = 0 if self.once or self.restored else start
        self.restored = False
        stop = None if self.count is None else self.count - start + passed_over
        for batch in islice(self.iterable, passed_over, stop):
            yield _as_batch(batch)

    def state(self) -> Any:
        return self.iterable.state() if self.stateful else None

    def resume(self, position: int, step: int, state: Any) -> str:
        if self.stateful and state is not None:
            self.iterable.restore(state)
            self.restored = True
            return "the batches were restored to their state"
        if not self.once:
            return f"the {position} batches of this epoch that were seen are passed over"
        drawn = sum(1 for _ in islice(self.iterable, step))
        if drawn < step:
            raise ArgumentError(
                f"to resume at step {step}, the iterator must give at least as many batches; it "
                f"gave {drawn}"
            )
        return f"the {step} batches that were seen are drawn again and passed over"

    def where(self, epoch: int, position: int) -> str:
        return f"batch {position} of epoch {epoch}"

    def identity(self) -> dict[str, Any]:
        """Of a list its first batch and its last; what else will come nobody can tell."""
        found: dict[str, Any] = {"batches": {"steps": self.count}}
        if isinstance(self.iterable, list | tuple) and self.iterable:
            first, last = self.iterable[0], self.iterable[-1]
            found["batches"]["length"] = len(self.iterable)
            found["data"] = told_arrays(first, "first batch, array")
            found["data"] |= told_arrays(last, "last batch, array")
        return found


def told_arrays(arrays: Iterable[Any], name: str) -> dict[str, str]:
    return {f"{name} {i}": told_array(array) for i, array in enumerate(arrays)}


def _as_batch(batch: Any) -> Batch:
    if not isinstance(batch, tuple | list):
        raise ArgumentError(
            f"a batch must be a tuple of arrays, got {type(batch).__name__}: yield (x, y), or (x,)"
        )
    return tuple(batch)


def source_of(batches: Any, *, seed: int, steps: int | None = None, size: int = 32) -> Source:
    """What to draw from: `Batches`, a tuple of arrays, or an iterable of tuples."""
    if steps is not None:
        _natural("steps", steps, least=1)
    if isinstance(batches, tuple) and all(isinstance(a, np.ndarray) for a in batches):
        batches = Batches(*batches, size=size, seed=seed)
    if isinstance(batches, Batches):
        if steps is not None:
            raise ArgumentError("steps is for iterators: the epochs of Batches have their own end")
        return Drawn(batches)
    if not isinstance(batches, Iterable):
        raise ArgumentError(
            "batches must be Batches, a tuple of arrays or an iterable of tuples, got "
            f"{type(batches).__name__}"
        )
    source = Streamed(batches, steps)
    if source.once and steps is None:
        raise ArgumentError(
            "an iterator has no epochs: say how many batches make one with steps=, or pass "
            "Batches or something that can be iterated again, as a list"
        )
    return source


def rows_of(batch: Batch) -> int:
    """The number of examples in a batch."""
    return len(batch[0]) if batch and np.ndim(batch[0]) else 1
