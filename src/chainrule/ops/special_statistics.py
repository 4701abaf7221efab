"""Entropies, robust losses and power transforms, as scipy.special has them."""

from __future__ import annotations

from math import factorial, log
from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Op, sample
from chainrule.ops.define import elementwise
from chainrule.ops.factors import is_recorded
from chainrule.ops.samples import draw, of_orders, pairs_within, point_pairs, points, positives
from chainrule.ops.special import in_double, polynomial, scipy_special
from chainrule.ops.special_integrals import exprel_derivative
from chainrule.ops.trigonometric import direction

LEAST_RATIO = 1e-300  # below it x/y begins to lose digits
positive_pairs = pairs_within((0.2, 3.0), (0.2, 3.0))

# ---- entropies ----------------------------------------------------------------------------------


def _entr_lowered(b: Any, x: Any) -> Any:
    (x,) = b.floats(x)
    zero = b.constant(0, x.dtype)
    inside = b.map("negative", b.map("multiply", x, b.maths("log", x)))
    outside = b.map("where", b.map("equal", x, zero), zero, b.constant(-np.inf, x.dtype))
    outside = b.map("where", b.map("isnan", x), x, outside)
    return b.map("where", b.map("greater", x, zero), inside, outside)


entr = elementwise(
    "entr",
    scipy_special("entr"),
    (lambda x: -np.log(x) - 1,),
    samples=positives,
    edges=points(1e-300, 1.0, 1e300),
    doc="−x log x, 0 at 0, where its slope is infinite.",
    lower=_entr_lowered,
)


def _close(x: Any, y: Any) -> Any:
    """Where x − y is exact."""
    return np.abs(plain(x) - plain(y)) < 0.5 * plain(y)


@in_double
def _log_ratio(x: Any, y: Any) -> Any:
    """log(x/y), to full precision also where x ≈ y, and where x/y is no normal number."""
    ratio = x / y
    out = np.where(_close(x, y), np.log1p((x - y) / y), np.log(ratio))
    if np.min(ratio, initial=1.0) > LEAST_RATIO and np.max(ratio, initial=1.0) < 1 / LEAST_RATIO:
        return out
    far = (ratio < LEAST_RATIO) | (ratio > 1 / LEAST_RATIO)
    return np.where(far, np.log(x) - np.log(y), out)


def _log_ratio_lowered(b: Any, x: Any, y: Any) -> Any:
    """As `_log_ratio`."""
    x, y = b.floats(x, y)
    change = b.map("subtract", x, y)
    half = b.map("multiply", b.constant(0.5, x.dtype), y)
    close = b.map("less", b.map("absolute", change), half)
    near = b.maths("log1p", b.map("divide", change, y))
    least, power = (LEAST_RATIO, 540) if x.dtype == np.float64 else (1e-37, 80)
    ratio = b.map("divide", x, y)
    low = b.map("less", ratio, b.constant(least, x.dtype))
    high = b.map("greater", ratio, b.constant(1 / least, x.dtype))

    def choose(if_low: float, if_high: float, otherwise: float) -> Any:
        """Two divisions by powers of 2 cost less than a second logarithm."""
        rest = b.map("where", high, *(b.constant(n, x.dtype) for n in (if_high, otherwise)))
        return b.map("where", low, b.constant(if_low, x.dtype), rest)

    up, down = choose(2.0**power, 2.0**-power, 1.0), choose(2.0**-power, 2.0**power, 1.0)
    scaled = b.map("divide", b.map("multiply", x, up), b.map("multiply", y, down))
    shift = 2 * power * log(2)
    apart = b.map("add", b.maths("log", scaled), choose(-shift, shift, 0.0))
    return b.map("where", close, near, apart)


# An op of its own: its derivatives 1/x and −1/y do not pass through x/y, which may overflow.
log_ratio = elementwise(
    "log_ratio",
    _log_ratio,
    ("1 / x", lambda y: -1 / y),
    samples=positive_pairs,
    edges=point_pairs((1.0, 1.0), (1e-300, 1.0), (1e-200, 1e200), (1e200, 1e-200)),
    doc="log(x/y) for positive x and y, the derivative of kl_div by x.",
    lower=_log_ratio_lowered,
)


def _no_mass(x: Any, y: Any) -> Any:
    """Where x = y = 0: the value is 0 for every y, and the quotient x/y is to count as 0."""
    return (plain(x) == 0) & (plain(y) == 0)


def _rel_entr_by_y(x: Any, y: Any) -> Any:
    """−x/y."""
    return -x / np.where(_no_mass(x, y), 1.0, y)


def _kl_div_by_x(x: Any, y: Any) -> Any:
    """log(x/y), by an op of its own where it may be differentiated again."""
    return log_ratio(x, y) if is_recorded(x) or is_recorded(y) else _log_ratio(x, y)


def _kl_div_by_y(x: Any, y: Any) -> Any:
    """1 − x/y, as (y − x)/y where x ≈ y."""
    return np.where(_close(x, y), (y - x) / y, 1 + _rel_entr_by_y(x, y))


def _relative_lowered(b: Any, x: Any, y: Any, balanced: bool) -> Any:
    """x log(x/y), − x + y where `balanced`; at x = 0 what is left of it, below that infinite."""
    x, y = b.floats(x, y)
    zero = b.constant(0, x.dtype)
    inside = b.map("multiply", x, _log_ratio_lowered(b, x, y))
    if balanced:
        inside = b.map("add", b.map("subtract", inside, x), y)
    positive = [b.map("greater", a, zero) for a in (x, y)]
    empty = b.map("logical_and", b.map("equal", x, zero), b.map("greater_equal", y, zero))
    rest = b.map("where", empty, y if balanced else zero, b.constant(np.inf, x.dtype))
    unknown = b.map("logical_or", b.map("isnan", x), b.map("isnan", y))
    rest = b.map("where", unknown, b.constant(np.nan, x.dtype), rest)
    return b.map("where", b.map("logical_and", *positive), inside, rest)


rel_entr = elementwise(
    "rel_entr",
    scipy_special("rel_entr"),
    (lambda x, y: _kl_div_by_x(x, y) + 1, _rel_entr_by_y),
    samples=positive_pairs,
    edges=point_pairs((1.0, 1.0), (1e-300, 1.0), (1.0, 1e-300)),
    doc="x log(x/y), 0 where x = 0.",
    lower=lambda b, x, y: _relative_lowered(b, x, y, balanced=False),
)
kl_div = elementwise(
    "kl_div",
    scipy_special("kl_div"),
    (_kl_div_by_x, _kl_div_by_y),
    samples=positive_pairs,
    edges=point_pairs((1.0, 1.0), (1e-300, 1.0), (1.0, 1e-300)),
    doc="x log(x/y) − x + y, y where x = 0.",
    lower=lambda b, x, y: _relative_lowered(b, x, y, balanced=True),
)

# ---- robust losses ------------------------------------------------------------------------------


def _huber_lowered(b: Any, delta: Any, r: Any) -> Any:
    delta, r = b.floats(delta, r)
    zero, half = b.constant(0, r.dtype), b.constant(0.5, r.dtype)
    size = b.map("absolute", r)
    inside = b.map("multiply", b.map("multiply", half, r), r)
    beyond = b.map("multiply", delta, b.map("subtract", size, b.map("multiply", half, delta)))
    found = b.map("where", b.map("less_equal", size, delta), inside, beyond)
    return b.map("where", b.map("less", delta, zero), b.constant(np.inf, r.dtype), found)


huber = elementwise(
    "huber",
    scipy_special("huber"),
    (
        lambda delta, r: np.maximum(np.abs(r) - delta, 0.0),
        lambda delta, r: np.minimum(np.maximum(r, -delta), delta),
    ),
    inputs=("delta", "r"),
    samples=pairs_within((0.6, 1.2), (-2.5, 2.5)),
    edges=point_pairs((1.0, 0.0), (1.0, 1.0), (1.0, -1.0), (0.0, 0.0), (1.0, 1e300)),
    doc="r²/2 for |r| ≤ delta, beyond that delta·(|r| − delta/2).",
    lower=_huber_lowered,
)


def _hypotenuse(delta: Any, r: Any) -> Any:
    """√(delta² + r²), and 1 where both are 0, so that it can be divided by."""
    origin = (plain(delta) == 0) & (plain(r) == 0)
    return np.hypot(np.where(origin, 1.0, delta), np.where(origin, 0.0, r))


def _pseudo_huber_by_delta(delta: Any, r: Any) -> Any:
    """(h − δ)²/h with h = √(δ² + r²) and h − δ = r²/(h + δ)."""
    h = _hypotenuse(delta, r)
    excess = r * (r / (h + delta))
    return excess * (excess / h)


def _pseudo_clip(delta: Any, r: Any) -> Any:
    """The smaller one times the larger over the hypotenuse: the other quotient may underflow."""
    swap = np.abs(r) < np.abs(delta)
    small, large = np.where(swap, r, delta), np.where(swap, delta, r)
    return small * (large / _hypotenuse(delta, r))


pseudo_clip = elementwise(
    "pseudo_clip",
    _pseudo_clip,
    (
        lambda delta, r: direction(delta, r, which=1) ** 3,
        lambda delta, r: direction(delta, r, which=0) ** 3,
    ),
    inputs=("delta", "r"),
    samples=pairs_within((0.6, 1.2), (-2.5, 2.5)),
    edges=point_pairs((1.0, 0.0), (1e-200, 1e200), (0.0, 0.0), (1e200, 1.0)),
    doc="delta·r/√(delta² + r²), a smooth clip of r to ±delta: the slope of pseudo_huber.",
)
pseudo_huber = elementwise(
    "pseudo_huber",
    scipy_special("pseudo_huber"),
    (_pseudo_huber_by_delta, lambda delta, r: pseudo_clip(delta, r)),
    inputs=("delta", "r"),
    samples=pairs_within((0.6, 1.2), (-2.5, 2.5)),
    edges=point_pairs((1.0, 0.0), (1e-200, 1e200), (0.0, 0.0), (1e200, 1.0)),
    doc="delta²·(√(1 + (r/delta)²) − 1), a smooth huber.",
)

# ---- power transforms ---------------------------------------------------------------------------


@in_double
def _exp_moment(x: Any, y: Any, order: int) -> Any:
    """∫₀ˣ sⁿ e^{ys} ds = x^{n+1} · exprel⁽ⁿ⁾(xy), and n!/(−y)^{n+1} for x = −∞."""
    limit = factorial(order) / (-y) ** (order + 1)
    return np.where(np.isneginf(x), limit, x ** (order + 1) * exprel_derivative(x * y, order=order))


exp_moment: Op = elementwise(
    "exp_moment",
    _exp_moment,
    (
        lambda x, y, order: x**order * np.exp(x * y),
        lambda x, y, order: exp_moment(x, y, order=order + 1),
    ),
    samples=lambda: [
        sample(draw((2, 3), -2, 2), draw((3,), -2, 2, 1), order=1),
        sample(draw((3,), -2, 2).astype(np.float32), draw((), -2, 2).astype(np.float32), order=2),
    ],
    doc="The integral of sⁿ e^(ys) over s from 0 to x; for n = 1 the slope of boxcox in lmbda.",
)
boxcox = elementwise(
    "boxcox",
    scipy_special("boxcox"),
    (
        lambda x, lmbda: np.power(x, lmbda - 1),
        lambda x, lmbda: exp_moment(np.log(x), lmbda, order=1),
    ),
    inputs=("x", "lmbda"),
    samples=pairs_within((0.3, 3.0), (-1.5, 1.5)),
    edges=point_pairs((2.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1e-300, 0.0), (1e100, 1e-12)),
    doc="(x^lmbda − 1)/lmbda, log x for lmbda = 0.",
)
boxcox1p = elementwise(
    "boxcox1p",
    scipy_special("boxcox1p"),
    (
        lambda x, lmbda: np.exp((lmbda - 1) * np.log1p(x)),
        lambda x, lmbda: exp_moment(np.log1p(x), lmbda, order=1),
    ),
    inputs=("x", "lmbda"),
    samples=pairs_within((-0.6, 3.0), (-1.5, 1.5)),
    edges=point_pairs((2.0, 0.0), (0.0, 0.0), (1e-300, 0.5)),
    doc="((1+x)^lmbda − 1)/lmbda, log(1+x) for lmbda = 0.",
)


@in_double
def _log1prel_derivative(x: Any, order: int) -> Any:
    """dⁿh/dtⁿ of h = log(1+x)/x: by x hₙ + n hₙ₋₁ = (log(1+x))⁽ⁿ⁾, for small x by its series."""
    upward = np.where(x == 0, 1.0, np.log1p(x) / x)
    for n in range(1, order + 1):
        upward = ((-1) ** (n - 1) * factorial(n - 1) / (1 + x) ** n - n * upward) / x
    small = np.abs(x) < 0.3
    coefficients = [
        (-1) ** (k + order) * factorial(k + order) / factorial(k) / (k + order + 1)
        for k in range(36 + 4 * order)
    ]
    return np.where(small, polynomial(coefficients, np.where(small, x, 0.0)), upward)


log1prel_derivative: Op = elementwise(
    "log1prel_derivative",
    _log1prel_derivative,
    (lambda x, order: log1prel_derivative(x, order=order + 1),),
    samples=of_orders((-0.7, 3), (-0.25, 0.25), (-0.7, 3)),
    edges=lambda: [sample(np.float64(v), order=1) for v in (0.0, 1e8)],
    doc="The derivative of log(1+x)/x of the given order (1 or more).",
)


def _inv_boxcox_by_x(x: Any, lmbda: Any, out: Any) -> Any:
    """out/(1 + λx); where that is 0/0, the power (1 + λx)^(1/λ − 1) it stands for."""
    base = 1 + lmbda * x
    edge = plain(base) == 0
    power = np.power(np.where(edge, base, 1.0), 1 / np.where(edge, lmbda, 1.0) - 1)
    return np.where(edge, power, out / np.where(edge, 1.0, base))


inv_boxcox = elementwise(
    "inv_boxcox",
    scipy_special("inv_boxcox"),
    (_inv_boxcox_by_x, lambda x, lmbda, out: out * x * x * log1prel_derivative(lmbda * x, order=1)),
    inputs=("x", "lmbda"),
    samples=pairs_within((-0.3, 0.6), (-1.2, 1.5)),
    edges=point_pairs((2.0, 0.0), (0.0, 0.5), (2.0, 1e-12)),
    doc="The inverse of boxcox: (1 + lmbda·x)^(1/lmbda), e^x for lmbda = 0.",
)
inv_boxcox1p = elementwise(
    "inv_boxcox1p",
    scipy_special("inv_boxcox1p"),
    (
        lambda x, lmbda, out: (out + 1) / (1 + lmbda * x),
        lambda x, lmbda, out: (out + 1) * x * x * log1prel_derivative(lmbda * x, order=1),
    ),
    inputs=("x", "lmbda"),
    samples=pairs_within((-0.3, 0.6), (-1.2, 1.5)),
    edges=point_pairs((2.0, 0.0), (0.0, 0.5), (2.0, 1e-12)),
    doc="The inverse of boxcox1p: (1 + lmbda·x)^(1/lmbda) − 1, e^x − 1 for lmbda = 0.",
)
