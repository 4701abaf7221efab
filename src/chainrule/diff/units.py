"""Many products with one Jacobian: along every unit vector, in one sweep of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.core.masked import unmasked
from chainrule.diff.batch import BatchReport, sweep
from chainrule.diff.call import Call, unit, zeros_like
from chainrule.ops.indexing import put_index
from chainrule.record.state import current
from chainrule.record.variable import Variable

Blocks = list[list[Any]]  # per output, per input: its derivative
Product = Callable[[Any], list[Any]]  # of one seed: what comes back per input, or per output

MAX_SINGLE_WALKS = 4  # units: one walk for each takes less time than recording a sweep
CHUNK_BYTES = 2**23  # of the largest value of a sweep; larger ones leave the cache
LARGE_CHUNK = 16  # units at a time where one alone is larger than that, but for
MEMORY_BYTES = 2**28  # of the largest value of a sweep


@dataclass
class SweepReport:
    """How the last Jacobian was computed."""

    mode: str = ""
    sweeps: list[str] = field(default_factory=list)  # of each output, or of each input
    lanes: BatchReport = field(default_factory=BatchReport)

    def __str__(self) -> str:
        if not self.mode:
            return "not called yet"
        heads = [f"{self.mode} mode, {sweep}" for sweep in self.sweeps]
        return "\n".join([*(heads or [f"{self.mode} mode"]), *self.lanes.loops()])


def forward_is_cheaper(call: Call) -> bool:
    """Whether pushing along every input touches fewer numbers than pulling from every output."""
    inputs = sum(v.size for v in call.inputs if v is not None)
    outputs = sum(v.size for v in call.outputs if isinstance(v, Variable))
    if not inputs or not outputs:
        return inputs < outputs
    forward, reverse = _touched(call, forward=True), _touched(call, forward=False)
    return (inputs * forward, inputs) < (outputs * reverse, outputs)


def _touched(call: Call, forward: bool) -> int:
    """How many numbers one walk makes: a tangent per node, or an adjoint per edge."""
    if forward:
        return sum(n.size for n in call.order if n.rule is not None)
    return sum(p.size for n in call.order if n.rule is not None for p in n.parents)


def by_rows(call: Call, chunk: int | None, holomorphic: bool, report: SweepReport) -> Blocks:
    """One reverse pass per element of the output, all of them at once."""
    report.mode = "reverse"
    count = len(call.outputs)
    blocks: Blocks = []
    for o, out in enumerate(call.outputs):
        rows: list[Any] = [None] * len(call.inputs)
        if isinstance(out, Variable) and out.size:

            def pulled(seed: Any, o: int = o) -> list[Any]:
                return call.pull([seed if p == o else None for p in range(count)])

            rows = along_units(pulled, out, call, chunk, report)
        if holomorphic:
            rows = [None if r is None else np.conj(r) for r in rows]
        blocks.append([_block(r, out, v, i, call) for i, (r, v) in enumerate(_with(call, rows))])
    return blocks


def by_columns(call: Call, chunk: int | None, report: SweepReport) -> Blocks:
    """One forward pass per element of the inputs, all of them at once."""
    report.mode = "forward"
    count = len(call.inputs)
    blocks: Blocks = [[] for _ in call.outputs]
    for i, v in enumerate(call.inputs):
        columns: list[Any] = [None] * len(call.outputs)
        if v is not None and v.size:

            def pushed(tangent: Any, i: int = i) -> list[Any]:
                return call.push([tangent if j == i else None for j in range(count)])

            columns = along_units(pushed, v, call, chunk, report)
        for o, (column, out) in enumerate(zip(columns, call.outputs, strict=True)):
            turned = None if column is None else np.moveaxis(column, 0, -1)
            blocks[o].append(_block(turned, out, v, i, call))
    return blocks


def _with(call: Call, rows: list[Any]) -> list[tuple[Any, Any]]:
    return list(zip(rows, call.inputs, strict=True))


def _block(entries: Any, out: Any, v: Variable | None, i: int, call: Call) -> Any:
    """One block of the Jacobian in its full shape, output.shape + input.shape."""
    shape = np.shape(out) if not isinstance(out, Variable) else out.shape
    if v is None:
        like = zeros_like(call.given[i])
        return None if like is None else np.zeros((*shape, *like.shape))
    full, dtype = (*shape, *v.shape), np.result_type(v.dtype, out.dtype)
    if entries is None:
        return np.zeros(full, dtype)[()]
    entries = entries if entries.dtype == dtype else entries.astype(dtype)
    joined = np.reshape(entries, full)
    return joined[()] if full == () and not isinstance(joined, Variable) else joined


def along_units(
    product: Product, of: Variable, call: Call, chunk: int | None, report: SweepReport
) -> list[Any]:
    """`product` of every unit array shaped as `of`, stacked in front; None where all are zero."""
    units = range(of.size)
    if len(units) <= MAX_SINGLE_WALKS and chunk is None:
        report.sweeps.append(_swept(report.mode, of.size, 1))
        return _stacked([product(unit(of.shape, of.dtype, k)) for k in units])
    chunk = chunk or chunk_of(call, len(units))
    report.sweeps.append(_swept(report.mode, of.size, chunk))
    found = sweep(_filling(product), identity(of), chunk, report.lanes)[0]
    return _without_nan(found, product, of)


def _swept(mode: str, count: int, chunk: int | None) -> str:
    lines = ("row" if mode == "reverse" else "column") + ("" if count == 1 else "s")
    if chunk is None or chunk >= count:
        return f"{count:,} {lines} at once"
    return f"{count:,} {lines}, {f'{chunk:,}' if chunk > 1 else 'one'} at a time"


def identity(of: Variable) -> Any:
    """Every unit array of a shape, along a first axis."""
    return np.eye(of.size, dtype=of.dtype).reshape((of.size, *of.shape))


def chunk_of(call: Call, count: int) -> int | None:
    """How many units are swept at a time, so that the values of a node fit into the cache.

    Large nodes do not; a few units at a time save time there, as long as they fit into memory.
    A program that is being recorded is cut by its compiler.
    """
    if current.get().tracing is not None:
        return None
    most = max((n.size * n.dtype.itemsize for n in call.order if n.rule is not None), default=1)
    few = min(LARGE_CHUNK, MEMORY_BYTES // max(most, 1))
    return min(max(CHUNK_BYTES // max(most, 1), few, 1), count)


def _filling(product: Product) -> Callable[[Any], Any]:
    """`product` with a number beside it: a function must return one."""
    return lambda seed: (product(seed), 0.0)


def _stacked(rows: Sequence[list[Any]]) -> list[Any]:
    """Rows of separate walks put together; a zero where a row has none but another does."""
    found: list[Any] = []
    for entries in zip(*rows, strict=True):
        like = next((e for e in entries if e is not None), None)
        if like is None:
            found.append(None)
            continue
        filled = [np.zeros(like.shape, like.dtype) if e is None else unmasked(e) for e in entries]
        found.append(np.stack(filled))
    return found


def _without_nan(found: list[Any], product: Product, of: Variable) -> list[Any]:
    """The rows; those with a NaN once more, each by itself, with structural zeros around its one.

    Among many lanes a zero is a number, and zero times infinity is NaN; in a walk of its own
    nothing leads through the other lanes.
    """
    wrong: set[int] = set()
    for g in found:
        if g is not None and g.dtype.kind in "fc":
            bad = np.any(np.isnan(np.reshape(g, (of.size, -1))), axis=1)
            wrong.update(np.flatnonzero(bad.value if isinstance(bad, Variable) else bad).tolist())
    for k in sorted(wrong):
        for i, g in enumerate(product(unit(of.shape, of.dtype, k))):
            if g is not None:
                found[i] = put_index(found[i], k, unmasked(g))
    return found


def diagonal_of(call: Call, chunk: int | None, report: SweepReport) -> Any:
    """Of each forward pass along one element, what it does to that element."""
    report.mode = "forward"
    (v,), (out,) = call.inputs, call.outputs
    if v is None or not isinstance(out, Variable):
        return np.zeros(np.shape(out))

    def own_entry(tangent: Any) -> Any:
        (pushed,) = call.push([tangent])
        if pushed is None:
            return np.zeros((), out.dtype)[()]
        return np.sum(np.where(tangent != 0, unmasked(pushed), np.zeros((), out.dtype)))

    chunk = chunk or chunk_of(call, v.size)
    report.sweeps.append(_swept("forward", v.size, chunk))
    entries = sweep(own_entry, identity(v), chunk, report.lanes)
    return np.reshape(entries, v.shape)
