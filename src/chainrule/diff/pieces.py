"""Results of some lanes, and of all of them put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.batching import Lanes
from chainrule.core.containers import Structure
from chainrule.core.slot import Slot
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.indexing import gather


@dataclass
class Piece:
    """Results of some lanes; a leaf is `Lanes` where they differ."""

    lanes: np.ndarray
    leaves: list[Any]
    structure: Structure

    @property
    def first(self) -> int:
        return int(self.lanes[0]) if len(self.lanes) else 0


def combined(pieces: list[Piece], count: int) -> Piece:
    """All groups as one, in the order of the lanes."""
    one = pieces[0]
    if len(pieces) == 1:
        return one
    for piece in pieces[1:]:
        same_structure(one.structure, piece.structure, one.first, piece.first)
    order = np.argsort(np.concatenate([p.lanes for p in pieces]), kind="stable")
    leaves = []
    for at in range(len(one.leaves)):
        parts = [with_lanes(p.leaves[at], len(p.lanes)) for p in pieces]
        for piece, part in zip(pieces, parts, strict=True):
            if part.shape[1:] != parts[0].shape[1:]:
                raise ShapeError(
                    f"vmap: lane {one.first} returns shape {parts[0].shape[1:]} and lane "
                    f"{piece.first} {part.shape[1:]}; results of one shape can be put together"
                )
        leaves.append(Lanes(gather(np.concatenate(parts), order, template=(Slot(0),))))
    return Piece(np.arange(count), leaves, one.structure)


def same_structure(one: Structure, other: Structure, first: int, second: int) -> None:
    if one != other:
        raise ArgumentError(
            f"vmap: lane {first} returns {one} and lane {second} {other}: all lanes must return "
            "the same containers"
        )


def with_lanes(leaf: Any, count: int) -> Any:
    if type(leaf) is Lanes:
        return leaf.value
    leaf = leaf if hasattr(leaf, "shape") else np.asarray(leaf)
    return np.broadcast_to(leaf, (count, *leaf.shape))


def joined(parts: list[Any], at: int) -> Any:
    """One result of all chunks."""
    if len(parts) == 1:
        return parts[0]
    return Lanes(np.concatenate([p.value for p in parts])) if type(parts[0]) is Lanes else parts[0]
