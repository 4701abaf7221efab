"""What the gradient checker says: which derivative is wrong, where, and where to look for why."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import Node
from chainrule.explain.gap import gap
from chainrule.explain.nonfinite import NonFinite

NOT_A_FUNCTION = (
    "the derivative is wrong as a whole: at one point the function gives two values.\n"
    "  look at what it depends on besides its arguments: random numbers, state.  Draw random\n"
    "  numbers from a generator made inside (np.random.default_rng(0)), or pass them in."
)


def named(node: Node) -> str:
    """An op and its line."""
    where = f" at {node.line.shown()}" if node.line else ""
    return f"{node.op.name}{where}"


def not_finite_text(order: int, mode: str, trouble: NonFinite) -> str:
    """A derivative, or a value, that is NaN or infinite: nothing can be checked."""
    gradients = [r for r in trouble.results if r.what == "gradient"]
    values = not gradients
    what = "the value of the function" if values else f"the derivative of order {order}"
    gives = "" if values else f": {mode} mode gives {gradients[0].kind.lower()}"
    text = f"{what} is not finite{gives}, and differences say nothing here.\n"
    first = trouble.first
    if first is not None and first.node.rule is not None:
        text += f"  it begins with {named(first.node)}\n"
    text += "\n".join(f"  {line}" for line in str(trouble).splitlines())
    if order > 1:
        text += (
            f"\n  the derivatives below order {order} are finite: order={order - 1} checks them."
        )
    return text


def wrong_rule(order: int, numbers: str, mode: str, node: Node, position: int) -> str:
    """One rule disagrees with the differences of its own op."""
    op = node.op
    name = f"input {position}" if op.variadic else f"input {op.inputs[position]!r}"
    where = f"\n  {node.line.shown()}" if node.line else ""
    what = f"the {mode} rule of {op.name} with respect to {name} is wrong (order {order})"
    return f"{what}: {numbers}.{where}"


def wrong_at_kink(order: int, numbers: str, node: Node) -> str:
    return (
        f"the derivative of order {order} is not between the slopes on both sides: {numbers}.\n"
        f"  the function is at a kink, or jumps: {named(node)}."
    )


def wrong_whole(order: int, numbers: str, here: Graph, there: Graph | None) -> str:
    """Every rule agrees with differences: then something is not recorded.

    `there` is the function recorded a step away.  What was recorded as a constant, and is another
    one there, depends on the input without a derivative.
    """
    text = f"the derivative of order {order} is wrong as a whole: {numbers}.\n"
    text += "  every rule agrees with differences on its own edge"
    lost = None if there is None else _changed_constant(here, there)
    if lost is not None:
        return text + (
            f", but this line reads a number that\n"
            f"  changes with the input and is not recorded:\n    {named(lost)}\n"
            "  compute it from the Variable itself, not from x.value, float(x) or a copy kept\n"
            "  from an earlier call."
        )
    stopped = [n for n in here.nodes if n.rule is not None and n.op.name == "stop_gradient"]
    if stopped:
        return text + (
            f", but a stop_gradient drops a part of it:\n    {named(stopped[0])}\n"
            "  leave it out, or do not expect the whole derivative."
        )
    return text + (
        ": look at functions whose value\n"
        "  depends on something else than their arguments, as a file, a clock or a cache."
    )


def _changed_constant(here: Graph, there: Graph) -> Node | None:
    """The first node with an operand that is a constant, and another one a step away."""
    for a, b in zip(here.nodes, there.nodes, strict=False):
        if a.rule is None or b.rule is None:
            continue
        if a.op is not b.op and a.op.name != b.op.name:
            return None  # another branch
        for p, q in zip(a.args or (), b.args or (), strict=False):
            if isinstance(p, Node) or isinstance(q, Node):
                continue
            if _is_number(p) and _is_number(q) and gap(p, q) is not None:
                return a
    return None


def _is_number(value: Any) -> bool:
    return not isinstance(value, tuple) and np.asarray(value).dtype.kind in "fc"
