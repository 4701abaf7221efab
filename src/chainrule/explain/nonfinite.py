"""Where a NaN or an infinity came from: the first one in the order of computation, and its cure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from chainrule.core.cure import Cure
from chainrule.core.graph import Graph, inputs_of
from chainrule.core.lazy_method import lazy_method
from chainrule.core.masked import plain
from chainrule.core.node import Node
from chainrule.diff.gradient import vjp
from chainrule.diff.run import Run, completed_run
from chainrule.errors import NeedsHistoryError
from chainrule.explain.arguments import on_arrays
from chainrule.explain.blame import Event, Known, Walk, every_adjoint, kind_of
from chainrule.explain.cures import cure_for
from chainrule.explain.lanes import Operand, first_lane, not_finite
from chainrule.explain.origins import examined
from chainrule.record.state import recording
from chainrule.record.trace import Trace, trace

MAX_CURED_ORIGINS = 8  # origins whose cure is looked up
NEAR = 4  # steps in which a pattern such as log(sum(exp(x))) is looked for


@dataclass(frozen=True)
class NonFiniteResult:
    """An output, or the gradient with respect to an input, that is not finite."""

    what: str  # "value" or "gradient"
    node: Node  # the output, or the input
    name: str
    value: Any  # the first number that is not finite
    index: tuple[int, ...]
    count: int
    size: int

    @property
    def kind(self) -> str:
        """ "NaN", "inf" or "-inf"."""
        return kind_of(self.value)


@dataclass(frozen=True, repr=False)
class NonFinite:
    """What is not finite in one computation, in the order in which it happened.

    It is true if anything is.  `first` is where it began; prints as text.
    """

    name: str
    results: tuple[NonFiniteResult, ...]
    events: tuple[Event, ...]
    cures: tuple[Cure, ...] = ()  # the usual cure of each origin, each once
    harmless: tuple[Node, ...] = ()  # values that are not finite, and that no result depends on
    outputs: tuple[Node, ...] = ()
    names: Mapping[Node, str] = field(default_factory=dict)  # of inputs that have none themselves
    stopped: Exception | None = None  # what ended the computation before it had a result

    def __bool__(self) -> bool:
        return bool(self.results)

    @property
    def first(self) -> Event | None:
        """The first number that is not finite, of those that matter and are understood."""
        known = (e for e in self.events if e.role != "unknown")
        return next(known, self.events[0] if self.events else None)

    @property
    def creators(self) -> tuple[Event, ...]:
        """Those computed from finite numbers only."""
        return tuple(e for e in self.events if e.role == "creator")

    @property
    def carriers(self) -> tuple[Event, ...]:
        return tuple(e for e in self.events if e.role == "carrier")

    @property
    def origins(self) -> tuple[Event, ...]:
        """Creators, and inputs, constants and seeds that were not finite when they were given."""
        return tuple(e for e in self.events if e.origin)

    @property
    def cure(self) -> Cure | None:
        """The usual cure of the first."""
        return self.cures[0] if self.cures else None

    lines = lazy_method("chainrule.view.nonfinite", "nonfinite_lines")
    __str__ = lazy_method("chainrule.view.styled", "report_text")
    __repr__ = lazy_method("chainrule.view.styled", "report_text")
    __rich__ = lazy_method("chainrule.view.styled", "report_rich")
    _repr_html_ = lazy_method("chainrule.view.styled", "report_html")


def find_nonfinite(f: Callable[..., Any], *args: Any, **kwargs: Any) -> NonFinite:
    """Run f and its gradient here, and say where the first NaN or infinity comes from.

    Outputs, and gradients with respect to every array among the arguments, are asked for; where f
    has several outputs, the gradient of their sum.  What no result depends on is not blamed.  Where
    f ends in an error, as LAPACK does on a NaN, the values it had computed by then are asked for.
    """
    tracing = Trace(keep=True)
    with recording(debug=None), np.errstate(all="ignore"):
        try:
            graph = tracing.record(f, args, kwargs)
        except Exception as error:  # the user's function may end in any
            trouble = _until_stopped(f, tracing, error)
            if not trouble:
                raise
            return trouble
        run = completed_run(graph, tracing.known())
        try:
            return report(OfRun(run), graph.name)
        except NeedsHistoryError:
            if not _finite_another_way(f, args, kwargs):
                raise
            return report(OfRun(run, gradients=False), graph.name)


def _finite_another_way(f: Callable[..., Any], args: Any, kwargs: Any) -> bool:
    """Whether the gradient of the reverse pass is finite; raises where that fails too."""
    flat, point, _ = on_arrays(lambda *given: f(*given, **kwargs), args)
    values, pullback = vjp(flat, *point)
    ones = tuple(np.ones_like(v) for v in values)
    return not any(not_finite(g).any() for g in pullback(ones))


def _until_stopped(f: Callable[..., Any], tracing: Trace, error: Exception) -> NonFinite:
    """The report on what a call had computed before it raised: its values, and no gradient."""
    known = tracing.known()
    bad = [node for node, value in known.items() if not_finite(value).any()]
    used = {parent for node in bad for parent in inputs_of(node)}
    graph = tracing.graph(f, [node for node in bad if node not in used])
    trouble = report(OfRun(completed_run(graph, known), gradients=False), graph.name)
    return replace(trouble, stopped=error)


def find_nonfinite_in(graph: Graph, *values: Any, seed: Any = None) -> NonFinite:
    """As `find_nonfinite`, of a recorded graph run again on these inputs."""
    return report(OfRun(replay(graph, *values), seed), graph.name)


def replay(f: Callable[..., Any] | Graph, *inputs: Any) -> Run:
    """Run a function, or the graph recorded of it, op by op on saved inputs."""
    with recording(debug=None), np.errstate(all="ignore"):
        graph = f if isinstance(f, Graph) else trace(f, *inputs)
        return graph.forward(*inputs)


class OfRun:
    """What is known of a run of a graph: everything."""

    def __init__(self, run: Run, seed: Any = None, gradients: bool = True):
        graph = run.graph
        self.run = run
        self.order: Sequence[Node] = graph.nodes
        self.outputs: Sequence[Node] = [o for o in graph.outputs if o.dtype.kind in "fc"]
        self.inputs: Sequence[Node] = [*graph.leaves, *graph.captured] if gradients else []
        self.seeded: Mapping[Node, Any] = self._seeds(seed) if gradients else {}
        self._bound: dict[Node, Node] = {}
        with np.errstate(all="ignore"):
            self.adjoints = every_adjoint(self.order, self.seeded, self.bound)

    def _seeds(self, seed: Any) -> dict[Node, Any]:
        given = [None] * len(self.outputs) if seed is None else list(seed)
        return {
            out: np.ones(out.shape, out.dtype)[()] if s is None else np.asarray(s, out.dtype)[()]
            for out, s in zip(self.outputs, given, strict=True)
        }

    def value(self, node: Node) -> Any:
        return self.run.value(node)

    def operands(self, node: Node) -> list[Operand]:
        return [
            Operand(input_name(node, i), a, self.run.value(a))
            if isinstance(a, Node)
            else Operand(input_name(node, i), None, a)
            for i, a in enumerate(node.args or ())
        ]

    def below(self, node: Node) -> Sequence[Node]:
        return inputs_of(node)

    def bound(self, node: Node) -> Node:
        """The node with the values its rule reads in this run."""
        if node.rule is None:
            return node
        bound = self._bound.get(node)
        if bound is None:
            values = [o.value for o in self.operands(node)]
            bound = node.with_saved(node.rule.keep(*values, self.run.value(node)))
            self._bound[node] = bound
        return bound


def input_name(node: Node, i: int) -> str:
    """The name of argument i of a node, as its op calls it."""
    names = node.op.inputs
    return f"{names[0]}[{i}]" if node.op.variadic else names[i]


def report(known: Known, name: str, names: Mapping[Node, str] | None = None) -> NonFinite:
    """The report on one computation of which everything, or as much as was kept, is known."""
    names = names or {}
    results = [_result("value", o, known.value(o), names.get(o, name)) for o in known.outputs]
    results += [
        _result("gradient", n, known.adjoints.get(n, 0.0), names.get(n, n.name or ""))
        for n in known.inputs
    ]
    nonfinite = tuple(r for r in results if r is not None)
    events = Walk(known).events() if nonfinite else []
    told = [examined(e, known) if e.origin or _turns(e) else _light(e) for e in events]
    blamed = {e.node for e in events if e.when == "forward"}
    harmless = tuple(n for n in known.order if n not in blamed and not_finite(known.value(n)).any())
    cures = _cures(known, told)
    return NonFinite(name, nonfinite, tuple(told), cures, harmless, tuple(known.outputs), names)


def _cures(known: Known, events: Sequence[Event]) -> tuple[Cure, ...]:
    """The cures of the first origins, one per op and line: a loop meets the same one many times."""
    origins = {(e.node.code, e.node.lasti, e.role, e.how): e for e in reversed(events) if e.origin}
    first = list(reversed(origins.values()))[:MAX_CURED_ORIGINS]
    cures = [cure_for(e, events, _users(known, e.node)) for e in first]
    return tuple(dict.fromkeys(cures))


def _users(known: Known, node: Node) -> set[str]:
    """The ops that use this node's value, and those that use theirs, a few steps far."""
    distance = {node: 0}
    for other in known.order:
        steps = [distance[b] for b in known.below(other) if b in distance]
        if steps and min(steps) < NEAR:
            distance[other] = min(steps) + 1
    return {n.op.name for n in distance if n is not node}


def _turns(event: Event) -> bool:
    """Whether an op that passed it on may have made a NaN of an infinity."""
    return event.kind == "NaN" and event.node.rule.elementwise


def _light(event: Event) -> Event:
    return replace(event, adjoint=None)


def _result(what: str, node: Node, value: Any, name: str) -> NonFiniteResult | None:
    bad = not_finite(value)
    if not bad.any():
        return None
    index = first_lane(bad)
    number = np.asarray(plain(value))[index]
    return NonFiniteResult(what, node, name, number, index, int(bad.sum()), bad.size)
