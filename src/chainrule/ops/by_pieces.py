"""What NumPy computes piece by piece: piecewise, apply_along_axis, histogram, unwrap, ldexp."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.masked import settled
from chainrule.core.op import sample
from chainrule.errors import ArgumentError
from chainrule.ops.define import composite, elementwise
from chainrule.ops.joining import as_array, of_arrays, stack
from chainrule.ops.samples import draw, points
from chainrule.ops.structure import cast_into
from chainrule.ops.writing import add_at, place

# -- piecewise -----------------------------------------------------------------------------------


def _conditions(condlist: Any, x: Any) -> list[Any]:
    """One mask per piece, each of the shape of x."""
    single = np.ndim(condlist) == 0 or (
        not isinstance(condlist[0], (list, tuple)) and np.ndim(condlist[0]) == 0 and x.ndim != 0
    )
    listed = [condlist] if single else list(condlist)
    return [np.not_equal(np.reshape(as_array(c), x.shape), 0) for c in listed]


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    x = as_array(x)
    masks, functions = _conditions(condlist, x), list(funclist)
    if len(functions) == len(masks) + 1:
        taken = masks[0]
        for mask in masks[1:]:
            taken = np.logical_or(taken, mask)
        masks.append(np.logical_not(taken))
    if len(functions) != len(masks):
        raise ArgumentError(f"piecewise: {len(masks)} conditions and {len(functions)} functions")
    flat = np.reshape(x, (-1,))
    out: Any = np.zeros(flat.shape, flat.dtype)
    for mask, function in zip(masks, functions, strict=True):
        chosen = np.reshape(mask, (-1,))
        if callable(function):
            part = flat[chosen]
            if not part.shape[0]:
                continue
            value = function(part, *args, **kw)
        else:
            value = function
        out = place(out, chosen, cast_into(as_array(value), flat.dtype))
    return np.reshape(out, x.shape)


def _root(x: Any) -> Any:
    return np.sqrt(x)


piecewise = composite(
    "piecewise",
    _piecewise,
    inputs=("x", "condlist", "funclist"),
    samples=lambda: [
        sample(np.array([-1.0, 0.5, 2.0]), [np.array([True, False, False])], [np.square, _root]),
        sample(np.array([-1.0, 0.5]), [np.array([True, False])], [3.0, np.exp]),
    ],
    bad=lambda: [sample(np.ones(2), [np.ones(2, bool)], [np.exp, np.exp, np.exp])],
    numpy=(np.piecewise,),
)


def _apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    arr = np.moveaxis(as_array(arr), axis, -1)
    lanes = np.reshape(arr, (-1, arr.shape[-1]))
    found = stack([as_array(func1d(lanes[k], *args, **kwargs)) for k in range(lanes.shape[0])])
    inner = found.shape[1:]
    found = np.reshape(found, (*arr.shape[:-1], *inner))
    at = axis % arr.ndim
    rank = arr.ndim - 1
    return np.moveaxis(found, range(rank, rank + len(inner)), range(at, at + len(inner)))


apply_along_axis = composite(
    "apply_along_axis",
    _apply_along_axis,
    inputs=("func1d", "axis", "arr"),
    samples=lambda: [
        sample(np.cumsum, 0, draw((2, 3), -1, 1)),
        sample(np.sum, 1, draw((2, 3), -1, 1)),
        sample(np.diff, 1, draw((2, 3, 2), -1, 1)),
    ],
    numpy=(np.apply_along_axis,),
)


# -- histogram -----------------------------------------------------------------------------------


def _histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """Counts do not change with a, but the weights that are counted are differentiated."""
    a = np.reshape(as_array(a), (-1,))
    edges = _edges(a, bins, range)
    count = edges.shape[0] - 1
    at = np.searchsorted(edges, a, side="right") - 1
    at = np.where(np.equal(a, edges[-1]), count - 1, at)
    inside = np.logical_and(at >= 0, np.less_equal(a, edges[-1]))
    at = np.clip(at, 0, count - 1)
    counted = np.intp(1) if weights is None else np.reshape(as_array(weights), (-1,))
    # Not np.bincount: how long its result is rests on the values, and here it never does.
    kept = np.where(inside, counted, np.zeros((), counted.dtype))
    found = add_at(np.zeros(count, kept.dtype), at, kept)
    if density:
        widths = edges[1:] - edges[:-1]
        return found / widths / np.sum(found), edges
    return found, edges


def _edges(a: Any, bins: Any, range: Any) -> Any:
    if isinstance(bins, str):
        return np.histogram_bin_edges(settled(a), bins, range)
    if np.ndim(bins):
        return as_array(bins)
    if range is None:
        range = (np.min(a), np.max(a)) if a.shape[0] else (0.0, 1.0)
    low, high = range
    apart = np.where(np.equal(low, high), 0.5, 0.0)
    low, high = low - apart, high + apart
    return np.linspace(low, high, int(bins) + 1)


histogram = composite(
    "histogram",
    _histogram,
    inputs=("a",),
    samples=lambda: [
        sample(draw((9,), -1, 1), bins=3, range=(-1.0, 1.0), weights=draw((9,), 0, 1, 1)),
        sample(draw((9,), -1, 1), bins=np.array([-1.0, 0.0, 0.3, 1.0])),
        sample(draw((9,), -1, 1), bins=3),
        sample(draw((9,), -1, 1), bins=3, range=(-0.5, 0.4)),
        sample(draw((9,), -1, 1), bins=4, range=(-1, 1), density=True, weights=draw((9,), 0, 1, 1)),
    ],
    numpy=(np.histogram,),
)


# -- phases, quotients, powers of two ------------------------------------------------------------


def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    p = as_array(p)
    half = period / 2
    limit = half if discont is None else max(discont, half)
    step = np.diff(p, axis=axis)
    turned = np.remainder(step + half, period) - half
    turned = np.where(np.logical_and(np.equal(turned, -half), step > 0), half, turned)
    change = np.where(np.abs(step) < limit, 0.0, turned - step)
    first = [(0, 0)] * p.ndim
    first[axis] = (1, 0)
    return p + np.pad(np.cumsum(change, axis=axis), first)


unwrap = composite(
    "unwrap",
    _unwrap,
    inputs=("p",),
    samples=lambda: [
        sample(draw((6,), -9, 9)),
        sample(draw((3, 4), -9, 9), axis=0),
        sample(draw((6,), -9, 9), period=4.0),
    ],
    numpy=(np.unwrap,),
)
divmod_of = composite(
    "divmod_of",
    of_arrays(lambda x, y: (np.floor_divide(x, y), np.remainder(x, y))),
    inputs=("x", "y"),
    samples=lambda: [sample(draw((3,), 1, 5), draw((3,), 0.6, 0.9, 1))],
    numpy=(np.divmod,),
    doc="np.divmod: the quotient rounded down (derivative 0), and the remainder.",
)
ldexp = elementwise(
    "ldexp",
    np.ldexp,
    (lambda x, y: np.ldexp(np.ones((), x.dtype), y), None),
    samples=lambda: [sample(draw((3,), -2, 2), np.array([1, -2, 3])), sample(np.float64(1.5), 3)],
    lower=None,
)
isposinf = composite(
    "isposinf",
    lambda x: np.logical_and(np.isinf(x), np.greater(x, 0)),
    samples=points(1.0, np.inf, -np.inf),
    numpy=(np.isposinf,),
)
isneginf = composite(
    "isneginf",
    lambda x: np.logical_and(np.isinf(x), np.less(x, 0)),
    samples=points(1.0, np.inf, -np.inf),
    numpy=(np.isneginf,),
)


def _real_if_close(a: Any, tol: float = 100) -> Any:
    a = as_array(a)
    if a.dtype.kind != "c":
        return a
    limit = tol * float(np.finfo(a.dtype).eps) if tol > 1 else tol
    return np.real(a) if np.all(np.abs(np.imag(a)) < limit) else a


real_if_close = composite(
    "real_if_close",
    _real_if_close,
    inputs=("a",),
    samples=lambda: [sample(draw((3,), -1, 1)), sample(draw((3,), -1, 1) + 0.5j)],
    numpy=(np.real_if_close,),
)
