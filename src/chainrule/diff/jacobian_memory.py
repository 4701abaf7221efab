"""A Jacobian within a budget of memory: so many rows or columns at a time as fit.

Where the values of the function fit, rows are swept in lanes, as many at a time as the rest of the
budget holds.  Where they do not, each row is a reverse pass of its own that computes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from chainrule.core.masked import unmasked
from chainrule.core.memory_size import shown
from chainrule.core.node import Node
from chainrule.diff.batch import sweep
from chainrule.diff.call import Call, unit
from chainrule.diff.stages import Chain
from chainrule.diff.units import Blocks, SweepReport, _block, _swept, chunk_of, forward_is_cheaper
from chainrule.diff.within_memory import RESERVE, SparingCall, workspaces
from chainrule.errors import MemoryBudgetError
from chainrule.record.sparing import let_go
from chainrule.record.variable import Variable

LANE_NODE_BYTES = 8_000  # of a node while its rule is recorded for lanes, and run in them
RECORDED = 3  # times the adjoints of one lane that its record holds


class SparingJacobian:
    """The blocks of one Jacobian, filled row by row or column by column."""

    def __init__(
        self,
        call: SparingCall,
        mode: str,
        chunk: int | None,
        holomorphic: bool,
        report: SweepReport,
    ):
        self.call, self.mode, self.chunk, self.holomorphic = call, mode, chunk, holomorphic
        self.report = report
        self.inputs = [v for v in call.inputs if v is not None]
        self.outputs = [v for v in call.outputs if isinstance(v, Variable)]
        self.trace = call.trace

    def blocks(self) -> Blocks:
        """Per output and input its derivative."""
        self._reserve()
        forward = self.mode == "forward" or (self.mode == "auto" and forward_is_cheaper(self.call))
        lanes = self._lanes(forward)
        singly = forward and not lanes and self._column_fits()
        if forward and not lanes and not singly and self.mode != "forward":
            forward, lanes = False, self._lanes(False)
        if forward and not lanes and not singly:
            raise MemoryBudgetError(
                f"columns of this Jacobian cannot be computed within {shown(self.call.budget)}: "
                'they need every value of the function.\n  give it more, or leave mode="auto": '
                "rows compute values again.",
                self._least_of_columns(),
            )
        self.trace.check()
        self.report.mode = "forward" if forward else "reverse"
        found = {(o, i): self._empty(o, i) for o in self.outputs for i in self.inputs}
        if forward:
            for i, v in enumerate(self.call.inputs):
                if v is not None and v.size:
                    self.report.sweeps.append(_swept("forward", v.size, lanes or 1))
                    self._columns(i, v, lanes, found)
        else:
            for o, out in enumerate(self.call.outputs):
                if isinstance(out, Variable) and out.size:
                    self.report.sweeps.append(_swept("reverse", out.size, lanes or 1))
                    self._rows(o, out, lanes, found)
        return [
            [
                found[out, v].reshape((*out.shape, *v.shape))[()]
                if isinstance(out, Variable) and v is not None
                else _block(None, out, v, i, self.call)
                for i, v in enumerate(self.call.inputs)
            ]
            for out in self.call.outputs
        ]

    def _empty(self, out: Variable, v: Variable) -> np.ndarray:
        return np.zeros((out.size, v.size), np.result_type(v.dtype, out.dtype))

    def _reserve(self) -> None:
        """Take the result from the budget; what is kept for rules goes where both do not fit."""
        trace, call = self.trace, self.call
        result = sum(
            out.size * v.size * np.result_type(v.dtype, out.dtype).itemsize
            for out in self.outputs
            for v in self.inputs
        )
        if trace.used + result + RESERVE > call.budget and trace.keeps:
            trace.keeps = False
            for node in trace.recorded[: trace.inner]:
                let_go(node)
        least = trace.used + result + RESERVE
        if least > call.budget:
            raise MemoryBudgetError(
                f"the Jacobian itself takes {shown(result)}, and {shown(least)} with what the "
                f"function holds; the budget is {shown(call.budget)}.\n  give it more, or multiply "
                "by it without making it: cr.vjp, cr.jvp, cr.hvp.",
                least,
            )
        call.results = result

    # -- lanes -------------------------------------------------------------------------------------

    def _lanes(self, forward: bool) -> int:
        """How many units may be swept at once; 0 where the values themselves do not fit."""
        trace, call = self.trace, self.call
        nodes = [n for n in call.order if n.rule is not None]
        if not trace.keeps or not nodes:
            return 0
        each = self._forward_lane(nodes) if forward else self._reverse_lane(nodes)
        ends = sum(8 * v.size + 200 for v in (*self.inputs, *self.outputs))
        each += 4 * ends
        once = RECORDED * self._recorded(nodes) + LANE_NODE_BYTES * len(nodes)
        left = call.budget - call.results - trace.used - RESERVE - once
        lanes = max(left // each, 0)
        return int(min(lanes, self.chunk or chunk_of(call, 2**62) or lanes))

    def _column_fits(self) -> bool:
        """Whether one column at a time is within the budget, as a walk of its own."""
        return self.trace.keeps and self._least_of_columns() <= self.call.budget

    def _least_of_columns(self) -> int:
        trace = self.trace
        nodes = [n for n in self.call.order if n.rule is not None]
        values = 0 if trace.keeps else sum(trace.sizes.values())
        tangents = 2 * self._forward_lane(nodes) if nodes else 0  # each has lanes of a mask
        return trace.used + values + tangents + self.call.results + RESERVE

    def _forward_lane(self, nodes: Sequence[Node]) -> int:
        rooms = workspaces(nodes, self.trace.sizes)[1]
        return sum(n.size * n.dtype.itemsize + 200 for n in nodes) + 3 * max(rooms.values())

    def _reverse_lane(self, nodes: Sequence[Node]) -> int:
        trace = self.trace
        rooms = workspaces(trace.recorded, trace.sizes)
        starts = [out.node for out in self.outputs if out.node.rule is not None]
        work = Chain(nodes, starts, trace.sizes, trace.owners, *rooms, masked=True)
        parts = work.parts([len(work.order)], set())
        return work.stages(parts, set())[0].reverse_peak

    def _recorded(self, nodes: Sequence[Node]) -> int:
        rooms = workspaces(nodes, self.trace.sizes)[1]
        return sum(
            rooms[n] + sum(p.size * p.dtype.itemsize + 200 for p in n.parents) for n in nodes
        )

    def _swept(self, product: Callable[[Any], Any], of: Variable, lanes: int) -> Iterator[Any]:
        """Slices of the units shaped as `of`, and what comes back for each of them."""
        for at in range(0, of.size, lanes):
            here = slice(at, min(at + lanes, of.size))
            seeds = np.zeros((here.stop - at, of.size), of.dtype)
            seeds[np.arange(len(seeds)), np.arange(at, here.stop)] = 1
            units = seeds.reshape((len(seeds), *of.shape))
            yield here, sweep(lambda seed: (product(seed), 0.0), units, None, self.report.lanes)[0]

    # -- rows and columns --------------------------------------------------------------------------

    def _rows(self, o: int, out: Variable, lanes: int, found: dict[Any, np.ndarray]) -> None:
        count = len(self.call.outputs)

        def seeded(seed: Any) -> list[Any]:
            return [seed if p == o else None for p in range(count)]

        def swept(seed: Any) -> list[Any]:
            return Call.pull(self.call, seeded(seed))

        def one(k: int) -> list[Any]:
            if lanes:
                return Call.pull(self.call, seeded(unit(out.shape, out.dtype, k)))
            return self.call.pull(seeded(unit(out.shape, out.dtype, k)))

        if lanes:
            for here, rows in self._swept(swept, out, lanes):
                self._fill(found, out, here, rows)
        for k in range(out.size):
            if not lanes or self._is_nan(found, out, k):
                self._fill(found, out, slice(k, k + 1), one(k))

    def _fill(self, found: dict[Any, np.ndarray], out: Variable, here: slice, rows: Any) -> None:
        for v, row in zip(self.call.inputs, rows, strict=True):
            if v is not None and row is not None:
                row = unmasked(row).reshape((here.stop - here.start, v.size))
                found[out, v][here] = np.conj(row) if self.holomorphic else row

    def _is_nan(self, found: dict[Any, np.ndarray], out: Variable, k: int) -> bool:
        return any(np.isnan(np.vdot(found[out, v][k], found[out, v][k])) for v in self.inputs)

    def _columns(self, i: int, v: Variable, lanes: int, found: dict[Any, np.ndarray]) -> None:
        count = len(self.call.inputs)

        def pushed(tangent: Any) -> list[Any]:
            return self.call.push([tangent if j == i else None for j in range(count)])

        if lanes:
            for here, columns in self._swept(pushed, v, lanes):
                self._put(found, v, here, columns)
        for k in range(v.size):
            if not lanes or any(np.isnan(np.sum(found[out, v][:, k])) for out in self.outputs):
                self._put(found, v, slice(k, k + 1), pushed(unit(v.shape, v.dtype, k)))

    def _put(self, found: dict[Any, np.ndarray], v: Variable, here: slice, columns: Any) -> None:
        for out, column in zip(self.call.outputs, columns, strict=True):
            if isinstance(out, Variable) and column is not None:
                column = unmasked(column).reshape((here.stop - here.start, out.size))
                found[out, v][:, here] = column.T
