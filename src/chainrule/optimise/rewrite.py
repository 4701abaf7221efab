"""What a rewrite is, and the one walk over a graph in which rewrites are applied.

A rewrite replaces a node by another of the same shape and dtype.  It has a name, the equation it
stands on, and says how far that holds:

    BITS    for every number of the dtype: NaN, infinities, -0.0, subnormals; a NaN is a NaN,
            whatever its sign
    SUMS    the same terms are added; the order of adding, or the sign of a sum that is zero, may be
            another, and both are for the machine code to choose anyway
    REALS   for real numbers; only where the user allows it by `reassociate=True`
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import NO_ATTRS, Node, make_leaf
from chainrule.core.op import OPS, Op, Partials
from chainrule.core.rule import rule_for
from chainrule.core.spec import Shape
from chainrule.optimise.dead import needed

BITS, SUMS, REALS = "bits", "sums", "reals"
NUMBER, ARRAY = "a number", "a constant array"  # kinds of arguments beside ops
CONSTANT = (NUMBER, ARRAY)
Constants = Mapping[Node, np.ndarray]


@dataclass(frozen=True)
class Rewrite:
    """One equation, read from left to right; `apply` gives the replacement, or None.

    It is tried on nodes of `ops` (any, if there are none) that have an argument of a kind that it
    `reads` (whatever they read, if there are none): a node of an op, or a constant.
    """

    name: str
    equation: str
    ops: tuple[str, ...]  # what stands outermost on the left
    reads: tuple[str, ...]
    apply: Callable[[Sweep, Node], Node | None]
    exact: str = BITS


@dataclass(frozen=True)
class Optimised:
    """An equivalent graph, its leaves of known value, and how often each rewrite was applied.

    `before` is how many nodes there were.
    """

    graph: Graph
    constants: Constants
    counts: Counter[str]
    before: int


class Sweep:
    """One walk in topological order: each node on its new arguments, then replaced while it can be.

    Constants are leaves of known value, and numbers among the arguments.
    """

    def __init__(
        self,
        graph: Graph,
        constants: Constants,
        rewrites: Iterable[Rewrite] = (),
        key: Callable[[Node], Any] | None = None,
    ):
        """Nodes of one `key` become one."""
        self.graph, self.key = graph, key
        self.index: dict[str, dict[str, list[Rewrite]]] = {}  # by kind of argument, then by op
        for rewrite in rewrites:
            for kind in rewrite.reads or ("",):
                by_op = self.index.setdefault(kind, {})
                for op in rewrite.ops or ("",):
                    by_op.setdefault(op, []).append(rewrite)
        self.constants = dict(constants)
        self.captured = dict(graph.captured)
        self.replaced: dict[int, Node] = {}  # by id: arguments need not be hashable
        self.first: dict[Any, Node] = {}  # of each key
        self.nodes: list[Node] = []
        self.counts: Counter[str] = Counter()
        self._numbers: dict[Node, Any] = {}

    def run(self) -> Optimised:
        """The graph after the walk, without what is not needed any more."""
        graph, replaced = self.graph, self.replaced
        for node in graph.nodes:
            if node.is_leaf:
                continue
            standing = node
            for argument in node.args or ():
                if id(argument) in replaced:
                    standing = self._on_new_arguments(node)
                    break
            standing = self._finished(standing)
            if standing is node:
                self.nodes.append(node)
            else:
                replaced[id(node)] = standing
        outputs = tuple(replaced.get(id(n), n) for n in graph.outputs)
        every = [*graph.leaves, *self.captured, *self.nodes]
        return Optimised(
            *needed(graph, every, outputs, self.captured, self.constants), self.counts, len(graph)
        )

    def _on_new_arguments(self, node: Node) -> Node:
        """The same operation on what stands for its arguments now, which is of the same dtypes."""
        get = self.replaced.get
        made = node.on([get(id(a), a) for a in node.args or ()])
        self.nodes.append(made)
        return made

    def _finished(self, node: Node) -> Node:
        """What stands for a node after every rewrite that applies, and for its equals."""
        while (candidates := self._candidates(node)) and (
            rewritten := self._rewritten(node, candidates)
        ):
            node = rewritten
        key = None if self.key is None or node.is_leaf else self.key(node)
        if key is None:
            return node
        first = self.first.setdefault(key, node)
        if first is not node:
            self.counts["shared"] += 1
        return first

    def _rewritten(self, node: Node, candidates: Iterable[Rewrite]) -> Node | None:
        for rewrite in candidates:
            simpler = rewrite.apply(self, node)
            if simpler is not None:
                assert simpler.shape == node.shape, rewrite.name
                assert simpler.dtype == node.dtype, rewrite.name
                self.counts[rewrite.name] += 1
                return simpler
        return None

    def _candidates(self, node: Node) -> Iterable[Rewrite]:
        """The rewrites that may apply, found by the op and the kinds of its arguments."""
        if node.is_leaf:
            return ()
        name, index = node.rule.op.name, self.index
        rewrites = index[""].get(name, ()) if "" in index else ()
        for argument in node.args or ():
            if not isinstance(argument, Node):
                by_op = index.get(NUMBER)
            elif argument.is_leaf:
                by_op = index.get(ARRAY) if argument in self.constants else None
            else:
                by_op = index.get(argument.rule.op.name)
            if by_op is not None:
                rewrites = (*rewrites, *by_op.get(name, ()), *by_op.get("", ()))
        return rewrites if rewrites and is_ours(node.rule.op) else ()

    # -- what rewrites ask and make ------------------------------------------------------------

    def number(self, argument: Any) -> Any:
        """The number that an argument is everywhere; None where it is not a constant, or several.

        Python's numbers stay Python's: they take the dtype of what they meet.
        """
        if not isinstance(argument, Node):
            return argument if np.ndim(argument) == 0 else one_number(np.asarray(argument))
        value = self.constants.get(argument)
        if value is None:
            return None
        if argument not in self._numbers:
            self._numbers[argument] = one_number(value)
        return self._numbers[argument]

    def made(
        self,
        op: Op | str,
        args: Sequence[Any],
        at: Node,
        attrs: Mapping[str, Any] = NO_ATTRS,
        shape: Shape | None = None,
    ) -> Node:
        """A new node on the line of `at`, of its dtype and, unless another is given, its shape."""
        if isinstance(op, str):
            op = OPS[op]
            attrs = {**op.attrs, **attrs}
        flows = at.dtype.kind in "fcO"
        active = tuple([flows and isinstance(a, Node) and a.dtype.kind in "fcO" for a in args])
        rule = rule_for(op, active, at.dtype.kind == "c")
        parents = tuple([args[i] for i in rule.positions])
        shape = at.shape if shape is None else shape
        node = Node(
            rule,
            parents,
            (),
            dict(attrs) or NO_ATTRS,
            shape,
            at.dtype,
            at.code,
            at.lasti,
            tuple(args),
        )
        self.nodes.append(node)
        return node

    def constant(self, value: np.ndarray) -> Node:
        """A leaf of known value."""
        leaf = make_leaf(value.shape, value.dtype, f"folded{len(self.captured)}")
        self.captured[leaf] = self.constants[leaf] = value
        return leaf


def one_number(array: np.ndarray) -> Any:
    """The number that an array is in every lane, bit by bit; None if there are several, or none."""
    if not array.size or array.dtype.kind not in "fciub":
        return None
    first = array[(0,) * array.ndim]
    if not any(array.strides[i] for i, n in enumerate(array.shape) if n > 1):
        return first
    if array[(-1,) * array.ndim].tobytes() != first.tobytes():
        return None
    flat = np.ascontiguousarray(array).reshape(-1)
    return first if flat.tobytes() == first.tobytes() * array.size else None


def is_ours(op: Op) -> bool:
    """Whether an op is of the table, and so a function of its arguments; not one of the user's."""
    return dict.get(OPS, op.name) is op


def is_elementwise(op: Op) -> bool:
    """Whether an op works lane by lane, with broadcasting."""
    return isinstance(op.derivative, Partials) or isinstance(op.lower, str)
