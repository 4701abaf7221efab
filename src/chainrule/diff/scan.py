"""`cr.scan`, `cr.while_loop`, `cr.fori_loop`, `cr.cond`: control flow with JAX's signatures.

On arrays they are plain Python loops.  Where something is recorded, one iteration is, and the loop
is one node; what Python code is given of a Variable in the body must then be the same in every
iteration, and where it is not, the loop is recorded iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

import numpy as np

from chainrule.core.containers import Structure, flatten
from chainrule.core.loop import Body, body_graph, iterations_until
from chainrule.core.masked import concrete
from chainrule.core.node import line_at
from chainrule.core.spec import Spec
from chainrule.diff.loop_body import applied
from chainrule.errors import ArgumentError, DTypeError, ShapeError
from chainrule.ops.joining import concatenate, stack
from chainrule.ops.shape import reshape
from chainrule.record.body import BodyTrace, Recorded, recorded, same_record
from chainrule.record.recorder import as_operand
from chainrule.record.state import current, user_line
from chainrule.record.variable import Variable

Step = Callable[[Any, Any], tuple[Any, Any]]


def scan(
    f: Step,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: str | int | None = None,
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` over the rows of xs; the last carry, and all y stacked.

        import chainrule as cr
        import numpy as np
        carry, ys = cr.scan(lambda c, x: (0.5 * c + x, c), 0.0, np.array([1.0, 2.0, 3.0]))
        print(carry, ys)
        # 4.25 [0.   1.   2.5 ]

    `carry`, `x` and `y` may be nested containers; the carry keeps its structure, shapes and dtypes.
    With xs=None there are `length` iterations, and x is None.  `reverse` begins with the last row.

    A derivative keeps what it reads of each iteration.  With `checkpoint=k` it keeps the carry of
    every k-th one, and runs the iterations between again: "auto" takes about √length.
    """
    carry, structure = flatten(init)
    rows, row = flatten(xs)
    carry, rows = [_given(v, "init") for v in carry], [_array(v, "xs") for v in rows]
    count = _length(rows, row, length)
    loop = _Loop(f, structure, row, bool(reverse))
    if checkpoint is None or not count:
        carry, ys = _scanned(loop, carry, rows, count, keep=True)
    else:
        carry, ys = _in_segments(loop, carry, rows, count, _segment(checkpoint, count))
    return structure.unflatten(carry), loop.stacked.unflatten(ys)


def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """The value after `value = body(i, value)` for i from `lower` to `upper` - 1.

    import chainrule as cr
    print(cr.fori_loop(0, 5, lambda i, v: v + i, 0.0))
    # 10.0
    """
    return scan(lambda v, i: (body(i, v), None), init, np.arange(int(lower), int(upper)))[0]


def while_loop(
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    checkpoint: str | int | None = None,
) -> Any:
    """The value after `value = body(value)` as long as `cond(value)` holds.

        import chainrule as cr
        root = cr.while_loop(lambda x: abs(x * x - 2) > 1e-12, lambda x: (x + 2 / x) / 2, 1.0)
        print(root)
        # 1.414213562373095

    It can be differentiated in both modes, without a bound on the number of iterations: these are
    counted first.  `checkpoint` as in `scan`.
    """
    carry, structure = flatten(init)
    carry = [_given(v, "init") for v in carry]

    def step(value: Any, _: Any) -> tuple[Any, None]:
        return body(value), None

    loop = _Loop(step, structure, flatten(None)[1], False)
    if not _is_recorded(carry) or not _truth(cond(structure.unflatten(carry))):
        return structure.unflatten(_while(cond, loop, carry))
    carry = loop.started(carry, [])
    tested = _Tested(cond, loop)
    one = _body(tested, carry, [], 1)
    count = None if one is None else iterations_until(*one, tested.tests)
    if count is None:
        return structure.unflatten(_while(cond, loop, carry))
    if checkpoint is None:
        carry, _ = _scanned(tested, carry, [], count, keep=True)
    else:
        carry, _ = _in_segments(tested, carry, [], count, _segment(checkpoint, count))
    final = structure.unflatten(carry)
    if _truth(cond(final)):  # also what a compiled loop rests on: that it ends here
        raise ArgumentError(
            "the condition of a while_loop says another thing when it is asked again; it must "
            f"depend on the value alone.\n  {loop.line()}"
        )
    return final


def cond(pred: Any, f: Callable[..., Any], g: Callable[..., Any], *args: Any) -> Any:
    """f(*args) where `pred` holds, else g(*args); the other is not run.

    import chainrule as cr
    print(cr.cond(2.0 > 1.0, lambda x: x + 1, lambda x: x - 1, 5.0))
    # 6.0
    """
    return f(*args) if _truth(pred) else g(*args)


# -- one loop --------------------------------------------------------------------------------------


class _Loop:
    """The user's step on flat lists, and the containers that it is given and gives."""

    stacked = flatten(None)[1]  # what y is built as

    def __init__(self, f: Step, structure: Structure, row: Structure, reverse: bool):
        self.f, self.structure, self.row, self.reverse = f, structure, row, reverse

    def order(self, count: int) -> range:
        return range(count - 1, -1, -1) if self.reverse else range(count)

    def __call__(self, carry: Sequence[Any], rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """One iteration: what is carried on, and what is stacked."""
        made = self.f(self.structure.unflatten(carry), self.row.unflatten(rows))
        if not isinstance(made, tuple) or len(made) != 2:
            raise ArgumentError(
                f"the body of a scan must return a pair (carry, y), not {made!r}\n  {self.line()}"
            )
        after = self._same_structure(made[0])
        ys, self.stacked = flatten(made[1])
        self._check(carry, after)
        return after, [_array(y, "y") for y in ys]

    def _same_structure(self, carried: Any) -> list[Any]:
        try:
            leaves = self.structure.leaves_of(carried, "the carry")
        except ArgumentError as error:
            raise ArgumentError(
                "the body of a loop must return a carry that is built as the one it was given:\n"
                f"  {error}\n  {self.line()}"
            ) from None
        return [_array(v, "the carry") for v in leaves]

    def _check(self, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Refuse a carry that has changed its shape or dtype; a Python number has no dtype yet."""
        for path, a, b in zip(self.structure.paths, before, after, strict=True):
            was, now = Spec.of(a), Spec.of(b)
            if was == now or (_is_weak(a) and _holds(now, was)):
                continue
            kind = ShapeError if was.shape != now.shape else DTypeError
            line = getattr(getattr(b, "node", None), "line", None)
            raise kind(
                f"the body of a loop is given carry{path} as {was} and returns it as {now}.\n"
                f"  {line.shown() if line else self.line()}\n"
                "  begin with an array of the shape and dtype that the body returns."
            )

    def started(self, carry: list[Any], rows: list[Any]) -> list[Any]:
        """What is carried at first: a Python number takes the dtype that the body makes of it."""
        weak = [_is_weak(v) for v in carry]
        if not any(weak):
            return carry
        values = [concrete(v) for v, w in zip(carry, weak, strict=True) if not w]

        def step(*given: Variable) -> list[Any]:
            left = iter(given)
            filled = [v if w else next(left) for v, w in zip(carry, weak, strict=True)]
            return self(filled, list(left))[0]

        after = recorded(step, [*map(_scalar, values), *rows]).values
        return [
            np.asarray(v, a.dtype)[()] if w else v
            for v, a, w in zip(carry, after, weak, strict=True)
        ]

    def names(self) -> list[str]:
        """What the body calls the leaves of its carry and of a row: `h`, `state['m']`."""
        code = getattr(self.f, "__code__", None)
        given = code.co_varnames if code is not None and code.co_argcount == 2 else ("carry", "x")
        carry, row = given[:2]
        return [
            *(f"{carry}{path}" for path in self.structure.paths),
            *(f"{row}{path}" for path in self.row.paths),
        ]

    def line(self) -> str:
        """Where the body is defined, or the loop called."""
        code = getattr(self.f, "__code__", None)
        place = user_line() if code is None else (code, 0)
        return str(line_at(*place).shown())


class _Tested(_Loop):
    """A step of a while loop: `tests` of what Python is given belong to its condition."""

    def __init__(self, cond: Callable[[Any], Any], loop: _Loop):
        super().__init__(loop.f, loop.structure, loop.row, False)
        self.cond, self.tests = cond, 0

    def __call__(self, carry: Sequence[Any], rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        _truth(self.cond(self.structure.unflatten(carry)))
        tracing = current.get().tracing
        self.tests = len(tracing.reads) if isinstance(tracing, BodyTrace) else 0
        return super().__call__(carry, rows)


def _is_recorded(values: Sequence[Any]) -> bool:
    state = current.get()
    recording = state.inside or state.tracing is not None
    return recording or any(isinstance(v, Variable) for v in values)


def _scanned(
    loop: _Loop, carry: list[Any], rows: list[Any], count: int, keep: bool
) -> tuple[list[Any], list[Any]]:
    """The loop as one node; where that cannot be, iteration by iteration."""
    if _is_recorded([*carry, *rows]):
        carry = loop.started(carry, _rows_at(loop, rows, count, 0))
        one = _body(loop, carry, rows, count)
        found = None if one is None else applied(*one, keep)
        if found is not None:
            return found[: len(carry)], found[len(carry) :]
    return _one_by_one(loop, carry, rows, count)


def _body(
    loop: _Loop, carry: list[Any], rows: list[Any], count: int
) -> tuple[Body, list[Any]] | None:
    """One recorded iteration and its inputs; None where it cannot stand for the others."""
    carried = len(carry)

    def step(*given: Variable) -> list[Any]:
        after, ys = loop(given[:carried], given[carried:])
        return [*after, *ys]

    values = [_scalar(v) for v in carry]
    first = recorded(step, [*values, *_rows_at(loop, rows, count, 0)], names=loop.names())
    if first.irregular or not any(isinstance(v, Variable) for v in (*first.sources, *carry, *rows)):
        return None
    if count > 1:
        second = recorded(step, [*first.values[:carried], *_rows_at(loop, rows, count, 1)])
        if second.irregular or not _same_reads(first, second):
            return None
        if not same_record(first, second):
            raise ArgumentError(
                "the body of a loop does something else in its second iteration than in its first; "
                "only\n  one of them is recorded.  What changes must be carried, or be a row of xs."
                f"\n  {loop.line()}"
            )
    results = len(first.graph.outputs) - len(first.reads)
    outputs = first.graph.outputs
    ordered = [*outputs[:carried], *outputs[results:], *outputs[carried:results]]
    graph = body_graph(first.graph.leaves, ordered)
    body = Body(graph, count, carried, len(rows), loop.reverse, first.reads)
    return body, [*first.sources, *carry, *rows]


def _same_reads(a: Recorded, b: Recorded) -> bool:
    if len(a.reads) != len(b.reads):
        return False
    pairs = zip(a.reads, b.reads, strict=True)
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind in "fc") for x, y in pairs)


def _rows_at(loop: _Loop, rows: list[Any], count: int, k: int) -> list[Any]:
    """The rows that the k-th iteration is given, as arrays; ones where there is none."""
    if not count:
        return [np.ones(row.shape[1:], row.dtype)[()] for row in map(concrete, rows)]
    return [_scalar(concrete(row)[loop.order(count)[k]]) for row in rows]


def _one_by_one(
    loop: _Loop, carry: list[Any], rows: list[Any], count: int
) -> tuple[list[Any], list[Any]]:
    stacks: list[Any] = [None] * count
    built = None
    for i in loop.order(count):
        carry, stacks[i] = loop(carry, [row[i] for row in rows])
        if built is not None and loop.stacked != built:
            raise ArgumentError(
                f"the body of a scan returns y as {built!r} and then as {loop.stacked!r}\n"
                f"  {loop.line()}"
            )
        built = loop.stacked
    if not count:
        _, ys = loop([_scalar(v) for v in carry], _rows_at(loop, rows, 0, 0))
        specs = [Spec.of(concrete(y)) for y in ys]
        return [_array(v, "init") for v in carry], [np.empty((0, *s.shape), s.dtype) for s in specs]
    return carry, [_stacked(column, loop) for column in zip(*stacks, strict=True)]


def _stacked(column: Sequence[Any], loop: _Loop) -> Any:
    shapes = {Spec.of(concrete(v)) for v in column}
    if len(shapes) > 1:
        a, b = list(shapes)[:2]
        raise ShapeError(
            f"the body of a scan returns y as {a} and then as {b}: such rows cannot be stacked\n"
            f"  {loop.line()}"
        )
    several = any(isinstance(v, Variable) for v in column)
    return stack(list(column)) if several else np.stack(column)


def _while(cond: Callable[[Any], Any], loop: _Loop, carry: list[Any]) -> list[Any]:
    while _truth(cond(loop.structure.unflatten(carry))):
        carry, _ = loop(carry, [])
    return [_array(v, "init") for v in carry]


# -- segments, between which what is carried is kept -----------------------------------------------


def _segment(checkpoint: str | int, count: int) -> int:
    """How many iterations are run again together."""
    if checkpoint == "auto":
        return max(isqrt(count), 1)
    if isinstance(checkpoint, bool) or not isinstance(checkpoint, int) or checkpoint < 1:
        raise ArgumentError(
            f'checkpoint={checkpoint!r}: "auto", or of how many iterations one carry is kept'
        )
    return min(checkpoint, count)


def _in_segments(
    loop: _Loop, carry: list[Any], rows: list[Any], count: int, size: int
) -> tuple[list[Any], list[Any]]:
    """The loop as a loop over segments, which are run again for a derivative."""
    if not _is_recorded([*carry, *rows]):
        return _one_by_one(loop, carry, rows, count)
    carry = loop.started(carry, _rows_at(loop, rows, count, 0))
    whole = count // size
    cut = whole * size

    def segment(carried: Any, part: Any) -> tuple[Any, Any]:
        return _scanned(loop, carried, part, size, keep=False)

    def segments(carried: list[Any]) -> tuple[list[Any], list[Any]]:
        forms = flatten(carried)[1], flatten(rows)[1]
        outer = _Loop(segment, *forms, loop.reverse)
        parts = [reshape(row[:cut], (whole, size, *np.shape(concrete(row))[1:])) for row in rows]
        after, ys = _scanned(outer, carried, parts, whole, keep=True)
        return after, [reshape(y, (cut, *np.shape(concrete(y))[2:])) for y in ys]

    def rest(carried: list[Any]) -> tuple[list[Any], list[Any]]:
        return _scanned(loop, carried, [row[cut:] for row in rows], count - cut, keep=False)

    if cut == count:
        return segments(carry)
    first, then = (rest, segments) if loop.reverse else (segments, rest)
    carry, early = first(carry)
    carry, late = then(carry)
    pairs = zip(late, early, strict=True) if loop.reverse else zip(early, late, strict=True)
    return carry, [concatenate([a, b]) for a, b in pairs]


# -- arguments -------------------------------------------------------------------------------------


def _is_weak(value: Any) -> bool:
    """Whether it is a Python number, which takes the dtype of what it meets."""
    return type(value) in (int, float, complex)


def _holds(now: Spec, was: Spec) -> bool:
    """Whether a Python number can be an array of this spec."""
    return now.shape == () and np.can_cast(was.dtype, now.dtype, "same_kind")


def _given(value: Any, what: str) -> Any:
    return value if _is_weak(value) else _array(value, what)


def _array(value: Any, what: str) -> Any:
    """A leaf as an array, a number of NumPy's or a Variable."""
    if isinstance(value, Variable):
        return value
    found = as_operand(value, Variable)
    if isinstance(found, Variable):
        return found
    array = np.asarray(found)
    if array.dtype.kind not in "fciub":
        raise DTypeError(f"{what} of a loop holds {value!r}, which is no number and no array")
    return array[()]


def _scalar(value: Any) -> Any:
    return np.asarray(concrete(value))[()]


def _length(rows: Sequence[Any], structure: Structure, length: int | None) -> int:
    counts = {}
    for path, row in zip(structure.paths, rows, strict=True):
        shape = np.shape(concrete(row))
        if not shape:
            raise ShapeError(f"xs{path} is a single number; a scan runs over the rows of arrays")
        counts[f"xs{path}"] = shape[0]
    if length is not None:
        counts["length"] = int(length)
    if not counts:
        raise ArgumentError("a scan without xs needs a length: cr.scan(f, init, length=100)")
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}: {n}" for name, n in counts.items())
        raise ShapeError(f"a scan runs over arrays of one length; these have {listed}")
    return int(next(iter(counts.values())))


def _truth(value: Any) -> bool:
    if np.size(concrete(value)) != 1:
        raise ArgumentError(
            f"a condition must be one truth, not an array of shape {np.shape(concrete(value))}: "
            "np.any or np.all of it"
        )
    return bool(value)
