"""Data sets: those that scikit-learn brings along, a fixed split, and columns of one scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chainrule.errors import ArgumentError, ShapeError, UnsupportedError
from chainrule.learn.numeric import numbers

BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "wine")


@dataclass(frozen=True)
class Data:
    """Rows of numbers `x`, what is to be predicted `y`, and what they are called.

    For a classification `y` are whole numbers from 0 and `classes` their names; else `classes` is
    empty.
    """

    x: np.ndarray
    y: Any
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    name: str = "data"

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: Any) -> Data:
        """The data of these rows alone."""
        return replace(self, x=self.x[rows], y=None if self.y is None else self.y[rows])

    def map(self, f: Callable[[np.ndarray], Any]) -> Data:
        """The same rows with f(x) in place of x; names of columns stay while these are as many."""
        x = np.asarray(f(self.x))
        if x.shape[:1] != self.x.shape[:1]:
            raise ShapeError(f"f must keep the {len(self)} rows of x, but returned shape {x.shape}")
        columns = self.columns if x.shape == self.x.shape else ()
        return replace(self, x=x, columns=columns)

    def __repr__(self) -> str:
        kind = f"{len(self.classes)} classes" if self.classes else "no classes"
        return f"Data({self.name!r}, x {self.x.dtype} {self.x.shape}, {kind})"


def load(name: str) -> Data:
    """One of digits, iris, wine, breast_cancer, diabetes: files of scikit-learn, never fetched."""
    if name not in BUNDLED:
        raise ArgumentError(
            f"there is no data set {name!r}: {', '.join(BUNDLED)} are there; files of your own are "
            "read by load_csv, load_idx, load_npy and load_npz"
        )
    try:
        from sklearn import datasets
    except ImportError:
        raise UnsupportedError(
            "the bundled data sets need scikit-learn: pip install 'chainrule[learn]'"
        ) from None
    found = getattr(datasets, f"load_{name}")()
    classes = tuple(map(str, found.get("target_names", ())))
    columns = tuple(map(str, found.feature_names))
    y = found.target.astype(np.int64 if classes else np.float64)
    return Data(np.asarray(found.data, np.float64), y, columns, classes, name)


def split(data: Data, test: float = 0.2, seed: int = 0) -> tuple[Data, Data]:
    """The rows for training and those for testing, the same for the same seed.

    Of each class the same share goes to the test, as nearly as whole rows allow.
    """
    if not 0 < test < 1:
        raise ArgumentError(f"test is a share of the rows, between 0 and 1; got {test}")
    rng = np.random.default_rng(seed)
    wanted = round(test * len(data))
    if not 0 < wanted < len(data):
        raise ArgumentError(f"{test} of {len(data)} rows leaves one part empty")
    labels = data.y if data.classes else np.zeros(len(data), np.int64)
    if labels is None or len(labels) != len(data):
        raise ShapeError(f"x has {len(data)} rows and y {0 if labels is None else len(labels)}")
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    exact = np.array([test * len(group) for group in groups])
    counts = np.floor(exact).astype(int)
    # What rounding down has lost goes to the classes that lost most, the first of equals.
    most_lost = np.argsort(counts - exact, kind="stable")
    counts[most_lost[: wanted - counts.sum()]] += 1
    chosen = [rng.permutation(group)[:n] for group, n in zip(groups, counts, strict=True)]
    tested = np.zeros(len(data), bool)
    tested[np.concatenate(chosen)] = True
    return data.take(~tested), data.take(tested)


@dataclass(frozen=True)
class Standardiser:
    """Columns shifted and scaled as the mean and deviation of others say: `s(x)`, `s.undo(z)`."""

    mean: np.ndarray
    scale: np.ndarray

    def __call__(self, x: Any) -> Any:
        return (x - self.mean) / self.scale

    def undo(self, z: Any) -> Any:
        return z * self.scale + self.mean


def standardiser(x: np.ndarray) -> Standardiser:
    """Fit on the training rows, to be applied to all: mean 0 and deviation 1 in each column.

    A column that is constant is only shifted.
    """
    x = numbers(x, "x")
    if x.ndim < 1 or not len(x):
        raise ShapeError(f"there are no rows to take a mean of: shape {x.shape}")
    mean, scale = x.mean(axis=0), x.std(axis=0)
    # The deviation of a constant column is what rounding its mean leaves, not always 0.
    constant = np.ptp(x, axis=0) == 0
    return Standardiser(np.where(constant, x[0], mean), np.where(constant, 1.0, scale))
