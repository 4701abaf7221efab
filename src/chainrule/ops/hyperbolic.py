"""Hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.cure import Cure
from chainrule.core.op import Partials
from chainrule.core.spec import Spec
from chainrule.ops.cures import DOMAIN_EDGE, EXP_OVERFLOW
from chainrule.ops.define import elementwise, rules
from chainrule.ops.factors import is_recorded
from chainrule.ops.samples import holomorphic, points, within


def _sech_squared(x: Any) -> Any:
    """1 / cosh(x)²; of a complex number by the exponential that cannot overflow."""
    if np.iscomplexobj(x):
        small = np.exp(2 * np.where(np.less(np.real(x), 0), x, -x))
        return 4 * small / np.square(1 + small)
    with np.errstate(over="ignore"):  # where cosh overflows, its inverse squared underflows
        return _inverse_cosh_squared(x)


def _inverse_cosh_squared(x: Any) -> Any:
    inverse = 1 / np.cosh(x)
    return inverse * inverse


def _slope_of_tanh(x: Any) -> Any:
    """A hot rule: on plain real arrays the bare formula."""
    plain = isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "f"
    return _inverse_cosh_squared(x) if plain else sech_squared(x)


far = points(-800.0, -20.0, 0.0, 20.0, 800.0)
near_one = within(-0.8, 0.8, complex_too=True)


def _sech_squared_lowered(b: Any, x: Any) -> Any:
    """4 e / (1 + e)² with e = e^(-2|x|)."""
    one, two, four = (b.constant(n, x.dtype) for n in (1, 2, 4))
    e = b.maths("exp", b.map("negative", b.map("multiply", two, b.map("absolute", x))))
    return b.map("divide", b.map("multiply", four, e), b.map("square", b.map("add", one, e)))


# The slope of tanh is an op of its own: 1 - out² is 0 from x = 19 on, where the slope is 1e-16.
sech_squared = elementwise(
    "sech_squared",
    _sech_squared,
    (lambda x, out: -2 * np.tanh(x) * out,),
    samples=holomorphic,
    edges=far,
    doc="1 / cosh(x)², the derivative of tanh.",
    lower=_sech_squared_lowered,
)
sinh = elementwise(
    "sinh",
    np.sinh,
    (lambda x: np.cosh(x),),
    samples=holomorphic,
    edges=points(-700.0, 0.0, 700.0),
    cure=(EXP_OVERFLOW,),
)
cosh = elementwise(
    "cosh",
    np.cosh,
    (lambda x: np.sinh(x),),
    samples=holomorphic,
    edges=points(-700.0, 0.0, 700.0),
    cure=(EXP_OVERFLOW,),
)
tanh = elementwise("tanh", np.tanh, (_slope_of_tanh,), samples=holomorphic, edges=far)


def _arcsinh_slope(x: Any) -> Any:
    """1 / √(1 + x²), without squaring."""
    if x.dtype.kind == "c":
        return 1 / (np.sqrt(1 + 1j * x) * np.sqrt(1 - 1j * x))
    return 1 / np.hypot(1.0, x)


# An op of its own: 1 - x·x would lose the digits of 1 - x next to 1, and differentiated as it
# stands, (1 - x)(1 + x) has the slope (1 - x) - (1 + x), which is 0 from x = 1e-16 down.
one_minus_square = elementwise(
    "one_minus_square",
    lambda x: (1 - x) * (1 + x),
    (lambda x: -2 * x,),
    samples=holomorphic,
    edges=points(0.0, 1e-20, 1.0, -1 + 1e-15),
    doc="1 - x², to full precision next to 1 too.",
    lower=lambda b, x: b.map(
        "multiply",
        b.map("subtract", b.constant(1, x.dtype), x),
        b.map("add", b.constant(1, x.dtype), x),
    ),
)


def _arctanh_slope(x: Any) -> Any:
    """1 / (1 - x²)."""
    return 1 / (one_minus_square(x) if is_recorded(x) else (1 - x) * (1 + x))


arcsinh = elementwise(
    "arcsinh", np.arcsinh, (_arcsinh_slope,), samples=holomorphic, edges=points(-1e200, 0.0, 1e200)
)
arccosh = elementwise(
    "arccosh",
    np.arccosh,
    (lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),),
    samples=within(1.3, 3.0, complex_too=True),
    edges=points(1 + 1e-15, 1e200),
    cure=(
        Cure(
            "arccosh below 1",
            "arccosh has no value below 1 and an infinite derivative at 1",
            "np.where(x > 1, np.arccosh(np.maximum(x, 1)), 0)",
            lambda c: c.x <= 1,
        ),
    ),
)
arctanh = rules(  # elementwise, but its spec cannot be tried on ones, where the value is infinite
    "arctanh",
    np.arctanh,
    derivative=Partials((_arctanh_slope,)),
    spec=lambda x: Spec(x.shape, np.arctanh(np.zeros((), x.dtype)).dtype),
    numpy=(np.arctanh,),
    samples=near_one,
    edges=points(0.0, 1 - 1e-15),
    lower=lambda b, x: b.maths("arctanh", *b.floats(x)),
    cure=(DOMAIN_EDGE,),
)
