"""Mathematical constants to 60 digits or more, and their expansion into numbers of a format."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import frexp

from chainrule.lower.maths.builder import Format

LN2 = "0.693147180559945309417232121458176568075500134360255254120680009493"
LOG2E = "1.442695040888963407359924681001892137426645954152985934135449406931"
LOG10_2 = "0.301029995663981195213738894724493026768189881462108541310427461127"
LOG10_E = "0.434294481903251827651128918916605082294397005803666566114453783165"
HALF_LOG_TAU = "0.918938533204672741780329736405617639861397473637783412817152"
DIGAMMA_ROOT = "1.461632144968362341262659542325721328468196204006446351295988408598786"
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
def parts_from_below(value: str | Fraction, form: Format) -> tuple[float, float]:
    """Two parts of which neither is negative, so that an infinity times both stays one."""
    first = rounded(value, form)
    if Fraction(first) > Fraction(value):
        first -= 2.0 ** (frexp(first)[1] - form.mantissa - 1)
    return first, form.nearest(float(Fraction(value) - Fraction(first)))
