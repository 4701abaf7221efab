"""sinh, cosh and tanh, from e^x − 1 with its rounding errors kept."""

from __future__ import annotations

from chainrule.lower.maths.builder import Builder, Value
from chainrule.lower.maths.exact import any_sum, corrected_quotient, ordered_sum
from chainrule.lower.maths.exponential import EXP, reduced, scaled_expm1

# Here sinh and cosh overflow, but e^x/4 does not.
OVERFLOW = {"f64": 710.6, "f32": 89.6}
# From here on tanh rounds to 1; as 2|x|.
TANH_IS_ONE = {"f64": 44.0, "f32": 20.0}


def tanh(b: Builder, x: Value) -> Value:
    """t/(t + 1) with t = (e^2|x| − 1)/2."""
    size = b.at_most(2.0 * b.abs(x), b.given(TANH_IS_ONE))
    t, rest = ordered_sum(b, *scaled_expm1(b, size, down=1))
    under, lost = any_sum(b, t, 1.0)
    return b.copysign(corrected_quotient(b, t, (under, lost + rest), rest), x)


def sinh(b: Builder, x: Value) -> Value:
    """2·(v + v/(4v + 1)) with v = (e^|x| − 1)/4; a tiny x is its own sinh."""
    head, tail = scaled_expm1(b, b.at_most(b.abs(x), b.given(OVERFLOW)), down=2)
    v = head + tail
    falling = v / b.fma(v, 4.0, 1.0)
    result = b.copysign(2.0 * (head + (tail + falling)), x)
    return b.select(b.abs(x) < 2.0 ** -(b.format.mantissa // 2 + 1), x, result)


def cosh(b: Builder, x: Value) -> Value:
    """2·(c + 1/(16c)) with c = e^|x|/4."""
    power, r, _ = reduced(b, b.at_most(b.abs(x), b.given(OVERFLOW)), down=2)
    c = b.polynomial(r, b.given(EXP)) * power.of_two(b)
    return 2.0 * (c + 0.0625 / c)
