"""Entries of products: matrix and tensor products, einsum, convolutions, pooling, Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from tests.agree.builder import Builder, RejectError
from tests.agree.entry import Const, Drawn, distinct, entry
from tests.agree.reductions import lanes


def _matmul(b: Builder) -> Drawn:
    """Vectors, matrices and stacks whose inner sizes agree."""
    x = b.ranked(1, 3)
    shape = b.values[x].shape
    inner, kind = shape[-1], b.integer(0, 3)
    columns = b.integer(1, 4)
    stack = () if len(shape) < 3 or b.chance(0.5) else shape[:-2]
    other = [(inner,), (inner, columns), (*stack, inner, columns), (1, inner, columns)][kind]
    y = Const(np.round(b.rng.uniform(-1, 1, other), 3)) if b.chance(0.1) else b.shaped(other)
    return (x, y), {}


entry(
    "matmul",
    "products",
    _matmul,
    ways=(np.matmul, cr.matmul, lambda x, y: x @ y, np.linalg.matmul),
    torch="matmul",
    jax="numpy.matmul",
)


def _dot(b: Builder) -> Drawn:
    x = b.ranked(0, 2)
    shape = b.values[x].shape
    if not shape:
        return (x, b.pick()), {}
    return (x, b.shaped(b.choice([(shape[-1],), (shape[-1], 2), (2, shape[-1], 2)]))), {}


def _torch_dot(t: Any, x: Any, y: Any) -> Any:
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return t.tensordot(x, y, dims=([-1], [max(0, y.ndim - 2)]))


entry(
    "dot",
    "products",
    _dot,
    ways=(np.dot, cr.dot, lambda x, y: x.dot(y)),
    torch=_torch_dot,
    jax="numpy.dot",
)


def _inner(b: Builder) -> Drawn:
    x = b.ranked(1, 2)
    n = b.values[x].shape[-1]
    return (x, b.shaped(b.choice([(n,), (3, n), (2, 1, n)]))), {}


entry("inner", "products", _inner, torch=lambda t, x, y: t.inner(x, y), jax="numpy.inner")
entry(
    "vdot",
    "products",
    lambda b: (lambda x: ((x, b.shaped(b.values[x].shape)), {}))(b.ranked(1, 3)),
    torch=lambda t, x, y: t.vdot(x.reshape(-1), y.reshape(-1)),
    jax="numpy.vdot",
)


def _few(v: Any) -> bool:
    return bool(v.size <= 10)


entry(
    "outer",
    "products",
    lambda b: ((b.pick(_few, size=1), b.pick(_few, size=1)), {}),
    ways=(np.outer, cr.outer, lambda x, y: np.multiply.outer(np.ravel(x), np.ravel(y))),
    torch=lambda t, x, y: t.outer(x.reshape(-1), y.reshape(-1)),
    jax="numpy.outer",
)
entry(
    "ufunc_outer",
    "products",
    lambda b: ((b.pick(_few, size=1), b.pick(_few, size=1)), {}),
    ways=(lambda x, y: np.subtract.outer(x, y), lambda x, y: np.add.outer(x, -y)),
    torch=lambda t, x, y: x.reshape((*x.shape, *([1] * y.ndim))) - y,
    jax=lambda j, x, y: x.reshape((*x.shape, *([1] * y.ndim))) - y,
)
entry(
    "kron",
    "products",
    lambda b: ((b.pick(_few, size=1), b.pick(_few, size=1)), {}),
    torch="kron",
    jax="numpy.kron",
)


def _tensordot(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    shape = b.values[x].shape
    if b.chance(0.4):
        axes: Any = b.integer(0, min(2, len(shape)))
        other = (*shape[len(shape) - axes :], *b.shape(0, 1))
    else:
        axis = b.axis(len(shape))
        other = (*b.shape(0, 1), shape[axis], *b.shape(0, 1))
        axes = ([axis], [1 if len(other) == 3 else other.index(shape[axis])])
    return (x, b.shaped(other)), {"axes": axes}


entry(
    "tensordot",
    "products",
    _tensordot,
    torch=lambda t, x, y, axes: t.tensordot(x, y, dims=axes),
    jax="numpy.tensordot",
)

EINSUMS = (
    "ij,jk->ik", "ij,jk", "ij,ij->", "ij,ij->i", "i,j->ij", "i,i->", "ij->ji", "ij->i", "ii->i", "ii", "ij,j,i->",
    "ij,jk,kl->il", "bij,bjk->bik", "...ij,jk->...ik", "...i,...i->...", "ij,ik->jk", "i,ij,j", "ijk->kj",
    "ijk,jk->i", "ii,ij->j", "iij->j", "ij,kl->jl", "i,i,i->i", "ij,i->",
)  # fmt: skip


def _einsum(b: Builder) -> Drawn:
    subscripts = b.choice(EINSUMS)
    sizes: dict[str, int] = {}
    shapes = []
    for term in subscripts.split("->")[0].split(","):
        lead = b.shape(0, 1) if term.startswith("...") and not shapes else ()
        lead = shapes[0][: -len(term) + 3] if term.startswith("...") and shapes else lead
        shapes.append(
            (*lead, *(sizes.setdefault(i, b.integer(1, 4)) for i in term.replace("...", "")))
        )
    return tuple(b.shaped(s) for s in shapes), {"subscripts": subscripts}


entry(
    "einsum",
    "products",
    _einsum,
    ways=(
        lambda *xs, subscripts: np.einsum(subscripts, *xs),
        lambda *xs, subscripts: cr.einsum(subscripts, *xs),
        lambda *xs, subscripts: np.einsum(subscripts, *xs, optimize=True),
    ),
    # PyTorch wants the result of an implicit "ij,jk" sorted as NumPy does, and takes no "ii".
    torch=lambda t, *xs, subscripts: t.einsum("ii->" if subscripts == "ii" else subscripts, *xs),
    jax=lambda j, *xs, subscripts: j.numpy.einsum(subscripts, *xs),
)


def _cross(b: Builder) -> Drawn:
    shape = (*b.shape(0, 2), 3)
    return (b.shaped(shape), b.shaped(shape if b.chance(0.6) else (3,))), {}


entry(
    "cross",
    "products",
    _cross,
    torch=lambda t, x, y: t.linalg.cross(*t.broadcast_tensors(x, y)),
    jax="numpy.cross",
)
entry(
    "vecdot",
    "products",
    lambda b: (lambda x: ((x, b.shaped(b.values[x].shape)), {}))(b.ranked(1, 3)),
    torch="linalg.vecdot",
    jax="numpy.vecdot",
)


def _matrix_vector(b: Builder) -> Drawn:
    x = b.ranked(2, 3)
    return (x, b.shaped(b.values[x].shape[-1:])), {}


entry(
    "matvec",
    "products",
    _matrix_vector,
    torch=lambda t, x, y: (x @ y[..., None])[..., 0],
    jax="numpy.matvec",
)
entry(
    "vecmat",
    "products",
    lambda b: (lambda y: ((b.shaped(b.values[y].shape[-2:-1]), y), {}))(b.ranked(2, 3)),
    torch=lambda t, x, y: (x[..., None, :] @ y)[..., 0, :],
    jax="numpy.vecmat",
)


def _chain(b: Builder) -> Drawn:
    sizes = [b.integer(1, 4) for _ in range(4)]
    return (tuple(b.shaped((m, n)) for m, n in zip(sizes, sizes[1:], strict=False)),), {}


entry(
    "multi_dot",
    "products",
    _chain,
    ways=(lambda xs: np.linalg.multi_dot(xs), lambda xs: cr.multi_dot(xs)),
    torch=lambda t, xs: t.linalg.multi_dot(xs),
    jax=lambda j, xs: j.numpy.linalg.multi_dot(xs),
)


# -- convolutions ----------------------------------------------------------------------------------


def _sequences(modes: tuple[str, ...]) -> Any:
    return lambda b: ((b.ranked(1, 1), b.ranked(1, 1)), {"mode": b.choice(modes)})


def _torch_convolve(t: Any, x: Any, y: Any, mode: str) -> Any:
    """All of the products, summed along their anti-diagonals, and the part that `mode` keeps."""
    if len(y) > len(x):
        x, y = y, x
    full = t.nn.functional.conv1d(x[None, None], y.flip(0)[None, None], padding=len(y) - 1)[0, 0]
    start = {"full": 0, "same": (len(y) - 1) // 2, "valid": len(y) - 1}[mode]
    length = {"full": len(full), "same": len(x), "valid": len(x) - len(y) + 1}[mode]
    return full[start : start + length]


def _torch_correlate(t: Any, x: Any, y: Any, mode: str) -> Any:
    full = _torch_convolve(t, x, y.flip(0), "full")
    n, m = max(len(x), len(y)), min(len(x), len(y))
    start = {"full": 0, "same": m // 2 if len(x) < len(y) else (m - 1) // 2, "valid": m - 1}[mode]
    length = {"full": len(full), "same": n, "valid": n - m + 1}[mode]
    return full[start : start + length]


MODES = ("full", "same", "valid")
entry("convolve", "convolution", _sequences(MODES), torch=_torch_convolve, jax="numpy.convolve")
entry(
    "correlate",
    "convolution",
    _sequences(("full", "valid")),
    torch=_torch_correlate,
    jax="numpy.correlate",
)
entry(
    "fftconvolve",
    "convolution",
    lambda b: (lambda x: ((x, b.ranked(b.values[x].ndim, b.values[x].ndim)), {}))(b.ranked(1, 2)),
    jax=lambda j, x, y: j.scipy.signal.fftconvolve(x, y),
)


def _images(b: Builder) -> Drawn:
    dims = b.integer(1, 2)
    groups = b.choice([1, 1, 2])
    space = tuple(b.integer(3, 5) for _ in range(dims))
    kernel = tuple(b.integer(1, 3) for _ in range(dims))
    x = b.shaped((b.integer(1, 2), groups * b.integer(1, 2), *space))
    channels = b.values[x].shape[1]
    w = b.shaped((groups * b.integer(1, 2), channels // groups, *kernel))
    attrs = {"stride": b.integer(1, 2), "padding": b.integer(0, 1), "groups": groups}
    return (x, w), attrs | ({"dilation": 2} if max(kernel) <= 2 and b.chance(0.4) else {})


def _torch_conv(t: Any, x: Any, w: Any, **attrs: Any) -> Any:
    return getattr(t.nn.functional, f"conv{x.ndim - 2}d")(x, w, **attrs)


def _jax_conv(
    j: Any, x: Any, w: Any, stride: int, padding: int, groups: int, dilation: int = 1
) -> Any:
    dims = x.ndim - 2
    return j.lax.conv_general_dilated(
        x,
        w,
        window_strides=(stride,) * dims,
        padding=[(padding, padding)] * dims,
        rhs_dilation=(dilation,) * dims,
        feature_group_count=groups,
    )


entry("conv", "convolution", _images, ways=(cr.conv,), torch=_torch_conv, jax=_jax_conv)


def _transposed(b: Builder) -> Drawn:
    dims = b.integer(1, 2)
    groups = b.choice([1, 1, 2])
    space = tuple(b.integer(1, 3) for _ in range(dims))
    kernel = tuple(b.integer(2, 3) for _ in range(dims))
    x = b.shaped((b.integer(1, 2), groups * b.integer(1, 2), *space))
    w = b.shaped((b.values[x].shape[1], b.integer(1, 2), *kernel))
    padding = b.integer(0, 1) if min(space) > 1 else 0  # else nothing might be left
    return (x, w), {"stride": b.integer(1, 2), "padding": padding, "groups": groups}


entry(
    "conv_transpose",
    "convolution",
    _transposed,
    ways=(cr.conv_transpose,),
    torch=lambda t, x, w, **attrs: getattr(t.nn.functional, f"conv_transpose{x.ndim - 2}d")(
        x, w, **attrs
    ),
)


def _pool(b: Builder) -> Drawn:
    dims = b.integer(1, 2)
    x = b.shaped((b.integer(1, 2), b.integer(1, 2), *(b.integer(3, 5) for _ in range(dims))))
    window = b.integer(2, 3)
    return (x,), {"window": window, "stride": b.choice([None, 1, 2]), "padding": b.integer(0, 1)}


def _torch_pool(kind: str, scale: bool = False) -> Any:
    def call(t: Any, x: Any, window: int, stride: Any, padding: int) -> Any:
        out = getattr(t.nn.functional, f"{kind}_pool{x.ndim - 2}d")(x, window, stride, padding)
        return out * window ** (x.ndim - 2) if scale else out

    return call


def _jax_pool(operation: str, start: float, mean: bool = False) -> Any:
    def call(j: Any, x: Any, window: int, stride: Any, padding: int) -> Any:
        dims = x.ndim - 2
        taken = window if stride is None else stride
        out = j.lax.reduce_window(
            x,
            start,
            getattr(j.lax, operation),
            (1, 1, *(window,) * dims),
            (1, 1, *(taken,) * dims),
            [(0, 0), (0, 0), *[(padding, padding)] * dims],
        )
        return out / window**dims if mean else out

    return call


entry("max_pool", "convolution", _pool, ways=(cr.max_pool,), torch=_torch_pool("max"),
      jax=_jax_pool("max", -np.inf), ok=lambda x, **_: distinct(lanes(x, (2, *range(3, np.ndim(x)))), -1))  # fmt: skip
entry(
    "avg_pool",
    "convolution",
    _pool,
    ways=(cr.avg_pool,),
    torch=_torch_pool("avg"),
    jax=_jax_pool("add", 0.0, True),
)
entry(
    "sum_pool",
    "convolution",
    _pool,
    ways=(cr.sum_pool,),
    torch=_torch_pool("avg", True),
    jax=_jax_pool("add", 0.0),
)


# -- Fourier transforms, seen through real functions of their results -------------------------------


def _viewed(view: str) -> dict[str, Any]:
    """How a real array is made of a complex one, per library."""
    return {
        "real": lambda m, z: m.real(z),
        "imag": lambda m, z: m.imag(z),
        "both": lambda m, z: m.real(z) - 2 * m.imag(z),
        "power": lambda m, z: (
            m.real(z * m.conj(z)) if hasattr(m, "conj") else m.real(z * m.conjugate(z))
        ),
    }[view]


VIEWS = ("real", "imag", "both", "power")


def transform(name: str, low: int, axes: bool, inverse_real: bool = False) -> None:
    """np.fft.<name> along one axis, or along several if `axes`."""

    def draw(b: Builder) -> Drawn:
        x = b.ranked(low, 3)
        ndim = b.values[x].ndim
        attrs: dict[str, Any] = {
            "view": b.choice(VIEWS),
            "norm": b.choice([None, "ortho", "forward", "backward"]),
        }
        if not axes:
            attrs["axis"] = b.axis(ndim)
            if b.chance(0.4):
                attrs["n"] = b.integer(2, 5)
        if (
            inverse_real
            and 2 * (b.values[x].shape[attrs.get("axis", -1)] - 1) < 1
            and "n" not in attrs
        ):
            raise RejectError("no elements")
        return (x,), attrs

    def way(f: Any) -> Any:
        return lambda x, view, **attrs: _viewed(view)(np, f(x, **attrs))

    def torch(t: Any, x: Any, view: str, axis: Any = None, **attrs: Any) -> Any:
        if axis is not None:
            attrs["dim"] = axis
        z = getattr(t.fft, name)(x, **attrs)
        if z.is_complex():
            return _viewed(view)(t, z)
        return {"imag": t.zeros_like(z), "power": z * z}.get(view, z)

    def jax(j: Any, x: Any, view: str, **attrs: Any) -> Any:
        return _viewed(view)(j.numpy, getattr(j.numpy.fft, name)(x, **attrs))

    entry(
        name,
        "fourier",
        draw,
        ways=(way(cr.OPS[name]), way(getattr(np.fft, name))),
        torch=torch,
        jax=jax,
    )


for _name in ("fft", "ifft", "rfft", "ihfft"):
    transform(_name, 1, axes=False)
for _name in ("irfft", "hfft"):
    transform(_name, 1, axes=False, inverse_real=True)
for _name in ("fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn"):
    transform(_name, 2, axes=True)
for _name in ("irfft2", "irfftn"):
    transform(_name, 2, axes=True, inverse_real=True)
for _name in ("fftshift", "ifftshift"):
    entry(
        _name,
        "fourier",
        lambda b: ((b.ranked(1, 3),), {}),
        torch=lambda t, x, name=_name: getattr(t.fft, name)(x),
        jax=f"numpy.fft.{_name}",
    )
entry(
    "filter",
    "fourier",
    lambda b: ((b.ranked(1, 2),), {"s": b.number(0.1, 0.8)}),
    ways=(
        lambda x, s: np.fft.irfft(
            np.fft.rfft(x) * np.exp(-s * np.arange(x.shape[-1] // 2 + 1)), n=x.shape[-1]
        ),
    ),
    torch=lambda t, x, s: t.fft.irfft(
        t.fft.rfft(x) * t.exp(-s * t.arange(x.shape[-1] // 2 + 1)), n=x.shape[-1]
    ),
    jax=lambda j, x, s: j.numpy.fft.irfft(
        j.numpy.fft.rfft(x) * j.numpy.exp(-s * j.numpy.arange(x.shape[-1] // 2 + 1)), n=x.shape[-1]
    ),
)
