"""Loops that Python has run, found again in what was recorded: each becomes one `loop`.

`optimise.repeats` says where the recording repeats itself, `optimise.iterations` what every step of
an iteration reads.  Here an iteration becomes the body of a loop, and what others read of the loop
its results: what is carried at last, and stacks with a row for each iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from chainrule.core.graph import Graph, inputs_of
from chainrule.core.loop import Body, body_graph
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.picked import Picked, picked_shapes
from chainrule.diff.sweep import SWEEP
from chainrule.ops.structure import item
from chainrule.optimise.bodies import Writer
from chainrule.optimise.found import At, Found, Hoisted, Part, Stack
from chainrule.optimise.indices import evenly
from chainrule.optimise.iterations import (
    Fixed,
)
from chainrule.optimise.making import made, results_of
from chainrule.optimise.repeats import MIN_COUNT
from chainrule.record.specialise import Guard, Recording, Repeated, with_guards

MIN_SAVED_NODES = 400  # fewer are compiled sooner, and fused better, as they are
NEARLY_ALL = 0.9
MIN_WORK = 8  # operations for each number that an iteration is given and no other is


def rolled(recording: Recording) -> Recording:
    """The recording with its repetitions as loops.

    Guards on one step of every iteration become one, on all of its values.
    """
    graph = recording.graph
    if len(graph) < MIN_SAVED_NODES or _swept(graph):
        return replace(recording, sequence=())
    outputs = [*graph.outputs, *(g.node for g in recording.guards)]
    every = with_guards(graph, recording.guards)
    rolling = Rolling(_in_order(every, recording.sequence), outputs)
    if not rolling.pays:
        return replace(recording, sequence=(), repeated=rolling.repeated())
    pending = rolling.guards(recording.guards)
    rolling.run()
    guards = tuple([guard() for guard in pending])
    results = tuple(map(rolling.outer, graph.outputs))
    first = dict.fromkeys((*graph.leaves, *graph.captured))
    rest = dfs_order([*results, *(g.node for g in guards)], inputs_of)
    nodes = (*first, *(n for n in rest if n not in first))
    return replace(
        recording,
        graph=replace(graph, nodes=nodes, outputs=results),
        guards=guards,
        sequence=(),
        repeated=rolling.repeated(),
    )


def better_rolled(recording: Recording) -> bool:
    """Whether loops do better than the tape that a gradient of numbers is swept by.

    They do where one loop is nearly all, and computes more than it hands on.
    """
    graph = recording.graph
    if len(graph) < MIN_SAVED_NODES or not _swept(graph):
        return False
    swept = {n for n in graph.nodes if not n.is_leaf and n.op is SWEEP}
    forward = [n for n in graph.nodes if n not in swept and not swept.intersection(inputs_of(n))]
    rolling = Rolling(_in_order(forward, recording.sequence), ())
    if not rolling.pays:
        return False
    largest = max((part.iterations for part in rolling.parts), key=lambda one: one.run.length)
    return (
        largest.run.length > NEARLY_ALL * len(rolling.sequence)
        and largest.handed_on * MIN_WORK <= largest.run.period
    )


def _swept(graph: Graph) -> bool:
    return any(not n.is_leaf and n.op is SWEEP for n in graph.nodes)


def _in_order(nodes: Sequence[Node], sequence: Sequence[Node]) -> list[Node]:
    """Nodes that are no leaves, as they were recorded; one that was made since before its first
    reader, and the results of a node that has several behind it, whenever they were asked for."""
    wanted = {n for n in nodes if not n.is_leaf}
    results: dict[Node, list[Node]] = {}
    for node in nodes:
        if node in wanted and node.op is item:
            results.setdefault(inputs_of(node)[0], []).append(node)
    ordered: dict[Node, None] = {}
    for node in (*sequence, *nodes):
        if node not in wanted or node in ordered:
            continue
        pending = [node]
        while pending:
            one = pending[-1]
            missing = [a for a in inputs_of(one) if a in wanted and a not in ordered]
            if missing:
                pending += missing
            else:
                ordered[pending.pop()] = None
                ordered.update(dict.fromkeys(results.get(one, ())))
    return list(ordered)


class Rolling(Found):
    """One walk over a sequence, in which every run becomes a loop."""

    def __init__(self, sequence: Sequence[Node], outputs: Sequence[Node]):
        super().__init__(sequence, outputs, MIN_SAVED_NODES)
        self.new: dict[Node, Node] = {}
        self.values: dict[At, Node] = {}

    # -- the walk ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Every node outside of runs on its new arguments, and every run as a loop."""
        starts = {p.iterations.run.start: number for number, p in enumerate(self.parts)}
        position = 0
        while position < len(self.sequence):
            number = starts.get(position)
            if number is None:
                node = self.sequence[position]
                self.new[node] = self._copied(node)
                position += 1
            else:
                self._loop(number)
                position = self.parts[number].iterations.run.stop

    def outer(self, node: Node) -> Node:
        """What stands for a node outside of its run."""
        at = self.at(node)
        if at is None:
            return self.new.get(node, node)
        if at not in self.values:
            self.values[at] = self._value(at, node)
        return self.values[at]

    def _value(self, at: At, node: Node) -> Node:
        number, iteration, step = at
        part = self.parts[number]
        if step in part.hoisted:
            return node.on(self._arguments(node))
        if iteration == part.count - 1 and step in part.lasts:
            return part.lasts[step]
        return made("getitem", (part.stacks[step],), {"template": (part.row(iteration),)}, node)

    def _arguments(self, node: Node) -> list[Any]:
        return [self.outer(a) if isinstance(a, Node) else a for a in node.args or ()]

    def _copied(self, node: Node) -> Node:
        joined = list(self.joined(node))
        if not any(isinstance(one, Stack) for one in joined):
            args = self._arguments(node)
            same = all(a is b for a, b in zip(args, node.args or (), strict=True))
            if same and not picked_shapes(node):
                return node
            attrs = {name: self._picked(value) for name, value in node.attrs.items()}
            copied = node.on(args, attrs)
            copied.shape = self._picked(node.shape)
            return copied
        parts: list[Node] = []
        single: list[Any] = []

        def build(op: str, args: Sequence[Any], attrs: Mapping[str, Any]) -> Node:
            return made(op, args, attrs, node)

        def finish_single() -> None:
            if single:
                parts.append(build(node.op.name, tuple(single), node.attrs))
                single.clear()

        for one in joined:
            if isinstance(one, Stack):
                finish_single()
                assert node.op.of_rows is not None
                rows = self.rows(*one.at, one.first, one.stride, one.count, backwards=False)
                parts.append(node.op.of_rows(build, rows, **node.attrs))
            else:
                single.append(self.outer(one) if isinstance(one, Node) else one)
        finish_single()
        if len(parts) == 1:
            return parts[0]
        return build("concatenate", tuple(parts), {"axis": node.attrs.get("axis") or 0})

    def _picked(self, shape: Any) -> Any:
        """A shape, or anything else: one that a mask has picked tells of the mask as it is now."""
        if type(shape) is not Picked:
            return shape
        return Picked.by(shape, shape.axis, self.outer(shape.mask), shape.count)

    def rows(
        self, number: int, step: int, first: int, stride: int, count: int, backwards: bool
    ) -> Node:
        """An array of the values of a step: those of the iterations first, first + stride, …

        The last comes first if it is read `backwards`.
        """
        part, node = self.parts[number], self.step(number, step)
        if backwards:
            first, stride = first + stride * (count - 1), -stride
        hoisted = part.hoisted.get(step)
        if hoisted is not None:
            at = hoisted.first + hoisted.stride * first
            return self._of_fixed(part, step, hoisted, at, hoisted.stride * stride, count)
        if part.backwards:
            first, stride = part.count - 1 - first, -stride
        return _every(part.stacks[step], first, stride, count, node)

    def _of_fixed(
        self, part: Part, step: int, hoisted: Hoisted, first: int, stride: int, count: int
    ) -> Node:
        node, place = self.sequence[part.iterations.run.start + step], hoisted.place
        x = part.iterations.operands[step][0]
        assert isinstance(x, Fixed)
        template = (
            *hoisted.template[:place],
            evenly(first, stride, count),
            *hoisted.template[place + 1 :],
        )
        rows = made("getitem", (self.outer(x.node),), {"template": template}, node)
        axis = sum(type(p) is not int for p in template[:place])
        order = (axis, *(a for a in range(rows.ndim) if a != axis))
        return made("transpose", (rows,), {"axes": order}, node) if axis else rows

    # -- an iteration ------------------------------------------------------------------------------

    def _loop(self, number: int) -> None:
        """The loop of a run; what it gives is noted in its part."""
        part = self.parts[number]
        writer = Writer(self, number)
        stacked = [writer.steps[step] for step in part.stacks]
        for step in list(part.lasts):
            writer.carried(step, 1, None)
        graph = body_graph(
            [*writer.fixed.values(), *writer.carries, *(leaf for leaf, _ in writer.rows.values())],
            [*writer.nexts(), *stacked],
        )
        if len(graph) >= MIN_SAVED_NODES:
            graph, part.within = _again(graph, list(writer.steps.values()))
        body = Body(
            graph, part.count, len(writer.carries), len(writer.rows), part.backwards
        )  # fmt: skip
        inputs = [*writer.fixed, *writer.inits, *(rows for _, rows in writer.rows.values())]
        results = results_of(body, inputs, self.step(number, 0))
        for step in part.lasts:
            part.lasts[step] = results[writer.place[step]]
        for step, rows in zip(part.stacks, results[len(writer.carries) :], strict=True):
            part.stacks[step] = rows

    def guards(self, guards: Sequence[Guard]) -> list[Callable[[], Guard]]:
        """Guards, to be made after the walk: those on one step of many iterations become one."""
        single: list[Guard] = []
        groups: dict[tuple[int, int, bool], dict[int, Guard]] = {}
        for guard in guards:
            at = self.at(guard.node)
            if at is None or guard.of is not None or at[2] in self.parts[at[0]].hoisted:
                single.append(guard)
            else:
                groups.setdefault((at[0], at[2], guard.firm), {})[at[1]] = guard
        pending: list[Callable[[], Guard]] = []
        for (number, step, _), group in groups.items():
            iterations = sorted(group)
            if len(group) < MIN_COUNT or iterations[-1] - iterations[0] != len(group) - 1:
                single += group.values()
            else:
                self._stack(number, step)
                together = [group[i] for i in iterations]
                pending.append(partial(self._guard, number, step, together, iterations[0]))
        return [*(partial(self._moved, guard) for guard in single), *pending]

    def _moved(self, guard: Guard) -> Guard:
        of = None if guard.of is None else self.outer(guard.of)
        return replace(guard, node=self.outer(guard.node), of=of)

    def _guard(self, number: int, step: int, guards: Sequence[Guard], first: int) -> Guard:
        rows = self.rows(number, step, first, 1, len(guards), backwards=False)
        return replace(guards[0], node=rows, value=np.stack([np.asarray(g.value) for g in guards]))


def _again(body: Graph, sequence: Sequence[Node]) -> tuple[Graph, tuple[Repeated, ...]]:
    """The body of a loop, with the repetitions in it as loops, and what these are."""
    rolling = Rolling(_in_order(body.nodes, sequence), body.outputs)
    if rolling.pays:
        rolling.run()
        body = body_graph(body.leaves, [rolling.outer(node) for node in body.outputs])
    return body, rolling.repeated()


def _every(rows: Node, first: int, stride: int, count: int, at: Node) -> Node:
    """Some rows of an array, evenly apart."""
    if first == 0 and stride == 1 and count == rows.shape[0]:
        return rows
    return made("getitem", (rows,), {"template": (evenly(first, stride, count),)}, at)
