"""Every operation, one family per file; importing this package fills the table `OPS`."""

from chainrule.ops import (
    arithmetic,
    comparison,
    indexing,
    joining,
    reductions,
    selection,
    shape,
    structure,
)

__all__ = [
    "arithmetic",
    "comparison",
    "indexing",
    "joining",
    "reductions",
    "selection",
    "shape",
    "structure",
]
