"""Convolution and correlation of sequences, and of arrays of any rank by fast transforms."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall
from chainrule.core.op import Op, Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.convolution import conv
from chainrule.ops.define import composite, multilinear
from chainrule.ops.fourier import complex_draw, fftn, ifftn, irfftn, rfftn
from chainrule.ops.indexing import scatter
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw


def _kept(m: int, n: int, mode: str, reverses: bool) -> tuple[int, int]:
    """Where in the full result of m and n elements that begins which `mode` keeps, and its size."""
    long, short = max(m, n), min(m, n)
    if mode == "full":
        return 0, m + n - 1
    if mode == "valid":
        return short - 1, long - short + 1
    return short // 2 if reverses and n > m else short - 1 - short // 2, long


def _whole(g: Any, a_spec: Any, v_spec: Any, mode: str, reverses: bool) -> Any:
    """The adjoint of the full result, of which `mode` kept g; `reverses` as np.correlate, which
    turns round if v is the longer one."""
    (m,), (n,) = a_spec.shape or (1,), v_spec.shape or (1,)
    if mode == "full":
        return g
    start, _ = _kept(m, n, mode, reverses)
    return scatter(g, template=(slice(start, start + g.shape[0]),), shape=(m + n - 1,))


def _line(v: Any) -> Any:
    return v if getattr(v, "shape", ()) else np.reshape(v, (1,))


def _length_spec(name: str, scalars: bool) -> Any:
    def spec(a: Any, v: Any, mode: str = "full") -> Spec:
        what = f"{name} of {tuple(a.shape)} and {tuple(v.shape)}"
        if mode not in ("full", "same", "valid"):
            raise ArgumentError(f'{name}: mode={mode!r}; it is "full", "same" or "valid"')
        if any(len(s.shape) != 1 and not (scalars and not s.shape) for s in (a, v)):
            raise ShapeError(f"{what}: both must have one axis")
        m, n = prod(a.shape), prod(v.shape)
        if not m or not n:
            raise ShapeError(f"{what}: an empty sequence")
        long, short = max(m, n), min(m, n)
        length = {"full": m + n - 1, "same": long, "valid": long - short + 1}[mode]
        return Spec((length,), np.result_type(a.dtype, v.dtype))

    return spec


def _sequences() -> list[Sample]:
    a, v, w = draw((6,), -1, 1), draw((3,), -1, 1, 1), draw((4,), -1, 1, 2)
    pairs = ((a, v), (v, a), (a, w), (w, a), (a, a), (w + 1j * w[::-1], v * 1j - 1))
    modes = ("full", "same", "valid")
    return [
        *(sample(x, y, mode=mode) for x, y in pairs for mode in modes),
        sample(a.astype(np.float32), v.astype(np.float32), mode="same"),
    ]


def _bad_sequences() -> list[Sample]:
    a = draw((3, 2), -1, 1)
    return [sample(a, a[0]), sample(a[0], a[:0, 0]), sample(a[0], a[0], mode="other")]


def _convolved(b: Any, a: Any, v: Any, mode: str, reverses: bool) -> Any:
    """Each window on the longer one, framed in zeros, times the other turned round."""
    a, v = b.floats(_flat(b, a), _flat(b, v))
    (m,), (n,) = a.shape, v.shape
    if reverses:
        v = b.getitem(v, (slice(None, None, -1),))
    short = min(m, n)
    start, length = _kept(m, n, mode, reverses)
    long, brief = (v, a) if n > m else (a, v)
    around = b.pad(long, [(short - 1, short - 1)])
    seen = b.sliding(around, (short, m + n - 1), [{0: 1, 1: 1}])
    seen = b.getitem(seen, (slice(None), slice(start, start + length)))
    turned = b.reshape(b.getitem(brief, (slice(None, None, -1),)), (short, 1))
    return b.reduce("sum", b.map("multiply", seen, turned), 0, False)


def _flat(b: Any, v: Any) -> Any:
    return b.reshape(v, (-1,))


def _sequence_lanes(call: BatchCall) -> Any:
    """One `conv`: lanes are images or kernels, or channels of their own where both differ."""
    a, v = (np.reshape(call.raw(i), (call.count, -1) if call.on(i) else (1, -1)) for i in (0, 1))
    reverses, count = call.op is correlate, call.count
    v = conjugate(v) if reverses else v[:, ::-1]  # as a kernel lies on the windows
    m, n = a.shape[1], v.shape[1]
    if m < n:
        a, v = v[:, ::-1], a[:, ::-1]
    start, size = _kept(m, n, call.attrs["mode"], reverses)
    padding = (min(m, n) - 1 - start, start + size - max(m, n))
    groups = count if a.shape[0] == v.shape[0] == count else 1
    images = a[:, None] if groups == 1 else a[None]
    settings = {**conv.attrs, "padding": (padding,), "groups": groups}
    out = call.apply(conv, (images, v[:, None]), settings)
    return out.reshape((count, size))


convolve = multilinear(
    "convolve",
    lambda a, v, mode="full": np.convolve(a, v, mode),
    (
        lambda g, v, a_spec, v_spec, mode: correlate(
            _whole(g, a_spec, v_spec, mode, False), _line(v)
        ),
        lambda g, a, a_spec, v_spec, mode: correlate(
            _whole(g, a_spec, v_spec, mode, False), _line(a)
        ),
    ),
    inputs=("a", "v"),
    spec=_length_spec("convolve", scalars=True),
    samples=lambda: [*_sequences(), sample(np.float64(0.5), draw((3,), -1, 1))],
    bad=_bad_sequences,
    numpy=(np.convolve,),
    lower=lambda b, a, v, mode: _convolved(b, a, v, mode, reverses=False),
    batch=_sequence_lanes,
)
correlate: Op = multilinear(
    "correlate",
    lambda a, v, mode="valid": np.correlate(a, v, mode),
    (
        lambda g, v, a_spec, v_spec, mode: convolve(
            _whole(g, a_spec, v_spec, mode, True), v, mode="valid"
        ),
        lambda g, a, a_spec, v_spec, mode: correlate(a, _whole(g, a_spec, v_spec, mode, True)),
    ),
    inputs=("a", "v"),
    spec=_length_spec("correlate", scalars=False),
    samples=_sequences,
    bad=_bad_sequences,
    numpy=(np.correlate,),
    lower=lambda b, a, v, mode: _convolved(b, a, v, mode, reverses=True),
    doc="Σ a[n + k] v*[n] for every lag k; antilinear in v, and so is its derivative.",
    batch=_sequence_lanes,
)


def _fftconvolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The inverse transform of the product of the transforms, cut to what `mode` asks for."""
    from scipy.fft import next_fast_len

    a, v = as_array(a), as_array(v)
    if len(a.shape) != len(v.shape) or not a.shape or 0 in (*a.shape, *v.shape):
        raise ShapeError(
            f"fftconvolve of {a.shape} and {v.shape}: as many axes are needed, none empty"
        )
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f'mode={mode!r}; it is "full", "same" or "valid"')
    longer = [m - n for m, n in zip(a.shape, v.shape, strict=True)]
    if mode == "valid" and min(longer) < 0 < max(longer):
        raise ShapeError(f"fftconvolve of {a.shape} and {v.shape}: neither lies within the other")
    full = [m + n - 1 for m, n in zip(a.shape, v.shape, strict=True)]
    whole = tuple(next_fast_len(n, True) for n in full)
    axes = tuple(range(len(full)))
    real = a.dtype.kind != "c" and v.dtype.kind != "c"
    forth, back = (rfftn, irfftn) if real else (fftn, ifftn)
    product = back(forth(a, s=whole, axes=axes) * forth(v, s=whole, axes=axes), s=whole, axes=axes)
    size = {"full": full, "same": a.shape, "valid": [abs(n) + 1 for n in longer]}[mode]
    starts = [(f - n) // 2 for f, n in zip(full, size, strict=True)]
    return product[tuple(slice(s, s + n) for s, n in zip(starts, size, strict=True))]


fftconvolve = composite(
    "fftconvolve",
    _fftconvolve,
    inputs=("a", "v"),
    samples=lambda: [
        sample(draw((5,), -1, 1), draw((3,), -1, 1, 1)),
        sample(draw((3,), -1, 1), draw((6,), -1, 1, 1), mode="valid"),
        sample(draw((4, 3), -1, 1), draw((2, 2), -1, 1, 1), mode="same"),
        sample(complex_draw((4,)), draw((3,), -1, 1), mode="same"),
        sample(draw((4,), -1, 1).astype(np.float32), draw((3,), -1, 1).astype(np.float32)),
    ],
    doc="""The convolution of arrays of any rank by fast transforms, as `scipy.signal.fftconvolve`:
    n log n steps where `convolve` takes n².""",
)
