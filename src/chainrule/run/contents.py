"""Noticing that arrays outside a compiled function hold other numbers than when it was recorded.

An array that meets a Variable is an input, and read anew in every call.  But plain NumPy may also
have computed with it (`x * table.max()`), and then a number of it is a constant of the recording.
So a change of any array is noticed, and the function recorded again.  Where that gives the same
graph although every number of an input has changed, the array is in no constant and is not looked
at again.  What is no input is compared whole in every call; of a large input a sample is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.record.variable import Variable
from chainrule.record.watch import SMALL, fingerprint

SAMPLE = 512  # numbers of an input that are compared


def _reader(array: np.ndarray, is_input: bool) -> Callable[[], Any]:
    """What gives the bytes that are compared, in as little time as can be: it is in every call."""
    if array.nbytes <= SMALL:
        return array.tobytes
    if not is_input:
        return partial(fingerprint, array)
    step = max(array.size // SAMPLE, 1)
    if array.flags.c_contiguous:
        return array.reshape(-1)[::step].tobytes
    return lambda: array.flat[::step].tobytes()


class Held:
    """One array, and what it held."""

    def __init__(self, array: np.ndarray, is_input: bool):
        self.dtype, self.is_input = array.dtype, is_input
        self.read = _reader(array, is_input)
        self.mark: Any = self.read()

    def all_changed(self) -> bool:
        """Whether no number of an input that is compared is what it was."""
        if not self.is_input:
            return False
        now, then = (np.frombuffer(held, self.dtype) for held in (self.read(), self.mark))
        return now.size != then.size or not np.any(now == then)


class Contents:
    """Arrays, and what they held; Variables, and the nodes they had."""

    def __init__(
        self,
        arrays: Iterable[np.ndarray],
        inputs: Sequence[np.ndarray],
        variables: Sequence[tuple[Variable, Node]],
    ):
        self.held = [
            Held(a, any(np.may_share_memory(a, b) for b in inputs))
            for a in arrays
            if a.dtype.kind in "fciub" and a.size
        ]
        self.variables = variables

    def __bool__(self) -> bool:
        return bool(self.held or self.variables)

    def changed(self) -> bool:
        """Whether any holds something else now."""
        for variable, node in self.variables:
            if variable.node is not node:
                return True
        for held in self.held:  # noqa: SIM110 - a generator takes longer than what it compares
            if held.read() != held.mark:
                return True
        return False

    def forgive(self) -> None:
        """The recording is the same: forget inputs that are other numbers throughout."""
        self.held[:] = [held for held in self.held if not held.all_changed()]
        for held in self.held:
            held.mark = held.read()
