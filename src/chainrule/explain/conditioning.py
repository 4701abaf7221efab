"""How far a function's numbers can be trusted: kinks, condition numbers, digits lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.lazy_method import lazy_method
from chainrule.core.node import Node
from chainrule.diff.run import Run
from chainrule.errors import ArgumentError, DerivativeError
from chainrule.explain.amplify import adds, condition_number, derivative_condition
from chainrule.explain.extended import Extended, replay_extended
from chainrule.explain.gap import gap
from chainrule.explain.near_kinks import NearKink, kink_near
from chainrule.record.trace import trace

NEAR = 1e-6  # of the size of an op's inputs
DIGITS = 3.0  # lost in one node, that are worth a word
NO_WIDER = "NumPy has no wider type on this machine"


@dataclass(frozen=True, eq=False)
class NodeCondition:
    """What is known of one node.

    `condition` is the op's relative condition number, largest over its lanes (at `lane`).  `error`
    and `adjoint_error` are relative errors of value and adjoint, largest over their lanes, measured
    against extended precision; None where that could not be.  `before` is the largest error among
    what the value was computed from.
    """

    node: Node
    condition: float | None
    lane: tuple[int, ...]
    error: float | None
    before: float
    adjoint_error: float | None
    kink: NearKink | None
    unmeasured: str = ""
    _run: Run = field(repr=False, kw_only=True)

    @property
    def line(self) -> Any:
        return self.node.line

    @property
    def value(self) -> Any:
        return self._run.value(self.node)

    @cached_property
    def derivative_condition(self) -> float | None:
        """The condition number of the op's local derivative; computed when asked for."""
        return derivative_condition(self._run, self.node)

    @property
    def adds(self) -> bool:
        """Whether this is a sum, a difference or a product of matrices: its terms may cancel."""
        return not self.node.is_leaf and adds(self.node)

    @property
    def lost(self) -> float:
        """Decimal digits lost in this node: measured, or the most there can be where it was not."""
        if self.node.dtype.kind not in "fc" or self.condition is None:
            return 0.0
        if self.error is None or self.unmeasured:
            return min(_digits(self.condition), _most(self.node))
        grown = self.error / max(self.before, _rounding(self.node))
        return min(_digits(grown), _most(self.node))


@dataclass(frozen=True, eq=False)
class Conditioning:
    """Every node's condition, and what stands out among them.  `precision` is what was measured by.

    `unmeasured` maps nodes that could not be computed in extended precision to the reason, `flips`
    are comparisons and choices that come out differently there.
    """

    graph: Graph
    nodes: tuple[NodeCondition, ...]
    precision: str
    digits: float
    unmeasured: dict[Node, str]
    flips: tuple[Node, ...]
    no_adjoints: str  # why they were not measured; empty if they were

    def of(self, node: Any) -> NodeCondition:
        """The condition of one node, given as itself or by the name of a leaf."""
        return self.nodes[self.graph.index[self.graph.node(node)]]

    @property
    def adjoints_measured(self) -> bool:
        return not self.no_adjoints

    @property
    def kinks(self) -> tuple[NodeCondition, ...]:
        """Nodes at or near a kink, the nearest first."""
        distances = [(n.kink.distance, k) for k, n in enumerate(self.nodes) if n.kink is not None]
        return tuple(self.nodes[k] for _, k in sorted(distances))

    @property
    def cancellations(self) -> tuple[NodeCondition, ...]:
        """Sums, differences and products of matrices that lose digits, the worst first."""
        lossy = [n for n in self.nodes if n.adds and n.lost >= self.digits]
        return tuple(sorted(lossy, key=lambda n: -n.lost))

    @property
    def ill_conditioned(self) -> tuple[NodeCondition, ...]:
        """Other ops whose condition number is large, the largest first."""
        large = [n for n in self.nodes if not n.adds and _digits(n.condition or 0.0) >= self.digits]
        return tuple(sorted(large, key=lambda n: -(n.condition or 0.0)))

    def correct_digits(self, node: Any) -> float | None:
        """Decimal digits of a node's value that are right; None where it was not measured."""
        measured = self.of(node)
        return _right(measured.error, measured.node)

    def correct_adjoint_digits(self, node: Any) -> float | None:
        """Decimal digits of a node's adjoint that are right; None where it was not measured."""
        measured = self.of(node)
        return _right(measured.adjoint_error, measured.node)

    lines = lazy_method("chainrule.view.conditioning", "conditioning_lines")
    __str__ = lazy_method("chainrule.view.styled", "report_text")
    _repr_html_ = lazy_method("chainrule.view.styled", "report_html")


def conditioning(
    f: Callable[..., Any] | Graph,
    *args: Any,
    near: float = NEAR,
    digits: float = DIGITS,
    seed: Any = None,
) -> Conditioning:
    """Kinks, condition numbers and lost digits of f, or of a recorded graph, at these arguments.

    A node is near a kink within `near` × the size of its inputs (at least 1).  A sum is reported
    when it loses `digits` decimal digits or more, measured against a replay in extended precision.
    Adjoints are measured too where the output is a scalar, or a `seed` is given.
    """
    if not near >= 0 or not digits > 0:
        raise ArgumentError(f"near={near}, digits={digits}: choose near ≥ 0 and digits > 0")
    graph = f if isinstance(f, Graph) else trace(f, *args)
    run = graph.forward(*args)
    seeds, no_adjoints = _differentiated(run, seed)
    wide = replay_extended(run, seeds)
    errors: dict[Node, float | None] = {}
    nodes = tuple(_condition_of(run, n, wide, errors, near) for n in graph.nodes)
    return Conditioning(
        graph,
        nodes,
        NO_WIDER if wide is None else _named(wide.dtype),
        digits,
        {} if wide is None else {**wide.narrow_adjoints, **wide.narrow},
        () if wide is None else tuple(wide.flips),
        no_adjoints or ("" if wide is not None else NO_WIDER),
    )


def _differentiated(run: Run, seed: Any) -> tuple[list[Any] | None, str]:
    """The seeds of the backward pass, which is made; or why there is none."""
    outputs = run.graph.outputs
    if seed is None and (len(outputs) != 1 or outputs[0].shape != ()):
        return None, "the output is not a scalar, so give a seed"
    if seed is None and outputs[0].dtype.kind not in "fc":
        return None, f"the output is of type {outputs[0].dtype.name} and has no derivative"
    seeds = run.seeds(seed)
    try:
        run.backward(seed)
    except DerivativeError as error:
        return None, str(error).splitlines()[0]
    return seeds, ""


def _condition_of(
    run: Run,
    node: Node,
    wide: Extended | None,
    errors: dict[Node, float | None],
    near: float,
) -> NodeCondition:
    number = condition_number(run, node)
    condition, lane = number if number is not None else (None, ())
    errors[node] = error = None if wide is None else _error(run.value(node), wide.values[node])
    before = max((errors[p] or 0.0 for p in run.graph.parents(node)), default=0.0)
    adjoint_error = None
    if wide is not None and node in wide.adjoints:
        adjoint_error = _error(run.adjoint(node), run.plain_adjoint(node, wide.adjoints[node]))
    unmeasured = "" if wide is None else wide.narrow.get(node, "")
    kink = kink_near(run, node, near)
    return NodeCondition(
        node, condition, lane, error, before, adjoint_error, kink, unmeasured, _run=run
    )


def _named(dtype: Any) -> str:
    name = "float64" if dtype == np.float64 else "long double"  # float128 would be an overstatement
    return f"{name} of {np.finfo(dtype).precision} digits"


def _error(own: Any, wide: Any) -> float:
    apart = gap(own, wide)
    return 0.0 if apart is None else apart.relative


def _rounding(node: Node) -> float:
    return float(np.finfo(node.dtype).eps) / 2


def _most(node: Node) -> float:
    """As many digits as the type has."""
    return -float(np.log10(_rounding(node)))


def _digits(ratio: float) -> float:
    return float(np.log10(ratio)) if ratio > 1 else 0.0


def _right(error: float | None, node: Node) -> float | None:
    if error is None or node.dtype.kind not in "fc":
        return None
    most = _most(node)
    return most if error == 0 else min(max(-float(np.log10(error)), 0.0), most)
