"""The order of additions: one tree, however the shards are shared out."""

from itertools import pairwise

import numpy as np
import pytest

from chainrule.scale.additions import Additions, Part, groups_of, nodes_of, span_of

COUNTS = (1, 2, 3, 5, 7, 8, 11, 13, 64, 100)


def parts_of(values, low, high):
    return Additions(Part(i, 1, values[i].copy()) for i in range(low, high)).parts


def tree_sum(values):
    """The definition, by recursion: the left part is the largest power of two below the whole."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(values) - 1).bit_length() - 1
    return tree_sum(values[:half]) + tree_sum(values[half:])


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(0)
    return rng.normal(size=(max(COUNTS), 3)) * 10.0 ** rng.integers(-12, 12, (max(COUNTS), 1))


@pytest.mark.parametrize("count", COUNTS)
def test_the_sum_is_that_of_the_tree(values, count):
    expected = tree_sum([*values[:count]])
    for workers in (1, 2, 3, 4, 7, count, count + 3):
        spans = [span_of(worker, workers, count) for worker in range(workers)]
        parts = [part for span in spans for part in parts_of(values, *span)]
        assert np.array_equal(Additions(parts).total(), expected), workers


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("at_least", [1, 2, 3, 8, 200])
def test_groups_are_nodes(values, count, at_least):
    groups = groups_of(count, at_least)
    assert groups[0][0] == 0
    assert groups[-1][1] == count
    assert all(a[1] == b[0] for a, b in pairwise(groups))
    assert len(groups) >= min(at_least, count) or count < at_least
    parts = [part for group in groups for part in parts_of(values, *group)]
    assert np.array_equal(Additions(parts).total(), tree_sum([*values[:count]]))
    assert all(len(parts_of(values, *group)) == 1 for group in groups[:-1])


@pytest.mark.parametrize(("low", "high"), [(0, 13), (3, 13), (5, 6), (4, 8), (7, 7)])
def test_nodes_are_what_is_left_after_adding(values, low, high):
    assert nodes_of(low, high) == [(p.low, p.size) for p in parts_of(values, low, high)]


def test_vectors_that_cannot_be_written_into_are_added_too(values):
    frozen = values.copy()
    frozen.flags.writeable = False
    found = Additions(Part(i, 1, frozen[i]) for i in range(13)).total()
    assert np.array_equal(found, tree_sum([*values[:13]]))


def test_another_order_has_other_bits(values):
    """The comparison can fail."""
    assert not np.array_equal(np.add.reduce(values), tree_sum([*values]))


def test_the_error_grows_like_the_logarithm():
    """4,096 shards: the tree against the exact sum, beside adding one after the other."""
    rng = np.random.default_rng(1)
    shards = rng.random((4096, 256))
    exact = np.sum(shards.astype(np.longdouble), axis=0)
    scale = np.finfo(float).eps * np.sum(np.abs(shards), axis=0)
    for workers in (1, 3, 64, 4096):
        spans = (span_of(worker, workers, 4096) for worker in range(workers))
        total = Additions(p for span in spans for p in parts_of(shards, *span)).total()
        assert np.array_equal(total, tree_sum([*shards]))
        assert np.max(np.abs(total - exact) / scale) < np.log2(4096) / 2
    one_by_one = np.zeros(256)
    for shard in shards:
        one_by_one += shard
    assert np.max(np.abs(one_by_one - exact)) > 3 * np.max(np.abs(total - exact))
