"""The body of a loop, written from one iteration of a run that stands for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.graph import inputs_of
from chainrule.core.node import Node, make_leaf
from chainrule.ops.structure import constant_node
from chainrule.optimise.indices import by_arrays
from chainrule.optimise.iterations import (
    Carried,
    Each,
    Fixed,
    Local,
    Operand,
    Rows,
    Same,
    Table,
)
from chainrule.optimise.making import made

if TYPE_CHECKING:
    from chainrule.optimise.roll import Rolling


class Writer:
    """Writes the nodes of an iteration of one run."""

    def __init__(self, rolling: Rolling, number: int):
        self.rolling, self.number = rolling, number
        self.part = rolling.parts[number]
        self.fixed: dict[Node, Node] = {}
        self.rows: dict[Any, tuple[Node, Node]] = {}
        self.carries: list[Node] = []  # leaves
        self.inits: list[Node] = []
        self.sources: list[tuple[int, int]] = []  # of each the step, and how long before
        self.place: dict[int, int] = {}  # of what the iteration before gave, by step
        self.chains: dict[Any, Node] = {}
        self.steps: dict[int, Node] = {}
        self.views: dict[Any, Node] = {}
        for step in range(self.part.iterations.run.period):
            self.steps[step] = self._step(step)

    def nexts(self) -> list[Node]:
        """What is carried to the next iteration."""
        return [
            self.steps[step] if back == 1 else self.carries[k - 1]
            for k, (step, back) in enumerate(self.sources)
        ]

    def carried(self, step: int, distance: int, inits: Sequence[Node] | None) -> Node:
        """A leaf for what an earlier iteration gave; without `inits` nobody reads the first."""
        if inits is None and step in self.place:
            return self.carries[self.place[step]]
        key = step, distance, None if inits is None else tuple(map(id, inits))
        if key in self.chains:
            return self.chains[key]
        node = self.rolling.step(self.number, step)
        self.place.setdefault(step, len(self.carries))
        for back in range(1, distance + 1):
            leaf = make_leaf(node.shape, node.dtype, f"carried{len(self.carries)}")
            self.carries.append(leaf)
            self.sources.append((step, back))
            if inits is None:
                self.inits.append(
                    constant_node(np.zeros(node.shape, node.dtype), (node.code, node.lasti))
                )
            else:
                self.inits.append(self.rolling.outer(inits[distance - back]))
        self.chains[key] = self.carries[-1]
        return self.carries[-1]

    def _step(self, step: int) -> Node:
        node = self.rolling.step(self.number, step)
        hoisted = self.part.hoisted.get(step)
        if hoisted is not None:
            return self._row(("hoisted", step), lambda: self._all_rows(self.number, step, 0, 1))
        args = [self._operand(o, node) for o in self.part.iterations.operands[step]]
        numbers = self.part.iterations.indices.get(step)
        if numbers is None:
            return node.on(args)
        shape = node.attrs["shape"] if "shape" in node.attrs else inputs_of(node)[0].shape
        template, arrays = by_arrays(node.attrs["template"], numbers, shape)
        rows = [self._table(("index", step, k), a, node) for k, a in enumerate(arrays)]
        return made(
            node.op.by_arrays, (*args, *rows), {**node.attrs, "template": template}, node
        )  # fmt: skip

    def _operand(self, operand: Operand, node: Node) -> Any:
        match operand:
            case Same(value):
                return value
            case Table(values):
                dtypes = [a.dtype for a in inputs_of(node)]
                array = np.array(values, np.result_type(*dtypes, values[0]))
                return self._table(("table", id(operand)), array, node)
            case Fixed(outside):
                return self._fixed(outside)
            case Local(step):
                return self.steps[step]
            case Carried(step, distance, inits):
                return self.carried(step, distance, inits)
            case Rows(run, step, first, stride):
                return self._from_rows(run, step, first, stride)
            case Each(nodes):
                return self._row(("each", tuple(map(id, nodes))), lambda: self._each(nodes, node))

    def _fixed(self, outside: Node) -> Node:
        node = self.rolling.outer(outside)
        if node not in self.fixed:
            self.fixed[node] = make_leaf(node.shape, node.dtype, node.name or "fixed")
        return self.fixed[node]

    def _from_rows(self, run: int, step: int, first: int, stride: int) -> Node:
        """A value of another run; a view is taken again of what it is a view of."""
        key = run, step, first, stride
        within = self.rolling.view_of(run, step)
        if within is None:
            return self._row(("rows", *key), lambda: self._all_rows(run, step, first, stride))
        if key not in self.views:
            node = self.rolling.step(run, step)
            x = self._from_rows(run, within, first, stride)
            self.views[key] = node.on([x, *(node.args or ())[1:]])
        return self.views[key]

    def _all_rows(self, run: int, step: int, first: int, stride: int) -> Node:
        count, backwards = self.part.count, self.part.backwards
        return self.rolling.rows(run, step, first, stride, count, backwards)

    def _each(self, nodes: Sequence[Node], node: Node) -> Node:
        every = [self.rolling.outer(n) for n in nodes]
        return made("stack", every[::-1] if self.part.backwards else every, {"axis": 0}, node)

    def _table(self, key: Any, array: np.ndarray, node: Node) -> Node:
        array = array[::-1].copy() if self.part.backwards else array
        return self._row(key, lambda: constant_node(array, (node.code, node.lasti)))

    def _row(self, key: Any, rows: Callable[[], Node]) -> Node:
        """A leaf for a row of an array of as many rows as there are iterations."""
        if key not in self.rows:
            array = rows()
            leaf = make_leaf(array.shape[1:], array.dtype, f"row{len(self.rows)}")
            self.rows[key] = leaf, array
        return self.rows[key][0]
