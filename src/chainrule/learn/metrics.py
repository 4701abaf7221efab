"""Metrics: how good predictions are, as plain numbers of plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from chainrule.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from chainrule.learn.batches import Batch, rows_of


def accuracy(predicted: Any, labels: Any) -> float:
    """The share of rows whose class is right; `predicted`: classes, or scores (rows, classes)."""
    predicted, labels = _classes(predicted), _labels(labels)
    _same_shape(predicted, labels)
    return float(np.mean(predicted == labels))


def top_k(scores: Any, labels: Any, k: int) -> float:
    """The share of rows whose class is among the k of the highest scores; ties by class number."""
    scores, labels = np.asarray(scores), _labels(labels)
    if scores.ndim != 2 or len(scores) != len(labels):
        raise ShapeError(
            f"top_k of scores {scores.shape} and labels {labels.shape}: scores must be (rows, "
            "classes) and labels (rows,)"
        )
    if not 1 <= k <= scores.shape[1]:
        raise ArgumentError(f"k must be from 1 to {scores.shape[1]}, the number of classes: {k}")
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return float(np.mean(np.any(best == labels[:, None], axis=1)))


def confusion_matrix(predicted: Any, labels: Any, classes: int | None = None) -> np.ndarray:
    """How many rows of class i (row of the matrix) were taken for class j (its column)."""
    scores = np.asarray(predicted)
    predicted, labels = _classes(predicted), _labels(labels)
    _same_shape(predicted, labels)
    if classes is None:
        most = max(predicted.max(initial=-1), labels.max(initial=-1)) + 1
        classes = scores.shape[1] if scores.ndim == 2 else int(most)
    for name, found in (("a label", labels), ("a prediction", predicted)):
        if found.size and not 0 <= found.min() <= found.max() < classes:
            wrong = found[(found < 0) | (found >= classes)][0]
            raise OutOfRangeError(f"{name} is {wrong}, outside of the {classes} classes")
    counts = np.bincount(labels * classes + predicted, minlength=classes * classes)
    return counts.reshape(classes, classes)


def r_squared(predicted: Any, targets: Any) -> float:
    """1 − (squared error) / (squared deviation of the targets from their mean).

    Targets that are all alike give 1 if they are met exactly, else NaN.
    """
    predicted, targets = np.asarray(predicted), np.asarray(targets)
    _same_shape(predicted, targets)
    left = np.sum((targets - predicted) ** 2)
    total = np.sum((targets - np.mean(targets, axis=0)) ** 2)
    if total == 0:
        return 1.0 if left == 0 else float("nan")
    return float(1 - left / total)


def mae(predicted: Any, targets: Any) -> float:
    """The mean absolute error."""
    predicted, targets = np.asarray(predicted), np.asarray(targets)
    _same_shape(predicted, targets)
    return float(np.mean(np.abs(predicted - targets)))


def mean_over(f: Callable[..., Any], parameters: Any, batches: Iterable[Batch]) -> float:
    """The mean of f(parameters, *batch) over the batches, each weighed by its rows: a mean loss."""
    return means_over({"mean": f}, parameters, batches)["mean"]


def means_over(
    functions: Mapping[str, Callable[..., Any]], parameters: Any, batches: Iterable[Batch]
) -> dict[str, float]:
    """Several such means, in one pass over the batches."""
    totals, rows = dict.fromkeys(functions, 0.0), 0
    for batch in batches:
        weight = rows_of(batch)
        rows += weight
        for name, f in functions.items():
            totals[name] += float(f(parameters, *batch)) * weight
    if not rows:
        raise ArgumentError("there is no batch to take the mean over")
    return {name: total / rows for name, total in totals.items()}


def _classes(predicted: Any) -> np.ndarray:
    predicted = np.asarray(predicted)
    if predicted.ndim == 2 and predicted.shape[1]:
        return np.argmax(predicted, axis=1)
    if predicted.ndim == 1 and predicted.dtype.kind in "iub":
        return predicted.astype(np.int64)
    raise ShapeError(
        "predictions must be scores (rows, classes) or whole numbers (rows,), got "
        f"{predicted.dtype} of shape {predicted.shape}"
    )


def _labels(labels: Any) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iub":
        raise DTypeError(f"labels must be whole numbers, got {labels.dtype}")
    return labels.astype(np.int64)


def _same_shape(a: np.ndarray, b: np.ndarray) -> None:
    if a.shape != b.shape:
        raise ShapeError(f"predictions of shape {a.shape} and truth of shape {b.shape} must match")
    if not a.size:
        raise ArgumentError("there is nothing to measure: no rows")
