"""Seeing an array in another shape: views of views, views that change nothing, implied ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.core.spec import broadcast_shapes
from chainrule.optimise.algebra import Found, argument_of, fits
from chainrule.optimise.rewrite import ARRAY, SUMS, Rewrite, Sweep, is_elementwise

VIEWS = ("reshape", "broadcast_to", "transpose")


def axes_of(node: Node) -> tuple[int, ...]:
    """Where a transpose takes each of its axes from."""
    axes, n = node.attrs["axes"], node.ndim
    if axes is None:
        return tuple(reversed(range(n)))
    return tuple(int(a) % n for a in np.atleast_1d(axes))


def _same_view(sweep: Sweep, node: Node) -> Found:
    x = node.args[0]
    if not fits(x, node):
        return None
    if node.op.name == "transpose" and axes_of(node) != tuple(range(node.ndim)):
        return None
    return x if node.attrs.get("order", "C") == "C" else None


def _reshape_twice(sweep: Sweep, node: Node) -> Found:
    inner = node.args[0]
    x = argument_of(inner, "reshape")
    if not isinstance(x, Node) or node.attrs["order"] != "C" or inner.attrs["order"] != "C":
        return None
    return sweep.made("reshape", (x,), node, {"shape": node.shape})


def _broadcast_twice(sweep: Sweep, node: Node) -> Found:
    x = argument_of(node.args[0], "broadcast_to")
    if not isinstance(x, Node):
        return None
    return sweep.made("broadcast_to", (x,), node, {"shape": node.shape})


def _transpose_twice(sweep: Sweep, node: Node) -> Found:
    inner = node.args[0]
    x = argument_of(inner, "transpose")
    if not isinstance(x, Node):
        return None
    inside = axes_of(inner)
    return sweep.made("transpose", (x,), node, {"axes": tuple(inside[a] for a in axes_of(node))})


def _implied(sweep: Sweep, node: Node) -> Found:
    """An op that works lane by lane broadcasts its arguments itself."""
    args = node.args or ()
    smaller = [_smaller(sweep, a) for a in args]
    if all(s is None for s in smaller) or len(args) < 2 or not is_elementwise(node.op):
        return None
    made = list(args)
    for i, s in enumerate(smaller):
        others = [a for j, a in enumerate(made) if j != i]
        if s is None or _shape([*others, s]) != node.shape:
            continue
        if isinstance(s, Node) or any(isinstance(a, Node) for a in others):
            made[i] = s
    if all(a is b for a, b in zip(made, args, strict=True)):
        return None
    return sweep.made(node.op, made, node, node.attrs)


def _smaller(sweep: Sweep, argument: Any) -> Any:
    """What an argument is broadcast from: an array, or the number that a constant is everywhere."""
    if not isinstance(argument, Node):
        return None
    if argument.is_leaf:
        number = sweep.number(argument) if argument in sweep.constants else None
        return number if isinstance(number, np.generic) else None
    x = argument_of(argument, "broadcast_to")
    return x if isinstance(x, Node) else None


def _shape(args: list[Any]) -> tuple[int, ...]:
    return broadcast_shapes([np.shape(a) if not isinstance(a, Node) else a.shape for a in args])


# -- sums over axes --------------------------------------------------------------------------------


def is_plain_sum(x: Any) -> bool:
    """Whether this is a sum of everything along its axes, in the dtype of its terms."""
    if not isinstance(x, Node) or x.is_leaf or x.op.name != "sum":
        return False
    summed = x.args[0]
    plain = x.attrs["initial"] is None and x.attrs["where"] is True
    return plain and isinstance(summed, Node) and summed.dtype == x.dtype


def _kept_axes(sweep: Sweep, node: Node) -> Found:
    """A sum seen with the axes it lost is a sum that keeps them."""
    inner = node.args[0]
    if not is_plain_sum(inner) or inner.attrs["keepdims"] or node.attrs["order"] != "C":
        return None
    x, axis = inner.args[0], inner.attrs["axis"]
    gone = range(x.ndim) if axis is None else _listed(axis, x.ndim)
    if node.shape != tuple(1 if i in gone else n for i, n in enumerate(x.shape)):
        return None
    return sweep.made("sum", (x,), node, {**inner.attrs, "keepdims": True})


def _sum_of_one(sweep: Sweep, node: Node) -> Found:
    x = node.args[0]
    if not is_plain_sum(node) or x.size != node.size or x.size == 0:
        return None
    return sweep.made("reshape", (x,), node, {"shape": node.shape})


def _listed(axis: Any, ndim: int) -> list[int]:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return [int(a) % ndim for a in axes]


LAYOUT = (
    Rewrite(
        "same view",
        "reshape, broadcast_to, transpose to what x is already = x",
        VIEWS,
        (),
        _same_view,
    ),
    Rewrite(
        "reshape twice",
        "reshape(reshape(x)) = reshape(x)",
        ("reshape",),
        ("reshape",),
        _reshape_twice,
    ),
    Rewrite(
        "broadcast twice",
        "broadcast_to(broadcast_to(x)) = broadcast_to(x)",
        ("broadcast_to",),
        ("broadcast_to",),
        _broadcast_twice,
    ),
    Rewrite(
        "transpose twice",
        "transpose(transpose(x)) = transpose(x)",
        ("transpose",),
        ("transpose",),
        _transpose_twice,
    ),
    Rewrite(
        "implied broadcast",
        "broadcast_to(x) + y = x + y, also of other ops that work lane by lane; "
        "an array that is c in every lane is c",
        (),
        (ARRAY, "broadcast_to"),
        _implied,
    ),
    Rewrite(
        "kept axes",
        "reshape(sum(x, axis)) = sum(x, axis, keepdims=True)",
        ("reshape",),
        ("sum",),
        _kept_axes,
    ),
    Rewrite(
        "sum of one", "sum(x) over axes of size one = reshape(x)", ("sum",), (), _sum_of_one, SUMS
    ),
)
