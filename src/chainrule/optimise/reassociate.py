"""Equations of real numbers, which round otherwise: only where the user allows it.

They move a result by a few units in the last place; where an intermediate result is infinite or
vanishes, by anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.optimise.algebra import Found, argument_of, either_way, fits
from chainrule.optimise.layout import is_plain_sum
from chainrule.optimise.rewrite import CONSTANT, NUMBER, REALS, Rewrite, Sweep

SCALED = ("multiply", "divide")


def _number(value: Any, node: Node) -> Any:
    """A real number as a factor that changes no dtype; None where it is not a normal one."""
    if isinstance(value, Node) or np.ndim(value) or np.asarray(value).dtype.kind not in "fiu":
        return None
    tiny = float(np.finfo(node.dtype).smallest_normal)
    normal = tiny <= abs(float(value)) <= 1 / tiny
    return float(value) if normal and math.isfinite(value) else None


def _factor(node: Any) -> tuple[Node, float] | None:
    """x and c of a node x * c or x / c, of one dtype and shape; None elsewhere."""
    if not isinstance(node, Node) or node.is_leaf or node.dtype.kind != "f":
        return None
    if node.op.name == "negative":
        return node.args[0], -1.0
    if node.op.name not in SCALED:
        return None
    x, y = node.args
    if node.op.name == "multiply" and not isinstance(x, Node):
        x, y = y, x
    number = _number(y, node)
    if number is None or not fits(x, node):
        return None
    return x, number if node.op.name == "multiply" else 1 / number


def _two_factors(sweep: Sweep, node: Node) -> Found:
    outer = _factor(node)
    inner = None if outer is None else _factor(outer[0])
    if outer is None or inner is None:
        return None
    number = _number(outer[1] * inner[1], node)
    return None if number is None else sweep.made("multiply", (inner[0], number), node)


def _divided_by_number(sweep: Sweep, node: Node) -> Found:
    scaled = _factor(node)
    return None if scaled is None else sweep.made("multiply", scaled, node)


def _two_terms(sweep: Sweep, node: Node, x: Any, y: Any) -> Found:
    """The number added last is added to the one before."""
    if argument_of(x, "add") is None or not fits(x, node) or node.dtype.kind != "f":
        return None
    d = _number(y, node)
    for a, b in (x.args, x.args[::-1]):
        c = _number(b, node)
        if c is not None and d is not None and fits(a, node):
            return sweep.made("add", (a, c + d), node)
    return None


def _doubled(sweep: Sweep, node: Node) -> Found:
    x, y = node.args
    same = x is y and fits(x, node) and node.dtype.kind == "f"
    return sweep.made("multiply", (x, 2.0), node) if same else None


def _sum_of_multiples(sweep: Sweep, node: Node) -> Found:
    scaled = _factor(node.args[0]) if is_plain_sum(node) else None
    if scaled is None:
        return None
    total = sweep.made("sum", (scaled[0],), node, node.attrs)
    return sweep.made("multiply", (total, scaled[1]), node)


def _negated_difference(sweep: Sweep, node: Node) -> Found:
    inner = node.args[0]
    return sweep.made("subtract", (inner.args[1], inner.args[0]), node)


def _log_of_exp(sweep: Sweep, node: Node) -> Found:
    x = argument_of(node.args[0], "exp")
    return x if fits(x, node) else None


REASSOCIATE = (
    Rewrite(
        "two factors", "(x * c) * d = x * (c * d), also / and -", SCALED, (*SCALED, "negative"),
        _two_factors, REALS,
    ),
    Rewrite(
        "divided by a number", "x / c = x * (1 / c)", ("divide",), CONSTANT, _divided_by_number,
        REALS,
    ),
    Rewrite(
        "two terms", "(x + c) + d = x + (c + d)", ("add",), (NUMBER,), either_way(_two_terms), REALS
    ),
    Rewrite("doubled", "x + x = 2 * x", ("add",), SCALED, _doubled, REALS),
    Rewrite(
        "sum of multiples", "sum(c * x) = c * sum(x), also / and -", ("sum",),
        (*SCALED, "negative"), _sum_of_multiples, REALS,
    ),
    Rewrite(
        "negated difference", "-(a - b) = b - a", ("negative",), ("subtract",),
        _negated_difference, REALS,
    ),
    Rewrite("log of exp", "log(exp(x)) = x", ("log",), ("exp",), _log_of_exp, REALS),
)  # fmt: skip
