"""A run replayed in extended precision, to measure what rounding has done to the first.

Each op is computed again by its own `forward` and differentiated by its own rule, on wider numbers.
An op that cannot (LAPACK knows no long double) is computed as before, on inputs that are rounded,
and says so: what went wrong before it is measured, its own rounding is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.masked import Masked
from chainrule.core.node import Node, make_leaf
from chainrule.core.parts import OBJECT, Parts
from chainrule.core.replay import computed, replay
from chainrule.diff.reverse import added, contributions, fit, reverse
from chainrule.diff.run import Run


@dataclass
class Extended:
    """The replay: by node of the first run its value and adjoint, and where it was not extended."""

    dtype: Any
    values: dict[Node, Any] = field(default_factory=dict)
    adjoints: dict[Node, Any] = field(default_factory=dict)
    narrow: dict[Node, str] = field(default_factory=dict)
    narrow_adjoints: dict[Node, str] = field(default_factory=dict)
    flips: list[Node] = field(default_factory=list)


def wider(graph: Graph) -> Any:
    """A type of more digits than any in the graph: long double, else double; None if none is."""
    types = [np.finfo(n.dtype) for n in graph.nodes if n.dtype.kind in "fc"]
    if not types:
        return None
    finest = min(t.eps for t in types)
    return next(
        (np.dtype(d) for d in (np.longdouble, np.float64) if np.finfo(d).eps < finest), None
    )


def replay_extended(run: Run, seeds: list[Any] | None) -> Extended | None:
    """The run again in extended precision; None where NumPy has no wider type on this machine."""
    dtype = wider(run.graph)
    if dtype is None:
        return None
    extended = Extended(dtype)
    with np.errstate(all="ignore"):
        replay = _Replay(run, extended)
        replay.forward()
        if seeds is not None:
            replay.backward(seeds)
    return extended


class _Replay:
    def __init__(self, run: Run, extended: Extended):
        self.run, self.found = run, extended
        self.twin: dict[Node, Node] = {}
        for node in run.graph.nodes:
            self.twin[node] = self._widened(node)

    def _widened(self, node: Node) -> Node:
        """The same node in a graph of wider numbers."""
        dtype = self._wide(node.dtype)
        if node.is_leaf:
            return make_leaf(node.shape, dtype, node.name, node.code, node.lasti)
        parents = tuple(self.twin[p] for p in node.parents)
        args = tuple(self.twin[a] if isinstance(a, Node) else a for a in node.args or ())
        line = node.code, node.lasti
        return Node(node.rule, parents, (), node.attrs, node.shape, dtype, *line, args)

    def _wide(self, dtype: Any) -> Any:
        if dtype.kind not in "fc":
            return dtype
        return np.result_type(self.found.dtype, np.complex64 if dtype.kind == "c" else np.float32)

    def _cast(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._cast(v) for v in value)
        return value.astype(self._wide(value.dtype)) if value.dtype.kind in "fc" else value

    # -- values --------------------------------------------------------------------------------

    def forward(self) -> None:
        replay(self.run.graph.nodes, self.found.values, self._evaluated)

    def _evaluated(self, node: Node, args: Sequence[Any]) -> Any:
        own = self.run.value(node)
        if not args:
            return self._cast(own)
        try:
            out = _as_arrays(computed(node, args))
        except Exception as error:  # noqa: BLE001 - each op refuses wider numbers in its own way
            self.found.narrow[node] = _first_line(error)
            out = self._narrowly(node)
        if _shapes(out) != _shapes(own):
            self.found.narrow[node] = "it takes another branch in extended precision"
            return self._cast(own)
        if _dtypes(self._cast(out)) != _dtypes(out):
            self.found.narrow.setdefault(node, f"it computes in {_dtypes(out)[0].name}")
        if any(_flipped(a, b) for a, b in zip(_parts(own), _parts(out), strict=True)):
            self.found.flips.append(node)
        return self._cast(out)

    def _narrowly(self, node: Node) -> Any:
        """The op as it was, on the wider inputs rounded."""
        args = [
            _rounded(self.found.values[a], self.run.value(a)) if isinstance(a, Node) else a
            for a in node.args or ()
        ]
        try:
            return _as_arrays(computed(node, args))
        except Exception:  # noqa: BLE001 - rounded, the inputs may have left its domain
            return self.run.value(node)

    # -- adjoints ------------------------------------------------------------------------------

    def backward(self, seeds: list[Any]) -> None:
        nodes: Sequence[Node] = self.run.graph.nodes
        values = {self.twin[n]: self.found.values[n] for n in nodes}
        wide = Run(self.run.graph, values)
        starts = (self._cast(np.asarray(seed)[()]) for seed in seeds)
        adjoints = added(zip(self.run.graph.outputs, starts, strict=True))

        def visit(node: Node, g: Any) -> Iterator[tuple[Node, Any]]:
            for parent, c in zip(node.parents, self._pulled(wide, node, g), strict=True):
                if c is not None:
                    yield parent, fit(c, self.twin[parent])

        self.found.adjoints = reverse(nodes, adjoints, visit, keep=True)

    def _pulled(self, wide: Run, node: Node, g: Any) -> Any:
        try:
            return contributions(g, wide.bound(self.twin[node]))
        except Exception as error:  # noqa: BLE001 - as above
            self.found.narrow_adjoints[node] = _first_line(error)
            return contributions(_narrowed(g, node), self.run.bound(node))


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _as_arrays(out: Any) -> Any:
    if isinstance(out, tuple):
        return tuple(_as_arrays(v) for v in out)
    return out if hasattr(out, "dtype") else np.asarray(out)[()]


def _shapes(value: Any) -> list[Any]:
    return [v.shape for v in _parts(value)]


def _dtypes(value: Any) -> list[Any]:
    return [v.dtype for v in _parts(value)]


def _flipped(own: Any, wide: Any) -> bool:
    """Whether a whole number, or an answer yes or no, comes out another in extended precision."""
    return own.dtype.kind not in "fcO" and not np.array_equal(own, wide)


def _rounded(wide: Any, own: Any) -> Any:
    if isinstance(own, tuple):
        return tuple(_rounded(w, o) for w, o in zip(wide, own, strict=True))
    return wide.astype(own.dtype)


def _narrowed(g: Any, node: Node) -> Any:
    """An adjoint rounded to the type the node had."""
    if isinstance(g, Parts):
        return Parts([None if p is None else _to_double(p) for p in g])
    dtype = node.dtype
    if type(g) is Masked:
        return Masked(g.value.astype(dtype), g.alive)
    return g.astype(dtype) if dtype != OBJECT else g


def _to_double(part: Any) -> Any:
    if type(part) is Masked:
        return Masked(_to_double(part.value), part.alive)
    return part.astype(np.complex128 if part.dtype.kind == "c" else np.float64)
