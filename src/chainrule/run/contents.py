"""Noticing that arrays outside a compiled function hold other numbers than when it was recorded.

An array that meets a Variable is an input, and read anew in every call.  But plain NumPy may also
have computed with it (`x * table.max()`), and then a number of it is a constant of the recording.
Which of the two it was is found out when it first changes: the function is recorded again, and if
that gives the same graph, the array's numbers are in no constant and it is not looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.record.variable import Variable
from chainrule.record.watch import fingerprint

LARGE = 2**16  # bytes from which on only a sample is compared
SAMPLE = 256  # numbers


class Contents:
    """Arrays, and what they held; Variables, and the nodes they had."""

    def __init__(self, arrays: Iterable[np.ndarray], variables: Sequence[tuple[Variable, Node]]):
        self.marks = [(array, _mark(array)) for array in arrays if array.dtype.kind in "fciub"]
        self.variables = variables

    def __bool__(self) -> bool:
        return bool(self.marks or self.variables)

    def changed(self) -> bool:
        """Whether any holds something else now."""
        if any(variable.node is not node for variable, node in self.variables):
            return True
        return any(_mark(array) != mark for array, mark in self.marks)

    def forgive(self) -> None:
        """Forget those that have changed: nothing rests on what they hold."""
        self.marks[:] = [(array, mark) for array, mark in self.marks if _mark(array) == mark]


def _mark(array: np.ndarray) -> Any:
    if array.nbytes <= LARGE:
        return fingerprint(array)
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    return flat[:: max(array.size // SAMPLE, 1)].tobytes()
