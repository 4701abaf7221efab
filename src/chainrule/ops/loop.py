"""A loop: one recorded iteration, run many times."""

from __future__ import annotations

from typing import Any

from chainrule.core.batching import BatchCall
from chainrule.core.lazy_method import lazy_method
from chainrule.core.loop import Body, body_graph, loop_spec, looped
from chainrule.core.node import NO_ATTRS, Node, make_leaf
from chainrule.core.op import OPS, Sample, sample
from chainrule.core.rule import rule_for
from chainrule.core.spec import Spec
from chainrule.ops.define import rules
from chainrule.ops.samples import draw


class Derivative:
    """Where the rules live: to the right, as they record the body anew."""

    pull = lazy_method("chainrule.diff.loop_rules", "pull", static=True)
    push = lazy_method("chainrule.diff.loop_rules", "push", static=True)
    batch = lazy_method("chainrule.diff.loop_lanes", "batch", static=True)
    scratch_bytes = lazy_method("chainrule.diff.loop_segments", "scratch_bytes", static=True)


def _pull(g: Any, xs: Any, out: Any, active: Any, body: Body) -> Any:
    return Derivative.pull(g, xs, out, active, body)


def _push(ts: Any, xs: Any, out: Any, active: Any, body: Body) -> Any:
    return Derivative.push(ts, xs, out, active, body)


def _batch(call: BatchCall) -> Any:
    return Derivative.batch(call)


def _scratch(node: Node, read: int, made: int) -> tuple[int, int]:
    one = sum(n.size * n.dtype.itemsize + 120 for n in node.attrs["body"].graph.nodes)
    return made + 3 * one, Derivative.scratch_bytes(node.attrs["body"])


def _applied(op: str, *args: Node) -> Node:
    record, spec = OPS[op], args[0].spec
    rule = rule_for(record, (True,) * len(args))
    parents = tuple(args[i] for i in rule.positions)
    return Node(rule, parents, (), dict(record.attrs) or NO_ATTRS, *spec, args=args)


def _samples() -> list[Sample]:
    """c ← sin(c) · x + k, of which every sin(c) is a row of a result."""
    spec = Spec.of(draw((2,), -1, 1))
    k, c, x = (make_leaf(*spec, name) for name in ("k", "c", "x"))
    s = _applied("sin", c)
    graph = body_graph((k, c, x), (_applied("add", _applied("multiply", s, x), k), s))
    args = draw((2,), -1, 1), draw((2,), 0.2, 1), draw((3, 2), 0.5, 1)
    return [
        sample(*args, body=Body(graph, 3, carried=1, rows=1)),
        sample(*args, body=Body(graph, 3, carried=1, rows=1, backwards=True)),
    ]


loop = rules(
    "loop",
    looped,
    inputs=("xs",),
    reverse=(_pull,),
    push=(_push,),
    variadic=True,
    spec=loop_spec,
    samples=_samples,
    scratch=_scratch,
    lower=lambda b, *xs, body: b.loop(xs, body),
    batch=_batch,
    doc="One recorded iteration, run `body.count` times: `cr.scan` and its like record it.",
)
