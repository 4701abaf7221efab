"""Recursive filters: y with a₀ yₙ + a₁ yₙ₋₁ + … = uₙ along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.op import Op, Sample, sample
from chainrule.core.rule import conjugate
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, ShapeError
from chainrule.ops.define import rules
from chainrule.ops.fourier import complex_draw
from chainrule.ops.linalg import inexact
from chainrule.ops.samples import draw


def _all_pole(a: Any, u: Any) -> Any:
    from scipy.signal import lfilter

    _spec(a, u)
    if a[0] == 0:
        raise ArgumentError("all_pole: the first coefficient is 0")
    return lfilter(np.ones(1, a.dtype), a, u, axis=-1)


def _spec(a: Any, u: Any) -> Spec:
    if len(a.shape) != 1 or not a.shape[0] or not u.shape:
        raise ShapeError(f"all_pole of {a.shape} and {u.shape}: one axis of coefficients, not 0-d")
    return Spec(u.shape, inexact(a, u))


def delayed(x: Any, by: int) -> Any:
    """x with `by` zeros before it along the last axis, as long as it was."""
    n = x.shape[-1]
    if by == 0:
        return x
    if by >= n:
        return x * 0
    pads = ((0, 0),) * (len(x.shape) - 1) + ((by, 0),)
    return np.pad(x[..., : n - by], pads)


def _backwards(g: Any, a: Any) -> Any:
    """The transposed filter, which runs from the end."""
    return all_pole(conjugate(a), g[..., ::-1])[..., ::-1]


def _pull_coefficients(g: Any, a: Any, out: Any) -> Any:
    """−Σₙ rₙ yₙ₋ⱼ*, where r is the transposed filter's answer."""
    r = _backwards(g, a)
    return -np.stack([np.sum(r * conjugate(delayed(out, j))) for j in range(a.shape[0])])


def _push_coefficients(t: Any, a: Any, out: Any) -> Any:
    change = sum(t[j] * delayed(out, j) for j in range(a.shape[0]))
    return -all_pole(a, change)


def _samples() -> list[Sample]:
    a = np.array([1.5, 0.4, -0.3])
    return [
        sample(a, draw((6,), -1, 1)),
        sample(a, draw((2, 4), -1, 1)),
        sample(np.array([2.0]), draw((3,), -1, 1)),
        sample(a, draw((2,), -1, 1)),
        sample(a + 0.2j, complex_draw((4,))),
        sample(a.astype(np.float32), draw((4,), -1, 1).astype(np.float32)),
    ]


all_pole: Op = rules(
    "all_pole",
    _all_pole,
    reverse=(_pull_coefficients, lambda g, a: _backwards(g, a)),
    push=(_push_coefficients, lambda t, a: all_pole(a, t)),
    inputs=("a", "u"),
    raises=True,
    batch=lambda call: None if call.on(0) else call.call(call.raw(0), call.raw(1)),
    samples=_samples,
    bad=lambda: [sample(np.zeros(2), draw((3,), -1, 1)), sample(np.ones((2, 2)), np.ones(3))],
    spec=_spec,
    doc="y with a[0] y[n] + a[1] y[n−1] + … = u[n]: the recursive part of scipy.signal.lfilter.",
)
