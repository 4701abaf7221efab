"""The cube root."""

from __future__ import annotations

from math import inf

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.exact import exact_product
from chainrule.lower.maths.logarithm import mantissa_and_exponent

# Fitted by tests/lower/maths/coefficients.py: ∛m for √½ ≤ m < √2, to a third of the digits.
CBRT = {
    "f64": (0.3988596033695066, 1.1940210960866482, -1.1794698501162897, 0.961207165416736,
            -0.5076698940452157, 0.15299841746492002, -0.019946677866725677),
    "f32": (0.4934457838535309, 0.7368825078010559, -0.2876022756099701, 0.05733973905444145),
}  # fmt: skip


def cbrt(b: Writer, x: Vector) -> Vector:
    """2^q·∛(m·2^j) with |x| = m·2^(3q + j): an estimate, then one step of Halley's method."""
    a = b.abs(x)
    m, k = mantissa_and_exponent(b, a)
    magic = b.format.magic + b.format.bias
    shifted = b.fma(k, 1.0 / 3.0, magic)
    j = b.fma(shifted - magic, -3.0, k)
    up, down = j > 0.5, j < -0.5
    cube = m * b.select(up, 2.0, b.select(down, 0.5, b.constant(1.0)))
    factor = b.select(up, 2.0 ** (1 / 3), b.select(down, 0.5 ** (1 / 3), b.constant(1.0)))
    y = b.polynomial(m, b.given(CBRT)) * factor
    square, lost = exact_product(b, y, y)
    excess = b.fma(lost, y, b.fma(square, y, -cube))  # y³ − cube
    root = y - y * excess / b.fma(square * y, 2.0, cube)
    result = b.copysign(root * (shifted.bits << b.format.mantissa).float, x)
    return b.select((a > 0.0) & (a < inf), result, x)
