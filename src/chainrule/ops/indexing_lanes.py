"""How indexing works on many lanes at once: the lanes are one more axis of the array or the index.

Where the index arrays are the same for all lanes, a slice over the lanes goes in front of the
index; where they differ, the numbers of the lanes do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, Lanes, lifted, rank_of
from chainrule.core.masked import concrete
from chainrule.core.slot import Slot

FULL = slice(None)
Template = tuple[Any, ...]


# -- basic indices -----------------------------------------------------------------------------


def getitem_lanes(call: BatchCall) -> Any:
    return call.call(call.raw(0), template=(FULL, *call.attrs["template"]))


def embed_lanes(call: BatchCall) -> Any:
    shape = (call.count, *call.attrs["shape"])
    return call.call(call.raw(0), template=(FULL, *call.attrs["template"]), shape=shape)


def setitem_lanes(call: BatchCall) -> Any:
    template = call.attrs["template"]
    hidden = call.rank(0) - sum(part is not None and part is not Ellipsis for part in template)
    rank = _axes_left(template, hidden) + (0 if Ellipsis in template else hidden)
    value = _value_of(call, rank) if call.on(1) else call.raw(1)
    return call.call(call.spread(0), value, template=(FULL, *template))


def _axes_left(template: Template, hidden: int) -> int:
    """How many axes the parts of an index leave that are neither numbers nor arrays."""
    return sum(
        hidden if part is Ellipsis else not isinstance(part, (int, Slot)) for part in template
    )


def _value_of(call: BatchCall, rank: int) -> Any:
    """The value to be written with `rank` axes behind the lanes; it may have more, of size one.

    Where it is the same for all lanes, it has an axis of size one in front.
    """
    value = call.raw(1) if call.on(1) else call.raw(1)[None]
    extra = value.ndim - 1 - rank
    if extra <= 0:
        return lifted(value, rank)
    return value.reshape((value.shape[0], *value.shape[1 + extra :]))


# -- indices with arrays -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Index:
    """An index with arrays: what is read has their `common` axes behind `at` others.

    `rank` is that of what is read in one lane.  Where the arrays are `apart`, NumPy puts the common
    axes first.  Where they `differ` by lane, they have as many axes as they have in common, behind
    the lanes.
    """

    template: Template
    arrays: list[Any]
    differ: bool
    common: int
    at: int
    apart: bool
    rank: int

    def lanes_first(self, out: Any) -> Any:
        """(lanes, common, before, after) as (lanes, before, common, after)."""
        return _swapped(out, self.common, self.at)

    def common_first(self, value: Any) -> Any:
        """The inverse of `lanes_first`."""
        return _swapped(value, self.at, self.common)

    def numbered(self, count: int) -> tuple[Template, list[Any]]:
        """The index with the numbers of the lanes in front."""
        template = (Slot(0), *(Slot(p.k + 1) if isinstance(p, Slot) else p for p in self.template))
        return template, [np.arange(count).reshape((count, *(1,) * self.common)), *self.arrays]


def _swapped(x: Any, first: int, second: int) -> Any:
    """x with two blocks of axes behind the first axis swapped."""
    if not (first and second):
        return x
    a, b = range(1, 1 + first), range(1 + first, 1 + first + second)
    return np.transpose(x, (0, *b, *a, *range(1 + first + second, x.ndim)))


def _index_of(call: BatchCall, first: int, rank: int) -> _Index:
    """The index whose arrays begin at operand `first`, into an array with `rank` axes."""
    template: Template = call.attrs["template"]
    arrays = list(call.args[first:])
    if any(type(a) is Lanes for a in arrays):
        template, arrays = _with_positions(call, template, first)
    common = max(map(_common_axes, arrays), default=0)
    # Without any array, numbers are no part of an index with arrays.
    places = [i for i, p in enumerate(template) if arrays and isinstance(p, (int, Slot))] or [0]
    apart = places[-1] - places[0] + 1 > len(places)
    hidden = rank - sum(_axes_used(part, arrays) for part in template)
    return _Index(
        template,
        [lifted(a.value, common) if type(a) is Lanes else a for a in arrays],
        any(type(a) is Lanes for a in arrays),
        common,
        0 if apart else _axes_left(template[: places[0]], hidden),
        apart,
        _axes_left(template, hidden) + (0 if Ellipsis in template else hidden) + common,
    )


def _common_axes(array: Any) -> int:
    """A mask is as good as lists of positions."""
    return 1 if _is_mask(array) else rank_of(array)


def _axes_used(part: Any, arrays: list[Any]) -> int:
    if not isinstance(part, Slot):
        return int(part is not None and part is not Ellipsis)
    array = arrays[part.k]
    return rank_of(array) if _is_mask(array) else 1


def _is_mask(array: Any) -> bool:
    array = array.value if type(array) is Lanes else array
    return bool(array.dtype == np.bool_)


def _with_positions(call: BatchCall, template: Template, first: int) -> tuple[Template, list[Any]]:
    """The index with the positions of what its masks pick in their place."""
    parts: list[Any] = []
    arrays: list[Any] = []
    for part in template:
        if isinstance(part, Slot):
            for positions in _positions(call, first + part.k):
                parts.append(Slot(len(arrays)))
                arrays.append(positions)
        else:
            parts.append(part)
    return tuple(parts), arrays


def _positions(call: BatchCall, i: int) -> Iterator[Any]:
    """The positions a mask picks, equally many in every lane; any other array as it is."""
    array = call.raw(i)
    if not _is_mask(array):
        yield call.args[i]
    elif call.rank(i) == 0:
        yield array[0] if call.on(i) else array  # all lanes pick the one element, or none does
    elif call.on(i):
        _, *found = np.nonzero(array)
        yield from (Lanes(p.reshape((call.count, p.shape[0] // call.count))) for p in found)
    else:
        yield from np.nonzero(array)


def gather_lanes(call: BatchCall) -> Any:
    index = _index_of(call, 1, call.rank(0))
    if not index.differ:
        out = call.call(call.spread(0), *index.arrays, template=(FULL, *index.template))
        return np.moveaxis(out, index.common, 0) if index.apart else out
    x = call.raw(0)
    if not call.on(0):
        out = call.call(x, *index.arrays, template=index.template)
        return np.moveaxis(out, index.at, 0) if index.at else out
    template, arrays = index.numbered(call.count)
    return index.lanes_first(call.call(x, *arrays, template=template))


def scatter_lanes(call: BatchCall) -> Any:
    shape = call.attrs["shape"]
    index = _index_of(call, 1, len(shape))
    g, changed = call.spread(0), (call.count, *shape)
    if index.differ:
        template, arrays = index.numbered(call.count)
        return call.call(index.common_first(g), *arrays, template=template, shape=changed)
    g = np.moveaxis(g, 0, index.common) if index.apart else g
    return call.call(g, *index.arrays, template=(FULL, *index.template), shape=changed)


def setitem_at_lanes(call: BatchCall) -> Any:
    masks = [a for i, a in enumerate(call.args) if i > 1 and call.on(i) and _is_mask(a)]
    if any(mask.value.ndim > 1 for mask in masks):
        one = _is_one_value(call)
        if one and _is_leading_mask(call):
            return _filled(call)
        recorded = not all(isinstance(mask.value, np.ndarray) for mask in masks)
        # Code that has a value for each has read how many there are.
        if (one and recorded) or not all(map(_picks_alike, masks)):
            return None
    index = _index_of(call, 2, call.rank(0))
    x, value = call.spread(0), call.raw(1)
    if call.on(1) or call.rank(1):
        value = _value_of(call, index.rank)
        if index.differ:
            value = index.common_first(value)
        elif index.apart:
            value = np.moveaxis(value, 0, index.common)
    if index.differ:
        template, arrays = index.numbered(call.count)
        return call.call(x, value, *arrays, template=template)
    return call.call(x, value, *index.arrays, template=(FULL, *index.template))


def _is_one_value(call: BatchCall) -> bool:
    """Whether `x[mask] = value` writes the same value wherever the mask picks."""
    behind = call.rank(0) - call.rank(2)
    shape = np.shape(call.raw(1))[int(call.on(1)) :]
    return len(shape) <= behind or shape[-behind - 1] == 1


def _is_leading_mask(call: BatchCall) -> bool:
    first, *rest = call.attrs["template"]
    alone = len(call.args) == 3 and isinstance(first, Slot)
    return alone and all(part is Ellipsis or part == FULL for part in rest)


def _filled(call: BatchCall) -> Any:
    """`x[mask] = value` of one value, where lanes may pick unlike many."""
    x, value, mask = call.spread(0), call.raw(1), call.raw(2)
    value = value if hasattr(value, "dtype") else np.asarray(value)
    value = value if value.dtype == x.dtype else value.astype(x.dtype)
    behind = call.rank(0) - call.rank(2)
    shape = value.shape[int(call.on(1)) :]
    last = shape[max(len(shape) - behind, 0) :]
    if call.on(1):
        last = (call.count, *(1,) * (call.rank(0) - len(last)), *last)
    return np.where(mask.reshape((*mask.shape, *(1,) * behind)), value.reshape(last), x)


def _picks_alike(mask: Lanes) -> bool:
    """Whether a mask picks equally many in every lane."""
    value = concrete(mask.value)
    counts = np.count_nonzero(value.reshape((len(value), -1)), axis=1)
    return bool((counts == counts[0]).all())
