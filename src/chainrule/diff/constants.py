"""What a function under vmap takes from elsewhere than its arguments must be the same for all lanes.

A random number, a clock or a counter would be read once and used by every lane.  So where a
recording has numbers that stand neither in the code nor in what the code can reach, another lane is
recorded too, and what differs is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.node import Node
from chainrule.errors import ArgumentError
from chainrule.record.lanes import LaneTrace, Read


def refuse_what_varies(one: LaneTrace, other: LaneTrace) -> None:
    """Refuse constants that are not alike in two lanes that branch alike."""
    for mine, theirs in zip(one.events, other.events, strict=False):
        if isinstance(mine, Read) or isinstance(theirs, Read):
            if type(mine) is not type(theirs):
                return
            continue
        if mine.op is not theirs.op or mine.shape != theirs.shape:
            return  # rounding has decided a branch
        for a, b in zip(mine.args or (), theirs.args or (), strict=True):
            x, y = one.constant(a), other.constant(b)
            if x is not None and y is not None and not _alike(x, y):
                where = f"\n  {mine.line.shown()}" if mine.line else ""
                raise ArgumentError(
                    f"vmap: {mine.op.name} is given {_shown(x)} in one lane and {_shown(y)} in "
                    "another, and neither comes from an argument: random numbers, a clock or a "
                    f"counter would be the same in every lane.{where}\n"
                    "  draw random numbers before, for all lanes, and pass them as an argument."
                )


def _alike(x: Any, y: Any) -> bool:
    if np.shape(x) != np.shape(y):
        return True  # a shape that was read: not a matter of constants
    return bool(np.array_equal(x, y, equal_nan=getattr(x, "dtype", np.dtype(float)).kind in "fc"))


def _shown(value: Any) -> str:
    return repr(value) if np.ndim(value) == 0 else f"an array of shape {np.shape(value)}"


def reachable(f: Callable[..., Any]) -> Iterator[Any]:
    """What the code of f names outside of it: its closure and its globals, containers opened."""
    code, scope = getattr(f, "__code__", None), getattr(f, "__globals__", {})
    if code is None:
        return
    for cell in f.__closure__ or ():
        try:
            yield from flatten(cell.cell_contents)[0]
        except ValueError:  # an empty cell
            continue
    for name in code.co_names:
        if name in scope:
            yield from flatten(scope[name])[0]


def may_vary(trace: LaneTrace, f: Callable[..., Any]) -> bool:
    """Whether a recording has constants of which it is not known where they are from."""
    if trace.merges:
        return False
    known: set[int] | None = None
    for event in trace.events:
        if isinstance(event, Read):
            continue
        literals = getattr(event.code, "co_consts", ())
        for arg in event.args or ():
            value = trace.original(arg) if isinstance(arg, Node) else arg
            if not isinstance(value, (float, complex, np.generic, np.ndarray)):
                continue
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                continue
            if not isinstance(value, np.ndarray) and value in literals:
                continue
            if known is None:
                known = {id(v) for v in reachable(f)}
            if id(value) not in known:
                return True
    return False
