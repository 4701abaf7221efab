"""Losses, as numbers to be made small, and regularisers.

A loss is the mean over the examples.  `weights`, one per example, make it Σ wᵢ·lossᵢ / Σ wᵢ; for a
weight per class pass `class_weights[labels]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr


def cross_entropy(scores: Any, labels: Any, weights: Any = None, smoothing: float = 0.0) -> Any:
    """−log softmax(scores) at the label: scores (…, classes), labels (…) of whole numbers.

    Labels of floating type are probabilities, of the shape of the scores.  `smoothing` takes that
    share of the probability away from the label and spreads it over all classes.
    """
    if not 0 <= smoothing < 1:
        raise cr.ArgumentError(f"cross_entropy(smoothing={smoothing!r}): must be in [0, 1)")
    log_probabilities = cr.log_softmax(scores, axis=-1)
    if _array(labels).dtype.kind == "f":
        _check_alike("cross_entropy", scores, labels, "labels that are probabilities")
        each = -np.sum(labels * log_probabilities, axis=-1)
    else:
        each = -_at_labels("cross_entropy", log_probabilities, labels)
    if smoothing:
        each = (1.0 - smoothing) * each - smoothing * np.mean(log_probabilities, axis=-1)
    return _mean("cross_entropy", each, weights)


def nll(log_probabilities: Any, labels: Any, weights: Any = None) -> Any:
    """−log_probabilities at the label: log_probabilities (…, classes), labels (…)."""
    return _mean("nll", -_at_labels("nll", log_probabilities, labels), weights)


def binary_cross_entropy(scores: Any, labels: Any, weights: Any = None) -> Any:
    """−y·log σ(s) − (1 − y)·log σ(−s), of scores s and labels y in [0, 1] of one shape."""
    _check_alike("binary_cross_entropy", scores, labels, "labels")
    labels = _floating(labels, scores.dtype)
    return _mean("binary_cross_entropy", cr.softplus(scores) - labels * scores, weights)


def mse(predictions: Any, targets: Any, weights: Any = None) -> Any:
    """The mean of (prediction − target)² over all numbers."""
    _check_alike("mse", predictions, targets, "targets")
    error = predictions - _floating(targets, predictions.dtype)
    return _mean("mse", np.square(error), weights)


def huber(predictions: Any, targets: Any, delta: float = 1.0, weights: Any = None) -> Any:
    """e²/2 for errors |e| ≤ delta, delta·(|e| − delta/2) beyond, its mean over all numbers."""
    if not delta > 0:
        raise cr.ArgumentError(f"huber(delta={delta!r}): must be positive")
    _check_alike("huber", predictions, targets, "targets")
    error = predictions - _floating(targets, predictions.dtype)
    inside = np.clip(error, -delta, delta)
    return _mean("huber", inside * (error - 0.5 * inside), weights)


def hinge(scores: Any, labels: Any, margin: float = 1.0, weights: Any = None) -> Any:
    """Σ max(0, margin + score of another class − score of the label) / classes.

    The multi-class form of Weston & Watkins (1999), divided by the number of classes as PyTorch's
    MultiMarginLoss is.
    """
    classes = np.shape(scores)[-1]
    own = _at_labels("hinge", scores, labels)
    lost = np.maximum(margin + (scores - np.expand_dims(own, -1)), 0.0)
    # The label itself is among the classes, and loses the margin exactly.
    return _mean("hinge", (np.sum(lost, axis=-1) - max(margin, 0.0)) / float(classes), weights)


def l2(parameters: Any) -> Any:
    """Σ p² over every number of the parameters."""
    return _total([np.sum(np.square(p)) for p in cr.tree.leaves(parameters)])


def l1(parameters: Any) -> Any:
    """Σ |p| over every number of the parameters; at 0 its derivative is 0."""
    return _total([np.sum(np.abs(p)) for p in cr.tree.leaves(parameters)])


def _total(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0]) if parts else 0.0


def _at_labels(name: str, values: Any, labels: Any) -> Any:
    """values[…, label], the labels checked."""
    shape, found = tuple(np.shape(values)), tuple(np.shape(labels))
    what = f"{name} of {shape} with labels {found}"
    if not shape or found != shape[:-1]:
        raise cr.ShapeError(f"{what}: one label for each row of the {shape} numbers is needed")
    labels = _array(labels)
    if labels.dtype.kind not in "iu":
        raise cr.DTypeError(f"{what}: labels are whole numbers, got {labels.dtype}")
    labels = labels.astype(np.int64)  # machine code has no narrower ones
    classes = shape[-1]
    if np.any((labels < 0) | (labels >= classes)):
        least, most = np.min(labels), np.max(labels)
        raise cr.OutOfRangeError(
            f"{what}: labels go from {least} to {most}, the {classes} classes are 0…{classes - 1}; "
            "number them by np.unique(labels, return_inverse=True)[1]"
        )
    return np.take_along_axis(values, np.expand_dims(labels, -1), axis=-1)[..., 0]


def _check_alike(name: str, one: Any, other: Any, what: str) -> None:
    """Broadcasting (n, 1) with (n,) would give n² numbers without a word."""
    if np.shape(one) != np.shape(other):
        raise cr.ShapeError(
            f"{name} of {tuple(np.shape(one))} with {what} {tuple(np.shape(other))}: the shapes "
            "must be the same; reshape one of them"
        )


def _array(x: Any) -> Any:
    """x itself where it is an array or a Variable."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def _floating(x: Any, dtype: Any) -> Any:
    """Whole numbers and truths in this type: in their own they would widen float32."""
    x = _array(x)
    return x if x.dtype.kind == "f" else x.astype(dtype)


def _mean(name: str, each: Any, weights: Any) -> Any:
    if weights is None:
        return np.mean(each)
    if np.shape(weights) != np.shape(each):
        raise cr.ShapeError(
            f"{name}: weights of shape {tuple(np.shape(weights))}, one is needed for each of the "
            f"{tuple(np.shape(each))} examples"
        )
    weights = _floating(weights, each.dtype)
    return np.sum(weights * each) / np.sum(weights)
