"""Mathematical constants to 60 digits or more, and their expansion into numbers of a format."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from chainrule.lower.maths.builder import Format

LN2 = "0.693147180559945309417232121458176568075500134360255254120680009493"
LOG2E = "1.442695040888963407359924681001892137426645954152985934135449406931"
LN10 = "2.302585092994045684017991454684364207601101488628772976033327900967"
PI = "3.141592653589793238462643383279502884197169399375105820974944592307"


@cache
def parts(value: str | Fraction, form: Format, count: int) -> tuple[float, ...]:
    """Numbers of the format whose sum is the value: each is what the ones before leave, rounded."""
    rest = Fraction(value)
    found = []
    for _ in range(count):
        # float() rounds a fraction correctly; a second rounding to float32 leaves a rest as well.
        part = form.nearest(float(rest))
        found.append(part)
        rest -= Fraction(part)
    return tuple(found)


def rounded(value: str | Fraction, form: Format) -> float:
    return parts(value, form, 1)[0]


@cache
def short_parts(value: str | Fraction, form: Format, bits: int) -> tuple[float, float]:
    """Two numbers of which the first has so few bits that it times a small integer is exact."""
    exact = Fraction(value)
    scale = Fraction(2) ** (bits - 1)
    while abs(exact) * scale >= 2**bits:
        scale /= 2
    while abs(exact) * scale < 2 ** (bits - 1):
        scale *= 2
    first = Fraction(round(exact * scale)) / scale
    return float(first), form.nearest(float(exact - first))
