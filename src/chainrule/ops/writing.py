"""Writing chosen elements: put, putmask, place, copyto, put_along_axis, fill_diagonal, add_at.

NumPy's functions of these names write into their first argument.  Ours of the same name return the
changed array.  `np.put(x, …)` on a Variable is `numpy_put`: it rebinds x, as `x[i] = v` does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Op, Samples, sample
from chainrule.errors import ArgumentError, DetachError, DTypeError, ShapeError
from chainrule.ops.define import composite
from chainrule.ops.gathering import along_axis, positions
from chainrule.ops.index import split_index
from chainrule.ops.indexing import embed, put_index, scatter, setitem, take_index
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw
from chainrule.ops.shape import broadcast_to, ravel, reshape
from chainrule.ops.structure import cast_into

# NumPy's `full` copies into what it has made, and the user has written no `copyto`.
FILLING = "\n  Of np.full(shape, v) the one that keeps it is chainrule.numpy.full(shape, v)."


def writer(
    function: Any, changed: Callable[..., Any], inputs: tuple[str, ...], samples: Samples, doc: str
) -> tuple[Op, Op]:
    """The op that returns the changed array, and NumPy's function, which changes a Variable."""
    name = function.__name__

    @wraps(changed)
    def write(*args: Any, **kwargs: Any) -> Any:
        target = args[0] if args else kwargs[inputs[0]]
        result = changed(*args, **kwargs)
        if hasattr(target, "_rebind"):
            return target._rebind(result, f"np.{name} into")
        if hasattr(result, "_rebind"):
            raise DetachError(
                f"np.{name} would lose the gradient of a Variable written into a plain ndarray.\n"
                f"  cr.{name} takes the same arguments and returns the changed array."
                f"{FILLING if function is np.copyto else ''}"
            )
        return result

    def reference(target: Any, *args: Any, **kwargs: Any) -> Any:
        result = np.array(target)
        function(result, *args, **kwargs)
        return result

    fields: dict[str, Any] = {"inputs": inputs, "samples": samples, "reference": reference}
    return (
        composite(name, changed, doc=doc, **fields),
        composite(
            f"numpy_{name}",
            write,
            numpy=(function,),
            doc=f"np.{name} as NumPy calls it: the Variable becomes the changed array.",
            **fields,
        ),
    )


def _cycled(values: Any, count: int) -> Any:
    """`count` values, from the beginning again when they run out."""
    values = ravel(as_array(values))
    return values if values.size == count else take_index(values, np.arange(count) % values.size)


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    a = as_array(a)
    where = positions(ind, a.size, mode)
    if not np.size(v):
        return a
    changed = put_index(reshape(a, -1), ravel(where), _cycled(v, where.size))
    return reshape(changed, a.shape)


put, numpy_put = writer(
    np.put,
    _put,
    ("a", "ind", "v"),
    lambda: [
        sample(draw((2, 3), -2, 2), np.array([0, 4]), draw((2,), -2, 2, 1)),
        sample(draw((2, 3), -2, 2), np.array([[0, 1], [1, -1]]), draw((3,), -2, 2, 1)),
        sample(draw((3,), -2, 2), 1, draw((), -2, 2, 1)),
        sample(draw((3,), -2, 2), [-4, 5, 1], draw((2,), -2, 2, 1), mode="wrap"),
        sample(draw((3,), -2, 2), [-4, 5], draw((2,), -2, 2, 1), mode="clip"),
        sample(draw((3,), -2, 2), [0], np.array([7])),
    ],
    "A copy of a whose flat positions `ind` hold v, repeated as often as needed.",
)


def _masked_write(a: Any, mask: Any, values: Any) -> Any:
    """`values`, of a's shape, where the mask holds."""
    return np.where(mask, cast_into(values, a.dtype), a)


def _mask_for(a: Any, mask: Any) -> Any:
    mask = as_array(mask)
    if mask.size != a.size:
        raise ShapeError(f"a mask of shape {mask.shape} does not fit an array of shape {a.shape}")
    return reshape(mask if mask.dtype == bool else np.not_equal(mask, 0), a.shape)


def _putmask(a: Any, mask: Any, values: Any) -> Any:
    a, mask = as_array(a), _mask_for(as_array(a), mask)
    if not np.size(values):
        return a
    return _masked_write(a, mask, reshape(_cycled(values, a.size), a.shape))


putmask, numpy_putmask = writer(
    np.putmask,
    _putmask,
    ("a", "mask", "values"),
    lambda: [
        sample(draw((2, 3), -2, 2), np.eye(2, 3) > 0, draw((2, 3), -2, 2, 1)),
        sample(draw((2, 3), -2, 2), np.eye(2, 3) > 0, draw((2,), -2, 2, 1)),
        sample(draw((3,), -2, 2), np.array([0, 1, 1]), draw((5,), -2, 2, 1)),
        sample(draw((3,), -2, 2).astype(np.float32), [True, False, True], 0.5),
    ],
    "A copy of a that holds, where the mask does, the value of the same number.",
)


def _place(arr: Any, mask: Any, vals: Any) -> Any:
    """The k-th lane of the mask gets the k-th value."""
    arr, mask = as_array(arr), _mask_for(as_array(arr), mask)
    vals = ravel(as_array(vals))
    if not vals.size:
        if np.any(plain(mask)):
            raise ArgumentError("place: there are lanes to fill and no values")
        return arr
    number = np.remainder(np.cumsum(ravel(mask)) - 1, vals.size)
    return _masked_write(arr, mask, reshape(take_index(vals, number), arr.shape))


place, numpy_place = writer(
    np.place,
    _place,
    ("arr", "mask", "vals"),
    lambda: [
        sample(draw((2, 3), -2, 2), np.eye(2, 3) > 0, draw((2,), -2, 2, 1)),
        sample(draw((2, 3), -2, 2), draw((2, 3), -2, 2) > -1, draw((2,), -2, 2, 1)),
        sample(draw((3,), -2, 2), np.array([0, 1, 0]), draw((5,), -2, 2, 1)),
    ],
    "A copy of arr in which the lanes of the mask hold the values one after the other.",
)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    dst, values = as_array(dst), as_array(src)
    weak = isinstance(src, (bool, int, float, complex))
    if not np.can_cast(np.min_scalar_type(src) if weak else values.dtype, dst.dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(f"{values.dtype} cannot be cast to {dst.dtype} ({casting=})")
    values = broadcast_to(values, dst.shape)
    return _masked_write(dst, broadcast_to(as_array(where), dst.shape), values)


copyto, numpy_copyto = writer(
    np.copyto,
    _copyto,
    ("dst", "src"),
    lambda: [
        sample(draw((2, 3), -2, 2), draw((3,), -2, 2, 1)),
        sample(draw((2, 3), -2, 2), draw((2, 3), -2, 2, 1), where=np.array([True, False, True])),
        sample(draw((3,), -2, 2).astype(np.float32), 0.5),
        sample(draw((3,), -2, 2), 2),
    ],
    "A copy of dst that holds src where `where` does.",
)


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> Any:
    arr, indices = as_array(arr), as_array(indices)
    flat = reshape(arr, -1) if axis is None else arr
    where = along_axis(flat.shape, indices, 0 if axis is None else axis)
    return reshape(put_index(flat, where, values), arr.shape)


put_along_axis, numpy_put_along_axis = writer(
    np.put_along_axis,
    _put_along_axis,
    ("arr", "indices", "values"),
    lambda: [
        sample(draw((2, 3), -2, 2), np.array([[0], [2]]), draw((2, 1), -2, 2, 1), axis=1),
        sample(draw((2, 3), -2, 2), np.array([[0, 1, 1]]), draw((), -2, 2, 1), axis=0),
        sample(draw((2, 3), -2, 2), np.array([5, 0]), draw((2,), -2, 2, 1), axis=None),
    ],
    "A copy of arr in which the given positions along an axis hold the values.",
)


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    """The main diagonal is every (columns + 1)-th lane; `wrap` lets it start again below."""
    a = as_array(a)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal takes a matrix, or an array whose axes are equally long, not {a.shape}"
        )
    step = 1 + sum(prod(a.shape[k + 1 :]) for k in range(a.ndim - 1))
    end = None if wrap or a.ndim > 2 else a.shape[1] ** 2
    along = slice(None, end, step)
    val = _cycled(val, len(range(*along.indices(a.size))))
    return reshape(setitem(reshape(a, -1), val, template=(along,)), a.shape)


fill_diagonal, numpy_fill_diagonal = writer(
    np.fill_diagonal,
    _fill_diagonal,
    ("a", "val"),
    lambda: [
        sample(draw((3, 3), -2, 2), draw((), -2, 2, 1)),
        sample(draw((2, 4), -2, 2), draw((2,), -2, 2, 1)),
        sample(draw((5, 2), -2, 2), draw((3,), -2, 2, 1)),
        sample(draw((5, 2), -2, 2), draw((3,), -2, 2, 1), wrap=True),
        sample(draw((2, 2, 2), -2, 2), draw((2,), -2, 2, 1)),
        sample(draw((3, 3), -2, 2), 1),
    ],
    "A copy of a whose main diagonal holds val.",
)


def _add_at(a: Any, indices: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    template, arrays = split_index(indices)
    shape = np.shape(take_index(a, indices))
    if not np.can_cast(b.dtype, a.dtype, "same_kind"):
        raise DTypeError(f"{b.dtype.name} cannot be added to an array of {a.dtype.name} in place")
    b = broadcast_to(cast_into(b, a.dtype), shape)
    if not arrays:
        return a + embed(b, template, a.shape)
    return a + scatter(b, *arrays, template=template, shape=a.shape)


add_at = composite(
    "add_at",
    _add_at,
    inputs=("a", "indices", "b"),
    samples=lambda: [
        sample(draw((4,), -2, 2), np.array([0, 2, 2]), draw((3,), -2, 2, 1)),
        sample(draw((3, 2), -2, 2), (np.array([0, 2, 2]), 1), draw((), -2, 2, 1)),
        sample(draw((3, 2), -2, 2), slice(1, 3), draw((2,), -2, 2, 1)),
        sample(draw((3,), -2, 2).astype(np.float32), slice(1, 3), draw((2,), -2, 2, 1)),
    ],
    bad=lambda: [sample(draw((3,), -2, 2), slice(1, 3), draw((2,), -2, 2, 1) * 1j)],
    reference=lambda a, indices, b: _added(np.array(a), indices, b),
    doc="A copy of a to which b is added at the index; a lane named twice gets both.",
)


def _added(a: Any, indices: Any, b: Any) -> Any:
    np.add.at(a, indices, b)
    return a
