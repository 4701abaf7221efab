"""Sums, products, quotients and powers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrule.core.cure import Cure
from chainrule.core.masked import plain
from chainrule.core.op import Op, sample
from chainrule.core.picked import LANES
from chainrule.core.python_numbers import OnPython
from chainrule.ops.define import ZERO, Gate, composite, elementwise, elementwise_spec, linear
from chainrule.ops.factors import is_recorded
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw, holomorphic, pairs_within, point_pairs, points, within
from chainrule.ops.structure import astype

any_pair = pairs_within((-2.0, 2.0), (-2.0, 2.0), complex_too=True)
safe_quotient = pairs_within((-2.0, 2.0), (0.5, 2.0), complex_too=True)


def _by_zero(x: Any, y: Any) -> Any:
    return np.equal(y, 0)


away_from_jumps = pairs_within((2.1, 2.4), (1.3, 1.6))

add = elementwise(
    "add",
    operator.add,
    (1, 1),
    samples=any_pair,
    numpy=(np.add,),
    reference=np.add,
    commutes=True,
    symbol="+",
    origin="+",
    python=OnPython(operator.add),
)
subtract = elementwise(
    "subtract",
    operator.sub,
    (1, -1),
    samples=any_pair,
    numpy=(np.subtract,),
    reference=np.subtract,
    symbol="−",
    origin="-",
    python=OnPython(operator.sub),
)


def _masked_product(x: Any, y: Any) -> tuple[Op, list[Any]] | None:
    """`(x > 0) * f(x)`: a boolean factor is a mask, and what it hides is structurally zero."""
    if x is y:
        return _square_of_root(x)
    if _is_mask(y):
        return multiply_mask, [x, y]
    if _is_mask(x):
        return multiply_mask, [y, x]
    return None


def _is_mask(value: Any) -> bool:
    return hasattr(value, "dtype") and value.dtype.kind == "b"


def is_root(node: Any) -> bool:
    """Whether a recorded node is a square root whose argument is differentiated."""
    return node.rule is not None and node.rule.op is sqrt and bool(node.parents)


def _square_of_root(x: Any, y: Any = 2) -> tuple[Op, list[Any]] | None:
    """(√s)² has the derivative 1 at s = 0 too, where the chain rule would say 0·∞."""
    if type(y) in (int, float) and y == 2 and hasattr(x, "node") and is_root(x.node):
        of = type(x)(x._value * x._value, x.node.parents[0])
        return (identity if x.node.args is None else square_of_root), [of]
    return None


multiply = elementwise(
    "multiply",
    operator.mul,
    ("y", "x"),
    samples=any_pair,
    edges=point_pairs((0.0, 1.0), (0.0, 0.0), (1e308, 1e-308)),
    numpy=(np.multiply,),
    reference=np.multiply,
    variant=_masked_product,
    commutes=True,
    symbol="×",
    origin="×",
    python=OnPython(operator.mul),
)
multiply_mask = elementwise(
    "multiply_mask",
    operator.mul,
    (Gate(lambda y: y), None),
    samples=lambda: [
        sample(draw((3,), -2, 2), np.array([True, False, True])),
        sample(draw((2, 3), -2, 2), np.array([True, False, True])),
    ],
    doc="x * y for a boolean y; lanes where y is false carry a structural zero.",
    lower="multiply",
    symbol="×",
)


QUOTIENT_CURES = (
    Cure("sin(x) / x",
         "0 / 0 although the limit exists",
         "np.sinc(x / np.pi) for sin(x) / x, cr.exprel(x) for (exp(x) - 1) / x",
         lambda c: c.x == c.y == 0 and c.made_by(0) in ("sin", "expm1")),
    Cure("division by a spread of zero",
         "the values are all equal, so their deviation is 0",
         "(x - np.mean(x)) / (np.std(x) + 1e-8); of a deviation of your own, add it below the "
         "root: np.sqrt(np.mean((x - m) ** 2) + 1e-8)",
         lambda c: c.y == 0 and c.made_by(1) in ("deviation", "divide", "ptp", "sqrt")),
    Cure("division by a norm of zero",
         "the vector to be normalised is 0",
         "n = np.linalg.norm(x); x / np.where(n > 0, n, 1)",
         lambda c: c.y == 0
         and c.made_by(1) in ("euclidean_norm", "power_norm", "absolute", "hypot")),
    Cure("a ratio inside a logarithm",
         "the logarithm of a number divided by 0 is infinite",
         "keep the divisor above 0: x / np.maximum(y, 1e-12), or compute it as cr.softmax(raw)",
         lambda c: c.y == 0 and c.through & {"log", "log2", "log10"}),
    Cure("0 / 0",
         "0 / 0 has no value",
         "leave it out: np.where(y != 0, x / y, 0)",
         lambda c: c.x == c.y == 0),
)  # fmt: skip
DIVISION_BY_ZERO = Cure(
    "division by zero",
    "the derivative of x / y reads 1 / y²",
    "leave it out: np.where(y != 0, x / y, 0), or keep y away from 0",
    lambda c: (c.x if c.op == "reciprocal" else c.y) == 0,
)
divide = elementwise(
    "divide",
    operator.truediv,
    ("1 / y", lambda y, out: -out / y),
    samples=safe_quotient,
    numpy=(np.divide,),
    reference=np.divide,
    symbol="÷",
    cure=(*QUOTIENT_CURES, DIVISION_BY_ZERO),
    origin="/",
    python=OnPython(operator.truediv, may_raise=True, cause=_by_zero),
)
negative = elementwise(
    "negative",
    operator.neg,
    (-1,),
    samples=holomorphic,
    numpy=(np.negative,),
    reference=np.negative,
    symbol="−",
    python=OnPython(operator.neg),
)
positive = elementwise(
    "positive",
    operator.pos,
    (1,),
    samples=holomorphic,
    numpy=(np.positive,),
    reference=np.positive,
    python=OnPython(operator.pos),
)
reciprocal = elementwise(
    "reciprocal",
    np.reciprocal,
    (lambda out: -(out * out),),
    samples=within(0.4, 2.0, complex_too=True),
    symbol="1/x",
    cure=(DIVISION_BY_ZERO,),
)


def _power_base(x: Any, y: Any) -> Any:
    """∂(x^y)/∂x; the exponent 0 gives 0 also at x = 0, where the formula would be 0·∞.

    An exponent that is differentiated has its place there too: ∂²(x^y)/∂x∂y is 1/x at y = 0.
    """
    if getattr(y, "ndim", 0) == 0 and not is_recorded(y):
        return x * y if y == 2 else y * x ** (y - 1) if y != 0 else np.zeros_like(plain(x))
    flat = np.equal(plain(y), 0)
    if is_recorded(y):
        flat = np.logical_and(flat, np.equal(plain(x), 0))
    return np.where(flat, 0.0, y * x ** np.where(flat, 1.0, y - 1))


def _power_exponent(x: Any, y: Any, out: Any) -> Any:
    """∂(x^y)/∂y = x^y log x, whose limit at x = 0 is 0 for y > 0 (and −∞ for y = 0)."""
    vanishing = np.logical_and(np.equal(x, 0), np.greater(np.real(y), 0))
    return np.where(vanishing, 0.0, out * np.log(np.where(vanishing, 1.0, x)))


def _power_lowered(b: Any, x: Any, y: Any) -> Any:
    """x ** y, by fewer steps for the exponents NumPy treats so too."""
    shortcut = {2: "square", 0.5: "sqrt", 1: "copy", -1: "reciprocal"}.get(y.number)
    common = b.common(x, y)
    if common.kind != "f":
        return None
    x = b.astype(x, common)
    if shortcut is not None:
        return b.broadcast_to(b.map(shortcut, x), np.broadcast_shapes(x.shape, y.shape))
    return b.maths("power", x, b.astype(y, common))


SUMS = {"sum", "matmul", "einsum_pair", "einsum_single", "square", "power", "add"}
NORM_BY_HAND = Cure(
    "a norm by hand",
    "the root of a sum of squares has the derivative inf × 0 at 0",
    "np.linalg.norm(x), whose gradient there is 0",
    lambda c: c.x == 0 and (c.op == "sqrt" or c.y == 0.5) and c.made_by(0) in SUMS,
)
POWER_CURES = (
    Cure("an exponent of a negative base",
         "the derivative by the exponent reads log(base), which is not real below 0",
         "make the exponent a plain number, or cr.stop_gradient(exponent)",
         lambda c: c.x <= 0 and c.event.when == "backward" and c.at_exponent),
    Cure("a power of a negative base",
         "a negative number has no real fractional power",
         "np.maximum(x, 0) ** p, or np.sign(x) * np.abs(x) ** p",
         lambda c: c.x < 0 and c.y != np.round(c.y)),
    Cure("a negative power of zero",
         "0 to a negative power is 1/0",
         "np.where(x != 0, x ** p, 0)",
         lambda c: c.x == 0 and c.y < 0),
    Cure("a fractional power at zero",
         "the derivative p·x^(p-1) is infinite at 0 for p < 1",
         "np.where(x > 0, x ** p, 0)",
         lambda c: c.x == 0 and c.y < 1),
)  # fmt: skip
power = elementwise(
    "power",
    operator.pow,
    (_power_base, _power_exponent),
    samples=pairs_within((0.3, 2.0), (-2.0, 2.0), complex_too=True),
    edges=point_pairs((0.0, 2.0), (0.0, 1.0), (1.5, 0.0), (2.0, 1.0)),
    numpy=(np.power,),
    reference=np.power,
    variant=_square_of_root,
    lower=_power_lowered,
    symbol="^",
    cure=(NORM_BY_HAND, *POWER_CURES),
    origin="**",
    python=OnPython(operator.pow, may_raise=True),
)


def _float_power(x: Any, y: Any) -> Any:
    x, y = as_array(x), as_array(y)
    wide = np.result_type(x.dtype, y.dtype, np.float64)
    return power(*(a if a.dtype == wide else astype(a, dtype=wide) for a in (x, y)))


float_power = composite(
    "float_power",
    _float_power,
    inputs=("x", "y"),
    samples=pairs_within((0.3, 2.0), (-2.0, 2.0), complex_too=True),
    numpy=(np.float_power,),
    doc="x to the power of y in float64 at least.",
    picked=True,
)
square = elementwise(
    "square",
    np.square,
    (lambda x: 2 * x,),
    samples=holomorphic,
    edges=points(0.0),
    variant=_square_of_root,
    symbol="x²",
)
SQRT_CURES = (
    Cure("a variance as a difference",
         "E[x²] - E[x]² comes out negative by rounding",
         "np.std(x), or np.var(x): they subtract the mean first",
         lambda c: c.x <= 0 and {"subtract", "mean"} <= c.above(0)),
    Cure("a root at zero",
         "the derivative 1 / (2√x) is infinite at 0",
         "np.where(x > 0, np.sqrt(x), 0) has the gradient 0 there; np.sqrt(x + 1e-12) a large one",
         lambda c: c.x == 0),
    Cure("a root of a negative number",
         "the root of a negative number is not real",
         "np.sqrt(np.maximum(x, 0)) if it is negative by rounding; np.emath.sqrt if it is meant",
         lambda c: c.x < 0),
)  # fmt: skip
sqrt = elementwise(
    "sqrt",
    np.sqrt,
    (lambda out: 0.5 / out,),
    samples=within(0.2, 3.0, complex_too=True),
    edges=points(1e-300, 1e300),
    symbol="√",
    cure=(NORM_BY_HAND, *SQRT_CURES),
)


def _cbrt_slope(out: Any) -> Any:
    """1 / (3·out²); dividing last would be 0·∞ at ∞ once it is differentiated."""
    inverse = 1 / out
    return inverse * (inverse * (1 / 3))


cbrt = elementwise(
    "cbrt",
    np.cbrt,
    (_cbrt_slope,),
    samples=within(0.2, 3.0),
    edges=points(-8.0),
    symbol="∛",
    cure=(
        Cure(
            "a cube root at zero",
            "the derivative of the cube root is infinite at 0",
            "np.where(x != 0, np.cbrt(x), 0)",
            lambda c: c.x == 0,
        ),
    ),
)


def _fmod_lowered(b: Any, x: Any, y: Any) -> Any:
    """What is left of x, with the sign of x; of whole numbers by 0, as NumPy, 0."""
    common = b.common(x, y)
    if common.kind not in "fi":
        return None
    x, y = b.astype(x, common), b.astype(y, common)
    if common.kind == "i":  # the processor traps on x / 0, and on the least number / -1
        zero, one = b.constant(0, common), b.constant(1, common)
        traps = b.map(
            "logical_or", b.map("equal", y, zero), b.map("equal", y, b.constant(-1, common))
        )
        y = b.map("where", traps, one, y)
    return b.map("fmod", x, y)


def _across(b: Any, left: Any, y: Any) -> tuple[Any, Any]:
    """Where nothing is left, and where what is left has another sign than y."""
    zero = b.constant(0, left.dtype)
    none = b.map("equal", left, zero)
    differ = b.map("logical_xor", b.map("less", y, zero), b.map("less", left, zero))
    return none, b.map("logical_and", differ, b.map("logical_not", none))


def _zero_signed(b: Any, like: Any) -> Any:
    zero = b.constant(0, like.dtype)
    return b.map("copysign", b.broadcast_to(zero, like.shape), like)


def _remainder_lowered(b: Any, x: Any, y: Any) -> Any:
    """What is left of x, with the sign of y."""
    left = _fmod_lowered(b, x, y)
    if left is None:
        return None
    y = b.astype(y, left.dtype)
    none, across = _across(b, left, y)
    found = b.map("where", across, b.map("add", left, y), left)
    return found if left.dtype.kind == "i" else b.map("where", none, _zero_signed(b, y), found)


def _floor_divide_lowered(b: Any, x: Any, y: Any) -> Any:
    """As NumPy: (x - what is left) / y, rounded to the whole number that it is."""
    left = _fmod_lowered(b, x, y)
    if left is None or left.dtype.kind != "f":
        return None
    x, y = b.astype(x, left.dtype), b.astype(y, left.dtype)
    zero, half, one = (b.constant(n, left.dtype) for n in (0, 0.5, 1))
    exact = b.map("divide", x, y)
    quotient = b.map("divide", b.map("subtract", x, left), y)
    _, across = _across(b, left, y)
    quotient = b.map("where", across, b.map("subtract", quotient, one), quotient)
    down = b.map("floor", quotient)
    up = b.map("greater", b.map("subtract", quotient, down), half)
    found = b.map("where", up, b.map("add", down, one), down)
    found = b.map("where", b.map("equal", quotient, zero), _zero_signed(b, exact), found)
    return b.map("where", b.map("equal", y, zero), exact, found)


floor_divide = elementwise(
    "floor_divide",
    operator.floordiv,
    ZERO,
    inputs=("x", "y"),
    samples=away_from_jumps,
    numpy=(np.floor_divide,),
    reference=np.floor_divide,
    kinks=lambda x, y: np.equal(x % y, 0),
    lower=_floor_divide_lowered,
    cure=(DIVISION_BY_ZERO,),
    python=OnPython(operator.floordiv, may_raise=True, cause=_by_zero),
)
remainder = elementwise(
    "remainder",
    operator.mod,
    (1, lambda x, y: -np.floor(x / y)),
    samples=away_from_jumps,
    numpy=(np.remainder,),
    reference=np.remainder,
    kinks=lambda x, y: np.equal(x % y, 0),
    lower=_remainder_lowered,
    cure=(DIVISION_BY_ZERO,),
    python=OnPython(operator.mod, may_raise=True, cause=_by_zero),
)
fmod = elementwise(
    "fmod",
    np.fmod,
    (1, lambda x, y: -np.trunc(x / y)),
    samples=away_from_jumps,
    kinks=lambda x, y: np.equal(np.fmod(x, y), 0),
    lower=_fmod_lowered,
    cure=(DIVISION_BY_ZERO,),
)

square_of_root = elementwise(
    "square_of_root",
    lambda x: np.square(np.sqrt(x)),
    (1,),
    inputs=("x",),
    samples=within(0.4, 2.0),
    edges=points(0.0),
    lower=lambda b, x: b.map("square", b.map("sqrt", x)),
    doc="(√x)², as a traced graph computes it; its derivative is 1 at x = 0 too.",
)
identity = linear(
    "identity",
    lambda x: x,
    lambda g: g,
    samples=holomorphic,
    spec=elementwise_spec(lambda x: x),
    doc="The value itself, as a node of its own for an inner derivative.",
    picked=LANES,
    lower=lambda b, x: x,
)
