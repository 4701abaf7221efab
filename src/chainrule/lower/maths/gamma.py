"""log |Γ| and its derivative ψ; the bounds hold for x > 0, below 0 there are zeros without them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf, nan

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.constants import (
    DIGAMMA_ROOT,
    HALF_LOG_TAU,
    LN2,
    PI,
    parts,
    parts_from_below,
    rounded,
)
from chainrule.lower.maths.exact import exact_product, fast_two_sum
from chainrule.lower.maths.logarithm import bend_of_log, log, mantissa_and_exponent
from chainrule.lower.maths.trigonometric import COS, SIN

# Fitted by tests/lower/maths/coefficients.py; the first coefficient of DIGAMMA and of LGAMMA is the
# sum of two numbers.
# ψ(x) = (x − x₀)·P(x − 1.625) for 1 ≤ x ≤ 2.25, where ψ(x₀) = 0:
DIGAMMA = {
    "f64": (0.9015925158282158, -1.67311605398895e-18, -0.3697749644574108, 0.19272012460146254,
            -0.10919698588598661, 0.06426251743358133, -0.03855782679391664,
            0.02338043993617227, -0.014262521418492793, 0.008730867725008262,
            -0.005355729194982516, 0.0032894296747856236, -0.002021876375527549,
            0.001243319011420097, -0.0007645969752228819, 0.0004704078361300661,
            -0.00029042874972512434, 0.0001786365609111571, -0.00010614982123212353,
            6.55078484509874e-05, -4.984533207398785e-05, 3.0354720534804528e-05,
            -3.2792429906302554e-06, 2.3293597018335625e-06, -1.581660590006784e-05,
            9.600263749905979e-06),
    "f32": (0.901592493057251, 2.3894498824006405e-08, -0.36977526545524597,
            0.19272015988826752, -0.10918167233467102, 0.06425618380308151,
            -0.038773711770772934, 0.02349105104804039, -0.013044214807450771,
            0.008046536706387997, -0.008229073137044907, 0.004989951383322477),
}  # fmt: skip
# ψ(x) = log x − u·G(u), u = 1/x, for x ≥ 2.25:
DIGAMMA_FAR = {
    "f64": (0.499999999999957, 0.08333333334168072, -5.983227244060528e-10,
            -0.008333310914284242, -5.105048774931742e-07, 0.003975926739887165,
            -7.992235142834638e-05, -0.00357368585635287, -0.003164017243009848,
            0.01957723343596562, -0.03076807055841632, 0.023844503575613584,
            -0.006337945580875156, -0.003467958424826649, 0.002263168573489171),
    "f32": (0.5000002980232239, 0.08332261443138123, 0.00013619927631225437,
            -0.009154119528830051, 0.002503846073523164, 0.0005720597109757364),
}  # fmt: skip
# log Γ(x) = (x − 1)·(x − 2)·R(x − 1.625) for 0.75 ≤ x ≤ 2.5:
LGAMMA = {
    "f64": (0.46580963736232694, -2.2323406296428764e-17, -0.13157899128683395,
            0.052579426220433934, -0.0241944364306956, 0.011991915956990567,
            -0.0062154504138429946, 0.003317270859904229, -0.0018070640160938905,
            0.0009992727453678424, -0.0005589497565856995, 0.00031549452383365173,
            -0.00017938940918463148, 0.00010262514815642001, -5.9025007079141294e-05,
            3.409319680110214e-05, -1.9712087955598243e-05, 1.1466430510281534e-05,
            -6.890384476977473e-06, 4.037897960661579e-06, -1.8572390577126176e-06,
            1.0797488659952994e-06, -1.5908774544614975e-06, 9.560300222180156e-07,
            7.174329030735175e-07, -4.4181967128395995e-07, -9.448641969809986e-07,
            5.721520918647458e-07, 4.1467650487077637e-07, -2.511423113768364e-07,
            -1.3214637395842704e-07, 7.95727320765793e-08),
    "f32": (0.4658096432685852, -4.11839540248593e-09, -0.13157899677753448,
            0.05257919803261757, -0.02419418841600418, 0.011996609158813953,
            -0.006219176575541496, 0.0032815488521009684, -0.0017823254456743598,
            0.0011261707404628396, -0.0006407276378013194, 9.264357504434884e-05,
            -4.1875027818605304e-05, 0.00027923236484639347, -0.00016477765166200697),
}  # fmt: skip
# log Γ(x) = (x − ½)·(log x − 1) + ½·log 2π − ½ + u·S(u²), u = 1/x, for x ≥ 8:
LGAMMA_FAR = {
    "f64": (0.08333333333333331, -0.0027777777777506143, 0.0007936507796589028,
            -0.0005952345951277071, 0.0008412730375472711, -0.0018808272560944081,
            0.004885384327088891),
    "f32": (0.0833333358168602, -0.0027781210374087095, 0.0007968152640387416),
}  # fmt: skip
MIDDLE = 1.625


def digamma(b: Writer, x: Vector) -> Vector:
    """ψ(1 − x) − π/tan πx for x < 0."""
    reflected = x < 0.0
    result = digamma_of_positive(b, b.select(reflected, 1.0 - x, x))

    def with_reflection() -> tuple[Vector]:
        sine, cosine = of_half_turns(b, x)
        other = result - cosine / sine
        other = b.select(sine.equals(0.0), nan, other)
        return (b.select(reflected, other, result),)

    return b.rarely(reflected, (result,), with_reflection)[0]


def digamma_of_positive(b: Writer, x: Vector) -> Vector:
    """ψ(x + 1) − 1/x below 1; around its zero a product, so that digits are not lost."""
    below, far = x < 1.0, x >= 2.25
    u = 1.0 / x
    y = b.select(below, x + 1.0, x)
    lost = b.select(below, x - (y - 1.0), 0.0)
    high, low = parts(DIGAMMA_ROOT, b.format, 2)
    from_root = (y - high) + (lost - low)
    series, series_rest = around_middle(b, y, DIGAMMA)
    near = b.fma(from_root, series, from_root * series_rest)
    u_rest = b.select(b.abs(u) < inf, b.fma(-u, x, 1.0) * u, 0.0)
    near = b.select(below, (near - u_rest) - u, near)
    logarithm, rest = log_twofold(b, x)
    bend = b.fma(u, b.polynomial(u, b.given(DIGAMMA_FAR)), -rest)
    return b.select(far, logarithm - bend, near)


def lgamma(b: Writer, x: Vector) -> Vector:
    """log(π/|sin πx|) − log Γ(1 − x) for x < 0."""
    reflected = x < 0.0
    result = lgamma_of_positive(b, b.select(reflected, 1.0 - x, x))

    def with_reflection() -> tuple[Vector]:
        sine, _ = of_half_turns(b, x)
        other = -log(b, b.abs(sine)) - result
        other = b.select(sine.equals(0.0) | x.equals(-inf), inf, other)
        return (b.select(reflected, other, result),)

    return b.rarely(reflected, (result,), with_reflection)[0]


def lgamma_of_positive(b: Writer, x: Vector) -> Vector:
    """From 8 on Stirling's series; below, one step up or up to six steps down lead to [¾, 2½]."""
    below, far = x < 0.75, x >= 8.0
    y, product = x, b.constant(1.0)
    for _ in range(6):
        above = y >= 2.5
        product = b.select(above, product * (y - 1.0), product)
        y = b.select(above, y - 1.0, y)
    y = b.select(below, x + 1.0, y)
    zeros, lost = exact_product(b, b.select(below, x, y - 1.0), b.select(below, x - 1.0, y - 2.0))
    series, series_rest = around_middle(b, y, LGAMMA)
    near = b.fma(zeros, series, b.fma(zeros, series_rest, lost * series))
    logarithm, rest = log_twofold(b, b.select(below | far, x, product))
    near = b.select(below, (near - rest) - logarithm, (near + rest) + logarithm)
    return b.select(far, stirling(b, x, logarithm, rest), near)


def around_middle(
    b: Writer, y: Vector, coefficients: Mapping[str, tuple[float, ...]]
) -> tuple[Vector, Vector]:
    """A polynomial in y − MIDDLE and what rounding it lost."""
    first, second, *others = b.given(coefficients)
    t = y - MIDDLE
    return fast_two_sum(b, b.constant(first), b.fma(t, b.long_polynomial(t, others), second))


def stirling(b: Writer, x: Vector, logarithm: Vector, rest: Vector) -> Vector:
    """Twice a half, so that nothing overflows before the result does."""
    u = 1.0 / x
    half = b.fma(x, 0.5, -0.25)
    product, lost = exact_product(b, half, logarithm - 1.0)
    constant = rounded((Fraction(HALF_LOG_TAU) - Fraction(1, 2)) / 2, b.format)
    series = b.polynomial(u * u, [c / 2 for c in b.given(LGAMMA_FAR)])
    tail = lost + b.fma(half, rest, b.fma(u, series, constant))
    return 2.0 * b.select(product < inf, product + tail, product)


def log_twofold(b: Writer, x: Vector) -> tuple[Vector, Vector]:
    """log x and what rounding it lost."""
    high, low = parts_from_below(LN2, b.format)
    m, k = mantissa_and_exponent(b, x)
    f = m - 1.0
    total = b.fma(k, high, f)
    lost = b.fma(k, high, -total) + f
    rest = lost + b.fma(k, low, -bend_of_log(b, f))
    return total, b.select(b.abs(total) < inf, rest, 0.0)


def of_half_turns(b: Writer, x: Vector) -> tuple[Vector, Vector]:
    """sin(πx)/π and cos πx, up to a sign that both share."""
    r = x - b.intrinsic("rint", x)
    size = b.abs(r)
    steep = size > 0.25
    angle = rounded(PI, b.format) * b.select(steep, 0.5 - size, size)
    z = angle * angle
    over_angle = b.fma(z, b.polynomial(z, b.given(SIN)), 1.0)
    cosine = b.fma(z, b.polynomial(z, b.given(COS)), 1.0)
    sine = b.select(steep, cosine * rounded(1 / Fraction(PI), b.format), size * over_angle)
    return b.copysign(sine, r), b.select(steep, angle * over_angle, cosine)
