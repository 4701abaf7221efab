"""Sums, products, quotients and powers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrule.core.masked import plain
from chainrule.core.op import Op, sample
from chainrule.core.picked import LANES
from chainrule.ops.define import ZERO, Gate, composite, elementwise, elementwise_spec, linear
from chainrule.ops.factors import is_recorded
from chainrule.ops.joining import as_array
from chainrule.ops.samples import draw, holomorphic, pairs_within, point_pairs, points, within
from chainrule.ops.structure import astype

any_pair = pairs_within((-2.0, 2.0), (-2.0, 2.0), complex_too=True)
safe_quotient = pairs_within((-2.0, 2.0), (0.5, 2.0), complex_too=True)

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
)
subtract = elementwise(
    "subtract",
    operator.sub,
    (1, -1),
    samples=any_pair,
    numpy=(np.subtract,),
    reference=np.subtract,
    symbol="−",
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


divide = elementwise(
    "divide",
    operator.truediv,
    ("1 / y", lambda y, out: -out / y),
    samples=safe_quotient,
    numpy=(np.divide,),
    reference=np.divide,
    symbol="÷",
)
negative = elementwise(
    "negative",
    operator.neg,
    (-1,),
    samples=holomorphic,
    numpy=(np.negative,),
    reference=np.negative,
    symbol="−",
)
positive = elementwise(
    "positive", operator.pos, (1,), samples=holomorphic, numpy=(np.positive,), reference=np.positive
)
reciprocal = elementwise(
    "reciprocal",
    np.reciprocal,
    (lambda out: -(out * out),),
    samples=within(0.4, 2.0, complex_too=True),
    symbol="1/x",
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
sqrt = elementwise(
    "sqrt",
    np.sqrt,
    (lambda out: 0.5 / out,),
    samples=within(0.2, 3.0, complex_too=True),
    edges=points(1e-300, 1e300),
    symbol="√",
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
)
fmod = elementwise(
    "fmod",
    np.fmod,
    (1, lambda x, y: -np.trunc(x / y)),
    samples=away_from_jumps,
    kinks=lambda x, y: np.equal(np.fmod(x, y), 0),
    lower=_fmod_lowered,
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
