"""scipy.integrate on Variables: differential equations, integrals, and rules on samples."""

from __future__ import annotations

from typing import Any

from scipy import integrate as _scipy

from chainrule.scipy.integrate.problems import odeint, solve_ivp
from chainrule.scipy.integrate.quadrature import quad
from chainrule.scipy.integrate.samples import cumulative_trapezoid, simpson, trapezoid
from chainrule.scipy.optimize.functions import without_derivative as _without_derivative

__all__ = ["cumulative_trapezoid", "odeint", "quad", "simpson", "solve_ivp", "trapezoid"]


def __getattr__(name: str) -> Any:
    """The rest of scipy.integrate, which refuses Variables."""
    return _without_derivative(_scipy, name, __all__)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_scipy)})
