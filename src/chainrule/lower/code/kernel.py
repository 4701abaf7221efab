"""A kernel as a function of machine code."""

from __future__ import annotations

from chainrule.lower.code.emit import Emitter
from chainrule.lower.code.lanes import Frame
from chainrule.lower.code.lines import Code
from chainrule.lower.code.row_sums import RowSums
from chainrule.lower.plan.loops import Nest


def kernel_function(name: str, nest: Nest, frame: Frame) -> Code:
    """The code of a function that computes one kernel, or one tile of it."""
    over_tiles = any(fold.value in frame.totals for fold in nest.folds)
    emitter = (Emitter if nest.abreast == 1 or over_tiles else RowSums)(nest, frame)
    emitter.run()
    emitter.code.as_step(name)
    return emitter.code
