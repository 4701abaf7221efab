"""Data to train on: a data set by name, or the user's own CSV, NPZ or IDX files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.cli.mistake import InputError

if TYPE_CHECKING:
    from chainrule.learn import Data


def data_of(what: str, label: str | None = None, regression: bool = False) -> Data:
    """The rows, and what is to be predicted: `classes` are named where it is a class."""
    from chainrule.learn import Data, load
    from chainrule.learn.data import BUNDLED

    kind = os.path.splitext(what)[1].lower()
    if label is not None and kind != ".csv":
        raise InputError("--label names a column of a CSV file")
    if what in BUNDLED:
        found = load(what)
    elif kind == ".csv":
        found = _csv(what, label)
    elif kind == ".npz":
        found = _npz(what)
    elif ":" in what:
        found = _idx(*what.rsplit(":", 1))
    else:
        raise InputError(
            f"{what}: name a data set ({', '.join(BUNDLED)}), a .csv or .npz file, or two IDX "
            "files as images:labels"
        )
    x, y = _checked(what, found.x, found.y)
    y, classes = _target(what, y, found.classes, regression)
    return Data(x, y, found.columns, classes, found.name)


def _read(reader: Callable[..., Any], path: str, *more: Any) -> Any:
    """What a reader of chainrule.learn makes of a file, if that can be opened at all."""
    if os.path.isdir(path):
        raise InputError(f"{path}: a folder, not a file")
    try:
        return reader(path, *more)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _csv(path: str, label: str | None) -> Data:
    from chainrule.learn import load_csv

    return _read(load_csv, path, -1 if label is None else label)


def _npz(path: str) -> Data:
    from chainrule.learn import Data, load_npz

    arrays = _read(load_npz, path)
    if not {"x", "y"} <= set(arrays):
        there = ", ".join(arrays) or "none"
        raise InputError(f"{path}: the arrays x and y are needed; there are {there}")
    return Data(arrays["x"], arrays["y"], name=_stem(path))


def _idx(images: str, labels: str) -> Data:
    from chainrule.learn import Data, load_idx

    return Data(_read(load_idx, images), _read(load_idx, labels), name=_stem(images))


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _checked(what: str, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """x as (rows, numbers) and y as (rows,), finite."""
    for name, array, kinds in (("x", x, "fiub"), ("y", y, "fiubU")):
        if array.dtype.kind not in kinds:
            raise InputError(f"{what}: {name} is of {array.dtype}, not of numbers")
    if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not x.size:
        raise InputError(
            f"{what}: x of shape {x.shape} and y of shape {y.shape}; x must be (rows, …) and y "
            "(rows,), and neither empty"
        )
    x = x.reshape(len(x), -1).astype(np.float64)
    wrong = np.argwhere(~np.isfinite(x))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(f"{what}: x has a {x[row, column]} in row {row}, column {column}")
    return x, y


def _target(
    what: str, y: np.ndarray, classes: tuple[str, ...], regression: bool
) -> tuple[np.ndarray, tuple[str, ...]]:
    """y as classes 0, 1, … with their names, or as numbers without."""
    if regression and (classes or y.dtype.kind == "U"):
        raise InputError(f"{what}: what is to be predicted are words or classes, not numbers")
    if y.dtype.kind == "f" or regression:
        if not np.isfinite(y).all():
            raise InputError(f"{what}: y has a {y[~np.isfinite(y)][0]}")
        return y.astype(np.float64), ()
    names, y = (classes, y) if classes else np.unique(y, return_inverse=True)
    if len(names) < 2:
        raise InputError(f"{what}: there is one class only, {names[0]}")
    if 2 * len(names) > len(y):
        raise InputError(
            f"{what}: {len(names)} different values in {len(y)} rows are hardly classes: "
            "--regression predicts them as numbers"
        )
    return y.astype(np.int64), tuple(map(str, names))
