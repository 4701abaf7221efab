"""Reading and writing parts of an array: basic, advanced and boolean indices; selection by `where`."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import Masked
from chainrule.core.op import Sample, sample
from chainrule.core.slot import Slot
from chainrule.core.spec import Spec, dummy
from chainrule.ops.define import linear
from chainrule.ops.samples import draw


BASIC = (int, slice, type(None), type(Ellipsis), np.integer)


def split_index(index: Any) -> tuple[Any, list[Any]]:
    """An index as a static template and the arrays in it, which are inputs like any other."""
    parts = index if isinstance(index, tuple) else (index,)
    template, arrays = [], []
    for part in parts:
        if isinstance(part, BASIC) and not isinstance(part, (bool, np.bool_)):
            template.append(int(part) if isinstance(part, np.integer) else part)
        else:
            template.append(Slot(len(arrays)))
            arrays.append(part if hasattr(part, "dtype") else np.asarray(part, None if len(part) else np.intp))
    return tuple(template), arrays


def fill_index(template: tuple[Any, ...], arrays: Any) -> tuple[Any, ...]:
    return tuple(arrays[part.k] if isinstance(part, Slot) else part for part in template)


def is_basic(template: tuple[Any, ...]) -> bool:
    """Whether the index is made of integers, slices, newaxis and … alone: NumPy returns a view."""
    return not any(isinstance(part, Slot) for part in template)


def _getitem(x: Any, *arrays: Any, template: tuple[Any, ...]) -> Any:
    return x[fill_index(template, arrays)]


def _scatter(g: Any, xs_spec: Any, fixed: Any, template: tuple[Any, ...]) -> list[Any]:
    """The transpose of reading: zeros, structural ones, but for the lanes that were read."""
    shape, arrays = xs_spec[0].shape, fixed[1:]
    value = scatter(g, *arrays, template=template, shape=shape)
    nothing = [None] * len(arrays)
    if is_basic(template) and int(np.prod(g.shape)) == xs_spec[0].size:
        return [value, *nothing]  # every lane was read
    alive = np.zeros(shape, bool)
    alive[fill_index(template, arrays)] = True
    return [Masked(value, alive), *nothing]


def _index_samples() -> list[Sample]:
    x = draw((3, 4), -2, 2)
    rows, columns = np.array([0, 2, 2]), np.array([1, 1, 3])
    keep = np.array([True, False, True])
    return [
        sample(x, template=(1,)),
        sample(x, template=(slice(None, None, -1), 2)),
        sample(x, template=(Ellipsis, None, slice(1, 3))),
        sample(x, rows, template=(Slot(0),)),
        sample(x, rows, columns, template=(Slot(0), Slot(1))),
        sample(x, keep, template=(Slot(0), slice(0, 2))),
        sample(x, x > 0, template=(Slot(0),)),
    ]


def _index_spec(x: Any, *arrays: Any, template: tuple[Any, ...]) -> Spec | None:
    """None for a boolean index, whose result's size depends on its values."""
    if any(a.dtype == bool for a in arrays):
        return None
    zeros = [np.zeros(a.shape, a.dtype) for a in arrays]
    return Spec.of(dummy(x)[fill_index(template, zeros)])


getitem = linear(
    "getitem", _getitem, _scatter, inputs=("xs",), variadic=True, samples=_index_samples, view=True, spec=_index_spec,
    doc="x[index]; the index's static part is `template`, its arrays are inputs.",
)


def _scatter_forward(g: Any, *arrays: Any, template: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, g.dtype)
    index = fill_index(template, arrays)
    if is_basic(template) or any(np.asarray(a).dtype == bool for a in arrays):
        out[index] = g  # no lane is read twice
    else:
        np.add.at(out, index, g)
    return out


scatter = linear(
    "scatter",
    _scatter_forward,
    lambda g, fixed, template: [getitem(g, *fixed[1:], template=template), *[None] * (len(fixed) - 1)],
    inputs=("xs",),
    variadic=True,
    fills=True,
    samples=lambda: [
        sample(draw((2,), -2, 2), template=(slice(1, 3),), shape=(4,)),
        sample(draw((3,), -2, 2), np.array([0, 2, 2]), template=(Slot(0),), shape=(4,)),
    ],
    doc="Zeros of `shape` with g added at the index: the transpose of x[index].",
)


def _setitem(x: Any, value: Any, *arrays: Any, template: tuple[Any, ...]) -> Any:
    out = np.array(x)
    out[fill_index(template, arrays)] = value
    return out[()]


def _pull_setitem(g: Any, xs_spec: Any, fixed: Any, template: tuple[Any, ...]) -> list[Any]:
    arrays = fixed[2:]
    index = fill_index(template, arrays)
    kept = np.ones(g.shape, bool)
    kept[index] = False
    into = _fitted(_last_writes(g, index, arrays, template), xs_spec[1].shape)
    zero = np.zeros((), g.dtype)
    return [Masked(np.where(kept, g, zero), kept), into, *[None] * len(arrays)]


def _last_writes(g: Any, index: tuple[Any, ...], arrays: list[Any], template: tuple[Any, ...]) -> Any:
    """The adjoint of what was written; of several writes to one lane only the last counts."""
    taken = getitem(g, *arrays, template=template)
    if is_basic(template) or any(np.asarray(a).dtype == bool for a in arrays):
        return taken
    position = np.zeros(g.shape, np.intp)
    number = np.arange(int(np.prod(taken.shape)), dtype=np.intp).reshape(taken.shape)
    position[index] = number
    return np.where(position[index] == number, taken, np.zeros((), g.dtype))


def _fitted(c: Any, shape: tuple[int, ...]) -> Any:
    """Undo the broadcasting of an assigned value."""
    if c.shape == shape:
        return c
    extra = len(c.shape) - len(shape)
    axes = (*range(extra), *(extra + i for i, n in enumerate(shape) if n == 1 and c.shape[extra + i] != 1))
    c = np.sum(c, axis=axes) if axes else c
    return np.reshape(c, shape)


def _set_samples() -> list[Sample]:
    x = draw((3, 4), -2, 2)
    return [
        sample(x, np.float64(0.5), template=(1,)),
        sample(x, draw((4,), -2, 2, 1), template=(slice(0, 2),)),
        sample(x, draw((3,), -2, 2, 1), np.array([0, 2, 2]), template=(Slot(0), 1)),
        sample(x, np.float64(0.5), x > 0, template=(Slot(0),)),
    ]


setitem = linear(
    "setitem", _setitem, _pull_setitem, inputs=("xs",), variadic=True, samples=_set_samples,
    doc="A copy of x in which x[index] = value.",
)


def take_index(x: Any, index: Any) -> Any:
    """x[index] of an array or a Variable, through the op."""
    template, arrays = split_index(index)
    return getitem(x, *arrays, template=template)
