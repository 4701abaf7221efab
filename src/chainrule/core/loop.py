"""A loop as one operation: the graph of one iteration, and how it is run.

The leaves of the graph are, in this order,

    fixed      the same in every iteration
    carried    what the iteration before has left; at first the value that was given
    rows       row i of an array in iteration i, the last row first where it runs `backwards`

and its outputs what is carried to the next iteration, then what is stacked: row i of each result is
what iteration i gave.  The inputs of the op stand in the order of the leaves; its results are what
was carried at last, and the stacks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.masked import concrete
from chainrule.core.node import Leaf, Node
from chainrule.core.order import dfs_order
from chainrule.core.replay import computed
from chainrule.core.spec import Spec
from chainrule.errors import ChainruleError, DetachError, GraphError

# Where the result goes, what is computed, of what, and which places nobody reads afterwards.
Step = tuple[int, Node, list[int], list[int]]


@dataclass(frozen=True, eq=False, repr=False)
class Body:
    """One iteration, `count` times.

    `reads` are the values that Python code was given while it was recorded: the first stacks hold
    what they are in each iteration, and the graph stands for all of them only where they agree.
    `saves` tells that what a derivative reads is among the stacks; else it is computed again: at
    once, or in segments of so many iterations, those again in shorter ones.
    """

    graph: Graph
    count: int
    carried: int = 0
    rows: int = 0
    backwards: bool = False
    reads: tuple[Any, ...] = ()
    saves: bool = False
    segments: tuple[int, ...] = ()
    derived: dict[Any, Any] = field(default_factory=dict, init=False)  # bodies made of this one

    @property
    def fixed(self) -> int:
        """How many leaves are the same in every iteration."""
        return len(self.graph.leaves) - self.carried - self.rows

    @property
    def signature(self) -> tuple[Any, ...]:
        """What it is beside its graph."""
        return self.count, self.carried, self.rows, self.backwards, self.saves

    def parts(self, inputs: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Inputs, or what belongs to them, as those that are fixed, carried and rows."""
        first, second = self.fixed, self.fixed + self.carried
        return list(inputs[:first]), list(inputs[first:second]), list(inputs[second:])

    def order(self) -> Iterator[int]:
        """The numbers of the rows as they are met."""
        return iter(range(self.count - 1, -1, -1) if self.backwards else range(self.count))

    @cached_property
    def program(self) -> tuple[list[Any], list[Step], list[int]]:
        """Places for all values, with the constants filled in; the steps; and the outputs."""
        places: list[Any] = [None] * len(self.graph.leaves)
        at: dict[Node, int] = {leaf: i for i, leaf in enumerate(self.graph.leaves)}
        steps: list[Step] = []
        for node in self.graph.nodes:
            if node in at:
                continue
            read = []
            for argument in node.args or ():
                if isinstance(argument, Node):
                    read.append(at[argument])
                else:
                    read.append(len(places))
                    places.append(argument)
            at[node] = len(places)
            places.append(None)
            steps.append((at[node], node, read, []))
        outputs = [at[out] for out in self.graph.outputs]
        kept = {*outputs, *(i for i, value in enumerate(places) if value is not None)}
        kept |= set(range(self.fixed))
        for _, _, read, dropped in reversed(steps):
            dropped += [k for k in dict.fromkeys(read) if k not in kept]
            kept.update(dropped)
        return places, steps, outputs

    def part(self, count: int, segments: tuple[int, ...] = ()) -> Body:
        """The same iteration, so many times; one and the same loop whenever it is asked for."""
        key = "part", count, segments
        if key not in self.derived:
            self.derived[key] = replace(self, count=count, segments=segments)
        found: Body = self.derived[key]
        return found

    def __repr__(self) -> str:
        steps = len(self.graph) - len(self.graph.leaves)
        return f"<{steps} nodes × {self.count}{', backwards' if self.backwards else ''}>"


class BodyLeaf(Leaf):
    """An input of an iteration while it is recorded; afterwards nothing may be computed of it."""


def refuse_leaked(nodes: Sequence[Node], given: Collection[Node] = ()) -> None:
    """Raise where a value that was computed in an iteration is used outside of it."""
    for node in nodes:
        for parent in node.args or node.parents:
            if type(parent) is BodyLeaf and not parent.open and parent not in given:
                where = f"\n  {node.line.shown()}" if node.line else ""
                raise DetachError(
                    "a value computed in the body of a loop is used outside of it, where only one "
                    f"iteration would count.{where}\n"
                    "  return it from the body, as a part of the carry or of y."
                )


def body_graph(leaves: Sequence[Node], outputs: Sequence[Node]) -> Graph:
    """The graph of an iteration with these leaves, all of which it is given."""
    given = set(leaves)
    order = dfs_order(outputs, lambda n: () if n in given else _read(n))
    rest = [node for node in order if node not in given]
    refuse_leaked(rest, given)
    return Graph((*leaves, *rest), tuple(leaves), tuple(outputs), "body")


def _read(node: Node) -> list[Node]:
    return [a for a in node.args or () if isinstance(a, Node)]


def substituted(outputs: Sequence[Node], replaced: dict[Node, Node]) -> list[Node]:
    """The same computation, in which other nodes stand for some."""
    made = dict(replaced)
    for node in dfs_order(outputs, lambda n: () if n in replaced else _read(n)):
        if node in made:
            continue
        args = tuple([made.get(a, a) if isinstance(a, Node) else a for a in node.args or ()])
        if node.is_leaf or all(a is b for a, b in zip(args, node.args or (), strict=True)):
            made[node] = node
        else:
            made[node] = node.on(args)
    return [made[out] for out in outputs]


def looped(*xs: Any, body: Body) -> tuple[Any, ...]:
    """Run the loop on arrays."""
    places, steps, outputs = body.program
    values = list(places)
    fixed, carried, rows = body.parts(xs)
    first, second = len(fixed), len(fixed) + len(carried)
    values[:first] = fixed
    stacks: list[Any] = [None] * (len(outputs) - len(carried))
    for i in body.order():
        values[first:second] = carried
        values[second : second + len(rows)] = [row[i] for row in rows]
        _fill(values, steps)
        results = [values[k] for k in outputs]
        carried = results[: len(carried)]
        for j, value in enumerate(results[len(carried) :]):
            if stacks[j] is None:
                array = np.asarray(value)
                stacks[j] = np.empty((body.count, *array.shape), array.dtype)
            stacks[j][i] = value
        for k in outputs[len(carried) :]:
            if k >= len(fixed):
                values[k] = None
    if not body.count:
        specs = [out.spec for out in body.graph.outputs[len(carried) :]]
        stacks = [np.empty((0, *s.shape), s.dtype) for s in specs]
    return (*map(_own, carried), *stacks)


def iterations_until(body: Body, inputs: Sequence[Any], tests: int) -> int | None:
    """How many iterations there are until one of the first `tests` reads comes out differently.

    None if another read does: then the record does not stand for all iterations.
    """
    places, steps, outputs = body.program
    values = [concrete(v) for v in (*inputs, *places[len(inputs) :])]
    first, second = body.fixed, body.fixed + body.carried
    asked, others = outputs[body.carried :][:tests], outputs[body.carried + tests :]
    others = others[: len(body.reads) - tests]
    early = _needed(steps, asked)
    steps = [(at, node, read, []) for at, node, read, _ in steps]
    early_steps = [s for s in steps if s[0] in early]
    late_steps = [s for s in steps if s[0] not in early]
    count = 0
    while tests:
        _fill(values, early_steps)
        if not _agree(values, asked, body.reads[:tests]):
            return count
        _fill(values, late_steps)
        if not _agree(values, others, body.reads[tests:]):
            return None
        values[first:second] = [values[k] for k in outputs[: body.carried]]
        count += 1
    return None


def _needed(steps: Sequence[Step], outputs: Sequence[int]) -> set[int]:
    """The places above these outputs."""
    found = set(outputs)
    for at, _, read, _ in reversed(steps):
        if at in found:
            found.update(read)
    return found


def _fill(values: list[Any], steps: Sequence[Step]) -> None:
    for at, node, read, dropped in steps:
        try:
            values[at] = computed(node, [values[k] for k in read])
        except Exception as error:  # whatever an op raises: told where, and raised again
            if node.line and not isinstance(error, ChainruleError):
                error.args = (f"{error}\n  {node.line.shown()}", *error.args[1:])
            raise
        for k in dropped:
            values[k] = None


def _agree(values: Sequence[Any], at: Sequence[int], expected: Sequence[Any]) -> bool:
    pairs = zip(at, expected, strict=True)
    return all(
        np.array_equal(values[k], e, equal_nan=np.asarray(e).dtype.kind in "fc") for k, e in pairs
    )


def _own(value: Any) -> Any:
    """A result that shares no memory with an input."""
    return np.array(value)[()] if isinstance(value, np.ndarray) else np.asarray(value)[()]


def loop_spec(*xs: Any, body: Body) -> tuple[Spec, ...]:
    """The specs of all results; the inputs must be what the leaves of the body say."""
    leaves = body.graph.leaves
    if len(xs) != len(leaves):
        raise GraphError(f"a loop of {len(leaves)} inputs is given {len(xs)}")
    for i, (given, leaf) in enumerate(zip(map(Spec.of, xs), leaves, strict=True)):
        shape = leaf.shape if i < body.fixed + body.carried else (body.count, *leaf.shape)
        if given != Spec(shape, leaf.dtype):
            raise GraphError(f"input {i} of a loop is {given}, its body reads {leaf.spec}")
    outputs = [out.spec for out in body.graph.outputs]
    for k, out in enumerate(outputs[: body.carried]):
        if out != leaves[body.fixed + k].spec:
            raise GraphError(f"a loop carries {leaves[body.fixed + k].spec}, and then {out}")
    stacks = [Spec((body.count, *out.shape), out.dtype) for out in outputs[body.carried :]]
    return (*outputs[: body.carried], *stacks)
