"""Entries of indexing and item assignment: basic, advanced, boolean."""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from tests.agree.builder import Builder, RejectError
from tests.agree.entry import Drawn, entry, far_from
from tests.agree.shapes import rearranged


def _slice(b: Builder, n: int) -> slice:
    kind = b.integer(0, 4)
    if kind == 0:
        return slice(None)
    if kind == 1:
        return slice(b.integer(0, max(0, n - 1)), None)
    if kind == 2:
        return slice(None, None, -1)
    if kind == 3:
        return slice(-b.integer(1, max(1, n)), None, b.choice([1, 2]))
    return slice(None, b.integer(1, max(1, n)), b.choice([1, 2]))


def basic_index(b: Builder, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Integers, slices, new axes and an ellipsis."""
    index: list[Any] = []
    axes = len(shape) if b.chance(0.6) else b.integer(0, len(shape))
    for n in shape[:axes]:
        if n and b.chance(0.35):
            index.append(b.integer(-n, n - 1))
        else:
            index.append(_slice(b, n))
    if axes < len(shape) and b.chance(0.4):
        index.append(Ellipsis)
    if len(shape) < 3 and b.chance(0.25):
        index.insert(b.integer(0, len(index)), None)
    return tuple(index)


def advanced_index(b: Builder, shape: tuple[int, ...], repeats: bool) -> tuple[Any, ...]:
    """One or two integer arrays among slices; repeated elements if asked for."""
    if not shape or 0 in shape:
        raise RejectError("nothing to index")
    index: list[Any] = [_slice(b, n) if b.chance(0.6) else slice(None) for n in shape]
    axes = sorted(int(a) for a in b.rng.permutation(len(shape))[: b.integer(1, min(2, len(shape)))])
    count = b.integer(1, 3) if repeats else b.integer(1, min(shape[a] for a in axes))
    for a in axes:
        chosen = (
            b.rng.integers(-shape[a], shape[a], count)
            if repeats
            else b.rng.permutation(shape[a])[:count]
        )
        index[a] = chosen.astype(int)
    if repeats and len(axes) == 2 and b.chance(0.5):
        index[axes[0]] = index[axes[0]][:, None]
    elif repeats and len(axes) == 2 and b.chance(0.3):
        index[axes[0]] = b.integer(0, shape[axes[0]] - 1)
    return tuple(index)


def boolean_index(b: Builder, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A mask over the whole array, or over one axis."""
    if not shape:
        raise RejectError("nothing to index")
    if b.chance(0.5):
        return (b.rng.random(shape) < 0.5,)
    axis = b.integer(0, len(shape) - 1)
    return (*(slice(None),) * axis, b.rng.random(shape[axis]) < 0.6)


def _read(kind: Any) -> Any:
    def draw(b: Builder) -> Drawn:
        x = b.ranked(1, 4)
        index = kind(b, b.values[x].shape)
        return (x,), {"index": index[0] if len(index) == 1 and b.chance(0.5) else index}

    return draw


def reading(name: str, kind: Any) -> None:
    entry(
        name,
        "indexing",
        _read(kind),
        ways=(lambda x, index: x[index],),
        torch=lambda t, x, index: rearranged(t, lambda v: v[index], x),
        jax=lambda j, x, index: x[index],
    )


reading("getitem_basic", basic_index)
reading("getitem_advanced", lambda b, shape: advanced_index(b, shape, True))
reading("getitem_boolean", boolean_index)


def _written(t: Any, x: Any, value: Any, index: Any, add: bool) -> Any:
    """x with x[index] = value, in PyTorch, by the numbers of the elements written to."""
    where = np.arange(x.numel()).reshape(x.shape)[index]
    flat = x.reshape(-1).clone()
    spread = value.broadcast_to(np.shape(where)).reshape(-1)
    places = t.as_tensor(np.array(where).reshape(-1))
    flat[places] = flat[places] + spread if add else spread
    return flat.reshape(x.shape)


def _write(kind: Any) -> Any:
    def draw(b: Builder) -> Drawn:
        x = b.ranked(1, 4)
        index = kind(b, b.values[x].shape)
        target = b.values[x][index].shape
        masked = any(isinstance(i, np.ndarray) and i.dtype == bool for i in index)
        value = b.shaped(()) if masked or b.chance(0.2) else b.shaped(target)
        return (x, value), {"index": index}

    return draw


def _assigned(x: Any, value: Any, index: Any) -> Any:
    y = np.copy(x)
    y[index] = value
    return y


def _increased(x: Any, value: Any, index: Any) -> Any:
    y = np.copy(x)
    y[index] += value
    return y


def _assigned_to_sum(x: Any, value: Any, index: Any) -> Any:
    y = x + 0.0
    y[index] = value
    y[index] *= 2.0
    return y


def writing(name: str, kind: Any, peers: bool = True) -> None:
    """y[index] = v, y[index] += v on copies."""
    for verb, ways, add in (("set", (_assigned,), False), ("add", (_increased,), True)):
        entry(
            f"{name}_{verb}",
            "assignment",
            _write(kind),
            ways=ways,
            torch=(lambda t, x, v, index, add=add: _written(t, x, v, index, add))
            if peers
            else None,
            jax=(lambda j, x, v, index, add=add: x.at[index].add(v) if add else x.at[index].set(v))
            if peers
            else None,
        )


writing("basic", basic_index)
writing("advanced", lambda b, shape: advanced_index(b, shape, False))
writing("boolean", boolean_index)
# Of several writes to one element NumPy keeps the last; the peers promise nothing.
writing("repeated", lambda b, shape: advanced_index(b, shape, True), peers=False)
entry(
    "assigned_twice",
    "assignment",
    _write(basic_index),
    ways=(_assigned_to_sum,),
    torch=lambda t, x, v, index: _written(t, x, 2 * v, index, False),
    jax=lambda j, x, v, index: x.at[index].set(2 * v),
)


def _filled(x: Any, y: Any) -> Any:
    z = np.copy(x)
    z[x > 0] = y
    z[z < -0.5] += y
    return z


entry(
    "assign_where",
    "assignment",
    lambda b: ((b.ranked(1, 3), b.shaped(())), {}),
    ways=(_filled,),
    torch=lambda t, x, y: t.where(x > 0, t.where(y < -0.5, 2 * y, y), t.where(x < -0.5, x + y, x)),
    jax=lambda j, x, y: j.numpy.where(
        x > 0, j.numpy.where(y < -0.5, 2 * y, y), j.numpy.where(x < -0.5, x + y, x)
    ),
    ok=lambda x, y: far_from(x, 0.0, -0.5) and far_from(y, -0.5),
)


def _view_follows(x: Any, s: Any) -> Any:
    """A view taken before an assignment sees it, as in NumPy."""
    y = np.copy(x)
    view = y[::2]
    y[0] = s
    return view * y[:1]


def _transposed_view(x: Any, s: Any) -> Any:
    y = np.copy(x)
    view = y.T
    y[:1] += s
    return np.sin(view)[..., ::2]


def _torch_view(t: Any, x: Any, s: Any) -> Any:
    y = x.clone()
    y[0] = s
    return y[::2] * y[:1]


entry(
    "view_follows",
    "assignment",
    lambda b: ((b.ranked(1, 3), b.shaped(())), {}),
    ways=(_view_follows,),
    torch=_torch_view,
    jax=lambda j, x, s: x.at[0].set(s)[::2] * s,
)
entry(
    "transposed_view_follows",
    "assignment",
    lambda b: ((b.ranked(1, 3), b.shaped(())), {}),
    ways=(_transposed_view,),
    torch=lambda t, x, s: t.sin(t.cat([x[:1] + s, x[1:]])).permute(*range(x.ndim)[::-1])[..., ::2],
    jax=lambda j, x, s: j.numpy.sin(x.at[:1].add(s)).T[..., ::2],
)


# -- by name ---------------------------------------------------------------------------------------


def _take(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    axis = None if b.chance(0.3) else b.axis(b.values[x].ndim)
    n = b.values[x].size if axis is None else b.values[x].shape[axis]
    indices = b.rng.integers(0, n, b.choice([(), (2,), (3,), (2, 2)]))
    return (x,), {"indices": indices, "axis": axis}


entry(
    "take",
    "indexing",
    _take,
    ways=(
        lambda x, indices, axis: np.take(x, indices, axis=axis),
        lambda x, indices, axis: x.take(indices, axis=axis),
        lambda x, indices, axis: cr.take(x, indices, axis=axis),
    ),
    torch=lambda t, x, indices, axis: rearranged(t, lambda v: np.take(v, indices, axis), x),
    jax=lambda j, x, indices, axis: j.numpy.take(x, indices, axis),
)


def _take_along(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    shape = list(b.values[x].shape)
    axis = b.axis(len(shape))
    n = shape[axis]
    shape[axis] = b.integer(1, 4)
    return (x,), {"indices": b.rng.integers(0, n, shape), "axis": axis}


entry(
    "take_along_axis",
    "indexing",
    _take_along,
    ways=(
        lambda x, indices, axis: np.take_along_axis(x, indices, axis),
        lambda x, indices, axis: cr.take_along_axis(x, indices, axis),
    ),
    torch=lambda t, x, indices, axis: t.take_along_dim(x, t.as_tensor(indices), axis),
    jax=lambda j, x, indices, axis: j.numpy.take_along_axis(x, indices, axis),
)


def _compress(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    axis = b.axis(b.values[x].ndim)
    return (x,), {"condition": b.rng.random(b.values[x].shape[axis]) < 0.6, "axis": axis}


entry(
    "compress",
    "indexing",
    _compress,
    ways=(
        lambda x, condition, axis: np.compress(condition, x, axis=axis),
        lambda x, condition, axis: cr.compress(condition, x, axis=axis),
    ),
    torch=lambda t, x, condition, axis: rearranged(t, lambda v: np.compress(condition, v, axis), x),
    jax=lambda j, x, condition, axis: j.numpy.take(x, np.flatnonzero(condition), axis),
)
entry(
    "extract",
    "indexing",
    lambda b: (lambda x: ((x,), {"condition": b.rng.random(b.values[x].shape) < 0.6}))(
        b.ranked(1, 3)
    ),
    ways=(
        lambda x, condition: np.extract(condition, x),
        lambda x, condition: cr.extract(condition, x),
    ),
    torch=lambda t, x, condition: x[t.as_tensor(condition)],
    jax=lambda j, x, condition: x[condition],
)
entry(
    "choose",
    "indexing",
    lambda b: (
        lambda x: (
            (x, b.shaped(b.values[x].shape)),
            {"which": b.rng.integers(0, 2, b.values[x].shape)},
        )
    )(b.ranked(1, 3)),
    ways=(
        lambda x, y, which: np.choose(which, [x, y]),
        lambda x, y, which: cr.choose(which, [x, y]),
    ),
    torch=lambda t, x, y, which: t.where(t.as_tensor(which == 1), y, x),
    jax=lambda j, x, y, which: j.numpy.where(which == 1, y, x),
)


# -- NumPy's functions that write into their argument ----------------------------------------------


def _changed(function: Any) -> Any:
    """The function called on a copy of x, which is then what it has become."""

    def call(x: Any, *values: Any, **attrs: Any) -> Any:
        y = np.copy(x)
        function(y, *values, **attrs)
        return y

    return call


def writer(name: str, draw: Any, function: Any, own: Any) -> None:
    """An entry of np.<name>, which writes, and of cr.<name>, which returns the changed array."""
    change = _changed(function)
    entry(
        name,
        "assignment",
        draw,
        ways=(change, own),
        torch=lambda t, x, v, **attrs: rearranged(t, lambda a, c: change(a, c, **attrs), x, v),
        jax=lambda j, x, v, **attrs: _by_number(j, lambda a, c: change(a, c, **attrs), x, v),
    )


def _by_number(j: Any, f: Any, *xs: Any) -> Any:
    """As `rearranged`, in JAX."""
    numbers = np.split(np.arange(sum(x.size for x in xs)), np.cumsum([x.size for x in xs])[:-1])
    placed = f(*(n.reshape(x.shape) for n, x in zip(numbers, xs, strict=True)))
    return j.numpy.concatenate([x.reshape(-1) for x in xs])[placed]


def _put(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    size = b.values[x].size
    count = b.integer(1, min(3, size))
    return (x, b.shaped((count,))), {"ind": b.rng.permutation(size)[:count]}


writer("put", _put, lambda y, v, ind: np.put(y, ind, v), lambda x, v, ind: cr.put(x, ind, v))


def _with_mask(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    return (x, b.shaped(b.values[x].shape)), {"mask": b.rng.random(b.values[x].shape) < 0.5}


writer(
    "putmask",
    _with_mask,
    lambda y, v, mask: np.putmask(y, mask, v),
    lambda x, v, mask: cr.putmask(x, mask, v),
)
writer(
    "place",
    lambda b: (lambda x: ((x, b.shaped((3,))), {"mask": b.rng.random(b.values[x].shape) < 0.5}))(
        b.ranked(1, 3)
    ),
    lambda y, v, mask: np.place(y, mask, v),
    lambda x, v, mask: cr.place(x, mask, v),
)
writer(
    "copyto",
    _with_mask,
    lambda y, v, mask: np.copyto(y, v, where=mask),
    lambda x, v, mask: cr.copyto(x, v, where=mask),
)


def _fill_diagonal(b: Builder) -> Drawn:
    x = b.ranked(2, 2)
    return (x, b.shaped(() if b.chance(0.5) else (min(b.values[x].shape),))), {}


writer(
    "fill_diagonal",
    _fill_diagonal,
    lambda y, v: np.fill_diagonal(y, v),
    lambda x, v: cr.fill_diagonal(x, v),
)


def _put_along(b: Builder) -> Drawn:
    x = b.ranked(1, 2)
    shape = list(b.values[x].shape)
    axis = b.axis(len(shape))
    n, shape[axis] = shape[axis], 1
    return (x, b.shaped(shape)), {"indices": b.rng.integers(0, n, shape), "axis": axis}


writer(
    "put_along_axis",
    _put_along,
    lambda y, v, indices, axis: np.put_along_axis(y, indices, v, axis),
    lambda x, v, indices, axis: cr.put_along_axis(x, indices, v, axis),
)
entry(
    "add_at",
    "assignment",
    lambda b: (lambda x: ((x, b.shaped((3,))), {"places": b.rng.integers(0, b.values[x].size, 3)}))(
        b.ranked(1, 1)
    ),
    ways=(
        lambda x, v, places: cr.add_at(x, places, v),
        _changed(lambda y, v, places: np.add.at(y, places, v)),
    ),
    torch=lambda t, x, v, places: x.index_add(0, t.as_tensor(places), v),
    jax=lambda j, x, v, places: x.at[places].add(v),
)


# -- positions -------------------------------------------------------------------------------------


def _knots(b: Builder) -> Drawn:
    count = b.integer(2, 5)
    knots = np.round(np.sort(b.rng.uniform(-1.5, 1.5, count)), 3)
    return (b.pick(), b.shaped((count,))), {"knots": knots}


def _between_knots(x: Any, y: Any, knots: Any) -> bool:
    return bool(np.all(np.diff(knots) > 0.05)) and far_from(np.subtract.outer(x, knots), 0.0)


def _torch_interp(t: Any, x: Any, y: Any, knots: Any) -> Any:
    inside = np.clip(x.detach().numpy(), knots[0], knots[-1])
    right = t.as_tensor(np.clip(np.searchsorted(knots, inside), 1, len(knots) - 1))
    k = t.as_tensor(knots)
    share = (t.clip(x, knots[0], knots[-1]) - k[right - 1]) / (k[right] - k[right - 1])
    return y[right - 1] * (1 - share) + y[right] * share


entry(
    "interp",
    "indexing",
    _knots,
    ways=(lambda x, y, knots: np.interp(x, knots, y), lambda x, y, knots: cr.interp(x, knots, y)),
    torch=_torch_interp,
    jax=lambda j, x, y, knots: j.numpy.interp(x, knots, y),
    ok=_between_knots,
)
entry(
    "lookup",
    "indexing",
    _knots,
    ways=(
        lambda x, y, knots: y[np.digitize(x, knots) - 1] * x,
        lambda x, y, knots: y[np.searchsorted(knots, x) - 1] * x,
    ),
    torch=lambda t, x, y, knots: y[t.searchsorted(t.as_tensor(knots), x) - 1] * x,
    jax=lambda j, x, y, knots: y[j.numpy.searchsorted(knots, x) - 1] * x,
    ok=_between_knots,
)
entry(
    "nonzero",
    "indexing",
    lambda b: ((b.ranked(1, 3),), {}),
    ways=(
        lambda x: x[np.nonzero(x > 0)],
        lambda x: x[(x > 0).nonzero()],
        lambda x: np.ravel(x)[np.flatnonzero(x > 0)],
        lambda x: x[tuple(np.argwhere(x > 0).T)],
    ),
    torch=lambda t, x: x[x > 0],
    jax=None,  # compiled code has no shapes that depend on values
    ok=lambda x: far_from(x, 0.0),
)
