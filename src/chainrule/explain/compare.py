"""Where two runs of one graph part ways: the first node that differs, who made it, by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import Node
from chainrule.core.text import node_text
from chainrule.diff.run import Run
from chainrule.errors import ArgumentError, GraphError
from chainrule.explain.gap import Gap, coarser, gap

ROUNDINGS = 16  # of the coarser type, that runs of different types may lie apart


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """A node whose value or adjoint is not the same in both runs.

    `role` is "given" (an input that differs), "creator" (what it was computed from agrees) or
    "carrier".  `growth` is its relative difference over the largest of what it was computed from.
    """

    kind: str
    node: Node
    role: str
    gap: Gap
    growth: float

    @property
    def line(self) -> Any:
        """Your line of code; None where it is not known."""
        return self.node.line

    @property
    def lane(self) -> tuple[int, ...]:
        """The entry that differs most, relative to its size."""
        return self.gap.lane

    @property
    def a(self) -> Any:
        """That entry in the first run."""
        return self.gap.a

    @property
    def b(self) -> Any:
        return self.gap.b

    @property
    def absolute(self) -> float:
        return self.gap.absolute

    @property
    def relative(self) -> float:
        return self.gap.relative

    @property
    def ulps(self) -> float | None:
        """In units of the last place of the coarser type; None between whole numbers."""
        return self.gap.ulps


@dataclass(frozen=True, eq=False)
class RunDiff:
    """Every node that differs, values in topological order, adjoints from the output up."""

    graph: Graph
    values: tuple[Difference, ...]
    adjoints: tuple[Difference, ...]
    rtol: float
    atol: float
    compared_adjoints: bool

    @property
    def first(self) -> Difference | None:
        """The first value that differs; where none does, the first adjoint."""
        return next(iter((*self.values[:1], *self.adjoints[:1])), None)

    @property
    def steepest(self) -> Difference | None:
        """Where the relative difference grows most from what a node was computed from.

        Of the values, as adjoints are computed from them; of the adjoints where no value differs.
        """
        computed = [d for d in self.values or self.adjoints if d.role != "given"]
        return max(computed, key=lambda d: d.growth, default=None)

    def __bool__(self) -> bool:
        return self.first is not None

    lines = lazy_method("chainrule.view.compare", "diff_lines")
    __str__ = lazy_method("chainrule.view.styled", "report_text")
    _repr_html_ = lazy_method("chainrule.view.styled", "report_html")


def diff_runs(a: Run, b: Run, *, rtol: float | None = None, atol: float = 0.0) -> RunDiff:
    """Where two runs of one graph first differ: at another input, or recorded at another dtype.

    A lane differs when it lies farther apart than atol + rtol × its size.  `rtol` is 0 unless
    given, and 16 roundings of the coarser type where the leaves are of different types.  Adjoints
    are compared where `backward` has been called on both.
    """
    for run in (a, b):
        if not isinstance(run, Run):
            raise ArgumentError(
                f"diff_runs compares two runs, made by graph.forward(*args); got "
                f"{type(run).__name__}"
            )
    require_one_graph(a.graph, b.graph)
    if rtol is None:
        rtol = _tolerance(a, b)
    values = _differing("value", a, b, rtol, atol)
    both = a.has_adjoints and b.has_adjoints
    adjoints = _differing("adjoint", a, b, rtol, atol) if both else []
    return RunDiff(a.graph, tuple(values), tuple(adjoints), rtol, atol, both)


def _tolerance(a: Run, b: Run) -> float:
    """Runs of one type are compared exactly; else rounding of the coarser one is no difference."""
    leaves = zip(a.graph.leaves, b.graph.leaves, strict=True)
    types = [(np.asarray(a.value(p)).dtype, np.asarray(b.value(q)).dtype) for p, q in leaves]
    coarse = coarser(*(t for pair in types if pair[0] != pair[1] for t in pair))
    return 0.0 if coarse is None else ROUNDINGS * float(np.finfo(coarse).eps)


def _differing(kind: str, a: Run, b: Run, rtol: float, atol: float) -> list[Difference]:
    """The nodes that differ, each with its part in it, in the order in which they are computed."""
    graph = a.graph
    pairs = list(zip(graph.nodes, b.graph.nodes, strict=True))
    sources, of_a, of_b = graph.parents, a.value, b.value
    if kind == "adjoint":
        pairs.reverse()
        sources, of_a, of_b = graph.children, a.adjoint, b.adjoint
    relative: dict[Node, float] = {}
    beyond: set[Node] = set()
    differing = []
    for node, twin in pairs:
        far = gap(of_a(node), of_b(twin), rtol, atol)
        if far is None:
            continue
        relative[node] = far.relative
        if not far.beyond:
            continue
        beyond.add(node)
        above = sources(node)
        given = node.is_leaf if kind == "value" else node in graph.outputs and not above
        role = "given" if given else "carrier" if beyond.intersection(above) else "creator"
        base = max((relative.get(n, 0.0) for n in above), default=0.0)
        differing.append(Difference(kind, node, role, far, _growth(far.relative, base, node, twin)))
    return differing


def _growth(relative: float, base: float, node: Node, twin: Node) -> float:
    coarse = coarser(node.dtype, twin.dtype)
    floor = float(np.finfo(coarse).eps) if coarse is not None else 1.0
    return relative / max(base, floor) if base < np.inf else 1.0


# -- one graph, or two that were recorded alike ----------------------------------------------------


def require_one_graph(a: Graph, b: Graph) -> None:
    """Raise unless these are one graph, or two of equal structure; dtypes may differ."""
    if a is b:
        return
    for i, (p, q) in enumerate(zip(a.nodes, b.nodes, strict=False)):
        if _form(a, p) != _form(b, q):
            raise GraphError(
                f"these are no two runs of one graph: node %{i} is\n"
                f"  {_described(a, p)}\n  {_described(b, q)}\n"
                "compare runs of one recorded graph, graph.forward(…), or of functions that take "
                "the same branches"
            )
    if len(a) != len(b):
        longer = a if len(a) > len(b) else b
        extra = longer.nodes[min(len(a), len(b))]
        raise GraphError(
            f"these are no two runs of one graph: they have {len(a)} and {len(b)} nodes; the first "
            f"without a partner is\n  {_described(longer, extra)}"
        )
    if [a.index[o] for o in a.outputs] != [b.index[o] for o in b.outputs]:
        raise GraphError("these are no two runs of one graph: they return different nodes")


def _form(graph: Graph, node: Node) -> tuple[Any, ...]:
    """What must be equal: op, shape, which nodes feed it; not dtypes, nor numbers of constants."""
    if node.is_leaf:
        return ("leaf", node.shape, node in graph.captured)
    arguments = tuple(
        graph.index[a] if isinstance(a, Node) else ("constant", np.shape(a))
        for a in node.args or ()
    )
    attrs = tuple((k, _static(v)) for k, v in sorted(node.attrs.items()))
    return node.op.name, node.shape, arguments, attrs


def _static(value: Any) -> Any:
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return "dtype"
    if isinstance(value, (np.ndarray, np.generic, float, complex)):
        return "number", np.shape(value)
    return repr(value)


def _described(graph: Graph, node: Node) -> str:
    where = f"    {node.line.shown()}" if node.line and not node.is_leaf else ""
    return f"{node_text(graph, node)} {list(node.shape)}{where}"
