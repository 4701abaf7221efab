"""`cr.explain`: why a gradient is what it is, as plain data that prints as a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.graph import Graph
from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import Line, Node, StoredLine
from chainrule.diff.run import Run, recorded_run
from chainrule.errors import ArgumentError, DTypeError, GraphError
from chainrule.explain.contributions import Contributions, contributions_of
from chainrule.explain.depth import Depth, depth_of
from chainrule.explain.flow import Flow, flow_between
from chainrule.explain.measure import Measure, measure_of
from chainrule.explain.paths import Path, count_paths, heaviest_paths
from chainrule.explain.status import Cut, Kink, Status, cuts_from, kinks_of, statuses
from chainrule.record.trace import becomes_leaf


@dataclass(frozen=True)
class Gain:
    """By how much one line of code multiplies the gradient that comes along the heaviest path."""

    line: Line | StoredLine | None
    factor: float
    nodes: tuple[Node, ...]


class _Walked(NamedTuple):
    """A run on which `backward` has been called: what its explanations share.

    `arguments` are the leaves of each argument, `top` is how many paths to list.
    """

    run: Run
    seeds: dict[Node, Any]
    arguments: list[list[Node]]
    top: int


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why the adjoint of one input is what it is.

    `total`          the adjoint itself
    `paths`          the heaviest directed paths from the input to the output; `exact` tells whether
                     it is certain that no other path is heavier
    `path_count`     how many paths there are, exactly
    `contributions`  the parts the total is the sum of: `.edges`, `.lines`, `.ops`
    `gains`          the lines along the heaviest path, by how much each multiplies the gradient
    `status`         per input "value", "structural zero", "no path", "kink" or "integer"; each has
                     the `cut` edge or the `kink`, and its `line`
    `cuts`           the edges at which a dependence on the input ends without a derivative
    `kinks`          the nodes evaluated at a kink that the gradient goes through
    `depth`          its size level by level: `.levels`, `.vanishing`, `.exploding`
    """

    run: Run
    wrt: Node
    total: Any
    entry: tuple[int, ...] | None
    along: Any
    paths: tuple[Path, ...]
    exact: bool
    contributions: Contributions
    status: dict[str, Status]
    cuts: tuple[Cut, ...]
    kinks: tuple[Kink, ...]
    depth: Depth
    top: int
    _walked: _Walked = field(repr=False)
    _flow: Flow = field(repr=False)
    _measure: Measure = field(repr=False)

    @property
    def graph(self) -> Graph:
        return self.run.graph

    @cached_property
    def path_count(self) -> int:
        """The number of directed paths; it may have thousands of digits."""
        return count_paths(self._flow)

    @property
    def value(self) -> Any:
        """The part of the total that is explained: an entry, a projection, or all of it."""
        return self._measure.of(self.total)

    @property
    def rest(self) -> Any:
        """What all paths that are not listed add together."""
        with np.errstate(all="ignore"):
            return self.value - sum(p.product for p in self.paths)

    @cached_property
    def gains(self) -> tuple[Gain, ...]:
        """Each line along the heaviest path, the one that multiplies the gradient most first."""
        return _gains(self.paths[0]) if self.paths else ()

    def at(self, *entry: int) -> Explanation:
        """The same for one entry of the input, from the same run."""
        return self.of(self.wrt, entry=entry)

    def of(self, wrt: int | str | Node, entry: Any = None, along: Any = None) -> Explanation:
        """The same for another input, from the same run: nothing is recorded or run again."""
        node = _input(self.graph, self._walked.arguments, wrt)
        return _explained(self._walked, node, entry, along)

    lines = lazy_method("chainrule.view.explanation", "explanation_lines")
    __str__ = lazy_method("chainrule.view.styled", "report_text")
    __repr__ = lazy_method("chainrule.view.styled", "report_text")
    __rich__ = lazy_method("chainrule.view.styled", "report_rich")
    _repr_html_ = lazy_method("chainrule.view.styled", "report_html")


def explain(
    f: Callable[..., Any] | Graph | Run,
    *args: Any,
    wrt: int | str | Node = 0,
    top: int = 10,
    entry: Any = None,
    along: Any = None,
    seed: Any = None,
) -> Explanation:
    """Why is the gradient of f with respect to `wrt` what it is here?

    f is a function, which is recorded; or a graph; or a run of one, and then there are no further
    arguments.  `wrt` is the position or the name of an
    argument, the name of a number or array inside one ("p['w']"), or a node of the graph.  The
    gradient of an array is explained as a whole, its paths ordered by the norm of what they add; at
    one `entry`; or `along` a direction.  A `seed` is needed where f returns no scalar.
    """
    if not isinstance(top, (int, np.integer)) or isinstance(top, bool) or top < 0:
        raise ArgumentError(f"top {top!r}: how many paths to list, a whole number")
    with np.errstate(all="ignore"):  # an infinity or a NaN is there to be explained
        run = _run(f, args)
        arguments = _leaves_by_argument(run.graph, args)
        node = _input(run.graph, arguments, wrt)
        run.backward(seed)
    walked = _Walked(run, run.seeded(seed), arguments, int(top))
    return _explained(walked, node, entry, along)


def _run(f: Callable[..., Any] | Graph | Run, args: tuple[Any, ...]) -> Run:
    if isinstance(f, Run):
        if args:
            raise ArgumentError("a run has its values already; pass the graph to choose others")
        return f
    return f.forward(*args) if isinstance(f, Graph) else recorded_run(f, *args)


def _explained(walked: _Walked, wrt: Node, entry: Any, along: Any) -> Explanation:
    """Explain one node of a run."""
    run = walked.run
    measure = measure_of(wrt, entry, along)
    total = run.adjoint(wrt)
    flow = flow_between(run, wrt, walked.seeds, measure)
    heaviest = heaviest_paths(flow, measure, total, walked.top)
    return Explanation(
        run=run,
        wrt=wrt,
        total=total,
        entry=measure.entry,
        along=along,
        paths=heaviest.paths,
        exact=heaviest.exact,
        contributions=contributions_of(flow, measure, total),
        status=statuses(run),
        cuts=tuple(cuts_from(run, wrt, flow.dead_edges())),
        kinks=kinks_of(run, flow.nodes),
        depth=depth_of(flow),
        top=walked.top,
        _walked=walked,
        _flow=flow,
        _measure=measure,
    )


def _input(graph: Graph, arguments: list[list[Node]], wrt: Any) -> Node:
    """The node that `wrt` names, one with a gradient."""
    node = _named(graph, arguments, wrt)
    if node.dtype.kind not in "fc":
        holds = "several results" if node.dtype == object else node.dtype.name
        raise DTypeError(
            f"{node.name if node.name is not None else node!r} holds {holds}, which has no "
            "gradient to explain; pass it as floating point, or choose another wrt"
        )
    return node


def _named(graph: Graph, arguments: list[list[Node]], wrt: Any) -> Node:
    if isinstance(wrt, (int, np.integer)) and not isinstance(wrt, bool):
        count = len(arguments)
        if not -count <= wrt < count:
            raise ArgumentError(f"wrt {wrt}: the function was called with {count} arguments")
        return _only(arguments[wrt], f"argument {wrt}")
    if isinstance(wrt, str):
        inside = [n for n in graph.leaves if str(n.name).startswith((f"{wrt}[", f"{wrt}."))]
        named = [n for n in (*graph.leaves, *graph.captured) if n.name == wrt]
        if len(named) != 1 and inside:
            return _only(inside, wrt)
    try:
        return graph.node(wrt)
    except GraphError as error:
        names = ", ".join(repr(str(n.name)) for n in (*graph.leaves, *graph.captured)[:20])
        raise ArgumentError(f"wrt {wrt!r}: {error}\n  the inputs are {names or 'none'}") from None


def _leaves_by_argument(graph: Graph, args: tuple[Any, ...]) -> list[list[Node]]:
    """Per argument the leaves it holds, in the order of the graph's leaves."""
    if graph.inputs is None or len(args) != len(graph.inputs):
        return [[leaf] for leaf in graph.leaves]
    left = iter(graph.leaves)
    groups = []
    for arg in args:
        values = flatten(arg)[0]
        bare = len(values) == 1 and values[0] is arg
        groups.append([next(left) for v in values if becomes_leaf(v, bare)])
    return groups


def _only(leaves: list[Node], what: str) -> Node:
    if len(leaves) == 1:
        return leaves[0]
    if not leaves:
        raise ArgumentError(f"{what} holds no number or array to explain a gradient of")
    names = ", ".join(repr(leaf.name) for leaf in leaves[:20])
    raise ArgumentError(
        f"{what} holds {len(leaves)} numbers or arrays; choose one: wrt={leaves[0].name!r}\n"
        f"  they are {names}{', …' if len(leaves) > 20 else ''}"
    )


def _gains(path: Path) -> tuple[Gain, ...]:
    """The factors along a path multiplied line by line."""
    lines: dict[Any, tuple[float, list[Node]]] = {}
    sizes = path.magnitudes
    for i, node in enumerate(path.nodes[1:]):
        line = node.line
        key = None if line is None else (line.file, line.number)
        factor = sizes[i] / sizes[i + 1] if sizes[i + 1] else math.nan
        before, nodes = lines.get(key, (1.0, []))
        nodes.append(node)
        lines[key] = before * factor, nodes
    gains = [Gain(nodes[0].line, factor, tuple(nodes)) for factor, nodes in lines.values()]
    return tuple(sorted(gains, key=lambda g: -g.factor if g.factor == g.factor else -math.inf))
