"""What an op does to a gradient that passes back through it, and how its gate is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chainrule.core.loop import Body
from chainrule.core.node import Node
from chainrule.core.op import Gate, Multilinear, Op, Partials
from chainrule.core.rule import parameters_of
from chainrule.core.slot import Slot
from chainrule.core.text import value_text

LONGEST_CONSTANT = 8  # characters of a constant that a gate shows
INDEXED = "x[i]"  # the symbol of an op that reads at an index, its `template`


def gate_of(op: Op) -> str:
    """What the op does to a gradient passing back: distributes it, swaps factors, or routes it."""
    derivative = op.derivative
    if isinstance(derivative, Multilinear):
        return "swaps"
    if isinstance(derivative, Partials):
        factors = [f for f in derivative.factors if f is not None]
        if any(isinstance(f, Gate) for f in factors):
            return "routes"
        if all(isinstance(f, int) for f in factors):
            return "distributes"
        if len(factors) == 2 and [parameters_of(f) for f in factors] == [["y"], ["x"]]:
            return "swaps"
    return ""


def symbol_of(node: Node, named: Mapping[Node, str]) -> str:
    """The op of a node as mathematics writes it, with the number it is applied to: `×`, `^2`.

    `named` are the names of nodes that a picture shows: `q[0:3]`, of one without a name `[0:3]`.
    """
    op = node.op
    args: tuple[Any, ...] = node.args or ()
    symbol = op.symbol or op.name
    if symbol == INDEXED:
        of, *arrays = args
        parts = [_index_text(part, arrays) for part in node.attrs["template"]]
        return f"{named.get(of, '') if isinstance(of, Node) else ''}[{', '.join(parts)}]"
    body = node.attrs.get("body")
    if isinstance(body, Body):
        return f"{symbol} ×{body.count:,}"
    constants = [a for a in args if not isinstance(a, Node)]
    if len(args) != 2 or len(constants) != 1 or not op.symbol or np.ndim(constants[0]):
        return symbol
    text = value_text(constants[0]).removesuffix(".0")
    if len(text) > LONGEST_CONSTANT:
        return symbol
    apart = " " if symbol.isalpha() else ""
    return f"{symbol}{apart}{text}" if isinstance(args[0], Node) else f"{text}{apart}{symbol}"


def _index_text(part: Any, arrays: Sequence[Any]) -> str:
    """One part of an index; an array in it where it is a constant of a few numbers."""
    if not isinstance(part, Slot):
        return value_text(part)
    array = arrays[part.k]
    text = "…" if isinstance(array, Node) else value_text(array)
    return text if len(text) <= LONGEST_CONSTANT else "…"
