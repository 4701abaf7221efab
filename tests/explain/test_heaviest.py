"""The heaviest paths of bare graphs, held against a list of all paths."""

import math
from itertools import islice

import numpy as np
import pytest

from chainrule.explain.heaviest import heaviest


def random_dag(rng, nodes, special):
    """Edges by child; every node can be reached from node 0, and the last is the sink."""
    first, tail, sizes, dead = [0, 0], [], [], set()
    for v in range(1, nodes):
        parents = rng.choice(v, size=min(v, int(rng.integers(1, 4))), replace=False)
        for p in sorted(parents.tolist()):
            size = float(rng.uniform(0.1, 2.0) * rng.choice([-1.0, 1.0]))
            if rng.random() < special:
                size = float(rng.choice([0.0, np.inf, np.nan]))
            if rng.random() < special / 4:
                dead.add(len(tail))
            tail.append(p)
            sizes.append(size)
        first.append(len(tail))
    return first, tail, sizes, dead


def every_path(first, tail):
    found, pending = [], [(len(first) - 2, ())]
    while pending:
        v, edges = pending.pop()
        if v == 0:
            found.append(edges)
        for e in range(first[v], first[v + 1]):
            pending.append((tail[e], (*edges, e)))
    return found


def weight(edges, sizes, dead):
    """The kind of a product and, where it is finite, its size: sorted, the heaviest is first."""
    if dead.intersection(edges):
        return 4, 0.0
    product = math.prod(sizes[e] for e in edges)
    if math.isnan(product):
        return 0, 0.0
    if math.isinf(product):
        return 1, 0.0
    return (3, 0.0) if product == 0 else (2, -abs(product))


@pytest.mark.parametrize("special", [0.0, 0.15])
def test_the_same_as_looking_at_all(special):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        first, tail, sizes, dead = random_dag(rng, int(rng.integers(2, 10)), special)
        expected = sorted(weight(p, sizes, dead) for p in every_path(first, tail))
        for most in (1, 5, len(expected) + 3):
            found = [tuple(p) for p in heaviest(first, tail, sizes, dead, most)]
            assert len(set(found)) == len(found) == min(most, len(expected))
            weights = [weight(p, sizes, dead) for p in found]
            assert [k for k, _ in weights] == [k for k, _ in expected[:most]]
            np.testing.assert_allclose(
                [w for _, w in weights], [w for _, w in expected[:most]], rtol=1e-12
            )


def test_a_path_goes_from_the_last_node_to_the_first():
    first, tail = [0, 0, 1, 3], [0, 1, 0]
    assert list(heaviest(first, tail, [2.0, 3.0, 1.0], set(), 5)) == [[1, 0], [2]]


def test_zero_times_infinity_is_heavier_than_both():
    """0 → 1 by 0 or 2, 1 → 2 by infinity: the light way becomes NaN."""
    first, tail = [0, 0, 1, 2, 4, 5], [0, 0, 1, 2, 3]
    sizes = [0.0, 2.0, 1.0, 1.0, math.inf]
    assert list(heaviest(first, tail, sizes, set(), 2)) == [[4, 2, 0], [4, 3, 1]]


def test_where_there_is_no_path():
    assert list(heaviest([0, 0, 0], [], [], set(), 3)) == []


def test_no_more_than_asked_for():
    assert list(heaviest([0, 0, 1], [0], [1.0], set(), 0)) == []


def test_products_beyond_the_range_of_numbers_are_still_ordered():
    """A ladder of 3,000 rungs: 2 ** 3,000 paths, the heaviest around 10 ** 1,800."""
    first, tail, sizes = [0, 0], [], []
    for v in range(1, 6001, 2):
        tail += [v - 1, v, v - 1]
        sizes += [4.0, 1.0, 3.0]
        first += [len(tail) - 2, len(tail)]
    paths = list(islice(heaviest(first, tail, sizes, set(), 4), 4))
    logs = [sum(math.log(sizes[e]) for e in path) for path in paths]
    assert logs[0] == pytest.approx(3000 * math.log(4))
    assert logs[1:] == pytest.approx([logs[0] - math.log(4 / 3)] * 3)
    assert len({tuple(p) for p in paths}) == 4
