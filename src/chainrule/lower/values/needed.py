"""Which elements of a value are read by anything that the outputs depend on.

A value is read in part where all that is made of it is taken, or scattered, at constant positions
of which only some are read on, or chosen by a constant condition.  None says that all is read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chainrule.lower.values.value import Access, Value, ordered
from chainrule.lower.values.zeros import MAX_ELEMENTS, MAX_VALUES, Truth, Zeros, indices, read

ELEMENTWISE = ("map", "reshape", "scatter", "join")


class Readers:
    """Who reads which value of a program."""

    def __init__(self, outputs: Sequence[Value], zeros: Zeros):
        self.order = ordered(list(outputs))
        self.outputs = set(outputs)
        self.zeros = zeros
        self.of: dict[Value, list[tuple[Value, int]]] = {}
        for v in self.order:
            for i, (a, _) in enumerate(v.args):
                self.of.setdefault(a, []).append((v, i))

    def needed(self, value: Value) -> Truth:
        """Which elements of a value are read; None for all of them."""
        below = self._below(value)
        if below is None:
            return None
        found: dict[Value, Truth] = {}
        for v in reversed(below):
            found[v] = self._needed(v, found)
        return found[value]

    def _below(self, value: Value) -> list[Value] | None:
        """What is made of a value element by element, in order; None where all is read anyway."""
        entered = {value}
        stack, selective = [value], False
        while stack:
            v = stack.pop()
            if v in self.outputs or len(entered) > MAX_VALUES or v.size > MAX_ELEMENTS:
                return None
            for reader, _ in self.of.get(v, ()):
                selective = selective or reader.params == "take" or reader.kind == "scatter"
                selective = selective or reader.params == "where"
                if reader not in entered and self._passed_on(reader):
                    entered.add(reader)
                    stack.append(reader)
        return sorted(entered, key=lambda v: v.number) if selective else None

    def _passed_on(self, reader: Value) -> bool:
        """Whether a reader may itself be read in part only."""
        return reader not in self.outputs and reader.kind in ELEMENTWISE

    def _needed(self, v: Value, found: dict[Value, Truth]) -> Truth:
        if v in self.outputs:
            return None
        wanted = np.zeros(v.dims, bool)
        for reader, i in self.of.get(v, ()):
            if reader.kind not in ELEMENTWISE:
                return None
            beyond = found.get(reader)
            whole = np.ones(reader.dims, bool) if beyond is None else beyond
            if not self._mark(wanted, reader, i, whole):
                return None
        return None if wanted.all() else wanted

    def _mark(self, wanted: np.ndarray, reader: Value, i: int, beyond: np.ndarray) -> bool:
        """Mark what one reader needs, of which `beyond` is read; False if that is not known."""
        flat, access = wanted.reshape(-1), reader.args[i][1]
        if reader.kind == "reshape":
            flat |= beyond.reshape(-1)
        elif reader.kind == "join":
            return self._mark_joined(wanted, reader, i, beyond)
        elif reader.kind == "scatter" or (reader.params == "take" and i == 0):
            positions = self.zeros.known(reader.args[1][0])
            if i == 1 or positions is None:
                return False
            if reader.params == "take":
                flat[read(positions, reader.args[1][1], reader.dims)[beyond]] = True
            elif i == 0:
                flat |= beyond.reshape(-1)[positions.reshape(-1)]
            else:
                flat |= beyond.reshape(-1)
        else:
            if reader.params == "where" and i > 0:
                condition = self.zeros.known(reader.args[0][0])
                if condition is not None:
                    beyond = beyond & (read(condition, reader.args[0][1], reader.dims) == (i == 1))
            _add_at(wanted, access, beyond)
        return True

    @staticmethod
    def _mark_joined(wanted: np.ndarray, reader: Value, i: int, beyond: np.ndarray) -> bool:
        has_base, regions, _ = reader.params
        _, access = reader.args[i]
        if has_base and i == 0:
            _add_at(wanted, access, beyond)
        else:
            dims, region = regions[i - has_base]
            _add_at(wanted, access, beyond[indices(region, dims)])
        return True


def _add_at(wanted: np.ndarray, access: Access, beyond: np.ndarray) -> None:
    """Mark what is read at an access by those elements that are themselves read."""
    if not access:
        wanted[...] |= bool(beyond.any())
        return
    at = np.broadcast_arrays(*indices(access, beyond.shape))
    wanted[tuple(np.broadcast_to(index, beyond.shape)[beyond] for index in at)] = True
