"""One run of a graph: every value, adjoint, contribution and local Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.graph import Graph, Key
from chainrule.core.lazy_method import lazy_method
from chainrule.core.masked import Masked, unmasked
from chainrule.core.node import Node
from chainrule.core.parts import OBJECT
from chainrule.core.replay import arguments, replay
from chainrule.core.rule import rule_for
from chainrule.diff.call import unit, zeros_like
from chainrule.diff.reverse import added, added_to, contributions, fit, reverse, reverse_masked
from chainrule.errors import (
    ArgumentError,
    DerivativeError,
    DTypeError,
    GraphError,
    ShapeError,
)
from chainrule.record.trace import Trace, becomes_leaf
from chainrule.record.variable import Variable


def forward_run(graph: Graph, *values: Any) -> Run:
    """Evaluate the graph at new leaf values, given as the recorded function took its arguments."""
    return completed_run(graph, leaf_values(graph, values))


def recorded_run(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Run:
    """Record f and keep the values it computed: `trace(f, …).forward(…)` at half the price."""
    tracing = Trace(keep=True)
    graph = tracing.record(f, args, kwargs)
    return completed_run(graph, tracing.known())


def completed_run(graph: Graph, known: dict[Node, Any]) -> Run:
    """A run of which some values are known, those of the leaves at least."""
    return Run(graph, replay(graph.nodes, known))


def leaf_values(graph: Graph, values: Sequence[Any]) -> dict[Node, Any]:
    """The value of each leaf, captured ones included, for a call with these arguments."""
    return {**graph.captured, **dict(zip(graph.leaves, _leaf_values(graph, values), strict=True))}


def _leaf_values(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """One value per leaf, checked against the shape the leaf was recorded with."""
    if graph.inputs is None or len(values) == len(graph.leaves) != len(graph.inputs):
        flat = list(values)
    else:
        if len(values) != len(graph.inputs):
            raise ArgumentError(
                f"{graph.name} takes {len(graph.inputs)} arguments, got {len(values)}"
            )
        flat = []
        for value, structure in zip(values, graph.inputs, strict=True):
            leaves, given = flatten(value)
            if given != structure:
                raise ArgumentError(
                    f"an argument has the structure {given}, it was recorded with {structure}"
                )
            bare = len(leaves) == 1 and leaves[0] is value
            flat += [v for v in leaves if becomes_leaf(v, bare)]
    if len(flat) != len(graph.leaves):
        raise ArgumentError(f"{graph.name} has {len(graph.leaves)} leaves, got {len(flat)} values")
    arrays = []
    for leaf, value in zip(graph.leaves, flat, strict=True):
        array = np.array(value.value if isinstance(value, Variable) else value)
        if array.dtype.kind in "iub" and leaf.dtype.kind in "fc":
            array = array.astype(leaf.dtype)
        if array.dtype.kind == "c" and leaf.dtype.kind == "f":
            raise DTypeError(
                f"leaf {leaf.name} was recorded as {leaf.dtype.name}, got {array.dtype.name}"
            )
        if array.shape != leaf.shape and not (array.size == 1 and leaf.size == 1):
            raise ShapeError(
                f"leaf {leaf.name} was recorded with shape {leaf.shape}, got {array.shape}"
            )
        arrays.append(array.reshape(leaf.shape)[()])
    return arrays


def _locked(value: Any) -> Any:
    """A value the caller may read but not change."""
    if isinstance(value, tuple):
        return tuple(_locked(v) for v in value)
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


class Run:
    """The values of one graph at one point; `backward` fills in the adjoints."""

    def __init__(self, graph: Graph, values: dict[Node, Any]):
        self.graph = graph
        self._values = values
        self._bound: dict[Node, Node] = {}
        self._adjoints: dict[Node, Any] | None = None
        self.seed: Any = None  # what `backward` was called with

    def value(self, node: Key) -> Any:
        """The value of a node, read-only; a tuple for an op with several results."""
        return _locked(self._values[self.graph.node(node)])

    @property
    def outputs(self) -> Any:
        """The outputs, in the structure the recorded function returned."""
        values = [self._values[o] for o in self.graph.outputs]
        if self.graph.result is not None:
            return self.graph.result.unflatten(values)
        return values[0] if len(values) == 1 else tuple(values)

    # -- derivatives -------------------------------------------------------------------------

    def backward(self, seed: Any = None) -> Run:
        """Fill in the adjoint of every node; `seed` is that of the output (1 for a scalar)."""
        self.seed = seed
        adjoints = self.seeded(seed)
        with np.errstate(all="ignore"):
            adjoints = reverse_masked(self.graph.nodes, adjoints, self.bound, keep=True)
            self._adjoints = reverse(self.graph.nodes, adjoints, self._along_cut_edges, keep=True)
        return self

    def _along_cut_edges(self, node: Node, g: Any) -> Iterator[tuple[Node, Any]]:
        """Adjoints of what no leaf's derivative flows through, such as floor(x) in floor(x) * y."""
        for bound in self.bound_to_cut(node):
            (parent,) = bound.parents
            try:
                (c,) = contributions(g, bound)
            except DerivativeError:  # nobody has written it: there is no number to show
                continue
            if c is not None:
                yield parent, fit(c, parent)

    @property
    def has_adjoints(self) -> bool:
        """Whether `backward` has been called."""
        return self._adjoints is not None

    def adjoint(self, node: Key) -> Any:
        """∂output/∂node; zero where no path leads from the node to the output."""
        key = self.graph.node(node)
        return self.plain_adjoint(key, self.known_adjoints().get(key))

    def plain_adjoint(self, node: Node, adjoint: Any) -> Any:
        """An adjoint of this node as it is shown: read-only, without mask, zeros for None."""
        adjoint = unmasked(adjoint)
        if node.dtype == OBJECT:
            values = self._values[node]
            parts = [None] * len(values) if adjoint is None else adjoint
            return tuple(
                np.zeros_like(v) if p is None else _locked(unmasked(p))
                for p, v in zip(parts, values, strict=True)
            )
        return zeros_like(np.zeros(node.shape, node.dtype)) if adjoint is None else _locked(adjoint)

    def status(self, node: Key) -> str:
        """What the adjoint is: "value", "structural zero", "no path", "kink" or "integer"."""
        from_here = self.graph.node(node)
        if from_here.dtype.kind not in "fcO":
            return "integer"
        adjoint = self.known_adjoints().get(from_here)
        if adjoint is None:
            return "structural zero" if self._reaches_output(from_here) else "no path"
        if self._meets_kink(from_here):
            return "kink"
        dead = type(adjoint) is Masked and not adjoint.alive.any()
        return "structural zero" if dead else "value"

    def contribution(self, parent: Key, child: Key) -> Any:
        """What `child` adds to the adjoint of `parent`: (adjoint of child) × (local Jacobian)."""
        parent, child = self._edge(parent, child)
        g = self.known_adjoints().get(child)
        total = None
        if g is not None:
            with np.errstate(all="ignore"):
                total = added_to(parent, self.pulled(g, child))
        return np.zeros(parent.shape)[()] if total is None else unmasked(total)

    def local_jacobian(self, parent: Key, child: Key) -> np.ndarray[Any, Any]:
        """The matrix on one edge: ∂child/∂parent, (size of child) × (size of parent)."""
        parent, child = self._edge(parent, child)
        if OBJECT in (child.dtype, parent.dtype):
            several = parent if parent.dtype == OBJECT else child
            raise DerivativeError(
                f"{several.op.name} has several results, and no matrix on its edges; of a function "
                "that returns one of them, cr.jacobian(f)(x) is the matrix"
            )
        matrix = np.zeros(
            (child.size, parent.size), np.result_type(parent.dtype, child.dtype, np.float16)
        )
        with np.errstate(all="ignore"):
            for k in range(child.size):
                seed = unit(child.shape, child.dtype, k)
                row = added_to(parent, self.pulled(seed, child))
                if row is not None:
                    matrix[k] += np.conj(np.reshape(unmasked(row), -1))
        return matrix

    # -- what explanations stand on -----------------------------------------------------------

    def bound(self, node: Node) -> Node:
        """The node with the values its rule reads at this point; leaves are as they are."""
        if node.rule is None:
            return node
        bound = self._bound.get(node)
        if bound is None:
            saved = node.rule.keep(*arguments(node, self._values), self._values[node])
            bound = node.with_saved(saved)
            self._bound[node] = bound
        return bound

    def bound_to_cut(self, node: Node) -> Iterator[Node]:
        """The node bound, one by one, to each input that is computed but has no derivative."""
        args = node.args or ()
        for i, arg in enumerate(args):
            if (
                isinstance(arg, Node)
                and not (arg.is_leaf or arg.parents)
                and arg.dtype.kind in "fc"
                and i not in node.rule.positions
            ):
                alone = tuple(k == i for k in range(len(args)))
                rule = rule_for(node.op, alone, node.dtype.kind == "c")
                if rule.positions:
                    saved = rule.keep(*arguments(node, self._values), self._values[node])
                    yield Node(rule, (arg,), saved, node.attrs, node.shape, node.dtype)

    def pulled(self, g: Any, child: Node) -> Iterator[tuple[Node, Any]]:
        """What `child`, whose adjoint is `g`, adds to each node it was computed from."""
        for bound in (self.bound(child), *self.bound_to_cut(child)):
            yield from zip(bound.parents, contributions(g, bound), strict=True)

    def _edge(self, parent: Key, child: Key) -> tuple[Node, Node]:
        parent, child = self.graph.node(parent), self.graph.node(child)
        if parent not in self.graph.parents(child):
            raise GraphError(f"there is no edge from {parent!r} to {child!r}")
        return parent, child

    def known_adjoints(self) -> dict[Node, Any]:
        if self._adjoints is None:
            raise GraphError("this run has no adjoints yet: call run.backward() first")
        return self._adjoints

    def seeded(self, seed: Any = None) -> dict[Node, Any]:
        """The adjoint each output starts with, summed where a node is an output several times."""
        return added(zip(self.graph.outputs, self.seeds(seed), strict=True))

    def seeds(self, seed: Any = None) -> list[Any]:
        """The adjoint each output starts with."""
        outputs = self.graph.outputs
        if seed is None:
            if len(outputs) != 1 or outputs[0].size != 1:
                shapes = ", ".join(str(o.shape) for o in outputs)
                raise ShapeError(
                    f"backward needs a seed: the output has shape {shapes}, and only a scalar's "
                    "adjoint is 1 by itself"
                )
            seeds = [np.ones(outputs[0].shape)]
        else:
            seeds = flatten(seed)[0] if len(outputs) > 1 else [seed]
        if len(seeds) != len(outputs):
            raise ArgumentError(f"{len(outputs)} outputs need as many seeds, got {len(seeds)}")
        given = []
        for out, start in zip(outputs, seeds, strict=True):
            if out.dtype.kind not in "fc":
                raise DerivativeError(
                    f"the output is of type {out.dtype.name} and has no derivative"
                )
            array = np.asarray(start, out.dtype)
            if array.size != out.size:
                raise ShapeError(f"the seed has shape {array.shape}, the output {out.shape}")
            given.append(array.reshape(out.shape)[()])
        return given

    def _reaches_output(self, node: Node) -> bool:
        pending, seen = [node], {node}
        outputs = set(self.graph.outputs)
        while pending:
            at = pending.pop()
            if at in outputs:
                return True
            fresh = [c for c in self.graph.children(at) if c not in seen]
            seen.update(fresh)
            pending += fresh
        return False

    def _meets_kink(self, node: Node) -> bool:
        """Whether the adjoint reached this node through an op evaluated at one of its kinks."""
        pending, seen = [node], {node}
        while pending:
            at = pending.pop()
            for child in self.graph.children(at):
                if child in seen or self.known_adjoints().get(child) is None:
                    continue
                seen.add(child)
                pending.append(child)
                if self.kink_matters(child):
                    return True
        return False

    def at_kink(self, node: Key) -> bool:
        """Whether this op was evaluated where its derivative jumps."""
        return bool(np.any(self.kinks(self.graph.node(node))))

    def kinks(self, node: Node) -> Any:
        """The lanes of this op that are at a kink."""
        if node.is_leaf or node.op.kinks is None:
            return False
        return node.op.kinks(*arguments(node, self._values), **node.attrs)

    def kink_matters(self, node: Node) -> bool:
        """Whether a lane of this op is at a kink and the adjoint reaches it."""
        kinks, adjoint = self.kinks(node), self.known_adjoints().get(node)
        if type(adjoint) is Masked and np.shape(kinks) == adjoint.alive.shape:
            kinks = kinks & adjoint.alive
        return bool(np.any(kinks))

    to_svg = lazy_method("chainrule.view.svg", "run_svg")
    explore = lazy_method("chainrule.view.explore", "explore_run")
    _repr_svg_ = lazy_method("chainrule.view.svg", "notebook_svg")
    _repr_html_ = lazy_method("chainrule.view.svg", "notebook_html")
