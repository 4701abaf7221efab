"""What a function under vmap takes from elsewhere must be the same for all lanes.

A random number, a clock or a counter would be read once and used by every lane.  So another lane is
recorded too, and what differs is refused: in every call where a recording has numbers that stand
neither in the code nor in what the code can reach, and else in the 1st, 2nd, 4th, 8th … call, as
what decides a branch or an index leaves no number behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from types import CodeType
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.node import Node
from chainrule.errors import ArgumentError
from chainrule.ops.structure import constant
from chainrule.record.lanes import LaneTrace, Read
from chainrule.record.specialise import equal

NUMBERS = (int, float, complex)
_calls: WeakKeyDictionary[CodeType, int] = WeakKeyDictionary()


def is_due(f: Callable[..., Any]) -> bool:
    """Whether this call of f compares two lanes, whatever its constants are."""
    code = getattr(innermost(f), "__code__", None)
    count = 0 if code is None else _calls.get(code, 0)
    return count & (count + 1) == 0


def called(f: Callable[..., Any]) -> None:
    """Count a call in which nothing was refused."""
    code = getattr(innermost(f), "__code__", None)
    if code is not None:
        _calls[code] = _calls.get(code, 0) + 1


def innermost(f: Callable[..., Any]) -> Callable[..., Any]:
    """The user's function within `cr.grad`, `functools.partial` and other wrappers."""
    while True:
        within = f.func if isinstance(f, partial) else getattr(f, "__wrapped__", None)
        if within is None:
            return f
        f = within


def refuse_what_varies(
    one: LaneTrace, other: LaneTrace, results: tuple[Sequence[Node], Sequence[Node]]
) -> None:
    """Refuse constants, indices and branches that are not alike in two lanes that read the same."""
    twins: dict[Node, Node] = dict(zip(one.leaves, other.leaves, strict=False))
    for mine, theirs in zip_longest(one.events, other.events):
        if isinstance(mine, Read) and isinstance(theirs, Read):
            if not mine.is_alike(theirs):
                return  # rounding has decided a branch
        elif isinstance(mine, Node) and isinstance(theirs, Node) and mine.op is theirs.op:
            _refuse_operands(mine, theirs, one, other, twins)
            twins[mine] = theirs
        else:
            _refuse_branch(mine if isinstance(mine, Node) else theirs)
    for mine, theirs in zip(*results, strict=False):
        if twins.get(mine, theirs) is not theirs:
            _refuse_branch(mine)
        x, y = (None if n.is_leaf else n.attrs.get("value") for n in (mine, theirs))
        if x is not None and y is not None and not _alike(x, y):
            _refuse(mine, x, y)


def _refuse_operands(
    mine: Node, theirs: Node, one: LaneTrace, other: LaneTrace, twins: dict[Node, Node]
) -> None:
    for a, b in zip(mine.args or (), theirs.args or (), strict=False):
        x, y = one.constant(a), other.constant(b)
        if x is not None and y is not None and not _alike(x, y):
            _refuse(mine, x, y)
        if isinstance(a, Node) and twins.get(a, b) is not b:
            _refuse_branch(mine)
    for name, x in mine.attrs.items():
        y = theirs.attrs.get(name, x)
        if not name.startswith("_") and _is_setting(x) and _is_setting(y) and not equal(x, y):
            _refuse(mine, x, y)


def _refuse(node: Node, x: Any, y: Any) -> NoReturn:
    what = "the result is" if node.op is constant else f"{node.op.name} is given"
    raise ArgumentError(
        f"vmap: {what} {_shown(x)} in one lane and {_shown(y)} in another, and neither comes from "
        "an argument: random numbers, a clock or a counter would be the same in every lane."
        f"{_where(node)}\n"
        "  draw random numbers before, for all lanes, and pass them as an argument."
    )


def _refuse_branch(node: Node | Read | None) -> NoReturn:
    raise ArgumentError(
        "vmap: one lane goes another way than another, and nothing that was read of an argument "
        "decides it: random numbers, a clock or a counter would be the same in every lane."
        f"{_where(node) if isinstance(node, Node) else ''}\n"
        "  draw random numbers before, for all lanes, and pass them as an argument."
    )


def _where(node: Node) -> str:
    return f"\n  {node.line.shown()}" if node.line else ""


def _is_setting(x: Any) -> bool:
    """Whether an attr is made of numbers, texts and slices: what else it may be is a function's."""
    if isinstance(x, (tuple, list)):
        return all(map(_is_setting, x))
    return x is None or isinstance(x, (int, float, complex, str, slice, np.generic, np.ndarray))


def _alike(x: Any, y: Any) -> bool:
    if np.shape(x) != np.shape(y):
        return True  # a shape that was read: not a matter of constants
    return bool(np.array_equal(x, y, equal_nan=getattr(x, "dtype", np.dtype(float)).kind in "fc"))


def _shown(value: Any) -> str:
    return repr(value) if np.ndim(value) == 0 else f"an array of shape {np.shape(value)}"


def reachable(f: Callable[..., Any]) -> Iterator[Any]:
    """What the code of f names outside of it: its closure and its globals, containers opened."""
    f = innermost(f)
    code, scope = getattr(f, "__code__", None), getattr(f, "__globals__", {})
    if code is None:
        return
    for cell in f.__closure__ or ():
        try:
            yield from flatten(cell.cell_contents)[0]
        except ValueError:  # an empty cell
            continue
    yield from (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
    yield from getattr(getattr(f, "__self__", None), "__dict__", {}).values()
    for name in code.co_names:
        if name in scope:
            yield from flatten(scope[name])[0]


def may_vary(trace: LaneTrace, f: Callable[..., Any]) -> bool:
    """Whether a recording has constants of which it is not known where they are from."""
    known: set[int] | None = None
    for event in trace.events:
        if isinstance(event, Read):
            continue
        consts = getattr(event.code, "co_consts", ())
        literals = [c for c in consts if isinstance(c, (int, float, complex))]
        for arg in event.args or ():
            value = trace.original(arg) if isinstance(arg, Node) else arg
            if not isinstance(value, (float, complex, np.generic, np.ndarray)):
                continue
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                continue
            if not isinstance(value, np.ndarray) and any(
                type(c) in NUMBERS and c == value for c in literals
            ):
                continue
            if known is None:
                known = {id(v) for v in reachable(f)}
            if id(value) not in known:
                return True
    return False
