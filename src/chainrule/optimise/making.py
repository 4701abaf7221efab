"""Nodes that nobody recorded: an op on given arguments, on the line of another node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chainrule.core.loop import Body
from chainrule.core.node import NO_ATTRS, Node
from chainrule.core.op import OPS
from chainrule.core.parts import OBJECT
from chainrule.core.rule import rule_for
from chainrule.core.spec import Spec, is_inexact
from chainrule.ops.loop import loop
from chainrule.ops.structure import item


def made(op: str, args: Sequence[Any], attrs: Mapping[str, Any], at: Node) -> Node:
    """The node of an op of the table."""
    record = OPS[op]
    attrs = {**record.attrs, **attrs}
    shape, dtype = record.spec(*[Spec.of(a) for a in args], **attrs)
    active = tuple([isinstance(a, Node) and is_inexact(a.dtype) for a in args])
    rule = rule_for(record, active)
    parents = tuple([args[i] for i in rule.positions])
    line = at.code, at.lasti
    return Node(rule, parents, (), attrs or NO_ATTRS, shape, dtype, *line, tuple(args))


def results_of(body: Body, inputs: Sequence[Node], at: Node) -> list[Node]:
    """The results of a loop."""
    rule = rule_for(loop, tuple([is_inexact(n.dtype) for n in inputs]))
    parents = tuple([inputs[i] for i in rule.positions])
    line = at.code, at.lasti
    node = Node(rule, parents, (), {"body": body}, (), OBJECT, *line, tuple(inputs))
    specs = loop.spec(*[n.spec for n in inputs], body=body)
    part = rule_for(item, (True,))
    return [
        Node(part, (node,), (), {"index": k, "count": len(specs)}, shape, dtype, *line, (node,))
        for k, (shape, dtype) in enumerate(specs)
    ]
