"""The derivatives of a loop: loops over the pullback, and the pushforward, of one iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrule.core.loop import Body, looped
from chainrule.core.masked import Masked, unmasked, within
from chainrule.core.node import Node
from chainrule.core.order import dfs_order
from chainrule.core.parts import Parts
from chainrule.core.replay import arguments
from chainrule.core.spec import is_inexact
from chainrule.diff.call import _between
from chainrule.diff.forward import forward
from chainrule.diff.gradient import jvp, vjp
from chainrule.diff.history import _walked, on_variables
from chainrule.diff.loop_body import (
    Derived,
    Place,
    Unsaved,
    _recorded,
    again,
    applied,
    assembled,
    first_row,
    inexact_carries,
    saving,
)
from chainrule.diff.loop_segments import in_segments
from chainrule.diff.reverse import add, fit, reverse_masked
from chainrule.ops.joining import stack
from chainrule.ops.loop import loop
from chainrule.ops.shape import broadcast_to
from chainrule.record.body import recorded
from chainrule.record.state import current, recording
from chainrule.record.variable import Variable

Seeds = Sequence[Any]


def pull(g: Any, xs: Sequence[Any], out: Any, active: Sequence[bool], body: Body) -> list[Any]:
    """The adjoint of each input, when those of the results are `g`."""
    given = list(g.parts)
    if not body.count:
        inits = [given[k] for k in range(body.carried)]
        return [*[None] * body.fixed, *inits, *[None] * body.rows]
    is_recorded = any(isinstance(v, Variable) for v in (*xs, *given))
    if (
        body.segments
        and not (is_recorded or body.saves)
        and not any(type(s) is Masked for s in given)
    ):
        return in_segments(_pulled, given, xs, active, body, {})
    return _pulled(given, xs, out, active, body, {})


def _pulled(
    given: Seeds,
    xs: Sequence[Any],
    out: Any,
    active: Sequence[bool],
    body: Body,
    sums: dict[int, Any],
) -> list[Any]:
    """The adjoints by one loop; to those of what is fixed, `sums` are added."""
    body, out = _with_saved(xs, out, body)
    seeds = [*given, *[None] * (len(out) - len(given))]
    wanted = tuple(i for i, on in enumerate(active) if on)
    results = body.graph.outputs
    seeded = tuple(
        k
        for k in range(body.carried, len(seeds))
        if seeds[k] is not None and is_inexact(results[k].dtype)
    )
    tracing = current.get().tracing
    recording = any(isinstance(v, Variable) for v in (*xs, *given))
    masked = recording and not (tracing is not None and tracing.guarded)
    masked |= any(type(s) is Masked for s in given)

    def make(body: Body, masked: bool) -> Derived:
        return _pullback(body, first_row(body, xs), wanted, seeded, masked)

    found = _derived(("pull", wanted, seeded), make, masked, xs, out, seeds, body, sums)
    if found is None:
        adjoints = _pulled_one_by_one(xs, seeds, wanted, body)
        return [_plus(g, sums.get(i)) for i, g in enumerate(adjoints)]
    adjoints = [None] * len(xs)
    for i in wanted:
        if i in found:
            alive = found.get(~i)
            masks = alive is not None  # then the loop has begun with zeros
            adjoints[i] = _plus(within(found[i], alive), sums.get(i)) if masks else found[i]
        else:
            adjoints[i] = sums.get(i)
    return adjoints


def _plus(g: Any, before: Any) -> Any:
    return g if before is None else before if g is None else g + before


def push(ts: Seeds, xs: Sequence[Any], out: Any, active: Sequence[bool], body: Body) -> Parts:
    """The tangent of each result, when the inputs move along `ts`."""
    if not body.count:
        carried = body.parts(ts)[1]
        return Parts([*carried, *[None] * (len(out) - body.carried)])
    results = len(out)
    body, out = _with_saved(xs, out, body)
    moving = tuple(i for i, on in enumerate(active) if on)

    def make(body: Body, masked: bool) -> Derived:
        return _pushforward(body, first_row(body, xs), moving)

    found = _derived(("push", moving), make, True, xs, out, ts, body)
    if found is None:
        return Parts(_pushed_one_by_one(xs, ts, moving, body)[:results])
    return Parts([found.get(k) for k in range(results)])


def _with_saved(xs: Sequence[Any], out: Any, body: Body) -> tuple[Body, Sequence[Any]]:
    """The loop with what its derivative reads: run again, where that was not kept."""
    if body.saves:
        return body, out
    full = saving(body)
    return full, _run(xs, full)


def _run(xs: Sequence[Any], body: Body) -> Sequence[Any]:
    if any(isinstance(x, Variable) for x in xs):
        found: Sequence[Any] = loop(list(xs), body=body)
        return found
    return looped(*xs, body=body)


def _derived(
    key: tuple[Any, ...],
    make: Callable[[Body, bool], Derived],
    masked: bool,
    xs: Sequence[Any],
    out: Sequence[Any],
    seeds: Seeds,
    body: Body,
    sums: dict[int, Any] | None = None,
) -> dict[int, Any] | None:
    """What the loop of a derivative gives, by whose it is; None where one does not stand for all.

    Without masks while no NaN comes of that.
    """
    known = body.derived
    if (*key, masked) not in known:
        try:
            known[*key, masked] = make(body, masked)
        except Unsaved:
            full = saving(body, carries=True)
            return _derived(key, make, masked, xs, _run(xs, full), seeds, full, sums)
    derived: Derived = known[*key, masked]
    begun = {} if masked or sums is None else sums
    found = applied(derived.body, derived.given(xs, out, seeds, begun))
    if found is None:
        return None
    if derived.masks and any(np.any(np.isnan(v)) for v in found if is_inexact(v.dtype)):
        return _derived(key, make, True, xs, out, seeds, body, sums)
    return dict(zip((*derived.carried, *derived.stacked), found, strict=True))


# -- one iteration ---------------------------------------------------------------------------------


class _Pullback:
    """The pullback of one iteration, recorded at a point.

    Its inputs are those of the iteration, the adjoints of its results (`ends`), and what the
    iterations after it have added to the adjoints of what is fixed (`sums`).  With masks all
    adjoints come and go with the lanes in which they are no structural zeros.
    """

    def __init__(
        self, body: Body, wanted: tuple[int, ...], seeded: tuple[int, ...], masked: bool
    ) -> None:
        self.body, self.masked = body, masked
        self.through = inexact_carries(body)
        self.sums = [i for i in wanted if i < body.fixed]
        self.rows = [i for i in wanted if i >= body.fixed + body.carried]
        self.ends = [*(i - body.fixed for i in self.through), *seeded]
        self.twins: dict[Node, Node] = {}
        self.missing: set[int] = set()  # what no adjoint reaches
        self.dropped = False

    def values(self, point: list[Any]) -> list[Any]:
        """Something for each input."""
        outputs = self.body.graph.outputs
        values = [np.ones(outputs[k].shape, outputs[k].dtype)[()] for k in self.ends]
        values += [np.zeros_like(point[i])[()] for i in self.sums]
        lanes = [np.ones(v.shape, bool)[()] for v in values] if self.masked else []
        return [*point, *values, *lanes]

    def __call__(self, *given: Variable) -> list[Any]:
        count = len(self.body.graph.leaves)
        leaves: Sequence[Variable] = given[:count]
        adjoints: list[Any] = list(given[count:])
        if self.masked:
            half = len(adjoints) // 2
            halves = zip(adjoints[:half], adjoints[half:], strict=True)
            adjoints = [Masked(g, alive) for g, alive in halves]
        ends, sums = adjoints[: len(self.ends)], adjoints[len(self.ends) :]
        with np.errstate(all="ignore"), recording(inside=False):
            known = self._walk(leaves, ends)
            got = {i: known.get(leaves[i].node) for i in (*self.through, *self.sums, *self.rows)}
            self.missing = {i for i, v in got.items() if v is None}
            there = [i for i in self.rows if got[i] is not None]
            before = zip(self.sums, sums, strict=True)
            carried = [
                *(got[i] for i in self.through),
                *(g if got[i] is None else g + fit(got[i], leaves[i]) for i, g in before),
            ]
            of = (*self.through, *self.sums)
            filled = [
                _zeros(leaves[i]) if g is None else g for i, g in zip(of, carried, strict=True)
            ]
            stacked = [got[i] for i in there]
            lanes = [
                [_lanes(g, leaves[i]) for i, g in pairs] if self.masked else []
                for pairs in (zip(of, carried, strict=True), zip(there, stacked, strict=True))
            ]
        return [*map(unmasked, filled), *lanes[0], *map(unmasked, stacked), *lanes[1]]

    def _walk(self, leaves: Sequence[Variable], gs: list[Any]) -> dict[Node, Any]:
        found = again(self.body, leaves)
        self.twins.update(_twins(found))
        seeds: dict[Node, Any] = {}
        for k, g in zip(self.ends, gs, strict=True):
            out = found[self.body.graph.outputs[k]]
            if isinstance(out, Variable):
                add(seeds, out.node, g)
        wrt = {leaves[i].node for i in (*self.through, *self.sums, *self.rows)}
        order = _between(dfs_order(list(seeds), lambda n: n.parents), wrt)
        if self.masked:
            return reverse_masked(order, seeds, on_variables)
        known, self.dropped = _walked(order, seeds, on_variables)
        return known


def _zeros(like: Any) -> Any:
    return np.zeros(like.shape, like.dtype)[()]


def _lanes(g: Any, like: Any) -> Any:
    """The lanes in which an adjoint is no structural zero."""
    if g is None:
        return np.zeros(like.shape, bool)[()]
    alive = g.alive if type(g) is Masked else np.ones((), bool)
    return (
        broadcast_to(alive, like.shape)
        if isinstance(alive, Variable)
        else np.broadcast_to(alive, like.shape)[()]
    )


def _pullback(
    body: Body, point: list[Any], wanted: tuple[int, ...], seeded: tuple[int, ...], masked: bool
) -> Derived:
    """The loop that goes backward, from the pullback of one iteration at this point."""
    one = _Pullback(body, wanted, seeded, masked)
    made = recorded(one, one.values(point), errors=False)
    places = _leaves(body, made, len(point))
    left = iter(made.graph.leaves[len(made.sources) + len(point) :])
    kept = [i for i in one.sums if i not in one.missing]
    for kind in ("seed", "alive")[: 1 + masked]:
        for k in one.ends:
            places[next(left)] = ("carried" if k < body.carried else "rows"), (kind, k)
        for i in one.sums:
            leaf = next(left)
            if i in kept:
                places[leaf] = "carried", ("zeros", i)
    nodes = iter(made.graph.outputs)
    carried = [*one.through, *one.sums]
    stacked = [i for i in one.rows if i not in one.missing]
    first, last = (
        [(i if not lanes else ~i, next(nodes)) for lanes in range(1 + masked) for i in group]
        for group in (carried, stacked)
    )
    dropped = {i for i in one.sums if i not in kept}
    first = [(i, n) for i, n in first if i not in dropped and ~i not in dropped]
    return assembled(
        body, made, one.twins, places, (first, last), not body.backwards, one.dropped
    )  # fmt: skip


def _pushforward(body: Body, point: list[Any], moving: tuple[int, ...]) -> Derived:
    """The loop that goes forward, from the pushforward of one iteration at this point."""
    graph, through = body.graph, inexact_carries(body)
    starts = sorted({*moving, *through}, key=lambda i: (i not in through, i))
    values = [*point, *(np.ones_like(point[i])[()] for i in starts)]
    twins: dict[Node, Node] = {}
    stacked: list[int] = []

    def tangents(*given: Variable) -> list[Any]:
        leaves, ts = given[: len(point)], given[len(point) :]
        with np.errstate(all="ignore"), recording(inside=False):
            found = again(body, leaves)
            twins.update(_twins(found))
            nodes = [v.node for v in found.values() if isinstance(v, Variable)]
            order = dfs_order(nodes, lambda n: n.parents)
            start = {leaves[i].node: t for i, t in zip(starts, ts, strict=True)}
            known = forward(order, start, on_variables)
        moved = []
        for out in graph.outputs:
            value = found[out]
            moved.append(unmasked(known.get(value.node)) if isinstance(value, Variable) else None)
        carried = [(point[i], moved[i - body.fixed]) for i in through]
        last = [k for k in range(body.carried, len(moved)) if moved[k] is not None]
        stacked.extend(last)
        return [
            *(np.zeros_like(value) if t is None else t for value, t in carried),
            *(moved[k] for k in last),
        ]

    made = recorded(tangents, values, errors=False)
    places = _leaves(body, made, len(point))
    own = made.graph.leaves[len(made.sources) + len(point) :]
    for i, leaf in zip(starts, own, strict=True):
        group = "carried" if i in through else "fixed" if i < body.fixed else "rows"
        places[leaf] = group, ("seed", i)
    nodes = made.graph.outputs
    first = [(i - body.fixed, n) for i, n in zip(through, nodes, strict=False)]
    last = [*zip(stacked, nodes[len(through) :], strict=False)]
    return assembled(body, made, twins, places, (first, last), body.backwards, False)


def _leaves(body: Body, made: Any, count: int) -> dict[Node, tuple[str, Place]]:
    """What the leaves of the iteration itself are to the loop of its derivative."""
    first = len(made.sources)
    places: dict[Node, tuple[str, Place]] = {}
    for i, leaf in enumerate(made.graph.leaves[first : first + count]):
        row = i >= body.fixed + body.carried
        group = "fixed" if i < body.fixed else "rows" if row else "unsaved"
        places[leaf] = group, ("input", i)
    return places


def _twins(found: dict[Node, Any]) -> dict[Node, Node]:
    return {node: v.node for node, v in found.items() if isinstance(v, Variable)}


# -- iteration by iteration ------------------------------------------------------------------------


def _pulled_one_by_one(
    xs: Sequence[Any], seeds: Seeds, wanted: tuple[int, ...], body: Body
) -> list[Any]:
    """The adjoints where the rules do another thing in each iteration."""
    pullbacks = []
    through = inexact_carries(body)
    floats = [i for i in range(len(xs)) if i in wanted or i in through]
    ends = [k for k, out in enumerate(body.graph.outputs) if is_inexact(out.dtype)]
    for i, leaves in _iterations(xs, body):
        f = _iteration(body, leaves, floats, ends)
        pullbacks.append((i, vjp(f, *(leaves[k] for k in floats))[1]))
    total: dict[int, Any] = {}
    rows: dict[int, list[Any]] = {k: [None] * body.count for k in wanted}
    carried = dict(enumerate(map(unmasked, seeds[: body.carried])))
    seeds = [unmasked(s) for s in seeds]
    for i, pullback in reversed(pullbacks):
        given = []
        for k in ends:
            out = body.graph.outputs[k]
            g = carried.get(k) if k < body.carried else None if seeds[k] is None else seeds[k][i]
            given.append(np.zeros(out.shape, out.dtype)[()] if g is None else g)
        for k, c in zip(floats, pullback(given), strict=True):
            if k < body.fixed:
                add(total, k, c)
            elif k < body.fixed + body.carried:
                carried[k - body.fixed] = c
            else:
                rows[k][i] = c
    adjoints: list[Any] = [None] * len(xs)
    for k in wanted:
        is_row = k >= body.fixed + body.carried
        adjoints[k] = (
            total[k] if k < body.fixed else stack(rows[k]) if is_row else carried[k - body.fixed]
        )
    return adjoints


def _pushed_one_by_one(
    xs: Sequence[Any], ts: Seeds, moving: tuple[int, ...], body: Body
) -> list[Any]:
    """The tangents where the rules do another thing in each iteration."""
    through = inexact_carries(body)
    floats = [i for i in range(len(xs)) if i in moving or i in through]
    outputs = body.graph.outputs
    ends = [k for k, out in enumerate(outputs) if is_inexact(out.dtype)]
    carried = list(ts[body.fixed : body.fixed + body.carried])
    rows: dict[int, list[Any]] = {k: [None] * body.count for k in ends}
    for i, leaves in _iterations(xs, body):
        here = [*ts[: body.fixed], *carried, *(t[i] for t in ts[body.fixed + body.carried :])]
        f = _iteration(body, leaves, floats, ends)
        _, moved = jvp(f, [leaves[k] for k in floats], [here[k] for k in floats])
        for k, t in zip(ends, moved, strict=True):
            if k < body.carried:
                carried[k] = t
            else:
                rows[k][i] = t
    return [
        carried[k] if k < body.carried else stack(rows[k]) if k in rows else None
        for k in range(len(outputs))
    ]


def _iterations(xs: Sequence[Any], body: Body) -> Any:
    """The number of each iteration, and what its leaves hold."""
    fixed, carried, rows = body.parts(xs)
    for i in body.order():
        leaves = [*fixed, *carried, *(row[i] for row in rows)]
        yield i, leaves
        every = list(range(body.carried))
        carried = _iteration(body, leaves, [], every)()


def _iteration(
    body: Body, leaves: Sequence[Any], floats: Sequence[int], ends: Sequence[int]
) -> Callable[..., list[Any]]:
    """One iteration as a function of some of its leaves."""

    def iteration(*given: Any) -> list[Any]:
        filled = list(leaves)
        for k, value in zip(floats, given, strict=True):
            filled[k] = value
        values = dict(zip(body.graph.leaves, filled, strict=True))
        for node in body.graph.nodes:
            if node not in values:
                values[node] = _recorded(node, arguments(node, values))
        return [values[body.graph.outputs[k]] for k in ends]

    return iteration
