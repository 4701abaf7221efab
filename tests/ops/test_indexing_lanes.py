"""`indexing_lanes.py`: any index, whichever of its arrays differ by lane, means what NumPy says."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import chainrule as cr
from chainrule.ops.indexing import put_index

COUNT = 3
COMMON = ((), (3,), (2, 3), (1, 3))  # shapes of index arrays, which broadcast
SLICES = (slice(None), slice(None, None, -1), slice(-3, None), slice(1, None, 2), slice(2, 2))


class Case(NamedTuple):
    """An array and an index into it: of its parts, `differs` tells which have lanes in front."""

    x: Any
    mapped: bool
    parts: list[Any]
    differs: list[bool]

    @property
    def lanes(self) -> list[Any]:
        return [p for p, differs in zip(self.parts, self.differs, strict=True) if differs]

    @property
    def axes(self) -> tuple[Any, ...]:
        return (0 if self.mapped else None, *(0 for _ in self.lanes))

    def index(self, lanes: Any) -> tuple[Any, ...]:
        given = iter(lanes)
        return tuple(
            next(given) if differs else part
            for part, differs in zip(self.parts, self.differs, strict=True)
        )

    def lane(self, k: int) -> tuple[Any, tuple[Any, ...]]:
        return self.x[k] if self.mapped else self.x, self.index([p[k] for p in self.lanes])


def part(rng: Any, size: int, shape: tuple[int, ...]) -> tuple[Any, bool]:
    """What indexes one axis, and whether it differs by lane."""
    kind = rng.integers(7)
    if kind == 0:
        return int(rng.integers(-size, size)), False
    if kind == 1:
        return SLICES[rng.integers(len(SLICES))], False
    if kind == 2:  # a mask that picks as many in every lane
        picked = np.arange(size) < (shape[-1] if shape else 1)
        if rng.integers(2):
            return rng.permutation(picked), False
        return np.stack([rng.permutation(picked) for _ in range(COUNT)]), True
    differs = bool(kind > 4)
    return rng.integers(-size, size, (COUNT, *shape) if differs else shape), differs


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    shape = tuple(map(int, rng.integers(3, 5, rng.integers(1, 5))))
    common = COMMON[rng.integers(len(COMMON))]
    found: list[tuple[Any, bool]] = []
    count = int(rng.integers(1, len(shape) + 1))
    cut = int(rng.integers(count + 1))
    for k in range(count):
        if k == cut:
            found.append((Ellipsis, False))
        if rng.integers(5) == 0:
            found.append((None, False))
        axis = k if k < cut else k - count
        found.append(part(rng, shape[axis], common[rng.integers(len(common) + 1) :]))
    parts, differs = map(list, zip(*found, strict=True))
    mapped = bool(rng.integers(2)) or not any(differs)
    x = rng.normal(size=(COUNT, *shape) if mapped else shape)
    return Case(x, mapped, parts, differs)


def value_of(rng: Any, shape: tuple[int, ...]) -> tuple[Any, bool]:
    """Something that can be written into a place of this shape, and whether it differs by lane."""
    kept = shape[rng.integers(len(shape) + 1) :]
    kept = tuple(1 if rng.integers(4) == 0 else n for n in kept)
    differs = bool(rng.integers(2))
    return rng.normal(size=(COUNT, *kept) if differs else kept), differs


@pytest.mark.parametrize("start", range(0, 240, 40))
def test_lanes_are_read_and_written_as_each_alone(start: int) -> None:
    tried = 0
    for seed in range(start, start + 40):
        c, rng = case(seed), np.random.default_rng(seed)
        try:
            wanted = np.stack([x[index] for x, index in map(c.lane, range(COUNT))])
        except IndexError:
            continue  # the arrays do not broadcast
        tried += 1
        read = cr.vmap(lambda x, *ids, c=c: x[c.index(ids)], in_axes=c.axes)
        np.testing.assert_array_equal(read(c.x, *c.lanes), wanted, err_msg=str(seed))

        weights = rng.normal(size=wanted.shape)
        slope = cr.grad(lambda x, r=read, c=c, w=weights: np.sum(r(x, *c.lanes) * w))(c.x)
        added = np.zeros_like(c.x)
        for k in range(COUNT):
            np.add.at(added[k] if c.mapped else added, c.lane(k)[1], weights[k])
        np.testing.assert_allclose(slope, added, atol=1e-12, err_msg=str(seed))

        value, differs = value_of(rng, wanted.shape[1:])
        if not (differs or c.mapped or c.lanes):
            continue
        write = cr.vmap(
            lambda x, v, *ids, c=c: put_index(x, c.index(ids), v),
            in_axes=(c.axes[0], 0 if differs else None, *c.axes[1:]),
        )
        copies = [np.array(c.lane(k)[0]) for k in range(COUNT)]
        for k, copy in enumerate(copies):
            copy[c.lane(k)[1]] = value[k] if differs else value
        np.testing.assert_array_equal(write(c.x, value, *c.lanes), copies, err_msg=str(seed))
    assert tried > 20


def test_masks_that_pick_differently_many_are_computed_apart() -> None:
    x = np.array([[1.0, -1.0, 2.0], [-1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
    total = cr.vmap(lambda row: np.sum(row[row > 0] ** 2))
    np.testing.assert_allclose(total(x), [5, 9, 41])
    slope = cr.vmap(cr.grad(lambda row: np.sum(row[row > 0] ** 2)))(x)
    np.testing.assert_allclose(slope, np.where(x > 0, 2 * x, 0))


def test_a_value_with_more_axes_than_its_place() -> None:
    x, value = np.zeros((COUNT, 4)), np.arange(COUNT * 2.0).reshape(COUNT, 1, 1, 2)
    rows = np.array([[0, 1], [1, 2], [3, 0]])
    out = cr.vmap(lambda x, v, rows: put_index(x, rows, v))(x, value, rows)
    for k in range(COUNT):
        np.testing.assert_array_equal(out[k][rows[k]], value[k, 0, 0])


def test_the_last_write_wins_in_every_lane() -> None:
    rows = np.array([[0, 0, 1], [1, 1, 1], [2, 0, 2]])
    value = np.arange(9.0).reshape(3, 3)
    out = cr.vmap(lambda v, rows: put_index(np.zeros(3), rows, v))(value, rows)
    np.testing.assert_array_equal(out, [[1, 2, 0], [0, 5, 0], [7, 0, 8]])
