"""Which rows an estimator holds out: each class has its share, and equal rows go together."""

import numpy as np
import pytest
from scipy import sparse

from chainrule.learn.estimator_network import Examples
from chainrule.learn.held_out import held_out

RNG = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], [60, 30, 10])
ROWS = np.arange(100.0)  # each row tells its number
X = np.column_stack([ROWS, RNG.normal(size=(100, 2))])


def examples(rows=slice(None), weights=None, x=X, dtype=np.float64):
    weights = np.ones(100) if weights is None else weights
    return Examples(x[rows].astype(dtype), LABELS[rows, None], weights[rows].astype(dtype))


def numbers(found):
    """Which rows are held out, and which are not."""
    return [set(np.asarray(part.x[:, 0]).astype(int)) for part in found]


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_each_class_has_its_share(share):
    judge, kept = held_out(examples(), share, LABELS, 0)
    assert numbers((judge, kept))[0] | numbers((judge, kept))[1] == set(range(100))
    counts = np.bincount(judge.targets[:, 0])
    np.testing.assert_allclose(counts, share * np.array([60, 30, 10]), atol=1)
    assert len(judge.weights) + len(kept.weights) == 100


def test_the_seed_chooses():
    chosen = [frozenset(numbers(held_out(examples(), 0.2, LABELS, s))[0]) for s in (0, 0, 1, 2)]
    assert len(set(chosen)) == 3
    every = [numbers(held_out(examples(), 0.2, LABELS, seed))[0] for seed in range(60)]
    assert set.union(*every) == set(range(100))


def test_neither_the_order_nor_the_form_nor_the_type_chooses():
    expected = numbers(held_out(examples(), 0.2, LABELS, 0))
    order = RNG.permutation(100)
    assert numbers(held_out(examples(order), 0.2, LABELS[order], 0)) == expected
    thin = examples()._replace(x=sparse.csr_array(X))
    judge, kept = held_out(thin, 0.2, LABELS, 0)
    assert sparse.issparse(judge.x)
    assert numbers([part._replace(x=part.x.toarray()) for part in (judge, kept)]) == expected
    halves = np.round(X * 2) / 2
    narrow = held_out(examples(x=halves, dtype=np.float32), 0.2, LABELS, 0)
    assert numbers(narrow) == numbers(held_out(examples(x=halves), 0.2, LABELS, 0))
    assert narrow[0].weights.dtype == np.float32


def test_a_weight_is_as_many_rows():
    weights = RNG.integers(0, 4, 100)
    rows = np.repeat(np.arange(100), weights)
    weighted = held_out(examples(weights=weights), 0.2, LABELS, 0)
    repeated = held_out(examples(rows), 0.2, LABELS[rows], 0)
    assert numbers(weighted)[0] == numbers(repeated)[0]
    assert numbers(weighted)[1] - numbers(repeated)[1] == set(np.flatnonzero(weights == 0))
    assert not numbers(repeated)[0] & numbers(repeated)[1]
    for part in (*weighted, *repeated):
        assert part.weights.mean() == pytest.approx(1)
    shares = np.bincount(repeated[0].targets[:, 0]) / np.bincount(LABELS[rows])
    np.testing.assert_allclose(shares, 0.2, atol=0.1)


def test_the_weight_of_a_class_does_not_change_its_share():
    heavy = np.array([1000.0, 1e-4, 1e-4])[LABELS]
    assert numbers(held_out(examples(weights=heavy), 0.2, LABELS, 0)) == numbers(
        held_out(examples(), 0.2, LABELS, 0)
    )


def test_a_class_keeps_a_row():
    few = np.r_[0:8, 60, 90]  # eight rows, one, and one
    judge, kept = held_out(examples(few), 0.9, LABELS[few], 0)
    assert {60, 90} <= numbers((judge, kept))[1]
    assert len(judge.weights) == 7


def test_of_too_few_rows_none_are_held_out():
    assert held_out(examples(slice(0, 8)), 0.1, LABELS[:8], 0) is None
    alike = examples()._replace(x=np.ones((100, 3)))
    assert held_out(alike, 0.5, LABELS, 0) is None
    nothing = examples(weights=np.r_[np.ones(2), np.zeros(98)])
    assert held_out(nothing, 0.2, LABELS, 0) is None
