"""Noticing that arrays outside a compiled function hold other numbers than when it was recorded.

An array that meets a Variable is an input, and read anew in every call.  But plain NumPy may also
have computed with it (`x * table.max()`), and then a number of it is a constant of the recording.
So a change of any array is noticed, and the function recorded again.  Where that gives the same
graph although every number of an input has changed, the array is in no constant and is not looked
at again.  What is no input is compared whole in every call; of a large input a sample is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from chainrule.core.node import Node
from chainrule.record.variable import Variable
from chainrule.record.watch import fingerprint

SAMPLE = 512  # numbers of an input that are compared


class Held:
    """One array, and what it held."""

    def __init__(self, array: np.ndarray, is_input: bool):
        self.array, self.is_input = array, is_input
        self.renew()

    def renew(self) -> None:
        self.mark: Any = self._now()

    def _now(self) -> Any:
        if not self.is_input:
            return fingerprint(self.array)
        step = max(self.array.size // SAMPLE, 1)
        return np.array(self.array.flat[::step] if step > 1 else self.array)

    def changed(self) -> bool:
        now = self._now()
        if not self.is_input:
            return bool(now != self.mark)
        return now.shape != self.mark.shape or now.tobytes() != self.mark.tobytes()

    def all_changed(self) -> bool:
        """Whether no number of an input that is compared is what it was."""
        now = self._now()
        return self.is_input and (now.shape != self.mark.shape or not np.any(now == self.mark))


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
        if any(variable.node is not node for variable, node in self.variables):
            return True
        return any(held.changed() for held in self.held)

    def forgive(self) -> None:
        """The recording is the same: forget inputs that are other numbers throughout."""
        self.held[:] = [held for held in self.held if not held.all_changed()]
        for held in self.held:
            held.renew()
