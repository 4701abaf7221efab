"""The functions of scipy.signal: convolutions, recursive filters, smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import OPS
from chainrule.errors import ArgumentError, ShapeError, UnsupportedError
from chainrule.ops.filters import delayed
from chainrule.ops.joining import as_array

Array = Any
MAX_TAPS = 64  # of a filter that is applied tap by tap; a longer one by fast transforms


# -- convolution ---------------------------------------------------------------------------------


def _cut(full: Array, first: Any, second: Any, mode: str) -> Array:
    """The part of the full result that `mode` keeps: centred, of the first one's shape or less."""
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ArgumentError(f"mode={mode!r}; choose 'full', 'same' or 'valid'")
    longer = [m - n for m, n in zip(first.shape, second.shape, strict=True)]
    if mode == "valid" and min(longer) < 0 < max(longer):
        raise ShapeError(f"{first.shape} and {second.shape}: neither lies within the other")
    wanted = first.shape if mode == "same" else [abs(n) + 1 for n in longer]
    starts = [(f - n) // 2 for f, n in zip(full.shape, wanted, strict=True)]
    return full[tuple(slice(s, s + n) for s, n in zip(starts, wanted, strict=True))]


def convolve(in1: Array, in2: Array, mode: str = "full", method: str = "auto") -> Array:
    in1, in2 = as_array(in1), as_array(in2)
    if in1.ndim != in2.ndim:
        raise ShapeError(f"convolve of {in1.shape} and {in2.shape}: as many axes are needed")
    if in1.ndim != 1 or method == "fft":
        return fftconvolve(in1, in2, mode)
    return _cut(np.convolve(in1, in2), in1, in2, mode)


def fftconvolve(in1: Array, in2: Array, mode: str = "full", axes: Any = None) -> Array:
    in1, in2 = as_array(in1), as_array(in2)
    if axes is not None and len(np.atleast_1d(axes)) != in1.ndim:
        raise UnsupportedError("fftconvolve on Variables is along all axes; leave axes out")
    return _cut(OPS["fftconvolve"](in1, in2), in1, in2, mode)


def correlate(in1: Array, in2: Array, mode: str = "full", method: str = "auto") -> Array:
    in2 = as_array(in2)
    return convolve(in1, np.conjugate(np.flip(in2)), mode, method)


# -- recursive filters ---------------------------------------------------------------------------


def _weighted_past(b: Array, x: Array) -> Array:
    """Σ bₖ xₙ₋ₖ along the last axis, as long as x."""
    if b.shape[0] <= MAX_TAPS:
        return sum(b[k] * delayed(x, k) for k in range(min(b.shape[0], x.shape[-1])))
    wide = np.reshape(b, (1,) * (x.ndim - 1) + (-1,))
    return OPS["fftconvolve"](x, wide)[..., : x.shape[-1]]


def lfilter(b: Array, a: Array, x: Array, axis: int = -1, zi: Array | None = None) -> Any:
    b, a = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    x = np.moveaxis(as_array(x), axis, -1)
    u, n = _weighted_past(b, x), x.shape[-1]
    if zi is not None:
        if n < np.shape(zi)[axis]:
            raise UnsupportedError("lfilter with zi on a signal shorter than the filter")
        z = np.moveaxis(as_array(zi), axis, -1) * a[0]
        u = u + np.pad(z, ((0, 0),) * (x.ndim - 1) + ((0, n - z.shape[-1]),))
    y = OPS["all_pole"](a, u)
    if zi is None:
        return np.moveaxis(y, -1, axis)
    return np.moveaxis(y, -1, axis), np.moveaxis(_state(b, a, x, y, z.shape[-1]), -1, axis)


def _state(b: Array, a: Array, x: Array, y: Array, count: int) -> Array:
    """What the filter still owes: zₖ = Σⱼ₍ⱼ₎ₖ bⱼ xₙ₊ₖ₋ⱼ − aⱼ yₙ₊ₖ₋ⱼ."""
    found = []
    for k in range(count):
        owed = 0.0 * y[..., 0]
        for j in range(k + 1, count + 1):
            past = k - j  # counted from the end
            owed = owed + (b[j] * x[..., past] if j < b.shape[0] else 0.0)
            owed = owed - (a[j] * y[..., past] if j < a.shape[0] else 0.0)
        found.append(owed / a[0])
    return np.stack(found, axis=-1)


def sosfilt(sos: Array, x: Array, axis: int = -1, zi: Array | None = None) -> Array:
    if zi is not None:
        raise UnsupportedError("sosfilt with zi: call lfilter with zi, section by section")
    sos, x = as_array(sos), as_array(x)
    for k in range(sos.shape[0]):
        x = lfilter(sos[k, :3], sos[k, 3:], x, axis)
    return x


def _steady_state(b: Array, a: Array) -> Array:
    """The state in which a step's answer is constant: scipy.signal.lfilter_zi."""
    n = max(a.shape[0], b.shape[0])
    a, b = (np.pad(v / a[0], (0, n - v.shape[0])) for v in (a, b))
    companion = np.concatenate([-a[1:][:, None], np.eye(n - 1)[:, : n - 2]], axis=1)
    return np.linalg.solve(np.eye(n - 1) - companion, b[1:] - a[1:] * b[0])


def filtfilt(
    b: Array,
    a: Array,
    x: Array,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
) -> Array:
    b, a = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    if method != "pad" or padtype not in ("odd", "even", None):
        raise UnsupportedError("filtfilt: use method='pad' with padtype 'odd', 'even' or None")
    x = np.moveaxis(as_array(x), axis, -1)
    edge = 0 if padtype is None else padlen
    edge = 3 * max(a.shape[0], b.shape[0]) if edge is None else edge
    if edge >= x.shape[-1]:
        raise ShapeError(f"filtfilt: {x.shape[-1]} points are not more than padlen {edge}")
    if edge:
        left, right = x[..., edge:0:-1], x[..., -2 : -edge - 2 : -1]
        if padtype == "odd":
            left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
        x = np.concatenate([left, x, right], axis=-1)
    start = _steady_state(b, a)
    for _ in range(2):
        x, _state_after = lfilter(b, a, x, zi=start * x[..., :1])
        x = x[..., ::-1]
    x = x[..., edge : x.shape[-1] - edge] if edge else x
    return np.moveaxis(x, -1, axis)


# -- smoothing -----------------------------------------------------------------------------------


def savgol_filter(
    x: Array,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Array:
    """By SciPy's own weights, which are constants."""
    from scipy.signal import savgol_coeffs
    from scipy.signal import savgol_filter as theirs

    if mode != "interp" or window_length % 2 == 0:
        raise UnsupportedError("savgol_filter: use mode='interp' and an odd window_length")
    x = np.moveaxis(as_array(x), axis, -1)
    if x.shape[-1] < window_length:
        raise ShapeError(f"savgol_filter: {x.shape[-1]} points in a window of {window_length}")
    how: dict[str, Any] = {"deriv": deriv, "delta": delta}
    weights = savgol_coeffs(window_length, polyorder, use="dot", **how)
    middle = np.lib.stride_tricks.sliding_window_view(x, window_length, axis=-1) @ weights
    ends = theirs(np.eye(window_length), window_length, polyorder, axis=0, **how)
    half = window_length // 2
    left = x[..., :window_length] @ ends[:half].T
    right = x[..., -window_length:] @ ends[half + 1 :].T
    return np.moveaxis(np.concatenate([left, middle, right], axis=-1), -1, axis)


def hilbert(x: Array, N: int | None = None, axis: int = -1) -> Array:
    x = as_array(x)
    n = x.shape[axis] if N is None else N
    keep = np.zeros(n)
    keep[0], keep[1 : (n + 1) // 2] = 1, 2
    if n % 2 == 0:
        keep[n // 2] = 1
    spectrum = np.moveaxis(np.fft.fft(x, n, axis=axis), axis, -1) * keep
    return np.moveaxis(np.fft.ifft(spectrum, axis=-1), -1, axis)


def detrend(
    data: Array,
    axis: int = -1,
    type: str = "linear",
    bp: Any = 0,
    overwrite_data: bool = False,
) -> Array:
    data = np.moveaxis(as_array(data), axis, -1)
    if np.any(np.asarray(bp)) or type not in ("linear", "constant"):
        raise UnsupportedError("detrend: use type 'linear' or 'constant', without break points")
    n = data.shape[-1]
    basis = np.ones((n, 1)) if type == "constant" else np.stack([np.ones(n), np.arange(n)], axis=1)
    trend = (data @ np.linalg.pinv(basis).T) @ basis.T
    return np.moveaxis(data - trend, -1, axis)


OURS = {
    f.__name__: f
    for f in (
        convolve, correlate, detrend, fftconvolve, filtfilt, hilbert, lfilter, savgol_filter,
        sosfilt,
    )
}  # fmt: skip
