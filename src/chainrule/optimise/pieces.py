"""Arrays that are zero but for a slab: slabs that fill an axis are joined, none is masked twice."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chainrule.core.node import Node
from chainrule.optimise.algebra import Found, fits, is_number
from chainrule.optimise.rewrite import Rewrite, Sweep

MAX_SLABS = 16  # slabs, so that a sum of ever more terms is not looked through again and again


class Slab(NamedTuple):
    """An array that stands at [start, stop) of an axis, among zeros."""

    axis: int
    start: int
    stop: int
    array: Node


def _slab(node: Node) -> Slab | None:
    """The slab of an `embed`; None where its index cuts several axes, skips, or turns round."""
    shape, template = node.shape, node.attrs["template"]
    if Ellipsis in template or None in template or node.size == 0:
        return None
    cut = []
    for axis, part in enumerate(template):
        if isinstance(part, slice):
            start, stop, step = part.indices(shape[axis])
            if step != 1:
                return None
        else:
            start = int(part) % shape[axis]
            stop = start + 1
        if stop - start < shape[axis] or not isinstance(part, slice):
            cut.append((axis, start, stop))
    if len(cut) != 1 or cut[0][1] >= cut[0][2]:
        return None
    return Slab(*cut[0], node.args[0])


def _slabs(x: Any) -> list[Slab] | None:
    """The slabs that a sum of `embed`s is made of."""
    slabs: list[Slab] = []
    left = [x]
    while left:
        node = left.pop()
        if not isinstance(node, Node) or node.is_leaf or len(slabs) > MAX_SLABS:
            return None
        if node.op.name == "add":
            left += node.args
            continue
        slab = _slab(node) if node.op.name == "embed" else None
        if slab is None:
            return None
        slabs.append(slab)
    return slabs


def _joined(sweep: Sweep, node: Node) -> Found:
    """0.0 is added to each slab, as the zeros of the others were: it makes 0.0 of -0.0."""
    slabs = _slabs(node) if node.dtype.kind == "f" else None
    if not slabs or len({s.axis for s in slabs}) > 1:
        return None
    slabs.sort(key=lambda s: s.start)
    axis, at = slabs[0].axis, 0
    for slab in slabs:
        if slab.start != at:
            return None
        at = slab.stop
    if at != node.shape[axis]:
        return None
    parts = []
    for _, start, stop, array in slabs:
        shape = (*node.shape[:axis], stop - start, *node.shape[axis + 1 :])
        if array.shape != shape:
            array = sweep.made("reshape", (array,), node, {"shape": shape}, shape)
        parts.append(sweep.made("add", (array, 0.0), node, shape=shape))
    return sweep.made("concatenate", parts, node, {"axis": axis})


def _zero_already(sweep: Sweep, node: Node) -> Found:
    """A mask of structural zeros over slabs among zeros: it is true in every slab."""
    condition, x, zero = node.args
    mask = sweep.constants.get(condition) if isinstance(condition, Node) else condition
    if mask is None or not fits(x, node) or not is_number(sweep.number(zero), 0.0):
        return None
    slabs = _slabs(x)
    if not slabs:
        return None
    whole = np.broadcast_to(mask, node.shape)
    for slab in slabs:
        if not whole[(slice(None),) * slab.axis + (slice(slab.start, slab.stop),)].all():
            return None
    return x


PIECES = (
    Rewrite(
        "zero already",
        "where(c, embed(x), 0) = embed(x), where c is true in the slab",
        ("where",),
        ("embed", "add"),
        _zero_already,
    ),
    Rewrite(
        "joined",
        "embed(x) + embed(y) = concatenate(x + 0, y + 0), where they fill an axis",
        ("add",),
        ("embed",),
        _joined,
    ),
)
