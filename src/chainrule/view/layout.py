"""Where everything in a picture of a graph stands: leaves on the left, the result on the right.

Columns (`layers.py`), the order within each (`crossings.py`), heights (`straighten.py`); here the
widths, and the wires.  All of it is linear in nodes and edges, and nothing is recursive.

A wire leaves its node on the right, runs level to the end of the column, curves in the gap to the
height it has in the next column, runs level through it, and so on, and ends at the left of
its child.  So it never passes over a node, and three numbers per column are all there is to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.view.crossings import ordered
from chainrule.view.layers import Layers, layers_of
from chainrule.view.straighten import heights_of

GAP = 30.0  # between columns, at the least
STEEP = 0.12  # of the height a wire climbs is added to the gap
WIDEST = 80.0  # that is added
APART = 12.0  # between the boxes in a column
WIRE = 5.0  # half the height that a wire passing through a column has for itself
PORT = 7.0  # between wires that end at one node
LEVEL = 0.5  # what does not climb more is drawn level


@dataclass(frozen=True)
class Layout:
    """Coordinates, x to the right and y down, of a picture of `width` × `height`.

    `x[v]` is the left end of node v and `y[v]` the height of its wire; `start[k]` and `end[k]` the
    horizontal extent of column k.  The trunk of node p crosses the columns after its own at the
    heights `places[first[p]:]`, as many as the wire in question needs; first[p] is -1 where there
    is none.  `entry[e]` is where edge e ends, relative to the child's wire.
    """

    x: np.ndarray
    y: np.ndarray
    layer: np.ndarray
    start: np.ndarray
    end: np.ndarray
    first: np.ndarray
    places: np.ndarray
    entry: np.ndarray
    width: float
    height: float

    def to_data(self) -> dict[str, Any]:
        """The fields as plain JSON data, to a tenth of a pixel."""
        return {
            name: (column.round(1) if column.dtype.kind == "f" else column).tolist()
            if isinstance(column, np.ndarray)
            else round(column, 1)
            for name, column in vars(self).items()
        }


def layout(
    tails: Sequence[int],
    heads: Sequence[int],
    widths: Sequence[float],
    halves: Sequence[float],
    leaves: Sequence[bool] = (),
) -> Layout:
    """Place nodes of these widths, each with room of `halves` above and below its wire.

    Edges are pairs of a tail and a later head, sorted by head.  A leaf stands at the end of its
    column, close to who uses it.
    """
    count = len(widths)
    layers = layers_of(count, tails, heads)
    columns = ordered(layers)
    room = [*halves, *[WIRE] * (len(layers.layer) - count)]
    y = np.array(heights_of(layers, columns, room, APART))
    top = float(np.min(y[:count] - np.asarray(halves), initial=np.inf)) if count else 0.0
    top = min(top, float(np.min(y[count:] - WIRE, initial=np.inf)))
    y -= top
    layer = np.array(layers.layer[:count], int)
    start, end = _extents(layers, y, np.asarray(widths, float))
    x = start[layer] if count else np.zeros(0)
    if len(leaves):
        moved = np.asarray(leaves, bool) & (layer > 0)
        x = np.where(moved, end[layer] - np.asarray(widths, float), x)
    first = np.array(layers.first, int)
    first = np.where(first < 0, -1, first - count)
    tail, head = np.asarray(tails, int), np.asarray(heads, int)
    return Layout(
        x,
        y[:count],
        layer,
        start,
        end,
        first,
        y[count:],
        _entries(head, _arrivals(tail, head, first, layer, y), y, np.asarray(halves, float)),
        float(end[-1]) if len(end) else 0.0,
        float(np.max(y + np.asarray(room), initial=0.0)),
    )


def _extents(layers: Layers, y: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each column begins and ends; where wires climb high, the gap before it is wider."""
    count = len(layers.columns)
    width, climb = np.zeros(count), np.zeros(count)
    np.maximum.at(width, np.array(layers.layer[: layers.nodes], int), widths)
    sizes = [len(near) for near in layers.left]
    heads = np.repeat(np.arange(len(sizes)), sizes)
    tails = np.fromiter((u for near in layers.left for u in near), int, len(heads))
    np.maximum.at(climb, np.array(layers.layer, int)[heads], np.abs(y[heads] - y[tails]))
    gaps = GAP + np.minimum(STEEP * climb, WIDEST)
    if count:
        gaps[0] = 0.0
    end = np.cumsum(gaps + width)
    return end - width, end


def _arrivals(
    tail: np.ndarray, head: np.ndarray, first: np.ndarray, layer: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """The height from which each edge comes to its child."""
    span = layer[head] - layer[tail]
    on_trunk = (span > 1) & (first[tail] >= 0)
    return y[np.where(on_trunk, len(layer) + first[tail] + span - 2, tail)]


def _entries(
    heads: np.ndarray, arrivals: np.ndarray, y: np.ndarray, halves: np.ndarray
) -> np.ndarray:
    """Where the edges into one child end, side by side, in the order in which they come."""
    entry = np.zeros(len(heads))
    if not len(heads):
        return entry
    order = np.lexsort((arrivals, heads))
    sizes = np.bincount(heads)
    first = np.cumsum(sizes) - sizes
    of = heads[order]
    rank = np.arange(len(order)) - first[of]
    step = np.minimum(PORT, 2 * halves[of] / np.maximum(sizes[of], 1))
    offset = (rank - (sizes[of] - 1) / 2) * step
    # One of two wires that comes level stays so.
    level = (np.abs(arrivals[order] - y[of]) < LEVEL) & (sizes[of] == 2)
    shift = np.zeros(len(sizes))
    shift[of[level]] = offset[level]
    entry[order] = offset - shift[of]
    return entry


def route(
    made: Layout, edge: int, tail: int, head: int, out: float
) -> Iterator[tuple[float, float]]:
    """The points of a wire that leaves at x = `out`: level to the second, a curve to the third …"""
    column, last = int(made.layer[tail]), int(made.layer[head])
    y, place = float(made.y[tail]), int(made.first[tail])
    yield out, y
    while place >= 0 and column + 1 < last:
        yield float(made.end[column]), y
        column, y, place = column + 1, float(made.places[place]), place + 1
        yield float(made.start[column]), y
    yield float(made.end[column]), y
    yield float(made.x[head]), float(made.y[head] + made.entry[edge])
