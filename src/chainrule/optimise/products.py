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
    """Where one operand alone is transposed, BLAS takes that as a flag, and nothing is won."""
    product = node.args[0]
    x, y = product.args
    if not (_turns(node) and _turns(x) and _turns(y)):
        return None
    return sweep.made("matmul", (y.args[0], x.args[0]), node)


PRODUCTS = (
    Rewrite(
        "transposed product",
        "(xᵀ yᵀ)ᵀ = y x",
        ("transpose",),
        ("matmul",),
        _transposed_product,
        SUMS,
    ),
)
