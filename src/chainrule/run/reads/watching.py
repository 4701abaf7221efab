"""Running a recording while everything that the user's code reads outside is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from chainrule.record.state import NOT_THE_USER, recording, user_frame
from chainrule.run.bindings import Binding
from chainrule.run.reads.contents import Reads
from chainrule.run.reads.hook import hooked
from chainrule.run.reads.instructions import Watcher
from chainrule.run.reads.log import RAISING, Stop


def called_first(reads: Reads, f: Any) -> None:
    """A function that is called by us, not by code that is watched."""
    while isinstance(f, partial):
        reads.partial(f)
        f = f.func
    f = f.__func__ if isinstance(f, MethodType) else f
    if isinstance(f, FunctionType):
        reads.function(f)
    else:
        reads.specials(type(f))


class Watched:
    """One call that is watched, from the function and the objects among its arguments."""

    def __init__(self, roots: Iterable[Any], probe: bool = False):
        self.reads = Reads(roots, probe)
        for root in list(self.reads.outside.values()):
            called_first(self.reads, root)

    @property
    def gave_up(self) -> Stop | None:
        return self.reads.gave_up

    def holds(self, array: np.ndarray) -> bool:
        return self.reads.holds(array)

    def refuse(self, what: str) -> None:
        """The user's code does what a compiled function cannot do."""
        self.reads.stop(user_frame(2, NOT_THE_USER), what)

    def run(self, f: Callable[[], Any]) -> Any:
        if RAISING & set(np.geterr().values()):
            self.reads.stop(user_frame(1, NOT_THE_USER), "is called where NumPy raises errors")
        # What NumPy warns of, it has said in the call itself: recording is silent.
        silent = nullcontext() if self.reads.probe else np.errstate(all="ignore")
        with recording(watched=True), silent:
            return hooked(Watcher(self.reads), f)

    def bindings(self, leaves: Mapping[int, tuple[Any, np.ndarray]]) -> list[Binding]:
        """What must be bound as it was.

        An array that NumPy was given beside a Variable is a leaf and read anew; one that is not,
        being a setting as the axes of a transposition are, was read here.
        """
        for array in self.reads.beside.values():
            inputs = (leaf for _, leaf in leaves.values())
            if not any(np.may_share_memory(array, leaf) for leaf in inputs):
                self.reads.array(array)
        return list(self.reads.bindings.values())
