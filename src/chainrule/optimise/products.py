"""Transposes and matrix products: a transpose of a product moves into its operands."""

from __future__ import annotations

from typing import Any

from chainrule.core.node import Node
from chainrule.optimise.algebra import Found, argument_of
from chainrule.optimise.layout import axes_of
from chainrule.optimise.rewrite import SUMS, Rewrite, Sweep


def _turns(node: Any) -> bool:
    """Whether a node swaps the last two axes and nothing else."""
    if argument_of(node, "transpose") is None or node.ndim < 2:
        return False
    n = node.ndim
    return axes_of(node) == (*range(n - 2), n - 1, n - 2)


def _transposed_product(sweep: Sweep, node: Node) -> Found:
    """Where an operand is a transpose, that one goes away, and the result needs none."""
    product = node.args[0]  # type: ignore[index]
    if argument_of(product, "matmul") is None or not _turns(node):
        return None
    x, y = product.args
    operands = (x, y)
    if not all(isinstance(a, Node) and a.ndim >= 2 for a in operands):
        return None
    if not (_turns(x) or _turns(y)):
        return None
    return sweep.made("matmul", (_turned(sweep, y), _turned(sweep, x)), node)


def _turned(sweep: Sweep, x: Node) -> Node:
    if _turns(x):
        inner: Node = x.args[0]  # type: ignore[index]
        return inner
    n = x.ndim
    axes = (*range(n - 2), n - 1, n - 2)
    shape = tuple(x.shape[a] for a in axes)
    return sweep.made("transpose", (x,), x, {"axes": axes}, shape)


PRODUCTS = (
    Rewrite(
        "transposed product",
        "(xᵀ y)ᵀ = yᵀ x",
        ("transpose",),
        ("matmul",),
        _transposed_product,
        SUMS,
    ),
)
