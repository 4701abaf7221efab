"""Batches: every row once an epoch, in an order that (seed, epoch) alone decides."""

from itertools import count, islice

import numpy as np
import pytest

import chainrule as cr
from chainrule.learn import Batches
from chainrule.learn.batches import source_of

X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10)


@pytest.mark.parametrize("size", [1, 3, 5, 10, 99])
@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epoch_has_every_row_once(size, shuffle):
    batches = Batches(X, Y, size=size, shuffle=shuffle)
    seen = list(batches.epoch(3))
    assert len(seen) == len(batches)
    assert all(len(y) == size for _, y in seen[:-1])
    assert sorted(np.concatenate([y for _, y in seen])) == list(range(10))
    assert all(np.array_equal(x, X[y]) for x, y in seen)


def test_drop_last_leaves_out_what_does_not_fill_a_batch():
    batches = Batches(Y, size=4, drop_last=True)
    assert [len(y) for (y,) in batches] == [4, 4]
    assert len(batches) == 2


def test_epochs_differ_and_come_back():
    batches = Batches(Y, size=10, seed=5)
    first, second = (next(batches.epoch(e))[0] for e in (0, 1))
    assert not np.array_equal(first, second)
    other = Batches(Y, size=10, seed=5)
    next(other.epoch(7))
    assert np.array_equal(next(other.epoch(1))[0], second)
    assert not np.array_equal(next(Batches(Y, size=10, seed=6).epoch(1))[0], second)


def test_an_epoch_can_be_begun_anywhere():
    batches = Batches(X, size=3)
    whole = [x for (x,) in batches.epoch(4)]
    for start in range(5):
        rest = [x for (x,) in batches.epoch(4, start)]
        assert len(rest) == 4 - start
        assert all(map(np.array_equal, rest, whole[start:]))


def test_rows_say_which():
    batches = Batches(X, size=3)
    for position, (x,) in enumerate(batches.epoch(2)):
        assert np.array_equal(X[batches.rows(2, position)], x)


def test_of_a_mapped_file_only_the_rows_of_a_batch_are_read(tmp_path):
    class Watched(np.memmap):
        asked: list[int] = []  # noqa: RUF012 - of all its views

        def __getitem__(self, rows):
            taken = super().__getitem__(rows)
            Watched.asked.append(taken.nbytes)
            return taken

    path = tmp_path / "x.npy"
    np.save(path, np.arange(40000.0).reshape(1000, 40))
    mapped = np.load(path, mmap_mode="r").view(Watched)
    (taken,) = next(Batches(mapped, size=8).epoch(0))
    assert type(taken) is np.ndarray
    assert taken.shape == (8, 40)
    assert Watched.asked == [8 * 40 * 8]


@pytest.mark.parametrize(
    ("arrays", "options", "error", "text"),
    [
        ((X, Y[:9]), {"size": 2}, cr.ShapeError, "equally many rows, got 10, 9"),
        ((X,), {"size": 0}, cr.ArgumentError, "size must be a whole number of at least 1, got 0"),
        ((X,), {"size": 2.5}, cr.ArgumentError, "size must be a whole number"),
        ((X,), {"size": True}, cr.ArgumentError, "size must be a whole number"),
        ((X,), {"size": 2, "seed": -1}, cr.ArgumentError, "seed must be a whole number"),
        ((), {"size": 2}, cr.ArgumentError, "nothing to make batches of"),
        ((X[:0],), {"size": 2}, cr.ArgumentError, "nothing to make batches of"),
        ((np.array(1.0),), {"size": 2}, cr.ShapeError, "array 0 is a single number"),
        ((X, np.array([{}] * 10)), {"size": 2}, cr.DTypeError, "array 1 holds Python objects"),
        ((X,), {"size": 11, "drop_last": True}, cr.ArgumentError, "drop_last leaves no batch"),
    ],
)
def test_bad_arguments_are_named(arrays, options, error, text):
    with pytest.raises(error, match=text):
        Batches(*arrays, **options)


# ---- sources ------------------------------------------------------------------------------------


def drawn(source, epoch, start=0):
    return [int(batch[0]) for batch in source.epoch(epoch, start)]


def test_a_list_is_one_epoch_per_pass():
    source = source_of([(i,) for i in range(5)], seed=0)
    assert drawn(source, 0) == drawn(source, 1) == [0, 1, 2, 3, 4]
    assert "3 batches of this epoch" in source.resume(3, 8, None)
    assert drawn(source, 1, 3) == [3, 4]


def test_an_iterator_goes_on_from_epoch_to_epoch():
    source = source_of(((i,) for i in count()), seed=0, steps=3)
    assert [drawn(source, 0), drawn(source, 1)] == [[0, 1, 2], [3, 4, 5]]
    again = source_of(((i,) for i in count()), seed=0, steps=3)
    assert "4 batches that were seen are drawn again" in again.resume(1, 4, None)
    assert [drawn(again, 1, 1), drawn(again, 2)] == [[4, 5], [6, 7, 8]]


class Stateful:
    """An endless iterator that can be put back."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        return (self.at,)

    def state(self):
        return {"at": self.at}

    def restore(self, state):
        self.at = state["at"]


def test_what_has_a_state_is_restored():
    source = source_of(Stateful(), seed=0, steps=4)
    list(islice(source.epoch(0, 0), 3))
    again = source_of(Stateful(), seed=0, steps=4)
    assert again.resume(3, 3, source.state()) == "the batches were restored to their state"
    assert drawn(again, 0, 3) == [4]
    assert drawn(again, 1) == [5, 6, 7, 8]


@pytest.mark.parametrize(
    ("batches", "steps", "text"),
    [
        (iter([(1,)]), None, "an iterator has no epochs"),
        (3, None, "must be Batches, a tuple of arrays or an iterable"),
        (Batches(X, size=2), 3, "steps is for iterators"),
        ([(1,)], 0, "steps must be a whole number"),
    ],
)
def test_what_cannot_be_drawn_from_is_named(batches, steps, text):
    with pytest.raises(cr.ArgumentError, match=text):
        source_of(batches, seed=0, steps=steps)


def test_a_batch_must_be_a_tuple():
    with pytest.raises(cr.ArgumentError, match="a batch must be a tuple of arrays, got ndarray"):
        list(source_of([X], seed=0).epoch(0, 0))


def test_an_iterator_that_is_too_short_to_resume():
    with pytest.raises(cr.ArgumentError, match="resume at step 5"):
        source_of(iter([(1,), (2,)]), seed=0, steps=1).resume(0, 5, None)
