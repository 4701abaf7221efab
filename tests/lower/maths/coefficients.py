"""Every fitted polynomial of `chainrule.lower.maths`; `python -m tests.lower.maths.coefficients`.

Each entry says which function is fitted, where and with which weight; running this file prints the
coefficients with their largest error, to be pasted into the file of the family.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mpmath import mp, mpf

from tests.lower.maths.minimax import Function, polynomial


@dataclass(frozen=True)
class Fit:
    """A polynomial near `function` on the interval, per dtype its degree; error × weight counts."""

    function: Function
    low: float
    high: float | dict[str, float]
    degree: dict[str, int]
    weight: Function | None = None
    fixed: tuple[float, ...] = ()
    twofold: bool = False

    def coefficients(self, dtype: str) -> tuple[tuple[float, ...], float]:
        high = self.high[dtype] if isinstance(self.high, dict) else self.high
        return polynomial(
            *(self.function, self.low, high, self.degree[dtype], dtype),
            *(self.weight, self.fixed, self.twofold),
        )


HALF_LN2 = 0.34665  # ln 2 / 2 and a little, since k is the nearest whole number only about
QUARTER_PI = 0.787


def erfcx(x: mpf) -> mpf:
    return mp.exp(x * x) * mp.erfc(x)


@cache
def digamma_root() -> mpf:
    with mp.workprec(400):
        return mp.findroot(mp.digamma, 1.4616)


def stirling_rest(x: mpf) -> mpf:
    return mp.loggamma(x) - (x - 0.5) * (mp.log(x) - 1) - mp.log(2 * mp.pi) / 2 + 0.5


FITS: dict[str, Fit] = {
    "exponential.EXP": Fit(
        mp.exp, -HALF_LN2, HALF_LN2, {"f64": 11, "f32": 6}, fixed=(1.0, 1.0),
    ),
    "exponential.EXP2": Fit(
        lambda x: mpf(2) ** x, -0.5, 0.5, {"f64": 11, "f32": 6}, fixed=(1.0,),
    ),
    "logarithm.LOG": Fit(
        # log((1+s)/(1−s)) = 2s + s·z·P(z) with z = s²
        lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z,
        0.0, 0.02945, {"f64": 6, "f32": 2}, weight=lambda z: z,
    ),
    "trigonometric.SIN": Fit(
        # sin r = r + r·z·S(z) with z = r²
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        0.0, QUARTER_PI**2, {"f64": 6, "f32": 3},
        weight=lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
    ),
    "trigonometric.COS": Fit(
        # cos r = 1 + z·C(z) with z = r²
        lambda z: (mp.cos(mp.sqrt(z)) - 1) / z,
        0.0, QUARTER_PI**2, {"f64": 6, "f32": 3}, weight=lambda z: z, fixed=(-0.5,),
    ),
    "hyperbolic.SINH": Fit(
        # sinh x = x + x·z·S(z) with z = x²
        lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        0.0, 1.0, {"f64": 7, "f32": 3}, weight=lambda z: z,
    ),
    "hyperbolic.TANH": Fit(
        # tanh x = x + x·z·T(z) with z = x²
        lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        0.0, 0.3026, {"f64": 9, "f32": 3}, weight=lambda z: z,
    ),
    "inverse_trigonometric.ARCSIN": Fit(
        # arcsin s = s + s·z·A(z) with z = s²
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        0.0, 0.25, {"f64": 11, "f32": 4}, weight=lambda z: z,
    ),
    "inverse_trigonometric.ARCTAN": Fit(
        # arctan t = t + t·z·A(z) with z = t²
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        0.0, 1.0, {"f64": 19, "f32": 7}, weight=lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)),
    ),
    "roots.CBRT": Fit(mp.cbrt, 0.707, 1.415, {"f64": 6, "f32": 3}),
    "power.POW": Fit(
        # log2((1+s)/(1−s)) = s·(c₀ + c₁z + z²·Q(z)) with z = s²; c₀ and c₁ are known exactly
        lambda z: ((2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z - mpf(2) / 3) / z / mp.ln(2),
        0.0, 0.02945, {"f64": 7, "f32": 2}, weight=lambda z: z * z,
    ),
    "error_function.ERF": Fit(
        # erf x = 1 − e^(−x·q(x))
        lambda x: -mp.log(mp.erfc(x)) / x,
        1e-30, {"f64": 5.95, "f32": 3.95}, {"f64": 24, "f32": 10},
        weight=lambda x: x * mp.erfc(x) / mp.erf(x), twofold=True,
    ),
    "error_function.ERFC": Fit(
        # erfc x = e^(−x²)·h(t)/(1 + 2x) with t = (x − 2.5)/(x + 2.5)
        lambda t: (1 + 5 * (1 + t) / (1 - t)) * erfcx(2.5 * (1 + t) / (1 - t)),
        -1.0, {"f64": 0.8328, "f32": 0.604}, {"f64": 24, "f32": 10}, twofold=True,
    ),
    "gamma.DIGAMMA": Fit(
        # ψ(x) = (x − x₀)·P(x − 1.625) for 1 ≤ x ≤ 2.25, where ψ(x₀) = 0
        lambda s: mp.digamma(s + 1.625) / (s + 1.625 - digamma_root()),
        -0.625, 0.625, {"f64": 24, "f32": 10}, twofold=True,
    ),
    "gamma.DIGAMMA_FAR": Fit(
        # ψ(x) = log x − u·G(u) with u = 1/x, for x ≥ 2.25
        lambda u: (-mp.log(u) - mp.digamma(1 / u)) / u,
        1e-9, 0.4445, {"f64": 14, "f32": 5}, weight=lambda u: u / mp.digamma(1 / u),
    ),
    "gamma.LGAMMA": Fit(
        # log Γ(x) = (x − 1)·(x − 2)·R(x − 1.625) for 0.75 ≤ x ≤ 2.5, used from 1 on for x + 1 too
        lambda s: mp.loggamma(s + 1.625) / ((s + 0.625) * (s - 0.375)),
        -0.875, 0.875, {"f64": 30, "f32": 13}, twofold=True,
    ),
    "gamma.LGAMMA_FAR": Fit(
        # log Γ(x) = (x − ½)·(log x − 1) + ½·log 2π − ½ + u·S(u²) with u = 1/x, for x ≥ 8
        lambda v: stirling_rest(1 / mp.sqrt(v)) / mp.sqrt(v),
        1e-12, 1 / 64, {"f64": 6, "f32": 2},
        weight=lambda v: mp.sqrt(v) / mp.loggamma(1 / mp.sqrt(v)),
    ),
}  # fmt: skip

SOURCE = Path(__file__).parents[3] / "src" / "chainrule" / "lower" / "maths"


def main(arguments: list[str], write: Callable[[str], object] = sys.stdout.write) -> None:
    """Print the polynomials named, or all; `--update` writes them into the source."""
    wanted = [argument for argument in arguments if argument != "--update"]
    for name, fit in FITS.items():
        if wanted and not any(part in name for part in wanted):
            continue
        rows = ""
        for dtype in fit.degree:
            numbers, error = fit.coefficients(dtype)
            rows += f'    "{dtype}": {numbers},  # {error:.1e}\n'
        write(f"{name}\n{rows}")
        if "--update" in arguments:
            _update(*name.split("."), rows)


def _update(file: str, name: str, rows: str) -> None:
    path = SOURCE / f"{file}.py"
    old = path.read_text(encoding="utf-8")
    rows = "".join(_row(row.split("  #")[0].strip()) + "\n" for row in rows.splitlines())
    new = re.sub(
        rf"^{name} = {{\n.*?^}}.*?$", f"{name} = {{\n{rows}}}  # fmt: skip", old, flags=re.M | re.S
    )
    path.write_text(new, encoding="utf-8")


def _row(text: str) -> str:
    return textwrap.fill(text, 96, initial_indent="    ", subsequent_indent=" " * 12)


if __name__ == "__main__":
    main(sys.argv[1:])
