"""The sum of pieces that stand each at its own index of one array: a `Scattered` is added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.masked import Masked, Scattered, unmasked
from chainrule.core.op import first_recorded
from chainrule.core.slot import Slot
from chainrule.ops.index import split_index
from chainrule.ops.indexing import embedded, scatter
from chainrule.ops.joining import concatenate

MAX_EMBEDDED_PIECES = 8  # a stencil's few slices are recorded as maps, which the compiler fuses
BASIC = frozenset((int, slice, type(None), type(Ellipsis)))

Piece = tuple[Any, tuple[Any, ...]]


def added(sum_of: Scattered) -> Any:
    """What waits and what is made as one value: `Masked`, unless every lane is alive."""
    pieces, rest, shape = sum_of.pieces, sum_of.rest, sum_of.shape
    value = _sum([(unmasked(p), at) for p, at in pieces], unmasked(rest), shape)
    if rest is not None and type(rest) is not Masked:
        return value
    lanes = [(_alive(p), at) for p, at in pieces]
    before = None if rest is None else rest.alive
    if first_recorded([before, *(p for p, _ in lanes)]) is None:
        alive = _sum(lanes, before, shape)
        return value if alive.all() else Masked(value, alive)
    counts = [(p.astype(np.float64), at) for p, at in lanes]
    alive = _sum(counts, None if before is None else before.astype(np.float64), shape) != 0
    return Masked(value, alive)


def _alive(piece: Any) -> Any:
    if type(piece) is Masked:
        return piece.alive
    return np.ones(piece.shape, bool) if piece.shape else np.True_


def _sum(pieces: Sequence[Piece], rest: Any, shape: tuple[int, ...]) -> Any:
    if len(pieces) == 1 and rest is None:
        return _placed(*pieces[0], shape)
    if first_recorded([rest, *(p for p, _ in pieces)]) is None:
        return _sum_of_arrays(pieces, rest, shape)
    if len(pieces) <= MAX_EMBEDDED_PIECES:
        for piece, index in pieces:
            placed = _placed(piece, index, shape)
            rest = placed if rest is None else rest + placed
        return rest
    lanes = np.arange(np.prod(shape)).reshape(shape)
    at = np.concatenate([lanes[index].reshape(-1) for _, index in pieces])
    flat = concatenate([piece for piece, _ in pieces], axis=None)
    placed = np.reshape(scatter(flat, at, template=(Slot(0),), shape=(lanes.size,)), shape)
    return placed if rest is None else rest + placed


def _placed(piece: Any, index: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    template, arrays = split_index(index)
    if not arrays:
        return embedded(piece, template, shape)
    return scatter(piece, *arrays, template=template, shape=shape)


def _sum_of_arrays(pieces: Sequence[Piece], rest: Any, shape: tuple[int, ...]) -> Any:
    """In place, in an array of our own; `add` of booleans is `or`."""
    out = np.zeros(shape, pieces[0][0].dtype) if rest is None else np.array(rest, order="C")
    lanes = None
    for piece, index in pieces:
        if all(type(part) in BASIC for part in index):
            out[index] += piece
            continue
        if lanes is None:  # NumPy adds fast at one flat index only
            lanes = np.arange(out.size).reshape(shape)
        np.add.at(out.reshape(-1), lanes[index].reshape(-1), np.reshape(piece, -1))
    return out
