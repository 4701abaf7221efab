"""Entries that move elements about: shapes, joining, splitting, repeating, padding, triangles."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import chainrule as cr
import chainrule.numpy as cnp
from tests.agree.builder import Builder, RejectError
from tests.agree.entry import Const, Drawn, entry


def rearranged(t: Any, f: Any, *xs: Any) -> Any:
    """f of tensors, f moving elements or leaving zeros, by PyTorch's own indexing.

    f runs on NumPy arrays of element numbers, counted from 1, which say where each element comes
    from; PyTorch has no function of that name, or one that differs in its arguments.
    """
    start, numbered = 1, []
    for x in xs:
        numbered.append(np.arange(start, start + x.numel()).reshape(x.shape))
        start += x.numel()
    flat = t.cat([t.zeros(1, dtype=xs[0].dtype), *(x.reshape(-1) for x in xs)])
    out = f(*numbered)
    if isinstance(out, (tuple, list)):
        return [flat[t.as_tensor(np.array(o, dtype=int))] for o in out]
    return flat[t.as_tensor(np.array(out, dtype=int))]


def torch_rearranged(f: Any) -> Any:
    return lambda t, x, **attrs: rearranged(t, lambda v: f(v, **attrs), x)


def mover(
    name: str,
    draw: Any,
    torch: Any = None,
    *,
    jax: Any = None,
    ways: Any = None,
    family: str = "shapes",
) -> None:
    """An entry of one operand whose elements go elsewhere, as np.<name> says."""
    f = getattr(np, name)
    entry(
        name,
        family,
        draw,
        ways=ways,
        torch=torch or torch_rearranged(f),
        jax=jax or f"numpy.{name}",
    )


def _any(b: Builder) -> Drawn:
    return (b.pick(),), {}


def _with_axis(b: Builder) -> Drawn:
    x = b.ranked(1, 4, size=0)
    return (x,), {"axis": b.axis(b.values[x].ndim)}


def _at_least(ndim: int) -> Any:
    return lambda b: ((b.ranked(ndim, 4, size=0),), {})


def new_shape(b: Builder, size: int) -> tuple[int, ...]:
    """A shape of so many elements, with an axis of one here and there."""
    sizes, rest = [], size
    for factor in (2, 3, 5, 7, 11):
        while rest and rest % factor == 0 and rest > 1 and len(sizes) < 4:
            sizes.append(factor)
            rest //= factor
    if rest != 1:
        sizes.append(rest)
    while len(sizes) > 1 and b.chance(0.5):
        sizes.append(
            sizes.pop(b.integer(0, len(sizes) - 1)) * sizes.pop(b.integer(0, len(sizes) - 1))
        )
    if b.chance(0.25) and len(sizes) < 4:
        sizes.append(1)
    return tuple(int(n) for n in b.rng.permutation(sizes)) if sizes else ()


def _reshape(b: Builder) -> Drawn:
    x = b.pick()
    shape = new_shape(b, b.values[x].size)
    if shape and b.chance(0.3) and prod(shape):
        where = b.integer(0, len(shape) - 1)
        shape = (*shape[:where], -1, *shape[where + 1 :])
    return (x,), {"shape": shape}


entry(
    "reshape",
    "shapes",
    _reshape,
    ways=(
        lambda x, shape: np.reshape(x, shape),
        lambda x, shape: x.reshape(shape),
        lambda x, shape: x.reshape(*shape) if shape else x.reshape(shape),
        lambda x, shape: cr.reshape(x, shape),
    ),
    torch=lambda t, x, shape: x.reshape(shape),
    jax=lambda j, x, shape: x.reshape(shape),
)
entry(
    "reshape_by_columns",
    "shapes",
    lambda b: (lambda x: ((x,), {"shape": new_shape(b, b.values[x].size)}))(b.pick()),
    ways=(
        lambda x, shape: np.reshape(x, shape, order="F"),
        lambda x, shape: x.reshape(shape, order="F"),
        lambda x, shape: cr.reshape(x, shape, order="F"),
    ),
    torch=lambda t, x, shape: rearranged(t, lambda v: v.reshape(shape, order="F"), x),
    jax=lambda j, x, shape: x.reshape(shape, order="F"),
)
mover(
    "ravel",
    _any,
    lambda t, x: x.reshape(-1),
    ways=(cr.ravel, np.ravel, lambda x: x.ravel(), lambda x: x.flatten()),
)


def _transpose(b: Builder) -> Drawn:
    x = b.pick()
    ndim = b.values[x].ndim
    if ndim == 0 or b.chance(0.3):
        return (x,), {"axes": None}
    return (x,), {"axes": tuple(int(a) for a in b.rng.permutation(ndim))}


mover(
    "transpose",
    _transpose,
    lambda t, x, axes: x.permute(*(axes or range(x.ndim)[::-1])) if x.ndim else x,
    ways=(
        cr.transpose,
        np.transpose,
        lambda x, axes: x.transpose(axes) if axes else x.T,
        lambda x, axes: x.transpose(*axes) if axes else x.transpose(),
    ),
)


def _two_axes(b: Builder) -> tuple[int, int, int]:
    x = b.ranked(1, 4, size=0)
    ndim = b.values[x].ndim
    return x, b.axis(ndim), b.axis(ndim)


def _swap(b: Builder) -> Drawn:
    x, i, j = _two_axes(b)
    return (x,), {"axis1": i, "axis2": j}


mover(
    "swapaxes",
    _swap,
    lambda t, x, axis1, axis2: x.swapaxes(axis1, axis2),
    ways=(cr.swapaxes, np.swapaxes, lambda x, axis1, axis2: x.swapaxes(axis1, axis2)),
)


def _move(b: Builder) -> Drawn:
    x, i, j = _two_axes(b)
    ndim = b.values[x].ndim
    if ndim > 2 and b.chance(0.4):
        source = tuple(int(a) for a in b.rng.permutation(ndim)[:2])
        return (x,), {
            "source": source,
            "destination": tuple(int(a) for a in b.rng.permutation(ndim)[:2]),
        }
    return (x,), {"source": i, "destination": j}


mover("moveaxis", _move, lambda t, x, source, destination: x.moveaxis(source, destination))


def _roll_axis(b: Builder) -> Drawn:
    x, i, _ = _two_axes(b)
    return (x,), {"axis": i, "start": b.integer(0, b.values[x].ndim)}


mover("rollaxis", _roll_axis)
mover(
    "matrix_transpose",
    _at_least(2),
    lambda t, x: x.mT,
    ways=(cr.matrix_transpose, np.matrix_transpose, lambda x: x.mT),
)


def _squeeze(b: Builder) -> Drawn:
    x = b.pick(lambda v: 1 in v.shape)
    ones = [i for i, n in enumerate(b.values[x].shape) if n == 1]
    return (x,), {"axis": b.choice([None, ones[0], ones[-1] - b.values[x].ndim, tuple(ones)])}


mover(
    "squeeze",
    _squeeze,
    lambda t, x, axis: x.squeeze() if axis is None else x.squeeze(axis),
    ways=(cr.squeeze, np.squeeze, lambda x, axis: x.squeeze(axis)),
)


def _expand(b: Builder) -> Drawn:
    x = b.pick(lambda v: v.ndim < 4)
    ndim = b.values[x].ndim
    axis = (0, -1) if ndim < 3 and b.chance(0.3) else b.integer(-ndim - 1, ndim)
    return (x,), {"axis": axis}


mover("expand_dims", _expand)
for _n in (1, 2, 3):
    mover(
        f"atleast_{_n}d",
        _any,
        lambda t, x, n=_n: rearranged(t, lambda v: getattr(np, f"atleast_{n}d")(v), x),
    )


def _broadcast(b: Builder) -> Drawn:
    x = b.pick(lambda v: v.ndim < 4 and v.size < 30)
    shape = [n if n != 1 or b.chance(0.3) else b.integer(1, 4) for n in b.values[x].shape]
    if b.chance(0.5):
        shape = [b.integer(1, 3), *shape]
    return (x,), {"shape": tuple(shape)}


mover("broadcast_to", _broadcast, lambda t, x, shape: x.expand(shape))
entry(
    "broadcast_arrays",
    "shapes",
    lambda b: (b.pair(constants=False), {}),
    ways=(np.broadcast_arrays, cr.broadcast_arrays),
    torch=lambda t, x, y: t.broadcast_tensors(x, y),
    jax=lambda j, x, y: j.numpy.broadcast_arrays(x, y),
)


def _mesh(b: Builder) -> Drawn:
    return (b.ranked(1, 1), b.ranked(1, 1)), {
        "indexing": b.choice(["xy", "ij"]),
        "sparse": b.chance(0.3),
    }


entry(
    "meshgrid",
    "shapes",
    _mesh,
    torch=lambda t, x, y, indexing, sparse: [
        rearranged(
            t, lambda u, v, k=k: np.meshgrid(u, v, indexing=indexing, sparse=sparse)[k], x, y
        )
        for k in (0, 1)
    ],
    jax=lambda j, x, y, indexing, sparse: j.numpy.meshgrid(x, y, indexing=indexing, sparse=sparse),
)


def _flip(b: Builder) -> Drawn:
    x = b.pick()
    axis = b.axes(b.values[x].ndim)
    return (x,), {"axis": axis}


mover("flip", _flip)
mover("flipud", _at_least(1))
mover("fliplr", _at_least(2))
mover("rot90", lambda b: ((b.ranked(2, 4),), {"k": b.integer(-1, 3)}), lambda t, x, k: x.rot90(k))


def _roll(b: Builder) -> Drawn:
    x = b.ranked(1, 4)
    ndim = b.values[x].ndim
    if ndim > 1 and b.chance(0.3):
        return (x,), {"shift": (b.integer(-3, 3), b.integer(-3, 3)), "axis": (0, -1)}
    return (x,), {"shift": b.integer(-4, 4), "axis": None if b.chance(0.3) else b.axis(ndim)}


mover("roll", _roll, lambda t, x, shift, axis: x.roll(shift, axis))


def _tile(b: Builder) -> Drawn:
    x = b.pick(lambda v: v.size < 25)
    return (x,), {
        "reps": b.choice([2, (2,), (2, 1), (1, 2), (2, 1, 2), (3,), (0, 2) if b.empties else 1])
    }


mover("tile", _tile)


def _repeat(b: Builder) -> Drawn:
    x = b.ranked(1, 3, test=lambda v: v.size < 40)
    axis = None if b.chance(0.3) else b.axis(b.values[x].ndim)
    count = b.values[x].size if axis is None else b.values[x].shape[axis]
    repeats = b.integer(1, 3) if b.chance(0.5) else b.rng.integers(0, 3, count)
    return (x,), {"repeats": repeats, "axis": axis}


mover(
    "repeat",
    _repeat,
    ways=(
        lambda x, repeats, axis: np.repeat(x, repeats, axis=axis),
        lambda x, repeats, axis: x.repeat(repeats, axis=axis),
        lambda x, repeats, axis: cr.repeat(x, repeats, axis=axis),
    ),
)
mover(
    "resize",
    lambda b: ((b.pick(size=1),), {"new_shape": b.shape()}),
)


def _pad(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    shape = b.values[x].shape
    mode = b.choice(["constant", "edge", "reflect", "symmetric", "wrap"])
    most = [n - 1 if mode == "reflect" else n for n in shape]
    width = tuple((b.integer(0, min(2, m)), b.integer(0, min(2, m))) for m in most)
    return (x,), {"pad_width": width, "mode": mode}


mover("pad", _pad)
entry(
    "pad_constant",
    "shapes",
    lambda b: (
        (b.ranked(1, 3, test=lambda v: v.size < 30),),
        {"pad_width": b.integer(1, 2), "constant_values": b.number(-1, 1)},
    ),
    ways=(cr.pad, np.pad),
    torch=lambda t, x, pad_width, constant_values: t.nn.functional.pad(
        x, (pad_width,) * 2 * x.ndim, value=constant_values
    ),
    jax="numpy.pad",
)


# -- triangles and diagonals -----------------------------------------------------------------------


def _triangle(b: Builder) -> Drawn:
    return (b.ranked(2, 4),), {"k": b.integer(-2, 2)}


mover("tril", _triangle, lambda t, x, k: x.tril(k), family="diagonals")
mover("triu", _triangle, lambda t, x, k: x.triu(k), family="diagonals")
mover(
    "diag",
    lambda b: ((b.ranked(1, 2),), {"k": b.integer(-1, 1)}),
    lambda t, x, k: x.diag(k),
    family="diagonals",
)
mover("diagflat", lambda b: ((b.ranked(1, 2, test=lambda v: v.size < 9),), {"k": b.integer(-1, 1)}),
      lambda t, x, k: x.reshape(-1).diag(k), family="diagonals")  # fmt: skip


def _diagonal(b: Builder) -> Drawn:
    x = b.ranked(2, 4)
    i, j = (int(a) for a in b.rng.permutation(b.values[x].ndim)[:2])
    return (x,), {"offset": b.integer(-1, 1), "axis1": i, "axis2": j}


mover(
    "diagonal",
    _diagonal,
    lambda t, x, offset, axis1, axis2: x.diagonal(offset, axis1, axis2),
    ways=(cr.diagonal, np.diagonal, lambda x, **attrs: x.diagonal(**attrs)),
    family="diagonals",
)
entry(
    "trace",
    "diagonals",
    _diagonal,
    ways=(np.trace, lambda x, **attrs: x.trace(**attrs), cr.OPS["trace"]),
    torch=lambda t, x, offset, axis1, axis2: x.diagonal(offset, axis1, axis2).sum(-1),
    jax="numpy.trace",
)
entry(
    "vander",
    "diagonals",
    lambda b: ((b.ranked(1, 1),), {"N": b.integer(2, 4), "increasing": b.chance(0.5)}),
    torch=lambda t, x, N, increasing: t.linalg.vander(x, N=N).flip([] if increasing else [-1]),
    jax="numpy.vander",
)


# -- joining ---------------------------------------------------------------------------------------


def _joined(b: Builder) -> Drawn:
    """Two to four arrays that differ in their size along one axis only."""
    x = b.ranked(1, 3, size=0)
    shape = b.values[x].shape
    axis = b.axis(len(shape))

    def alike(v: Any) -> bool:
        return v.ndim == len(shape) and all(
            m == n
            for k, (m, n) in enumerate(zip(v.shape, shape, strict=True))
            if k != axis % len(shape)
        )

    others = [b.pick(alike) if b.chance(0.7) else b.shaped(shape) for _ in range(b.integer(1, 3))]
    if b.chance(0.2):
        others.append(Const(np.round(b.rng.uniform(-1, 1, shape), 3)))
    return ((x, *others),), {"axis": axis}


entry(
    "concatenate",
    "joining",
    _joined,
    ways=(
        lambda xs, axis: np.concatenate(xs, axis=axis),
        lambda xs, axis: cr.concatenate(xs, axis=axis),
        lambda xs, axis: np.concatenate(tuple(xs), axis),
        lambda xs, axis: np.concat(xs, axis=axis),
    ),
    torch=lambda t, xs, axis: t.cat(xs, axis),
    jax=lambda j, xs, axis: j.numpy.concatenate(xs, axis=axis),
)


def _alike(b: Builder) -> tuple[Any, ...]:
    x = b.pick(lambda v: v.ndim < 4 and v.size < 40)
    shape = b.values[x].shape
    return (x, *(b.shaped(shape) for _ in range(b.integer(1, 2))))


def _stack(b: Builder) -> Drawn:
    xs = _alike(b)
    ndim = b.values[xs[0]].ndim
    return (xs,), {"axis": b.integer(-ndim - 1, ndim)}


entry(
    "stack",
    "joining",
    _stack,
    ways=(
        lambda xs, axis: np.stack(xs, axis=axis),
        lambda xs, axis: cr.stack(xs, axis=axis),
        lambda xs, axis: np.stack(tuple(xs), axis),
    ),
    torch=lambda t, xs, axis: t.stack(xs, axis),
    jax=lambda j, xs, axis: j.numpy.stack(xs, axis=axis),
)
for _name in ("vstack", "hstack", "dstack", "column_stack"):
    entry(
        _name,
        "joining",
        lambda b, name=_name: ((_alike(b),), {}),
        torch=lambda t, xs, name=_name: getattr(t, name)(tuple(xs)),
        jax=lambda j, xs, name=_name: getattr(j.numpy, name)(xs),
    )
entry(
    "block",
    "joining",
    lambda b: (lambda x: ((x, *(b.shaped(b.values[x].shape) for _ in range(3))), {}))(
        b.ranked(2, 2, test=lambda v: v.size < 30)
    ),
    ways=(
        lambda x, y, z, w: np.block([[x, y], [z, w]]),
        lambda x, y, z, w: cr.block([[x, y], [z, w]]),
    ),
    torch=lambda t, x, y, z, w: t.cat([t.cat([x, y], 1), t.cat([z, w], 1)]),
    jax=lambda j, x, y, z, w: j.numpy.block([[x, y], [z, w]]),
)
entry(
    "append",
    "joining",
    lambda b: ((b.pick(size=1), b.pick(size=1)), {}),
    torch=lambda t, x, y: t.cat([x.reshape(-1), y.reshape(-1)]),
    jax="numpy.append",
)


def _insert(b: Builder) -> Drawn:
    x = b.ranked(1, 2)
    axis = b.axis(b.values[x].ndim)
    shape = list(b.values[x].shape)
    where = b.integer(0, shape[axis])
    del shape[axis % len(shape)]
    return (x, b.shaped(shape)), {"where": where, "axis": axis}


entry(
    "insert",
    "joining",
    _insert,
    ways=(
        lambda x, y, where, axis: np.insert(x, where, y, axis=axis),
        lambda x, y, where, axis: cr.insert(x, where, y, axis=axis),
    ),
    torch=lambda t, x, y, where, axis: rearranged(
        t, lambda u, v: np.insert(u, where, v, axis=axis), x, y
    ),
    jax=lambda j, x, y, where, axis: j.numpy.insert(x, where, y, axis=axis),
)


def _delete(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    axis = b.axis(b.values[x].ndim)
    n = b.values[x].shape[axis]
    return (x,), {"obj": b.choice([b.integer(-n, n - 1), slice(0, n, 2), [0, -1]]), "axis": axis}


entry(
    "delete",
    "joining",
    _delete,
    ways=(
        lambda x, obj, axis: np.delete(x, obj, axis=axis),
        lambda x, obj, axis: cr.delete(x, obj, axis=axis),
    ),
    torch=lambda t, x, obj, axis: rearranged(t, lambda u: np.delete(u, obj, axis=axis), x),
    jax=lambda j, x, obj, axis: j.numpy.delete(
        x, np.array(obj) if isinstance(obj, list) else obj, axis=axis
    ),
)


# -- splitting -------------------------------------------------------------------------------------


def _split(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    axis = b.axis(b.values[x].ndim)
    n = b.values[x].shape[axis]
    if n < 2:
        raise RejectError("too short")
    return (x,), {"sections": b.choice([n, [1], [1, n], [n // 2, n - 1]]), "axis": axis}


entry(
    "split",
    "splitting",
    _split,
    ways=(
        lambda x, sections, axis: np.split(x, sections, axis=axis),
        lambda x, sections, axis: cr.split(x, sections, axis=axis),
        lambda x, sections, axis: np.array_split(x, sections, axis),
    ),
    torch=lambda t, x, sections, axis: rearranged(t, lambda v: np.split(v, sections, axis), x),
    jax=lambda j, x, sections, axis: j.numpy.split(x, sections, axis),
)
entry(
    "array_split",
    "splitting",
    lambda b: (lambda x: ((x,), {"sections": b.integer(2, 3), "axis": b.axis(b.values[x].ndim)}))(
        b.ranked(1, 3)
    ),
    ways=(np.array_split, lambda x, sections, axis: cr.array_split(x, sections, axis=axis))[1:],
    torch=lambda t, x, sections, axis: t.tensor_split(x, sections, axis),
    jax=lambda j, x, sections, axis: j.numpy.array_split(x, sections, axis),
)
for _name, _low in (("hsplit", 2), ("vsplit", 2), ("dsplit", 3)):
    entry(
        _name,
        "splitting",
        lambda b, low=_low: ((b.ranked(low, 4),), {}),
        ways=(
            lambda x, name=_name: getattr(np, name)(x, [1]),
            lambda x, name=_name: cr.OPS[name](x, [1]),
        ),
        torch=lambda t, x, name=_name: getattr(t, name)(x, [1]),
        jax=lambda j, x, name=_name: getattr(j.numpy, name)(x, [1]),
    )
entry(
    "unstack",
    "splitting",
    lambda b: (lambda x: ((x,), {"axis": b.axis(b.values[x].ndim)}))(b.ranked(1, 3)),
    torch=lambda t, x, axis: t.unbind(x, axis),
    jax="numpy.unstack",
)
entry(
    "iterate",
    "splitting",
    lambda b: ((b.ranked(1, 3),), {}),
    ways=(lambda x: sum(np.sin(row) * k for k, row in enumerate(x)),),
    torch=lambda t, x: sum(t.sin(row) * k for k, row in enumerate(x)),
    jax=lambda j, x: sum(j.numpy.sin(row) * k for k, row in enumerate(x)),
)
entry(
    "sliding_window_view",
    "splitting",
    lambda b: (lambda x: ((x,), {"n": min(2, b.values[x].shape[-1])}))(b.ranked(1, 3)),
    ways=(
        lambda x, n: np.lib.stride_tricks.sliding_window_view(x, n, axis=-1),
        lambda x, n: cr.sliding_window_view(x, n, axis=-1),
    ),
    torch=lambda t, x, n: x.unfold(-1, n, 1),
    jax=lambda j, x, n: j.numpy.stack([x[..., k : x.shape[-1] - n + 1 + k] for k in range(n)], -1),
)
entry(
    "likes",
    "joining",
    lambda b: ((b.pick(),), {"fill": b.number(-1, 1)}),
    ways=(
        lambda x, fill: x * np.full_like(x, fill) + np.ones_like(x) - np.zeros_like(x) * x,
        lambda x, fill: x * cnp.full(x.shape, fill) + cnp.ones(x.shape) - cnp.zeros_like(x) * x,
        lambda x, fill: cnp.asarray(x) * fill + cnp.ones_like(x),
    ),
    torch=lambda t, x, fill: x * t.full_like(x, fill) + t.ones_like(x) - t.zeros_like(x) * x,
    jax=lambda j, x, fill: x * fill + 1.0,
)


# -- building arrays of scalars --------------------------------------------------------------------


def _scalars(b: Builder) -> Drawn:
    return (b.shaped(()), b.shaped(())), {}


entry(
    "array_of",
    "joining",
    _scalars,
    ways=(
        lambda x, y: cnp.array([[x, 1.5, y], [y, x * y, 0.0]]),
        lambda x, y: np.stack([np.stack([x, 1.5, y]), np.stack([y, x * y, 0.0])]),
    ),
    torch=lambda t, x, y: t.stack([x, 1.5 + 0 * x, y, y, x * y, 0 * x]).reshape(2, 3),
    jax=lambda j, x, y: j.numpy.array([[x, 1.5, y], [y, x * y, 0.0]]),
)
entry(
    "linspace",
    "joining",
    lambda b: (_scalars(b)[0], {"num": b.integer(2, 5)}),
    ways=(lambda x, y, num: cnp.linspace(x, y, num),),
    torch=lambda t, x, y, num: x + (y - x) * t.linspace(0, 1, num),
    jax=lambda j, x, y, num: j.numpy.linspace(x, y, num),
)


def _assembled(x: Any, y: Any) -> Any:
    z = cnp.zeros((2, 3))
    z[0] = x
    z[1, 1:] = y * x
    z[:, 0] += y
    return z


entry(
    "assembled",
    "assignment",
    _scalars,
    ways=(_assembled,),
    torch=lambda t, x, y: t.stack([x + y, x, x, y, y * x, y * x]).reshape(2, 3),
    jax=lambda j, x, y: j.numpy.array([[x + y, x, x], [y, y * x, y * x]]),
)


class SineProduct(cr.Function):
    """x·sin(y), an operation of the user's own."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * np.sin(y)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved
        return g * np.sin(y), g * x * np.cos(y)


entry(
    "custom_function",
    "structure",
    lambda b: (lambda x: ((x, b.shaped(b.values[x].shape)), {}))(b.pick()),
    ways=(SineProduct.apply,),
    torch=lambda t, x, y: x * t.sin(y),
    jax=lambda j, x, y: x * j.numpy.sin(y),
)
