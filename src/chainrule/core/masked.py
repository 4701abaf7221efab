"""An adjoint or tangent in which some lanes are zero because no path leads through them.

Grammar of the idea: a *numeric* zero times infinity is NaN, and rightly so; a *structural* zero
times anything is zero.  `where`, `max`, `clip`, indexing and boolean masks produce structural
zeros, so they hand on a `Masked`: the value, and which lanes are alive.  Every rule then
computes as usual and what it computed in dead lanes is thrown away.

Where hardly a lane is alive, as in the adjoint of one slice of a long array, indexing hands on a
`Scattered` instead: the slice and its index.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.lazy_method import lazy_method
from chainrule.core.parts import Parts
from chainrule.core.picked import shape_of

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class Masked:
    """`value` with exact zeros wherever `alive` is false."""

    __slots__ = ("_weights", "alive", "value")
    __array_ufunc__ = None  # so that ndarray + Masked asks us

    def __init__(self, value: Any, alive: Mask):
        self.value, self.alive = value, alive
        self._weights: Any = None

    @property
    def weights(self) -> Any:
        """One where a lane is alive, else zero; made once, however many slices are read of it."""
        if self._weights is None:
            self._weights = self.alive.astype(np.float64)
        return self._weights

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Masked):
            return Masked(self.value + other.value, self.alive | other.alive)
        return other + self if type(other) is Scattered else self.value + other

    __radd__ = __add__


class Scattered:
    """Pieces, each at its own index in structural zeros of one shape: their sum, not yet made.

    A thousand slices of one array would make a thousand arrays of its size.  So their pieces wait
    until together they are as large as the array, and only then, or when the sum is asked for, are
    they added to `rest`.  Whoever holds a `Scattered` owns it: adding to it changes it.
    """

    __slots__ = ("dtype", "node", "pieces", "rest", "shape", "waiting")
    __array_ufunc__ = None

    def __init__(self, piece: Any, index: tuple[Any, ...], shape: tuple[int, ...]):
        self.shape, self.dtype = shape, piece.dtype
        self.pieces = [(piece, index)]
        self.rest: Any = None  # the part of the sum that is made
        self.waiting = prod(piece.shape)  # how many lanes the pieces have
        self.node: Any = None  # the first to contribute: what is recorded for the sum has its line

    def __add__(self, other: Any) -> Scattered:
        if type(other) is not Scattered:
            self.rest = other if self.rest is None else self.rest + other
            return self
        self.pieces += other.pieces
        self.waiting += other.waiting
        if self.waiting >= prod(self.shape):
            self.total()
        return self

    __radd__ = __add__

    def total(self) -> Any:
        """The sum as an array, a Variable or a `Masked`."""
        if self.pieces:
            self.rest = self._added()
            self.pieces, self.waiting = [], 0
        return self.rest

    def within(self, reached: Scattered) -> Scattered:
        """Its pieces restricted to the lanes in which those of `reached` are not zero."""
        pairs = zip(self.pieces, reached.pieces, strict=True)
        self.pieces = [(within(piece, plain(m) != 0), index) for (piece, index), (m, _) in pairs]
        return self

    _added = lazy_method("chainrule.ops.scattering", "added")


def unmasked(g: Any) -> Any:
    """The plain value of an adjoint or tangent."""
    return g.value if type(g) is Masked else g


def masked(value: Any, alive: Any) -> Any:
    """`value` with its dead lanes set to zero, whatever was computed there."""
    kind = type(alive)
    known = kind is np.ndarray or kind is np.bool_
    if known and b"\0" not in alive.tobytes():  # alive.all(), four times faster
        return value
    return Masked(np.where(alive, value, np.zeros((), value.dtype)), alive)


def within(value: Any, alive: Any) -> Any:
    """A rule's result restricted to the alive lanes of what it was computed from."""
    if value is None:
        return None
    if type(value) is Masked:
        return masked(value.value, value.alive & alive)
    if type(value) is Parts:
        return Parts([within(part, alive) for part in value.parts])
    if value.shape != alive.shape:  # one of them is constant along a broadcast axis
        shape = np.broadcast_shapes(value.shape, alive.shape)
        for known in (shape_of(value), shape_of(alive)):
            shape = known if known == shape else shape  # one that says where it was picked
        value, alive = np.broadcast_to(value, shape), np.broadcast_to(alive, shape)
    return masked(value, alive)


def plain(value: Any) -> Any:
    """The bare array behind a value that may be masked, recorded, or both.

    In a trace it is a Variable still, one that has no derivative: what a rule makes of it is then
    recorded, and computed anew when the graph runs at another point.
    """
    value = unmasked(value)
    return getattr(value, "_plain", value)


def concrete(value: Any) -> Any:
    """The array behind a value as it is now, for what no number in it decides: its layout."""
    value = unmasked(value)
    return getattr(value, "_value", value)


def settled(value: Any) -> Any:
    """A setting that decides a shape or a path, as the numbers it holds now: they are asked for,
    so that whoever runs a trace at another point can know that they must be the same there."""
    return np.asarray(value) if hasattr(value, "_plain") else value


def perhaps(lanes: Any) -> bool:
    """Whether a mask holds anywhere; in a trace it may, at another point, even where it does not.

    This is how a rule asks whether it can take a shortcut.
    """
    return hasattr(lanes, "_plain") or bool(lanes.any())


def gated(g: Any, weights: Any) -> Any:
    """`g` times weights whose zeros are structural: the rule of everything that selects."""
    weights = plain(weights)  # a gate is piecewise constant: it has no derivative of its own
    if weights.dtype.kind == "b":
        return within(g, weights)
    return within(g * weights, weights != 0)
