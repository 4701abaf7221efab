"""Basic indices that differ from iteration to iteration by the numbers in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.slot import Slot
from chainrule.core.spec import Shape

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def form_of(template: tuple[Any, ...]) -> Any:
    """A basic index without its numbers."""
    return tuple([_form(part) for part in template])


def _form(part: Any) -> Any:
    if type(part) is int:
        return int
    if type(part) is slice:
        return tuple([bound is None for bound in _bounds(part)])
    return part


def _bounds(part: Any) -> tuple[Any, ...]:
    return (part.start, part.stop, part.step) if type(part) is slice else (part,)


def numbers_in(template: tuple[Any, ...]) -> list[int]:
    """The numbers in a basic index, in the order in which they stand."""
    numbers: list[int] = []
    for part in template:
        bounds = _bounds(part)
        numbers += [bound for bound in bounds if type(bound) is int]
    return numbers


def can_be_arrays(template: tuple[Any, ...], numbers: Numbers) -> bool:
    """Whether arrays can take the place of numbers that differ, for the same axes of the result."""
    differ = iter((numbers != numbers[0]).any(axis=0).tolist())
    slices = 0
    for part in template:
        bounds = _bounds(part)
        differs = [next(differ) for bound in bounds if type(bound) is int]
        slices += type(part) is slice and any(differs)
    return not slices or (slices == 1 and not any(type(part) is int for part in template))


def evenly(first: int, stride: int, count: int) -> slice:
    stop = first + stride * (count - 1) + (1 if stride > 0 else -1)
    return slice(first, stop if stop >= 0 else None, stride)


def spelled_out(template: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """An index that names every axis."""
    axes = sum(p is not None and p is not Ellipsis for p in template)
    rest = (slice(None),) * (ndim - axes)
    if Ellipsis not in template:
        return (*template, *rest)
    k = template.index(Ellipsis)
    return (*template[:k], *rest, *template[k + 1 :])


def place_of_number(template: tuple[Any, ...], number: int) -> int | None:
    """Where the n-th number of an index stands; None of one that bounds a slice."""
    for place, part in enumerate(template):
        bounds = _bounds(part)
        held = sum(type(bound) is int for bound in bounds)
        if number < held:
            return place if type(part) is int else None
        number -= held
    return None


def by_arrays(
    template: tuple[Any, ...], numbers: np.ndarray, shape: Shape
) -> tuple[tuple[Any, ...], list[np.ndarray]]:
    """An index of an array of this shape with arrays for what differs from iteration to iteration.

    Each is given for all iterations, row by row.
    """
    parts: list[Any] = []
    arrays: list[np.ndarray] = []
    columns = iter(numbers.T)
    lengths = iter(shape)
    for part in spelled_out(template, len(shape)):
        n = 0 if part is None else next(lengths)
        bounds = _bounds(part)
        rows = [
            next(columns).tolist() if type(bound) is int else [bound] * len(numbers)
            for bound in bounds
        ]
        if all(row.count(row[0]) == len(row) for row in rows):
            parts.append(part)
            continue
        parts.append(Slot(len(arrays)))
        if type(part) is slice:
            lanes = [np.arange(n)[slice(*row)] for row in zip(*rows, strict=True)]
            arrays.append(np.array(lanes, np.int64))
        else:
            arrays.append(np.array(rows[0], np.int64))
    return tuple(parts), arrays
