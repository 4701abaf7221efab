"""Vectorised mathematical functions as LLVM IR text, the same bits for every number of lanes."""

from chainrule.lower.maths.catalogue import (
    FUNCTIONS,
    Definitions,
    Function,
    definitions,
    function_name,
)

__all__ = ["Definitions", "FUNCTIONS", "Function", "definitions", "function_name"]
