"""Choices that are known, and the logic around them: `where`, and, or, not."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.optimise.algebra import Found, argument_of, either_way, fits, is_number
from chainrule.optimise.rewrite import CONSTANT, Rewrite, Sweep

AND, OR, NOT = (
    ("logical_and", "bitwise_and"),
    ("logical_or", "bitwise_or"),
    ("logical_not", "invert"),
)


def _known_choice(sweep: Sweep, node: Node) -> Found:
    condition, x, y = node.args
    truth = sweep.number(condition)
    if truth is None:
        return None
    chosen = x if truth else y
    if fits(chosen, node):
        return chosen
    if isinstance(chosen, Node) and chosen.dtype == node.dtype:
        return sweep.made("broadcast_to", (chosen,), node, {"shape": node.shape})
    number = sweep.number(chosen)
    if number is None:
        return None
    return sweep.constant(np.broadcast_to(np.asarray(number, node.dtype), node.shape))


def _no_choice(sweep: Sweep, node: Node) -> Found:
    _, x, y = node.args
    return x if x is y and fits(x, node) else None


def _choice_of_not(sweep: Sweep, node: Node) -> Found:
    condition, x, y = node.args
    for op in NOT:
        other = argument_of(condition, op)
        if other is not None and other.dtype == bool:
            return sweep.made("where", (other, y, x), node)
    return None


def _unless_zero(sweep: Sweep, node: Node) -> Found:
    """Only -0.0 is changed, and it is by adding 0.0 too."""
    condition, x, zero = node.args
    if argument_of(condition, "not_equal") is not x or not fits(x, node) or node.dtype.kind != "f":
        return None
    if is_number(sweep.number(condition.args[1]), 0.0) and is_number(sweep.number(zero), 0.0):
        return sweep.made("add", (x, 0.0), node)
    return None


def _known_and(sweep: Sweep, node: Node, x: Any, y: Any) -> Found:
    truth = _truth(sweep, y)
    if truth is None or node.dtype != bool:
        return None
    if truth:
        return x if fits(x, node) else None
    return sweep.constant(np.broadcast_to(np.False_, node.shape))


def _known_or(sweep: Sweep, node: Node, x: Any, y: Any) -> Found:
    truth = _truth(sweep, y)
    if truth is None or node.dtype != bool:
        return None
    if not truth:
        return x if fits(x, node) else None
    return sweep.constant(np.broadcast_to(np.True_, node.shape))


def _truth(sweep: Sweep, x: Any) -> bool | None:
    number = sweep.number(x)
    return bool(number) if isinstance(number, (bool, np.bool_)) else None


def _not_not(sweep: Sweep, node: Node) -> Found:
    for op in NOT:
        x = argument_of(node.args[0], op)
        if x is not None and fits(x, node) and node.dtype == bool:
            return x
    return None


def _finite_and_infinite(sweep: Sweep, node: Node, x: Any, y: Any) -> Found:
    """A derivative asks this of a number; it is never true."""
    subject = argument_of(y, "isinf")
    if subject is None or argument_of(x, "equal") is None:
        return None
    others = [a for a in x.args if a is not subject]
    number = sweep.number(others[0]) if len(others) == 1 else None
    if number is None or not np.isfinite(number):
        return None
    return sweep.constant(np.broadcast_to(np.False_, node.shape))


CHOICES = (
    Rewrite(
        "known choice",
        "where(true, x, y) = x, where(false, x, y) = y",
        ("where",),
        CONSTANT,
        _known_choice,
    ),
    Rewrite("no choice", "where(c, x, x) = x", ("where",), (), _no_choice),
    Rewrite(
        "choice of not", "where(not c, x, y) = where(c, y, x)", ("where",), NOT, _choice_of_not
    ),
    Rewrite("unless zero", "where(x != 0, x, 0) = x + 0", ("where",), ("not_equal",), _unless_zero),
    Rewrite(
        "known and", "x and true = x, x and false = false", AND, CONSTANT, either_way(_known_and)
    ),
    Rewrite("known or", "x or false = x, x or true = true", OR, CONSTANT, either_way(_known_or)),
    Rewrite("not not", "not not x = x", NOT, NOT, _not_not),
    Rewrite(
        "finite and infinite",
        "(x == c) and isinf(x) = false, for a finite c",
        AND,
        ("isinf",),
        either_way(_finite_and_infinite),
    ),
)
