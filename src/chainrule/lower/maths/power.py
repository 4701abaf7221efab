"""x^y = 2^(y·log2 x), with every special case of C's pow."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.constants import LOG2E, parts
from chainrule.lower.maths.exact import exact_product, fast_two_sum
from chainrule.lower.maths.exponential import (
    EXP2,
    EXP2_RANGE,
    Power,
    clamped,
    nearest_power,
    scaled,
)
from chainrule.lower.maths.logarithm import mantissa_and_exponent

# Fitted by tests/lower/maths/coefficients.py: log2((1+s)/(1−s)) = s·(c₀ + c₁z + z²·Q(z)), z = s².
POW = {
    "f64": (0.577078016355585, 0.4121985831114026, 0.32059889790128104, 0.26230819986702897,
            0.22195219813100028, 0.1924037964128736, 0.16840620245054314, 0.17316141101094804),
    "f32": (0.5770803093910217, 0.4118396043777466, 0.33803674578666687),
}  # fmt: skip

# Exponents of two below this in size give a normal number.
SAFE = {"f64": 1020.0, "f32": 124.0}


def pow(b: Writer, x: Vector, y: Vector) -> Vector:
    logarithm, rest = log2_twofold(b, b.abs(x))
    exponent, lost = exact_product(b, y, logarithm)
    lost = b.fma(y, rest, lost)
    doubled, power = exp2_doubled(b, exponent, lost)
    ordinary = (x > 0.0) & (b.abs(exponent) < b.given(SAFE))
    (result,) = b.rarely(
        ~ordinary,
        (doubled * power.of_two(b),),
        lambda: (with_special_cases(b, x, y, exp2_of_any(b, exponent, lost)),),
    )
    return result


def log2_twofold(b: Writer, x: Vector) -> tuple[Vector, Vector]:
    """log2 x to about twice the digits, for x ≥ 0: the series in s with rests."""
    m, k = mantissa_and_exponent(b, x)
    over, under = m - 1.0, m + 1.0
    inverse = 1.0 / under
    s = over * inverse
    s_rest = b.fma(-s, m - (under - 1.0), b.fma(-s, under, over)) * inverse
    z, z_rest = exact_product(b, s, s)
    z_rest = b.fma(2.0 * s, s_rest, z_rest)
    first, first_rest = parts(2 * Fraction(LOG2E), b.format, 2)
    second, second_rest = parts(2 * Fraction(LOG2E) / 3, b.format, 2)
    term, term_rest = exact_product(b, z, b.constant(second))
    slope, slope_rest = fast_two_sum(b, b.constant(first), term)
    series = b.long_polynomial(z, (first_rest, second_rest, *b.given(POW)))
    slope_rest = (slope_rest + b.fma(z_rest, second, term_rest)) + series
    product, product_rest = exact_product(b, s, slope)
    product_rest = b.fma(s, slope_rest, b.fma(s_rest, slope, product_rest))
    # The sums before left a rest of several digits, but y times it must not count in digits of r.
    product, product_rest = fast_two_sum(b, product, product_rest)
    total, total_rest = fast_two_sum(b, k, product)
    return total, total_rest + product_rest


def exp2_doubled(b: Writer, exponent: Vector, lost: Vector) -> tuple[Vector, Power]:
    """2·2^r and 2^(k−1) with exponent + lost = k + r."""
    power = nearest_power(b, exponent, 1.0)
    r = (exponent - power.k) + lost
    return b.polynomial(r, [2 * c for c in b.given(EXP2)]), power


def exp2_of_any(b: Writer, exponent: Vector, lost: Vector) -> Vector:
    """2^(exponent + lost) also where that is subnormal, 0, infinite or NaN."""
    within = clamped(b, exponent, b.given(EXP2_RANGE))
    lost = b.select(within.equals(exponent), lost, 0.0)
    return scaled(b, *exp2_doubled(b, within, lost))


def with_special_cases(b: Writer, x: Vector, y: Vector, size: Vector) -> Vector:
    """x^y from |x|^y: the sign, NaN for a root of a negative number, 1 for 1^y and x^0."""
    half = y * 0.5
    whole = y.equals(b.intrinsic("floor", y))
    odd = whole & half.differs(b.intrinsic("floor", half))
    negative = x.bits < 0
    result = b.select(negative & odd, -size, size)
    result = b.select((x < 0.0) & (x > -inf) & ~whole, nan, result)
    one = x.equals(1.0) | y.equals(0.0) | (x.equals(-1.0) & b.abs(y).equals(inf))
    return b.select(one, 1.0, result)
