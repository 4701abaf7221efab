"""What every op in the table is held against: its own samples, as functions of their arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import chainrule as cr
from chainrule.core.op import Op, Sample

STEP = 1e-3  # of a fourth-order central difference: truncation and rounding both near 1e-12


@dataclass
class Case:
    """One sample of one op, as a function of the floating-point arrays among its arguments."""

    op: Op
    sample: Sample
    places: list[int]

    @property
    def point(self) -> list[Any]:
        return [np.asarray(self.sample.args[i]) for i in self.places]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The op's floating-point results, always as a tuple."""
        args = list(self.sample.args)
        for i, array in zip(self.places, arrays, strict=True):
            args[i] = array
        out = self.op(*args, **self.sample.attrs)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        return tuple(o for o in outs if o.dtype.kind in "fc")


def case_of(op: Op, sample: Sample) -> Case:
    floats = [
        i for i, a in enumerate(sample.args) if getattr(a, "dtype", np.dtype(int)).kind in "fc"
    ]
    return Case(op, sample, floats)


def at_double(sample: Sample) -> Sample:
    """The sample with float32 arrays widened, so that differences are not drowned in rounding."""

    def widened(a: Any) -> Any:
        kind = getattr(a, "dtype", None)
        wide = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}.get(kind)
        return a.astype(wide) if wide else a

    return Sample(tuple(widened(a) for a in sample.args), sample.attrs, sample.note)


def directions(arrays: list[Any], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)

    def one(a: Any) -> Any:
        real = rng.standard_normal(a.shape)
        return (real + 1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else real).astype(
            a.dtype
        )[()]

    return [one(np.asarray(a)) for a in arrays]


def central_difference(
    f: Callable[..., tuple[Any, ...]], point: list[Any], u: list[Any]
) -> list[Any]:
    """The derivative of f along u, to fourth order in the step."""

    def at(t: float) -> list[Any]:
        moved = [p + t * d for p, d in zip(point, u, strict=True)]
        return [np.asarray(getattr(o, "value", o)) for o in f(*moved)]

    h = STEP
    pieces = zip(at(2 * h), at(h), at(-h), at(-2 * h), strict=True)
    return [(-a + 8 * b - 8 * c + d) / (12 * h) for a, b, c, d in pieces]


def inner(a: list[Any], b: list[Any]) -> float:
    """Re Σ conj(a)·b, the inner product both modes are adjoint in."""
    return float(sum(np.sum(np.conj(x) * y).real for x, y in zip(a, b, strict=True)))


def assert_close(found: Any, expected: Any, what: str, tolerance: float = 1e-7) -> None:
    for f, e in zip(found, expected, strict=True):
        f, e = np.asarray(f), np.asarray(e)
        if e.dtype.itemsize < 8 and e.dtype.kind in "fc":
            tolerance = max(tolerance, 1e-3)
        if e.dtype.kind == "b":
            f, e = f.astype(float), e.astype(float)
        assert f.shape == e.shape, f"{what}: shape {f.shape}, expected {e.shape}"
        scale = 1 + np.max(np.abs(e), initial=0.0)
        error = np.max(np.abs(f - e), initial=0.0)
        assert error <= tolerance * scale, f"{what}: off by {error:.2e}\n found {f}\n expected {e}"


def assert_derivatives(f: Callable[..., tuple[Any, ...]], point: list[Any], what: str) -> None:
    """Forward mode against central differences, reverse mode against forward mode."""
    u = directions(point, 1)
    outputs, pullback = cr.vjp(f, *point)
    if not outputs:
        return
    _, tangent = cr.jvp(f, point, u)
    assert_close(tangent, central_difference(f, point, u), f"{what}, forward against differences")
    v = directions(list(outputs), 2)
    back = list(pullback(tuple(v)))
    left, right = inner(v, list(tangent)), inner(back, u)
    scale = 1 + abs(left) + np.sqrt(inner(v, v) * inner(list(tangent), list(tangent)))
    narrow = any(np.asarray(o).dtype.itemsize < 8 for o in (*outputs, *point))
    tolerance = (1e-4 if narrow else 1e-9) * scale
    assert abs(left - right) <= tolerance, f"{what}: ⟨v, Ju⟩ = {left} but ⟨Jᵀv, u⟩ = {right}"
