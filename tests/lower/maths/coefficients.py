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
from pathlib import Path

from mpmath import mp, mpf

from tests.lower.maths.minimax import Function, polynomial


@dataclass(frozen=True)
class Fit:
    """A polynomial near `function` on the interval, per dtype its degree; error × weight counts."""

    function: Function
    low: float
    high: float
    degree: dict[str, int]
    weight: Function | None = None
    fixed: tuple[float, ...] = ()

    def coefficients(self, dtype: str) -> tuple[tuple[float, ...], float]:
        return polynomial(
            self.function, self.low, self.high, self.degree[dtype], dtype, self.weight, self.fixed
        )


HALF_LN2 = 0.34665  # ln 2 / 2 and a little, since k is the nearest whole number only about
QUARTER_PI = 0.787

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
