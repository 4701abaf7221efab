"""e^x, 2^x and e^x − 1, and the reduction x = k·ln 2 + r that others share."""

from __future__ import annotations

from dataclasses import dataclass

from chainrule.lower.maths.builder import Vector, Writer
from chainrule.lower.maths.constants import LN2, LOG2E, parts, rounded
from chainrule.lower.maths.exact import fast_two_sum, sum_with_product

# Fitted by tests/lower/maths/coefficients.py, lowest power first.
EXP = {
    "f64": (1.0, 1.0, 0.5000000000000012, 0.16666666666666471, 0.041666666666519706,
            0.008333333333458672, 0.0013888888945939781, 0.00019841269581200656,
            2.4801491005239958e-05, 2.7557521607658766e-06, 2.7630918627960523e-07,
            2.5020101800545848e-08),
    "f32": (1.0, 1.0, 0.49999988079071045, 0.166665181517601, 0.04166965186595917,
            0.008368948474526405, 0.0013745008036494255),
}  # fmt: skip
EXP2 = {
    "f64": (1.0, 0.6931471805599453, 0.24022650695910133, 0.05550410866482226,
            0.009618129107593498, 0.0013333558146380658, 0.00015403530457765014,
            1.5252733805508415e-05, 1.3215435001110848e-06, 1.0178086773687693e-07,
            7.073826046303358e-09, 4.449955477539561e-10),
    "f32": (1.0, 0.6931471824645996, 0.24022644758224487, 0.055503591895103455,
            0.009618841111660004, 0.0013391136890277267, 0.00015238006017170846),
}  # fmt: skip

# Below the first the result is 0 (after rounding), above the second it is infinite.
EXP_RANGE = {"f64": (-746.0, 710.0), "f32": (-104.0, 89.0)}
EXP2_RANGE = {"f64": (-1076.0, 1024.0), "f32": (-151.0, 128.0)}
EXPM1_RANGE = {"f64": (-45.0, 710.0), "f32": (-20.0, 89.0)}

# How far a result that may be subnormal is lifted while it is computed.
LIFT = 64


@dataclass(frozen=True, slots=True)
class Power:
    """2^(k − down) for the whole number k of each lane: 2^k itself may not be finite."""

    k: Vector
    biased: Vector  # in its lowest bits, k − down plus the exponent bias

    def of_two(self, b: Writer) -> Vector:
        return (self.biased << b.format.mantissa).float


def nearest_power(b: Writer, x: Vector, logarithm: float, down: int = 1) -> Power:
    """The whole number k nearest to x·logarithm; adding a large number rounds and stores it."""
    magic = b.format.magic + (b.format.bias - down)
    shifted = b.fma(x, logarithm, magic) if logarithm != 1.0 else x + magic
    return Power(shifted - magic, shifted.bits)


def clamped(b: Writer, x: Vector, limits: tuple[float, float]) -> Vector:
    return b.at_least(b.at_most(x, limits[1]), limits[0])


def reduced(b: Writer, x: Vector, down: int = 1) -> tuple[Power, Vector]:
    """x = k·ln 2 + r with |r| ≤ ln 2 / 2; r is rounded once."""
    high, low = parts(LN2, b.format, 2)
    power = nearest_power(b, x, rounded(LOG2E, b.format), down)
    exact = b.fma(power.k, -high, x)  # few bits are left, so that nothing is rounded
    return power, b.fma(power.k, -low, exact)


def reduced_with_rest(
    b: Writer, x: Vector, down: int = 1, beyond: Vector | None = None
) -> tuple[Power, Vector, Vector]:
    """x + beyond = k·ln 2 + r + rest, where the rest is below the last digit of r.

    `beyond` is what of the argument did not fit into x.
    """
    high, low = parts(LN2, b.format, 2)
    power = nearest_power(b, x, rounded(LOG2E, b.format), down)
    exact = b.fma(power.k, -high, x)
    r, rest = sum_with_product(b, exact, power.k, b.constant(-low))
    if beyond is not None:
        r, rest = fast_two_sum(b, r, rest + beyond)
    return power, r, rest


def scaled(b: Writer, doubled: Vector, power: Power) -> Vector:
    """doubled·2^(k−1) with gradual underflow: small lanes take a detour 2^LIFT higher."""
    small = power.k < float(2 - b.format.bias)
    biased = b.select(small, power.biased + LIFT, power.biased)
    result = doubled * (biased << b.format.mantissa).float
    return b.select(small, result * 2.0**-LIFT, result)


def exp(b: Writer, x: Vector) -> Vector:
    """e^x = 2^k·e^r."""
    power, r = reduced(b, clamped(b, x, b.given(EXP_RANGE)))
    return scaled(b, b.polynomial(r, [2 * c for c in b.given(EXP)]), power)


def exp2(b: Writer, x: Vector) -> Vector:
    """2^x = 2^k·2^r, where r = x − k is exact."""
    x = clamped(b, x, b.given(EXP2_RANGE))
    power = nearest_power(b, x, 1.0)
    return scaled(b, b.polynomial(x - power.k, [2 * c for c in b.given(EXP2)]), power)


def expm1_scaled(
    b: Writer, x: Vector, down: int, beyond: Vector | None = None
) -> tuple[Vector, Vector]:
    """2^−down·(2^k·(e^r − 1) + (2^k − 1)) as head + tail, finite where 2^k itself is not."""
    found, r, rest = reduced_with_rest(b, x, down, beyond)
    power = found.of_two(b)
    _, _, *series = b.given(EXP)
    bend = power * b.fma(r * r, b.polynomial(r, series), rest)
    head, lost = sum_with_product(b, power - 2.0**-down, power, r)
    return head, bend + lost


def expm1(b: Writer, x: Vector) -> Vector:
    """The sign is that of x, also for −0."""
    head, tail = expm1_scaled(b, clamped(b, x, b.given(EXPM1_RANGE)), down=1)
    return b.copysign(2.0 * (head + tail), x)
