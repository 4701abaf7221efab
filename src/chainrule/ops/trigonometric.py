"""Trigonometric functions, their inverses, angles and distances in the plane."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.core.cure import Cure
from chainrule.core.masked import plain
from chainrule.core.op import Op, Sample, sample
from chainrule.ops.define import composite, elementwise
from chainrule.ops.factors import is_recorded, where_alive
from chainrule.ops.hyperbolic import one_minus_square, sech_squared
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw, holomorphic, pairs, point_pairs, points, reals, within

inside_one = within(-0.8, 0.8, complex_too=True)


def _unequal_shapes() -> list[Sample]:
    return [sample(np.ones(2), np.ones(3))]


# -- sine, cosine, tangent and back ----------------------------------------------------------------


def _tan_slope(x: Any) -> Any:
    """1 / cos(x)²; far from the real axis cos overflows, so there it is sech²(i x)."""
    return sech_squared(1j * x) if x.dtype.kind == "c" else 1 / np.square(np.cos(x))


def _arcsin_slope(x: Any) -> Any:
    """1 / √(1 - x²)."""
    return 1 / np.sqrt(one_minus_square(x) if is_recorded(x) else (1 - x) * (1 + x))


sin = elementwise(
    "sin", np.sin, (lambda x: np.cos(x),), samples=holomorphic, edges=points(0.0, 1e5)
)
cos = elementwise(
    "cos", np.cos, (lambda x: -np.sin(x),), samples=holomorphic, edges=points(0.0, 1e5)
)
tan = elementwise(
    "tan", np.tan, (_tan_slope,), samples=within(-1.2, 1.2, complex_too=True), edges=points(0.0)
)
ANGLE_CURES = (
    Cure("an angle at 0 or π",
         "the derivative 1/√(1 - x²) is infinite at 1 and -1",
         "for the angle between u and v: np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v)",
         lambda c: abs(c.x) == 1),
    Cure("an angle beyond 1",
         "only numbers from -1 to 1 are a cosine",
         "np.arccos(np.clip(x, -1, 1)) if it is rounding",
         lambda c: abs(c.x) > 1),
)  # fmt: skip
arcsin = elementwise(
    "arcsin",
    np.arcsin,
    (_arcsin_slope,),
    samples=inside_one,
    edges=points(0.0, -1 + 1e-15),
    cure=ANGLE_CURES,
)
arccos = elementwise(
    "arccos",
    np.arccos,
    (lambda x: -_arcsin_slope(x),),
    samples=inside_one,
    edges=points(0.0, 1 - 1e-15),
    cure=ANGLE_CURES,
)
# The slope of arctan is an op of its own: far out (1 + x²)² overflows before x divides by it.
arctan_slope = elementwise(
    "arctan_slope",
    lambda x: 1 / (1 + x * x),
    (lambda x, out: -2 * (x * out) * out,),
    samples=within(-2.0, 2.0, complex_too=True),
    edges=points(-1e100, 0.0, 1e100),
    doc="1 / (1 + x²), the derivative of arctan.",
    lower=lambda b, x: b.map(
        "divide",
        b.constant(1, x.dtype),
        b.map("add", b.constant(1, x.dtype), b.map("multiply", x, x)),
    ),
)
arctan = elementwise(
    "arctan",
    np.arctan,
    (lambda x: arctan_slope(x) if is_recorded(x) else 1 / (1 + x * x),),
    samples=within(-2.0, 2.0, complex_too=True),
    edges=points(-np.inf, -1e200, 0.0, 1e200),
)


# -- the plane: hypot, arctan2, angle --------------------------------------------------------------


def _over(part: Any, distance: Any, power: int) -> Any:
    """part / distance^power for power 1 or 2, structurally zero at the origin."""
    origin = np.equal(distance, 0)
    safe = np.where(origin, 1, distance)
    quotient = part / safe if power == 1 else part / safe / safe  # the square might overflow
    return where_alive(np.where(origin, 0, quotient), np.logical_not(origin))


def _at_origin(x: Any, y: Any) -> Any:
    return np.logical_and(np.equal(x, 0), np.equal(y, 0))


around_the_plane = point_pairs(
    (0.0, 0.0), (0.0, 1.0), (1e200, 1e200), (1e-200, -1e-200), (1e200, 0.0)
)


def _hypot_lowered(b: Any, x: Any, y: Any) -> Any:
    """The larger one times √(1 + ratio²), so that no square overflows or vanishes."""
    x, y = (b.map("absolute", a) for a in b.floats(x, y))
    zero, one, infinity = (b.constant(n, x.dtype) for n in (0, 1, np.inf))
    large, small = b.map("maximum", x, y), b.map("minimum", x, y)
    ratio = b.map("divide", small, b.map("where", b.map("equal", large, zero), one, large))
    found = b.map("multiply", large, b.map("sqrt", b.map("add", one, b.map("square", ratio))))
    endless = b.map("logical_or", *(b.map("equal", a, infinity) for a in (x, y)))
    return b.map("where", endless, infinity, found)


def _over_hypot(b: Any, x: Any, y: Any, which: int, power: int) -> Any:
    """As `_over` of hypot(x, y)."""
    x, y = b.floats(x, y)
    distance = _hypot_lowered(b, x, y)
    zero, one = b.constant(0, x.dtype), b.constant(1, x.dtype)
    origin = b.map("equal", distance, zero)
    safe = b.map("where", origin, one, distance)
    quotient = b.map("divide", (x, y)[which], safe)
    quotient = quotient if power == 1 else b.map("divide", quotient, safe)
    return b.map("where", origin, zero, quotient)


def _off_origin(value: Any, x: Any, y: Any) -> Any:
    return where_alive(value, np.logical_not(_at_origin(plain(x), plain(y))))


def _distance(x: Any, y: Any) -> Any:
    """hypot(x, y), and 1 at the origin, so that it can be divided by."""
    return np.hypot(x, np.where(_at_origin(plain(x), plain(y)), 1, y))


def _direction_by(by: int) -> Any:
    """y² / hypot³ of x by x, −x·y / hypot³ of x by y.

    The quotient x / hypot, differentiated as it stands, leaves the first one as a difference.
    """

    def partial(x: Any, y: Any, which: int) -> Any:
        distance, other = _distance(x, y), direction(x, y, which=1 - which)
        if which == by:
            return _off_origin(other * (other / distance), x, y)
        return _off_origin(-(direction(x, y, which=which) * other) / distance, x, y)

    return partial


def _inversion_by(by: int) -> Any:
    """(y − x)(y + x) / hypot⁴ of x by x, −2·x·y / hypot⁴ of x by y."""

    def partial(x: Any, y: Any, which: int) -> Any:
        d = _distance(x, y)
        if which == by:
            this, other = (x, y) if which == 0 else (y, x)
            return _off_origin(((other - this) / d) * ((other + this) / d) / d / d, x, y)
        product = direction(x, y, which=0) * direction(x, y, which=1)
        return _off_origin(-2 * product / d / d, x, y)

    return partial


def _both(samples: Any) -> Any:
    """The samples, of the first coordinate and of the second."""
    return lambda: [sample(*s.args, which=k) for s in samples() for k in (0, 1)]


direction: Op = elementwise(
    "direction",
    lambda x, y, which=0: _over((x, y)[which], np.hypot(x, y), 1).value,
    (_direction_by(0), _direction_by(1)),
    inputs=("x", "y"),
    samples=_both(pairs),
    edges=_both(around_the_plane),
    kinks=lambda x, y, which: _at_origin(x, y),
    doc="x / hypot(x, y), or y over it, 0 at the origin: the derivatives of hypot.",
    lower=lambda b, x, y, which: _over_hypot(b, x, y, which, 1),
)
inversion = elementwise(
    "inversion",
    lambda x, y, which=0: _over((x, y)[which], np.hypot(x, y), 2).value,
    (_inversion_by(0), _inversion_by(1)),
    inputs=("x", "y"),
    samples=_both(pairs),
    edges=_both(point_pairs((0.0, 0.0), (0.0, 1.0), (1e200, 1e200), (1e-100, 1e-100))),
    kinks=lambda x, y, which: _at_origin(x, y),
    doc="x / (x² + y²), or y over it, 0 at the origin: the derivatives of arctan2.",
    lower=lambda b, x, y, which: _over_hypot(b, x, y, which, 2),
)


def _hypot_slope(x: Any, y: Any, out: Any, which: int) -> Any:
    """x / out or y / out, by an op of its own where it may be differentiated again."""
    if is_recorded(x) or is_recorded(y):
        return where_alive(direction(x, y, which=which), np.not_equal(plain(out), 0))
    return _over((x, y)[which], out, 1)


def _arctan2_slope(x: Any, y: Any, which: int) -> Any:
    """x / (x² + y²) or y over it, by an op of its own where it may be differentiated again."""
    if is_recorded(x) or is_recorded(y):
        return _off_origin(inversion(x, y, which=which), x, y)
    return _over((x, y)[which], np.hypot(x, y), 2)


hypot = elementwise(
    "hypot",
    np.hypot,
    (
        lambda x, y, out: _hypot_slope(x, y, out, 0),
        lambda x, y, out: _hypot_slope(x, y, out, 1),
    ),
    samples=pairs,
    edges=around_the_plane,
    bad=_unequal_shapes,
    kinks=_at_origin,
    lower=_hypot_lowered,
)
arctan2 = elementwise(
    "arctan2",
    np.arctan2,
    (lambda y, x: _arctan2_slope(x, y, 0), lambda y, x: -_arctan2_slope(x, y, 1)),
    inputs=("y", "x"),
    samples=pairs,
    edges=point_pairs((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1e200, 1e200), (0.0, 1e200)),
    bad=_unequal_shapes,
    kinks=lambda y, x: np.logical_and(np.equal(y, 0), np.less_equal(x, 0)),
    doc="The angle of the point (x, y); at the origin, which has none, the derivative is 0.",
)


def _angle(z: Any, deg: bool = False) -> Any:
    z = as_array(z)
    radians = np.arctan2(np.imag(z), np.real(z))
    return radians * (180 / math.pi) if deg else radians


def _angle_samples() -> list[Sample]:
    z = draw((2, 3), -2, 2) + 1j * draw((2, 3), 0.3, 2, seed=1)
    return [
        sample(z),
        sample(z, deg=True),
        sample(np.complex64(1 + 2j)),
        sample(draw((3,), 0.5, 2)),
    ]


angle = composite("angle", _angle, inputs=("z",), samples=_angle_samples, numpy=(np.angle,))


# -- degrees and radians ---------------------------------------------------------------------------


def _conversion(ufunc: np.ufunc, factor: float) -> Op:
    def lower(b: Any, x: Any) -> Any:
        (x,) = b.floats(x)
        return b.map("multiply", x, b.constant(factor, x.dtype))

    return elementwise(ufunc.__name__, ufunc, (lambda: factor,), samples=reals, lower=lower)


deg2rad = _conversion(np.deg2rad, math.pi / 180)
radians = _conversion(np.radians, math.pi / 180)
rad2deg = _conversion(np.rad2deg, 180 / math.pi)
degrees = _conversion(np.degrees, 180 / math.pi)


# -- sinc ------------------------------------------------------------------------------------------


def _sinc_series(u: Any, order: int, reach: float) -> Any:
    """The order-th derivative of sin(u)/u for |u| ≤ reach: Σ ± u^m / (m! (m + order + 1)).

    Every m has the parity of the order, and the sign is that of the power (m + order)/2 of u².
    """
    coefficients = []
    m, bound = order % 2, 1.0
    while bound > 1e-18:
        sign = -1.0 if (m + order) // 2 % 2 else 1.0
        coefficients.append(sign / (math.factorial(m) * (m + order + 1)))
        m += 2
        bound = reach**m / math.factorial(m)
    square, total = u * u, 0.0
    for c in reversed(coefficients):
        total = total * square + c
    return total * u if order % 2 else total


def _sinc_derivative(x: Any, order: int) -> Any:
    """The order-th derivative of sin(πx)/(πx), to rounding everywhere.

    Away from 0 by u·f⁽ⁿ⁾ + n·f⁽ⁿ⁻¹⁾ = sin⁽ⁿ⁾(u), whose error grows as n!/|u|ⁿ; within 1 + n/2 of 0
    by its series.
    """
    x = np.asarray(x)
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    u = math.pi * x
    reach = 1 + order / 2
    near = np.abs(u) <= reach
    turn = math.pi * (x - 2 * np.round(np.real(x) / 2))  # u less whole turns, exactly
    waves = (np.sin(turn), np.cos(turn))
    far = np.where(near, 1, u)
    f = waves[0] / far
    for n in range(1, order + 1):
        wave = waves[n % 2] if n % 4 < 2 else -waves[n % 2]
        f = (wave - n * f) / far
    series = _sinc_series(np.where(near, u, 0), order, reach)
    return (np.where(near, series, f) * math.pi**order)[()]


def _sinc_samples() -> list[Sample]:
    x = np.array([0.0, 1e-9, 1e-3, -0.2, 0.47, 0.49, 1.0, -2.5])
    return [sample(x, order=n) for n in (0, 1, 2, 3)] + [
        sample(x.astype(np.float32), order=1),
        sample(np.float64(0.3), order=2),
        sample(np.array([0.1 + 0.2j, 0.9 - 0.3j, 1.7j]), order=1),
    ]


sinc_derivative: Op = elementwise(
    "sinc_derivative",
    _sinc_derivative,
    (lambda x, order: sinc_derivative(x, order=order + 1),),
    inputs=("x",),
    samples=_sinc_samples,
    edges=lambda: [sample(np.float64(0.0), order=n) for n in (1, 2, 3, 6)],
    doc="The order-th derivative of sinc, smooth through 0.",
)


def _sinc_lowered(b: Any, x: Any) -> Any:
    """As NumPy: sin(πx)/(πx), with 1e-20 for 0."""
    (x,) = b.floats(x)
    zero = b.map("equal", x, b.constant(0, x.dtype))
    u = b.map("where", zero, b.constant(1e-20, x.dtype), x)
    u = b.map("multiply", b.constant(math.pi, x.dtype), u)
    return b.map("divide", b.maths("sin", u), u)


sinc = elementwise(
    "sinc",
    np.sinc,
    (lambda x: sinc_derivative(x, order=1),),
    inputs=("x",),
    samples=within(-2.5, 2.5, complex_too=True),
    edges=points(0.0, 1e-300, 1.0),
    numpy=(np.sinc,),
    lower=_sinc_lowered,
)
