"""Exact reduction of angles too large for a few parts of π: the method of Payne and Hanek.

a = M·2^e with a whole number M. Of the binary digits of 2/π only those count that give a·2/π its
last two digits before the point and the first hundred behind it: 192 digits from a place that
depends on e. Their product with M holds the quadrant in its first two bits and the angle in
the others. This is rare, so it is done lane by lane and never inlined.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import inf, nan

from chainrule.lower.maths.builder import FORMATS, Vector, Writer, cold_function
from chainrule.lower.maths.constants import PI, parts
from chainrule.lower.maths.exact import fast_two_sum

TABLE = "@cr_two_over_pi"
WORDS = 20
# The table begins with a word of zeros, for numbers whose last digit stands behind the point.
ZEROS = 64
RESULTS = ("i64", "double", "double")


@cache
def two_over_pi() -> tuple[int, ...]:
    """2/π in words of 64 binary digits behind the point, after a word of zeros."""
    digits = 64 * (WORDS - 1)
    one = 1 << (digits + 64)

    def arctan_of_inverse(n: int) -> int:
        total, term, k = 0, one // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    whole = (2 * one << digits) // pi
    words = [(whole >> (digits - 64 * (i + 1))) & (2**64 - 1) for i in range(WORDS - 1)]
    return (0, *words)


def quadrant_and_rest(b: Writer, a: Vector) -> tuple[Vector, Vector, Vector]:
    """n mod 4, r and rest with a = n·π/2 + r + rest, for doubles a ≥ 2^17; NaN for infinity."""
    text, declares = _of_one()
    words = ", ".join(f"i64 {word}" for word in two_over_pi())
    b.declares |= declares
    b.needs[TABLE] = f"{TABLE} = internal constant [{WORDS} x i64] [{words}]\n"
    b.needs[_symbol(1)] = text.replace("define", "define internal", 1)
    if b.lanes > 1:
        b.needs[_symbol(b.lanes)] = _of_all(b.lanes).replace("define", "define internal", 1)
    quadrant, r, rest = b.call(_symbol(b.lanes), RESULTS, a)
    return quadrant, r, rest


def _symbol(lanes: int) -> str:
    return f"@cr_huge_angle_f64x{lanes}"


def _of_all(lanes: int) -> str:
    """Each lane through the function for one."""
    b = Writer(FORMATS["f64"], lanes)
    structure = "{" + ", ".join(RESULTS) + "}"
    results = [Vector(b, element, "poison") for element in RESULTS]
    for i in range(lanes):
        one = b.write("double", f"extractelement <{lanes} x double> %a, i32 {i}")
        found = b.write("", f"call {structure} {_symbol(1)}(double {one})")
        for j, element in enumerate(RESULTS):
            part = b.write(element, f"extractvalue {structure} {found}, {j}")
            whole = f"insertelement <{lanes} x {element}> {results[j]}, {element} {part}, i32 {i}"
            results[j] = b.write(element, whole)
    return cold_function(b, _symbol(lanes), [Vector(b, "double", "%a")], results)


@cache
def _of_one() -> tuple[str, frozenset[str]]:
    b = Writer(FORMATS["f64"], 1)
    a = Vector(b, "double", "%a")
    exponent = a.bits.shift_in_zeros(52)
    # Vector that are not huge come here too; what they get is not used, but the table has an end.
    exponent = b.select(exponent < 1040, 1040, exponent)
    mantissa = (a.bits & ((1 << 52) - 1)) | (1 << 52)
    # e = exponent − 1075; two digits before the point are kept.
    place = exponent - (1075 + 2 - ZEROS)
    word, shift = place.shift_in_zeros(6), place & 63
    address = b.write("ptr", f"getelementptr i64, ptr {TABLE}, i64 {word}").text
    loaded = []
    for i in range(4):
        at = b.write("ptr", f"getelementptr i64, ptr {address}, i64 {i}")
        loaded.append(b.write("i64", f"load i64, ptr {at}"))
    window = [wide(b, b.intrinsic("fshl", *both, shift)) for both in pairwise(loaded)]
    products = [word * wide(b, mantissa) for word in window]
    turns = (products[0] << 64) + products[1] + products[2].shift_in_zeros(64)
    quadrant = (turns + (1 << 125)).shift_in_zeros(126)
    rest = turns - (quadrant << 126)
    negative = rest < 0
    size = b.select(negative, 0 - rest, rest)
    first, second = narrow(b, size.shift_in_zeros(64)), narrow(b, size)
    # No double is so near to a multiple of π/2 that all of the first word is zero.
    zeros = leading_zeros(b, first)
    first, second = b.intrinsic("fshl", first, second, zeros), second << zeros
    high = real(b, first.shift_in_zeros(11))
    low = real(b, ((first & 2047) << 42) | second.shift_in_zeros(22)) * 2.0**-53
    # high + low is the rest of the turn times 2^(126 + zeros − 75).
    scale = (((1023 - 51) - zeros) << 52).float
    pi, more = parts(PI, b.format, 2)
    product = high * (pi / 2)
    lost = b.fma(high, pi / 2, -product) + b.fma(high, more / 2, low * (pi / 2))
    scale = b.select(negative, -scale, scale)
    angle, rest = fast_two_sum(b, product, lost)
    results = [narrow(b, quadrant), b.select(a < inf, angle * scale, nan), rest * scale]
    return cold_function(b, _symbol(1), [a], results), frozenset(b.declares)


def wide(b: Writer, value: Vector) -> Vector:
    return b.convert("zext", value, "i128")


def narrow(b: Writer, value: Vector) -> Vector:
    return b.convert("trunc", value, "i64")


def real(b: Writer, value: Vector) -> Vector:
    """A whole number below 2^53 as a double."""
    return b.convert("sitofp", value, "double")


def leading_zeros(b: Writer, value: Vector) -> Vector:
    b.declares.add("declare i64 @llvm.ctlz.i64(i64, i1)")
    return b.write("i64", f"call i64 @llvm.ctlz.i64(i64 {value}, i1 false)")
