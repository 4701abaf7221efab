"""The record of one operation in a random program: how chainrule, PyTorch and JAX spell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

import chainrule as cr

if TYPE_CHECKING:
    from tests.agree.builder import Builder

MARGIN = 1e-3  # how far a value keeps from a kink, a tie or a jump

Function = Callable[..., Any]
Drawn = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Entry:
    """One row of the table of `tests.agree.table`.

    `draw` chooses arguments from the values of a half-built program; `ways` are chainrule's
    spellings, which also take plain arrays and then compute with NumPy; a peer's function gets
    that peer's module first, and None says that the peer has no such function; `ok` looks at
    the NumPy values of the arguments and says whether all are far from kinks and ties.
    """

    name: str
    family: str
    draw: Callable[[Builder], Drawn]
    ways: tuple[Function, ...]
    torch: Function | None
    jax: Function | None
    ok: Function | None = None
    by_differences: bool = True  # whether its derivative is that of its value


@dataclass(frozen=True)
class Const:
    """An argument that is not differentiated: an array or a Python number."""

    value: Any


ENTRIES: dict[str, Entry] = {}


def entry(
    name: str,
    family: str,
    draw: Callable[[Builder], Drawn],
    *,
    ways: tuple[Function, ...] | None = None,
    torch: str | Function | None = None,
    jax: str | Function | None = None,
    ok: Function | None = None,
    by_differences: bool = True,
) -> Entry:
    """Enter a row; without `ways` the name is an op's, spelled in every way chainrule knows."""
    if name in ENTRIES:
        raise ValueError(f"two entries are called {name}")
    found = spellings(name) if ways is None else ways
    made = Entry(name, family, draw, found, _peer(torch), _peer(jax), ok, by_differences)
    ENTRIES[name] = made
    return made


def spellings(name: str) -> tuple[Function, ...]:
    """cr.sin, np.sin, scipy.special.erf: the ways to call one op."""
    import scipy.special

    op = cr.OPS[name]
    found = [op, *op.numpy]
    by_scipy = getattr(scipy.special, name, None)
    if isinstance(by_scipy, np.ufunc) and by_scipy not in found:
        found.append(by_scipy)
    return tuple(found)


def _peer(function: str | Function | None) -> Function | None:
    if not isinstance(function, str):
        return function
    path = attrgetter(function)
    return lambda module, *args, **attrs: path(module)(*args, **attrs)


def far_from(values: Any, *points: float) -> bool:
    """Whether no element lies within the margin of a point."""
    values = np.asarray(values)
    return all(bool(np.all(np.abs(values - p) > MARGIN)) for p in points)


def apart(x: Any, y: Any) -> bool:
    return far_from(np.subtract(x, y), 0.0)


def distinct(x: Any, axis: int | None = None) -> bool:
    """Whether no two elements along an axis (of the whole array if None) come near each other."""
    x = np.asarray(x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    return bool(np.all(np.diff(np.sort(x, axis), axis=axis) > MARGIN)) if x.ndim else True
