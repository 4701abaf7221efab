"""Values become steps: kernels, products, scatters, factorisations, and calls of the interpreter.

In a kernel everything over one set of extents is computed in one pass.

Steps are numbered as they run.  A value joins the first kernel over its extents that comes late
enough for everything it reads: after the step of what it reads elsewhere than at its own index, and
not before the step of what it reads there.  So no step ever waits for a later one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from chainrule.lower.tape.tape import Tape
from chainrule.lower.target import Target
from chainrule.lower.values.array import TAPE, Move, OpCall
from chainrule.lower.values.cuts import Box
from chainrule.lower.values.value import (
    BOOL,
    DOUBLE,
    KNOWN,
    Access,
    Value,
    ordered,
    pointwise,
    root,
)

MAX_KERNEL_VALUES = 400  # values of one kernel: a longer one has too few registers
CHEAP = frozenset({
    "copy", "negative", "add", "subtract", "multiply", "square", "absolute", "where", "to_f64",
    "to_f32", "to_i64", "to_i1", "greater", "less", "greater_equal", "less_equal", "equal",
    "not_equal", "logical_and", "logical_or", "logical_not", "isnan", "maximum", "minimum",
})  # fmt: skip


@dataclass(eq=False)
class Kernel:
    """A loop over `dims`: `body` in order, of which `stored` leave it; a reduction always does."""

    dims: tuple[int, ...]
    body: list[Value] = field(default_factory=list)
    stored: dict[Value, None] = field(default_factory=dict)

    def reads(self) -> Iterator[tuple[Value, int, Value, Access]]:
        """What is read from memory: by which value, as which operand, what, where."""
        inside = {v for v in self.body if v.kind == "map"}
        here = pointwise(len(self.dims))
        for v in self.body:
            for i, (a, access) in enumerate(v.args):
                taken = v.params == "take" and i == 0
                computed = a in inside and access == here and not taken
                if not computed and (a.kind != "constant" or a.size > 1):
                    yield v, i, a, access


@dataclass(eq=False)
class Piece:
    """One piece of a joined array brought to its region; with no piece, the whole is set to zero.

    The piece is of extents `dims`, read at `access`, and copied or `added`.
    """

    whole: Value
    piece: Value | None
    region: Access
    dims: tuple[int, ...]
    access: Access = ()
    added: bool = False


@dataclass(eq=False)
class Product:
    """A product by BLAS: of its `boxes`, which are a `share` of all multiplications."""

    value: Value
    boxes: tuple[Box, ...] = (Box(),)
    share: float = 1.0


@dataclass(eq=False)
class Scatter:
    """Elements written, or added, where an array of positions says, one after the other."""

    value: Value


@dataclass(eq=False)
class Scan:
    """Elements made one after the other along an axis."""

    value: Value


@dataclass(eq=False)
class Factored:
    """A routine of LAPACK; `results` is everything it writes, read by a later step or not."""

    value: Value
    results: list[Value] = field(init=False)
    stack: int = field(init=False)  # how many there are, also where it is done for some at a time

    def __post_init__(self) -> None:
        asked = self.value.params
        self.stack = asked.batch
        self.results = []
        for i, made in enumerate(asked.results):
            dims = (asked.batch, *made.dims) if made.each and asked.batch != 1 else made.dims
            self.results.append(Value("result", dims, made.dtype, ((self.value, ()),), i))

    @property
    def buffers(self) -> list[Value]:
        """What is memory to work in."""
        asked = self.value.params.results
        return [v for v, made in zip(self.results, asked, strict=True) if not made.each]

    def gives(self, result: Value) -> None:
        """Note what is read of it."""
        self.results[result.params] = result


@dataclass(eq=False)
class Looped:
    """A loop, of which an iteration has a plan and a memory of its own, which lie in `buffer`."""

    value: Value
    plan: Plan = field(init=False)
    memory: Any = field(init=False)
    results: list[Value] = field(init=False)
    buffer: Value = field(init=False)

    def __post_init__(self) -> None:
        self.results = [
            Value("result", tuple(n for n in shape if n != 1), dtype, ((self.value, ()),), i)
            for i, (shape, dtype) in enumerate(self.value.params.results)
        ]

    def hold(self, plan: Plan, memory: Any, nbytes: int) -> None:
        """Take the plan of an iteration, and the bytes that it and what is carried need."""
        self.plan, self.memory = plan, memory
        self.buffer = Value("result", (nbytes,), BOOL, ((self.value, ()),))

    def gives(self, result: Value) -> None:
        """Note what is read of it."""
        self.results[result.params] = result


@dataclass(eq=False)
class Called:
    """An op that the interpreter computes; `results` are the arrays it gives."""

    value: Value
    results: list[Value] = field(default_factory=list)

    def gives(self, result: Value) -> None:
        """Note what is read of it."""
        self.results.append(result)


@dataclass(eq=False)
class Taped(Called):
    """A tape that machine code runs; `buffer` is the memory of its values and adjoints."""

    buffer: Value = field(init=False)

    def __post_init__(self) -> None:
        self.buffer = Value("result", (self.tape.words,), DOUBLE, ((self.value, ()),))

    @property
    def tape(self) -> Tape:
        found: Tape = self.value.params.node.attrs["tape"]
        return found


def _called(value: Value) -> Called:
    return Taped(value) if value.params.op is TAPE else Called(value)


ALONE: dict[str, Callable[[Value], Scatter | Scan]] = {"scatter": Scatter, "scan": Scan}
SEVERAL: dict[str, Callable[[Value], Called | Factored | Looped]] = {
    "call": _called,
    "routine": Factored,
    "loop": Looped,
}
Step = Kernel | Product | Scatter | Scan | Factored | Called | Looped | Piece


@dataclass(eq=False)
class Plan:
    """The steps in order, and which value each output is."""

    steps: list[Step]
    outputs: list[Value]
    order: list[Value]
    target: Target
    regions: list[Any] = field(default_factory=list)  # of `lower.stream`


def fused(outputs: list[Value], target: Target) -> Plan:
    """The steps that compute these outputs, each output in memory of its own."""
    finals = list(_own_memory(outputs))
    order = ordered(finals)
    planner = _Planner()
    for value in order:
        planner.place(value)
    planner.mark_stored(order, finals)
    steps = [s for s in planner.steps if not (isinstance(s, Kernel) and not s.body)]
    return Plan(steps, finals, order, target)


def _own_memory(outputs: list[Value]) -> Iterator[Value]:
    """Each output as a value that can be written where the caller wants it."""
    seen: set[Value] = set()
    for out in outputs:
        base = root(out)
        if (
            base.kind in ("map", "reduce", "product", "join", "scatter", "scan", "call", "result")
            and base not in seen
        ):
            seen.add(base)
            yield out
        elif out.dtype not in KNOWN:
            operand = ((out, pointwise(len(out.dims))),)
            yield Value("call", out.dims, out.dtype, operand, OpCall(Move(), [out.dims]))
        else:
            yield Value("map", out.dims, out.dtype, ((out, pointwise(len(out.dims))),), "copy")


class _Planner:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.at: dict[Value, int] = {}  # the step that computes it; -1 where it is given
        self.by_dims: dict[tuple[int, ...], list[int]] = {}
        self.calls: dict[Value, Called | Factored | Looped] = {}

    def place(self, v: Value) -> None:
        if v.kind in ("input", "constant"):
            self.at[v] = -1
        elif v.kind == "reshape":
            self.at[v] = self.at[root(v)]
        elif v.kind == "map":
            self._join(v, v.dims)
        elif v.kind == "reduce":
            self._join(v, v.args[0][0].dims)
        elif v.kind == "product":
            v.args = tuple(self._for_blas(v, i) for i in range(2))
            self._alone(v, Product(v))
        elif v.kind in ALONE:
            self._alone(v, ALONE[v.kind](v))
        elif v.kind in SEVERAL:
            self.calls[v] = SEVERAL[v.kind](v)
            self._alone(v, self.calls[v])
        elif v.kind == "result":
            call = self.calls[v.args[0][0]]
            call.gives(v)
            self.at[v] = self.at[call.value]
        else:
            self._joined(v)

    def _alone(self, v: Value, step: Step) -> None:
        self.at[v] = len(self.steps)
        self.steps.append(step)

    def _joined(self, v: Value) -> None:
        has_base, regions, added = v.params
        pieces = list(v.args)
        if has_base:
            base, access = pieces.pop(0)
            self.steps.append(Piece(v, base, pointwise(len(v.dims)), v.dims, access))
        elif added or not pieces or sum(prod(dims) for dims, _ in regions) < v.size:
            self.steps.append(Piece(v, None, pointwise(len(v.dims)), v.dims))
        for (piece, access), (dims, region) in zip(pieces, regions, strict=True):
            self.steps.append(Piece(v, piece, region, dims, access, added))
        self.at[v] = len(self.steps) - 1

    def _join(self, v: Value, dims: tuple[int, ...]) -> None:
        """Put a map or a reduction into a kernel over `dims`."""
        need = 0
        for a, access in v.args:
            here = self.at[a]
            inside = _inside(v, a, access, dims)
            need = max(need, here if inside else here + 1)
        kernels = self.by_dims.get(dims, [])  # ascending
        for k in kernels[bisect_left(kernels, need) :]:
            step = self.steps[k]
            if isinstance(step, Kernel) and len(step.body) < MAX_KERNEL_VALUES:
                break
        else:
            k = len(self.steps)
            self.steps.append(Kernel(dims))
            self.by_dims.setdefault(dims, []).append(k)
        self.at[v] = k
        step = self.steps[k]
        assert isinstance(step, Kernel)
        step.body.append(v)

    def _for_blas(self, v: Value, i: int) -> tuple[Value, Access]:
        """An operand of a product as BLAS can read it: itself, or a copy."""
        a, access = v.args[i]
        batch, rows, columns, summed = v.params
        shape = (batch, rows, summed) if i == 0 else (batch, summed, columns)
        stored = a.kind != "constant" or a.size > 1
        if stored and matrix_strides(a, access, shape) is not None:
            return a, access
        dims = tuple(n for n in shape if n != 1)
        copy = Value("map", dims, a.dtype, ((a, access),), "copy")
        self._join(copy, dims)
        return copy, pointwise(len(dims))

    # -- what is kept in memory ----------------------------------------------------------------

    def mark_stored(self, order: list[Value], finals: list[Value]) -> None:
        """Store what another step reads, unless it is cheaper to compute again."""
        for final in finals:
            self._store(root(final))
        for k in range(len(self.steps) - 1, -1, -1):
            step = self.steps[k]
            if isinstance(step, Kernel):
                self._read_by_kernel(step, k)
            elif isinstance(step, Piece):
                if step.piece is not None:
                    self._store(root(step.piece))
            else:
                for a, _ in step.value.args:
                    self._store(root(a))

    def _read_by_kernel(self, kernel: Kernel, k: int) -> None:
        """Everything below runs after this: reads are known, so recomputing can be decided."""
        needed = [v for v in kernel.body if v in kernel.stored or v.kind == "reduce"]
        body: list[Value] = []
        stack = [(v, False) for v in reversed(needed)]
        done: set[Value] = set()
        while stack:
            v, ready = stack.pop()
            if ready:
                body.append(v)
                continue
            if v in done:
                continue
            done.add(v)
            stack.append((v, True))
            for a, access in reversed(v.args):
                if _inside(v, a, access, kernel.dims) and (
                    self.at[a] == k or self._cheaper_again(a, k)
                ):
                    stack.append((a, False))
                elif a.kind != "constant" or a.size > 1:
                    self._store(root(a))
        kernel.body = body

    def _cheaper_again(self, a: Value, k: int) -> bool:
        """Whether computing a value again from what is in memory costs less than keeping it."""
        if a.params not in CHEAP or a in getattr(self.steps[self.at[a]], "stored", ()):
            return False
        reads = [b for b, _ in a.args if b.kind != "constant" or b.size > 1]
        return sum(b.size * 4 > a.size for b in reads) <= 1 and all(
            self._in_memory(b) for b in reads
        )

    def _in_memory(self, b: Value) -> bool:
        base = root(b)
        if base.kind != "map":
            return True
        step = self.steps[self.at[base]]
        return isinstance(step, Kernel) and base in step.stored

    def _store(self, v: Value) -> None:
        if v.kind in ("map", "reduce"):
            step = self.steps[self.at[v]]
            assert isinstance(step, Kernel)
            step.stored[v] = None


def _inside(reader: Value, a: Value, access: Access, dims: tuple[int, ...]) -> bool:
    """Whether a value can be had in the loop in which it is read, without memory."""
    if reader.params == "take" and a is reader.args[0][0]:
        return False
    return a.kind == "map" and a.dims == dims and access == pointwise(len(dims))


def matrix_strides(
    a: Value, access: Access, shape: tuple[int, int, int], tiled: int | None = None
) -> tuple[int, int, int, int] | None:
    """Where (batch, row, column) of an operand stand: offset and strides, if BLAS can read them.

    What has length one is no axis of the access, but for the `tiled` one of the three, of which the
    last tile may have a single row.
    """
    strides = a.strides
    offset = sum(d.start * s for d, s in zip(access, strides, strict=True))
    is_axis = [n != 1 or i == tiled for i, n in enumerate(shape)]
    along = [0] * sum(is_axis)
    for d, s in zip(access, strides, strict=True):
        for axis, step in d.terms:
            along[axis] += step * s
    per = iter(along)
    batch, row, column = (next(per) if given else 0 for given in is_axis)
    _, rows, columns = shape
    if batch < 0 or row < 0 or column < 0:
        return None
    if column == 1 and (row >= columns or rows == 1):
        return offset, batch, row, column
    if row == 1 and (column >= rows or columns == 1):
        return offset, batch, row, column
    return None
