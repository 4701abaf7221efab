"""The logistic function 1/(1 + e^−x) and its integral, log(1 + e^x)."""

from __future__ import annotations

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.exact import corrected_quotient, fast_two_sum
from chainrule.lower.maths.exponential import exp
from chainrule.lower.maths.logarithm import log_of_sum


def sigmoid(b: Writer, x: Vector) -> Vector:
    """1/(1 + e) for x ≥ 0 and e/(1 + e) below, with e = e^−|x| ≤ 1, so that nothing overflows."""
    e = exp(b, -b.abs(x))
    over = b.select(x < 0.0, e, 1.0)
    return corrected_quotient(b, over, fast_two_sum(b, b.constant(1.0), e))


def softplus(b: Writer, x: Vector) -> Vector:
    """max(x, 0) + log(1 + e^−|x|)."""
    e = exp(b, -b.abs(x))
    u, lost = fast_two_sum(b, b.constant(1.0), e)
    return b.at_least(x, 0.0) + log_of_sum(b, u, lost)
