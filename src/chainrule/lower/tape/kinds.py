"""Kinds of instructions of a tape: what one scalar node computes, and what it hands back.

Both come from the op's own record: the value from its `lower`, the derivative from its rule, which
is recorded once on numbers and lowered like any other graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrule.core.graph import inputs_of
from chainrule.core.node import Node, make_leaf
from chainrule.core.order import dfs_order
from chainrule.diff.sweep import local_pull
from chainrule.lower.build import Builder
from chainrule.lower.values.array import Array, NotLoweredError
from chainrule.lower.values.value import BOOL, DOUBLE, LONG, Value, ordered

SLOT_TYPES = (DOUBLE, LONG, BOOL)  # what a slot of eight bytes holds


class Kind:
    """One kind of instruction: its operands, its value, and what it adds to their adjoints.

    `inputs` are the operands, the result, its adjoint, and what was `saved` in the forward pass:
    all that the reverse pass needs of the operands.  It is read in order then, where operands lie
    anywhere, and a function of them is computed beside the value, while that waits for the one
    before.
    """

    def __init__(self, node: Node, args: Sequence[Any]):
        """Of a scalar node like this; `args` says per argument its type, or the constant it is."""
        if node.dtype not in SLOT_TYPES:
            raise NotLoweredError(f"a tape has no {node.dtype.name}")
        self.at = [i for i, a in enumerate(args) if isinstance(a, np.dtype)]
        self.operands = tuple(args[i] for i in self.at)
        self.name, self.dtype = node.op.name, node.dtype
        settings = [(k, repr(v)) for k, v in node.attrs.items() if not k.startswith("_")]
        self.meaning = node.rule, settings, [repr(a) for a in args]  # equal where the kinds are
        leaves = {i: make_leaf((), args[i], None) for i in self.at}
        own = tuple(leaves.get(i, a) for i, a in enumerate(args))
        line = node.code, node.lasti
        parents = tuple(make_leaf(p.shape, p.dtype, None) for p in node.parents)  # not the graph
        self.node = Node(node.rule, parents, node.saved, node.attrs, (), node.dtype, *line, own)
        types = (*self.operands, node.dtype, DOUBLE)
        self.inputs = tuple(Value("input", (), t, params=i) for i, t in enumerate(types))
        given = zip(leaves.values(), self.inputs, strict=False)
        builder = Builder()
        self.forward: Value = builder.lowered(self.node, {n: Array(v, ()) for n, v in given}).value
        self.reverse: list[Value | None] = [None] * len(self.at)  # one per operand
        self.saved: list[Value] = []
        _check(builder, [self.forward])

    @property
    def flows(self) -> bool:
        """Whether an adjoint of the result goes anywhere."""
        return any(v is not None for v in self.reverse)

    def differentiate(self) -> None:
        """Fill in `reverse` and `saved`; an operand through which no derivative flows has none."""
        rule = self.node.rule
        if not rule.positions or self.dtype != DOUBLE:
            return
        names = rule.op.inputs
        by_name = {names[i]: value for i, value in zip(self.at, self.inputs, strict=False)}
        by_name |= {"out": self.inputs[-2], "g": self.inputs[-1]}
        builder = Builder()
        found = _pulled(builder, self.node, by_name)
        _check(builder, [v for v in found if v is not None])
        values = [v for v in found if v is not None]
        self._save(values)
        read_back = self._read_back(values)
        by_position = dict(zip(rule.positions, found, strict=True))
        self.reverse = [read_back.get(by_position.get(i)) for i in self.at]

    def _save(self, values: list[Value]) -> None:
        """Find what is to be saved: the largest parts that the adjoint has no part in."""
        *operands, _, adjoint = self.inputs
        of_adjoint, of_operands = {adjoint}, set(operands)
        for v in ordered(values):
            args = [a for a, _ in v.args]
            if not of_adjoint.isdisjoint(args):
                of_adjoint.add(v)
            elif not of_operands.isdisjoint(args):
                of_operands.add(v)
        read = [a for v in ordered(values) if v in of_adjoint for a, _ in v.args] + values
        largest = dict.fromkeys(v for v in read if v in of_operands)
        self.saved = list(largest) if len(largest) <= len(operands) else operands
        first = len(self.inputs)
        given = enumerate(self.saved, first)
        self.inputs += tuple(Value("input", (), v.dtype, params=i) for i, v in given)

    def _read_back(self, values: list[Value]) -> dict[Value | None, Value]:
        """Values of the reverse pass, from what was saved."""
        kept = self.inputs[len(self.operands) + 2 :]
        known: dict[Value | None, Value] = dict(zip(self.saved, kept, strict=True))
        for v in ordered(values):
            if v not in known:
                args = tuple((known[a], axes) for a, axes in v.args)
                known[v] = Value(v.kind, v.dims, v.dtype, args, v.params) if args else v
        return known


def _pulled(builder: Builder, local: Node, by_name: dict[str, Value]) -> list[Value | None]:
    """What a node adds to the adjoint of each parent."""
    leaves, parts, _, trace = local_pull(local)
    if trace.reads:
        raise NotLoweredError(f"the derivative of {local.op.name} depends on what Python reads")
    known: dict[Node, Any] = {leaf: Array(by_name[name], ()) for name, leaf in leaves.items()}
    known |= {leaf: builder.given(array) for leaf, array in trace.values.items()}
    for node in dfs_order([p for p in parts if isinstance(p, Node)], inputs_of):
        if node not in known:
            known[node] = builder.lowered(node, known)
    found: list[Value | None] = []
    for part in parts:
        array = known[part] if isinstance(part, Node) else part
        if array is not None and not isinstance(array, Array):
            array = builder.given(array)
        found.append(None if array is None else array.value)
    return found


def _check(builder: Builder, values: list[Value]) -> None:
    if builder.fallbacks:
        node, why = builder.fallbacks[0]
        raise NotLoweredError(f"{node.op.name}: {why}")
    if builder.forbidden:
        raise NotLoweredError("an index is checked when it is used")
    for v in ordered(values):
        scalar = not v.dims and v.dtype in SLOT_TYPES
        if not scalar or v.kind not in ("input", "constant", "map") or v.params == "take":
            raise NotLoweredError(f"{v.kind} of {v.dtype.name} is no step of a tape")
