"""Logarithms, from x = 2^k·m and log m = log((1 + s)/(1 − s)) with s = (m − 1)/(m + 1)."""

from __future__ import annotations

from math import inf, nan, sqrt

from chainrule.lower.maths.builder import Operand, Vector, Writer
from chainrule.lower.maths.constants import LN2, LOG2E, LOG10_2, LOG10_E, parts, parts_from_below

# Fitted by tests/lower/maths/coefficients.py: log((1+s)/(1−s)) = 2s + s·z·P(z), z = s² ≤ 0.0295.
LOG = {
    "f64": (0.6666666666666736, 0.39999999999405034, 0.2857142874423165, 0.22222198403083,
            0.18183572504150583, 0.1531385313789698, 0.14797840067142343),
    "f32": (0.6666677594184875, 0.39977583289146423, 0.29870840907096863),
}  # fmt: skip


def mantissa_and_exponent(b: Writer, x: Vector) -> tuple[Vector, Vector]:
    """x = m·2^k with √½ ≤ m < √2, where k is a float.

    For an x without a finite logarithm, k is what the logarithm is to be: ∞, −∞ or NaN.
    """
    form = b.format
    least, infinite = 1 << form.mantissa, form.bits(inf)

    def split(pattern: Vector, magic: Operand) -> tuple[Vector, Vector]:
        above = pattern - form.bits(sqrt(0.5))
        # Added to the pattern of a large number, a whole number is that number's last digits.
        large = ((above >> form.mantissa) + form.bits(form.magic)).float
        return (pattern - (above & -least)).float, large - magic

    def split_any() -> tuple[Vector, Vector]:
        subnormal = x < 2.0 ** (1 - form.bias)
        lifted = b.select(subnormal, x * 2.0**form.mantissa, x)
        m, k = split(lifted.bits, b.select(subnormal, form.magic + form.mantissa, form.magic))
        k = b.select(x < inf, k, x)
        k = b.select(x < 0.0, nan, k)
        return m, b.select(x.equals(0.0), -inf, k)

    usual = (x.bits - least).below_unsigned(infinite - least)
    return b.rarely(~usual, split(x.bits, form.magic), split_any)  # type: ignore[return-value]


def bend_of_log(b: Writer, f: Vector) -> Vector:
    """f − log(1 + f) = s·(f − z·P(z)), which is small beside f: its errors hardly count."""
    s = f / (f + 2.0)
    z = s * s
    return s * (f - z * b.polynomial(z, b.given(LOG)))


def natural_log(b: Writer, f: Vector, k: Vector) -> Vector:
    """log(1 + f) + k·ln 2."""
    high, low = parts_from_below(LN2, b.format)
    return b.fma(k, high, f + b.fma(k, low, -bend_of_log(b, f)))


def log(b: Writer, x: Vector) -> Vector:
    m, k = mantissa_and_exponent(b, x)
    return natural_log(b, m - 1.0, k)


def log1p(b: Writer, x: Vector) -> Vector:
    """log(u + lost), where u + lost = 1 + x; the sign is that of x, also for −0."""
    u = x + 1.0
    return b.copysign(log_of_sum(b, u, x - (u - 1.0)), x)


def log_of_sum(b: Writer, u: Vector, lost: Vector, doublings: Vector | None = None) -> Vector:
    """log((u + lost)·2^doublings) for a `lost` below the last digit of u.

    From 2^mantissa on, `lost` is left out.
    """
    m, k = mantissa_and_exponent(b, u)
    if doublings is not None:
        k = k + doublings
    scale = (m.bits - u.bits + b.format.bits(1.0)).float  # 2^−k
    correction = b.select(u < 2.0 ** (b.format.mantissa + 2), lost * scale, 0.0)
    return natural_log(b, (m - 1.0) + correction, k)


def log2(b: Writer, x: Vector) -> Vector:
    m, k = mantissa_and_exponent(b, x)
    return k + scaled_log(b, m, parts(LOG2E, b.format, 2))


def log10(b: Writer, x: Vector) -> Vector:
    m, k = mantissa_and_exponent(b, x)
    high, low = parts_from_below(LOG10_2, b.format)
    return b.fma(k, high, scaled_log(b, m, parts(LOG10_E, b.format, 2), beyond=k * low))


def scaled_log(
    b: Writer, m: Vector, factor: tuple[float, ...], beyond: Vector | None = None
) -> Vector:
    """log(m)·factor + beyond, where the factor comes in two parts; what is small is added first."""
    f = m - 1.0
    bend = bend_of_log(b, f)
    small = b.fma(bend, -factor[0], beyond) if beyond is not None else bend * -factor[0]
    return b.fma(f, factor[0], b.fma(f, factor[1], small))
