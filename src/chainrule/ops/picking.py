"""Ops on arrays picked by a mask, kept whole: indices, shapes, means and products.

`core.picked` has the kinds that most ops are of: those that work lane by lane, and reductions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.picked import (
    UNKNOWN,
    Kept,
    OnPicked,
    Picked,
    aligned,
    filled,
    gone_axes,
    highest,
    lowest,
    mask_on,
    picked_operands,
    reduced_axis,
    shape_of,
)
from chainrule.core.slot import Slot

FULL = slice(None)


def count_of(x: Any, axis: Any, dtype: Any) -> Any:
    """How many elements of x, an array or a node, are reduced into one.

    A recorded number where a mask has picked them; it is of a dtype that promotes no quotient.
    """
    shape = shape_of(x)
    gone = gone_axes(len(shape), axis)
    size = 1
    for a in gone:
        size *= shape[a]
    if type(shape) is not Picked or shape.axis not in gone:
        return size
    real = np.empty(0, dtype if np.dtype(dtype).kind in "fc" else np.float64).real.dtype
    others = size // shape[shape.axis]
    return (shape.count if others == 1 else shape.count * others).astype(real)


# -- reading and writing by a mask -------------------------------------------------------------


def _only_mask(first: int) -> Any:
    """The mask of an index that holds one mask, no other array, and no number apart from it."""

    def mask(node: Node) -> Node | None:
        template, arrays = node.attrs["template"], (node.args or ())[first:]
        at = [i for i, p in enumerate(template) if isinstance(p, (int, Slot))]
        if len(arrays) != 1 or at[-1] - at[0] + 1 != len(at):
            return None
        found = arrays[0]
        alone = isinstance(found, Node) and found.dtype == bool and found.ndim > 0
        return found if alone else None

    return mask


def _axis_read(template: Any, mask: Node, ndim: int) -> int:
    """The axis of x[template] that the mask picks, where x has `ndim` axes."""
    at = next(i for i, p in enumerate(template) if isinstance(p, Slot))
    axis = 0
    for part in template[:at]:
        if part is Ellipsis:
            used = sum(p is not None and p is not Ellipsis for p in template) - 1 + mask.ndim
            axis += ndim - used
        elif not isinstance(part, int):
            axis += 1
    return axis


def _whole_template(template: Any, mask: Node) -> Any:
    """The index that reads the lanes in the mask and those beside it; () if that is all."""
    parts: list[Any] = []
    for part in template:
        parts.extend([FULL] * mask.ndim if isinstance(part, Slot) else [part])
    return () if all(p == FULL or p is Ellipsis for p in parts) else tuple(parts)


def _gather_axis(node: Node) -> int | None:
    mask = _gather_mask(node)
    if mask is None or picked_operands(node):
        return UNKNOWN
    return _axis_read(node.attrs["template"], mask, node.args[0].ndim)


def _gather_whole(b: Any, node: Node, x: Any, mask: Any, *more: Any) -> Any:
    template = node.attrs["template"]
    if _gather_mask(node) is None or _is_kept(x, mask) or not isinstance(x, Node):
        return None
    part = _whole_template(template, mask)
    return b.op("getitem", x, template=part) if part else x


def _is_kept(*operands: Any) -> bool:
    return any(isinstance(o, Kept) for o in operands)


def _not_picked(node: Node) -> int | None:
    """The result is as large as the array that is written to."""
    return None


def _scatter_whole(b: Any, node: Node, g: Any, mask: Any, *more: Any) -> Any:
    template, shape = node.attrs["template"], node.attrs["shape"]
    if _gather_mask(node) is None or not _fits(g, mask, template, len(shape)):
        return None
    zeroed, part = filled(b, g, 0), _whole_template(template, mask)
    return b.op("embed", zeroed, template=part, shape=shape) if part else zeroed


def _fits(c: Any, mask: Any, template: Any, ndim: int) -> bool:
    """Whether an array was picked as this index would."""
    if not isinstance(c, Kept) or c.mask is not mask:
        return False
    return c.axis == _axis_read(template, mask, ndim)


def _setitem_whole(b: Any, node: Node, x: Any, value: Any, mask: Any, *more: Any) -> Any:
    template = node.attrs["template"]
    if _written_mask(node) is None or _is_kept(x, mask) or not isinstance(x, Node):
        return None
    part, axis = _whole_template(template, mask), _axis_read(template, mask, x.ndim)
    old = Kept(b.op("getitem", x, template=part) if part else x, mask, axis)
    if isinstance(value, Kept) and not _fits(value, mask, template, x.ndim):
        return None
    new = aligned(b, value, old, axis - old.ndim)
    if new is None or len(np.shape(new)) > old.node.ndim:
        return None
    if isinstance(value, Kept):
        new = value.node
    if getattr(new, "dtype", x.dtype) != x.dtype:
        new = b.op("astype", new, dtype=x.dtype) if isinstance(new, Node) else x.dtype.type(new)
    chosen = b.op("where", mask_on(b, old), new, old.node)
    if chosen.spec != old.node.spec:
        return None
    return b.op("setitem", x, chosen, template=part) if part else chosen


_gather_mask, _written_mask = _only_mask(1), _only_mask(2)
READ = OnPicked(_gather_axis, _gather_whole, _gather_mask)
SCATTERED = OnPicked(_not_picked, _scatter_whole, _gather_mask)
WRITTEN = OnPicked(_not_picked, _setitem_whole, _written_mask)


# -- shapes ------------------------------------------------------------------------------------


def _spread_axis(node: Node) -> int | None:
    """Only a shape that was handed on is known to be that of a picked array."""
    shape = node.attrs["shape"]
    return shape.axis if type(shape) is Picked else UNKNOWN


def _spread_whole(b: Any, node: Node, x: Any) -> Any:
    shape = node.attrs["shape"]
    mask = b.mask(shape)
    kept = x if isinstance(x, Kept) else Kept(mask, mask, 0)
    place = shape.axis - len(shape)
    value = x.node if isinstance(x, Kept) else aligned(b, x, kept, place)
    if value is None or kept.mask is not mask or kept.axis - kept.ndim not in (place, -1):
        return None
    if isinstance(x, Kept) and x.axis - x.ndim != place:
        return None
    return b.op("broadcast_to", value, shape=b.whole_shape(shape))


def _reshaped_axis(node: Node) -> int | None:
    """Axes of size one may come and go; the size of the picked one is handed on, or found out."""
    (*_, x) = picked_operands(node)[:1]
    shape = node.attrs["shape"]
    wanted = shape if isinstance(shape, tuple) else (shape,)
    if [n for n in x if n != 1] != [n for n in node.shape if n != 1]:
        return UNKNOWN
    number = sum(n != 1 for n in x[: x.axis])
    axis = [i for i, n in enumerate(node.shape) if n != 1][number]
    handed_on = type(shape) is Picked and shape.axis == axis
    return axis if handed_on or wanted[axis] == -1 else UNKNOWN


def _reshaped_whole(b: Any, node: Node, x: Any) -> Any:
    shape = node.shape
    if not isinstance(x, Kept) or type(shape) is not Picked or b.mask(shape) is not x.mask:
        return None
    return b.reshape(x.node, b.whole_shape(shape))


def _parts(template: Any, ndim: int) -> list[Any]:
    """A basic index with a part for every axis."""
    used = sum(p is not None and p is not Ellipsis for p in template)
    parts = list(template) if Ellipsis in template else [*template, Ellipsis]
    at = parts.index(Ellipsis)
    return [*parts[:at], *[FULL] * (ndim - used), *parts[at + 1 :]]


def _part_axis(node: Node) -> int | None:
    """All of the picked axis is read, whatever is read of the others."""
    (x,) = picked_operands(node)[:1]
    axis = of = 0
    for part in _parts(node.attrs["template"], len(x)):
        if part is not None and of == x.axis:
            return axis if part == FULL else UNKNOWN
        of += part is not None
        axis += not isinstance(part, int)
    return UNKNOWN


def _part_template(node: Node, axis: int, ndim: int, more: int) -> Any:
    parts, of = [], 0
    for part in _parts(node.attrs["template"], ndim):
        parts.extend([FULL] * (more + 1) if part is not None and of == axis else [part])
        of += part is not None
    return tuple(parts)


def _part_whole(b: Any, node: Node, x: Any) -> Any:
    template = _part_template(node, x.axis, x.ndim, x.mask.ndim - 1)
    return b.op("getitem", x.node, template=template)


def _embedded_axis(node: Node) -> int | None:
    shape = node.attrs["shape"]
    return shape.axis if type(shape) is Picked else UNKNOWN


def _embedded_whole(b: Any, node: Node, x: Any) -> Any:
    shape = node.attrs["shape"]
    if not isinstance(x, Kept) or b.mask(shape) is not x.mask:
        return None
    template = _part_template(node, shape.axis, len(shape), x.mask.ndim - 1)
    return b.op("embed", x.node, template=template, shape=b.whole_shape(shape))


def _turned_axis(node: Node) -> int | None:
    (x,) = picked_operands(node)
    if x.mask.ndim > 1:
        return UNKNOWN
    axes = node.attrs["axes"]
    order = list(range(len(x)))[::-1] if axes is None else list(gone_axes(len(x), axes))
    return order.index(x.axis)


def _turned_whole(b: Any, node: Node, x: Any) -> Any:
    return b.op("transpose", x.node, axes=node.attrs["axes"])


SPREAD = OnPicked(_spread_axis, _spread_whole)
RESHAPED = OnPicked(_reshaped_axis, _reshaped_whole)
PART = OnPicked(_part_axis, _part_whole)
EMBEDDED = OnPicked(_embedded_axis, _embedded_whole)
TURNED = OnPicked(_turned_axis, _turned_whole)


# -- means, and whether all are equal ----------------------------------------------------------


def _mean_whole(b: Any, node: Node, x: Kept) -> Any:
    gone = gone_axes(x.ndim, node.attrs["axis"])
    axes = x.axes(gone)
    if x.axis not in gone:
        return b.op(node.op, x.node, **{**node.attrs, "axis": axes})
    if node.dtype.kind not in "fc" or node.dtype.itemsize < 4:  # NumPy adds halves up as singles
        return None
    total = b.op("sum", filled(b, x, 0), axis=axes, dtype=node.dtype)
    size = 1
    for a in set(axes).difference(range(x.axis, x.axis + x.mask.ndim)):
        size *= x.node.shape[a]
    count = b.op("astype", b.op("sum", x.mask), dtype=np.empty(0, node.dtype).real.dtype)
    if size != 1:
        count = b.op("multiply", count, size)
    return b.reshape(b.op("divide", total, count), node.shape)


def _equal_whole(b: Any, node: Node, x: Kept) -> Any:
    """The largest is the smallest; of nothing neither is, as NumPy has it here."""
    gone = gone_axes(x.ndim, node.attrs["axis"])
    axes = x.axes(gone)
    if x.axis not in gone:
        return b.op(node.op, x.node, **{**node.attrs, "axis": axes})
    if x.node.dtype.kind != "f" or node.attrs["skip_nan"]:
        return None
    ends = [
        b.op(name, filled(b, x, beyond(x.node.dtype)), axis=axes)
        for name, beyond in (("max", lowest), ("min", highest))
    ]
    return b.reshape(b.op("equal", *ends), node.shape)


MEAN = OnPicked(reduced_axis, _mean_whole)
ALL_EQUAL = OnPicked(reduced_axis, _equal_whole)


# -- what keeps the axis that it sums over -----------------------------------------------------


def _row_axis(node: Node) -> int | None:
    (shape,) = picked_operands(node)
    return int(shape.axis)


def _softmax_whole(b: Any, node: Node, x: Kept) -> Any:
    gone = gone_axes(x.ndim, node.attrs["axis"])
    value = filled(b, x, -np.inf) if x.axis in gone else x.node
    return None if x.node.dtype.kind != "f" else b.op(node.op, value, axis=x.axes(gone))


def _unit_whole(b: Any, node: Node, x: Kept) -> Any:
    axis = node.attrs["axis"]
    gone = gone_axes(x.ndim, axis)
    value = filled(b, x, 0) if x.axis in gone else x.node
    return b.op(node.op, value, axis=None if axis is None else x.axes(gone))


SOFTMAX = OnPicked(_row_axis, _softmax_whole)
UNIT_VECTOR = OnPicked(_row_axis, _unit_whole)


# -- products ----------------------------------------------------------------------------------


def _product_axis(node: Node) -> int | None:
    x, y = (a.shape for a in node.args)
    on = [type(s) is Picked for s in (x, y)]
    if all(on) and len(x) == len(y) == 1:
        return None
    if len(x) > 2 or len(y) > 2 or any(s.mask.ndim > 1 for s in picked_operands(node)):
        return UNKNOWN
    summed = x.axis == len(x) - 1 if on[0] else y.axis == max(len(y) - 2, 0)
    if all(on):
        return None if summed and y.axis == max(len(y) - 2, 0) else UNKNOWN
    if summed:
        return UNKNOWN  # as long as the picked one, but not picked
    return 0 if on[0] else len(x) - 1


def _product_whole(b: Any, node: Node, x: Any, y: Any) -> Any:
    if not (isinstance(x, Kept) and isinstance(y, Kept)):
        return b.op(node.op, *(o.node if isinstance(o, Kept) else o for o in (x, y)))
    if x.mask is not y.mask:
        return None
    if x.ndim == y.ndim == 1:
        product = Kept(b.op("multiply", x.node, y.node), x.mask, 0)
        return b.op("sum", filled(b, product, 0))
    return b.op(node.op, filled(b, x, 0), filled(b, y, 0))


PRODUCT = OnPicked(_product_axis, _product_whole)
