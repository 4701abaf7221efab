"""NumPy's polynomials by their coefficients, highest power first: polyval, polyfit, roots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.core.op import OPS, sample
from chainrule.errors import ArgumentError, ShapeError, UnsupportedError
from chainrule.ops.define import composite
from chainrule.ops.joining import as_array, concatenate
from chainrule.ops.samples import draw
from chainrule.ops.sequences import convolve


def _line(p: Any) -> Any:
    p = as_array(p)
    return np.reshape(p, (1,)) if not p.shape else p


def _polyval(p: Any, x: Any) -> Any:
    """By Horner's scheme, as NumPy."""
    p, x = as_array(p), as_array(x)
    total: Any = np.zeros(x.shape, np.result_type(p.dtype, x.dtype))
    for k in range(p.shape[0]):
        total = total * x + p[k]
    return total


polyval = composite(
    "polyval",
    _polyval,
    inputs=("p", "x"),
    samples=lambda: [
        sample(draw((4,), -1, 1), draw((2, 3), -1, 1, 1)),
        sample(draw((1,), -1, 1), draw((), -1, 1, 1)),
    ],
    numpy=(np.polyval,),
)


def _polyder(p: Any, m: int = 1) -> Any:
    p, m = _line(p), int(m)
    if m < 0:
        raise ArgumentError(f"polyder cannot be taken {m} times")
    degree = p.shape[0] - 1
    if m > degree:
        return p[:0]
    weights = [float(math.perm(degree - k, m)) for k in range(degree + 1 - m)]
    return p[: degree + 1 - m] * np.array(weights)


polyder = composite(
    "polyder",
    _polyder,
    inputs=("p",),
    samples=lambda: [sample(draw((4,), -1, 1)), sample(draw((4,), -1, 1), m=2)],
    bad=lambda: [sample(draw((3,), -1, 1), m=-1)],
    numpy=(np.polyder,),
)


def _polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    p = _line(p)
    constants = np.zeros(m) if k is None else _line(k)
    if constants.shape[0] == 1 < m:
        constants = np.broadcast_to(constants, (m,))
    for i in range(m):
        weights = 1.0 / np.arange(p.shape[0], 0, -1)
        p = concatenate([p * weights, constants[i : i + 1]], axis=0)
    return p


polyint = composite(
    "polyint",
    _polyint,
    inputs=("p",),
    samples=lambda: [
        sample(draw((3,), -1, 1)),
        sample(draw((3,), -1, 1), m=2, k=[1.0, 2.0]),
    ],
    numpy=(np.polyint,),
)


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Both with as many coefficients, zeros before the shorter."""
    a1, a2 = _line(a1), _line(a2)
    n = max(a1.shape[0], a2.shape[0])
    first, second = (np.pad(a, (n - a.shape[0], 0)) for a in (a1, a2))
    return first, second


def _pairs() -> Any:
    return [sample(draw((4,), -1, 1), draw((2,), -1, 1, 1)), sample(draw((1,), 1, 2), 2.0)]


polyadd = composite(
    "polyadd",
    lambda a1, a2: np.add(*_aligned(a1, a2)),
    inputs=("a1", "a2"),
    samples=_pairs,
    numpy=(np.polyadd,),
)
polysub = composite(
    "polysub",
    lambda a1, a2: np.subtract(*_aligned(a1, a2)),
    inputs=("a1", "a2"),
    samples=_pairs,
    numpy=(np.polysub,),
)
polymul = composite(
    "polymul",
    lambda a1, a2: convolve(_line(a1), _line(a2)),
    inputs=("a1", "a2"),
    samples=_pairs,
    numpy=(np.polymul,),
)


def _polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The least squares of NumPy: columns scaled to one length, then scaled back."""
    if full or cov:
        raise UnsupportedError("polyfit of Variables returns coefficients; leave full and cov out")
    x, y = as_array(x) * 1.0, as_array(y) * 1.0
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ShapeError(f"polyfit of {x.shape} and {y.shape}: they do not fit")
    columns = np.stack([x**k for k in range(int(deg), -1, -1)], axis=1)
    if w is not None:
        w = as_array(w) * 1.0
        columns, y = columns * w[:, None], y * (w if y.ndim == 1 else w[:, None])
    scale = np.sqrt(np.sum(columns * columns, axis=0))
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    found = np.linalg.lstsq(columns / scale, y, rcond=rcond)[0]
    return found / (scale if y.ndim == 1 else scale[:, None])


polyfit = composite(
    "polyfit",
    _polyfit,
    inputs=("x", "y"),
    samples=lambda: [
        sample(np.linspace(-1, 2, 6), draw((6,), -1, 1), deg=2),
        sample(np.linspace(-1, 2, 6), draw((6, 2), -1, 1), deg=1),
        sample(np.linspace(-1, 2, 6), draw((6,), -1, 1), deg=2, w=draw((6,), 0.5, 1, 1)),
    ],
    bad=lambda: [sample(np.ones(3), np.ones(4), deg=1)],
    numpy=(np.polyfit,),
)


def _roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix, of which a double root has no derivative.

    As in NumPy, zeros before the highest power go, and zeros at the end are roots that are zero.
    """
    p = _line(p)
    if p.ndim != 1:
        raise ShapeError(f"roots of {p.shape}: coefficients have one axis")
    first = last = 0
    while first < p.shape[0] and p[first] == 0:
        first += 1
    while last < p.shape[0] - first and p[-1 - last] == 0:
        last += 1
    p = p[first : p.shape[0] - last]
    n = p.shape[0] - 1
    if n < 1:
        return np.zeros(last)
    row = -(p[1:] / p[0])
    found = OPS["eigvals"](concatenate([row[None], np.eye(n)[:-1]], axis=0))
    return concatenate([found, np.zeros(last, found.dtype)], axis=0) if last else found


roots = composite(
    "roots",
    _roots,
    inputs=("p",),
    samples=lambda: [
        sample(np.array([1.0 + 0j, -1.5, -2.0, 0.3])),
        sample(np.array([2.0 + 1j, 1])),
        sample(np.array([1.0, -6.0, -19.0, 24.0])),  # 1, −3 and 8, far enough apart to stay real
    ],
    bad=lambda: [sample(np.ones((2, 2)))],
    numpy=(np.roots,),
)


def _poly(seq_of_zeros: Any) -> Any:
    """The product of x − root; of a matrix its characteristic polynomial."""
    zeros = _line(seq_of_zeros)
    if zeros.ndim == 2:
        zeros = OPS["eigvals"](zeros)
    found: Any = np.ones(1, zeros.dtype)
    for k in range(zeros.shape[0]):
        found = np.pad(found, (0, 1)) - zeros[k] * np.pad(found, (1, 0))
    return found


poly = composite(
    "poly",
    _poly,
    inputs=("seq_of_zeros",),
    samples=lambda: [sample(draw((3,), -1, 1)), sample(np.zeros(0))],
    numpy=(np.poly,),
)
