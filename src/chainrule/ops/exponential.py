"""Exponentials and logarithms, and the functions of logistic regression built from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.cure import Cure
from chainrule.core.op import Op, Sample, sample
from chainrule.errors import DTypeError
from chainrule.ops.cures import EXP_OVERFLOW, PROBABILITY_EDGE
from chainrule.ops.define import composite, elementwise
from chainrule.ops.factors import is_recorded, where_alive
from chainrule.ops.samples import (
    draw,
    holomorphic,
    pairs,
    pairs_within,
    point_pairs,
    points,
    reals,
    within,
)
from chainrule.ops.special import scipy_special

LN_2 = 0.6931471805599453
LN_10 = 2.302585092994046

positives = within(0.2, 3.0, complex_too=True)
above_minus_one = within(-0.7, 3.0, complex_too=True)


def _complex_pair() -> list[Sample]:
    return [sample(np.ones(2) * 1j, np.ones(2))]


def _with_constants(samples: Any) -> Any:
    """The samples, and float32 arrays beside Python numbers, which must not widen them."""
    narrow = np.float32
    return lambda: [
        *samples(),
        sample(draw((3,), 0.3, 1).astype(narrow), 0.5),
        sample(0.5, draw((3,), 0.3, 1).astype(narrow)),
    ]


def _unequal_shapes() -> list[Sample]:
    return [sample(np.ones(2), np.ones(3))]


EXP_CURES = (
    Cure("a softmax without a shift",
         "exp overflows beyond 709, and inf / inf is NaN",
         "cr.softmax(x) subtracts the maximum first (cr.log_softmax for its logarithm)",
         lambda c: c.overflows and {"sum", "divide"} <= c.through),
    Cure("a log of a sum of exponentials",
         "exp overflows beyond 709",
         "cr.logsumexp(x), or np.logaddexp(a, b) for two terms",
         lambda c: c.overflows and {"sum", "log"} <= c.through),
    Cure("a softplus by hand",
         "exp overflows beyond 709 although log(1 + exp(x)) does not",
         "cr.softplus(x), or np.logaddexp(0, x)",
         lambda c: c.overflows and c.through & {"log", "log1p"}),
    Cure("a sigmoid by hand",
         "exp overflows beyond 709, and its derivative is inf × 0",
         "cr.expit(x)",
         lambda c: c.overflows and "add" in c.through
         and c.through & {"divide", "reciprocal", "power"}),
)  # fmt: skip


PRODUCTS = {"multiply", "matmul", "einsum_pair"}


def _at_pole(case: Any) -> bool:
    return case.x == (-1 if case.op == "log1p" else 0)


LOG_CURES = (
    Cure("the log of a softmax",
         "a probability underflowed to 0",
         "cr.log_softmax(x) computes the logarithm without the probability",
         lambda c: _at_pole(c)
         and ("softmax" in c.above(0) or {"divide", "sum"} <= c.above(0))),
    Cure("the log of a density",
         "exp underflowed to 0 before its logarithm was taken",
         "write the logarithm itself: of exp(a) / s it is a - np.log(s)",
         lambda c: _at_pole(c) and "exp" in c.above(0)),
    Cure("the log of a sigmoid",
         "a probability underflowed to 0",
         "cr.log_expit(x) computes the logarithm without the probability; log(1 - p) is "
         "cr.log_expit(-x)",
         lambda c: _at_pole(c) and "expit" in c.above(0)),
    Cure("x log x at 0",
         "0 × log 0 is NaN, and the derivative of x log x at 0 is infinite",
         "select around the product: np.where(x > 0, x * np.log(x), 0) has the gradient 0 there",
         lambda c: _at_pole(c) and c.meets_zero(PRODUCTS) and c.weighted_by_input(PRODUCTS)),
    Cure("0 × log 0",
         "0 × inf is NaN",
         "cr.xlogy(w, x) is 0 where w is 0, with a gradient of 0",
         lambda c: _at_pole(c) and c.meets_zero(PRODUCTS)),
    Cure("the log of zero",
         "log 0 is -inf, with the derivative 1/0",
         "work with logarithms of densities (np.logaddexp, cr.logsumexp), leave the zeros out "
         "(np.where(x > 0, np.log(x), 0)), or weight them by 0 with cr.xlogy(w, x)",
         _at_pole),
    Cure("the log of a negative number",
         "the logarithm of a negative number is not real",
         "keep the argument positive, as np.exp(raw) or cr.softplus(raw), or leave it out: "
         "np.where(x > 0, np.log(x), 0)",
         lambda c: c.x < (-1 if c.op == "log1p" else 0)),
)  # fmt: skip

exp = elementwise(
    "exp",
    np.exp,
    ("out",),
    samples=holomorphic,
    edges=points(-800.0, 0.0, 700.0),
    cure=(*EXP_CURES, EXP_OVERFLOW),
)
exp2 = elementwise(
    "exp2",
    np.exp2,
    (lambda out: out * LN_2,),
    samples=holomorphic,
    edges=points(-1100.0, 1000.0),
    cure=(EXP_OVERFLOW,),
)
# exp(x), not out + 1: at x = -40 the result is -1 to the last bit and its slope would be 0.
expm1 = elementwise(
    "expm1",
    np.expm1,
    (lambda x: np.exp(x),),
    samples=holomorphic,
    edges=points(-800.0, 0.0, 1e-300),
    cure=(EXP_OVERFLOW,),
)
log = elementwise(
    "log", np.log, ("1 / x",), samples=positives, edges=points(1e-300, 1e300), cure=LOG_CURES
)
log2 = elementwise(
    "log2",
    np.log2,
    (lambda x: (1 / LN_2) / x,),
    samples=positives,
    edges=points(1e-300, 1e300),
    cure=LOG_CURES,
)
log10 = elementwise(
    "log10",
    np.log10,
    (lambda x: (1 / LN_10) / x,),
    samples=positives,
    edges=points(1e-300, 1e300),
    cure=LOG_CURES,
)
log1p = elementwise(
    "log1p",
    np.log1p,
    (lambda x: 1 / (1 + x),),
    samples=above_minus_one,
    edges=points(0.0, 1e-300, -0.999),
    cure=LOG_CURES,
)


# -- the logistic function -------------------------------------------------------------------------


def _expit(x: Any) -> Any:
    """1 / (1 + exp(-x)), by the exponential that cannot overflow."""
    if np.iscomplexobj(x):
        raise DTypeError("expit takes real numbers; for complex ones write 1 / (1 + np.exp(-z))")
    small = np.exp(-np.abs(x))
    return np.where(np.greater_equal(x, 0), 1.0, small) / (1 + small)


far = points(-800.0, -40.0, 0.0, 40.0, 800.0)


def _expit_slope(x: Any) -> Any:
    """e / (1 + e)² with e = exp(-|x|), which cannot overflow."""
    small = np.exp(-np.abs(x))
    return small / np.square(1 + small)


def _expit_slope_lowered(b: Any, x: Any) -> Any:
    (x,) = b.floats(x)
    e = b.maths("exp", b.map("negative", b.map("absolute", x)))
    return b.map("divide", e, b.map("square", b.map("add", b.constant(1, x.dtype), e)))


# The slope of expit is an op of its own: out·expit(-x), differentiated as it stands, is flat at 0.
expit_slope: Op = elementwise(
    "expit_slope",
    _expit_slope,
    (lambda x, out: -np.tanh(0.5 * x) * out,),
    samples=reals,
    edges=far,
    doc="expit(x)·expit(-x), the derivative of expit.",
    lower=_expit_slope_lowered,
)
expit: Op = elementwise(
    "expit",
    _expit,
    # 1 - out would be 0 from x = 37 on
    (lambda x, out: expit_slope(x) if is_recorded(x) else out * expit(-x),),
    samples=reals,
    edges=far,
    bad=lambda: [sample(np.ones(2) * 1j)],
    doc="The logistic function 1 / (1 + exp(-x)), as scipy.special.expit.",
)
sigmoid = composite(
    "sigmoid",
    lambda x: expit(x),
    samples=reals,
    edges=far,
    bad=lambda: [sample(np.ones(2) * 1j)],
    doc="Another name of expit, recorded as that.",
    picked=True,
)


def _logit_lowered(b: Any, x: Any) -> Any:
    """log(x/(1 − x)); around ½ by log1p of ±(2x − 1), which keeps the digits of a small result."""
    (x,) = b.floats(x)
    one = b.constant(1, x.dtype)
    twice = b.map("subtract", b.map("add", x, x), one)
    near = b.map("less", b.map("absolute", twice), b.constant(0.3, x.dtype))
    back = b.maths("log1p", b.map("negative", twice))
    small = b.map("subtract", b.maths("log1p", twice), back)
    far = b.maths("log", b.map("divide", x, b.map("subtract", one, x)))
    return b.map("where", near, small, far)


def _logit_slope_lowered(b: Any, x: Any) -> Any:
    (x,) = b.floats(x)
    one = b.constant(1, x.dtype)
    return b.map("divide", one, b.map("multiply", x, b.map("subtract", one, x)))


logit_slope = elementwise(
    "logit_slope",
    lambda x: 1 / (x * (1 - x)),
    (lambda x, out: (2 * (x - 0.5) * out) * out,),
    samples=within(0.1, 0.9),
    edges=points(1e-100, 0.5, 1 - 1e-16),
    doc="1 / (x·(1 - x)), the derivative of logit.",
    lower=_logit_slope_lowered,
)
logit = elementwise(
    "logit",
    scipy_special("logit"),
    (lambda x: logit_slope(x),),
    samples=within(0.1, 0.9),
    edges=points(1e-300, 0.5, 1 - 1e-16),
    doc="log(x / (1 - x)), the inverse of expit.",
    cure=(PROBABILITY_EDGE,),
    lower=_logit_lowered,
)
log_expit = elementwise(
    "log_expit",
    lambda x: -np.logaddexp(0.0, -x),
    (lambda x: expit(-x),),
    samples=reals,
    edges=far,
    doc="log(expit(x)) without underflow.",
    lower=lambda b, x: b.map("negative", b.maths("softplus", b.map("negative", *b.floats(x)))),
)
softplus = elementwise(
    "softplus",
    lambda x: np.logaddexp(x, 0.0),
    (lambda x: expit(x),),
    samples=reals,
    edges=far,
    bad=lambda: [sample(np.ones(2) * 1j)],
    doc="log(1 + exp(x)) without overflow.",
)


# -- sums and products with a logarithm ------------------------------------------------------------


def _lead(x: Any, y: Any) -> Any:
    """x - y, and 0 where both are the same infinity: neither is ahead."""
    return np.where(np.logical_and(np.equal(x, y), np.isinf(x)), 0.0, x - y)


infinite_ties = point_pairs(
    (-np.inf, -np.inf), (np.inf, np.inf), (np.inf, 1.0), (0.0, -np.inf), (-800.0, 800.0)
)


def _added(b: Any, x: Any, y: Any, power: str, log_base: float) -> Any:
    """max + log(1 + base^-|x - y|); where both are the same, infinities too, x + log 2."""
    x, y = b.floats(x, y)
    apart = b.map("negative", b.map("absolute", b.map("subtract", x, y)))
    more = b.maths("log1p", b.maths(power, apart))
    if log_base != 1:
        more = b.map("multiply", more, b.constant(1 / log_base, x.dtype))
    twice = b.map("add", x, b.constant(LN_2 / log_base, x.dtype))
    total = b.map("add", b.map("maximum", x, y), more)
    return b.map("where", b.map("equal", x, y), twice, total)


logaddexp = elementwise(
    "logaddexp",
    np.logaddexp,
    (lambda x, y: expit(_lead(x, y)), lambda x, y: expit(_lead(y, x))),
    samples=_with_constants(pairs),
    edges=infinite_ties,
    bad=lambda: [*_unequal_shapes(), *_complex_pair()],
    doc="log(exp(x) + exp(y)); its derivatives are the shares of the two terms.",
    lower=lambda b, x, y: _added(b, x, y, "exp", 1.0),
)
logaddexp2 = elementwise(
    "logaddexp2",
    np.logaddexp2,
    (lambda x, y: expit(LN_2 * _lead(x, y)), lambda x, y: expit(LN_2 * _lead(y, x))),
    samples=_with_constants(pairs),
    edges=infinite_ties,
    bad=_unequal_shapes,
    lower=lambda b, x, y: _added(b, x, y, "exp2", LN_2),
)


def _in_use(x: Any, y: Any, harmless: int) -> Any:
    """y, with something harmless in its place where x = 0, unless y is NaN."""
    idle = np.logical_and(np.equal(x, 0), ~np.isnan(y))
    return np.where(idle, harmless, y).astype(np.result_type(x, y), copy=False)


def _typed(y: Any, x_spec: Any) -> Any:
    """y; a Python number in the type of x, since np.log would make a float64 of it."""
    return y if hasattr(y, "dtype") else np.asarray(y, x_spec.dtype)


def _xlogy(x: Any, y: Any) -> Any:
    """x·log(y), and 0 where x = 0."""
    return x * np.log(_in_use(x, y, 1))


def _xlog1py(x: Any, y: Any) -> Any:
    """x·log1p(y), and 0 where x = 0."""
    return x * np.log1p(_in_use(x, y, 0))


def _weighted_log(b: Any, x: Any, y: Any, log: str, harmless: int) -> Any:
    """x·log(y), and 0 where x = 0, unless y is NaN."""
    x, y = b.floats(x, y)
    zero = b.map("equal", x, b.constant(0, x.dtype))
    idle = b.map("logical_and", zero, b.map("logical_not", b.map("isnan", y)))
    return b.map(
        "multiply", x, b.maths(log, b.map("where", idle, b.constant(harmless, x.dtype), y))
    )


def _ratio(x: Any, y: Any) -> Any:
    """x / y, structurally zero where both are 0 (where only x is, 1 / y is still its slope)."""
    dead = np.logical_and(np.equal(x, 0), np.equal(y, 0))
    return where_alive(np.where(dead, 0, x / np.where(dead, 1, y)), np.logical_not(dead))


def _zero_weight(y: float) -> Any:
    """Lanes in which a constant weight 0 meets the edge of the logarithm's domain."""
    return lambda: [
        sample(np.array([0, 0, 2]), np.array([y, 0.5, 0.7])),
        sample(0.0, np.float64(y)),
    ]


xlogy = elementwise(
    "xlogy",
    _xlogy,
    (lambda y, x_spec: np.log(_typed(y, x_spec)), _ratio),
    samples=_with_constants(pairs_within((-2.0, 2.0), (0.3, 2.0), complex_too=True)),
    edges=_zero_weight(0.0),
    bad=_unequal_shapes,
    doc="x·log(y), 0 where x = 0; there its derivative by y is 0, and by x it is log(y).",
    lower=lambda b, x, y: _weighted_log(b, x, y, "log", 1),
)
xlog1py = elementwise(
    "xlog1py",
    _xlog1py,
    (lambda y, x_spec: np.log1p(_typed(y, x_spec)), lambda x, y: _ratio(x, 1 + y)),
    samples=_with_constants(pairs_within((-2.0, 2.0), (-0.6, 2.0), complex_too=True)),
    edges=_zero_weight(-1.0),
    bad=_unequal_shapes,
    doc="x·log1p(y), 0 where x = 0.",
    lower=lambda b, x, y: _weighted_log(b, x, y, "log1p", 0),
)
