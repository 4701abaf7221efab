"""A graph as values of the compiler: each op says in its own record (`lower`) what it becomes.

`lower` is the name of a scalar function (an elementwise op), or a function of a `Builder` and the
operands.  An op without one, and one that returns None for these operands, is called through the
interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.node import Node
from chainrule.core.spec import Shape
from chainrule.lower.arrays import Array, Call, Constant, NotLoweredError, dims_of
from chainrule.lower.convolve import Convolutions
from chainrule.lower.indices import assigned, gathered, scattered
from chainrule.lower.tape import TAPE
from chainrule.lower.triangle import Cut, cuts, other_operand
from chainrule.lower.values import KNOWN, Value, pointwise


class Program:
    """What a graph becomes: its inputs in the order of the leaves, its outputs, and the calls."""

    def __init__(
        self,
        graph: Graph,
        constants: Mapping[Node, np.ndarray] | None = None,
        triangular: bool = True,
    ):
        """`constants` are leaves of known value.

        `triangular`: zeros that are known may be left out of products, as long as what they would
        be multiplied with is finite.
        """
        self.graph = graph
        builder = Builder()
        known: dict[Node, Any] = {}
        self.inputs: list[Value] = []
        self.shapes: list[Shape] = []
        for leaf in (*graph.leaves, *graph.captured):
            if constants and leaf in constants:
                known[leaf] = builder.given(constants[leaf]) or builder.held(constants[leaf])
                continue
            value = Value("input", dims_of(leaf.shape), leaf.dtype, params=len(self.inputs))
            value.name = str(leaf.name)
            self.inputs.append(value)
            self.shapes.append(leaf.shape)
            known[leaf] = Array(value, leaf.shape)
        for node in graph.nodes:
            if not node.is_leaf:
                known[node] = builder.lowered(node, known)
        self.results: list[Array] = [known[out] for out in graph.outputs]
        self.forbidden = builder.forbidden
        self.results += self.forbidden
        self.cuts = cuts(builder.made.values(), self.outputs) if triangular else {}
        self.infinite = builder.infinite(self.cuts)
        self.results += self.infinite
        self.fallbacks = builder.fallbacks

    @property
    def outputs(self) -> list[Value]:
        return [array.value for array in self.results]


class Builder(Convolutions):
    """Makes the values of one program."""

    def __init__(self) -> None:
        super().__init__()
        self.fallbacks: list[tuple[Node, str]] = []
        self.forbidden: list[Array] = []  # truths that must be false for the results to be right

    def lowered(self, node: Node, known: dict[Node, Any]) -> Any:
        """The array (or the call, of an op with several results) that a node becomes."""
        if node.op.name == "item":
            call = known[node.args[0]]  # type: ignore[index]
            value = Value(
                "result", dims_of(node.shape), node.dtype, ((call, ()),), node.attrs["index"]
            )
            return Array(value, node.shape)
        args = [known[a] if isinstance(a, Node) else a for a in node.args or ()]
        if node.op is TAPE:
            return self._called(node, args)
        found, why = self._by_record(node, args)
        if found is None:
            self.fallbacks.append((node, why))
            return self._called(node, args)
        if found.value.line is None:
            found.value.line = node.line
        return found

    def _by_record(self, node: Node, args: list[Any]) -> tuple[Any, str]:
        lower = node.op.lower
        if lower is None:
            return None, "no lowering is written"
        if node.dtype not in KNOWN:
            return None, f"machine code has no {node.dtype.name}"
        operands: list[Any] = []
        for arg in args:
            operand = arg if isinstance(arg, Array) else self.given(arg)
            if operand is None or operand.dtype not in KNOWN:
                return None, "an operand is of a type that machine code does not have"
            operands.append(operand)
        try:
            found = (
                self.elementwise(lower, operands, node)
                if isinstance(lower, str)
                else lower(self, *operands, **node.attrs)
            )
        except NotLoweredError as error:
            return None, str(error)
        if found is None:
            return None, "these operands have no lowering"
        if found.shape != node.shape:
            raise AssertionError(f"{node.op.name}: lowered to {found.shape}, not {node.shape}")
        return (found if found.dtype == node.dtype else self.astype(found, node.dtype)), ""

    def _called(self, node: Node, args: list[Any]) -> Any:
        operands = tuple(
            (a.value, pointwise(len(a.value.dims))) for a in args if isinstance(a, Array)
        )
        call = Value("call", dims_of(node.shape), node.dtype, operands, node)
        call.line = node.line
        call.name = node.op.name
        # How the interpreter is called: shapes of the operands, constants in their places.
        call.params = Call(node, [a.shape if isinstance(a, Array) else Constant(a) for a in args])
        return call if node.dtype == object else Array(call, node.shape)

    # -- indices -------------------------------------------------------------------------------

    def gather(self, x: Array, arrays: tuple[Array, ...], template: Any) -> Array | None:
        return gathered(self, x, arrays, template)

    def scatter(
        self, g: Array, arrays: tuple[Array, ...], template: Any, shape: Shape
    ) -> Array | None:
        return scattered(self, g, arrays, template, shape)

    def setitem_at(
        self, x: Array, value: Array, arrays: tuple[Array, ...], template: Any
    ) -> Array | None:
        return assigned(self, x, value, arrays, template)

    def infinite(self, found: Mapping[Value, Cut]) -> list[Array]:
        """Per product that leaves out zeros, whether one of them meets an infinity or a NaN."""
        met = [other_operand(v, cut) for v, cut in found.items() if cut.over == "summed"]
        truths = []
        for value in dict.fromkeys(met):
            finite = self.map("isfinite", Array(value, value.dims))
            truths.append(self.reduce("any", self.map("logical_not", finite), None, False))
        return truths

    def forbid(self, truth: Array) -> None:
        """The results hold only where this is false."""
        if truth not in self.forbidden:
            self.forbidden.append(truth)
