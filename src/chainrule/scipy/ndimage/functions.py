"""The linear filters of scipy.ndimage: the array is framed as `mode` says, then correlated."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.errors import ArgumentError, ShapeError, UnsupportedError
from chainrule.ops.joining import as_array

Array = Any
# NumPy's name for each way to continue an array beyond its ends.
FRAMES = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
    "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def _framed(x: Array, widths: list[tuple[int, int]], mode: Any, cval: float) -> Array:
    if mode not in FRAMES:
        raise ArgumentError(f"mode={mode!r}; it is one of {', '.join(FRAMES)}")
    options: dict[str, Any] = {"constant_values": cval} if FRAMES[mode] == "constant" else {}
    frame: Any = FRAMES[mode]
    return np.pad(x, widths, mode=frame, **options)


def _no_output(output: Any, origin: Any = 0) -> None:
    if output is not None or np.any(np.asarray(origin)):
        raise UnsupportedError("a filter of a Variable takes neither output= nor origin=")


def correlate1d(
    input: Array,
    weights: Array,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Array:
    _no_output(output, origin)
    x, weights = as_array(input), as_array(weights)
    if weights.ndim != 1 or not weights.shape[0]:
        raise ShapeError(f"correlate1d: weights of shape {weights.shape} have not one axis")
    size = weights.shape[0]
    widths = [(0, 0)] * x.ndim
    widths[axis] = (size // 2, (size - 1) // 2)
    framed = np.moveaxis(_framed(x, widths, mode, cval), axis, -1)
    seen = np.lib.stride_tricks.sliding_window_view(framed, size, axis=-1) @ weights
    return np.moveaxis(seen, -1, axis)


def convolve1d(
    input: Array,
    weights: Array,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Array:
    """The correlation with the weights turned round; of an even number, centred one further."""
    _no_output(output, origin)
    x, weights = as_array(input), as_array(weights)
    size = weights.shape[0]
    widths = [(0, 0)] * x.ndim
    widths[axis] = ((size - 1) // 2, size // 2)
    framed = np.moveaxis(_framed(x, widths, mode, cval), axis, -1)
    seen = np.lib.stride_tricks.sliding_window_view(framed, size, axis=-1) @ weights[::-1]
    return np.moveaxis(seen, -1, axis)


def correlate(
    input: Array,
    weights: Array,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
) -> Array:
    _no_output(output, origin)
    return _correlated(as_array(input), as_array(weights), mode, cval, lambda n: n // 2)


def convolve(
    input: Array,
    weights: Array,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
) -> Array:
    _no_output(output, origin)
    weights = np.flip(as_array(weights))
    return _correlated(as_array(input), weights, mode, cval, lambda n: (n - 1) // 2)


def _correlated(x: Array, weights: Array, mode: str, cval: float, before: Any) -> Array:
    if weights.ndim != x.ndim:
        raise ShapeError(f"weights of shape {weights.shape} on an array of shape {x.shape}")
    widths = [(before(n), n - 1 - before(n)) for n in weights.shape]
    framed = _framed(x, widths, mode, cval)
    windows = np.lib.stride_tricks.sliding_window_view(framed, weights.shape)
    return np.tensordot(windows, weights, axes=x.ndim)


# -- smoothing -----------------------------------------------------------------------------------


def _kernel(sigma: Array, order: int, radius: int) -> Array:
    """The sampled Gaussian, or its derivative; of a Variable sigma a Variable."""
    if order == 0:
        x = np.arange(-radius, radius + 1)
        bell = np.exp(-0.5 * (x / sigma) ** 2)
        return bell / np.sum(bell)
    if hasattr(sigma, "__chainrule_record__"):
        raise UnsupportedError(
            f"gaussian_filter1d: order={order} with a Variable sigma; pass a number"
        )
    from scipy.ndimage import gaussian_filter1d as theirs

    impulse = np.zeros(2 * radius + 1)
    impulse[radius] = 1
    return theirs(impulse, float(sigma), order=order, mode="constant", radius=radius)[::-1]


def gaussian_filter1d(
    input: Array,
    sigma: Array,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Array:
    _no_output(output)
    if radius is None:  # a whole number: constant between its jumps
        width = sigma.value if hasattr(sigma, "__chainrule_record__") else sigma
        radius = int(truncate * float(width) + 0.5)
    return correlate1d(input, _kernel(sigma, order, radius), axis, mode=mode, cval=cval)


def gaussian_filter(
    input: Array,
    sigma: Array,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Array:
    _no_output(output)
    x = as_array(input)
    axes = list(range(x.ndim)) if axes is None else list(np.atleast_1d(axes))
    each = [_per_axis(v, len(axes)) for v in (sigma, order, mode, radius)]
    for axis, width, k, how, reach in zip(axes, *each, strict=True):
        plain = width.value if hasattr(width, "__chainrule_record__") else width
        if float(plain) > 1e-15:  # as in SciPy
            x = gaussian_filter1d(x, width, axis, k, None, how, cval, truncate, radius=reach)
    return x


def _per_axis(value: Any, count: int) -> Any:
    several = isinstance(value, (list, tuple)) or (
        not isinstance(value, str) and np.ndim(value) > 0
    )
    return value if several else [value] * count


def uniform_filter1d(
    input: Array,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Array:
    _no_output(output, origin)
    return correlate1d(input, np.full(size, 1 / size), axis, mode=mode, cval=cval)


def uniform_filter(
    input: Array,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Array:
    _no_output(output, origin)
    x = as_array(input)
    axes = list(range(x.ndim)) if axes is None else list(np.atleast_1d(axes))
    for axis, n, how in zip(
        axes, _per_axis(size, len(axes)), _per_axis(mode, len(axes)), strict=True
    ):
        x = uniform_filter1d(x, n, axis, mode=how, cval=cval)
    return x


OURS = {
    f.__name__: f
    for f in (
        convolve, convolve1d, correlate, correlate1d, gaussian_filter, gaussian_filter1d,
        uniform_filter, uniform_filter1d,
    )
}  # fmt: skip
