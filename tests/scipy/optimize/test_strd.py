"""The 27 nonlinear fits of NIST's Statistical Reference Datasets (`strd/`), to 9 certified digits.

https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml, in the public domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.scipy.optimize import curve_fit

FOLDER = Path(__file__).with_name("strd")


@dataclass(frozen=True)
class DataSet:
    start: np.ndarray  # the second, which is nearer
    certified: np.ndarray
    deviations: np.ndarray
    y: np.ndarray
    x: np.ndarray


def read(name: str) -> DataSet:
    lines = (FOLDER / f"{name}.dat").read_text(encoding="ascii").splitlines()
    rows = [line.split("=")[1].split() for line in lines if line.strip().startswith("b") and
            "=" in line and len(line.split("=")[1].split()) == 4]  # fmt: skip
    table = np.array(rows, float)
    begin = max(i for i, line in enumerate(lines) if line.startswith("Data:")) + 1
    data = np.array([line.split() for line in lines[begin:] if line.strip()], float)
    x = data[:, 1] if data.shape[1] == 2 else data[:, 1:].T
    return DataSet(table[:, 1], table[:, 2], table[:, 3], data[:, 0], x)


def gauss(x, a, b, c, d, e, f, g, h):
    peaks = c * np.exp(-((x - d) ** 2) / e**2) + f * np.exp(-((x - g) ** 2) / h**2)
    return a * np.exp(-b * x) + peaks


def enso(x, a, b, c, d, e, f, g, h, i):
    year, second, third = 2 * np.pi * x / 12, 2 * np.pi * x / d, 2 * np.pi * x / g
    waves = b * np.cos(year) + c * np.sin(year) + e * np.cos(second) + f * np.sin(second)
    return a + waves + h * np.cos(third) + i * np.sin(third)


def lanczos(x, a, b, c, d, e, f):
    return a * np.exp(-b * x) + c * np.exp(-d * x) + e * np.exp(-f * x)


def chwirut(x, a, b, c):
    return np.exp(-a * x) / (b + c * x)


def saturation(x, a, b):
    return a * (1 - np.exp(-b * x))


def cubics(x, a, b, c, d, e, f, g):
    return (a + b * x + c * x**2 + d * x**3) / (1 + e * x + f * x**2 + g * x**3)


MODELS = {
    "Bennett5": lambda x, a, b, c: a * (b + x) ** (-1 / c),
    "BoxBOD": saturation,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": lambda x, a, b: a * x**b,
    "ENSO": enso,
    "Eckerle4": lambda x, a, b, c: a / b * np.exp(-0.5 * ((x - c) / b) ** 2),
    "Gauss1": gauss,
    "Gauss2": gauss,
    "Gauss3": gauss,
    "Hahn1": cubics,
    "Kirby2": lambda x, a, b, c, d, e: (a + b * x + c * x**2) / (1 + d * x + e * x**2),
    "Lanczos1": lanczos,
    "Lanczos2": lanczos,
    "Lanczos3": lanczos,
    "MGH09": lambda x, a, b, c, d: a * (x**2 + x * b) / (x**2 + x * c + d),
    "MGH10": lambda x, a, b, c: a * np.exp(b / (x + c)),
    "MGH17": lambda x, a, b, c, d, e: a + b * np.exp(-x * d) + c * np.exp(-x * e),
    "Misra1a": saturation,
    "Misra1b": lambda x, a, b: a * (1 - (1 + b * x / 2) ** -2.0),
    "Misra1c": lambda x, a, b: a * (1 - (1 + 2 * b * x) ** -0.5),
    "Misra1d": lambda x, a, b: a * b * x / (1 + b * x),
    "Nelson": lambda x, a, b, c: a - b * x[0] * np.exp(-c * x[1]),
    "Rat42": lambda x, a, b, c: a / (1 + np.exp(b - c * x)),
    "Rat43": lambda x, a, b, c, d: a / (1 + np.exp(b - c * x)) ** (1 / d),
    "Roszman1": lambda x, a, b, c, d: a - b * x - np.arctan(c / (x - d)) / np.pi,
    "Thurber": cubics,
}


def test_every_data_set_has_its_model() -> None:
    assert sorted(MODELS) == sorted(path.stem for path in FOLDER.glob("*.dat"))
    assert len(MODELS) == 27


def digits(found, certified) -> float:
    """How many decimal digits agree in the worst of the numbers."""
    off = np.max(np.abs(found - certified) / np.abs(certified))
    return float(-np.log10(max(off, 1e-16)))


@pytest.mark.parametrize("name", MODELS)
def test_certified_digits(name: str) -> None:
    """From start 2: 9 digits where the data are a Variable, so that Newton's method goes on.

    On plain numbers the fit is SciPy's own, which ends once the sum of squares falls no more.
    """
    data = read(name)
    y = np.log(data.y) if name == "Nelson" else data.y
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "maxfev": 20_000}
    popt, pcov = curve_fit(MODELS[name], data.x, y, p0=data.start, **tight)
    errors = np.sqrt(np.diag(pcov))
    # Lanczos1 is exact to 14 digits: what is left of it is rounding.
    exact = name == "Lanczos1"
    assert digits(popt, data.certified) > 6
    assert digits(errors, data.deviations) > (1 if exact else 5)
    recorded, spread = curve_fit(MODELS[name], data.x, cr.variable(y), p0=data.start, **tight)
    assert digits(recorded.value, data.certified) > 9
    assert digits(np.sqrt(np.diag(spread.value)), data.deviations) > (1 if exact else 6)
