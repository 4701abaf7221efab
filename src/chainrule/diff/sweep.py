"""A gradient recorded as one node: the reverse sweep of a large scalar graph.

Recorded rule by rule, the gradient of ten million scalar operations would be thirty million nodes.
The compiler sweeps such a graph itself (`lower.tape`), so it is told which nodes to walk and whose
adjoints are asked for, and nothing else.  The numbers of the call at hand come from the walk on
arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from chainrule.core.masked import Masked
from chainrule.core.node import Node
from chainrule.core.op import NOT_WRITTEN, Linear, Op
from chainrule.core.parts import OBJECT
from chainrule.core.rule import Rule, rule_for
from chainrule.core.spec import Spec
from chainrule.diff.reverse import Adjoints, fit, reverse_arrays, summed
from chainrule.errors import UnsupportedError
from chainrule.ops.structure import item
from chainrule.record.specialise import GuardedTrace
from chainrule.record.state import recording
from chainrule.record.variable import Variable, leaf

# From so many scalar nodes on, a tape.  Straight-line code of them takes about 2 ms per node to
# compile, a tape half a second whatever its length; and from here on it is as fast: within a tenth
# on a chain, in which each node waits for the one before, and up to twice as fast on a wide graph.
MIN_NODES = 300
DOUBLE = np.dtype(np.float64)


def _refuse(x: Any, **_: Any) -> Any:
    raise UnsupportedError("a reverse sweep is run by compiled code only")


SWEEP = Op(
    name="reverse_sweep",
    forward=_refuse,
    inputs=("x",),
    derivative=NOT_WRITTEN,
    spec=lambda x, **_: Spec((), OBJECT),
    samples=list,
    doc="Adjoints of all but its first argument, when that of the first is `seed`.",
)


def moves_lanes(op: Op) -> bool:
    """Whether lanes of the result are lanes of the one operand, or sums of them."""
    selects = isinstance(op.derivative, Linear) and op.depends.copies
    return op.view and selects and op.lower is not None


def can_sweep(order: Sequence[Node], seeds: Adjoints) -> bool:
    """Whether all that is walked are numbers, and machine code has their operations."""
    if len(order) < MIN_NODES or len(seeds) != 1:
        return False
    ((out, seed),) = seeds.items()
    if isinstance(seed, (Variable, Masked)) or out.shape != () or out.dtype != DOUBLE:
        return False
    known: dict[Rule, bool] = {}  # whether it moves lanes
    for node in order:
        rule = node.rule
        if rule not in known:
            if rule.op.lower is None or rule.op.variadic or rule.op.outputs != 1:
                return False
            known[rule] = moves_lanes(rule.op)
        if (node.shape and not known[rule]) or node.dtype != DOUBLE:
            return False
    return True


def swept(order: Sequence[Node], seeds: Adjoints, wanted: Collection[Node]) -> Adjoints:
    """The adjoints of what is `wanted`, without masks, recorded as results of one node."""
    ((out, seed),) = seeds.items()
    numbers, _ = reverse_arrays(order, seeds)
    reached = [node for node in wanted if numbers.get(node) is not None]
    attrs = {"seed": seed, "_order": order}
    # Its results depend on x, and to differentiate that again is refused, not zero.
    rule, line = rule_for(SWEEP, (True,)), (out.code, out.lasti)
    whole = Node(rule, (out,), (), attrs, (), OBJECT, *line, (out, *reached))
    part = rule_for(item, (True,))
    adjoints: Adjoints = {}
    for i, node in enumerate(reached):
        which = {"index": i, "count": len(reached)}
        made = Node(part, (whole,), (), which, node.shape, node.dtype, *line, (whole,))
        adjoints[node] = Variable(np.array(numbers[node])[()], made)
    return adjoints


def drops_masks(order: Sequence[Node]) -> bool:
    """Whether a rule among these cuts lanes off, at this point or at another."""
    kinds = {node.rule: node for node in order if not moves_lanes(node.op)}
    return any(local_pull(node)[2] for node in kinds.values())


def local_pull(node: Node) -> tuple[dict[str, Node], list[Any], bool, GuardedTrace]:
    """What a scalar node adds to the adjoints of its parents, recorded on its own saved values.

    Leaves by the names that rules have for them (`g`, `out`, inputs); a contribution per parent, a
    Node, a number or None; whether it has dropped a mask; the trace.
    """
    trace = GuardedTrace()
    rule = node.rule
    leaves: dict[str, Node] = {}

    def given(name: str, value: Any) -> Variable:
        made = leaf(np.array(value)[()], name)
        trace.leaves[made.node] = made._value
        leaves[name] = made.node
        return made

    constants = {
        name: arg
        for name, arg in zip(rule.op.inputs, node.args or (), strict=False)
        if not isinstance(arg, Node)
    }
    masked = False
    parts: list[Any] = []
    with np.errstate(all="ignore"), recording(tracing=trace, inside=False, line=None, debug=None):
        g = given("g", np.ones((), node.dtype))
        saved = tuple(
            value if name in constants or isinstance(value, Spec) else given(name, value)
            for name, value in zip(rule.saved_names, node.saved, strict=True)
        )
        for parent, c in zip(node.parents, rule.pull(g, node.with_saved(saved)), strict=True):
            c = summed(c)
            if type(c) is Masked:
                masked, c = True, c.value
            c = None if c is None else fit(c, parent)
            parts.append(trace.node_of(c) if isinstance(c, Variable) else c)
    return leaves, parts, masked, trace
