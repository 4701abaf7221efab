"""Losses are their formulas, in value and gradient, and refuse what would broadcast or wrap."""

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from tests.learn.checks import assert_sound

RNG = np.random.default_rng(3)
SCORES = RNG.normal(size=(6, 4))
LABELS = RNG.integers(0, 4, 6)
WEIGHTS = RNG.uniform(0.5, 2, 6)
ONE, OTHER = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3))
BINARY = np.array([[0, 1, 1], [1, 0, 0]])


def log_probabilities(scores):
    return np.log(np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True))


def own(values):
    return values[np.arange(6), LABELS]


def mean(each, weights=WEIGHTS):
    return np.sum(weights * each) / np.sum(weights)


def margins(scores, margin):
    lost = np.maximum(0, margin + scores - own(scores)[:, None])
    lost[np.arange(6), LABELS] = 0
    return lost.sum(axis=1) / 4


def huber(error, delta):
    size = np.abs(error)
    return np.where(size <= delta, error**2 / 2, delta * (size - delta / 2))


LOGS = log_probabilities(SCORES)
SMOOTH = 0.8 * -own(LOGS) - 0.2 * LOGS.mean(axis=1)
SIGMA = 1 / (1 + np.exp(-ONE))
FORMULAS = {
    "cross_entropy": (learn.cross_entropy, (SCORES, LABELS), {}, -own(LOGS).mean()),
    "cross_entropy weighted": (
        learn.cross_entropy, (SCORES, LABELS, WEIGHTS), {"smoothing": 0.2}, mean(SMOOTH)
    ),
    "cross_entropy of probabilities": (
        learn.cross_entropy, (SCORES, np.exp(LOGS[::-1])), {},
        -np.mean(np.sum(np.exp(LOGS[::-1]) * LOGS, axis=1)),
    ),
    "cross_entropy of places": (
        learn.cross_entropy, (SCORES.reshape(2, 3, 4), LABELS.reshape(2, 3)), {}, -own(LOGS).mean()
    ),
    "nll": (learn.nll, (LOGS, LABELS, WEIGHTS), {}, mean(-own(LOGS))),
    "binary_cross_entropy": (
        learn.binary_cross_entropy, (ONE, BINARY), {},
        -np.mean(BINARY * np.log(SIGMA) + (1 - BINARY) * np.log(1 - SIGMA)),
    ),
    "mse": (learn.mse, (ONE, OTHER), {}, np.mean((ONE - OTHER) ** 2)),
    "huber": (learn.huber, (ONE, OTHER), {"delta": 0.7}, np.mean(huber(ONE - OTHER, 0.7))),
    "hinge": (learn.hinge, (SCORES, LABELS), {}, np.mean(margins(SCORES, 1.0))),
    "hinge weighted": (
        lambda s, y, w: learn.hinge(s, y, 0.5, w), (SCORES, LABELS, WEIGHTS), {},
        mean(margins(SCORES, 0.5)),
    ),
    "l2": (lambda p: learn.l2({"a": [p]}), (SCORES,), {}, np.sum(SCORES**2)),
    "l1": (lambda p: learn.l1({"a": [p]}), (SCORES,), {}, np.sum(np.abs(SCORES))),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name):
    loss, args, settings, expected = FORMULAS[name]
    assert loss(*args, **settings) == pytest.approx(expected, rel=1e-14)
    assert_sound(lambda *args: loss(*args, **settings), *args)


def test_far_scores_do_not_overflow():
    far = np.array([[800.0, -800.0], [-800.0, 800.0]])
    value, gradient = cr.value_and_grad(learn.cross_entropy)(far, np.array([1, 1]))
    assert value == 800.0
    np.testing.assert_array_equal(gradient, [[0.5, -0.5], [0.0, 0.0]])
    value, gradient = cr.value_and_grad(learn.binary_cross_entropy)(far[0], np.array([0.0, 0.0]))
    assert value == 400.0
    np.testing.assert_array_equal(gradient, [0.5, 0.0])


def test_huber_joins_smoothly():
    gradient = cr.grad(lambda e: 3 * learn.huber(e, np.zeros(3), delta=1.0))
    np.testing.assert_array_equal(gradient(np.array([1.0, -1.0, 0.0])), [1.0, -1.0, 0.0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64, bool])
@pytest.mark.parametrize(
    ("loss", "scores"),
    [
        (learn.cross_entropy, SCORES),
        (learn.hinge, SCORES),
        (learn.binary_cross_entropy, SCORES[:, 0]),
        (learn.mse, SCORES[:, 0]),
        (learn.huber, SCORES[:, 0]),
    ],
)
def test_labels_of_any_whole_type(dtype, loss, scores):
    """Compiled once for all labels; only their conversion may be left to the interpreter."""
    if dtype is bool and scores.ndim > 1:
        with pytest.raises(cr.DTypeError, match="got bool"):
            loss(scores, LABELS > 0)
        return

    fast = cr.compile(cr.value_and_grad(loss))
    scores = scores.astype(np.float32)
    for labels in (LABELS, LABELS[::-1], LABELS % 2):
        value, gradient = fast(scores, labels.astype(dtype))
        assert value.dtype == gradient.dtype == np.float32
        other = labels.astype(bool) if dtype is bool else labels
        assert value == pytest.approx(loss(scores, other.astype(np.int64)), rel=1e-6)
    assert fast.recordings == 1
    lines = [line for line in fast.report().splitlines() if " interpreted " in line]
    assert {line.split()[1] for line in lines} <= {"astype:"}


def test_regularisers_of_nothing_are_zero():
    assert learn.l1({}) == learn.l2([]) == 0.0


@pytest.mark.parametrize(
    ("run", "error", "named"),
    [
        (lambda: learn.cross_entropy(SCORES, LABELS + 1), cr.OutOfRangeError, r"to 4.*0…3"),
        (lambda: learn.cross_entropy(SCORES, LABELS - 1), cr.OutOfRangeError, r"from -1.*0…3"),
        (lambda: learn.hinge(SCORES, LABELS + 1), cr.OutOfRangeError, r"hinge of \(6, 4\)"),
        (lambda: learn.nll(LOGS, LABELS[:4]), cr.ShapeError, r"nll of \(6, 4\) with labels \(4,\)"),
        (lambda: learn.hinge(SCORES, LABELS * 1.0), cr.DTypeError, "whole numbers, got float64"),
        (lambda: learn.cross_entropy(SCORES, LABELS * 1.0), cr.ShapeError, "probabilities"),
        (lambda: learn.cross_entropy(SCORES, LABELS, smoothing=1), cr.ArgumentError, "smoothing=1"),
        (lambda: learn.cross_entropy(SCORES, LABELS, WEIGHTS[:2]), cr.ShapeError, r"\(2,\)"),
        (lambda: learn.mse(ONE, ONE[:, :1]), cr.ShapeError, r"mse of \(2, 3\).*\(2, 1\)"),
        (lambda: learn.binary_cross_entropy(ONE, BINARY[0]), cr.ShapeError, r"\(2, 3\).*\(3,\)"),
        (lambda: learn.huber(ONE, OTHER, delta=0), cr.ArgumentError, "delta=0"),
    ],
)
def test_what_does_not_fit_is_named(run, error, named):
    with pytest.raises(error, match=named):
        run()
