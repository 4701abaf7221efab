"""A compiled function checks itself: now and then a call is also run as plain Python and compared.

What is compared: structure, types and shapes exactly; numbers up to what rounding can explain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.containers import flatten, map_leaves
from chainrule.core.graph import inputs_of
from chainrule.core.loop import Body, looped
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.replay import computed, replay
from chainrule.errors import ArgumentError, ChainruleError, CompileDifference
from chainrule.lower.tape.taping import taped
from chainrule.ops.loop import loop
from chainrule.optimise.roll import rolled
from chainrule.record.specialise import GuardedTrace, Recording, specialised
from chainrule.record.variable import Variable
from chainrule.run.direct import MISS, NUMPY

if TYPE_CHECKING:
    from chainrule.run.variant import Variant

MODES = ("sometimes", "always", "never")
SHARE = 0.02  # of the time of all calls that checking may take
NEVER = 2**62  # calls
CANCELLING = 1e4  # roundings of the largest intermediate that a result may be off by


class Verifier:
    """When the calls of one function are checked, and how many were."""

    def __init__(self, f: Callable[..., Any], mode: str):
        if mode not in MODES:
            raise ArgumentError(f"verify={mode!r}: it is one of {', '.join(map(repr, MODES))}")
        self.f, self.mode = f, mode
        self.checked = 0

    @property
    def wait(self) -> int:
        """The number of calls before the next check, when nothing is known of their times."""
        return NEVER if self.mode == "never" else 0

    def run(
        self, variant: Variant, call: Callable[[], Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """The result of a call that is compared with plain Python; MISS as the call gives it."""
        variant.scope["left"] = NEVER
        given, named = owned(args), owned(kwargs)
        start = perf_counter()
        result = call()
        middle = perf_counter()
        if result is MISS:
            variant.scope["left"] = 0
            return MISS
        with np.errstate(all="ignore"):  # which calls are checked must not be seen
            expected = detached(self.f(*given, **named))
        end = perf_counter()
        self.checked += 1
        variant.checks += 1
        pause = 0 if self.mode == "always" else int((end - middle) / (SHARE * (middle - start)))
        variant.scope["left"] = pause
        if variant.differs(expected, result, args, kwargs) and not variant.outside_changed():
            raise CompileDifference(explained(self.f, variant, args, kwargs, expected, result))
        return result


def detached(values: Any) -> Any:
    """A result without the Variables that outside ones make of it."""
    return map_leaves(lambda v: v._value if isinstance(v, Variable) else v, values)


def owned(values: Any) -> Any:
    """Arguments whose arrays the function may write to; they lie in memory in the same order."""
    return map_leaves(lambda v: v.copy("K") if isinstance(v, np.ndarray) else v, values)


def unlike(expected: Any, result: Any, tolerance: float = 0.0) -> str:
    """In words how two results differ by more than `tolerance`; empty where they do not."""
    wanted, structure = flatten(expected)
    leaves, other = flatten(result)
    if [_shape_of(e) for e in structure.entries] != [_shape_of(e) for e in other.entries]:
        return f"{structure!r} and {other!r}"
    for a, b, path in zip(wanted, leaves, structure.paths, strict=True):
        words = _unlike_leaves(a, b, tolerance)
        if words:
            return f"result{path}: {words}" if path else words
    return ""


def _shape_of(entry: Any) -> Any:
    """A container by its kind and names: NumPy's named tuples are not the same classes as ours."""
    if entry is None:
        return None
    named = issubclass(entry.cls, tuple) and entry.cls is not tuple
    return (entry.cls.__name__ if named else entry.cls), tuple(entry.names)


def _unlike_leaves(a: Any, b: Any, tolerance: float) -> str:
    if not isinstance(a, (*NUMPY, float, complex, int)):
        same = type(a) is type(b) and (a is b or bool(a == b))
        return "" if same else f"{_short(a)} and {_short(b)}"
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype != y.dtype:
        return f"{x.dtype}{x.shape} and {y.dtype}{y.shape}"
    if x.dtype.kind not in "fc":
        return "" if np.array_equal(x, y) else f"{_short(a)} and {_short(b)}"
    if tolerance == np.inf:
        return ""
    with np.errstate(all="ignore"):
        exact = (x == y) | (np.isnan(x) & np.isnan(y))
        size = np.max(np.abs(x), initial=0.0, where=np.isfinite(x))
        near = np.abs(x - y) <= np.sqrt(np.finfo(x.dtype).eps) * size + tolerance
    return "" if np.all(exact | near) else f"{_short(a)} and {_short(b)}"


def _short(value: Any) -> str:
    """A value as a message shows it."""
    with np.printoptions(threshold=8, edgeitems=2):
        return repr(value)


def replayed(recording: Recording, leaves: Sequence[Any]) -> dict[Node, Any] | None:
    """The value of every node of a recording on these leaves, by NumPy; None where one raises."""
    graph = recording.graph
    values: dict[Node, Any] = {**recording.constants, **recording.external}
    values.update(zip(graph.leaves, leaves, strict=False))
    nodes = dfs_order([*graph.outputs, *(g.node for g in recording.guards)], inputs_of)
    try:
        with np.errstate(all="ignore"):
            return replay(nodes, values, _opened)
    except (ChainruleError, ArithmeticError, ValueError, LookupError, TypeError):
        return None


def _opened(node: Any, args: Sequence[Any]) -> Any:
    """The value of a node; of a loop its results, and behind them all that its iterations gave."""
    if node.op is not loop:
        return computed(node, args)
    body: Body = node.attrs["body"]
    inside = [n for n in body.graph.nodes if n.dtype.kind in "fc" and not n.is_leaf]
    opened = replace(body, graph=replace(body.graph, outputs=(*body.graph.outputs, *inside)))
    return looped(*args, body=opened)


def rounding_tolerance(values: dict[Node, Any]) -> float:
    """How far off a result may be where large intermediates cancel."""
    parts = [v if isinstance(v, tuple) else (v,) for v in values.values()]
    numbers = [np.asarray(v) for part in parts for v in part]
    inexact = [a for a in numbers if a.dtype.kind in "fc" and a.size]
    if not inexact:
        return 0.0
    largest = max(float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))) for a in inexact)
    coarsest = max(float(np.finfo(a.dtype).eps) for a in inexact)
    # Squares of such numbers overflow, or do not, by the order in which they are computed.
    wide = max(float(np.sqrt(np.finfo(a.dtype).max)) for a in inexact)
    return np.inf if largest > wide else float(CANCELLING * coarsest * largest)


def explained(
    f: Callable[..., Any], variant: Variant, args: Any, kwargs: Any, expected: Any, result: Any
) -> str:
    """The first node that differs, its line and both values."""
    words = unlike(expected, result, 0.0)
    difference = _first_difference(f, variant, args, kwargs)
    return (
        f"{getattr(f, '__name__', 'the function')} gives something else when it is compiled: "
        f"plain Python and then compiled, {words}.\n{difference}"
        "  Please report it; until it is mended, call the function itself."
    )


def _first_difference(f: Callable[..., Any], variant: Variant, args: Any, kwargs: Any) -> str:
    trace = GuardedTrace()
    try:
        recording = taped(rolled(specialised(f, args, kwargs, trace=trace)))
    except (ChainruleError, ArithmeticError, ValueError, LookupError, TypeError):
        return ""
    known, graph = trace.known(), recording.graph
    now = replayed(recording, [known[leaf] for leaf in graph.leaves]) or {}
    then = replayed(variant.recording, variant.leaves_of(args, kwargs)) or {}
    for a, b in zip(graph.nodes, variant.recording.graph.nodes, strict=False):
        if a.is_leaf and b.is_leaf:
            continue
        kinds = [n.op.name if not n.is_leaf else "a leaf" for n in (a, b)]
        if kinds[0] != kinds[1] or len(inputs_of(a)) != len(inputs_of(b)):
            return f"  the first difference: {kinds[0]} in place of {kinds[1]}\n{_place(a)}"
        if a in now and b in then and _unlike_values(now[a], then[b]):
            both = f"{_short(now[a])} and {_short(then[b])}"
            return f"  the first difference: {kinds[0]}, {both}\n{_place(a)}"
    return "  every operation of the recording agrees; the machine code does not.\n"


def _unlike_values(a: Any, b: Any) -> bool:
    return not isinstance(a, tuple) and bool(
        _unlike_leaves(np.asarray(a)[()], np.asarray(b)[()], 0.0)
    )


def _place(node: Node) -> str:
    return f"  {node.line.shown()}\n" if node.line else ""
