"""arcsin, arccos, arctan and arctan2: one series each, on half of the range."""

from __future__ import annotations

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.constants import PI, parts

# Fitted by tests/lower/maths/coefficients.py: x + x·z·A(z) with z = x².
ARCSIN = {
    "f64": (0.16666666666665406, 0.07500000000335101, 0.04464285683105815, 0.03038195899692208,
            0.0223717618113127, 0.01735964424884176, 0.013885856581683516, 0.01216504090053214,
            0.006546235643823274, 0.019478022070293, -0.016145358394133603,
            0.03185833708891584),
    "f32": (0.16666753590106964, 0.07495276629924774, 0.04547145217657089, 0.024178795516490936,
            0.04216250032186508),
}  # fmt: skip
ARCTAN = {
    "f64": (-0.3333333333333302, 0.19999999999944268, -0.14285714282181675, 0.11111110995908832,
            -0.09090906812665642, 0.07692277677819165, -0.06666386806559987,
            0.058804272191223445, -0.052530783065543436, 0.047208494315127504,
            -0.04215367849911121, 0.03656514353516968, -0.02978335206593911,
            0.021838074673802617, -0.013763346705652345, 0.007099985521128468,
            -0.0028355190990207095, 0.000813964717957847, -0.00014841831625624026,
            1.2851805242397334e-05),
    "f32": (-0.33333125710487366, 0.19993135333061218, -0.14205820858478546,
            0.10645326226949692, -0.07508143037557602, 0.04269272834062576,
            -0.016049757599830627, 0.002841484034433961),
}  # fmt: skip


def half_of_pi(b: Writer) -> tuple[float, float]:
    high, low = parts(PI, b.format, 2)
    return high / 2, low / 2


def arcsin(b: Writer, x: Vector) -> Vector:
    """π/2 − 2·arcsin √((1 − a)/2) for a = |x| > ½; beyond 1 the root is NaN."""
    a = b.abs(x)
    high, low = half_of_pi(b)
    beyond = a > 0.5
    z = b.select(beyond, b.fma(a, -0.5, 0.5), a * a)
    s = b.select(beyond, b.sqrt(z), a)
    bend = s * z * b.polynomial(z, b.given(ARCSIN))
    # What π/2 has beyond its first part is added where it is not rounded away.
    far = b.fma(s + (bend - low / 2), -2.0, high)
    return b.copysign(b.select(beyond, far, s + bend), x)


def arccos(b: Writer, x: Vector) -> Vector:
    """π/2 − arcsin x, or 2·arcsin √((1 − a)/2) for x > ½, and what that leaves of π for x < −½."""
    a = b.abs(x)
    high, low = half_of_pi(b)
    beyond = a > 0.5
    right = x > 0.5
    z = b.select(beyond, b.fma(a, -0.5, 0.5), a * a)
    s = b.select(beyond, b.sqrt(z), x)
    bend = s * z * b.polynomial(z, b.given(ARCSIN))
    factor = b.select(beyond, b.select(right, 2.0, -2.0), -1.0)
    base = b.select(beyond, b.select(right, 0.0, 2 * high), high)
    return b.fma(s + (bend - b.select(right, 0.0, low)), factor, base)


def arctan(b: Writer, x: Vector) -> Vector:
    """arctan a, or π/2 − arctan(1/a) for a = |x| > 1."""
    a = b.abs(x)
    high, low = half_of_pi(b)
    beyond = a > 1.0
    t = b.select(beyond, 1.0, a) / b.select(beyond, a, 1.0)
    bend = bend_of_arctan(b, t)
    return b.copysign(b.select(beyond, high - (t + (bend - low)), t + bend), x)


def arctan2(b: Writer, y: Vector, x: Vector) -> Vector:
    """The angle of the point (x, y): a multiple of π/2, plus or minus arctan(smaller/larger)."""
    up, along = b.abs(y), b.abs(x)
    high, low = half_of_pi(b)
    steep = up > along
    smaller, larger = b.select(steep, along, up), b.select(steep, up, along)
    t = smaller / larger
    # 0/0 counts as 0, and ∞/∞ as 1.
    t = b.select(smaller.equals(larger), b.select(larger > 0.0, 1.0, 0.0), t)
    left = x.bits < 0
    sign = b.select(steep ^ left, -1.0, 1.0)
    quarters = b.select(steep, 1.0, b.select(left, 2.0, 0.0))
    angle = t + b.fma(quarters * sign, low, bend_of_arctan(b, t))
    return b.copysign(b.fma(angle, sign, quarters * high), y)


def bend_of_arctan(b: Writer, t: Vector) -> Vector:
    """arctan t − t for 0 ≤ t ≤ 1."""
    z = t * t
    return t * z * b.polynomial(z, b.given(ARCTAN))
