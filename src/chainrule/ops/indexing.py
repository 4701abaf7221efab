"""Reading and writing parts of an array by an index: x[index] and x[index] = value.

An index is a static `template` with a `Slot` where an array stands; its arrays are inputs like any
other.  There are three ops for each kind of index:

              read       its transpose    write
    basic     getitem    embed            setitem       integers, slices, newaxis, …: NumPy's views
    arrays    gather     scatter          setitem_at    copies, in which a lane may stand repeatedly
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.depends import FILLS
from chainrule.core.masked import Masked, Scattered, perhaps, within
from chainrule.core.op import OPS, Op, Sample, first_recorded, sample
from chainrule.core.slot import Slot
from chainrule.core.spec import Spec, broadcast_shapes, dummy
from chainrule.errors import DTypeError
from chainrule.ops.define import linear
from chainrule.ops.index import Template, fill_index, split_index
from chainrule.ops.indexing_lanes import (
    embed_lanes,
    gather_lanes,
    getitem_lanes,
    scatter_lanes,
    setitem_at_lanes,
    setitem_lanes,
)
from chainrule.ops.joining import as_array
from chainrule.ops.picking import EMBEDDED, PART, READ, SCATTERED, WRITTEN
from chainrule.ops.samples import draw
from chainrule.ops.structure import refuse_loss

PLAIN = (np.ndarray, np.generic)
MAX_DENSE_LANES = 1024  # up to here a full array costs less than one that waits for its sum


def take_index(x: Any, index: Any) -> Any:
    """x[index] of an array or a Variable, where the index may hold Variables."""
    template, arrays = split_index(index)
    return gather(x, *arrays, template=template) if arrays else getitem(x, template=template)


def put_index(x: Any, index: Any, value: Any) -> Any:
    """A copy of x in which x[index] = value, for arrays and Variables."""
    template, arrays = split_index(index)
    if not arrays:
        return setitem(x, value, template=template)
    return setitem_at(x, as_array(value), *arrays, template=template)


# -- basic indices: no lane is read twice -----------------------------------------------------


def _alive(shape: tuple[int, ...], template: Template, arrays: Any = ()) -> Any:
    """Which lanes of an array of `shape` an index reads."""
    alive = np.zeros(shape, bool)
    if arrays and first_recorded(arrays) is not None:
        return setitem_at(alive, np.True_, *arrays, template=template)
    alive[fill_index(template, arrays) if arrays else template] = True
    return alive


def _pull_getitem(g: Any, x_spec: Any, template: Template) -> Any:
    """The transpose of reading: zeros, structural ones, but for the lanes that were read."""
    shape = x_spec.shape
    lanes = prod(shape)
    if prod(g.shape) == lanes:
        return embedded(g, template, shape)
    if lanes > MAX_DENSE_LANES:
        return Scattered(g, template, shape)
    return Masked(embedded(g, template, shape), _alive(shape, template))


def _getitem_variant(x: Any, *arrays: Any, template: Template) -> tuple[Op, list[Any]] | None:
    return (gather, [x, *arrays]) if arrays else None


def _refuse_other_than_integers(arrays: Any) -> None:
    for array in arrays:
        if array.dtype.kind not in "iub":
            raise DTypeError(
                f"an index is made of integers or booleans, not {array.dtype.name}: write "
                "x[i.astype(int)]; where a number became a leaf (cr.trace, cr.check_grads), pass "
                "it as a constant, lambda x: f(x, 3)"
            )


def _picks(x: Any, *arrays: Any, template: Template) -> bool:
    return any(a.dtype == bool for a in arrays)


def _index_spec(x: Any, *arrays: Any, template: Template) -> Spec | None:
    """None for a boolean index, whose result's size depends on its values."""
    _refuse_other_than_integers(arrays)
    if _picks(x, *arrays, template=template):
        return None
    return Spec(_read_shape(x, arrays, template), x.dtype)


def _read_shape(x: Any, arrays: Any, template: Template) -> tuple[int, ...]:
    """NumPy's rule: the arrays' common axes take the place of the axes they index, if these stand
    together, else they come first; a number beside arrays counts as one of them."""
    read = dummy(x)[tuple(slice(None) if isinstance(p, Slot) else p for p in template)].shape
    at = [i for i, p in enumerate(template) if isinstance(p, (int, Slot))]
    together = at[-1] - at[0] + 1 == len(at)
    hidden = x.ndim - sum(p is not None and p is not Ellipsis for p in template)
    sizes = iter(read)
    before: list[int] = []
    after: list[int] = []
    for i, part in enumerate((*template, *[Ellipsis][: Ellipsis not in template])):
        if not isinstance(part, int):  # a number has no axis in `read`
            found = [next(sizes) for _ in range(hidden if part is Ellipsis else 1)]
            if not isinstance(part, Slot):
                (before if together and i < at[0] else after).extend(found)
    return (*before, *broadcast_shapes([a.shape for a in arrays]), *after)


getitem = linear(
    "getitem",
    lambda x, template: x[template],
    _pull_getitem,
    samples=lambda: [
        sample(draw((3, 4), -2, 2), template=(1,)),
        sample(draw((3, 4), -2, 2), template=(-1, -4)),
        sample(draw((3, 4), -2, 2), template=(slice(None, None, -1), 2)),
        sample(draw((3, 4), -2, 2), template=(Ellipsis, None, slice(1, 3))),
        sample(draw((3, 4), -2, 2), template=(slice(5, 0, -2), slice(3, 3))),
        sample(draw((3,), -2, 2).astype(np.float32), template=(slice(1, None),)),
        sample(draw((3,), -2, 2) + 1j, template=(slice(None, None, 2),)),
        sample(draw((), -2, 2), template=(None,)),
        sample(draw((), -2, 2), template=()),
    ],
    bad=lambda: [
        sample(draw((3,), -2, 2), template=(3,)),
        sample(draw((3,), -2, 2), template=(0, 0)),
        sample(draw((3,), -2, 2), template=(slice(0, 1.5),)),
    ],
    view=True,
    variant=_getitem_variant,
    doc="x[index] for a basic index, `template`; an index with arrays is recorded as `gather`.",
    lower=lambda b, x, template: b.getitem(x, template),
    picked=PART,
    symbol="x[i]",
    batch=getitem_lanes,
    by_arrays="gather",
)


def _embed(x: Any, template: Template, shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, x.dtype)
    out[template] = x
    return out if shape else out[()]


def embedded(x: Any, template: Template, shape: tuple[int, ...]) -> Any:
    """`embed`, on arrays without the way through its record: a hot rule."""
    return (_embed if isinstance(x, PLAIN) else embed)(x, template, shape)


embed = linear(
    "embed",
    _embed,
    lambda g, template: getitem(g, template=template),
    depends=FILLS,
    samples=lambda: [
        sample(draw((2,), -2, 2), template=(slice(1, 3),), shape=(4,)),
        sample(draw((), -2, 2), template=(1, -1), shape=(2, 3)),
        sample(draw((2, 1), -2, 2), template=(slice(None, None, -1), None), shape=(2,)),
        sample(draw((1,), -2, 2).astype(np.float32), template=(None,), shape=()),
    ],
    bad=lambda: [sample(draw((2,), -2, 2), template=(slice(1, 3),), shape=(2,))],
    spec=lambda x, template, shape: Spec(shape, x.dtype),
    doc="Zeros of `shape` in which x stands at a basic index: the transpose of x[index].",
    lower=lambda b, x, template, shape: b.embed(x, template, shape),
    picked=EMBEDDED,
    batch=embed_lanes,
    by_arrays="scatter",
)


def _to_write(x: Any, value: Any) -> Any:
    """A copy of x that can take the value in."""
    if hasattr(value, "dtype"):
        refuse_loss(value.dtype, x.dtype)
    return np.array(x)


def _setitem(x: Any, value: Any, template: Template) -> Any:
    out = _to_write(x, value)
    out[template] = value
    return out if out.ndim else out[()]


def _rest(g: Any, template: Template) -> Any:
    """What was not overwritten keeps its adjoint; the rest is a structural zero."""
    overwritten = _alive(g.shape, template)
    if overwritten.all():
        return None
    return Masked(setitem(g, 0, template=template), ~overwritten)


def _written(g: Any, value_spec: Any, template: Template) -> Any:
    return _with_axes(getitem(g, template=template), value_spec)


def _with_axes(c: Any, value_spec: Any) -> Any:
    """A value may have more axes than its place, of size one; the walk undoes broadcasting."""
    missing = len(value_spec.shape) - len(c.shape)
    return np.reshape(c, (1,) * missing + c.shape) if missing > 0 else c


def _setitem_variant(
    x: Any, value: Any, *arrays: Any, template: Template
) -> tuple[Op, list[Any]] | None:
    return (setitem_at, [x, value, *arrays]) if arrays else None


setitem = linear(
    "setitem",
    _setitem,
    (_rest, _written),
    inputs=("x", "value"),
    samples=lambda: [
        sample(draw((3, 4), -2, 2), np.float64(0.5), template=(1,)),
        sample(draw((3, 4), -2, 2), 2, template=(slice(None), -1)),
        sample(draw((3, 4), -2, 2), draw((4,), -2, 2, 1), template=(slice(0, 2),)),
        sample(draw((3, 4), -2, 2), draw((1, 1, 4), -2, 2, 1), template=(slice(0, 2),)),
        sample(draw((3,), -2, 2), draw((3,), -2, 2, 1), template=(slice(None, None, -1),)),
        sample(draw((3,), -2, 2), draw((0,), -2, 2, 1), template=(slice(2, 2),)),
        sample(draw((3,), -2, 2).astype(np.float32), draw((), -2, 2), template=(0,)),
        sample(draw((3,), -2, 2) + 1j, draw((), -2, 2), template=(0,)),
        sample(draw((), -2, 2), draw((), -2, 2, 1), template=()),
    ],
    bad=lambda: [
        sample(draw((3,), -2, 2), draw((2,), -2, 2), template=(slice(None),)),
        sample(draw((3,), -2, 2), draw((), -2, 2), template=(3,)),
    ],
    spec=lambda x, value, template: Spec(x.shape, x.dtype),
    variant=_setitem_variant,
    doc="A copy of x in which x[index] = value, for a basic index.",
    lower=lambda b, x, value, template: b.setitem(x, value, template),
    batch=setitem_lanes,
    by_arrays="setitem_at",
)


# -- indices with arrays: a lane may be read or written several times --------------------------


def _gather(x: Any, *arrays: Any, template: Template) -> Any:
    return x[fill_index(template, arrays)]


def _pull_gather(g: Any, xs_spec: Any, fixed: Any, template: Template) -> list[Any]:
    """The transpose of reading: a lane read twice gets both; unread lanes are structural zeros."""
    shape, arrays = xs_spec[0].shape, fixed[1:]
    lanes = prod(shape)
    if prod(g.shape) < lanes > MAX_DENSE_LANES and first_recorded(arrays) is None:
        return [Scattered(g, fill_index(template, arrays), shape), *[None] * len(arrays)]
    value = scatter(g, *arrays, template=template, shape=shape)
    alive = _alive(shape, template, arrays)
    return [Masked(value, alive) if perhaps(~alive) else value, *[None] * len(arrays)]


def _gathers() -> list[Sample]:
    x = draw((3, 4), -2, 2)
    rows, columns = np.array([0, 2, 2]), np.array([1, 1, 3])
    keep, one, slot = np.array([True, False, True]), np.array([False, True, False]), Slot(0)
    return [
        sample(x, rows, template=(slot,)),
        sample(x, rows, columns, template=(slot, Slot(1))),
        sample(x, rows[:, None], columns, template=(slot, Slot(1))),
        sample(x, np.int64(-1), template=(Ellipsis, slot)),
        sample(x, keep, template=(slot, slice(0, 2))),
        sample(x, one, columns, template=(slot, Slot(1))),  # one row, read three times
        sample(x, x > 0, template=(slot,)),
        sample(x, np.zeros((0, 2), int), template=(slot,)),
        sample(draw((2, 3, 2), -2, 2), rows % 2, template=(1, slice(None), slot)),
        sample(draw((2, 3, 2), -2, 2), rows % 2, rows % 2, template=(slot, slice(None), Slot(1))),
        sample(draw((4,), -2, 2).astype(np.float32), rows, template=(slot,)),
        sample(draw((4,), -2, 2) + 1j, rows, template=(slot,)),
        sample(draw((), -2, 2), np.True_, template=(slot,)),
    ]


gather = linear(
    "gather",
    _gather,
    _pull_gather,
    inputs=("xs",),
    variadic=True,
    fixed_from=1,
    samples=_gathers,
    bad=lambda: [
        sample(draw((3,), -2, 2), np.array([0, 3]), template=(Slot(0),)),
        sample(draw((3,), -2, 2), np.array([True, False]), template=(Slot(0),)),
        sample(draw((3,), -2, 2), np.array([0.0, 1.0]), template=(Slot(0),)),
    ],
    spec=_index_spec,
    sizes=lambda x, *arrays, template: [
        OPS["count_nonzero"](a) for a in arrays if a.dtype == np.bool_
    ],
    by_value=_picks,
    doc="x[index] for an index with arrays: `template` holds its static part.",
    lower=lambda b, x, *arrays, template: b.gather(x, arrays, template),
    picked=READ,
    raises=lambda x, *arrays: any(a.dtype.kind in "iu" for a in arrays),
    symbol="x[i]",
    batch=gather_lanes,
)


def _scatter(g: Any, *arrays: Any, template: Template, shape: tuple[int, ...]) -> Any:
    """Lanes by their number, because NumPy adds fast at one flat index only."""
    out = np.zeros(shape, g.dtype)
    index = fill_index(template, arrays)
    if np.count_nonzero(_alive(shape, index)) == g.size:
        out[index] = g
    else:
        lanes = np.arange(out.size).reshape(shape)[index]
        np.add.at(out.reshape(-1), lanes.reshape(-1), np.reshape(g, -1))
    return out if shape else out[()]


scatter = linear(
    "scatter",
    _scatter,
    lambda g, fixed, template: [gather(g, *fixed[1:], template=template), *[None] * len(fixed[1:])],
    inputs=("xs",),
    variadic=True,
    fixed_from=1,
    depends=FILLS,
    samples=lambda: [
        sample(draw((3,), -2, 2), np.array([0, 2, 2]), template=(Slot(0),), shape=(4,)),
        sample(draw((3,), -2, 2), np.array([0, -1, 2]), template=(Slot(0),), shape=(4,)),
        sample(draw((3, 2), -2, 2), np.array([0, 2, 2]), template=(Slot(0),), shape=(4, 2)),
        sample(draw((0,), -2, 2), np.zeros(0, int), template=(Slot(0),), shape=(2,)),
    ],
    spec=lambda g, *arrays, template, shape: Spec(shape, g.dtype),
    doc="Zeros of `shape` to which g is added at the index: the transpose of `gather`.",
    lower=lambda b, g, *arrays, template, shape: b.scatter(g, arrays, template, shape),
    picked=SCATTERED,
    batch=scatter_lanes,
)


def _setitem_at(x: Any, value: Any, *arrays: Any, template: Template) -> Any:
    out = _to_write(x, value)
    out[fill_index(template, arrays)] = value
    return out if out.ndim else out[()]


def _written_spec(x: Any, value: Any, *arrays: Any, template: Template) -> Spec:
    _refuse_other_than_integers(arrays)
    return Spec(x.shape, x.dtype)


def _pull_setitem_at(
    g: Any, xs_spec: Any, fixed: Any, active: tuple[bool, ...], template: Template
) -> list[Any]:
    """Lanes written to pass their adjoint to the value, the others keep it for x."""
    arrays = fixed[2:]
    overwritten = _alive(g.shape, template, arrays)
    kept = ~overwritten
    rest = into = None
    if active[0] and perhaps(kept):
        rest = Masked(np.where(overwritten, np.zeros((), g.dtype), g), kept)
    if active[1]:
        read = gather(g, *arrays, template=template)
        into = _with_axes(read, xs_spec[1])
        traced = first_recorded(arrays) is not None
        once = len(arrays) == 1 and arrays[0].dtype == bool  # a mask names no lane twice
        if not once and (traced or np.count_nonzero(overwritten) < prod(into.shape)):
            last = _last_writes(g.shape, read.shape, template, arrays)
            into = within(into, np.reshape(last, into.shape))
    return [rest, into, *[None] * len(arrays)]


def _last_writes(
    shape: tuple[int, ...], read: tuple[int, ...], template: Template, arrays: Any
) -> Any:
    """Which of the values written at an index stay: of several writes to one lane the last."""
    number = np.arange(prod(read)).reshape(read)
    writer = setitem_at(np.zeros(shape, np.intp), number, *arrays, template=template)
    return gather(writer, *arrays, template=template) == number


def _writes() -> list[Sample]:
    x, rows, slot = draw((3, 4), -2, 2), np.array([0, 2, 2]), Slot(0)
    one = np.array([False, True, False])
    return [
        sample(x, draw((3,), -2, 2, 1), rows, template=(slot, 1)),
        sample(x, draw((), -2, 2, 1), rows, template=(slot,)),
        sample(x, draw((1, 1, 4), -2, 2, 1), rows, template=(slot,)),
        sample(x, draw((3,), -2, 2, 1), one, rows, template=(slot, Slot(1))),
        sample(x, draw((), -2, 2, 1), x > 0, template=(slot,)),
        sample(x, draw((0, 4), -2, 2, 1), np.zeros(0, int), template=(slot,)),
        sample(x[0].astype(np.float32), draw((3,), -2, 2, 1), rows, template=(slot,)),
        sample(x[0] + 1j, draw((3,), -2, 2, 1), rows, template=(slot,)),
    ]


setitem_at = linear(
    "setitem_at",
    _setitem_at,
    _pull_setitem_at,
    inputs=("xs",),
    variadic=True,
    fixed_from=2,
    samples=_writes,
    bad=lambda: [
        sample(draw((3,), -2, 2), draw((), -2, 2), np.array([3]), template=(Slot(0),)),
        sample(draw((3,), -2, 2), draw((3,), -2, 2), np.array([0, 1]), template=(Slot(0),)),
    ],
    spec=_written_spec,
    doc="A copy of x in which x[index] = value, for an index with arrays; the last write wins.",
    lower=lambda b, x, value, *arrays, template: b.setitem_at(x, value, arrays, template),
    picked=WRITTEN,
    batch=setitem_at_lanes,
)
