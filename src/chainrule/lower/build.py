"""A graph as values of the compiler: each op says in its own record (`lower`) what it becomes.

`lower` is the name of a scalar function (an elementwise op), or a function of a `Builder` and the
operands.  An op without one, and one that returns None for these operands, is called through the
interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.core.graph import Graph
from chainrule.core.loop import Body
from chainrule.core.node import Node
from chainrule.core.parts import OBJECT
from chainrule.core.spec import Shape
from chainrule.lower.target import Target, host
from chainrule.lower.values.array import TAPE, Array, Constant, NotLoweredError, OpCall, dims_of
from chainrule.lower.values.cuts import Cut, cuts, other_operand
from chainrule.lower.values.indices import Indexing
from chainrule.lower.values.layout import rows_of
from chainrule.lower.values.value import KNOWN, Value, pointwise
from chainrule.optimise.passes import optimised


class Program:
    """What a graph becomes: its inputs in the order of the leaves, its outputs, and the calls."""

    def __init__(
        self,
        graph: Graph,
        constants: Mapping[Node, np.ndarray] | None = None,
        triangular: bool = True,
        exported: Callable[[str], bool] | None = None,
        target: Target | None = None,
    ):
        """`constants` are leaves of known value.

        `triangular`: zeros that are known may be left out of products, as long as what they would
        be multiplied with is finite.  `exported` says which routines of LAPACK can be called.
        The target is this machine if none is given.
        """
        self.graph, self.target = graph, target or host()
        builder = Builder(exported, triangular, self.target)
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
        self.rare = builder.any_rare(self.cuts)
        self.results += self.rare
        self.fallbacks = builder.fallbacks

    @property
    def outputs(self) -> list[Value]:
        return [array.value for array in self.results]


@dataclass(frozen=True, eq=False)
class Loop:
    """What a loop runs: the program of one iteration, whose last results are truths about it."""

    program: Program
    body: Body

    @property
    def results(self) -> list[tuple[Shape, Any]]:
        """Shape and dtype of all that the loop gives: what is carried, stacks, and such truths.

        A truth holds of the loop where it holds of an iteration.
        """
        count = len(self.body.graph.outputs)
        return [
            (
                (self.body.count, *made.shape)
                if self.body.carried <= i < count
                else tuple(made.shape),
                made.dtype,
            )
            for i, made in enumerate(self.program.results)
        ]


class Builder(Indexing):
    """Makes the values of one program."""

    def __init__(
        self,
        exported: Callable[[str], bool] | None = None,
        triangular: bool = True,
        target: Target | None = None,
    ) -> None:
        super().__init__(exported)
        self.triangular, self.target = triangular, target
        self.fallbacks: list[tuple[Node, str]] = []

    def lowered(self, node: Node, known: dict[Node, Any]) -> Any:
        """The array (or the call, of an op with several results) that a node becomes."""
        if node.op.name == "item":
            call = known[node.args[0]]
            if isinstance(call, tuple):
                return call[node.attrs["index"]]
            value = Value(
                "result", dims_of(node.shape), node.dtype, ((call, ()),), node.attrs["index"]
            )
            return Array(value, node.shape)
        args = [known[a] if isinstance(a, Node) else a for a in node.args or ()]
        if node.op is TAPE:
            return self._called(node, args)
        noted = len(self.rare)
        found, why = self._by_record(node, args)
        if found is None:
            del self.rare[noted:]  # what it would have asked
            self.fallbacks.append((node, why))
            return self._called(node, args)
        for array in found if isinstance(found, tuple) else (found,):
            if array.value.line is None:
                array.value.line = node.line
        return found

    def _by_record(self, node: Node, args: list[Any]) -> tuple[Any, str]:
        lower = node.op.lower
        if lower is None:
            return None, "no lowering is written"
        if node.dtype not in KNOWN and node.dtype != OBJECT:
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
        if isinstance(found, tuple):
            return found, ""
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
        call.params = OpCall(node, [a.shape if isinstance(a, Array) else Constant(a) for a in args])
        return call if node.dtype == object else Array(call, node.shape)

    def loop(self, operands: tuple[Array, ...], body: Body) -> tuple[Array, ...]:
        """The results of a loop, of which one iteration is a program of its own."""
        better = optimised(body.graph, (), {})
        one = Program(better.graph, better.constants, self.triangular, self.exported, self.target)
        if one.fallbacks:
            node, why = one.fallbacks[0]
            raise NotLoweredError(f"{node.op.name} in its body: {why}")
        specs = [leaf.spec for leaf in body.graph.leaves]
        if any(d not in KNOWN for d in [s.dtype for s in specs] + [r.dtype for r in one.results]):
            raise NotLoweredError("its body has a type that machine code does not have")
        given = [self.astype(a, s.dtype) for a, s in zip(operands, specs, strict=True)]
        first_row = body.fixed + body.carried
        whole = tuple((a.value, pointwise(len(a.value.dims))) for a in given[:first_row])
        args = (*whole, *(rows_of(a.value, body.count) for a in given[first_row:]))
        value = Value("loop", (), OBJECT, args, Loop(one, body))
        value.name = "loop"
        found = []
        for i, (shape, dtype) in enumerate(value.params.results):
            found.append(Array(Value("result", dims_of(shape), dtype, ((value, ()),), i), shape))
        count = len(body.graph.outputs)
        for truth in found[count : count + len(one.forbidden)]:
            self.forbid(truth)
        self.rare += found[count + len(one.forbidden) :]
        return tuple(found[:count])

    def any_rare(self, found: Mapping[Value, Cut]) -> list[Array]:
        """Whether anything rare is met, if that can be: for which another program is there.

        A routine may fail, and in a product that leaves out zeros one of them may meet an infinity
        or a NaN.
        """
        met = [other_operand(v, cut) for v, cut in found.items() if cut.over == "summed"]
        for value in dict.fromkeys(met):
            self.finite(Array(value, value.dims))
        if not self.rare:
            return []
        any_of_them = self.rare[0]
        for truth in self.rare[1:]:
            any_of_them = self.map("logical_or", any_of_them, truth)
        return [any_of_them]
