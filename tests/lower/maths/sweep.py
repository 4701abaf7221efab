"""The largest error of each function on many points; `python -m tests.lower.maths.sweep`.

Every point is compared with a wider format (64 binary digits on x86, or float64 for float32);
the worst are then computed with 200 digits, and those errors count. Where there is no wider format,
fewer points are computed with 200 digits. Writes `benchmarks/results/maths_ulp.json` and `.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import scipy.special

from chainrule.lower.maths import FUNCTIONS
from tests.lower.maths.machine import DTYPES, kernel
from tests.lower.maths.points import points
from tests.lower.maths.reference import LEAST, MANTISSA, errors_in_ulp

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"
CHUNK = 250_000
CONFIRMED = 64
# So many times fewer points where each is computed with 200 digits.
FEWER = 50
# Functions that NumPy does not have, so that there is no wider format than float64.
SPECIAL = {
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "lgamma": scipy.special.gammaln,
    "digamma": scipy.special.psi,
}


@dataclass(frozen=True)
class Row:
    """The worst point of one function in one format."""

    function: str
    dtype: str
    points: int
    ulp: float
    arguments: list[float]
    result: float


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def wider(name: str, dtype: str) -> tuple[Callable[..., np.ndarray], np.dtype] | None:
    """The function in a format with more digits, if there is one."""
    if dtype == "f64" and (name in SPECIAL or np.finfo(np.longdouble).nmant < 60):
        return None
    own = {"pow": np.power, "sigmoid": _sigmoid, "softplus": _softplus}
    function = (own | SPECIAL).get(name) or getattr(np, name)
    return function, np.dtype(np.longdouble if dtype == "f64" else np.float64)


def screened(name: str, dtype: str, arguments: list[np.ndarray], results: np.ndarray) -> np.ndarray:
    """Errors in ulp against the wider format; infinite where NaN or infinity is missed."""
    found = wider(name, dtype)
    if found is None:
        return errors_in_ulp(name, dtype, arguments, results)
    function, wide = found
    with np.errstate(all="ignore"):
        value = function(*(a.astype(wide) for a in arguments))
        rounded = value.astype(DTYPES[dtype])
        exponent = np.maximum(np.frexp(value)[1].astype(np.int64) - 1, LEAST[dtype])
        unit = np.ldexp(np.ones_like(value), exponent - MANTISSA[dtype])
        errors = np.abs(results.astype(wide) - value) / unit
        same = (rounded == results) | (np.isnan(rounded) & np.isnan(results))
    exact = ~np.isfinite(rounded) | ~np.isfinite(results)
    return np.where(exact, np.where(same, 0.0, np.inf), errors).astype(np.float64)


def worst(name: str, dtype: str, count: int) -> Row:
    """The worst of `count` points, confirmed with 200 digits."""
    if wider(name, dtype) is None:
        count //= FEWER
    run = kernel(name, dtype)
    candidates: list[tuple[float, tuple[float, ...], float]] = []
    seen, seed = 0, 0
    while seen < count:
        arguments = points(name, dtype, min(CHUNK, count), seed)
        results = run(*arguments)
        errors = screened(name, dtype, arguments, results)
        for i in np.argsort(errors)[-CONFIRMED:]:
            candidates.append((errors[i], tuple(float(a[i]) for a in arguments), float(results[i])))
        candidates = sorted(candidates)[-CONFIRMED:]
        seen += results.size
        seed += 1
    columns = [np.array(c) for c in zip(*(place for _, place, _ in candidates), strict=True)]
    confirmed = errors_in_ulp(name, dtype, columns, np.array([r for *_, r in candidates]))
    i = int(confirmed.argmax())
    _, place, result = candidates[i]
    return Row(name, dtype, seen, round(float(confirmed[i]), 4), list(place), result)


def table(rows: list[Row]) -> str:
    lines = [
        "# Largest errors of the compiled mathematical functions",
        "",
        "Made by `python -m tests.lower.maths.sweep`: every magnitude, the usual range, and close",
        "to where a function is difficult. An error is in units of the last digit of the exact",
        "value, and 0.5 is the best there is. The bound is the one that the function states and",
        "its tests hold.",
        "",
        "| function | bound | float64 | at | float32 | at |",
        "| --- | ---: | ---: | --- | ---: | --- |",
    ]
    for name, function in FUNCTIONS.items():
        cells = [name, f"{function.ulp:g}"]
        for dtype in DTYPES:
            for row in rows:
                if (row.function, row.dtype) == (name, dtype):
                    where = ", ".join(f"{a:.9g}" for a in row.arguments)
                    cells += [f"{row.ulp:.3f}", where]
        lines.append(f"| {' | '.join(cells)} |")
    counts = sorted({row.points for row in rows})
    return "\n".join([*lines, "", f"Points for each: {counts[0]:,} to {counts[-1]:,}.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000, help="points for each function")
    parser.add_argument("--only", nargs="*", help="these functions, and write nothing")
    options = parser.parse_args()
    rows = []
    for name in options.only or FUNCTIONS:
        for dtype in DTYPES:
            rows.append(worst(name, dtype, options.count))
            row = rows[-1]
            sys.stdout.write(
                f"{name:10}{dtype} {row.ulp:8.4f} at {row.arguments} ({row.points:,})\n"
            )
            sys.stdout.flush()
    if not options.only:
        text = json.dumps({"count": options.count, "rows": [asdict(row) for row in rows]}, indent=1)
        (RESULTS / "maths_ulp.json").write_text(text + "\n", encoding="utf-8")
        (RESULTS / "maths_ulp.md").write_text(table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
