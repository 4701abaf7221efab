"""sin, cos and tan, from x = n·π/2 + r with |r| ≤ π/4."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from chainrule.lower.maths.builder import Vector, Writer, cold_function
from chainrule.lower.maths.constants import PI, parts, rounded
from chainrule.lower.maths.exact import corrected_quotient, exact_product, fast_two_sum, two_sum
from chainrule.lower.maths.huge_angle import quadrant_and_rest

# Fitted by tests/lower/maths/coefficients.py: sin r = r + r·z·S(z) and cos r = 1 + z·C(z), z = r².
SIN = {
    "f64": (-0.16666666666666666, 0.0083333333333331, -0.0001984126984105737,
            2.7557319129560354e-06, -2.5052086080635716e-08, 1.6056266815037048e-10,
            -7.485935228075522e-13),
    "f32": (-0.1666666716337204, 0.008333371952176094, -0.000198498964891769,
            2.800253696477739e-06),
}  # fmt: skip
COS = {
    "f64": (-0.5, 0.041666666666666595, -0.0013888888888873405, 2.4801587289057997e-05,
            -2.755731423465689e-07, 2.087570774116818e-09, -1.135886077615009e-11),
    "f32": (-0.5, 0.04166664555668831, -0.0013887311797589064, 2.4432712962152436e-05),
}  # fmt: skip

# Up to here three parts of π/2 are enough: the next would change less than the last digit of r even
# where x comes as close to a multiple of π/2 as a number of the format can.
LARGEST = {"f64": 2.0**40, "f32": 2.0**17}


def sin(b: Writer, x: Vector) -> Vector:
    n, r = quarter_turns(b, b.abs(x))
    return sine_of_turned(b, n, r, x.bits & b.format.sign)


def cos(b: Writer, x: Vector) -> Vector:
    """sin(|x| + π/2)."""
    n, r = quarter_turns(b, b.abs(x))
    return sine_of_turned(b, n + 1, r)


def tan(b: Writer, x: Vector) -> Vector:
    """sin r / cos r, or −cos r / sin r after an odd number of quarter turns."""
    n, r, rest = quarter_turns(b, b.abs(x), keep=True)
    z = r * r
    sine = fast_two_sum(b, r, b.fma(r * z, b.polynomial(z, b.given(SIN)), rest))
    # cos(r + rest) = cos r − r·rest, up to what does not count.
    cosine = fast_two_sum(b, b.constant(1.0), b.fma(z, b.polynomial(z, b.given(COS)), -r * rest))
    odd = (n & 1).differs(0)
    over, under = (
        [b.select(odd, p, q) for p, q in zip(yes, no, strict=True)]
        for yes, no in ((cosine, sine), (sine, cosine))
    )
    result = corrected_quotient(b, over[0], (under[0], under[1]), over[1])
    flipped = (n << (b.format.width - 1)) ^ (x.bits & b.format.sign)
    return (result.bits ^ flipped).float


def sine_of_turned(b: Writer, n: Vector, r: Vector, sign: Vector | None = None) -> Vector:
    """sin(n·π/2 + r), of that sign: the coefficients of sine or of cosine, as n is even or odd."""
    z = r * r
    odd = (n & 1).differs(0)
    choices = zip(b.given(SIN), b.given(COS), strict=True)
    series = b.short_polynomial(
        z, [b.select(odd, for_cos, for_sin) for for_sin, for_cos in choices]
    )
    factor, first = b.select(odd, z, r * z), b.select(odd, 1.0, r)
    flipped = (n & 2) << (b.format.width - 2)
    if sign is not None:
        flipped = flipped ^ sign
    if b.lanes > 1:
        return (b.fma(factor, series, first).bits ^ flipped).float
    # A single number is an integer elsewhere than a float: what is waited for should stay a float.
    unit = (flipped | b.constant(1.0).bits).float
    first = first * unit
    return b.copysign(b.fma(factor * unit, series, first), first)  # of −0, too


def quarter_turns(b: Writer, a: Vector, keep: bool = False) -> tuple[Vector, ...]:
    """n and r with a = n·π/2 + r for a ≥ 0, and, to keep, what rounding r lost.

    Of n, only the last bits are there.
    """
    usual = few_quarter_turns(b, a, keep)
    return b.rarely(a > b.given(LARGEST), usual, lambda: many_quarter_turns(b, a, usual))


def few_quarter_turns(b: Writer, a: Vector, keep: bool) -> tuple[Vector, ...]:
    form = b.format
    large = b.fma(a, rounded(2 / Fraction(PI), form), form.magic)
    count = large - form.magic
    first, second, third = (part / 2 for part in parts(PI, form, 3))
    exact = b.fma(count, -first, a)  # few digits are left, so that nothing is rounded
    if not keep:
        return large.bits, b.fma(count, -third, b.fma(count, -second, exact))
    product, lost = exact_product(b, count, b.constant(-second))
    r, rest = two_sum(b, exact, product)
    return large.bits, r, rest + b.fma(count, -third, lost)


def many_quarter_turns(b: Writer, a: Vector, usual: tuple[Vector, ...]) -> tuple[Vector, ...]:
    """The same where lanes are huge, and the usual values elsewhere.

    It is a call, which gets the usual values too: what has to outlive a call is stored before it is
    known whether the call is made, and this cost more than all the rest.  Its code is a module of
    its own, which is compiled once for all programs: it takes as long as a small program.
    """
    inner = Writer(b.format, b.lanes)
    names = ("%n", "%r", "%rest")[: len(usual)]
    given = [Vector(inner, v.element, name) for v, name in zip(usual, names, strict=True)]
    angle = Vector(inner, a.element, "%a")
    results = choose_by_size(inner, angle, given)
    symbol = f"@cr_{'_'.join(names).replace('%', '')}_of_huge_{b.format.name}x{b.lanes}"
    text = cold_function(inner, symbol, [angle, *given], results)
    b.cold[symbol] = "\n".join([*sorted(inner.declares), *inner.needs.values(), text])
    b.declares.add(text.partition(" noinline")[0].replace("define", "declare", 1))
    return tuple(b.call(symbol, [v.element for v in usual], a, *usual))


def choose_by_size(b: Writer, a: Vector, usual: Sequence[Vector]) -> list[Vector]:
    """In double precision for both formats."""
    single = b.format.element == "float"
    found = quadrant_and_rest(b, b.convert("fpext", a, "double") if single else a)
    if single:
        n, r, _ = found
        head = b.convert("fptrunc", r, "float")
        tail = b.convert("fptrunc", r - b.convert("fpext", head, "double"), "float")
        found = (b.convert("trunc", n, "i32"), head, tail)
    huge = a > b.given(LARGEST)
    return [b.select(huge, own, other) for own, other in zip(found, usual, strict=False)]
