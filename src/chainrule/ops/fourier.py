"""Discrete Fourier transforms, `np.fft`: complex, real and Hermitian, along one axis or several.

Every transform is linear, so its derivative is itself and its transpose is its adjoint.  That of
`fft` is the unscaled inverse, which is `ifft` with the opposite norm.  A real transform keeps half
of a symmetric spectrum: there each frequency but 0 and n/2 stands for two, and the adjoint weighs
them so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from chainrule.core import batching
from chainrule.core.depends import EVERY
from chainrule.core.masked import Masked
from chainrule.core.op import Op, Sample, Samples, sample
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from chainrule.ops.define import composite, linear
from chainrule.ops.indexing import scatter
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw

Axes = Sequence[int] | None
Norm = Literal["backward", "ortho", "forward"] | None
OPPOSITE: dict[Norm, Norm] = {
    None: "forward",
    "backward": "forward",
    "forward": "backward",
    "ortho": "ortho",
}


def complex_draw(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Complex numbers of the unit square around zero."""
    return draw(shape, -1, 1, seed) + 1j * draw(shape, -1, 1, seed + 1)


def opposite(norm: Norm) -> Norm:
    """The norm with which the inverse transform is the adjoint."""
    if norm not in OPPOSITE:
        raise ArgumentError(f'norm={norm!r}; it is "backward", "ortho" or "forward"')
    return OPPOSITE[norm]


def _resized(g: Any, x_spec: Any, axis: int) -> Any:
    """The transpose of cutting or padding x along the axis; what was cut is structurally zero."""
    axis %= len(x_spec.shape)
    size, wanted = g.shape[axis], x_spec.shape[axis]
    if size == wanted:
        return g
    front = (slice(None),) * axis + (slice(0, min(size, wanted)),)
    if wanted < size:
        return g[front]
    alive = np.zeros(x_spec.shape, bool)
    alive[front] = True
    return Masked(scatter(g, template=front, shape=x_spec.shape), alive)


def _half_spectrum(g: Any, n: int, axis: int, inner: float) -> Any:
    """g with all but its frequencies 0 and n/2, which stand for themselves, times `inner`."""
    weights = np.full(n // 2 + 1, inner, np.finfo(g.dtype).dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return g * weights.reshape((-1,) + (1,) * (len(g.shape) - 1 - axis % len(g.shape)))


def _pull_fft(g: Any, x_spec: Any, axis: int, norm: Norm) -> Any:
    return _resized(ifft(g, axis=axis, norm=opposite(norm)), x_spec, axis)


def _pull_ifft(g: Any, x_spec: Any, axis: int, norm: Norm) -> Any:
    return _resized(fft(g, axis=axis, norm=opposite(norm)), x_spec, axis)


def _pull_rfft(g: Any, x_spec: Any, n: int | None, axis: int, norm: Norm) -> Any:
    """x̄ⱼ = Re Σₖ gₖ exp(2πijk/n) over the kept k, of which irfft counts the inner twice."""
    n = x_spec.shape[axis] if n is None else n
    halved = _half_spectrum(g, n, axis, 0.5)
    return _resized(irfft(halved, n=n, axis=axis, norm=opposite(norm)), x_spec, axis)


def _pull_irfft(g: Any, x_spec: Any, axis: int, norm: Norm) -> Any:
    """x̄ₖ = cₖ Σⱼ gⱼ exp(−2πijk/n), c = 2 for the inner frequencies, else 1."""
    spectrum = rfft(g, axis=axis, norm=opposite(norm))
    return _resized(_half_spectrum(spectrum, g.shape[axis], axis, 2.0), x_spec, axis)


def _spec_of(
    function: Callable[..., Any], default: Callable[[int], int], kept: Callable[[int], int]
) -> Any:
    """The spec rule of a transform: its n by `default`, and how many values are `kept` of n."""
    name = function.__name__

    def spec(x: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Spec:
        if not -len(x.shape) <= axis < len(x.shape):
            kind = OutOfRangeError if x.shape else ShapeError
            raise kind(f"{name} of {x.shape}: there is no axis {axis} to transform")
        if name == "rfft" and x.dtype.kind == "c":
            raise DTypeError(f"rfft takes real values and got {x.dtype}: fft takes complex ones")
        opposite(norm)
        n = default(x.shape[axis]) if n is None else n
        if n < 1:
            raise ShapeError(f"{name} of {x.shape} along axis {axis}: a transform of {n} points")
        shape = list(x.shape)
        shape[axis] = kept(n)
        return Spec(tuple(shape), function(np.ones(2, x.dtype)).dtype)

    return spec


def _samples(*arrays: Callable[[], Any]) -> Samples:
    """Longer and shorter n, every axis, every norm, both widths."""

    def samples() -> list[Sample]:
        first, *others = [make() for make in arrays]
        matrix = np.stack([first, first[::-1], 2 * first])
        return [
            sample(first), sample(first, n=7), sample(first, n=3), sample(first, n=8),
            sample(first, n=1), sample(first, n=6, norm="forward"), sample(first, norm="ortho"),
            sample(first, norm="backward"), sample(matrix), sample(matrix, axis=0),
            sample(matrix, n=4, axis=-2, norm="ortho"),
            *(sample(other) for other in others),
        ]  # fmt: skip

    return samples


def _bad(*extra: Sample) -> Samples:
    return lambda: [
        sample(np.float64(1.0)),
        sample(draw((3,), -1, 1), axis=1),
        sample(draw((3,), -1, 1), n=0),
        sample(draw((3,), -1, 1), norm="other"),
        *extra,
    ]


complex_samples = _samples(
    lambda: complex_draw((5,)),
    lambda: complex_draw((4,)).astype(np.complex64),
    lambda: draw((4,), -1, 1),
    lambda: draw((5,), -1, 1).astype(np.float32),
)
real_samples = _samples(lambda: draw((5,), -1, 1), lambda: draw((4,), -1, 1).astype(np.float32))


def _fft(x: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    return np.fft.fft(x, n, axis, norm)


def _ifft(x: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    return np.fft.ifft(x, n, axis, norm)


def _rfft(x: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    return np.fft.rfft(x, n, axis, norm)


def _irfft(x: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    return np.fft.irfft(x, n, axis, norm)


fft = linear(
    "fft", _fft, _pull_fft, depends=EVERY, samples=complex_samples, bad=_bad(),
    batch=batching.Axes("axis"),
    spec=_spec_of(np.fft.fft, lambda size: size, lambda n: n), numpy=(np.fft.fft,),
)  # fmt: skip
ifft = linear(
    "ifft", _ifft, _pull_ifft, depends=EVERY, samples=complex_samples, bad=_bad(),
    batch=batching.Axes("axis"),
    spec=_spec_of(np.fft.ifft, lambda size: size, lambda n: n), numpy=(np.fft.ifft,),
)  # fmt: skip
rfft = linear(
    "rfft", _rfft, _pull_rfft, depends=EVERY, samples=real_samples,
    bad=lambda: [*_bad()(), sample(complex_draw((3,)))],
    batch=batching.Axes("axis"),
    spec=_spec_of(np.fft.rfft, lambda size: size, lambda n: n // 2 + 1), numpy=(np.fft.rfft,),
)  # fmt: skip
irfft = linear(
    "irfft", _irfft, _pull_irfft, depends=EVERY, samples=complex_samples,
    bad=lambda: [*_bad()(), sample(complex_draw((1,)))],
    batch=batching.Axes("axis"),
    spec=_spec_of(np.fft.irfft, lambda size: 2 * (size - 1), lambda n: n), numpy=(np.fft.irfft,),
)  # fmt: skip


def _hfft(x: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    return irfft(np.conjugate(as_array(x)), n=n, axis=axis, norm=opposite(norm))


def _ihfft(x: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    return np.conjugate(rfft(x, n=n, axis=axis, norm=opposite(norm)))


hfft = composite("hfft", _hfft, samples=complex_samples, numpy=(np.fft.hfft,))
ihfft = composite("ihfft", _ihfft, samples=real_samples, numpy=(np.fft.ihfft,))

# -- several axes --------------------------------------------------------------------------------

Step = tuple[int, int | None]  # one transform: its axis and its number of points


def _steps(x: Any, s: Sequence[int] | None, axes: Axes, half: bool = False) -> list[Step]:
    """The transforms NumPy makes of s and axes; `half` if x is half a spectrum along the last."""
    rank = len(x.shape)
    if axes is None:
        axes = range(rank) if s is None else range(-len(s), 0)
    if s is not None and len(s) != len(axes):
        raise ShapeError(
            f"s={tuple(s)} gives {len(s)} lengths for the {len(axes)} axes {tuple(axes)}"
        )
    steps: list[Step] = []
    for k, axis in enumerate(axes):
        there = -rank <= axis < rank  # if not, the transform itself will say so
        points: int | None = -1 if s is None else s[k]
        if points == -1:
            points = x.shape[axis] if there else None
            if points is not None and s is None and half and k == len(axes) - 1:
                points = 2 * (points - 1)
        steps.append(
            (int(axis) % rank if there else int(axis), None if points is None else int(points))
        )
    return steps


def _cut(x: Any, reads: Sequence[Step]) -> Any:
    """x without the lanes that no transform reads: cut at once, they all are structurally zero."""
    first = dict(reversed(reads))  # an axis may come twice; its first transform reads x
    index = tuple(slice(0, first.get(axis)) for axis in range(len(x.shape)))
    needless = all(i.stop is None or i.stop >= n for i, n in zip(index, x.shape, strict=True))
    return x if needless else x[index]


def _along_each(transform: Op) -> Callable[..., Any]:
    def expand(x: Any, s: Any = None, axes: Axes = None, norm: Norm = None) -> Any:
        x = as_array(x)
        steps = _steps(x, s, axes)[::-1]
        x = _cut(x, steps)
        for axis, points in steps:
            x = transform(x, n=points, axis=axis, norm=norm)
        return x

    return expand


def _rfftn(x: Any, s: Any = None, axes: Axes = None, norm: Norm = None) -> Any:
    x = as_array(x)
    steps = _steps(x, s, axes)[::-1]
    x = _cut(x, steps)
    for k, (axis, points) in enumerate(steps):
        x = (rfft if k == 0 else fft)(x, n=points, axis=axis, norm=norm)
    return x


def _irfftn(x: Any, s: Any = None, axes: Axes = None, norm: Norm = None) -> Any:
    x = as_array(x)
    *full, (last, points) = _steps(x, s, axes, half=True)
    x = _cut(x, [*full, (last, None if points is None else points // 2 + 1)])
    for axis, length in full:
        x = ifft(x, n=length, axis=axis, norm=norm)
    return irfft(x, n=points, axis=last, norm=norm)


def _of_the_plane(expand: Callable[..., Any]) -> Callable[..., Any]:
    def over_two_axes(x: Any, s: Any = None, axes: Axes = (-2, -1), norm: Norm = None) -> Any:
        return expand(x, s, axes, norm)

    return over_two_axes


def _samples_of_several(x: Callable[[], Any]) -> Samples:
    def samples() -> list[Sample]:
        cube = x()
        return [
            sample(cube), sample(cube, axes=(0, 2)), sample(cube, axes=(-1, 1), norm="ortho"),
            sample(cube, s=(3, 3), axes=(2, 0)),
            sample(cube, s=(5, -1), axes=(1, 2), norm="forward"),
        ]  # fmt: skip

    return samples


def _bad_several() -> list[Sample]:
    return [
        sample(draw((3, 3), -1, 1), axes=(0, 2)),
        sample(draw((3, 3), -1, 1), s=(0, 2), axes=(0, 1)),
    ]


fftn_expand, ifftn_expand = _along_each(fft), _along_each(ifft)
complex_cubes = _samples_of_several(lambda: complex_draw((2, 3, 4)))
real_cubes = _samples_of_several(lambda: draw((2, 3, 4), -1, 1))


def _of_several(name: str, expand: Callable[..., Any], samples: Samples) -> Op:
    return composite(
        name, expand, samples=samples, bad=_bad_several, numpy=(getattr(np.fft, name),)
    )


fftn = _of_several("fftn", fftn_expand, complex_cubes)
ifftn = _of_several("ifftn", ifftn_expand, complex_cubes)
rfftn = _of_several("rfftn", _rfftn, real_cubes)
irfftn = _of_several("irfftn", _irfftn, complex_cubes)
fft2 = _of_several("fft2", _of_the_plane(fftn_expand), complex_cubes)
ifft2 = _of_several("ifft2", _of_the_plane(ifftn_expand), complex_cubes)
rfft2 = _of_several("rfft2", _of_the_plane(_rfftn), real_cubes)
irfft2 = _of_several("irfft2", _of_the_plane(_irfftn), complex_cubes)

# -- order of the frequencies --------------------------------------------------------------------


def _shift_samples() -> list[Sample]:
    x = draw((3, 4), -1, 1)
    return [sample(x), sample(x, axes=0), sample(x, axes=(-1,)), sample(complex_draw((5,)))]


def _shift_spec(x: Any, axes: int | Axes = None) -> Spec:
    for axis in () if axes is None else np.atleast_1d(axes):
        if not -len(x.shape) <= axis < len(x.shape):
            raise OutOfRangeError(f"a shift of {x.shape} along axis {axis}, which it does not have")
    return Spec(x.shape, x.dtype)


fftshift = linear(
    "fftshift",
    lambda x, axes=None: np.fft.fftshift(x, axes),
    lambda g, axes: ifftshift(g, axes=axes),
    samples=_shift_samples,
    bad=lambda: [sample(draw((3, 4), -1, 1), axes=2)],
    spec=_shift_spec,
    numpy=(np.fft.fftshift,),
    batch=batching.Axes("axes"),
)
ifftshift: Op = linear(
    "ifftshift",
    lambda x, axes=None: np.fft.ifftshift(x, axes),
    lambda g, axes: fftshift(g, axes=axes),
    samples=_shift_samples,
    bad=lambda: [sample(draw((3, 4), -1, 1), axes=2)],
    spec=_shift_spec,
    numpy=(np.fft.ifftshift,),
    batch=batching.Axes("axes"),
)
