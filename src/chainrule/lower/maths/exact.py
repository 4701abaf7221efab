"""Sums and quotients of which the rounding errors are kept and used."""

from __future__ import annotations

from chainrule.lower.maths.builder import Operand, Vector, Writer


def fast_two_sum(b: Writer, larger: Operand, smaller: Vector) -> tuple[Vector, Vector]:
    """The sum of two numbers and exactly what rounding it lost, where |larger| ≥ |smaller|."""
    total = larger + smaller
    return total, (larger - total) + smaller


def two_sum(b: Writer, x: Vector, y: Operand) -> tuple[Vector, Vector]:
    """The sum of two numbers and exactly what rounding it lost, whichever is larger."""
    total = x + y
    of_y = total - x
    return total, (x - (total - of_y)) + (y - of_y)


def exact_product(b: Writer, x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """The product and exactly what rounding it lost."""
    product = x * y
    return product, b.fma(x, y, -product)


def sum_with_product(b: Writer, a: Vector, x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """a + x·y rounded, and what was lost, where a = 0 or |a| ≥ |x·y|."""
    total = b.fma(x, y, a)
    return total, b.fma(x, y, a - total)


def corrected_quotient(
    b: Writer, over: Operand, under: tuple[Vector, Vector], over_rest: Vector | None = None
) -> Vector:
    """(over + over_rest)/(under₀ + under₁), nearly rounded correctly, with one division."""
    inverse = 1.0 / under[0]
    quotient = over * inverse
    remainder = b.fma(-quotient, under[0], over)
    remainder = b.fma(-quotient, under[1], remainder)
    if over_rest is not None:
        remainder = remainder + over_rest
    return b.fma(remainder, inverse, quotient)
