"""Kinds of instructions of a tape: what one scalar node computes, and what it hands back.

Both come from the op's own record: the value from its `lower`, the derivative from its rule, which
is recorded once on numbers and lowered like any other graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chainrule.core.graph import inputs_of
from chainrule.core.node import Node, make_leaf
from chainrule.core.order import dfs_order
from chainrule.diff.sweep import local_pull
from chainrule.lower.arrays import Array, NotLoweredError
from chainrule.lower.build import Builder
from chainrule.lower.values import BOOL, DOUBLE, LONG, Value, ordered

SLOT_TYPES = (DOUBLE, LONG, BOOL)  # what a slot of eight bytes holds


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of instruction: its operands, its value, and what it adds to their adjoints.

    `reverse` is one value per operand, or None where no derivative flows; its inputs are the
    operands, then the result, then the result's adjoint.
    """

    name: str
    operands: tuple[Any, ...]  # their types
    dtype: Any
    inputs: tuple[Value, ...]
    forward: Value
    reverse: tuple[Value | None, ...]

    @property
    def flows(self) -> bool:
        """Whether an adjoint of the result goes anywhere."""
        return any(v is not None for v in self.reverse)


def kind_of(node: Node, args: Sequence[Any]) -> Kind:
    """The kind of a scalar node; `args` says per argument its type, or the constant it is."""
    if node.dtype not in SLOT_TYPES:
        raise NotLoweredError(f"a tape has no {node.dtype.name}")
    at = [i for i, a in enumerate(args) if a in SLOT_TYPES]
    types = tuple(args[i] for i in at)
    leaves = {i: make_leaf((), args[i], None) for i in at}
    own = tuple(leaves.get(i, a) for i, a in enumerate(args))
    local = Node(
        node.rule, node.parents, node.saved, node.attrs, (), node.dtype, node.code, node.lasti, own
    )
    builder = Builder()
    inputs = tuple(
        Value("input", (), dtype, params=i) for i, dtype in enumerate((*types, node.dtype, DOUBLE))
    )
    known: dict[Node, Any] = {
        leaf: Array(value, ()) for leaf, value in zip(leaves.values(), inputs, strict=False)
    }
    forward = builder.lowered(local, known).value
    reverse: list[Value | None] = [None] * len(at)
    if node.rule.positions and node.dtype == DOUBLE:
        names = node.op.inputs
        by_name = {names[i]: value for i, value in zip(at, inputs, strict=False)}
        by_name |= {"out": inputs[-2], "g": inputs[-1]}
        found = _pulled(builder, local, by_name)
        for i, value in zip(node.rule.positions, found, strict=True):
            reverse[at.index(i)] = value
    _check(builder, [forward, *(v for v in reverse if v is not None)])
    return Kind(node.op.name, types, node.dtype, inputs, forward, tuple(reverse))


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


def copying() -> Kind:
    """The kind that takes a number over, so that it has an adjoint of its own."""
    inputs = tuple(Value("input", (), DOUBLE, params=i) for i in range(3))
    return Kind("copy", (DOUBLE,), DOUBLE, inputs, inputs[0], (None,))
