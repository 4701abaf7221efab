"""Arithmetic with one, zero and minus signs: equations that hold for every number to the bit.

What is not here does not hold: 0·x is NaN for infinite x, x + 0 turns -0.0 into 0.0, 0 - x is 0.0
and -x is -0.0 at 0.0, -(a - b) and b - a differ in the sign of their zero, and exp(log x) rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.optimise.rewrite import CONSTANT, NUMBER, Rewrite, Sweep

Found = Node | None
SAME_OF_REALS = ("conjugate", "real")


def fits(x: Any, node: Node) -> bool:
    """Whether x can stand for the node as it is: a real array of its shape and dtype."""
    return isinstance(x, Node) and x.shape == node.shape and x.dtype == node.dtype


def argument_of(x: Any, op: str) -> Any:
    """The first argument of x where x is a node of this op; None elsewhere."""
    if not isinstance(x, Node) or x.is_leaf or x.rule.op.name != op:
        return None
    return x.args[0]


def is_number(number: Any, value: float) -> bool:
    """Whether a number, if it is one, is this value; of zeros with this sign."""
    if number is None or number != value:
        return False
    return bool(value) or math.copysign(1, number) == math.copysign(1, value)


def either_way(apply: Callable[[Sweep, Node, Any, Any], Found]) -> Callable[[Sweep, Node], Found]:
    """A rewrite of x∘y that also holds for y∘x."""

    def both(sweep: Sweep, node: Node) -> Found:
        x, y = node.args
        rewritten = apply(sweep, node, x, y)
        return rewritten if rewritten is not None else apply(sweep, node, y, x)

    return both


# -- one and zero ----------------------------------------------------------------------------------


def _times_one(sweep: Sweep, node: Node, x: Any, one: Any) -> Found:
    exact = fits(x, node) and node.dtype.kind in "fiu"  # ∞ times 1 + 0i is NaN
    return x if exact and is_number(sweep.number(one), 1) else None


def _times_minus_one(sweep: Sweep, node: Node, x: Any, one: Any) -> Found:
    exact = fits(x, node) and node.dtype.kind == "f"
    return (
        sweep.made("negative", (x,), node) if exact and is_number(sweep.number(one), -1) else None
    )


def _divided_by_one(sweep: Sweep, node: Node) -> Found:
    x, one = node.args
    exact = fits(x, node) and node.dtype.kind == "f"
    return x if exact and is_number(sweep.number(one), 1) else None


def _plus_nothing(sweep: Sweep, node: Node, x: Any, zero: Any) -> Found:
    """-0.0 is what changes nothing: 0.0 would make 0.0 of -0.0."""
    if not fits(x, node) or node.dtype.kind not in "fiu":
        return None
    nothing = -0.0 if node.dtype.kind == "f" else 0
    return x if is_number(sweep.number(zero), nothing) else None


def _minus_zero(sweep: Sweep, node: Node) -> Found:
    x, zero = node.args
    exact = fits(x, node) and node.dtype.kind in "fiu"
    return x if exact and is_number(sweep.number(zero), 0.0) else None


def _first_power(sweep: Sweep, node: Node) -> Found:
    x, exponent = node.args
    exact = fits(x, node) and node.dtype.kind == "f"
    return x if exact and type(exponent) in (int, float) and exponent == 1 else None


def _squared(sweep: Sweep, node: Node) -> Found:
    """As NumPy itself does, of arrays; of a number it asks the C library's pow."""
    x, exponent = node.args
    exact = fits(x, node) and node.dtype.kind == "f" and node.ndim > 0
    if exact and type(exponent) in (int, float) and exponent == 2:
        return sweep.made("square", (x,), node)
    return None


def _divided_by_power_of_two(sweep: Sweep, node: Node) -> Found:
    """Both are the number nearest to the same real one, if 2⁻ᵏ is a number of the dtype."""
    x, divisor = node.args
    number = sweep.number(divisor)
    if not fits(x, node) or node.dtype.kind != "f" or number is None or not _is_real(number):
        return None
    if abs(math.frexp(number)[0]) != 0.5:
        return None
    tiny = np.finfo(node.dtype).smallest_normal
    if not tiny <= abs(number) <= 1 / tiny:
        return None
    return sweep.made("multiply", (x, 1 / number), node)


def _is_real(number: Any) -> bool:
    return np.asarray(number).dtype.kind in "fiu"


# -- minus signs -----------------------------------------------------------------------------------


def _twice_negated(sweep: Sweep, node: Node) -> Found:
    return argument_of(node.args[0], "negative")


def _plus_negated(sweep: Sweep, node: Node, x: Any, y: Any) -> Found:
    b = argument_of(y, "negative")
    return None if b is None else sweep.made("subtract", (x, b), node)


def _minus_negated(sweep: Sweep, node: Node) -> Found:
    x, y = node.args
    b = argument_of(y, "negative")
    return None if b is None else sweep.made("add", (x, b), node)


def _both_negated(sweep: Sweep, node: Node) -> Found:
    a, b = (argument_of(x, "negative") for x in node.args)
    if a is None or b is None or node.dtype.kind != "f":
        return None
    return sweep.made(node.op, (a, b), node)


def _sign_into_number(sweep: Sweep, node: Node) -> Found:
    """(-x) * c, also / and the number first: the sign goes to the number."""
    args = list(node.args or ())
    for i, j in ((0, 1), (1, 0)):
        x, number = argument_of(args[i], "negative"), _negated(args[j])
        if x is not None and number is not None and x.dtype.kind == "f":
            args[i], args[j] = x, number
            return sweep.made(node.op, args, node)
    return None


def _negated_product(sweep: Sweep, node: Node) -> Found:
    """-(c * x), also -(x / c) and -(c / x): the sign goes to the number."""
    inner = node.args[0]
    args = list(inner.args)
    for i, x in enumerate(args):
        number = _negated(x)
        if number is not None and node.dtype.kind == "f":
            args[i] = number
            return sweep.made(inner.op, args, node)
    return None


def _negated(number: Any) -> Any:
    """A number with the other sign, which 0 has only as a float; None of anything else."""
    if type(number) in (int, float):
        return -float(number)
    return -number if isinstance(number, np.floating) else None


def _even(sweep: Sweep, node: Node) -> Found:
    x = argument_of(node.args[0], "negative")
    return None if x is None or node.dtype.kind != "f" else sweep.made(node.op, (x,), node)


# -- the value itself ------------------------------------------------------------------------------


def _itself(sweep: Sweep, node: Node) -> Found:
    x = node.args[0]
    if node.op.name in SAME_OF_REALS and node.dtype.kind == "c":
        return None
    return x if fits(x, node) else None


TWO = ("multiply", "divide")
ALGEBRA = (
    Rewrite(
        "itself",
        "identity(x) = x, also stop_gradient, copy and positive; real and conjugate of real "
        "numbers; astype to the dtype there is",
        ("identity", "stop_gradient", "copy", "positive", "astype", *SAME_OF_REALS),
        (),
        _itself,
    ),
    Rewrite("times one", "x * 1 = x", ("multiply",), CONSTANT, either_way(_times_one)),
    Rewrite(
        "times minus one", "x * -1 = -x", ("multiply",), CONSTANT, either_way(_times_minus_one)
    ),
    Rewrite("divided by one", "x / 1 = x", ("divide",), CONSTANT, _divided_by_one),
    Rewrite(
        "plus nothing",
        "x + (-0.0) = x; of integers x + 0 = x",
        ("add",),
        CONSTANT,
        either_way(_plus_nothing),
    ),
    Rewrite("minus zero", "x - 0 = x", ("subtract",), CONSTANT, _minus_zero),
    Rewrite("first power", "x ** 1 = x", ("power",), (NUMBER,), _first_power),
    Rewrite("squared", "x ** 2 = square(x), of arrays", ("power",), (NUMBER,), _squared),
    Rewrite("divided by 2ᵏ", "x / 2ᵏ = x * 2⁻ᵏ", ("divide",), CONSTANT, _divided_by_power_of_two),
    Rewrite("twice negated", "-(-x) = x", ("negative",), ("negative",), _twice_negated),
    Rewrite("plus negated", "a + (-b) = a - b", ("add",), ("negative",), either_way(_plus_negated)),
    Rewrite("minus negated", "a - (-b) = a + b", ("subtract",), ("negative",), _minus_negated),
    Rewrite("both negated", "(-a) * (-b) = a * b, also /", TWO, ("negative",), _both_negated),
    Rewrite(
        "sign into number", "(-x) * c = x * (-c), also /", TWO, ("negative",), _sign_into_number
    ),
    Rewrite("negated product", "-(c * x) = (-c) * x, also /", ("negative",), TWO, _negated_product),
    Rewrite(
        "even", "|-x| = |x|, square(-x) = square(x)", ("absolute", "square"), ("negative",), _even
    ),
)
