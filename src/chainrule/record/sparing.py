"""Recording within a budget of memory: values are kept while they fit, and then none is.

The graph alone remains, with the size of every value, from which it can be run again in parts.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from chainrule.core.memory_size import shown
from chainrule.core.node import Node, line_at
from chainrule.errors import MemoryBudgetError, MutationError
from chainrule.record.state import user_line
from chainrule.record.trace import Trace
from chainrule.record.variable import Variable
from chainrule.record.watch import fingerprint

NODE_BYTES = 900  # of a recorded node and what belongs to it, at most
MAX_HELD = 10_000  # objects that a function holds which are looked at


class SparingTrace(Trace):
    """A trace that counts the bytes of all values alive, and lets go of what rules read in time."""

    recomputes = True  # what a loop would keep for its derivative is computed again

    def __init__(self, budget: int, f: Callable[..., Any], args: Iterable[Any], reserve: int = 0):
        super().__init__()
        self.budget, self.reserve = budget, reserve  # of which so much is for what comes after
        self.keeps = True  # what rules read
        self.recorded: list[Node] = []
        self.sizes: dict[Node, int] = {}
        self.owners: dict[Node, Node | None] = {}  # in whose memory the value of a node lies
        self.alive = self.peak = self.largest = 0
        self.constants = 0  # bytes
        self.seen: dict[int, tuple[np.ndarray, Any, Any]] = {}  # arrays of outside: marks, lines
        self._roots: dict[int, tuple[Any, Node | None]] = {}
        self._outside = {id(root(a)) for a in arrays_of((f, *args))}
        self.wanted = 0  # inputs of transforms
        self.inner: int | None = None  # from which node on a transform inside reads what is kept

    # -- what is there -----------------------------------------------------------------------------

    def adopt(self, variable: Variable) -> Variable:
        found = super().adopt(variable)
        if type(variable._value) is np.ndarray:
            self._own(root(variable._value), variable.node)
        return found

    def want(self, variable: Variable) -> Variable:
        if self.inner is None and self.recorded:
            self.inner = len(self.recorded)
        return variable

    def operand(self, arg: Any) -> Any:
        if type(arg) is not np.ndarray:
            return super().operand(arg)
        mark = fingerprint(arg)
        known = self.seen.get(id(arg))
        if known is None:
            self.seen[id(arg)] = arg, mark, user_line()
            if id(root(arg)) not in self._outside:
                self._outside.add(id(root(arg)))
                self.constants += root(arg).nbytes
        elif known[1] != mark:
            self._changed(*known)
        return arg

    def check(self) -> None:
        """Raise where an array that was read has been changed since."""
        for array, mark, line in self.seen.values():
            if fingerprint(array) != mark:
                self._changed(array, mark, line)

    def _changed(self, array: np.ndarray, mark: Any, line: Any) -> None:
        raise MutationError(
            "an array was changed after it was used, and within a budget of memory what was "
            "computed of it\n  may have to be computed again.\n"
            f"  used      {line_at(*line).shown()}: {array.dtype.name} {array.shape}\n"
            "  pass a copy of it, or change it outside of the function that is differentiated."
        )

    def noted(self, node: Node, value: Any) -> Node:
        found = super().noted(node, value)
        self.recorded.append(node)
        self._measure(node, value)
        self.largest = max(self.largest, self.sizes[node])
        if self.used + (2 * self.largest if self.keeps else 0) > self.budget - self.reserve:
            self._over()
        if not self.keeps and self.inner is None:
            let_go(node)
        return found

    def _measure(self, node: Node, value: Any) -> None:
        size = 0
        owner: Node | None = node
        for part in value if type(value) is tuple else (value,):
            if type(part) is not np.ndarray:
                size += 32
                continue
            base = root(part)
            known = self._roots.get(id(base))
            if known is None:
                size += base.nbytes + 112
                self._own(base, node)
            elif len(node.args or ()) and type(value) is not tuple:
                owner = known[1]
        self.sizes[node] = size
        self.owners[node] = owner

    def _own(self, array: np.ndarray, node: Node | None) -> None:
        key, size, roots = id(array), array.nbytes, self._roots
        trace = weakref.ref(self)

        def gone(_: Any) -> None:
            roots.pop(key, None)
            alive = trace()
            if alive is not None:
                alive.alive -= size

        roots[key] = weakref.ref(array, gone), node
        self.alive += size
        self.peak = max(self.peak, self.alive)

    @property
    def used(self) -> int:
        """The bytes in use now."""
        return self.alive + self.constants + NODE_BYTES * len(self.recorded)

    def _over(self) -> None:
        if self.keeps:
            self.keeps = False
            for node in self.recorded[: self.inner]:
                let_go(node)
        least = self.used + self.reserve
        if least > self.budget:
            line = self.recorded[-1].line
            where = f"\n  {line.shown()}" if line else ""
            raise MemoryBudgetError(
                f"the function cannot be differentiated below {shown(least)}, and the budget "
                f"is {shown(self.budget)}: it\n  holds {shown(self.alive + self.constants)} here "
                f"already, in {len(self.recorded):,} values recorded so far, with nothing kept for "
                f"the derivative.{where}\n"
                "  give it more, or let go of what is not needed (lists of results, large "
                "constants); a long Python loop\n  takes less as cr.scan.",
                least,
            )


def let_go(node: Node) -> None:
    """Drop what a node keeps for its rule."""
    node.release()
    ran = node.attrs.get("_ran")  # what a user's own operation has left for its backward
    if ran:
        ran.clear()


def root(array: Any) -> Any:
    """The array in whose memory this one lies."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def arrays_of(held: Iterable[Any]) -> Iterator[np.ndarray]:
    """The arrays that a function and its arguments hold: what was there before the call."""
    pending, seen = list(held), set[int]()
    while pending and len(seen) < MAX_HELD:
        at = pending.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        if isinstance(at, np.ndarray):
            yield at
        elif isinstance(at, Variable):
            if isinstance(at._value, np.ndarray):
                yield at._value
        elif isinstance(at, dict):
            pending += at.values()
        elif isinstance(at, (list, tuple, set)):
            pending += at
        elif not isinstance(at, (type, str, bytes, int, float)):
            pending += _inside(at)


def _inside(at: Any) -> list[Any]:
    found = [
        getattr(at, name, None) for name in ("__wrapped__", "__self__", "__defaults__", "func")
    ]
    for cell in getattr(at, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    code = getattr(at, "__code__", None)
    if code is not None:
        scope = at.__globals__
        found += [scope[name] for name in code.co_names if name in scope]
    elif type(at).__module__ not in ("builtins", "numpy"):
        found += [getattr(at, "__dict__", None)]
    return [f for f in found if f is not None and type(f).__name__ != "module"]
