"""How SciPy's special functions become ops: SciPy on first call, kernels in double, refusals."""

from __future__ import annotations

from functools import wraps
from typing import Any, NoReturn

import numpy as np

from chainrule.core.op import Function
from chainrule.errors import DerivativeError


def scipy_special(name: str) -> Function:
    """`scipy.special.<name>`, which is looked up (and SciPy loaded) when it is first called."""
    found: Any = None

    def call(*args: Any, **options: Any) -> Any:
        nonlocal found
        if found is None:
            import scipy.special

            found = getattr(scipy.special, name)
        return found(*args, **options)

    call.__name__ = name
    return call


def in_double(kernel: Function) -> Function:
    """A kernel that computes in double precision, silently, and answers in its inputs' precision.

    Its inputs are its positional arguments; a Python number does not widen the result.
    """

    @wraps(kernel)
    def forward(*inputs: Any, **attrs: Any) -> Any:
        wide = [np.asarray(x, np.result_type(x, np.float64)) for x in inputs]
        with np.errstate(all="ignore"):
            out = kernel(*wide, **attrs)
        return np.asarray(out).astype(np.result_type(*inputs, 1.0))[()]

    return forward


def refused(op: str, parameter: str, reason: str) -> Function:
    """The partial derivative of an input for which there is none: it raises, naming the reason."""

    def partial() -> NoReturn:
        raise DerivativeError(
            f"{op} has no derivative with respect to {parameter}: {reason}.\n"
            f"  pass {parameter} as a plain number or array (`.value` of a Variable) to\n"
            "  differentiate with respect to the rest."
        )

    return partial


def polynomial(coefficients: list[float], x: Any) -> Any:
    """c₀ + c₁x + c₂x² + …, by Horner's rule."""
    total = coefficients[-1] + 0 * x
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total
