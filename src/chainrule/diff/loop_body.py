"""What a derivative reads of an iteration, and how the loop of a derivative is put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import inputs_of
from chainrule.core.loop import Body, body_graph, looped, substituted
from chainrule.core.masked import Masked, concrete, unmasked
from chainrule.core.node import Node, make_leaf
from chainrule.core.order import dfs_order
from chainrule.core.parts import OBJECT
from chainrule.core.replay import arguments, computed
from chainrule.core.rule import rule_for
from chainrule.core.spec import Spec, is_inexact
from chainrule.ops.loop import loop
from chainrule.ops.structure import item
from chainrule.record.body import Recorded
from chainrule.record.recorder import record
from chainrule.record.state import current, is_differentiated
from chainrule.record.variable import Variable

Place = tuple[
    str, int
]  # "input" i, "saved" stack j, adjoint or tangent "seed" k, "zeros" of input i


# -- running a loop --------------------------------------------------------------------------------


def applied(body: Body, inputs: Sequence[Any], keep: bool = True) -> list[Any] | None:
    """What was carried at last, and the stacks; None where the record does not hold.

    Where a derivative may be asked for, what it reads is kept, unless `keep` says no.
    """
    tracing = current.get().tracing
    keep = keep and not (tracing is not None and tracing.recomputes)
    full = saving(body) if keep and any(map(flows, inputs)) else body
    if any(isinstance(v, Variable) for v in inputs):
        found = loop(list(inputs), body=full)
    else:
        found = looped(*inputs, body=full)
    if not _as_recorded(body, found):
        return None
    after = body.carried + len(body.reads)
    return [*found[: body.carried], *found[after : len(body.graph.outputs)]]


def _as_recorded(body: Body, found: Sequence[Any]) -> bool:
    """Whether Python code would be given the same in each iteration; that is a guard of its own."""
    tracing = current.get().tracing
    for expected, stack in zip(body.reads, found[body.carried :], strict=False):
        seen = np.asarray(concrete(stack))
        inexact = seen.dtype.kind in "fc"
        alike = np.broadcast_to(expected, seen.shape)
        if not np.array_equal(seen, alike, equal_nan=inexact):
            return False
        if tracing is not None and isinstance(stack, Variable):
            tracing.read(stack)
    return True


def flows(value: Any) -> bool:
    """Whether this input may be differentiated."""
    return isinstance(value, Variable) and is_differentiated(value.node)


# -- what is kept for derivatives ------------------------------------------------------------------


def saving(body: Body, carries: bool = False) -> Body:
    """The same loop, which also stacks what its derivatives read.

    What is the same in all iterations, or a view, is found again.  With `carries` all that is
    carried is stacked too, from which everything can be computed.
    """
    if body.saves and not carries:
        return body
    key = "saving", carries
    if key not in body.derived:
        kept = _read_by_rules(body)
        if carries:
            kept |= dict.fromkeys(body.parts(body.graph.leaves)[1])
        stacked = set(body.graph.outputs[body.carried :])
        more = [node for node in kept if node not in stacked]
        graph = body_graph(body.graph.leaves, [*body.graph.outputs, *more])
        body.derived[key] = Body(
            graph, body.count, body.carried, body.rows, body.backwards, body.reads, True
        )
    found: Body = body.derived[key]
    return found


def _read_by_rules(body: Body) -> dict[Node, None]:
    """The nodes of which the rules read the value, as far as it is worth keeping."""
    graph = body.graph
    _, carried, rows = body.parts(graph.leaves)
    varies = {*carried, *rows}
    pending: list[Node] = []
    for node in graph.nodes:
        if node.is_leaf:
            continue
        if any(a in varies for a in inputs_of(node)):
            varies.add(node)
        if node.parents:
            pending += named_by_rule(node)
    kept: dict[Node, None] = {}
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node in seen or node not in varies:
            continue
        seen.add(node)
        if node.is_leaf:
            kept |= dict.fromkeys([node] if node in carried else [])
        elif node.op.view:
            pending += inputs_of(node)
        else:
            kept |= dict.fromkeys([node] if node.dtype != OBJECT else parts(node, graph.nodes))
    return kept


def named_by_rule(node: Node) -> list[Node]:
    """The node itself and its arguments, as far as its rule reads their values."""
    names = node.rule.saved_names
    found = [node] if "out" in names and not _runs_again(node) else []
    if "xs" in names:
        return found + inputs_of(node)  # type: ignore[operator]
    args = node.args or ()
    if node.op.variadic:
        first = len(args) if node.op.fixed_from is None else node.op.fixed_from
        return found + [a for a in args[first:] if isinstance(a, Node)]
    read = [a for name, a in zip(node.op.inputs, args, strict=False) if name in names]
    return found + [a for a in read if isinstance(a, Node)]


def _runs_again(node: Node) -> bool:
    """Whether it is a loop whose derivative computes all results again from the inputs."""
    body = node.attrs.get("body")
    return isinstance(body, Body) and not body.saves


def parts(node: Node, nodes: Sequence[Node]) -> list[Node]:
    """A node for each result of one that has several; those that are there, and new ones."""
    if node.op.spec is None:
        return []
    there = {
        n.attrs["index"]: n for n in nodes if not n.is_leaf and n.op is item and n.args == (node,)
    }
    given = [a.spec if isinstance(a, Node) else a for a in node.args or ()]
    specs = node.op.spec(*(Spec.of(a) if hasattr(a, "dtype") else a for a in given), **node.attrs)
    return [there.get(i) or _part(node, s, i, len(specs)) for i, s in enumerate(specs)]


def _part(whole: Node, spec: Spec, index: int, count: int) -> Node:
    rule = rule_for(item, (bool(whole.rule.positions) and is_inexact(spec.dtype),))
    parents = (whole,) if rule.positions else ()
    attrs = {"index": index, "count": count}
    return Node(rule, parents, (), attrs, *spec, whole.code, whole.lasti, (whole,))


# -- an iteration once more ------------------------------------------------------------------------


def again(body: Body, given: Sequence[Variable]) -> dict[Node, Any]:
    """The values of all nodes of an iteration, recorded anew on these leaves."""
    values: dict[Node, Any] = dict(zip(body.graph.leaves, given, strict=True))
    for node in body.graph.nodes:
        if node not in values:
            values[node] = _recorded(node, arguments(node, values))
    return values


def _recorded(node: Node, args: list[Any]) -> Any:
    if node.op is item:
        return args[0][node.attrs["index"]]
    if any(isinstance(a, Variable) for a in args):
        return record(Variable, node.op, args, node.attrs, (node.code, node.lasti))
    return computed(node, args)


def first_row(body: Body, xs: Sequence[Any]) -> list[Any]:
    """What the first iteration is given, as arrays."""
    fixed, carried, rows = body.parts([concrete(x) for x in xs])
    first = next(body.order())
    return [np.asarray(v)[()] for v in (*fixed, *carried, *(row[first] for row in rows))]


def inexact_carries(body: Body) -> list[int]:
    """The numbers of those inputs that are carried and have a derivative."""
    leaves = body.graph.leaves
    return [i for i in range(body.fixed, body.fixed + body.carried) if is_inexact(leaves[i].dtype)]


# -- the loop of a derivative ----------------------------------------------------------------------


@dataclass(frozen=True)
class Derived:
    """A loop, what its inputs are, and which results of it belong to what."""

    body: Body
    sources: list[Any]  # constants that the rules made: the first inputs
    inputs: list[Place]
    carried: list[int]  # whose adjoint or tangent it is
    stacked: list[int]
    masks: bool  # whether a mask was left out

    def given(
        self, xs: Sequence[Any], saved: Sequence[Any], seeds: Sequence[Any], sums: dict[int, Any]
    ) -> list[Any]:
        """The inputs; where there is no seed, and no sum to begin with, zeros."""
        found = list(self.sources)
        leaves = self.body.graph.leaves[len(found) :]
        for (kind, k), leaf in zip(self.inputs, leaves, strict=True):
            known = {"input": xs, "saved": saved, "seed": seeds, "alive": seeds}.get(kind)
            value = sums.get(k) if known is None else known[k]
            if value is None:
                value = np.zeros(self._shape(leaf, len(found)), leaf.dtype)[()]
            elif kind == "alive":
                lanes = np.ones(concrete(value).shape, bool)[()]
                value = value.alive if type(value) is Masked else lanes
            found.append(unmasked(value))
        return found

    def _shape(self, leaf: Node, position: int) -> tuple[int, ...]:
        """The shape of an input: of a row there are as many as there are iterations."""
        is_row = position >= self.body.fixed + self.body.carried
        return (self.body.count, *leaf.shape) if is_row else leaf.shape


class Unsaved(Exception):  # noqa: N818 - it is caught at once
    """A derivative reads what is carried, and that was not stacked."""


def assembled(
    body: Body,
    made: Recorded,
    twins: dict[Node, Node],
    places: dict[Node, tuple[str, Place]],
    results: tuple[list[tuple[int, Node]], list[tuple[int, Node]]],
    backwards: bool,
    masks: bool,
) -> Derived:
    """The loop over a recorded derivative of one iteration, reading the stacks of the loop itself.

    `twins` are the nodes of the iteration as recorded anew, `places` what each leaf is: its group
    (fixed, carried, rows) and where its value comes from; `results` whose adjoint or tangent which
    node is, those carried and those stacked.
    """
    carried, stacked = results
    replaced, saved = _cut(body, made, twins)
    reads = made.graph.outputs[len(made.graph.outputs) - len(made.reads) :]
    every = [*(n for _, n in carried), *reads, *(n for _, n in stacked)]
    outputs = substituted(every, replaced)
    used = set(dfs_order(outputs, inputs_of))
    groups: dict[str, list[tuple[Node, Place]]] = {"fixed": [], "carried": [], "rows": []}
    for leaf, (group, place) in {**places, **saved}.items():
        if group == "carried" or leaf in used:
            if group == "unsaved":
                raise Unsaved
            groups[group].append((leaf, place))
    count = len(made.sources)
    sources = made.graph.leaves[:count]
    ordered = [*groups["fixed"], *groups["carried"], *groups["rows"]]
    graph = body_graph([*sources, *(leaf for leaf, _ in ordered)], outputs)
    made_loop = Body(
        graph, body.count, len(carried), len(groups["rows"]), backwards, made.reads
    )  # fmt: skip
    return Derived(
        made_loop,
        made.sources,
        [place for _, place in ordered],
        [k for k, _ in carried],
        [k for k, _ in stacked],
        masks,
    )


def _cut(
    body: Body, made: Recorded, twins: dict[Node, Node]
) -> tuple[dict[Node, Node], dict[Node, tuple[str, Place]]]:
    """Leaves in place of what was stacked."""
    replaced: dict[Node, Node] = {}
    places: dict[Node, tuple[str, Place]] = {}
    pieces: dict[tuple[Node, int], Node] = {}
    for j, out in enumerate(body.graph.outputs[body.carried :], start=body.carried):
        if out not in twins:
            continue
        leaf = make_leaf(out.shape, out.dtype, f"saved{j}")
        places[leaf] = "rows", ("saved", j)
        replaced.setdefault(twins[out], leaf)
        if not out.is_leaf and out.op is item:
            pieces[twins[out].args[0], out.attrs["index"]] = leaf
    for node in made.graph.nodes:
        if not node.is_leaf and node.op is item:
            leaf_of = pieces.get((node.args[0], node.attrs["index"]))
            if leaf_of is not None:
                replaced.setdefault(node, leaf_of)
    return replaced, places
