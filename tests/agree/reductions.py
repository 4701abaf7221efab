"""Entries that go along axes: sums, extrema, moments, order statistics, cumulative sums, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from tests.agree.builder import Builder, RejectError
from tests.agree.entry import Drawn, distinct, entry, far_from


def folded(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """A tensor with the axes to reduce as its last one, and the shape that keepdims would give.

    PyTorch's reductions differ in which of no axis, one and several they take; all take one.
    """
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    gone = sorted(a % x.ndim for a in axes)
    kept = [a for a in range(x.ndim) if a not in gone]
    lined = x.permute(*kept, *gone) if x.ndim else x
    size = int(np.prod([x.shape[a] for a in gone]))
    shape = tuple(1 if a in gone else x.shape[a] for a in range(x.ndim))
    return lined.reshape(*(x.shape[a] for a in kept), size), shape


def torch_reduction(f: Any) -> Any:
    """f(t, x), which reduces the last axis, as a reduction over any axes."""

    def reduce(t: Any, x: Any, axis: Any = None, keepdims: bool = False, **attrs: Any) -> Any:
        lined, shape = folded(x, axis)
        out = f(t, lined, **attrs)
        return out.reshape(shape) if keepdims else out

    return reduce


def reduction(
    name: str,
    torch: Any,
    jax: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    empty: bool = False,
    ok: Any = None,
    ways: Any = None,
    draw: Any = None,
    one_axis: bool = False,
) -> None:
    """An entry x, axis, keepdims; `draw(b, x)` gives further attrs."""

    def drawn(b: Builder) -> Drawn:
        x = b.within(b.pick(size=0 if empty else 1), low, high)
        ndim = b.values[x].ndim
        axis = (b.axis(ndim) if ndim and b.chance(0.8) else None) if one_axis else b.axes(ndim)
        attrs = {"axis": axis} if axis is not None or b.chance(0.3) else {}
        if b.chance(0.4):
            attrs["keepdims"] = True
        return (x,), {**attrs, **(draw(b, b.values[x], axis) if draw else {})}

    method = [lambda x, **attrs: getattr(x, name)(**attrs)] if hasattr(np.ndarray, name) else []
    found = ways or (cr.OPS[name], *cr.OPS[name].numpy, *method)
    entry(
        name, "reductions", drawn, ways=tuple(found), torch=torch_reduction(torch), jax=jax, ok=ok
    )


def lanes(x: Any, axis: Any) -> Any:
    """The array with the axes to reduce as its last one, in NumPy."""
    x = np.asarray(x)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    gone = sorted(a % x.ndim for a in axes)
    kept = [a for a in range(x.ndim) if a not in gone]
    return x.transpose(*kept, *gone).reshape(*(x.shape[a] for a in kept), -1)


def untied(x: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> bool:
    """Whether no two elements that are reduced together come near each other."""
    return distinct(lanes(x, axis), -1)


reduction("sum", lambda t, x: x.sum(-1), "numpy.sum", empty=True)
reduction("mean", lambda t, x: x.mean(-1), "numpy.mean")
reduction("prod", lambda t, x: x.prod(-1), "numpy.prod", empty=True)
reduction("max", lambda t, x: x.amax(-1), "numpy.max", ok=untied)
reduction("min", lambda t, x: x.amin(-1), "numpy.min", ok=untied)
reduction(
    "ptp", lambda t, x: x.amax(-1) - x.amin(-1), "numpy.ptp", ok=untied, ways=(cr.ptp, np.ptp)
)
reduction(
    "logsumexp", lambda t, x: x.logsumexp(-1), "scipy.special.logsumexp", ways=(cr.logsumexp,)
)


def _spread(b: Builder, x: Any, axis: Any) -> dict[str, Any]:
    count = lanes(x, axis).shape[-1]
    ddof = b.choice([0, 0, 1])
    if count - ddof < 1:
        raise RejectError("too few elements")
    return {"ddof": ddof} if ddof or b.chance(0.3) else {}


def _spread_out(x: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> bool:
    return bool(np.all(np.std(lanes(x, axis), -1) > 0.1))


reduction("var", lambda t, x, ddof=0: x.var(-1, correction=ddof), "numpy.var", draw=_spread)
reduction(
    "std",
    lambda t, x, ddof=0: x.std(-1, correction=ddof),
    "numpy.std",
    draw=_spread,
    ok=_spread_out,
)
reduction(
    "median",
    lambda t, x: x.quantile(0.5, -1),
    "numpy.median",
    ok=untied,
    ways=(cr.median, np.median),
)


def _q(b: Builder, x: Any, axis: Any) -> dict[str, Any]:
    """A share that falls between two elements, so that the result has no kink there."""
    count = lanes(x, axis).shape[-1]
    q = b.number(0.02, 0.98)
    if abs(q * (count - 1) - round(q * (count - 1))) < 0.02 and count > 1:
        raise RejectError("on an element")
    return {"q": q}


def _share(f: Any, scale: float) -> Any:
    return lambda x, q, **attrs: f(x, q * scale, **attrs)


reduction("quantile", lambda t, x, q: x.quantile(q, -1), "numpy.quantile", draw=_q, ok=untied,
          ways=(_share(cr.quantile, 1), _share(np.quantile, 1)))  # fmt: skip
reduction("percentile", lambda t, x, q: x.quantile(q, -1), lambda j, x, q, **a: j.numpy.percentile(x, 100 * q, **a),
          draw=_q, ok=untied, ways=(_share(cr.percentile, 100), _share(np.percentile, 100)))  # fmt: skip


# -- with a mask, an initial value or weights ------------------------------------------------------


def _masked(b: Builder) -> Drawn:
    x = b.pick(size=1)
    v = b.values[x]
    mask = b.rng.random(v.shape) < 0.6
    return (x,), {"mask": np.asarray(mask), "axis": b.axes(v.ndim)}


def with_mask(name: str, torch: Any, jax: Any, ok: Any = None, **extra: Any) -> None:
    """np.sum(x, where=mask) and np.max(x, where=mask, initial=…)."""
    entry(
        f"{name}_where",
        "reductions",
        _masked,
        ways=(
            lambda x, mask, axis: cr.OPS[name](x, axis=axis, where=mask, **extra),
            lambda x, mask, axis: getattr(np, name)(x, axis=axis, where=mask, **extra),
        ),
        torch=lambda t, x, mask, axis: torch_reduction(torch)(
            t, _tensor_where(t, mask, x, name), axis
        ),
        jax=lambda j, x, mask, axis: getattr(j.numpy, name)(x, axis=axis, where=mask, **extra),
        ok=ok,
    )


def _tensor_where(t: Any, mask: Any, x: Any, name: str) -> Any:
    fill = {"sum": 0.0, "prod": 1.0, "max": -0.7, "min": 0.7}[name]
    return t.where(t.as_tensor(mask), x, fill)


def _above_initial(initial: float) -> Any:
    return lambda x, mask, axis: untied(x, axis) and far_from(x, initial)


with_mask("sum", lambda t, x: x.sum(-1), "numpy.sum")
with_mask("prod", lambda t, x: x.prod(-1), "numpy.prod")
with_mask(
    "max", lambda t, x: x.amax(-1).clamp(min=-0.7), "numpy.max", _above_initial(-0.7), initial=-0.7
)
with_mask(
    "min", lambda t, x: x.amin(-1).clamp(max=0.7), "numpy.min", _above_initial(0.7), initial=0.7
)


def _weighted(b: Builder) -> Drawn:
    x = b.pick(size=1)
    shape = b.values[x].shape
    return (x, b.within(b.shaped(shape), 0.2, None)), {"axis": b.axes(len(shape))}


entry(
    "average",
    "reductions",
    _weighted,
    ways=(
        lambda x, w, axis: np.average(x, axis=axis, weights=w),
        lambda x, w, axis: cr.average(x, axis=axis, weights=w),
    ),
    torch=lambda t, x, w, axis: folded(x * w, axis)[0].sum(-1) / folded(w, axis)[0].sum(-1),
    jax=lambda j, x, w, axis: j.numpy.average(x, axis=axis, weights=w),
)
entry(
    "logsumexp_weighted",
    "reductions",
    _weighted,
    ways=(lambda x, w, axis: cr.logsumexp_weighted(x, w, axis=axis),),
    torch=lambda t, x, w, axis: folded(t.exp(x) * w, axis)[0].sum(-1).log(),
    jax=lambda j, x, w, axis: j.scipy.special.logsumexp(x, axis=axis, b=w),
)
entry(
    "logaddexp_reduce",
    "reductions",
    lambda b: (lambda x: ((x,), {"axis": b.axis(b.values[x].ndim)}))(b.ranked(1, 3)),
    ways=(lambda x, axis: np.logaddexp.reduce(x, axis=axis),),
    torch=lambda t, x, axis: x.logsumexp(axis),
    jax=lambda j, x, axis: j.scipy.special.logsumexp(x, axis=axis),
)
entry(
    "add_reduce",
    "reductions",
    lambda b: (lambda x: ((x,), {"axis": b.axis(b.values[x].ndim)}))(b.ranked(1, 3)),
    ways=(
        lambda x, axis: np.add.reduce(x, axis=axis) + np.multiply.reduce(x, axis=axis),
        lambda x, axis: np.add.reduce(x, axis) + np.multiply.reduce(x, axis),
    ),
    torch=lambda t, x, axis: x.sum(axis) + x.prod(axis),
    jax=lambda j, x, axis: x.sum(axis) + x.prod(axis),
)
entry(
    "argmax",
    "reductions",
    lambda b: (lambda x: ((x, x), {"low": b.chance(0.5)}))(b.ranked(1, 1, size=2)),
    ways=(
        lambda x, y, low: x[np.argmin(y) if low else np.argmax(y)] * y,
        lambda x, y, low: x[y.argmin() if low else y.argmax()] * y,
    ),
    torch=lambda t, x, y, low: x[y.argmin() if low else y.argmax()] * y,
    jax=lambda j, x, y, low: x[y.argmin() if low else y.argmax()] * y,
    ok=lambda x, y, low: distinct(y),
)
entry(
    "questions",
    "reductions",
    lambda b: ((b.pick(size=1),), {}),
    ways=(
        lambda x: x * np.any(x > 0) + np.all(x < 5) * np.sin(x) + np.count_nonzero(x) * 0.1 * x,
        lambda x: x * (x > 0).any() + (x < 5).all() * np.sin(x) + cr.count_nonzero(x) * 0.1 * x,
    ),
    torch=lambda t, x: x * (x > 0).any() + (x < 5).all() * t.sin(x) + x.numel() * 0.1 * x,
    jax=lambda j, x: x * (x > 0).any() + (x < 5).all() * j.numpy.sin(x) + x.size * 0.1 * x,
    ok=lambda x: far_from(x, 0.0, 5.0),
)


# -- with NaN --------------------------------------------------------------------------------------


def holed(
    name: str,
    torch: Any,
    jax: Any = None,
    *,
    keep: int = 1,
    ok: Any = None,
    cumulative: bool = False,
) -> None:
    """np.nansum and the like, of an array in which a constant mask puts NaN."""

    def draw(b: Builder) -> Drawn:
        x = b.pick(size=2)
        v = b.values[x]
        axis = (b.axis(v.ndim) if b.chance(0.7) else None) if cumulative else b.axes(v.ndim)
        holes = b.rng.random(v.shape) < 0.3
        if np.any(np.sum(~lanes(holes, axis), -1) < keep):
            raise RejectError("too many holes")
        return (x,), {"holes": holes, "axis": axis}

    def way(f: Any) -> Any:
        return lambda x, holes, axis: f(np.where(holes, np.nan, x), axis=axis)

    def peer(j: Any, x: Any, holes: Any, axis: Any) -> Any:
        return getattr(j.numpy, name)(j.numpy.where(holes, j.numpy.nan, x), axis=axis)

    def tensor(t: Any, x: Any, holes: Any, axis: Any) -> Any:
        return torch(t, x, t.as_tensor(holes), axis)

    entry(
        name,
        "nans",
        draw,
        ways=(way(cr.OPS[name]), way(getattr(np, name))),
        torch=tensor if torch else None,
        jax=jax or peer,
        ok=ok,
    )


def _filled(t: Any, x: Any, holes: Any, axis: Any, fill: float) -> Any:
    return folded(t.where(holes, fill, x), axis)[0]


def _held(t: Any, x: Any, holes: Any, axis: Any) -> tuple[Any, Any, Any]:
    """The elements that are not holes as a mask of zeros and ones, their number and their mean."""
    there = folded((~holes).to(x.dtype), axis)[0]
    count = there.sum(-1, keepdim=True)
    return there, count, (folded(x, axis)[0] * there).sum(-1, keepdim=True) / count


def _nanvar(t: Any, x: Any, holes: Any, axis: Any) -> Any:
    there, count, mean = _held(t, x, holes, axis)
    return (((folded(x, axis)[0] - mean) * there) ** 2).sum(-1) / count[..., 0]


def _nan_quantile(t: Any, x: Any, holes: Any, axis: Any, q: float = 0.5) -> Any:
    return t.nanquantile(_filled(t, x, holes, axis, np.nan), q, -1)


def _varied(x: Any, holes: Any, axis: Any) -> bool:
    return bool(np.all(np.nanstd(lanes(np.where(holes, np.nan, x), axis), -1) > 0.1))


def _untied(x: Any, holes: Any, axis: Any) -> bool:
    return untied(x, axis)


def _along(f: Any) -> Any:
    return lambda t, x, holes, axis, fill: f(
        t.where(holes, fill, x).reshape(-1) if axis is None else t.where(holes, fill, x),
        0 if axis is None else axis,
    )


holed("nansum", lambda t, x, h, a: _filled(t, x, h, a, 0.0).sum(-1), keep=0)
holed("nanprod", lambda t, x, h, a: _filled(t, x, h, a, 1.0).prod(-1), keep=0)
holed("nanmax", lambda t, x, h, a: _filled(t, x, h, a, -np.inf).amax(-1), ok=_untied)
holed("nanmin", lambda t, x, h, a: _filled(t, x, h, a, np.inf).amin(-1), ok=_untied)
holed("nanmean", lambda t, x, h, a: _held(t, x, h, a)[2][..., 0])
holed("nanvar", _nanvar)
holed("nanstd", lambda t, x, h, a: _nanvar(t, x, h, a).sqrt(), ok=_varied)
holed("nanmedian", _nan_quantile, ok=_untied)
holed(
    "nancumsum",
    lambda t, x, h, a: _along(lambda y, k: y.cumsum(k))(t, x, h, a, 0.0),
    keep=0,
    cumulative=True,
)
holed(
    "nancumprod",
    lambda t, x, h, a: _along(lambda y, k: y.cumprod(k))(t, x, h, a, 1.0),
    keep=0,
    cumulative=True,
)


def _nan_share(name: str, scale: float) -> None:
    """np.nanquantile at a share that falls between two of the three or more elements left."""

    def draw(b: Builder) -> Drawn:
        x = b.ranked(1, 2, size=4)
        holes = np.zeros(b.values[x].shape, bool)
        holes.reshape(-1)[b.integer(0, holes.size - 1)] = True
        return (x,), {"holes": holes, "q": b.choice([0.21, 0.37, 0.58, 0.83])}

    def clear(x: Any, holes: Any, q: float) -> bool:
        at = q * (holes.size - 2)
        return distinct(x) and abs(at - round(at)) > 0.02

    entry(
        name,
        "nans",
        draw,
        ways=(
            lambda x, holes, q: getattr(np, name)(np.where(holes, np.nan, x), q * scale),
            lambda x, holes, q: cr.OPS[name](np.where(holes, np.nan, x), q * scale),
        ),
        torch=lambda t, x, holes, q: t.nanquantile(t.where(t.as_tensor(holes), np.nan, x), q),
        jax=lambda j, x, holes, q: j.numpy.nanquantile(j.numpy.where(holes, np.nan, x), q),
        ok=clear,
    )


_nan_share("nanquantile", 1)
_nan_share("nanpercentile", 100)


# -- cumulative ------------------------------------------------------------------------------------


def _cumulative(b: Builder) -> Drawn:
    x = b.ranked(1, 4, size=0)
    axis = None if b.chance(0.2) else b.axis(b.values[x].ndim)
    return (x,), {"axis": axis}


def _cumulated(f: str) -> Any:
    def call(t: Any, x: Any, axis: Any) -> Any:
        out = getattr(x.reshape(-1) if axis is None else x, f)(0 if axis is None else axis)
        return out if hasattr(out, "shape") else out[0]

    return call


entry("cumsum", "cumulative", _cumulative, torch=_cumulated("cumsum"), jax="numpy.cumsum",
      ways=(cr.cumsum, np.cumsum, lambda x, axis: x.cumsum(axis)))  # fmt: skip
entry("cumprod", "cumulative", _cumulative, torch=_cumulated("cumprod"), jax="numpy.cumprod",
      ways=(cr.cumprod, np.cumprod, lambda x, axis: x.cumprod(axis=axis)))  # fmt: skip
entry(
    "accumulate",
    "cumulative",
    lambda b: (lambda x: ((x,), {"axis": b.axis(b.values[x].ndim)}))(b.ranked(1, 3)),
    ways=(lambda x, axis: np.add.accumulate(x, axis=axis) - np.multiply.accumulate(x, axis=axis),),
    torch=lambda t, x, axis: x.cumsum(axis) - x.cumprod(axis),
    jax=lambda j, x, axis: j.numpy.cumsum(x, axis) - j.numpy.cumprod(x, axis),
)


def _with_initial(b: Builder) -> Drawn:
    x = b.ranked(1, 4)
    ndim = b.values[x].ndim
    return (x,), {"axis": b.axis(ndim), "include_initial": b.chance(0.5)}


def _initial(f: str, start: float) -> Any:
    def call(t: Any, x: Any, axis: int, include_initial: bool) -> Any:
        out = getattr(x, f)(axis)
        if not include_initial:
            return out
        return t.cat([t.full_like(out.narrow(axis, 0, 1), start), out], axis)

    return call


entry(
    "cumulative_sum",
    "cumulative",
    _with_initial,
    torch=_initial("cumsum", 0.0),
    jax="numpy.cumulative_sum",
)
entry(
    "cumulative_prod",
    "cumulative",
    _with_initial,
    torch=_initial("cumprod", 1.0),
    jax="numpy.cumulative_prod",
)


def _running(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    return (x,), {"axis": b.axis(b.values[x].ndim)}


entry("cummax", "cumulative", _running, torch=lambda t, x, axis: x.cummax(axis)[0],
      jax=lambda j, x, axis: j.lax.cummax(x, axis % x.ndim), ok=lambda x, axis: distinct(x, axis))  # fmt: skip
entry("cummin", "cumulative", _running, torch=lambda t, x, axis: x.cummin(axis)[0],
      jax=lambda j, x, axis: j.lax.cummin(x, axis % x.ndim), ok=lambda x, axis: distinct(x, axis))  # fmt: skip


def _recurrence(b: Builder) -> Drawn:
    x = b.ranked(1, 2)
    return (b.within(x, -1, 1), b.shaped(b.values[x].shape)), {}


entry("recurrence", "cumulative", _recurrence)


# -- differences and integrals ---------------------------------------------------------------------


def _diff(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    axis = b.axis(b.values[x].ndim)
    if b.values[x].shape[axis] < 2:
        raise RejectError("too short")
    return (x,), {"n": b.integer(1, min(2, b.values[x].shape[axis] - 1)), "axis": axis}


entry(
    "diff", "differences", _diff, torch=lambda t, x, n, axis: t.diff(x, n, axis), jax="numpy.diff"
)
entry(
    "diff_between",
    "differences",
    lambda b: ((b.ranked(1, 1), b.ranked(1, 1), b.ranked(1, 1)), {}),
    ways=(
        lambda x, y, z: np.diff(x, prepend=y, append=z),
        lambda x, y, z: cr.OPS["diff"](x, prepend=y, append=z),  # cr.diff is a folder
    ),
    torch=lambda t, x, y, z: t.diff(x, prepend=y, append=z),
    jax=lambda j, x, y, z: j.numpy.diff(x, prepend=y, append=z),
)
entry(
    "ediff1d",
    "differences",
    lambda b: ((b.ranked(1, 2, size=2),), {"to_end": b.number(-1, 1), "to_begin": b.number(-1, 1)}),
    torch=lambda t, x, to_end, to_begin: t.cat(
        [t.tensor([to_begin]), t.diff(x.reshape(-1)), t.tensor([to_end])]
    ),
    jax=lambda j, x, to_end, to_begin: j.numpy.ediff1d(x, to_end, to_begin),
)


def _gradient(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    axis = b.axis(b.values[x].ndim)
    if b.values[x].shape[axis] < 3:
        raise RejectError("too short")
    return (x,), {"spacing": b.number(0.5, 2), "axis": axis}


entry(
    "gradient",
    "differences",
    _gradient,
    ways=(
        lambda x, spacing, axis: np.gradient(x, spacing, axis=axis),
        lambda x, spacing, axis: cr.gradient(x, spacing, axis=axis),
    ),
    torch=lambda t, x, spacing, axis: t.gradient(x, spacing=spacing, dim=axis)[0],
    jax=lambda j, x, spacing, axis: j.numpy.gradient(x, spacing, axis=axis),
)
entry(
    "gradient_second_edge",
    "differences",
    _gradient,
    ways=(lambda x, spacing, axis: np.gradient(x, spacing, axis=axis, edge_order=2),),
    torch=lambda t, x, spacing, axis: t.gradient(x, spacing=spacing, dim=axis, edge_order=2)[0],
)
entry(
    "trapezoid",
    "differences",
    lambda b: (lambda y: ((y, b.shaped(b.values[y].shape[-1:])), {}))(b.ranked(1, 3)),
    ways=(lambda y, x: np.trapezoid(y, x), lambda y, x: cr.trapezoid(y, x=x)),
    torch="trapezoid",
    jax=lambda j, y, x: j.numpy.trapezoid(y, x),
)
entry(
    "trapezoid_even",
    "differences",
    lambda b: (lambda y: ((y,), {"dx": b.number(0.3, 1), "axis": b.axis(b.values[y].ndim)}))(
        b.ranked(1, 3)
    ),
    ways=(cr.trapezoid, np.trapezoid),
    torch=lambda t, y, dx, axis: t.trapezoid(y, dx=dx, dim=axis),
    jax=lambda j, y, dx, axis: j.numpy.trapezoid(y, dx=dx, axis=axis),
)


# -- statistics ------------------------------------------------------------------------------------


def _table(b: Builder) -> Drawn:
    x = b.ranked(2, 2, test=lambda v: v.ndim == 2 and min(v.shape) >= 2)
    return (x,), {}


def _scattered(x: Any) -> bool:
    return bool(np.all(np.std(x, -1) > 0.2))


entry("cov", "statistics", _table, torch="cov", jax="numpy.cov")
entry("corrcoef", "statistics", _table, torch="corrcoef", jax="numpy.corrcoef", ok=_scattered)


def _counted(b: Builder) -> Drawn:
    w = b.ranked(1, 1)
    return (w,), {"labels": b.rng.integers(0, 4, b.values[w].shape), "minlength": 5}


entry(
    "bincount",
    "statistics",
    _counted,
    ways=(
        lambda w, labels, minlength: np.bincount(labels, w, minlength),
        lambda w, labels, minlength: np.bincount(labels, weights=w, minlength=minlength),
        lambda w, labels, minlength: cr.bincount(labels, w, minlength=minlength),
    ),
    torch=lambda t, w, labels, minlength: t.zeros(minlength, dtype=w.dtype).index_add(
        0, t.as_tensor(labels), w
    ),
    jax=lambda j, w, labels, minlength: j.numpy.bincount(labels, w, length=minlength),
)


# -- softmax ---------------------------------------------------------------------------------------


def _softmax(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    return (x,), {"axis": b.axis(b.values[x].ndim)}


entry("softmax", "softmax", _softmax, torch=lambda t, x, axis: x.softmax(axis), jax="nn.softmax")
entry(
    "log_softmax",
    "softmax",
    _softmax,
    torch=lambda t, x, axis: x.log_softmax(axis),
    jax="nn.log_softmax",
)
entry(
    "cross_entropy",
    "softmax",
    lambda b: (
        lambda x: ((x,), {"labels": b.rng.integers(0, b.values[x].shape[1], b.values[x].shape[0])})
    )(b.ranked(2, 2)),
    ways=(lambda x, labels: -np.mean(cr.log_softmax(x, axis=1)[np.arange(len(labels)), labels]),),
    torch=lambda t, x, labels: t.nn.functional.cross_entropy(x, t.as_tensor(labels)),
    jax=lambda j, x, labels: (
        -j.numpy.mean(j.nn.log_softmax(x, axis=1)[np.arange(len(labels)), labels])
    ),
)


# -- order -----------------------------------------------------------------------------------------


def _sortable(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    return (x,), {"axis": b.axis(b.values[x].ndim)}


entry("sort", "order", _sortable, torch=lambda t, x, axis: x.sort(axis)[0], jax="numpy.sort",
      ok=lambda x, axis: distinct(x, axis))  # fmt: skip
entry(
    "sort_in_place",
    "order",
    _sortable,
    ways=(lambda x, axis: _sorted_in_place(np.copy(x), axis),),
    torch=lambda t, x, axis: x.sort(axis)[0],
    jax="numpy.sort",
    ok=lambda x, axis: distinct(x, axis),
)


def _sorted_in_place(x: Any, axis: int) -> Any:
    x.sort(axis)
    return x


entry(
    "argsort",
    "order",
    lambda b: (lambda x: ((x, b.shaped(b.values[x].shape)), {}))(b.ranked(1, 1)),
    ways=(
        lambda x, y: y[np.argsort(x)] * x,
        lambda x, y: y[x.argsort()] * x,
        lambda x, y: np.take_along_axis(y, np.argsort(x), 0) * x,
    ),
    torch=lambda t, x, y: y[x.argsort()] * x,
    jax=lambda j, x, y: y[j.numpy.argsort(x)] * x,
    ok=lambda x, y: distinct(x),
)
entry(
    "partition",
    "order",
    lambda b: (lambda x: ((x,), {"kth": b.integer(0, b.values[x].size - 1)}))(b.ranked(1, 1)),
    ways=(
        lambda x, kth: np.partition(x, kth)[kth] * x,
        lambda x, kth: cr.partition(x, kth)[kth] * x,
    ),
    torch=lambda t, x, kth: x.sort()[0][kth] * x,
    jax=lambda j, x, kth: j.numpy.sort(x)[kth] * x,
    ok=lambda x, kth: distinct(x),
)
entry(
    "unique",
    "order",
    lambda b: ((b.ranked(1, 2),), {}),
    ways=(cr.unique, np.unique),
    torch=lambda t, x: x.reshape(-1).sort()[0],
    jax=lambda j, x: j.numpy.sort(x.reshape(-1)),
    ok=lambda x: distinct(x),
)
entry(
    "union1d",
    "order",
    lambda b: (lambda x: ((x, b.ranked(1, 2)), {}))(b.ranked(1, 2)),
    ways=(np.union1d, cr.union1d),
    torch=lambda t, x, y: t.cat([x.reshape(-1), y.reshape(-1)]).sort()[0],
    jax=lambda j, x, y: j.numpy.sort(j.numpy.concatenate([x.reshape(-1), y.reshape(-1)])),
    ok=lambda x, y: distinct(np.concatenate([np.ravel(x), np.ravel(y)])),
)
