"""Metrics against their definitions, and scikit-learn where it is installed."""

import numpy as np
import pytest

import chainrule as cr
from chainrule.learn import Batches, accuracy, confusion_matrix, mae, mean_over, r_squared, top_k

RNG = np.random.default_rng(0)
SCORES = RNG.standard_normal((50, 4))
LABELS = RNG.integers(0, 4, 50)


def test_against_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    guess = SCORES.argmax(axis=1)
    assert accuracy(SCORES, LABELS) == accuracy(guess, LABELS)
    assert accuracy(guess, LABELS) == metrics.accuracy_score(LABELS, guess)
    for k in (1, 2, 3):
        assert top_k(SCORES, LABELS, k) == metrics.top_k_accuracy_score(LABELS, SCORES, k=k)
    assert np.array_equal(confusion_matrix(SCORES, LABELS), metrics.confusion_matrix(LABELS, guess))
    a, b = SCORES[:, 0], SCORES[:, 1]
    assert r_squared(a, b) == pytest.approx(metrics.r2_score(b, a), rel=1e-14)
    assert mae(a, b) == pytest.approx(metrics.mean_absolute_error(b, a), rel=1e-14)


def test_confusion_matrix_by_hand():
    found = confusion_matrix(np.array([0, 1, 1]), np.array([0, 0, 1]), classes=3)
    assert found.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_ties_go_to_the_lower_class():
    assert top_k(np.zeros((2, 3)), np.array([0, 2]), 1) == 0.5


def test_r_squared_of_constant_targets():
    assert r_squared(np.ones(3), np.ones(3)) == 1.0
    assert np.isnan(r_squared(np.zeros(3), np.ones(3)))


def test_the_mean_weighs_batches_by_their_rows():
    x = np.arange(10.0)
    batches = Batches(x, size=4)
    assert mean_over(lambda p, x: p * np.mean(x), 2.0, batches) == pytest.approx(9.0, rel=1e-15)
    with pytest.raises(cr.ArgumentError, match="no batch"):
        mean_over(lambda p, x: 0.0, 2.0, [])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: accuracy(SCORES, LABELS[:4]), cr.ShapeError, r"\(50,\) and truth of shape \(4,\)"),
        (lambda: accuracy(SCORES[:, 0], LABELS), cr.ShapeError, "float64 of shape"),
        (lambda: accuracy(SCORES, LABELS * 1.0), cr.DTypeError, "labels must be whole numbers"),
        (lambda: accuracy(SCORES[:0], LABELS[:0]), cr.ArgumentError, "nothing to measure"),
        (lambda: top_k(SCORES, LABELS, 5), cr.ArgumentError, "k must be from 1 to 4"),
        (lambda: top_k(SCORES[0], LABELS, 1), cr.ShapeError, "top_k of scores"),
        (lambda: confusion_matrix(SCORES, LABELS + 2), cr.OutOfRangeError, "a label is [45]"),
        (lambda: mae(SCORES, LABELS), cr.ShapeError, "must match"),
    ],
)
def test_bad_arguments_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
