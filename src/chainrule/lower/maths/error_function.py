"""erf and erfc."""

from __future__ import annotations

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.exact import corrected_quotient, exact_product, fast_two_sum, two_sum
from chainrule.lower.maths.exponential import EXP, expm1_scaled, reduced_with_rest, scaled

# Fitted by tests/lower/maths/coefficients.py; the first coefficient is the sum of two numbers.
# erf x = 1 − e^(−x·q(x)):
ERF = {
    "f64": (1.1283791670955126, 9.524839479292659e-18, 0.6366197723675837, 0.10277260330178112,
            -0.01912844700485697, -0.00020919469790574543, 0.0016962064120773154,
            -0.0005901257014393687, 2.587918852207899e-05, 6.449018947608103e-05,
            -2.9720460142551378e-05, 3.401363083433104e-06, 2.8427189326496992e-06,
            -1.7492316563238692e-06, 3.4256897164166044e-07, 1.3317242966172312e-07,
            -1.3968360319086748e-07, 6.487047998666452e-08, -2.0676911582954003e-08,
            4.922937746044383e-09, -8.929861291163919e-10, 1.2247716250515253e-10,
            -1.2341686212449094e-11, 8.633407956185396e-13, -3.747384491101599e-14,
            7.601295112584477e-16),
    "f32": (1.128379225730896, -5.906127498178648e-08, 0.6366198062896729, 0.10277175158262253,
            -0.019120648503303528, -0.00024380322429351509, 0.0017828403506428003,
            -0.0007229793118312955, 0.00015590956900268793, -1.6862622942426242e-05,
            2.453393790347036e-07, 8.343693025381071e-08),
}  # fmt: skip
# erfc x = e^(−x²)·h(t)/(1 + 2x) with t = (x − 2.5)/(x + 2.5):
ERFC = {
    "f64": (1.2648381843668615, 2.669990993375646e-17, -0.12235676308240435,
            -0.09902453957360413, 0.15762991902322493, -0.10296705603841409,
            0.03276089326843627, 0.0009318928131113829, -0.004382078336741814,
            0.0004918658713520645, 0.0006321243089885969, -8.847971307276077e-05,
            -0.00011352218442321382, 6.26844963166595e-06, 2.269900678945296e-05,
            2.6008651197537727e-06, -4.216627046135813e-06, -1.567632120589845e-06,
            5.261844576028865e-07, 5.082908091586057e-07, 3.1686636814548626e-08,
            -1.0300813981010105e-07, -3.691807338581059e-08, 7.623450500263835e-09,
            7.2232562071266905e-09, 1.2381163391659801e-09),
    "f32": (1.2648382186889648, -3.7221052906488694e-08, -0.12235669046640396,
            -0.09902423620223999, 0.1576276570558548, -0.1029730811715126, 0.032778967171907425,
            0.000977737014181912, -0.004426582250744104, 0.0003436116094235331,
            0.000622569874394685, 8.370503928745165e-05),
}  # fmt: skip

# From here on erf rounds to 1, and erfc to 0.
ERF_IS_ONE = {"f64": 5.95, "f32": 3.95}
ERFC_IS_ZERO = {"f64": 27.3, "f32": 10.1}
# About h′(t) where t is so near to −1 that it is rounded.
SLOPE = 0.9


def erf(b: Writer, x: Vector) -> Vector:
    """1 − e^(−a·q(a)) for a = |x|: relative accuracy at 0 comes from e^x − 1."""
    a = b.at_most(b.abs(x), b.given(ERF_IS_ONE))
    first, second, *others = b.given(ERF)
    bend = b.fma(a, b.long_polynomial(a, others), second)
    q, q_rest = fast_two_sum(b, b.constant(first), bend)
    product, lost = exact_product(b, a, q)
    head, tail = expm1_scaled(b, -product, 1, beyond=-b.fma(a, q_rest, lost))
    result = b.copysign(2.0 * (head + tail), x)
    # Where x is so small that parts of it underflow, the series ends with 2x/√π.
    return b.select(b.abs(x) < 2.0**-60, b.fma(x, (first + second) - 1.0, x), result)


def erfc(b: Writer, x: Vector) -> Vector:
    """e^(−a²)·h/(1 + 2a) for a = |x|, and what is left of 2 for x < 0."""
    a = b.at_most(b.abs(x), b.given(ERFC_IS_ZERO))
    first, second, *others = b.given(ERFC)
    w = (2.0 * a) / (a + 2.5)
    t, lost = fast_two_sum(b, b.constant(-1.0), w)
    bend = b.fma(t, b.long_polynomial(t, others), b.fma(lost, SLOPE, second))
    h, h_rest = fast_two_sum(b, b.constant(first), bend)
    square, left = exact_product(b, a, a)
    power, r, rest = reduced_with_rest(b, -square, beyond=-left)
    _, _, *series = b.given(EXP)
    grown = b.fma(r * r, b.polynomial(r, series), rest) + r  # e^r − 1
    over, over_rest = fast_two_sum(b, h, b.fma(h, grown, h_rest))
    under = two_sum(b, 2.0 * a, 1.0)
    size = scaled(b, 2.0 * corrected_quotient(b, over, under, over_rest), power)
    return b.select(x < 0.0, 2.0 - size, size)
