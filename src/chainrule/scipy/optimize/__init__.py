"""scipy.optimize on Variables: SciPy's solvers run on plain numbers, and results differentiate."""

from __future__ import annotations

from typing import Any

from scipy import optimize as _scipy

from chainrule.scipy.optimize.fitting import curve_fit, least_squares
from chainrule.scipy.optimize.functions import without_derivative as _without_derivative
from chainrule.scipy.optimize.linear import linprog
from chainrule.scipy.optimize.minimum import minimize, minimize_scalar
from chainrule.scipy.optimize.roots import (
    bisect,
    brenth,
    brentq,
    fixed_point,
    fsolve,
    newton,
    ridder,
    root,
    root_scalar,
    toms748,
)

__all__ = [
    "bisect", "brenth", "brentq", "curve_fit", "fixed_point", "fsolve", "least_squares", "linprog",
    "minimize", "minimize_scalar", "newton", "ridder", "root", "root_scalar", "toms748",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The rest of scipy.optimize, which refuses Variables: classes, other solvers."""
    return _without_derivative(_scipy, name, __all__)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_scipy)})
