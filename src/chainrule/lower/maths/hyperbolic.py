"""sinh, cosh and tanh: from e^|x|, and near 0, where that would cancel, from a series."""

from __future__ import annotations

from collections.abc import Mapping

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.exponential import EXP, reduced

# Fitted by tests/lower/maths/coefficients.py: x + x·z·P(z) with z = x².
SINH = {
    "f64": (0.16666666666666666, 0.008333333333333519, 0.0001984126984113355,
            2.7557319273633615e-06, 2.5052098436572166e-08, 1.6060161067945112e-10,
            7.581135625977607e-13, 4.420998513320708e-15),
    "f32": (0.1666666716337204, 0.008333316072821617, 0.00019841419998556376,
            2.7915382361243246e-06),
}  # fmt: skip
TANH = {
    "f64": (-0.3333333333333229, 0.133333333331664, -0.05396825387528485, 0.02186948596053595,
            -0.008863194352514845, 0.003591718690370633, -0.0014532125155710751,
            0.0005791259955691494, -0.000210286255217354, 5.101126675246463e-05),
    "f32": (-0.3333294093608856, 0.13320636749267578, -0.052667539566755295,
            0.016430983319878578),
}  # fmt: skip

# Here sinh and cosh overflow, but e^x/4 does not.
OVERFLOW = {"f64": 710.6, "f32": 89.6}
# From here on tanh rounds to 1.
TANH_IS_ONE = {"f64": 22.0, "f32": 10.0}


def sinh(b: Writer, x: Vector) -> Vector:
    """2·(c − 1/(16c)) with c = e^|x|/4."""
    a = b.abs(x)
    c = quarter_of_exp(b, a)
    size = b.select(a < 1.0, odd_series(b, a, SINH), 2.0 * (c - 0.0625 / c))
    return b.copysign(size, x)


def cosh(b: Writer, x: Vector) -> Vector:
    """2·(c + 1/(16c)) with c = e^|x|/4."""
    c = quarter_of_exp(b, b.abs(x))
    return 2.0 * (c + 0.0625 / c)


def tanh(b: Writer, x: Vector) -> Vector:
    """1 − 1/d with d = (e^2|x| + 1)/2; where tanh x < ½ this would lose digits."""
    a = b.abs(x)
    power, r = reduced(b, 2.0 * b.at_most(a, b.given(TANH_IS_ONE)))
    d = b.fma(b.polynomial(r, b.given(EXP)), power.of_two(b), 0.5)
    return b.copysign(b.select(a < 0.549, odd_series(b, a, TANH), 1.0 - 1.0 / d), x)


def quarter_of_exp(b: Writer, a: Vector) -> Vector:
    power, r = reduced(b, b.at_most(a, b.given(OVERFLOW)), down=2)
    return b.polynomial(r, b.given(EXP)) * power.of_two(b)


def odd_series(b: Writer, x: Vector, coefficients: Mapping[str, tuple[float, ...]]) -> Vector:
    z = x * x
    return b.fma(x, z * b.polynomial(z, b.given(coefficients)), x)
