"""Every operation, one family per file; importing this package fills the table `OPS`."""

from chainrule.ops import (
    activation,
    arithmetic,
    comparison,
    exponential,
    fourier,
    hyperbolic,
    indexing,
    joining,
    reductions,
    rounding,
    selection,
    shape,
    structure,
    trigonometric,
)

__all__ = [
    "activation",
    "arithmetic",
    "comparison",
    "exponential",
    "fourier",
    "hyperbolic",
    "indexing",
    "joining",
    "reductions",
    "rounding",
    "selection",
    "shape",
    "structure",
    "trigonometric",
]
