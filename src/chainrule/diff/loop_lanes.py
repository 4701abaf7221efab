"""A loop in many lanes at once: one loop whose iteration is that of all lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.batching import BatchCall, Lanes, batched
from chainrule.core.loop import Body
from chainrule.core.node import Node
from chainrule.core.op import Op
from chainrule.diff.applied import applied
from chainrule.diff.loop_body import first_row, flows, saving
from chainrule.ops.structure import item
from chainrule.record.body import recorded


def batch(call: BatchCall) -> Any:
    """The results of the loop with lanes in front; None where it must be run lane by lane."""
    body: Body = call.attrs["body"]
    if not body.count:
        return None
    by_lane = _by_lane(body, [type(a) is Lanes for a in call.args])
    leaves = body.graph.leaves
    last = body.fixed + body.carried
    inputs = []
    for i, leaf in enumerate(leaves):
        value = call.spread(i) if leaf in by_lane and i >= body.fixed else call.raw(i)
        inputs.append(np.moveaxis(value, 0, 1) if leaf in by_lane and i >= last else value)
    shape = Body(body.graph, body.count, body.carried, body.rows, body.backwards)
    made = recorded(lambda *given: _iteration(call, body, by_lane, given), first_row(shape, inputs))
    if made.irregular or made.reads:
        return None
    whole = Body(made.graph, body.count, body.carried, body.rows, body.backwards)
    inputs = [*made.sources, *inputs]
    whole = saving(whole) if any(map(flows, inputs)) else whole
    found = call.apply(call.op, inputs, {**call.attrs, "body": whole})
    # What begins otherwise in each lane is carried for each, though an iteration may not read it.
    carries, stacks = body.parts(leaves)[1], body.graph.outputs[body.carried :]
    return tuple(
        _in_front(value, k < body.carried, node in by_lane, call.count)
        for k, (value, node) in enumerate(zip(found, (*carries, *stacks), strict=False))
    )


def _by_lane(body: Body, given: list[bool]) -> set[Node]:
    """The nodes of an iteration that differ by lane; what is carried may come to."""
    leaves, outputs = body.graph.leaves, body.graph.outputs
    found = {leaf for leaf, on in zip(leaves, given, strict=True) if on}
    while True:
        before = len(found)
        for node in body.graph.nodes:
            if any(a in found for a in node.args or () if isinstance(a, Node)):
                found.add(node)
        carried = zip(body.parts(leaves)[1], outputs, strict=False)
        found.update(leaf for leaf, out in carried if out in found)
        if len(found) == before:
            return found


def _iteration(call: BatchCall, body: Body, by_lane: set[Node], given: tuple[Any, ...]) -> Any:
    """One iteration of all lanes."""
    pairs = zip(body.graph.leaves, given, strict=True)
    known: dict[Node, Any] = {leaf: Lanes(v) if leaf in by_lane else v for leaf, v in pairs}
    for node in body.graph.nodes:
        if node not in known:
            known[node] = _applied(node, known, call.count)
    results = []
    for k, node in enumerate(body.graph.outputs):
        value = known[node]
        if type(value) is Lanes:
            value = value.value
        elif k < body.carried and body.graph.leaves[body.fixed + k] in by_lane:
            value = np.broadcast_to(value, (call.count, *node.shape))
        results.append(value)
    return results


def _applied(node: Node, known: dict[Node, Any], count: int) -> Any:
    line = node.code, node.lasti

    def apply(op: Op, args: Any, attrs: Any) -> Any:
        return applied(op, args, attrs, line)

    args = [known[a] if isinstance(a, Node) else a for a in node.args or ()]
    moved = any(type(a) is Lanes for a in args)
    if node.op is item:
        value = (args[0].value if moved else args[0])[node.attrs["index"]]
        return Lanes(value) if moved else value
    if not moved:
        return apply(node.op, args, node.attrs)
    return Lanes(batched(BatchCall(node.op, args, node.attrs, count, node.shape, apply))[0])


def _in_front(value: Any, carried: bool, by_lane: bool, count: int) -> Any:
    """A result of the loop with the lanes along its first axis; rows have them along the second."""
    if not by_lane:
        return np.broadcast_to(value, (count, *np.shape(value)))
    return value if carried else np.moveaxis(value, 1, 0)
