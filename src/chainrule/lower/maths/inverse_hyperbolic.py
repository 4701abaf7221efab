"""arcsinh, arccosh and arctanh: logarithms of 1 + w, where w keeps its rounding errors."""

from __future__ import annotations

from math import nan

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.exact import fast_two_sum, sum_with_product, two_sum
from chainrule.lower.maths.logarithm import log_of_sum


def arcsinh(b: Writer, x: Vector) -> Vector:
    """w = a + a²/(1 + √(1 + a²)) with a = |x|."""
    a = b.abs(x)
    square = a * a
    w = fast_two_sum(b, a, square / (b.sqrt(square + 1.0) + 1.0))
    return b.copysign(log_of_one_and(b, w, a), x)


def arccosh(b: Writer, x: Vector) -> Vector:
    """w = t + √(t² + 2t) with t = x − 1."""
    t = x - 1.0
    square, left = sum_with_product(b, 2.0 * t, t, t)
    root = b.sqrt(square)
    # A step of Newton's method gives the digits that the root does not hold.
    more = (b.fma(-root, root, square) + left) * (0.5 / root)
    w, lost = fast_two_sum(b, root, t)
    lost = lost + b.select(root > 0.0, more, 0.0)
    return b.select(x < 1.0, nan, log_of_one_and(b, (w, lost), x))


def arctanh(b: Writer, x: Vector) -> Vector:
    """Half of the logarithm with w = 2a/(1 − a), a = |x|; beyond 1, w is below −1."""
    a = b.abs(x)
    under, lost = fast_two_sum(b, b.constant(1.0), -a)
    inverse = 1.0 / under
    w = 2.0 * a * inverse
    rest = b.fma(-w, lost, b.fma(-w, under, 2.0 * a)) * inverse
    u, more = two_sum(b, w, 1.0)
    return b.copysign(0.5 * log_of_sum(b, u, more + rest), x)


def log_of_one_and(b: Writer, w: tuple[Vector, Vector], x: Vector) -> Vector:
    """log(1 + w), or log 2x where x is so large that 1 + w is 2x, and its square may overflow."""
    large = x > 2.0 ** (b.format.mantissa // 2 + 2)
    u, lost = two_sum(b, w[0], 1.0)
    return log_of_sum(
        b,
        b.select(large, x, u),
        b.select(large, 0.0, lost + w[1]),
        b.select(large, 1.0, b.constant(0.0)),
    )
