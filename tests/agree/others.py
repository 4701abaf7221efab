"""Entries of the rest: sets, positions, densities, transposes of convolutions, slopes with an order."""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from tests.agree.builder import Builder, RejectError
from tests.agree.elementwise import binary
from tests.agree.entry import Const, Drawn, distinct, entry, far_from
from tests.agree.matrices import complex_value, conditioned, square

# -- sets and positions ----------------------------------------------------------------------------


def _two_lists(b: Builder) -> Drawn:
    return (b.ranked(1, 2), b.ranked(1, 2)), {}


def _all_distinct(x: Any, y: Any) -> bool:
    return distinct(np.concatenate([np.ravel(x), np.ravel(y)]))


entry(
    "setxor1d",
    "order",
    _two_lists,
    ways=(np.setxor1d, cr.setxor1d),
    torch=lambda t, x, y: t.cat([x.reshape(-1), y.reshape(-1)]).sort()[0],
    jax=lambda j, x, y: j.numpy.sort(j.numpy.concatenate([x.reshape(-1), y.reshape(-1)])),
    ok=_all_distinct,
)
entry(
    "setdiff1d",
    "order",
    _two_lists,
    ways=(np.setdiff1d, cr.setdiff1d),
    torch=lambda t, x, y: x.reshape(-1).sort()[0],
    jax=lambda j, x, y: j.numpy.sort(x.reshape(-1)),
    ok=_all_distinct,
)
entry(
    "intersect1d",
    "order",
    lambda b: (lambda x: ((x, x), {}))(b.ranked(1, 1)),
    ways=(np.intersect1d, cr.intersect1d),
    # An element of both is one element that moves with either: they share the derivative.
    torch=lambda t, x, y: (x.sort()[0] + y.sort()[0]) / 2,
    jax=lambda j, x, y: (j.numpy.sort(x) + j.numpy.sort(y)) / 2,
    ok=lambda x, y: distinct(x),
)
entry(
    "unique_values",
    "order",
    lambda b: ((b.ranked(1, 2),), {}),
    ways=(
        lambda x: np.sort(np.unique_values(x)),
        lambda x: np.sort(np.unique_counts(x).values),
        lambda x: np.sort(np.unique_all(x).values),
        lambda x: np.unique(x, return_inverse=True)[0],
    ),
    torch=lambda t, x: x.reshape(-1).sort()[0],
    jax=lambda j, x: j.numpy.sort(x.reshape(-1)),
    ok=lambda x: distinct(x),
)
entry(
    "lexsort",
    "order",
    lambda b: (lambda x: ((x, b.shaped(b.values[x].shape)), {}))(b.ranked(1, 1)),
    ways=(
        lambda x, y: y[np.lexsort((y, x))],
        lambda x, y: y[np.argsort(x)] + y[np.argpartition(x, 0)[0]] - y[np.argmin(x)],
    ),
    torch=lambda t, x, y: y[x.argsort()],
    jax=lambda j, x, y: y[j.numpy.argsort(x)],
    ok=lambda x, y: distinct(x),
)
entry(
    "sort_complex",
    "order",
    lambda b: ((complex_value(b, 1, 1),), {}),
    ways=(np.sort_complex, cr.sort_complex),
    torch=lambda t, z: z[t.real(z).argsort()],
    jax=lambda j, z: z[j.numpy.argsort(j.numpy.real(z))],
    ok=lambda z: distinct(np.real(z)),
)
entry(
    "nanargmax",
    "order",
    lambda b: ((b.ranked(1, 1, size=2),), {}),
    ways=(lambda x: x * x[np.nanargmax(np.where(x > 1, np.nan, x))] + x[np.nanargmin(x)],),
    torch=lambda t, x: x * x[t.where(x > 1, -np.inf, x).argmax()] + x[x.argmin()],
    jax=lambda j, x: x * x[j.numpy.where(x > 1, -np.inf, x).argmax()] + x[x.argmin()],
    ok=lambda x: distinct(x) and far_from(x, 1.0) and bool(np.min(x) < 1),
)
entry(
    "isin",
    "order",
    lambda b: (lambda x: ((x, b.pick()), {"some": np.round(b.rng.uniform(-1, 1, 3), 3)}))(
        b.ranked(1, 2)
    ),
    ways=(lambda x, y, some: np.where(np.isin(x, some), 0.0, x) * np.sum(y),),
    torch=lambda t, x, y, some: x * y.sum(),
    jax=lambda j, x, y, some: x * y.sum(),
    ok=lambda x, y, some: far_from(np.subtract.outer(x, some), 0.0),
)


def _triangle(b: Builder) -> Drawn:
    return (b.ranked(2, 2, test=lambda v: v.ndim == 2 and v.shape[0] == v.shape[1]),), {}


entry(
    "triangle_indices",
    "indexing",
    _triangle,
    ways=(
        lambda x: np.concatenate([x[np.tril_indices_from(x)], x[np.diag_indices_from(x)]]),
        lambda x: np.concatenate([x[np.tril_indices(len(x))], np.linalg.diagonal(x)]),
    ),
    torch=lambda t, x: t.cat([x[np.tril_indices(len(x))], x.diagonal()]),
    jax=lambda j, x: j.numpy.concatenate([x[np.tril_indices(len(x))], j.numpy.diagonal(x)]),
)
entry(
    "linalg_trace",
    "diagonals",
    lambda b: ((b.ranked(2, 4),), {"offset": b.integer(-1, 1)}),
    ways=(
        lambda x, offset: np.linalg.trace(x, offset=offset),
        lambda x, offset: cr.linalg_trace(x, offset=offset),
    ),
    torch=lambda t, x, offset: x.diagonal(offset, -2, -1).sum(-1),
    jax=lambda j, x, offset: j.numpy.trace(x, offset, -2, -1),
)
entry(
    "cross_index",
    "indexing",
    lambda b: (lambda x: ((x,), {"rows": b.rng.integers(0, b.values[x].shape[0], 2),
                                 "columns": b.rng.integers(0, b.values[x].shape[1], 3)}))(b.ranked(2, 3)),
    ways=(
        lambda x, rows, columns: x[np.ix_(rows, columns)],
        lambda x, rows, columns: np.reshape(x, (-1, *x.shape[2:]))[
            np.ravel_multi_index((rows[:, None] + 0 * columns, columns + 0 * rows[:, None]), x.shape[:2])
        ],
    ),
    torch=lambda t, x, rows, columns: x[t.as_tensor(rows)][:, t.as_tensor(columns)],
    jax=lambda j, x, rows, columns: x[rows][:, columns],
)  # fmt: skip
entry(
    "largest_of_all",
    "indexing",
    lambda b: ((b.ranked(1, 3),), {}),
    ways=(
        lambda x: x[np.unravel_index(np.argmax(x), x.shape)] * np.sin(x),
        lambda x: np.ravel(x)[x.argmax()] * np.sin(x),
    ),
    torch=lambda t, x: x.max() * t.sin(x),
    jax=lambda j, x: x.max() * j.numpy.sin(x),
    ok=lambda x: distinct(x),
)
entry(
    "logical_mix",
    "selection",
    lambda b: (lambda x: ((x, b.partner(x, constants=False)), {}))(b.pick()),
    ways=(
        lambda x, y: np.where(np.logical_or(x > 0.5, y < -0.5), x, y),
        lambda x, y: np.where((x > 0.5) ^ (y < -0.5) | ((x > 0.5) & (y < -0.5)), x, y),
    ),
    torch=lambda t, x, y: t.where((x > 0.5) | (y < -0.5), x, y),
    jax=lambda j, x, y: j.numpy.where((x > 0.5) | (y < -0.5), x, y),
    ok=lambda x, y: far_from(x, 0.5) and far_from(y, -0.5),
)
entry(
    "trim_zeros",
    "joining",
    lambda b: ((b.ranked(1, 1),), {}),
    ways=(lambda x: np.trim_zeros(np.concatenate([np.zeros(2), x, np.zeros(1)])),),
    torch=lambda t, x: x.clone(),
    jax=lambda j, x: x * 1.0,
    ok=lambda x: far_from(x, 0.0),
)
entry(
    "complex_sign",
    "complex",
    lambda b: ((complex_value(b),), {}),
    ways=(np.sign, cr.sign),
    torch=lambda t, z: z / z.abs(),
    jax=lambda j, z: z / j.numpy.abs(z),
    ok=lambda z: bool(np.all(np.abs(z) > 0.1)),
)


# -- ops that others are differentiated into, called by their own names ----------------------------


def _density(m: Any, lgamma: Any, a: Any, x: Any) -> Any:
    return m.exp((a - 1) * m.log(x) - x - lgamma(a))


binary("gamma_density", lambda t, a, x: _density(t, t.lgamma, a, x),
       lambda j, a, x: _density(j.numpy, j.scipy.special.gammaln, a, x),
       first=(0.4, 4), second=(0.2, 4), family="special")  # fmt: skip
entry(
    "cofactor",
    "linalg",
    lambda b: ((square(b),), {}),
    torch=lambda t, a: t.linalg.det(a)[..., None, None] * t.linalg.inv(a).mT,
    jax=lambda j, a: j.numpy.linalg.det(a)[..., None, None] * j.numpy.linalg.inv(a).mT,
    ok=conditioned,
)


def _with_order(
    name: str, orders: tuple[int, ...], low: Any, high: Any, torch: Any = None, jax: Any = None
) -> None:
    """The slope of a function, of a given order."""

    def draw(b: Builder) -> Drawn:
        return (b.within(b.pick(), low, high),), {"order": b.choice(orders)}

    entry(name, "special", draw, torch=torch, jax=jax)


_with_order("erfcx_derivative", (1, 2), -0.8, 3)
_with_order("dawsn_derivative", (1, 2), -3, 3)
_with_order("sinc_derivative", (1, 2), -3, 3)
_with_order("exprel_derivative", (1, 2), -2, 2)
_with_order("log1prel_derivative", (1, 2), -0.5, 2)
_with_order("ellipk_derivative", (1,), -1, 0.6)
_with_order("ellipe_derivative", (1,), -1, 0.6)
for _name in ("ive_derivative", "kve_derivative"):
    entry(
        _name,
        "special",
        lambda b: (
            (Const(b.choice([0, 1, 1.5])), b.within(b.pick(), 0.6, 4)),
            {"order": b.integer(1, 2)},
        ),
    )
entry(
    "zeta_difference",
    "special",
    lambda b: (lambda x, y: ((b.within(x, 0.5, 4), b.within(y, 0.3, 3)), {"s": b.integer(2, 3)}))(
        *b.pair()
    ),
    torch=lambda t, a, b, s: t.special.zeta(float(s), a) - t.special.zeta(float(s), a + b),
    jax=lambda j, a, b, s: (
        j.scipy.special.zeta(float(s), a) - j.scipy.special.zeta(float(s), a + b)
    ),
)
entry(
    "exp_moment",
    "special",
    lambda b: (lambda x, y: ((b.within(x, 0.3, 2), b.within(y, 0.4, 2)), {"order": 1}))(*b.pair()),
    # ∫₀ˣ s e^(ys) ds = (e^(xy) (xy − 1) + 1) / y²
    torch=lambda t, x, y, order: (t.exp(x * y) * (x * y - 1) + 1) / y**2,
    jax=lambda j, x, y, order: (j.numpy.exp(x * y) * (x * y - 1) + 1) / y**2,
)


def _weights(b: Builder) -> Drawn:
    n, c, o = b.integer(1, 2), b.integer(1, 2), b.integer(1, 2)
    length, kernel = b.integer(3, 5), b.integer(1, 3)
    return (b.shaped((n, c, length)), b.shaped((n, o, length - kernel + 1))), {"kernel": (kernel,)}


entry(
    "conv_weight",
    "convolution",
    _weights,
    ways=(cr.conv_weight,),
    torch=lambda t, x, y, kernel: t.nn.functional.conv1d(
        x.transpose(0, 1), y.transpose(0, 1)
    ).transpose(0, 1),
)


def _unpool(b: Builder) -> Drawn:
    window, count = b.integer(2, 3), b.integer(1, 2)
    return (b.shaped((1, b.integer(1, 2), count)),), {
        "lengths": (window * count + b.integer(0, 1),),
        "window": window,
    }


entry(
    "sum_unpool",
    "convolution",
    _unpool,
    ways=(cr.sum_unpool,),
    torch=lambda t, y, lengths, window: t.nn.functional.pad(
        y.repeat_interleave(window, -1), (0, lengths[0] - window * y.shape[-1])
    ),
    jax=lambda j, y, lengths, window: j.numpy.pad(
        j.numpy.repeat(y, window, -1), ((0, 0), (0, 0), (0, lengths[0] - window * y.shape[-1]))
    ),
)


def _windows(b: Builder) -> Drawn:
    n, w = b.integer(1, 4), b.integer(1, 3)
    if n * w > 12:
        raise RejectError("large")
    return (b.shaped((n, w)),), {"shape": (n + w - 1,)}


entry(
    "overlap_add",
    "convolution",
    _windows,
    ways=(cr.overlap_add,),
    torch=lambda t, y, shape: t.stack(
        [y.flip(1).diagonal(k).sum() for k in range(y.shape[1] - 1, -y.shape[0], -1)]
    ),
    jax=lambda j, y, shape: j.numpy.stack(
        [j.numpy.trace(y[:, ::-1], k) for k in range(y.shape[1] - 1, -y.shape[0], -1)]
    ),
)
