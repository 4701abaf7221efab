"""The functions of scipy.fft: NumPy's transforms, and those of cosines and sines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.core.op import OPS
from chainrule.errors import UnsupportedError
from chainrule.ops.fourier import opposite
from chainrule.ops.joining import as_array
from chainrule.ops.trig_transforms import INVERSE

Array = Any


def _along_one(name: str) -> Callable[..., Array]:
    def transform(
        x: Array, n: int | None = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False
    ) -> Array:
        return OPS[name](as_array(x), n=n, axis=axis, norm=norm)

    transform.__name__ = name
    return transform


def _along_several(name: str) -> Callable[..., Array]:
    plane = (-2, -1) if name.endswith("2") else None

    def transform(
        x: Array, s: Any = None, axes: Any = plane, norm: Any = None, overwrite_x: bool = False
    ) -> Array:
        if axes is None:
            count = np.ndim(x) if s is None else len(s)
            axes = tuple(range(-count, 0))
        return OPS[name](as_array(x), s=s, axes=axes, norm=norm)

    transform.__name__ = name
    return transform


def fftshift(x: Array, axes: Any = None) -> Array:
    return OPS["fftshift"](as_array(x), axes=axes)


def ifftshift(x: Array, axes: Any = None) -> Array:
    return OPS["ifftshift"](as_array(x), axes=axes)


# -- cosines and sines ---------------------------------------------------------------------------


def _resized(x: Array, n: int | None, axis: int) -> Array:
    """x cut, or filled with zeros, to n points along the axis."""
    have = x.shape[axis]
    if n is None or n == have:
        return x
    before = (slice(None),) * (axis % x.ndim)
    if n < have:
        return x[(*before, slice(0, n))]
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, n - have)
    return np.pad(x, widths)


def _transformed(
    family: str, x: Array, type: int, n: int | None, axis: int, norm: Any, orthogonalize: Any
) -> Array:
    if orthogonalize is not None and orthogonalize != (norm == "ortho"):
        raise UnsupportedError(
            f"{family}: orthogonalize={orthogonalize!r} beside norm={norm!r}; "
            "leave orthogonalize out, or pass norm='ortho' for it."
        )
    x = _resized(as_array(x), n, axis)
    return OPS["trig_transform"](x, family=family, type=type, norm=norm, axis=axis)


def _of_one_axis(family: str, inverse: bool) -> Callable[..., Array]:
    def transform(
        x: Array,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: bool | None = None,
    ) -> Array:
        if inverse:  # scaled as the other way is not
            type, norm = INVERSE[type], opposite(norm)
        return _transformed(family, x, type, n, axis, norm, orthogonalize)

    transform.__name__ = f"{'i' if inverse else ''}{family}"
    return transform


def _of_axes(one: Callable[..., Array]) -> Callable[..., Array]:
    def transform(
        x: Array,
        type: int = 2,
        s: Sequence[int] | None = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Array:
        x = as_array(x)
        if axes is None:
            axes = range(x.ndim) if s is None else range(-len(s), 0)
        axes = [axes] if isinstance(axes, int) else list(axes)
        for k, axis in enumerate(axes):
            n = None if s is None else s[k]
            x = one(x, type, n, axis, norm, orthogonalize=orthogonalize)
        return x

    transform.__name__ = f"{one.__name__}n"
    return transform


ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn")
_waves = [_of_one_axis(family, inverse) for family in ("dct", "dst") for inverse in (False, True)]
OURS = {
    f.__name__: f
    for f in (
        *map(_along_one, ONE_AXIS), *map(_along_several, SEVERAL), fftshift, ifftshift,
        *_waves, *map(_of_axes, _waves),
    )
}  # fmt: skip
